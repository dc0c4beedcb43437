"""Batches of several lengths in one step: nodes and edges, ids and bags, points inside and on a border."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import epl
from steps import assert_near

NODES, EDGES, FEATURES, HIDDEN = 16, 40, 6, 8
OPTIMIZER = optax.adam(1e-2, eps=1e-2)
Scope = Callable[[], AbstractContextManager[Any]]


def graph(nodes: int = NODES, edges: int = EDGES, seed: int = 0) -> tuple[Any, ...]:
    """Features of nodes, from where to where edges lead, their weights, the nodes' targets."""
    random = np.random.default_rng(seed)
    ends = random.integers(0, nodes, (2, edges)).astype(np.int32)
    return (
        random.normal(size=(nodes, FEATURES)).astype(np.float32),
        *ends,
        random.normal(size=edges).astype(np.float32),
        random.normal(size=nodes).astype(np.float32),
    )


def parameters() -> Any:
    random = np.random.default_rng(7)
    shapes = {"encode": (FEATURES, HIDDEN), "message": (HIDDEN, HIDDEN), "decode": (HIDDEN, 1)}
    return {name: jnp.asarray(random.normal(size=shape) * 0.5, jnp.float32) for name, shape in shapes.items()}


def training(first: Scope, second: Scope) -> Callable[..., Any]:
    """A step of a graph network: the encoder in one scope, messages and the loss in another."""

    def loss_of(params: Any, x: Any, senders: Any, receivers: Any, weights: Any, y: Any) -> Any:
        with first():
            h = jnp.tanh(x @ params["encode"])
        with second():
            messages = jnp.tanh(h[senders] @ params["message"]) * weights[:, None]
            h = h + jax.ops.segment_sum(messages, receivers, x.shape[0])
            out = (h @ params["decode"])[:, 0]
            return jnp.mean((out - y) ** 2) + 0.1 * jnp.mean(weights**2 * messages.sum(1)), out

    def step(params: Any, state: Any, *data: Any) -> Any:
        (loss, out), gradients = jax.value_and_grad(loss_of, has_aux=True)(params, *data)
        updates, state = OPTIMIZER.update(gradients, state, params)
        return optax.apply_updates(params, updates), state, loss, out

    return step


def one(scope: Scope) -> tuple[Scope, Scope]:
    """The whole step in one scope: what has the first one's place joins its neighbours."""
    return nullcontext, scope


