"""`epl.constrain`: what it says of a value in a step, what follows from it, and what it refuses."""

from __future__ import annotations

import inspect
import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import epl
from conftest import Lower
from epl.adapters.jax import loops
from epl.errors import Place
from steps import assert_near, assert_trains_as_jax, exchanged

X = jnp.ones((4, 8, 6))
BATCH, LENGTH, WIDTH, HIDDEN, LAYERS = 8, 8, 16, 32, 4


def collectives(step: epl.Parallelized, *args: Any) -> Counter[str]:
    """How many tensors collectives of each kind take in the local program."""
    found = exchanged(step.lower(*args).as_text(stage="local"))
    return Counter({kind: len(tensors) for kind, tensors in found.items()})


def constraints(text: str) -> list[str]:
    return re.findall(r'"?epl\.constrain"?\(.*?#epl\.constraint(<.*?>)\}', text)


# What it is to JAX.


def test_it_is_the_identity_outside_of_a_step() -> None:
    x = jnp.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(epl.constrain(x, {0: "model"}), x)
    assert epl.constrain(1.5, {None: "model"}) == 1.5
    jaxpr = jax.make_jaxpr(jax.grad(lambda x: (epl.constrain(x, {1: "model"}) ** 2).sum()))(x)
    assert "constrain" not in str(jaxpr)


def test_it_says_which_axes_split_which_dimension(lower: Lower) -> None:
    def step(x: jax.Array) -> jax.Array:
        x = epl.constrain(x, {1: "model"})
        x = epl.constrain(x, {-1: ("data", "model")})
        return epl.constrain(x, {0: ["data"], None: "model"})

    assert constraints(lower(step, X).text) == [
        '<[{}, {"model"}, {}]>',
        '<[{}, {}, {"data", "model"}]>',
        '<[{"data"}, {}, {}], whole = {"model"}>',
    ]


def test_a_gradient_is_constrained_as_its_value_is(lower: Lower) -> None:
    def step(x: jax.Array) -> jax.Array:
        return jax.grad(lambda x: jnp.sin(epl.constrain(x, {1: "model"})).sum())(x)

    program = lower(step, X)
    assert constraints(program.text) == ['<[{}, {"model"}, {}]>'] * 2
    assert "transpose(jvp" in program.text


def test_vmap_says_nothing_of_the_dimension_that_it_adds(lower: Lower) -> None:
    def step(x: jax.Array) -> jax.Array:
        return jax.vmap(lambda row: jnp.cos(epl.constrain(row, {0: "model"})), in_axes=1, out_axes=1)(x)

    assert constraints(lower(step, X).text) == ['<[{"model"}, {}, {}]>']


@pytest.mark.parametrize("kind", [jnp.int32, jnp.uint32, jnp.bool_, jnp.bfloat16])
def test_it_takes_elements_of_any_kind(lower: Lower, kind: Any) -> None:
    text = lower(
        lambda x: epl.constrain(x, {0: "data"}) ^ 1 if kind != jnp.bfloat16 else x, X.astype(kind)
    ).text
    assert "stablehlo" not in text


def test_what_nothing_uses_is_dropped(lower: Lower) -> None:
    def step(x: jax.Array) -> jax.Array:
        epl.constrain(jnp.sin(x), {0: "data"})
        return x

    assert "sine" not in lower(step, X).text


# What it does.


def sequence_split(params: Any, x: jax.Array, y: jax.Array, constrain: Callable[..., Any]) -> jax.Array:
    """A perceptron round a residual, on sequences: between its products, tokens are split over "model"."""
    with epl.split(device_count=2):
        h = constrain(x, {1: "model"})
        for up, down in params:
            normal = h * lax.rsqrt((h**2).mean(-1, keepdims=True) + 1e-5)
            hidden = jax.nn.gelu(constrain(normal, {None: "model"}) @ up)
            h = constrain(h + hidden @ down, {1: "model"})
        return ((h - y) ** 2).mean()


def trained(loss: Callable[..., jax.Array]) -> Callable[..., Any]:
    def step(params: Any, x: jax.Array, y: jax.Array) -> Any:
        value, gradients = jax.value_and_grad(loss)(params, x, y)
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, gradients), value

    return step


def data() -> tuple[Any, jax.Array, jax.Array]:
    random = np.random.default_rng(0)
    weights = [random.normal(0, 0.2, (2, WIDTH, HIDDEN)) for _ in range(LAYERS)]
    params = [(jnp.asarray(a, jnp.float32), jnp.asarray(b.T, jnp.float32)) for a, b in weights]
    x, y = random.normal(size=(2, BATCH, LENGTH, WIDTH)).astype(np.float32)
    return params, x, y


