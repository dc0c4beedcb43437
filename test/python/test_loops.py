"""Loops of constant length that stay loops compute what JAX does, on any number of devices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import epl
from epl.adapters.jax import flatten, loops
from steps import exchanged

Step = Callable[[Any, Any], Any]
TRIP_COUNT = 6


@pytest.fixture(autouse=True)
def keep_short_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops, "FEWEST_OPERATIONS", 1)


def layers(params: Any, x: jax.Array) -> jax.Array:
    """A carry through layers, and what each adds to the loss."""

    def layer(h: jax.Array, w: jax.Array) -> Any:
        h = jnp.tanh(h @ w) + h
        return h, (h**2).mean(-1)

    h, norms = lax.scan(layer, x, params)
    return (h**2).mean() + norms.mean()


def reversed_layers(params: Any, x: jax.Array) -> jax.Array:
    """The last layer first; stacks that are read whole and in parts."""

    def layer(h: jax.Array, w: jax.Array) -> Any:
        h = jnp.sin(h @ w)
        return h, h

    _, hs = lax.scan(layer, x, params, reverse=True)
    _, sums = lax.scan(lambda s, h: (s + h, s * h), x, hs)
    return (hs**2).mean() + sums.mean()


def recurrence(params: Any, x: jax.Array) -> jax.Array:
    """Weights that every iteration uses: their gradient is carried, a sum of what the iterations add."""

    def cell(h: jax.Array, column: jax.Array) -> Any:
        h = jax.nn.sigmoid(h @ params[0] + column[:, None] * params[1][0])
        return h, None

    h, _ = lax.scan(cell, x, jnp.stack([x[:, 0], x[:, 1], x[:, 2], x[:, 3]] * 2))
    return (h**2).mean()


def counted(params: Any, x: jax.Array) -> jax.Array:
    """The counter as a number, as a position, and as a condition."""

    def body(i: jax.Array, h: jax.Array) -> jax.Array:
        h = h * (1 + i.astype(jnp.float32)) / TRIP_COUNT + x @ params[i]
        return jnp.where(i % 2 == 0, h, -h)

    return (lax.fori_loop(0, TRIP_COUNT, body, x) ** 2).mean()


def counted_down(params: Any, x: jax.Array) -> jax.Array:
    """A position that counts down, and that the reverse pass reads as a number, too."""

    def body(i: jax.Array, h: jax.Array) -> jax.Array:
        return jnp.tanh(h @ params[TRIP_COUNT - 1 - i]) + h * i / TRIP_COUNT

    return (lax.fori_loop(0, TRIP_COUNT, body, x) ** 2).mean()


def swapped(params: Any, x: jax.Array) -> jax.Array:
    """Carried values that become each other, one that stays, one that does not depend on the iteration."""

    def body(carry: Any, w: jax.Array) -> Any:
        a, b, _, kept = carry
        return (b, a + b @ w, x * 2, kept), a.sum(-1)

    (a, b, c, d), sums = lax.scan(body, (x, x + 1, x * 0, x * 3), params)
    return (a * b + c - d).mean() + (sums**2).mean()


def dead(params: Any, x: jax.Array) -> jax.Array:
    """Carries and stacks that nothing reads, one of which another one needs."""

    def body(carry: Any, w: jax.Array) -> Any:
        a, b, c = carry
        return (a + b @ w, b * 1.5, c + a), (a, c.sum())

    (a, _, _), _ = lax.scan(body, (x, x + 1, x), params)
    return (a**2).mean()


def nested(params: Any, x: jax.Array) -> jax.Array:
    """An inner loop, unrolled in each iteration."""

    def body(h: jax.Array, w: jax.Array) -> Any:
        return lax.fori_loop(0, 3, lambda i, v: jnp.tanh(v @ w) + i, h), None

    return (lax.scan(body, x, params)[0] ** 2).mean()


def checkpointed(params: Any, x: jax.Array) -> jax.Array:
    """Iterations that are computed again in the reverse pass, and several losses of one stack."""

    @jax.checkpoint
    def layer(h: jax.Array, w: jax.Array) -> Any:
        return jax.nn.gelu(h @ w) + h, h.max(-1)

    h, tops = lax.scan(layer, x, params)
    return (h**2).mean() + tops[0].mean() - tops.min(0).mean() + (tops**2).mean()


def drawn(params: Any, x: jax.Array) -> jax.Array:
    """Random numbers of each iteration, the same ones on any number of devices."""

    def layer(carry: Any, w: jax.Array) -> Any:
        h, key = carry
        key, drop = jax.random.split(key)
        return (jnp.where(jax.random.bernoulli(drop, 0.7, h.shape), h @ w, h), key), None

    (h, _), _ = lax.scan(layer, (x, jax.random.key(3)), params)
    return (h**2).mean()


def at_positions(params: Any, x: jax.Array) -> jax.Array:
    """A table that iterations write and read at positions of their own."""

    def body(i: jax.Array, table: jax.Array) -> jax.Array:
        return table.at[:, (i + 1) % 4].set(table[:, i % 4] * 0.5 + (x @ params[i]).sum(-1))

    return (lax.fori_loop(0, TRIP_COUNT, body, x) ** 2).mean()


def tails(params: Any, x: jax.Array) -> jax.Array:
    """Stacks of numbers, of booleans, and of unsigned integers, read with a step and backwards."""
    bits = jnp.arange(TRIP_COUNT, dtype=jnp.uint32) * 7 % 5

    def body(h: jax.Array, parts: Any) -> Any:
        w, bit, scale = parts
        h = jnp.where(bit > 2, h @ w * scale, h)
        return h, (h[0, 0] > 0, bit + 1)

    h, (signs, numbers) = lax.scan(body, x[:, :4], (params, bits, jnp.linspace(0.5, 1, TRIP_COUNT)))
    weights = jnp.where(signs[::-1], numbers.astype(jnp.float32), 0.5)[::2]
    return (h**2).mean() * lax.stop_gradient(weights.mean() * 0 + 1)


LOSSES = [
    layers,
    reversed_layers,
    recurrence,
    counted,
    counted_down,
    swapped,
    dead,
    nested,
    checkpointed,
    drawn,
    at_positions,
    tails,
]


def make_step(loss: Callable[[Any, jax.Array], jax.Array]) -> Step:
    def step(params: Any, x: jax.Array) -> Any:
        def scoped(params: Any) -> jax.Array:
            with epl.replicate():
                return loss(params, x)

        value, gradient = jax.value_and_grad(scoped)(params)
        return params - 0.1 * gradient, value

    return step


def data() -> tuple[jax.Array, jax.Array]:
    rng = np.random.default_rng(5)
    params = rng.normal(0, 0.4, (TRIP_COUNT, 4, 4)).astype(np.float32)
    return jnp.asarray(params), jnp.asarray(rng.normal(size=(8, 4)).astype(np.float32))


@pytest.mark.parametrize("devices", [1, 2, 4])
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.__name__)
def test_loops_train_as_jax_does(loss: Callable[..., jax.Array], devices: int) -> None:
    step = make_step(loss)
    params, x = data()
    ours = epl.parallelize(step, state="params", batch="x", devices=f"cpu:{devices}")
    expected, found = params, params
    for _ in range(3):
        expected, expected_loss = jax.jit(step)(expected, x)
        found, found_loss = ours(found, x)
        np.testing.assert_allclose(found_loss, expected_loss, rtol=1e-5)
    np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-5, atol=1e-6)


def lowered(loss: Callable[..., jax.Array], devices: int = 2) -> epl.Lowered:
    step = epl.parallelize(make_step(loss), state="params", batch="x", devices=f"cpu:{devices}")
    return step.lower(*data())


@pytest.mark.parametrize(
    "loss", [loss for loss in LOSSES if loss is not at_positions], ids=lambda f: f.__name__
)
def test_they_stay_loops(loss: Callable[..., jax.Array]) -> None:
    text = lowered(loss).as_text(stage="kernel")
    assert f"epl.loop_carry <0, trip_count = {8 if loss is recurrence else TRIP_COUNT}>" in text


def test_tables_that_iterations_write_anywhere_are_unrolled(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "epl.loop" not in lowered(at_positions).as_text(stage="input")
    monkeypatch.setattr(loops, "MOST_UNROLLED", 1)
    assert "epl.scatter" in lowered(at_positions).as_text(stage="input")
    test_loops_train_as_jax_does(at_positions, devices=2)


def test_a_gradient_of_all_iterations_is_summed_once() -> None:
    """As without a loop: a sum for the stack of gradients, one for each that is carried, one for the loss."""
    for loss, sums in ((layers, 2), (recurrence, 3)):
        assert len(exchanged(lowered(loss).as_text(stage="local"))["all_reduce"]) == sums


def test_what_no_result_needs_is_not_computed() -> None:
    text = lowered(dead).as_text(stage="global")
    assert text.count(" = loop_last(") == 2  # a and b of three
    assert " = loop_stack(" in text
    assert ".forward, in each of the 6 iterations of a loop\n" in text


def test_splits_reach_into_iterations() -> None:
    """Rows and columns of stacked weights are split like those of layers by themselves: one sum a block."""

    def loss(params: Any, x: jax.Array) -> jax.Array:
        def block(h: jax.Array, layer: Any) -> Any:
            return h + jax.nn.relu(h @ layer["up"]) @ layer["down"], None

        with epl.split(device_count=2):
            return (lax.scan(block, x, params)[0] ** 2).mean()

    def step(params: Any, x: jax.Array) -> Any:
        value, gradient = jax.value_and_grad(loss)(params, x)
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, gradient), value

    rng = np.random.default_rng(1)
    params = {
        "up": jnp.asarray(rng.normal(0, 0.3, (TRIP_COUNT, 8, 32)), jnp.float32),
        "down": jnp.asarray(rng.normal(0, 0.3, (TRIP_COUNT, 32, 8)), jnp.float32),
    }
    x = jnp.asarray(rng.normal(size=(8, 8)), jnp.float32)
    ours = epl.parallelize(step, state="params", batch="x", devices="cpu:4")
    text = ours.lower(params, x).as_text(stage="local")
    found, found_loss = ours(params, x)
    expected, expected_loss = jax.jit(step)(params, x)
    np.testing.assert_allclose(found_loss, expected_loss, rtol=1e-5)
    for name, value in expected.items():
        np.testing.assert_allclose(np.asarray(found[name]), value, rtol=1e-5, atol=1e-6)
    inner = [line for line in text.splitlines() if 'partial = sum{"model"}>> -> ' in line]
    gradients = 3  # and the loss
    assert len(exchanged("\n".join(inner))["all_reduce"]) == len(exchanged(text)["all_reduce"]) - gradients


def test_of_nested_loops_the_longer_one_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "trip_count = 6>" in lowered(nested).as_text(stage="input")
    monkeypatch.setattr(loops, "FEWEST_ITERATIONS", 3)
    monkeypatch.setattr(flatten, "MOST_INNER", 4)
    assert "trip_count = 3>" in (text := lowered(nested).as_text(stage="input"))
    assert "trip_count = 6>" not in text
    test_loops_train_as_jax_does(nested, devices=2)


def test_shorter_loops_than_pay_are_unrolled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops, "FEWEST_OPERATIONS", 10_000)
    assert "epl.loop" not in lowered(layers).as_text(stage="input")
    assert "epl.loop" not in lowered(lambda params, x: layers(params[:3], x)).as_text(stage="input")
