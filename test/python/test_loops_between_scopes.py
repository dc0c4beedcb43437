"""Loops that stand between scopes on devices of their own, beside `jax.jit`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from jax import lax

import epl
from epl.adapters.jax import loops
from steps import assert_near

ROWS, WIDTH, TRIP_COUNT = 12, 6, 5
State = tuple[Any, ...]
Loss = Callable[[Any, jax.Array], jax.Array]


@pytest.fixture(autouse=True)
def keep_short_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops, "FEWEST_OPERATIONS", 1)


def train(step: Any, state: State, batch: State, devices: int, **options: Any) -> epl.Compiled:
    """Three steps as `jax.jit` takes them; the compiled one."""
    states = tuple(range(len(state)))
    batches = tuple(range(len(state), len(state) + len(batch)))
    parallel = epl.parallelize(step, state=states, batch=batches, devices=devices, name="step", **options)
    compiled = parallel.lower(*state, *batch).compile()
    found = expected = state
    for _ in range(3):
        *found, value = compiled(*found, *batch)
        *expected, expected_value = jax.jit(step)(*expected, *batch)
        np.testing.assert_allclose(value, expected_value, rtol=1e-4)
    assert_near(tuple(found), tuple(expected), 1e-4)
    return compiled


def data() -> tuple[dict[str, jax.Array], np.ndarray]:
    random = np.random.default_rng(0)
    params = {
        name: jnp.asarray(random.normal(0, 0.4, (WIDTH, WIDTH)), jnp.float32) for name in ("a", "b", "c")
    }
    return params, random.normal(size=(ROWS, WIDTH)).astype(np.float32)


def descend(loss: Loss) -> Any:
    def step(params: Any, x: jax.Array) -> Any:
        value, gradients = jax.value_and_grad(loss)(params, x)
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, gradients), value

    return step


# A loop in no scope is done by one of them, and so is its gradient.


@pytest.mark.parametrize(
    ("lengths", "devices"), [("of no scope", 2), ("of the body", 2), ("of the body", 4), ("in the head", 2)]
)
def test_connectionist_temporal_classification(devices: int, lengths: str) -> None:
    time, classes, labels = 6, 4, 2
    random = np.random.default_rng(0)
    x = random.normal(size=(8, time, 4)).astype(np.float32)
    n, y = (
        random.integers(low, high, shape).astype(np.int32)
        for low, high, shape in ((4, time, 8), (1, classes, (8, labels)))
    )
    w, v = (jnp.asarray(random.normal(0, 0.5, shape), jnp.float32) for shape in ((4, 6), (6, classes)))

    def step(w: jax.Array, v: jax.Array, x: jax.Array, n: jax.Array, y: jax.Array) -> Any:
        def loss(w: jax.Array, v: jax.Array) -> jax.Array:
            with epl.replicate(name="body"):
                h, fewer = x @ w, (n + 1) // 2

            def ctc(logits: jax.Array) -> jax.Array:
                valid = n if lengths == "of no scope" else fewer
                padded = (jnp.arange(time) >= valid[:, None]).astype(jnp.float32)
                return optax.ctc_loss(logits, padded, y, jnp.zeros(y.shape)).mean()

            with epl.replicate(name="head"):
                logits = jnp.tanh(h) @ v
                if lengths == "in the head":
                    return ctc(logits)
            return ctc(logits)

        value, (dw, dv) = jax.value_and_grad(loss, (0, 1))(w, v)
        return w - 0.1 * dw, v - 0.1 * dv, value

    compiled = train(step, (w, v), (x, n, y), devices)
    assert compiled.layout.count("[") == 2


def between(params: Any, x: jax.Array) -> jax.Array:
    """A recurrent cell over what two scopes made, for a third one, and for the first one's loss."""
    with epl.replicate(name="a"):
        left = jnp.stack([x @ params["a"]] * TRIP_COUNT)
    with epl.replicate(name="b"):
        right = jnp.sin(x @ params["b"])

    def cell(h: jax.Array, part: jax.Array) -> Any:
        h = jnp.tanh(h + part * right)
        return h, h.mean(-1)

    h, means = lax.scan(cell, x, left)
    with epl.replicate(name="c"):
        first = ((h @ params["c"]) ** 2).mean()
    with epl.replicate(name="a"):
        return first + (left[0].mean(-1) * means.mean(0)).mean()