@pytest.mark.parametrize("devices", [2, 4])
def test_tokens_are_split_between_products(devices: int) -> None:
    """Megatron's sequence parallelism: what was one sum is a scatter of it and a gather."""
    params, x, y = data()
    found = []
    for constrain in (epl.constrain, lambda x, _: x):
        step = trained(lambda *args, constrain=constrain: sequence_split(*args, constrain))
        parallel = epl.parallelize(step, state=0, batch=(1, 2), devices=devices)
        assert_trains_as_jax(parallel, step, params, x, y)
        found.append(collectives(parallel, params, x, y))
    scattered, summed = found
    assert scattered["reduce_scatter"] >= 2 * LAYERS - 1
    assert scattered["all_gather"] >= 2 * LAYERS - 1
    assert not summed["reduce_scatter"]
    assert summed["all_reduce"] > scattered["all_reduce"]


@pytest.mark.parametrize("devices", [1, 2, 4])
@pytest.mark.parametrize("remat", [False, True])
def test_it_holds_in_a_loop(devices: int, remat: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops, "FEWEST_OPERATIONS", 1)
    params, x, y = data()
    stacked = jax.tree.map(lambda *each: jnp.stack(each), *params)

    def layer(h: jax.Array, weights: Any) -> Any:
        up, down = weights
        hidden = jnp.tanh(epl.constrain(h, {None: "model"}) @ up)
        return epl.constrain(h + hidden @ down, {-2: "model"}), None

    def loss(params: Any, x: jax.Array, y: jax.Array) -> jax.Array:
        with epl.split(device_count=min(devices, 2)):
            h, _ = lax.scan(jax.checkpoint(layer) if remat else layer, x, params)
            return ((h - y) ** 2).mean()

    step = trained(loss)
    parallel = epl.parallelize(step, state=0, batch=(1, 2), devices=devices)
    assert "epl.loop_carry" in parallel.lower(stacked, x, y).as_text(stage="input")
    assert_trains_as_jax(parallel, step, stacked, x, y)
    if devices > 1:
        found = collectives(parallel, stacked, x, y)
        assert found["reduce_scatter"] >= 1
        assert found["all_gather"] >= 2


def test_rows_may_be_split_over_all_devices() -> None:
    """Of what is split, the reference knows nothing."""

    def step(w: jax.Array, x: jax.Array) -> Any:
        with epl.split(device_count=2):
            h = epl.constrain(jnp.tanh(x @ w), {0: ("data", "model")})
            return w * 0.5, h, epl.constrain(h.T @ h, {1: "model"})

    w, x = jnp.eye(8) * 2, np.random.default_rng(0).normal(size=(16, 8)).astype(np.float32)
    parallel = epl.parallelize(step, state=0, batch=1, devices=4)
    assert_near(parallel(w, x), jax.jit(step)(w, x), 1e-6)
    parallel.lower(w, x).compile().check(w, x)


# What it refuses.


@pytest.mark.parametrize(
    ("dims", "message"),
    [
        ({3: "data"}, r"constrain names dimension 3 of f32\[4,8,6\], which has 3 dimensions"),
        ({-4: "data"}, "constrain names dimension -4"),
        ({"model": 1}, "constrain names dimension 'model'"),
        ({True: "model"}, "constrain names dimension True"),
        ({0: 1}, 'constrain takes names of axes, such as "model", found 1'),
        ({0: ("data", 1)}, "constrain takes names of axes"),
        ({0: "data", 1: "data"}, 'constrain names axis "data" twice'),
        ({1: "model", None: "model"}, 'constrain names axis "model" twice'),
        ({1: "model", -2: "model"}, 'constrain names axis "model" twice'),
        ("model", "constrain takes a dict from dimensions to axes such as"),
    ],
)
def test_what_it_cannot_mean_is_an_error(dims: Any, message: str) -> None:
    with pytest.raises(epl.ArgumentError, match=message):
        epl.constrain(X, dims)


def test_keys_are_no_numbers() -> None:
    with pytest.raises(epl.ArgumentError, match="constrain takes numbers, found key<fry>"):
        epl.constrain(jax.random.split(jax.random.key(0)), {0: "data"})


@pytest.mark.parametrize(
    ("scope", "dims", "message"),
    [
        (epl.replicate(), {1: "model"}, 'names axis "model", expected one of "data"'),
        (epl.split(2), {1: "tensor"}, 'names axis "tensor", expected one of "data", "model"'),
        (epl.split(2), {1: "model"}, "size of 5 is not divisible by 2"),
        (epl.split(2), {0: ("model", "data")}, "out of mesh order"),
    ],
)
def test_what_the_devices_cannot_do_is_an_error_at_the_line(scope: Any, dims: Any, message: str) -> None:
    def step(x: jax.Array) -> jax.Array:
        with scope:
            return epl.constrain(jnp.sin(x), dims)

    line = inspect.getsourcelines(step)[1] + 2
    with pytest.raises(epl.CompileError, match=message) as error:
        epl.parallelize(step, batch=0, devices=4)(np.ones((8, 5), np.float32))
    assert error.value.place == Place(__file__, line)


def test_a_dimension_is_shared_with_what_splits_it_already() -> None:
    def step(x: jax.Array) -> jax.Array:
        with epl.split(2):
            return epl.constrain(jnp.sin(x), {0: "model"})

    with pytest.raises(epl.CompileError, match="of size 6 is not divisible by 4, the size of its axes"):
        epl.parallelize(step, batch=0, devices=4)(np.ones((6, 5), np.float32))
