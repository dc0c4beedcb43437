"""`epl.split(dims=...)`: parameters are split as the user wants it, or an error says why not."""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

import epl
from epl.adapters.jax.trace import trace
from epl.errors import Place
from steps import assert_near, assert_trains_as_jax, exchanged
from test_split import BATCH, LENGTH, VOCABULARY, transformer

MEGATRON = {"[qkv]": 1, "o": 0, "blocks/*/up": 1, "state[0]['blocks'][*]['down']": 0, "words": 0}
X = jnp.ones((8, 4))


def compiled(dims: dict[str, int | None] | None, devices: int) -> tuple[Any, Any, Any, str]:
    """`test_split`'s transformer with constraints: parallelized, plain, its state and the local program."""
    step, state = transformer(2, dims=dims)
    parallel = epl.parallelize(step, state="state", batch=("x", "y"), devices=devices)
    x = np.zeros((BATCH, LENGTH), np.int32)
    return parallel, step, state, parallel.lower(state, x, x).as_text(stage="local")


def collectives(text: str) -> Counter[str]:
    return Counter({kind: len(tensors) for kind, tensors in exchanged(text).items()})


def shardings(text: str) -> dict[str, str]:
    """How the arguments of a local program are split, by name."""
    arguments = text.partition("func.func")[2].partition(") -> (")[0].split("%")
    pattern = re.compile(r"<@mesh, (\[.*\])>> \{.*epl\.name = \"(.*?)\"")
    found = (pattern.search(argument) for argument in arguments)
    return {match[2]: match[1] for match in found if match}


@pytest.fixture(scope="module")
def search() -> Callable[[int], str]:
    """The local program without constraints, by the number of devices: made once."""
    return functools.cache(lambda devices: compiled(None, devices)[-1])


@pytest.mark.parametrize("devices", [2, 4])
def test_megatron_by_hand_is_what_the_search_finds(devices: int, search: Callable[[int], str]) -> None:
    searched = search(devices)
    *_, constrained = compiled(MEGATRON, devices)
    assert collectives(constrained) == collectives(searched)
    assert shardings(constrained) == shardings(searched)
    assert shardings(constrained)["state[0]['blocks'][1]['o']"] == '[{"model"}, {}]'


@pytest.mark.parametrize("devices", [2, 4])
@pytest.mark.parametrize(
    ("dims", "name", "expected"),
    [
        ({"up": 0}, "state[0]['blocks'][0]['up']", '[{"model"}, {}]'),
        ({"words": -1}, "state[0]['words']", '[{}, {"model"}]'),
        ({"*blocks/0*": None}, "state[0]['blocks'][0]['q']", "[{}, {}]"),
        ({"bias1": None, "gain0": 0}, "state[0]['blocks'][1]['gain0']", '[{"model"}]'),
    ],
)
def test_another_choice_computes_the_same(
    dims: dict[str, int | None], name: str, expected: str, devices: int, search: Callable[[int], str]
) -> None:
    parallel, step, state, local = compiled(dims, devices)
    assert shardings(local)[name] == expected
    assert collectives(local) != collectives(search(devices))
    x, y = np.random.default_rng(1).integers(0, VOCABULARY, (2, BATCH, LENGTH)).astype(np.int32)
    assert_trains_as_jax(parallel, step, state, x, y)


def layered(scopes: tuple[Any, Any]) -> Any:
    def step(params: dict[str, jax.Array], x: jax.Array) -> Any:
        def loss(params: dict[str, jax.Array]) -> jax.Array:
            with scopes[0]:
                h = jnp.tanh(x @ params["w0"])
            with scopes[1]:
                return ((h @ params["w1"]) ** 2).mean()

        value, gradients = jax.value_and_grad(loss)(params)
        return jax.tree.map(lambda p, g: p - g, params, gradients), value

    return step


PARAMS = {"w0": jnp.eye(4, 6), "w1": jnp.eye(6, 2)}


@pytest.mark.parametrize("name", [None, "all"])
def test_entries_of_one_scope_put_their_constraints_together(name: str | None) -> None:
    scopes = epl.split(2, name, {"w0": 0}), epl.split(2, name, {"w1": 1, "w0": 0})
    step = layered(scopes)
    parallel = epl.parallelize(step, state=0, batch=1, devices=2)
    found = shardings(parallel.lower(PARAMS, X).as_text(stage="local"))
    assert found["params['w0']"] == '[{"model"}, {}]'
    assert found["params['w1']"] == '[{}, {"model"}]'
    assert_near(parallel(PARAMS, X), jax.jit(step)(PARAMS, X), 1e-5)


def test_the_same_step_runs_on_one_device() -> None:
    step = layered((epl.split(1, dims={"w0": 1}), epl.split(1, dims={"w1": 0})))
    parallel = epl.parallelize(step, state=0, batch=1, devices=1)
    assert_near(parallel(PARAMS, X), jax.jit(step)(PARAMS, X), 1e-5)


