"""What can be split, factor by factor: it trains as on one device and exchanges what it must."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from jax import lax

import epl
from steps import assert_trains_as_jax, exchanged
from test_dims import shardings

BATCH, LENGTH, WIDTH, HEADS, GROUPS, SIZE, HIDDEN, VOCABULARY, EXPERTS = 4, 6, 10, 4, 2, 3, 14, 22, 6
SIDE, CHANNELS = 5, 8

Params = dict[str, jax.Array]
Loss = Callable[[Params, jax.Array, jax.Array], jax.Array]


def normal(*shape: int, seed: int = 0) -> jax.Array:
    scale = np.prod(shape[:-1]) ** -0.5
    return jnp.asarray(np.random.default_rng(seed).normal(0, scale, shape), jnp.float32)


def features(shape: tuple[int, ...] = (BATCH, LENGTH, WIDTH)) -> tuple[jax.Array, jax.Array]:
    """Samples, and what a model should make of them."""
    x, y = np.random.default_rng(1).normal(size=(2, *shape))
    return jnp.asarray(x, jnp.float32), jnp.asarray(y, jnp.float32)


def labels() -> tuple[jax.Array, jax.Array]:
    return features()[0], jnp.asarray(np.random.default_rng(2).integers(0, VOCABULARY, (BATCH, LENGTH)))


def tokens() -> tuple[jax.Array, jax.Array]:
    return labels()[1], features()[1]


def images() -> tuple[jax.Array, jax.Array]:
    return features((BATCH, SIDE, SIDE, CHANNELS))


def squares(found: jax.Array, wanted: jax.Array) -> jax.Array:
    return ((found - wanted) ** 2).mean()


# Models. Each begins with a layer that is whole, so that gradients of what the split layers read count.


def attention(says: Callable[[str, jax.Array], jax.Array] = lambda _, x: x) -> Loss:
    """Of heads in dimensions of their own; `says` constrains queries ("q"), keys ("k") and values ("v")."""

    def loss(p: Params, x: jax.Array, y: jax.Array) -> jax.Array:
        h = x @ p["first"]
        q, k, v = (says(name, jnp.einsum("btd,dhe->bthe", h, p[f"w{name}"])) for name in "qkv")
        weights = jax.nn.softmax(jnp.einsum("bthe,bshe->bhts", q, k) / 2)
        return squares(jnp.einsum("bhts,bshe,hed->btd", weights, v, p["wo"]), y)

    return loss


ATTENTION = {"first": normal(WIDTH, WIDTH), "wo": normal(HEADS, SIZE, WIDTH)}
ATTENTION |= {f"w{name}": normal(WIDTH, HEADS, SIZE, seed=i) for i, name in enumerate("qkv")}


def grouped_attention(p: Params, x: jax.Array, y: jax.Array) -> jax.Array:
    """Several heads of queries read one of keys and values; the matrices have one dimension for all heads."""
    h = x @ p["first"]
    q = (h @ p["wq"]).reshape(BATCH, LENGTH, GROUPS, HEADS // GROUPS, SIZE)
    k, v = ((h @ p[name]).reshape(BATCH, LENGTH, GROUPS, SIZE) for name in ("wk", "wv"))
    weights = jax.nn.softmax(jnp.einsum("btghe,bsge->bghts", q, k))
    return squares(jnp.einsum("bghts,bsge->btghe", weights, v).reshape(BATCH, LENGTH, -1) @ p["wo"], y)


GROUPED = {
    "first": normal(WIDTH, WIDTH),
    "wq": normal(WIDTH, HEADS * SIZE),
    "wo": normal(HEADS * SIZE, WIDTH),
}
GROUPED |= {"wk": normal(WIDTH, GROUPS * SIZE, seed=1), "wv": normal(WIDTH, GROUPS * SIZE, seed=2)}


def perceptron(says: Callable[[jax.Array], jax.Array] = lambda x: x) -> Loss:
    """`says` constrains what is between its products."""

    def loss(p: Params, x: jax.Array, y: jax.Array) -> jax.Array:
        return squares(jnp.tanh(says(x @ p["first"] @ p["up"] + p["bias"])) @ p["down"], y)

    return loss


PERCEPTRON = {"first": normal(WIDTH, WIDTH), "up": normal(WIDTH, HIDDEN), "down": normal(HIDDEN, WIDTH)}
PERCEPTRON["bias"] = normal(HIDDEN, 1)[:, 0]


def classifier(p: Params, x: jax.Array, y: jax.Array) -> jax.Array:
    logits = x @ p["first"] @ p["head"]
    return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()


CLASSIFIER = {"first": normal(WIDTH, WIDTH), "head": normal(WIDTH, VOCABULARY)}


def experts(p: Params, x: jax.Array, y: jax.Array) -> jax.Array:
    """Every expert computes all tokens: their number is a batch dimension of both contractions."""
    h = x @ p["first"]
    gates = jax.nn.softmax(h @ p["gate"])
    each = jnp.einsum("btd,bte->ebtd", h, gates)
    made = jnp.einsum("ebtf,efd->ebtd", jnp.tanh(jnp.einsum("ebtd,edf->ebtf", each, p["up"])), p["down"])
    return squares(made.sum(0), y)


MIXTURE = {"first": normal(WIDTH, WIDTH), "gate": normal(WIDTH, EXPERTS)}
MIXTURE |= {"up": normal(EXPERTS, WIDTH, HIDDEN), "down": normal(EXPERTS, HIDDEN, WIDTH)}


def convolve(x: jax.Array, kernel: jax.Array, groups: int = 1) -> jax.Array:
    layout = ("NHWC", "HWIO", "NHWC")
    return lax.conv_general_dilated(
        x, kernel, (1, 1), "SAME", dimension_numbers=layout, feature_group_count=groups
    )


def convolutions(p: Params, x: jax.Array, y: jax.Array) -> jax.Array:
    h = jnp.tanh(convolve(convolve(x, p["first"]), p["out"]))
    if "depthwise" in p:
        h = jnp.tanh(convolve(h, p["depthwise"], CHANNELS))
    return squares(convolve(h, p["in"]), y)


KERNELS = {name: normal(3, 3, CHANNELS, CHANNELS, seed=i) for i, name in enumerate(("first", "out", "in"))}
DEPTHWISE = KERNELS | {"depthwise": normal(3, 3, 1, CHANNELS)}


def embedding(p: Params, x: jax.Array, y: jax.Array) -> jax.Array:
    return squares(jnp.tanh(p["table"][x]) @ p["last"], y)


EMBEDDING = {"table": normal(3 * VOCABULARY, WIDTH), "last": normal(WIDTH, WIDTH)}


def normalized(p: Params, x: jax.Array, y: jax.Array) -> jax.Array:
    """A norm over features."""
    h = x @ p["up"]
    h = h * lax.rsqrt((h**2).mean(-1, keepdims=True) + 1e-5) * p["gain"]
    return squares(h @ p["down"], y)


NORMALIZED = {"up": normal(WIDTH, HIDDEN), "gain": 1 + normal(HIDDEN, 1)[:, 0], "down": normal(HIDDEN, WIDTH)}


@dataclass
class Factor:
    """A model and what is said of it: parameters are split along `dims`, others are whole or in `follows`."""

    loss: Loss
    params: Params
    dims: dict[str, int]
    exchanges: dict[str, list[Any]]  # on "model": the tensors that each kind takes, or names of gradients
    follows: dict[str, int] = field(default_factory=dict)
    data: Callable[[], tuple[jax.Array, jax.Array]] = features
    looked_up: str | None = None  # a parameter of which a batch has fewer rows


def constrain(names: str, dims: Any) -> Callable[[str, jax.Array], jax.Array]:
    return lambda name, x: epl.constrain(x, dims) if name in names else x


FEATURES, HIDDEN_FEATURES = (BATCH, LENGTH, WIDTH), (BATCH, LENGTH, HIDDEN)
HEAD, SCORES = (BATCH, LENGTH, HEADS, SIZE), (BATCH, HEADS, LENGTH)  # those of a row of scores
IMAGE, ROWS = (BATCH, SIDE, SIDE, CHANNELS), (BATCH, LENGTH)
LOSS: tuple[int, ...] = ()
# What comes back through a whole layer is summed where it is smaller: as the gradient of its parameter.
BOTH_WAYS = {"all_reduce": [FEATURES, "first"]}
HEADWISE = {"wq": 1, "wk": 1, "wv": 1, "wo": 0}
GRADIENTS = ["first", "wq", "wk", "wv", "wo"]
FACTORS = {
    "heads": Factor(attention(), ATTENTION, HEADWISE, BOTH_WAYS),
    "heads constrained": Factor(attention(constrain("q", {2: "model"})), ATTENTION, {}, BOTH_WAYS, HEADWISE),
    "groups of heads": Factor(grouped_attention, GROUPED, HEADWISE, BOTH_WAYS),
    "positions of queries": Factor(  # keys and values are whole, their gradients are scattered together
        attention(constrain("q", {1: "model"})),
        ATTENTION,
        {},
        {"all_reduce": [*GRADIENTS, LOSS], "reduce_scatter": [FEATURES]},
    ),
    "positions of keys": Factor(  # a softmax over them: maxima, denominators, what is read; and backward
        attention(constrain("kv", {1: "model"})),
        ATTENTION,
        {},
        {"all_reduce": [*GRADIENTS[:-1], *[SCORES] * 3, HEAD], "reduce_scatter": [FEATURES]},
    ),
    "sequence": Factor(  # keys and values are gathered, their gradients scattered
        attention(constrain("qkv", {1: "model"})),
        ATTENTION,
        {},
        {"all_gather": [HEAD] * 2, "reduce_scatter": [HEAD] * 2, "all_reduce": [*GRADIENTS, LOSS]},
    ),
    "hidden": Factor(perceptron(), PERCEPTRON, {"up": 1, "down": 0}, BOTH_WAYS, {"bias": 0}),
    "hidden constrained": Factor(
        perceptron(lambda x: epl.constrain(x, {2: "model"})),
        PERCEPTRON,
        {},
        BOTH_WAYS,
        {"up": 1, "down": 0, "bias": 0},
    ),
    "features in": Factor(
        perceptron(), PERCEPTRON, {"up": 0}, {"all_reduce": [HIDDEN_FEATURES], "all_gather": ["first"]}
    ),
    "features out": Factor(
        perceptron(), PERCEPTRON, {"down": 1}, {"all_reduce": ["first", "up", "bias", LOSS]}
    ),
    "vocabulary": Factor(  # maxima, denominators and labels of the loss
        classifier, CLASSIFIER, {"head": 1}, {"all_reduce": [*[ROWS] * 3, "first"]}, data=labels
    ),
    "experts": Factor(  # the gates are a softmax over experts: whole, and so is what reads its gradient
        experts,
        MIXTURE,
        {"up": 0, "down": 0},
        {"all_reduce": [FEATURES, ROWS, "first"], "all_gather": ["gate"]},
    ),
    "experts and gates": Factor(
        experts, MIXTURE, {"up": 0, "down": 0}, {"all_reduce": [FEATURES, *[ROWS] * 3, "first"]}, {"gate": 1}
    ),
    "channels": Factor(
        convolutions, KERNELS, {"out": 3, "in": 2}, {"all_reduce": [IMAGE, "first"]}, data=images
    ),
    "channels in": Factor(
        convolutions, KERNELS, {"in": 2}, {"all_reduce": [IMAGE, "first"], "all_gather": ["out"]}, data=images
    ),
    "channels out": Factor(
        convolutions, KERNELS, {"out": 3}, {"all_reduce": [IMAGE, "first"], "all_gather": ["in"]}, data=images
    ),
    "channels apart": Factor(
        convolutions,
        DEPTHWISE,
        {"out": 3, "in": 2},
        {"all_reduce": [IMAGE, "first"]},
        {"depthwise": 3},
        data=images,
    ),
    "embedding rows": Factor(
        embedding, EMBEDDING, {"table": 0}, {"all_reduce": [FEATURES]}, data=tokens, looked_up="table"
    ),
    "embedding columns": Factor(
        embedding,
        EMBEDDING,
        {"table": 1},
        {"all_reduce": [FEATURES], "all_gather": ["last"]},
        data=tokens,
        looked_up="table",
    ),
    "embedding columns, summed": Factor(
        embedding,
        EMBEDDING,
        {"table": 1, "last": 0},
        {"all_reduce": [FEATURES]},
        data=tokens,
        looked_up="table",
    ),
    "normalized features": Factor(  # the norm of a row, and its gradient
        normalized, NORMALIZED, {"up": 1, "down": 0}, {"all_reduce": [FEATURES, ROWS, ROWS]}, {"gain": 0}
    ),
}


def canonical(sizes: Iterable[int]) -> tuple[int, ...]:
    """Programs transpose tensors and keep dimensions of one."""
    return tuple(sorted(size for size in sizes if size != 1))


def found_exchanges(local: str) -> dict[str, Counter[tuple[int, ...]]]:
    found = exchanged(local)
    return {
        kind: Counter(canonical(map(int, tensor.split("x")[:-1])) for tensor in tensors)
        for kind, tensors in found.items()
    }


def expected_exchanges(factor: Factor, devices: int) -> dict[str, Counter[tuple[int, ...]]]:
    """Four devices are two replicas of two: each gradient and the loss is a sum over them, whether it is one
    over "model" as well or not. Of what a batch looks up they exchange ids and rows."""
    sizes: dict[Any, tuple[int, ...]] = {name: value.shape for name, value in factor.params.items()}
    expected = {
        kind: Counter(canonical(sizes.get(tensor, tensor)) for tensor in tensors)
        for kind, tensors in factor.exchanges.items()
    }
    if devices == 4:
        summed = [size for name, size in sizes.items() if name != factor.looked_up]
        expected["all_reduce"] |= Counter(map(canonical, [*summed, LOSS]))
        if factor.looked_up:
            rows = Counter(map(canonical, [ROWS, FEATURES]))
            expected["all_gather"] = expected.get("all_gather", Counter()) | rows
    return expected


def sharding(rank: int, dim: int | None) -> str:
    return "[" + ", ".join('{"model"}' if each == dim else "{}" for each in range(rank)) + "]"


def trained(loss: Loss, dims: dict[str, int | None] | None = None) -> Callable[..., Any]:
    """A step of gradient descent on a loss that is split over two devices."""

    def step(params: Params, x: jax.Array, y: jax.Array) -> tuple[Params, jax.Array]:
        def scoped(params: Params) -> jax.Array:
            with epl.split(device_count=2, dims=dims):
                return loss(params, x, y)

        value, gradients = jax.value_and_grad(scoped)(params)
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, gradients), value

    return step


@pytest.mark.parametrize("devices", [2, 4])
@pytest.mark.parametrize("name", FACTORS)
def test_a_factor_is_split(name: str, devices: int) -> None:
    factor = FACTORS[name]
    x, y = factor.data()
    step = trained(factor.loss, dict.fromkeys(factor.params.keys() - factor.follows.keys()) | factor.dims)
    parallel = epl.parallelize(step, state=0, batch=(1, 2), devices=devices)
    local = parallel.lower(factor.params, x, y).as_text(stage="local")
    split = factor.dims | factor.follows
    found = shardings(local)
    for each, value in factor.params.items():
        assert found[f"params['{each}']"] == sharding(value.ndim, split.get(each)), each
    assert found_exchanges(local) == expected_exchanges(factor, devices)
    assert_trains_as_jax(parallel, step, factor.params, x, y)


# Extents that two devices do not divide.


def of_heads(count: int) -> Params:
    params = {"first": normal(WIDTH, WIDTH), "wo": normal(count, SIZE + 1, WIDTH)}
    return params | {f"w{name}": normal(WIDTH, count, SIZE + 1, seed=i) for i, name in enumerate("qkv")}


def flat_attention(p: Params, x: jax.Array, y: jax.Array) -> jax.Array:
    """Three heads, in one dimension of the matrices."""
    q, k, v = ((x @ p["first"] @ p[name]).reshape(BATCH, LENGTH, 3, 4) for name in ("wq", "wk", "wv"))
    weights = jax.nn.softmax(jnp.einsum("bthe,bshe->bhts", q, k) / 2)
    return squares(jnp.einsum("bhts,bshe->bthe", weights, v).reshape(BATCH, LENGTH, 12) @ p["wo"], y)


FLAT = {"first": normal(WIDTH, WIDTH), "wo": normal(12, WIDTH)}
FLAT |= {f"w{name}": normal(WIDTH, 12, seed=i) for i, name in enumerate("qkv")}
ODD_MIXTURE = {"first": normal(WIDTH, WIDTH), "gate": normal(WIDTH, 3)}
ODD_MIXTURE |= {"up": normal(3, WIDTH, HIDDEN), "down": normal(3, HIDDEN, WIDTH)}
ODD_KERNELS = {
    "first": normal(3, 3, CHANNELS, CHANNELS),
    "out": normal(3, 3, CHANNELS, 5),
    "in": normal(3, 3, 5, CHANNELS),
}
UNEVEN = {
    "heads": (attention(), of_heads(3), {"wq": 1}, features),
    "hidden": (
        perceptron(),
        PERCEPTRON | {"up": normal(WIDTH, 7), "bias": jnp.zeros(7), "down": normal(7, WIDTH)},
        {"down": 0},
        features,
    ),
    "vocabulary": (classifier, CLASSIFIER | {"head": normal(WIDTH, 1001)}, {"head": 1}, labels),
    "experts": (experts, ODD_MIXTURE, {"up": 0}, features),
    "channels": (convolutions, ODD_KERNELS, {"out": 3}, images),
    "embedding rows": (embedding, EMBEDDING | {"table": normal(1001, WIDTH)}, {"table": 0}, tokens),
}


@pytest.mark.parametrize("devices", [2, 4])
@pytest.mark.parametrize("name", UNEVEN)
def test_a_constraint_for_an_uneven_factor_is_an_error_and_none_is_right(name: str, devices: int) -> None:
    """What is searched for splits another dimension, or nothing."""
    loss, params, dims, data = UNEVEN[name]
    x, y = data()
    ((parameter, dim),) = dims.items()
    extent = params[parameter].shape[dim]
    message = (
        rf"dimension {dim} of argument \"params\['{parameter}'\]\" of size {extent} is not divisible by 2"
    )
    with pytest.raises(epl.CompileError, match=message):
        epl.parallelize(trained(loss, dims), state=0, batch=(1, 2), devices=devices)(params, x, y)
    step = trained(loss)
    parallel = epl.parallelize(step, state=0, batch=(1, 2), devices=devices)
    assert_trains_as_jax(parallel, step, params, x, y)


@pytest.mark.parametrize("devices", [2, 4])
@pytest.mark.parametrize("dims", [{"wq": 1, "wk": 1, "wv": 1, "wo": 0}, {"wq": 1}, None])
def test_a_border_within_a_head_is_right(dims: dict[str, int | None] | None, devices: int) -> None:
    """Three heads of four columns: a device has one and a half, and what it lacks is exchanged."""
    x, y = features()
    step = trained(flat_attention, dims)
    parallel = epl.parallelize(step, state=0, batch=(1, 2), devices=devices)
    local = parallel.lower(FLAT, x, y).as_text(stage="local")
    for name, dim in (dims or {}).items():
        assert shardings(local)[f"params['{name}']"] == sharding(2, dim)
    assert_trains_as_jax(parallel, step, FLAT, x, y)


def test_a_constraint_on_an_uneven_sequence_is_an_error() -> None:
    x, y = features((BATCH, 5, WIDTH))
    loss = attention(constrain("q", {1: "model"}))
    with pytest.raises(epl.CompileError, match=r"dimension 1 of .* its size of 5 is not divisible by 2"):
        epl.parallelize(trained(loss), state=0, batch=(1, 2), devices=2)(ATTENTION, x, y)
