"""Products that are cut into segments, as a transformer's queries, keys and values are: no exchange."""

from __future__ import annotations

import functools
import pickle
import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import jax
import jax.flatten_util
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import epl
from steps import assert_near, assert_trains_as_jax

BATCH, LENGTH, WIDTH, HEADS, LAYERS, VOCABULARY = 4, 8, 16, 4, 2, 32
FUSED = ("split", "slices", "reshape", "interleaved")

Params = dict[str, Any]


def parameters(fused: bool) -> Params:
    """A language model's; of one random source, so that both forms compute the same."""
    random = np.random.default_rng(0)

    def weights(*shape: int) -> jax.Array:
        return jnp.asarray(random.normal(0, shape[0] ** -0.5, shape), jnp.float32)

    def block() -> Params:
        qkv, bias = weights(WIDTH, 3 * WIDTH), weights(3 * WIDTH)
        up, up_bias = weights(WIDTH, 8 * WIDTH), weights(8 * WIDTH)
        rest = {"out": weights(WIDTH, WIDTH), "out_bias": weights(WIDTH), "down": weights(4 * WIDTH, WIDTH)}
        rest |= {"gain0": 1 + weights(WIDTH) / 8, "gain1": 1 + weights(WIDTH) / 8}
        if fused:
            return rest | {"qkv": qkv, "qkv_bias": bias, "up": up, "up_bias": up_bias}
        return rest | {
            "qkv": jnp.split(qkv, 3, 1),
            "qkv_bias": jnp.split(bias, 3),
            "up": jnp.split(up, 2, 1),
            "up_bias": jnp.split(up_bias, 2),
        }

    blocks = [block() for _ in range(LAYERS)]
    return {
        "blocks": blocks,
        "words": weights(VOCABULARY, WIDTH),
        "places": weights(LENGTH, WIDTH),
        "head": weights(WIDTH, VOCABULARY),
    }


