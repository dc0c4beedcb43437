"""Of the branches of a `lax.cond` one is computed, with JAX's results, on any number of devices."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from jax import lax

import epl
from epl.adapters.jax import loops

Loss = Callable[[Any, jax.Array, jax.Array], jax.Array]
STEPS = 5


def deep(w: jax.Array, h: jax.Array) -> jax.Array:
    return jnp.tanh(jnp.tanh(h @ w) @ w)


def one_of_two(params: Any, x: jax.Array, step: jax.Array) -> jax.Array:
    """Weights of one branch, of the other, and of both, which are used outside, too."""
    a, b = params["a"], params["b"]
    h = jnp.sin(x @ a)
    return (lax.cond(step % 2 == 0, lambda h: deep(b, h) + h @ a, lambda h: h @ a, h) ** 2).mean()


def with_other_shapes_inside(params: Any, x: jax.Array, step: jax.Array) -> jax.Array:
    """What the branches keep for their gradients has nothing in common."""

    def wide(h: jax.Array) -> jax.Array:
        return jnp.concatenate([h, -h], 1).reshape(-1, 4, 2).max(-1)

    def sorted_rows(h: jax.Array) -> jax.Array:
        return jnp.sort(h @ params["b"], axis=-1) * lax.cumsum(h, axis=1)

    return (lax.cond(step % 2 == 1, wide, sorted_rows, x @ params["a"]) ** 2).mean()


def one_of_three(params: Any, x: jax.Array, step: jax.Array) -> jax.Array:
    a, b = params["a"], params["b"]
    branches = [lambda h: h @ b, lambda h: deep(b, h), lambda h: -h]
    return (lax.switch(step, branches, x @ a) ** 2).mean()  # clamped: the last one from 2 on


def nested(params: Any, x: jax.Array, step: jax.Array) -> jax.Array:
    """The inner predicate is computed in the outer branch."""
    a, b = params["a"], params["b"]

    def outer(h: jax.Array) -> jax.Array:
        h = h @ b
        return lax.cond((h**2).sum() > 8.0, lambda h: deep(b, h), lambda h: h @ a, h)

    return (lax.cond(step % 3 > 0, outer, lambda h: h * 2, x @ a) ** 2).mean()


def of_the_batch(params: Any, x: jax.Array, step: jax.Array) -> jax.Array:
    """The predicate is a sum over the whole batch: all devices take the same branch."""
    h = x @ params["a"]
    loss = (h**2).mean()
    return lax.cond(loss > 0.6, lambda h: (deep(params["b"], h) ** 2).mean(), lambda h: loss * 0.5, h)


def in_iterations(params: Any, x: jax.Array, step: jax.Array) -> jax.Array:
    """A branch of each iteration's own."""

    def layer(h: jax.Array, i: jax.Array) -> Any:
        h = lax.cond((h[0, 0] > 0) ^ (i == 2), lambda h: deep(params["b"], h), lambda h: h + 0.1, h)
        return h, h.sum(-1)

    h, sums = lax.scan(layer, x @ params["a"], jnp.arange(6))
    return (h**2).mean() + sums.mean() * 0.1


def of_iterations(params: Any, x: jax.Array, step: jax.Array) -> jax.Array:
    """A loop that is a branch."""

    def layers(h: jax.Array) -> jax.Array:
        return lax.scan(lambda h, _: (jnp.tanh(h @ params["b"]), None), h, None, length=6)[0]

    return (lax.cond(step % 2 == 0, layers, lambda h: h, x @ params["a"]) ** 2).mean()


def made_again(params: Any, x: jax.Array, step: jax.Array) -> jax.Array:
    """Under `jax.checkpoint` the branch is computed again in the reverse pass."""

    @jax.checkpoint
    def block(h: jax.Array) -> jax.Array:
        return lax.cond(step % 2 == 0, lambda h: deep(params["b"], h), lambda h: jax.nn.gelu(h), h)

    return (block(block(x @ params["a"])) ** 2).mean()


def selected(params: Any, x: jax.Array, step: jax.Array) -> jax.Array:
    """`where` by scalars: safe divisors, selections within selections."""
    big = step > 2
    scale = jnp.where(big, step.astype(jnp.float32) - 2, 1.0)
    h = jnp.where(big, deep(params["b"], x / scale), jnp.where(big, x * 1e9, x @ params["b"]))
    return jnp.where(step > 0, (h @ params["a"]) ** 2, (x @ params["a"]) ** 2).mean()


def by_sample(params: Any, x: jax.Array, step: jax.Array) -> jax.Array:
    """Branches of single samples are selections."""
    row = jax.vmap(lambda r: lax.cond(r[0] > 0, lambda r: jnp.sin(r) @ params["b"], lambda r: r, r))
    return (row(x @ params["a"]) ** 2).mean()


LOSSES = [
    one_of_two,
    with_other_shapes_inside,
    one_of_three,
    nested,
    of_the_batch,
    in_iterations,
    of_iterations,
    made_again,
    selected,
    by_sample,
]


