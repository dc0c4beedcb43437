"""The first states of a step, made by `epl.init_state` as the step holds them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import epl
import epl.compile
import init_layouts
from epl import initialize
from init_layouts import (
    KEY,
    LAYOUTS,
    OPTIMIZER,
    WIDTH,
    Tree,
    addresses,
    lowered,
    normalised,
    parameters,
    split2,
    states,
    trained,
    uniform,
)


@pytest.mark.parametrize("name", LAYOUTS)
def test_states_are_those_of_jax_and_lie_as_the_step_holds_them(name: str) -> None:
    layout = LAYOUTS[name]
    init = states(layout.make)
    step, like = lowered(layout, init)
    made = epl.init_state(init, KEY, like=like)
    expected = jax.jit(init)(KEY)
    assert jax.tree.structure(made) == jax.tree.structure(expected)
    for (path, found), wanted in zip(
        jax.tree.flatten_with_path(made)[0], jax.tree.leaves(expected), strict=True
    ):
        assert isinstance(found, epl.Array), path
        assert found.dtype == wanted.dtype, path
        np.testing.assert_allclose(found, wanted, rtol=2e-6, atol=2e-7, err_msg=jax.tree_util.keystr(path))
    for same in {"qkv", "bias", "whole", "b"} & set(expected[0]):  # random bits, constants, integers
        np.testing.assert_array_equal(made[0][same], expected[0][same])

    held, shardings = addresses(made), [leaf.device_sharding for leaf in jax.tree.leaves(made)]
    x = np.random.default_rng(0).normal(size=(24, WIDTH)).astype("f")
    *after, loss = step(*made, x)
    assert np.isfinite(loss)
    assert addresses(tuple(after)) == held, "the step works in place"
    assert [leaf.device_sharding for leaf in jax.tree.leaves(tuple(after))] == shardings
    assert all(leaf.is_deleted() for leaf in jax.tree.leaves(made))


# What a device needs beside its states: figures of the plan.


@pytest.fixture
def plans(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The plans of the programs that make states."""
    found: list[Any] = []
    load = initialize.load_or_compile

    def noted(*args: Any) -> Any:
        found.append(load(*args))
        return found[-1]

    monkeypatch.setattr(initialize, "load_or_compile", noted)
    return found


def largest_part(plan: Any) -> int:
    """Bytes of the largest block that a device holds of a result."""

    def bytes_of(slot: Any, sizes: dict[str, int]) -> int:
        parts = int(np.prod([sizes[axis] for axes in slot.sharding for axis in axes]))
        dtype = plan.slots[slot.slot].dtype
        return int(np.prod(slot.shape)) * jnp.dtype(dtype).itemsize // parts

    return max(
        bytes_of(slot, dict(mesh.axes))
        for mesh in plan.meshes
        for slot in mesh.slots
        if plan.slots[slot.slot].role == "result"
    )


SIDE = 2048


def matrices(draw: Callable[..., jax.Array]) -> Callable[[jax.Array], dict[str, jax.Array]]:
    def init(key: jax.Array) -> dict[str, jax.Array]:
        return {f"w{i}": draw(k, SIDE, SIDE) for i, k in enumerate(jax.random.split(key, 8))}

    return init


def chain(p: dict[str, jax.Array], x: jax.Array) -> tuple[dict[str, jax.Array], jax.Array]:
    def loss(p: dict[str, jax.Array]) -> jax.Array:
        h = x
        for i in range(len(p)):
            h = jnp.tanh(h @ p[f"w{i}"])
        return (h * h).mean()

    with epl.split(device_count=4, dims={f"w{i}": i % 2 for i in range(8)}):
        value, gradients = jax.value_and_grad(loss)(p)
    return jax.tree.map(lambda a, b: a - b, p, gradients), value


DRAWS = {
    "uniform": uniform,
    "normal": lambda key, *shape: jax.random.normal(key, shape),
    "normalised by its own mean square": normalised,
}