LAYOUTS: dict[str, tuple[tuple[Scope, Scope], int, dict[str, Any]]] = {
    "one device": (one(epl.replicate), 1, {}),
    "replicate": (one(epl.replicate), 2, {}),
    "four replicas": (one(epl.replicate), 4, {}),
    "split": (one(lambda: epl.split(2)), 2, {}),
    "split and data": (one(lambda: epl.split(2)), 4, {}),
    "stages": ((lambda: epl.replicate(name="a"), lambda: epl.replicate(name="b")), 4, {}),
    "stages of unequal counts": ((lambda: epl.replicate(name="a"), lambda: epl.split(2, name="b")), 3, {}),
    "a split behind copies": ((epl.replicate, lambda: epl.split(2)), 6, {}),
    "colocated": ((epl.replicate, lambda: epl.split(2)), 4, {"cluster.colocate_split_and_replicate": True}),
    "zero v1": (one(epl.replicate), 4, {"zero.level": "v1"}),
    "zero v2": (one(epl.replicate), 2, {"zero.level": "v2"}),
    "zero v3": (one(epl.replicate), 4, {"zero.level": "v3"}),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_graph_network_is_that_of_one_device(layout: str) -> None:
    scopes, devices, config = LAYOUTS[layout]
    function = training(*scopes)
    data = graph()
    step = epl.parallelize(function, state=(0, 1), batch=(2, 3, 4, 5, 6), devices=devices, config=config)
    found = expected = (parameters(), OPTIMIZER.init(parameters()))
    for _ in range(2):
        *found, loss, out = step(*found, *data)
        *expected, expected_loss, expected_out = jax.jit(function)(*expected, *data)
        assert_near((loss, out), (expected_loss, expected_out), 1e-5)
    assert_near(found, expected, 1e-4)


def bags(ids: Any, rows: Any, dense: Any) -> Any:
    with epl.replicate():
        return (jax.ops.segment_sum(ids, rows, dense.shape[0]) * dense).sum()


def test_each_batch_is_shared_by_itself() -> None:
    step = epl.parallelize(bags, batch=("ids", "rows", "dense"), devices=2)
    arguments = np.arange(32, dtype=np.int32), np.repeat(np.arange(8), 4), np.arange(8, dtype=np.int32)
    listing = step.lower(*arguments).as_text("global")
    assert "i32[32/data]" in listing
    assert "i32[8/data]" in listing
    assert int(step(*arguments)) == int(bags(*arguments))


@pytest.mark.parametrize("devices", [2, 4])
def test_points_inside_and_on_the_border(devices: int) -> None:
    """Derivatives of a network at collocation points, its values at fewer boundary points."""

    def loss_of(params: Any, inside: Any, border: Any, values: Any) -> Any:
        def u(x: Any) -> Any:
            return (jnp.tanh(x @ params["encode"]) @ params["decode"])[0]

        with epl.replicate():
            residual = jax.vmap(lambda x: jnp.trace(jax.hessian(u)(x)))(inside)
            return jnp.mean(residual**2) + jnp.mean((jax.vmap(u)(border) - values) ** 2)

    def step(params: Any, *data: Any) -> Any:
        loss, gradients = jax.value_and_grad(loss_of)(params, *data)
        return jax.tree.map(lambda p, g: p - 0.01 * g, params, gradients), loss

    random = np.random.default_rng(0)
    data = [random.normal(size=shape).astype(np.float32) for shape in ((24, FEATURES), (8, FEATURES), (8,))]
    parallel = epl.parallelize(step, state=0, batch=(1, 2, 3), devices=devices)
    assert_near(parallel(parameters(), *data), jax.jit(step)(parameters(), *data), 1e-5)


def test_lengths_inside_of_one_argument() -> None:
    def total(batch: Any) -> Any:
        with epl.replicate():
            return batch["long"].sum() * batch["short"].sum()

    batch = {"long": np.arange(12), "short": np.arange(4)}
    assert int(epl.parallelize(total, batch="batch", devices=4)(batch)) == 66 * 6


def test_what_does_not_divide_is_an_error_whose_remedies_work() -> None:
    data = graph(16, 37)
    names = ("x", "senders", "receivers", "weights", "y")
    step = training(*one(epl.replicate))

    def named(params: Any, state: Any, x: Any, senders: Any, receivers: Any, weights: Any, y: Any) -> Any:
        return step(params, state, x, senders, receivers, weights, y)

    start = parameters(), OPTIMIZER.init(parameters())
    with pytest.raises(epl.CompileError) as error:
        epl.parallelize(named, state=(0, 1), batch=names, devices=2)(*start, *data)
    assert (
        'dimension 0 of argument "senders" of size 37 is not divisible by axis "data" of size 2: drop what '
        'is over, pad it ("pad_batch" of epl.parallelize), or leave it whole on every device (None as its '
        'axis in "batch")'
    ) in str(error.value)
    dropped = [value if len(value) == 16 else value[:36] for value in data]
    whole = {"x": 0, "senders": None, "receivers": None, "weights": None, "y": 0}
    for batch, given in ((names, dropped), (whole, data)):
        parallel = epl.parallelize(named, state=(0, 1), batch=batch, devices=2)
        assert_near(parallel(*start, *given), jax.jit(named)(*start, *given), 1e-5)


def test_what_is_whole_by_a_constraint_is_remarked() -> None:
    axes = {"ids": None, "rows": {"a": None}, "dense": 0}
    step = epl.parallelize(
        lambda ids, rows, dense: ids.sum() + rows["a"].sum() + dense, batch=axes, devices=2, name="bags"
    )
    explained = step.lower(np.arange(5), {"a": np.arange(3)}, np.arange(4)).explain()
    assert '"ids", "rows[\'a\']" are whole on every device: None is their axis in batch' in explained
    shared = epl.parallelize(lambda dense: dense + 1, batch="dense", devices=2)
    assert "whole on every device" not in shared.lower(np.arange(4)).explain()


def masked(params: Any, x: Any, y: Any, edges: Any, mask: Any, mask_edges: Any) -> Any:
    """A layer of a graph network on what is real: the error of nodes, the messages of edges, all pairs."""
    with epl.replicate():
        h = jnp.tanh(x @ params["encode"]) * mask[:, None]
        messages = jnp.tanh(h[edges["from"]] @ params["message"]) * (edges["weight"] * mask_edges)[:, None]
        h = h + jax.ops.segment_sum(messages, edges["to"], x.shape[0])
        out = (h @ params["decode"])[:, 0]
        loss = jnp.sum((out - y) ** 2 * mask) / mask.sum() + jnp.sum(messages**2) / mask_edges.sum()
        return {"loss": loss, "nodes": out, "edges": messages, "pairs": h @ messages.T}


def as_edges(data: Any) -> tuple[Any, Any, Any]:
    x, senders, receivers, weights, y = data
    return x, y, {"from": senders, "to": receivers, "weight": weights}


@pytest.mark.parametrize("devices", [1, 2, 4])
def test_each_length_is_padded_by_itself(devices: int) -> None:
    step = epl.parallelize(masked, batch=("x", "y", "edges"), devices=devices, pad_batch=True)
    for nodes, edges in ((16, 40), (13, 37), (16, 3), (1, 40), (5, 16), (16, 16), (9, 9)):
        given = as_edges(graph(nodes, edges))
        expected = jax.jit(masked)(parameters(), *given, np.ones(nodes, bool), np.ones(edges, bool))
        assert_near(step(parameters(), *given), expected, 1e-5)
    assert len(step._lowered) == 1


def test_lengths_without_a_plan_become_multiples_of_the_devices(caplog: pytest.LogCaptureFixture) -> None:
    """Equal lengths are no reason to take one for the other."""
    step = epl.parallelize(masked, batch=("x", "y", "edges"), devices=4, pad_batch=True)
    with caplog.at_level("DEBUG", "epl"):
        for nodes, edges in ((7, 8), (8, 6), (5, 9), (3, 3)):
            found = step(parameters(), *as_edges(graph(nodes, edges)))
            assert found["nodes"].shape == (nodes,)
            assert found["edges"].shape == (edges, HIDDEN)
            assert found["pairs"].shape == (nodes, edges)
    assert len(step._lowered) == 2
    assert "masked: batches of 7 and 8 are padded to 8 and 8" in caplog.messages
    assert "masked: batches of 5 and 9 are padded to 8 and 12" in caplog.messages


def test_masks_of_the_users_own_and_states() -> None:
    def step(params: Any, x: Any, ids: Any, mask_x: Any, mask_ids: Any) -> Any:
        def loss(params: Any) -> Any:
            with epl.replicate():
                h = jnp.tanh(x @ params["encode"]).sum(1)
                return jnp.sum(h * mask_x) + jnp.sum(params["message"][ids % HIDDEN, 0] * mask_ids)

        value, gradients = jax.value_and_grad(loss)(params)
        return jax.tree.map(lambda p, g: p - 0.01 * g, params, gradients), value

    parallel = epl.parallelize(step, state="params", batch=("x", "ids"), devices=2, pad_batch=True)
    x, ids = graph()[0], np.arange(11, dtype=np.int32)
    own = np.arange(11) % 3 > 0
    for count in (11, 5):
        found = parallel(parameters(), x[:7], ids[:count], mask_ids=own[:count])
        expected = jax.jit(step)(parameters(), x[:7], ids[:count], np.ones(7, bool), own[:count])
        assert_near(found, expected, 1e-5)
    assert len(parallel._lowered) == 1


def sums(x: Any, y: Any, mask: Any) -> Any:
    return jnp.sum(x * mask) + jnp.sum(y)


def sums_of_two(x: Any, y: Any, mask: Any, mask_y: Any) -> Any:
    return jnp.sum(x * mask) + jnp.sum(y * mask_y)


def test_a_length_without_a_mask_is_an_error_whose_remedy_works() -> None:
    x, y = np.arange(7.0), np.arange(3.0)
    with pytest.raises(epl.ArgumentError) as error:
        epl.parallelize(sums, batch=("x", "y"), devices=2, pad_batch=True)(x, y)
    assert (
        'pad_batch: "y" is a batch of 3 samples, but "x" is one of 7: what has a length of its own must have '
        'a mask of its own, the parameter "mask_y"'
    ) in str(error.value)
    step = epl.parallelize(sums_of_two, batch=("x", "y"), devices=2, pad_batch=True)
    assert float(step(x, y)) == 24.0


@pytest.mark.parametrize(
    ("function", "arguments", "message"),
    [
        (
            lambda x, y, mask, mask_y: jnp.sum(x * mask) + jnp.sum(y),
            (np.arange(7.0), np.arange(3.0)),
            'does not use its "mask_y"',
        ),
        (
            lambda x, y, mask, mask_y: jnp.sum(x * mask * y * mask_y),
            (np.arange(8.0), np.arange(8.0)),
            r"takes no batch of 16 samples .*must be as long as one another have one mask, as parts of one",
        ),
        (
            lambda x, y, mask, mask_y: jnp.concatenate([x * mask, y * mask_y]),
            (np.arange(8.0), np.arange(4.0)),
            r"has the shape \[12\] for 8 samples and \[20\] for 16: return what is per sample in",
        ),
        (
            lambda x, y, mask, mask_y: jnp.sum(x["a"] * mask) + jnp.sum(y * mask_y) + jnp.sum(x["b"]),
            ({"a": np.arange(8.0), "b": np.arange(4.0)}, np.arange(4.0)),
            r"\"x\['b'\]\" is a batch of 4 .* must be an argument of its own, with a mask of its own",
        ),
        (lambda x, y, mask, mask_y: y.sum(), (np.arange(8.0), np.arange(0.0)), 'is empty: "y"'),
    ],
)
def test_calls_that_cannot_be_padded(function: Any, arguments: Any, message: str) -> None:
    step = epl.parallelize(function, batch=("x", "y"), devices=2, pad_batch=True)
    with pytest.raises(epl.ArgumentError, match=message):
        step(*arguments)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x, y, mask_y: x, r'has no parameter "mask": add it, .* of its own, "mask_x" for "x"'),
        (
            lambda x, y, mask_x, mask_y, mask: x,
            'each batch argument of .* has a mask of its own, "mask" is for',
        ),
        (lambda mask_y, x, y, mask: x, 'a call may leave out "mask", "mask_y" of .*: put it behind'),
    ],
)
def test_steps_that_cannot_be_padded(function: Any, message: str) -> None:
    with pytest.raises(epl.ArgumentError, match=message):
        epl.parallelize(function, batch=("x", "y"), devices=2, pad_batch=True)


def test_a_batch_named_like_a_mask_is_data() -> None:
    """What the step itself names in batch is no mask that EPL fills."""
    step = epl.parallelize(
        lambda x, mask_x, mask: (x * mask_x * mask).sum(), batch=("x", "mask_x"), devices=2, pad_batch=True
    )
    assert float(step(np.arange(5.0), np.full(5, 2.0))) == 20.0