def parts(x: jax.Array, w: Any, b: Any, form: str) -> list[jax.Array]:
    """The parts of x @ w + b."""
    if form == "apart":
        return [x @ each + bias for each, bias in zip(w, b, strict=True)]
    if form == "joined":
        return jnp.split(x @ jnp.concatenate(w, 1) + jnp.concatenate(b), len(w), -1)
    count = 3 if w.shape[1] == 3 * WIDTH else 2
    y = x @ w + b
    width = y.shape[-1] // count
    if form == "split":
        return jnp.split(y, count, -1)
    if form == "slices":
        return [y[..., i * width : (i + 1) * width] for i in range(count)]
    if form == "reshape":
        y = y.reshape(*y.shape[:2], count, HEADS, width // HEADS)
        return [y[:, :, i].reshape(*y.shape[:2], width) for i in range(count)]
    y = y.reshape(*y.shape[:2], HEADS, count, width // HEADS)  # the parts of a head behind each other
    return [y[:, :, :, i].reshape(*y.shape[:2], width) for i in range(count)]


def normalize(x: jax.Array, gain: jax.Array) -> jax.Array:
    x = x - x.mean(-1, keepdims=True)
    return x * jax.lax.rsqrt((x**2).mean(-1, keepdims=True) + 1e-5) * gain


def block(x: jax.Array, p: Params, form: str) -> jax.Array:
    """Causal attention and a gated perceptron, each round a residual."""
    cut = parts(normalize(x, p["gain0"]), p["qkv"], p["qkv_bias"], form)
    q, k, v = (each.reshape(*x.shape[:2], HEADS, WIDTH // HEADS) for each in cut)
    scores = jnp.einsum("bthd,bshd->bhts", q, k) / 2
    masked = jnp.where(jnp.tril(jnp.ones((LENGTH, LENGTH), bool)), scores, -1e9)
    read = jnp.einsum("bhts,bshd->bthd", jax.nn.softmax(masked), v)
    x = x + read.reshape(x.shape) @ p["out"] + p["out_bias"]
    gate, up = parts(normalize(x, p["gain1"]), p["up"], p["up_bias"], form)
    return x + (jax.nn.silu(gate) * up) @ p["down"]


def transformer(form: str) -> tuple[Any, Any]:
    """A step of a language model and its first state."""
    params = parameters(form not in ("apart", "joined"))
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(1e-2, eps=1e-2))

    def loss(params: Params, x: jax.Array, y: jax.Array) -> jax.Array:
        with epl.split(device_count=2):
            h = params["words"][x] + params["places"]
            for each in params["blocks"]:
                h = block(h, each, form)
            return optax.softmax_cross_entropy_with_integer_labels(h @ params["head"], y).mean()

    def step(state: Any, x: jax.Array, y: jax.Array) -> tuple[Any, jax.Array]:
        value, gradients = jax.value_and_grad(loss)(state[0], x, y)
        updates, opt = optimizer.update(gradients, state[1], state[0])
        return (optax.apply_updates(state[0], updates), opt), value

    return step, (params, optimizer.init(params))


def tokens(seed: int = 1) -> Any:
    return np.random.default_rng(seed).integers(0, VOCABULARY, (2, BATCH, LENGTH)).astype(np.int32)


def parallelized(form: str, devices: int, **options: Any) -> tuple[Any, Any, Any]:
    """The step through EPL, as it is, and its first state."""
    step, state = transformer(form)
    parallel = epl.parallelize(step, state="state", batch=("x", "y"), devices=devices, **options)
    return parallel, step, state


def collectives(parallel: Any, *arguments: Any) -> Counter[str]:
    """The collectives of a step's plan: a sum or a maximum by its size, others by their kind.

    Scalars do not count: how many there are of a norm depends on how many parameters there are.
    """
    dump = parallel.lower(*arguments).compile().plan.dump()
    reductions = [
        (kind, count)
        for kind, tensors in re.findall(r"reduce_part (\w+) (.*?) reads", dump)
        for count in re.findall(r" -> \w+ (\d+)x", tensors)
    ]
    others = re.findall(r"reduce_blocks|exchange_blocks|gather_blocks", dump)
    return Counter([f"{kind} of {count}" for kind, count in reductions if count != "1"] + others)


def test_fused_products_exchange_what_separate_ones_do() -> None:
    """Four sums of activations a block and the head's, nothing but sums, and the maxima of the loss."""
    found = {}
    for form in ("apart", "joined", *FUSED):
        parallel, _, state = parallelized(form, 2)
        found[form] = collectives(parallel, state, *tokens())
    activations, rows = f"sum of {BATCH * LENGTH * WIDTH}", BATCH * LENGTH
    assert found["apart"] == {activations: 4 * LAYERS + 1, f"sum of {rows}": 2, f"max of {rows}": 1}
    assert {form for form, counts in found.items() if counts != found["apart"]} == set()


@pytest.mark.parametrize(
    ("form", "devices"), [*((form, 2) for form in FUSED), ("joined", 2), ("split", 4), ("joined", 4)]
)
def test_trains_as_jax_does(form: str, devices: int) -> None:
    """State comes back in the shape and the order of the user's."""
    parallel, step, state = parallelized(form, devices)
    assert_trains_as_jax(parallel, step, state, *tokens())


@pytest.mark.parametrize("level", ["v1", "v2", "v3"])
def test_devices_share_state_of_segments(level: str) -> None:
    parallel, step, state = parallelized("split", 4, config={"zero.level": level})
    assert_trains_as_jax(parallel, step, state, *tokens())


def test_state_is_the_users_wherever_it_goes() -> None:
    parallel, step, state = parallelized("split", 2)
    expected, _ = jax.jit(step)(state, *tokens())
    found, _ = parallel(state, *tokens())
    weights, reference = found[0]["blocks"][0]["qkv"], expected[0]["blocks"][0]["qkv"]
    assert (weights.shape, len(weights)) == (reference.shape, len(reference))
    for seen in (
        np.asarray(weights),
        pickle.loads(pickle.dumps(weights)),
        weights.copy(),
        jax.jit(lambda w: w)(weights),
        jnp.split(jnp.asarray(weights), 3, 1)[1],
    ):
        part = np.asarray(reference)[:, WIDTH : 2 * WIDTH] if seen.shape[1] == WIDTH else reference
        assert_near(jnp.asarray(seen), jnp.asarray(part), 1e-4)


def test_another_step_takes_the_state_over() -> None:
    """One that splits it alike in place, one that does not split it after a copy in the caller's order."""
    parallel, step, state = parallelized("split", 2)
    apart, _, _ = parallelized("slices", 2)

    def norms(state: Any, x: jax.Array) -> tuple[Any, jax.Array]:
        with epl.replicate():
            return state, jax.tree.map(lambda w: (w.ravel() * jnp.arange(w.size)).sum(), state[0]), x.sum()

    expected, found = state, state
    for each in (parallel, apart, parallel):
        expected, _ = jax.jit(step)(expected, *tokens())
        found, _ = each(found, *tokens())
    sums = epl.parallelize(norms, state="state", batch="x", devices=2)
    found, seen, _ = sums(found, np.ones((2, 1), np.float32))
    assert_near(seen, norms(expected, jnp.ones((2, 1)))[1], 1e-4)
    found, loss = parallel(found, *tokens(2))
    expected, expected_loss = jax.jit(step)(expected, *tokens(2))
    np.testing.assert_allclose(loss, expected_loss, rtol=1e-5)
    assert_near(found, expected, 1e-4)


def trains(loss: Callable[..., jax.Array], params: Any, x: Any, y: Any, devices: int = 2) -> Counter[str]:
    """Trains as JAX does on a loss of (params, x, y), split over two devices; the step's collectives."""
    optimizer = optax.adam(1e-2, eps=1e-2)

    def step(state: Any, x: jax.Array, y: jax.Array) -> tuple[Any, jax.Array]:
        def scoped(params: Any) -> jax.Array:
            with epl.split(device_count=2):
                return loss(params, x, y)

        value, gradients = jax.value_and_grad(scoped)(state[0])
        updates, opt = optimizer.update(gradients, state[1], state[0])
        return (optax.apply_updates(state[0], updates), opt), value

    state = (params, optimizer.init(params))
    parallel = epl.parallelize(step, state="state", batch=("x", "y"), devices=devices)
    assert_trains_as_jax(parallel, step, state, x, y)
    return collectives(parallel, state, x, y)


def normal(*shape: int, seed: int = 0) -> jax.Array:
    values = np.random.default_rng(seed).normal(0, shape[0] ** -0.5, shape)
    return jnp.asarray(values, jnp.float32)


def fused_attention(params: Any, x: jax.Array, y: jax.Array, constrained: str = "") -> jax.Array:
    """`constrained`: the "flat" product, the dimension that "counts" all heads, or each one's "heads"."""

    def say(where: str, h: jax.Array, dim: int) -> jax.Array:
        return epl.constrain(h, {dim: "model"}) if where == constrained else h

    h = say("flat", x @ params["qkv"], -1).reshape(4, 6, 12, 4)
    q, k, v = (say("heads", each, 2) for each in jnp.split(say("counts", h, 2), 3, 2))
    weights = jax.nn.softmax(jnp.einsum("bthe,bshe->bhts", q, k))
    read = jnp.einsum("bhts,bshe->bthe", weights, v).reshape(4, 6, 16)
    return ((read @ params["out"] - y) ** 2).mean()


@pytest.mark.parametrize("devices", [2, 4])
@pytest.mark.parametrize("where", ["flat", "counts", "heads"])
def test_a_constraint_on_a_fused_product_costs_nothing(where: str, devices: int) -> None:
    params = {"qkv": normal(8, 48), "out": normal(16, 8)}
    data = np.asarray(normal(4, 6, 8)), np.asarray(normal(4, 6, 8, seed=2))
    constrained = functools.partial(fused_attention, constrained=where)
    assert trains(constrained, params, *data, devices) == trains(fused_attention, params, *data, devices)


@pytest.mark.parametrize("layers", [2, 12])
def test_layers_of_a_scan(layers: int) -> None:
    """A stack of fused products: unrolled, and a loop."""
    params = {"gates": normal(layers, 8, 32), "bias": normal(layers, 32), "down": normal(layers, 16, 8)}

    def loss(params: Any, x: jax.Array, y: jax.Array) -> jax.Array:
        def layer(h: jax.Array, p: Any) -> tuple[jax.Array, None]:
            gate, up = jnp.split(h @ p["gates"] + p["bias"], 2, -1)
            return h + (jax.nn.silu(gate) * up) @ p["down"], None

        return ((jax.lax.scan(layer, x, params)[0] - y) ** 2).mean()

    counts = trains(loss, params, normal(4, 8, seed=1), normal(4, 8, seed=2))
    assert counts["exchange_blocks"] == counts["gather_blocks"] == 0


def test_gates_of_a_recurrent_cell() -> None:
    """Four segments, made of two products and a bias, in every iteration."""
    params = {"x": normal(6, 32), "h": normal(8, 32), "b": normal(32), "out": normal(8, 3)}

    def loss(params: Any, x: jax.Array, y: jax.Array) -> jax.Array:
        def iteration(carry: Any, x: jax.Array) -> tuple[Any, None]:
            h, c = carry
            i, f, g, o = jnp.split(x @ params["x"] + h @ params["h"] + params["b"], 4, -1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            return (jax.nn.sigmoid(o) * jnp.tanh(c), c), None

        zeros = jnp.zeros((x.shape[0], 8))
        (h, _), _ = jax.lax.scan(iteration, (zeros, zeros), x.swapaxes(0, 1))
        return ((h @ params["out"] - y) ** 2).mean()

    trains(loss, params, np.asarray(normal(4, 5, 6)), normal(4, 3, seed=2))


@pytest.mark.parametrize("sizes", [(8, 4, 4), (4, 12), (6, 6, 6), (3, 3), (3, 9)])
def test_parts_of_any_sizes_are_right(sizes: tuple[int, ...]) -> None:
    """Those that two devices do not divide are exchanged."""
    params = {"w": normal(8, sum(sizes)), "b": normal(sum(sizes)), "out": normal(sum(sizes), 8)}
    borders = np.cumsum(sizes)[:-1].tolist()

    def loss(params: Any, x: jax.Array, y: jax.Array) -> jax.Array:
        cut = jnp.split(x @ params["w"] + params["b"], borders, -1)
        h = jnp.concatenate([jnp.tanh(each) * (i + 1) for i, each in enumerate(cut)], -1)
        return ((h @ params["out"] - y) ** 2).mean()

    counts = trains(loss, params, normal(4, 8, seed=1), normal(4, 8, seed=2), devices=4)
    exchanges = counts["exchange_blocks"] + counts["gather_blocks"] + counts["reduce_blocks"]
    assert (exchanges == 0) == all(size % 2 == 0 for size in sizes)


def test_parameters_beside_the_products() -> None:
    """A norm of all parameters in one vector, positions along segments, and rows that are looked up."""
    params = {"w": normal(6, 16), "b": normal(16), "table": normal(5, 16)}

    def loss(params: Any, x: jax.Array, y: jax.Array) -> jax.Array:
        h = x @ params["w"] * jnp.arange(16.0) + params["b"] + params["table"][y[:, 0].astype(jnp.int32) % 5]
        a, b = jnp.split(h, 2, -1)
        flat, _ = jax.flatten_util.ravel_pytree(params)
        return (a * b).mean() + 0.1 * (flat * jnp.arange(flat.size) / flat.size).sum() ** 2 + a[:, 0].mean()

    trains(loss, params, normal(4, 6, seed=1), np.arange(8, dtype=np.float32).reshape(4, 2))