def make_step(loss: Loss, scope: Callable[[], Any] = epl.replicate) -> Callable[..., Any]:
    def step(params: Any, x: jax.Array, number: jax.Array) -> Any:
        def scoped(params: Any) -> jax.Array:
            with scope():
                return loss(params, x, number)

        value, gradient = jax.value_and_grad(scoped)(params)
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, gradient), value

    return step


def data() -> tuple[dict[str, jax.Array], jax.Array]:
    rng = np.random.default_rng(2)
    params = {name: jnp.asarray(rng.normal(0, 0.6, (4, 4)), jnp.float32) for name in "ab"}
    return params, jnp.asarray(rng.normal(size=(8, 4)), jnp.float32)


def check(step: Callable[..., Any], devices: int) -> None:
    params, x = data()
    ours = epl.parallelize(step, state="params", batch="x", devices=f"cpu:{devices}")
    expected: Any = params
    found: Any = params
    for number in range(STEPS):
        expected, expected_loss = jax.jit(step)(expected, x, jnp.int32(number))
        found, found_loss = ours(found, x, jnp.int32(number))
        np.testing.assert_allclose(found_loss, expected_loss, rtol=1e-5)
    for name, value in expected.items():
        np.testing.assert_allclose(np.asarray(found[name]), value, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("devices", [1, 2, 4])
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.__name__)
def test_branches_train_as_jax_does(loss: Loss, devices: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops, "FEWEST_OPERATIONS", 1)
    check(make_step(loss), devices)


@pytest.mark.parametrize("loss", [one_of_two, nested, in_iterations], ids=lambda loss: loss.__name__)
def test_splits_reach_into_branches(loss: Loss) -> None:
    check(make_step(loss, lambda: epl.split(device_count=2)), 4)


def lowered(loss: Loss, devices: int) -> epl.Lowered:
    step = epl.parallelize(make_step(loss), state="params", batch="x", devices=f"cpu:{devices}")
    return step.lower(*data(), jnp.int32(0))


def commands(step: epl.Compiled, number: int, path: Path) -> list[str]:
    """What two devices do in a step, by name."""
    with step.trace(path):
        jax.block_until_ready(step(*data(), jnp.int32(number))[1])
    events = json.loads(path.read_text())["traceEvents"]
    return [event["name"] for event in events if event["ph"] == "X" and not event["name"].startswith("step")]


def one_or_nothing(params: Any, x: jax.Array, step: jax.Array) -> jax.Array:
    h = x @ params["a"]
    return (lax.cond(step > 0, lambda h: deep(params["b"], h), lambda h: h, h) ** 2).mean()


def test_only_the_branch_that_is_taken_is_computed(tmp_path: Path) -> None:
    step = lowered(one_or_nothing, devices=2).compile()
    skipped, taken = (commands(step, number, tmp_path / f"{number}.json") for number in (0, 1))
    assert not any("in cond" in name for name in skipped)
    branch = [name.split(" in cond")[0] for name in taken if "in cond" in name]
    assert sum("matmul" in name for name in branch) == 2 * 6  # of each device: two forward, four backward
    assert branch.count("all_reduce") == 2 * 2  # the gradient of b: both halves of its sum on each device
    assert sorted(set(taken) - set(skipped)) == sorted({name for name in taken if "in cond" in name})


def test_what_a_branch_keeps_for_its_gradient_is_not_copied() -> None:
    """Selections are left of results: h forward and again backward, the gradients of h and b."""
    program = lowered(one_or_nothing, devices=1)
    assert program.as_text(stage="input").count("arith.select") > 3
    assert program.as_text(stage="local").count("arith.select") == 4


def test_elementwise_branches_stay_in_one_kernel() -> None:
    def loss(params: Any, x: jax.Array, step: jax.Array) -> jax.Array:
        return lax.cond(step > 0, jnp.sin, jnp.cos, x @ params["a"]).mean()

    assert "epl.guards" in lowered(one_or_nothing, devices=1).as_text(stage="local")
    assert "epl.guards" not in lowered(loss, devices=1).as_text(stage="local")


def test_updates_every_few_steps() -> None:
    """`optax.MultiSteps` with a clipped global norm; `apply_if_finite` leaves a bad step out."""
    optimizer = optax.MultiSteps(optax.chain(optax.clip_by_global_norm(0.5), optax.adam(0.1)), 2)
    optimizer = optax.apply_if_finite(optimizer.gradient_transformation(), 3)
    params, x = data()

    def step(params: Any, state: Any, x: jax.Array) -> Any:
        def loss(params: Any) -> jax.Array:
            with epl.replicate():
                return (deep(params["b"], x @ params["a"]) ** 2).mean()

        value, gradient = jax.value_and_grad(loss)(params)
        updates, state = optimizer.update(gradient, state, params)
        return optax.apply_updates(params, updates), state, value

    ours = epl.parallelize(step, state=("params", "state"), batch="x", devices="cpu:2")
    expected, found = ((params, optimizer.init(params)) for _ in range(2))
    for number in range(5):
        batch = x if number != 2 else x.at[0, 0].set(jnp.inf)
        *expected, expected_loss = jax.jit(step)(*expected, batch)
        *found, found_loss = ours(*found, batch)
        np.testing.assert_allclose(found_loss, expected_loss, rtol=1e-5)
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(np.asarray(a), b, rtol=1e-5, atol=1e-6)