def counted(params: Any, x: jax.Array) -> jax.Array:
    """A `fori_loop`, and a nested one, in no scope."""
    with epl.replicate(name="a"):
        h = x @ params["a"]
    with epl.replicate(name="b"):
        scale = jax.nn.sigmoid(h @ params["b"])
    h = lax.fori_loop(
        0, TRIP_COUNT, lambda i, h: lax.fori_loop(0, 2, lambda j, v: jnp.sin(v) * scale + i, h) / 2, h
    )
    with epl.replicate(name="c"):
        return ((h @ params["c"]) ** 2).mean()


def partly_marked(params: Any, x: jax.Array) -> jax.Array:
    """Iterations of which a scope marks a part, the rest reads what another scope made."""
    with epl.replicate(name="a"):
        scale = jnp.cos(x @ params["a"])

    def cell(h: jax.Array, _: None) -> Any:
        h = h * scale + 0.1
        with epl.replicate(name="b"):
            h = jnp.tanh(h @ params["b"])
        return h * 0.5 + x, None

    return (lax.scan(cell, x, length=TRIP_COUNT)[0] ** 2).mean()


@pytest.mark.parametrize("loss", [between, counted, partly_marked], ids=lambda loss: loss.__name__)
@pytest.mark.parametrize("scopes_per_replica", [1, 2])
def test_loops_in_no_scope(loss: Loss, scopes_per_replica: int) -> None:
    scopes = 2 if loss is partly_marked else 3
    params, x = data()
    compiled = train(descend(loss), (params,), (x,), scopes * scopes_per_replica)
    assert compiled.layout.count("[") == scopes
    assert "epl.loop_" in epl.parallelize(descend(loss), state=0, batch=1, devices=scopes).lower(
        params, x
    ).as_text("local")


# A loop whose iterations have scopes is unrolled.


def actor_and_critic(clip: bool) -> tuple[Any, State, State]:
    """Proximal policy optimization: epochs over minibatches in the step, the optimizer within."""
    random = np.random.default_rng(0)
    batch = (
        random.normal(size=(32, WIDTH)).astype(np.float32),
        random.integers(0, 3, 32).astype(np.int32),
        random.normal(size=32).astype(np.float32),
    )
    adam = optax.adam(1e-2, eps=1e-3)
    optimizer = optax.chain(optax.clip_by_global_norm(0.3), adam) if clip else adam

    def loss(params: Any, observed: jax.Array, action: jax.Array, returned: jax.Array) -> jax.Array:
        with epl.replicate(name="actor"):
            logits = jnp.tanh(observed @ params["actor"]["in"]) @ params["actor"]["out"]
            taken = jnp.take_along_axis(jax.nn.log_softmax(logits), action[:, None], 1)[:, 0]
        with epl.replicate(name="critic"):
            value = (jnp.tanh(observed @ params["critic"]["in"]) @ params["critic"]["out"])[:, 0]
        advantage = lax.stop_gradient(returned - value)
        ratio = jnp.exp(taken - lax.stop_gradient(taken))
        surrogate = jnp.minimum(ratio * advantage, jnp.clip(ratio, 0.8, 1.2) * advantage)
        return 0.5 * ((value - returned) ** 2).mean() - surrogate.mean()

    def step(params: Any, opt_state: Any, key: Any, observed: Any, action: Any, returned: Any) -> Any:
        batch = observed, action, returned

        def minibatch(carried: Any, part: Any) -> Any:
            params, opt_state = carried
            value, gradients = jax.value_and_grad(loss)(params, *part)
            updates, opt_state = optimizer.update(gradients, opt_state, params)
            return (optax.apply_updates(params, updates), opt_state), value

        def epoch(carried: Any, key: jax.Array) -> Any:
            order = jax.random.permutation(key, batch[0].shape[0])
            parts = [each[order].reshape(4, -1, *each.shape[1:]) for each in batch]
            return lax.scan(minibatch, carried, parts)

        key, own = jax.random.split(key)
        (params, opt_state), values = lax.scan(epoch, (params, opt_state), jax.random.split(own, 4))
        return params, opt_state, key, values.mean()

    params = {
        name: {
            "in": jnp.asarray(random.normal(0, 0.4, (WIDTH, 8)), jnp.float32),
            "out": jnp.asarray(random.normal(0, 0.4, (8, outputs)), jnp.float32),
        }
        for name, outputs in (("actor", 3), ("critic", 1))
    }
    return step, (params, optimizer.init(params), jax.random.PRNGKey(0)), batch