def test_names_of_modules_are_patterns() -> None:
    class Model(nnx.Module):
        def __init__(self) -> None:
            rngs = nnx.Rngs(0)
            self.first, self.second = nnx.Linear(4, 6, rngs=rngs), nnx.Linear(6, 2, rngs=rngs)

        def __call__(self, x: jax.Array) -> jax.Array:
            return self.second(jnp.tanh(self.first(x)))

    def step(model: Model, x: jax.Array) -> jax.Array:
        with epl.split(2, dims={"first.kernel": 0, "second.kernel": 1}):
            loss, gradients = nnx.value_and_grad(lambda model: (model(x) ** 2).mean())(model)
        nnx.update(model, jax.tree.map(lambda p, g: p - g, nnx.state(model, nnx.Param), gradients))
        return loss

    parallel = epl.parallelize(step, state="model", batch="x", devices=2)
    found = shardings(parallel.lower(Model(), X).as_text(stage="local"))
    kernels = [dims for name, dims in found.items() if "kernel" in name]
    assert kernels == ['[{"model"}, {}]', '[{}, {"model"}]']


@pytest.mark.parametrize("said", [{}, {1: "model"}])
def test_the_segments_of_a_fused_projection_are_split(said: dict[int, str]) -> None:
    """Also where the whole projection is constrained: nothing is exchanged but the loss."""

    def step(params: dict[str, jax.Array], x: jax.Array) -> Any:
        def loss(params: dict[str, jax.Array]) -> jax.Array:
            with epl.split(2, dims={"qkv": 1}):
                fused = epl.constrain(x @ params["qkv"], said) if said else x @ params["qkv"]
                q, k, v = jnp.split(fused, 3, -1)
                return ((q * k + v) ** 2).mean()

        value, gradients = jax.value_and_grad(loss)(params)
        return jax.tree.map(lambda p, g: p - g, params, gradients), value

    params = {"qkv": jnp.asarray(np.random.default_rng(0).normal(size=(4, 24)), jnp.float32)}
    parallel = epl.parallelize(step, state=0, batch=1, devices=2)
    local = parallel.lower(params, X).as_text(stage="local")
    assert shardings(local)["params['qkv']"] == '[{}, {}, {"model"}]'
    assert exchanged(local) == {"all_reduce": ["f32"]}
    assert_near(parallel(params, X), jax.jit(step)(params, X), 1e-5)


# What is refused.


@pytest.mark.parametrize(
    ("dims", "message"),
    [
        ({"w2": 1}, r'dims "w2" = 1 names no parameter of the scope\n.*2 parameters: argument "params\[\'w0'),
        ({"w0": 2}, r"dims \"w0\" = 2: argument \"params\['w0'\]\" of 'tensor<4x6xf32>' has 2 dimensions"),
        ({"x": 0}, 'dims "x" = 0 names no parameter'),
        ({"w*": 1, "w1": 0}, r'dims "w1" = 0 contradicts "w\*" = 1 for argument'),
        ({"w1": 1, "params/*": None}, r'dims "params/\*" whole contradicts "w1" = 1'),
        ({"w[": 1}, r'dims "w\[" = 1: invalid glob pattern'),
    ],
)
def test_a_constraint_that_cannot_be_met_is_an_error(dims: dict[str, int | None], message: str) -> None:
    scope = epl.split(2, "all", dims)
    with pytest.raises(epl.CompileError, match=message) as error:
        epl.parallelize(layered((scope, scope)), state=0, batch=1, devices=2)(PARAMS, X)
    assert isinstance(error.value.place, Place)
    assert error.value.place.file == __file__


def test_a_dimension_that_does_not_divide_is_an_error() -> None:
    scope = epl.split(4, dims={"w0": 1})
    with pytest.raises(epl.CompileError, match=r"dimension 1 of .* of size 6 is not divisible by 4"):
        epl.parallelize(layered((scope, scope)), state=0, batch=1, devices=4)(PARAMS, X)


def test_entries_of_one_name_that_contradict_each_other_are_an_error() -> None:
    def step(x: jax.Array) -> jax.Array:
        with epl.split(2, "all", {"w": 1}):
            x = x * 2
        with epl.split(2, "all", {"w": None}):
            return x * 3

    with pytest.raises(epl.ScopeError, match='scope "all" splits "w" along None here, along 1 before'):
        trace(step, [jax.ShapeDtypeStruct(X.shape, X.dtype)], "step")


@pytest.mark.parametrize(
    ("dims", "message"),
    [
        (["w"], "must be a dict such as"),
        ({1: 1}, "names parameters by strings, found 1"),
        ({"": 1}, "names parameters by strings, found ''"),
        ({"w": "model"}, "\"w\" must be a dimension or None, found 'model'"),
        ({"w": True}, '"w" must be a dimension or None, found True'),
    ],
)
def test_what_is_no_constraint_is_an_error(dims: Any, message: str) -> None:
    with pytest.raises(epl.ScopeError, match=message):
        epl.split(2, dims=dims)


def test_a_scope_shows_its_constraints() -> None:
    scope = epl.split(2, "all", {"wq": 1, "wo": None})
    assert repr(scope) == "epl.split(device_count=2, name=\"all\", dims={'wq': 1, 'wo': None})"


def test_a_key_may_be_empty() -> None:
    def step(params: Any, x: Any) -> Any:
        with epl.split(2, dims={"c": 0}):
            return params, (x @ params[""] @ params["c"]).sum()

    params = {"": jnp.eye(4), "c": jnp.ones((4, 2))}
    parallel = epl.parallelize(step, state="params", batch="x", devices=2)
    x = jnp.arange(8.0).reshape(2, 4)
    assert parallel(params, x)[1] == jax.jit(step)(params, x)[1]
    assert "f32[4/model, 2]" in parallel.lower(params, x).as_text("global")