@pytest.mark.parametrize("draw", DRAWS)
def test_eight_matrices_split_along_either_dimension_need_no_more_than_their_parts(
    draw: str, plans: list[Any]
) -> None:
    init = matrices(DRAWS[draw])
    step = epl.parallelize(chain, state="p", batch="x", devices=4)
    like = step.lower(jax.eval_shape(init, KEY), jax.ShapeDtypeStruct((4, SIDE), jnp.float32))
    epl.init_state(init, KEY, like=like)
    plan = plans[-1]
    part = largest_part(plan)
    assert part == SIDE * SIDE  # of four devices, f32
    assert like.compile().plan.state_bytes == 8 * part
    assert plan.arena_bytes <= 3 * part
    assert plan.arena_bytes < part / 8, "what it is today: drawn where it stays"


@pytest.mark.parametrize("name", ["ZeRO v3", "split on 4, ZeRO v1", "two meshes", "rows in stages"])
def test_segments_parts_and_rows_are_made_in_their_places(
    name: str, plans: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(init_layouts, "WIDTH", 128)
    layout = LAYOUTS[name]
    init = states(layout.make)
    _, like = lowered(layout, init)
    held = [slot for mesh in like.compile().plan.meshes for slot in mesh.slots]
    if name == "split on 4, ZeRO v1":
        assert any(slot.caller_parts for slot in held)
    if name == "rows in stages":
        assert any(slot.caller_rows for slot in held)
    epl.init_state(init, KEY, like=like)
    assert plans[-1].arena_bytes <= 3 * largest_part(plans[-1])


def test_a_model_of_flax_needs_no_more_than_its_states_and_three_parts(plans: list[Any]) -> None:
    nn = pytest.importorskip("flax.linen")

    class Model(nn.Module):
        @nn.compact
        def __call__(self, x: jax.Array) -> jax.Array:
            with epl.split(device_count=4):
                x = nn.Embed(1000, 64)(x)
                for _ in range(3):
                    h = nn.LayerNorm()(x)
                    x = x + nn.Dense(64)(nn.gelu(nn.Dense(256)(h)))
                return nn.Dense(1000)(x)

    model = Model()
    tokens = jnp.zeros((8, 16), jnp.int32)

    def init(key: jax.Array) -> Tree:
        params = model.init(key, tokens)
        return params, OPTIMIZER.init(params)

    step = epl.parallelize(
        trained(lambda p, x: (model.apply(p, x) ** 2).mean()),
        state=("params", "opt_state"),
        batch="x",
        devices=4,
    )
    like = step.lower(*jax.eval_shape(init, KEY), tokens)
    made = epl.init_state(init, KEY, like=like)
    assert plans[-1].arena_bytes <= 3 * largest_part(plans[-1])
    expected = jax.jit(init)(KEY)
    for found, wanted in zip(jax.tree.leaves(made), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=2e-6, atol=2e-7)


# How it is called.


def small_step(**options: Any) -> epl.Parallelized:
    def step(p: dict[str, jax.Array], x: jax.Array) -> tuple[dict[str, jax.Array], jax.Array]:
        with split2():
            h = x @ p["up"] @ p["down"]
        return jax.tree.map(lambda w: w * 2, p), h.sum()

    return epl.parallelize(step, **{"state": "p", "batch": "x", "devices": 2} | options)


def small(key: jax.Array) -> dict[str, jax.Array]:
    keys = jax.random.split(key)
    return {"up": uniform(keys[0], 4, 8), "down": uniform(keys[1], 8, 4)}


X = np.ones((4, 4), np.float32)


def test_a_compiled_step_and_one_that_was_called_are_like_a_lowered_one() -> None:
    step = small_step()
    like = step.lower(jax.eval_shape(small, KEY), X)
    expected = jax.tree.map(np.asarray, epl.init_state(small, KEY, like=like))
    for other in (like.compile(), step):
        found = epl.init_state(small, KEY, like=other)
        jax.tree.map(np.testing.assert_array_equal, found, expected)
        assert found["up"].device_sharding is not None


def test_states_are_keys_and_numbers_too() -> None:
    def step(state: Tree) -> Tree:
        key, count = state
        return jax.random.split(key)[0], count + 1

    def init(key: jax.Array) -> Tree:
        return jax.random.split(key)[1], 3

    run = epl.parallelize(step, state="state", devices=2)
    key = jax.random.key(1)
    made = epl.init_state(init, key, like=run.lower((key, 3)))
    assert jnp.issubdtype(made[0].dtype, jax.dtypes.prng_key)
    assert jax.random.key_data(made[0]).tolist() == jax.random.key_data(init(key)[0]).tolist()
    assert int(run(made)[1]) == 4


def test_objects_of_nnx_are_made_too() -> None:
    nnx = pytest.importorskip("flax.nnx")

    def step(model: Any, x: jax.Array) -> jax.Array:
        with split2():
            value, gradients = nnx.value_and_grad(lambda model: (model(x) ** 2).mean())(model)
        nnx.update(model, jax.tree.map(lambda w, g: w - g, nnx.state(model), gradients))
        return value

    def init(key: jax.Array) -> Any:
        return nnx.Linear(4, 8, rngs=nnx.Rngs(params=key))

    run = epl.parallelize(step, state="model", batch="x", devices=2)
    made = epl.init_state(init, KEY, like=run.lower(init(KEY), X))
    np.testing.assert_allclose(made.kernel[...], init(KEY).kernel[...], rtol=2e-6)
    assert np.isfinite(run(made, X))


def test_a_program_that_makes_states_is_found_in_the_cache(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("EPL_CACHE_DIR", str(tmp_path))
    step = small_step()
    like = step.lower(jax.eval_shape(small, KEY), X)
    epl.init_state(small, KEY, like=like)
    monkeypatch.setattr(epl.compile, "compile_plan", lambda *_: pytest.fail("it is compiled again"))
    epl.init_state(small, jax.random.PRNGKey(1), like=like)


# Errors.


def test_a_step_that_was_never_lowered_is_no_layout() -> None:
    with pytest.raises(
        epl.ArgumentError, match=r"never lowered.*like=step.lower\(\.\.\.\).*ShapeDtypeStruct"
    ):
        epl.init_state(small, KEY, like=small_step())
    with pytest.raises(epl.ArgumentError, match="like must be a lowered, compiled or parallelized step"):
        epl.init_state(small, KEY, like=small)  # type: ignore[arg-type]


def test_a_step_without_states_has_none_to_make() -> None:
    step = small_step(state=())
    like = step.lower(small(KEY), X)
    with pytest.raises(epl.ArgumentError, match="like is step, which has no states"):
        epl.init_state(small, KEY, like=like)


def test_what_is_no_function_makes_no_states() -> None:
    like = small_step().lower(small(KEY), X)
    with pytest.raises(epl.ArgumentError, match="init_fn must be a function"):
        epl.init_state(small(KEY), KEY, like=like)  # type: ignore[arg-type]


MISMATCHES: dict[str, tuple[Callable[[jax.Array], Tree], str]] = {
    "missing": (lambda key: {"up": small(key)["up"]}, r"p\.down: expected float32\[8,4\], found nothing"),
    "more": (lambda key: {**small(key), "new": key}, r"p\.new: expected nothing, found uint32\[2\]"),
    "shape": (
        lambda key: {**small(key), "up": jnp.zeros((4, 4))},
        r"p\.up: expected float32\[4,8\], found float32\[4,4\]",
    ),
    "dtype": (
        lambda key: jax.tree.map(lambda w: w.astype(jnp.bfloat16), small(key)),
        r"p\.down: expected float32\[8,4\], found bfloat16\[8,4\]",
    ),
    "tree": (lambda key: tuple(small(key).values()), r"p\.down: expected float32\[8,4\], found nothing"),
}


@pytest.mark.parametrize("what", MISMATCHES)
def test_other_states_than_the_step_takes_are_named_by_their_path(what: str) -> None:
    init, message = MISMATCHES[what]
    like = small_step().lower(small(KEY), X)
    with pytest.raises(epl.StateError, match=f"does not give the states of step: {message}"):
        epl.init_state(init, KEY, like=like)


def test_several_states_come_as_a_tuple() -> None:
    init = states(parameters)
    _, like = lowered(LAYOUTS["split"], init)
    with pytest.raises(epl.StateError, match=r"must give the 2 states of train_step \(params, opt_state\)"):
        epl.init_state(parameters, KEY, like=like)