@pytest.mark.parametrize(("devices", "clip"), [(2, False), (4, True)])
def test_epochs_of_an_actor_and_a_critic(devices: int, clip: bool) -> None:
    step, state, batch = actor_and_critic(clip)
    compiled = train(step, state, batch, devices)
    assert compiled.layout.count("[") == 2


def taken_in_iterations(params: Any, x: jax.Array, trip_count: int = TRIP_COUNT) -> jax.Array:
    """Scopes after one another in each iteration."""

    def iteration(h: jax.Array, _: None) -> Any:
        with epl.replicate(name="a"):
            h = jnp.tanh(h @ params["a"])
        with epl.replicate(name="b"):
            h = jnp.sin(h @ params["b"])
        return h, h[:, 0]

    h, firsts = lax.scan(iteration, x, length=trip_count)
    return (h**2).mean() + (firsts[::-1] * firsts).mean()


@pytest.mark.parametrize("devices", [1, 2, 4])
def test_iterations_of_two_scopes(devices: int) -> None:
    params, x = data()
    train(descend(taken_in_iterations), (params,), (x,), devices)


def test_an_unrolled_loop_is_told() -> None:
    params, x = data()
    step = epl.parallelize(descend(taken_in_iterations), state=0, batch=1, devices=2)
    scopes = 'scope "a" and of scope "b"'
    told = f"of {TRIP_COUNT} iterations is part of {scopes}: these have devices of their own, so it is unroll"
    assert told in step.lower(params, x).explain()


# A loop that is too long for that is an error, and each thing that it says to write works.


def too_long(params: Any, x: jax.Array, second: str = "b") -> jax.Array:
    def iteration(h: jax.Array, _: None) -> Any:
        with epl.replicate(name="a"):
            h = jnp.sin(h @ params["a"])
        with epl.replicate(name=second):
            return jnp.cos(h @ params["b"]), None

    return (lax.scan(iteration, x, length=4000)[0] ** 2).mean()


def loop_for_each(params: Any, x: jax.Array) -> jax.Array:
    with epl.replicate(name="a"):
        h, _ = lax.scan(lambda h, _: (jnp.sin(h @ params["a"]), None), x, length=200)
    with epl.replicate(name="b"):
        h, _ = lax.scan(lambda h, _: (jnp.cos(h @ params["b"]), None), h, length=200)
    return (h**2).mean()


def test_a_loop_too_long_to_unroll_names_what_to_write() -> None:
    params, x = data()
    step = epl.parallelize(too_long, batch=1, devices=2)
    with pytest.raises(epl.CompileError) as error:
        step(params, x)
    text = str(error.value)
    assert "test_loops_between_scopes.py" in text
    assert 'the loop of 4000 iterations is part of scope "a" and of scope "b"' in text
    for remedy in ("give both scopes one name", "cluster.colocate_split_and_replicate", "a loop for each"):
        assert remedy in text


def test_one_name_for_both_scopes_of_a_long_loop() -> None:
    check_evaluation(lambda params, x: too_long(params, x, second="a"))


def test_scopes_of_a_long_loop_that_share_devices() -> None:
    check_evaluation(too_long, config={"cluster.colocate_split_and_replicate": True})


def test_a_loop_for_each_scope() -> None:
    check_evaluation(loop_for_each)


def check_evaluation(loss: Loss, **options: Any) -> None:
    params, x = data()
    params = jax.tree.map(lambda w: w / 2, params)  # which forgets: rounding does not grow
    found = epl.parallelize(loss, batch=1, devices=2, **options)(params, x)
    np.testing.assert_allclose(found, jax.jit(loss)(params, x), rtol=1e-4)
