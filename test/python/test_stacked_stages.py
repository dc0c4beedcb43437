"""Stacked parameters in stages: each stage has the rows of its layers, of the parameters, of what the
optimizer keeps and of the gradients; the answers are those of one device, bit by bit."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import epl

BIN = Path(__file__).parents[2] / "build" / "bin"
LAYERS, WIDTH = 6, 8
Tree = Any


def numbers(*shape: int, seed: int = 0, most: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).integers(-most, most + 1, shape).astype("f")


def parameters() -> dict[str, np.ndarray]:
    return {"b": numbers(LAYERS, WIDTH), "w": numbers(LAYERS, WIDTH, WIDTH, seed=1)}


def zeros(tree: Tree) -> Tree:
    return jax.tree.map(np.zeros_like, tree)


X = numbers(8, WIDTH, seed=2, most=2)


def layer(h: jax.Array, p: dict[str, jax.Array]) -> tuple[jax.Array, None]:
    return jnp.maximum(h @ p["w"], -3) + p["b"], None


def gradients_of(
    forward: Callable[[Tree, jax.Array], jax.Array], p: Tree, x: jax.Array
) -> tuple[jax.Array, Tree]:
    return jax.value_and_grad(lambda p: (forward(p, x) * x).sum())(p)


def scan(p: Tree, x: jax.Array) -> jax.Array:
    return lax.scan(layer, x, p)[0]


def minus(p: Tree, g: Tree) -> Tree:
    return jax.tree.map(lambda a, b: a - b, p, g)


def descent(p: Tree, x: jax.Array) -> Any:
    """Layers that are iterations of a scan."""
    value, g = gradients_of(scan, p, x)
    return minus(p, g), value


def written_out(p: Tree, x: jax.Array) -> Any:
    """Layers that read their rows by number: gradients are sums of padded rows."""

    def forward(p: Tree, x: jax.Array) -> jax.Array:
        for index in range(LAYERS):
            x, _ = layer(x, jax.tree.map(lambda rows, index=index: rows[index], p))
        return x

    value, g = gradients_of(forward, p, x)
    return minus(p, g), value


def recomputed(p: Tree, x: jax.Array) -> Any:
    value, g = gradients_of(lambda p, x: lax.scan(jax.checkpoint(layer), x, p)[0], p, x)
    return minus(p, g), value


def clipped(state: Tree, x: jax.Array) -> Any:
    """A momentum, the sum and the largest of the absolute gradients of all layers."""
    p, m = state
    value, g = gradients_of(scan, p, x)
    norm = sum(jnp.abs(a).sum() for a in jax.tree.leaves(g))
    largest = jnp.maximum(jnp.abs(g["w"]).max(), jnp.abs(g["b"]).max())
    m = jax.tree.map(lambda a, b: 2 * a + jnp.where(norm > 10, b, 2 * b), m, g)
    return (minus(p, m), m), value, norm, largest


def by_layer(p: Tree, x: jax.Array) -> Any:
    """Norms of layers, a sum over them, gradients and rows as results."""
    value, g = gradients_of(scan, p, x)
    norms = (g["w"] ** 2).sum((1, 2))
    after = minus(p, {**g, "w": g["w"] - norms[:, None, None]})
    return after, value, norms, g["b"].sum(0), g["w"], after["w"][2]


def tied(p: Tree, x: jax.Array) -> Any:
    """The first row again in the end, and what reads all rows in the loss."""

    def loss(p: Tree) -> jax.Array:
        h = scan(p, x) @ p["w"][0] + p["b"][LAYERS - 1]
        return (h * x).sum() + (p["w"] ** 2).sum()

    value, g = jax.value_and_grad(loss)(p)
    return minus(p, g), value


def adapted(state: Tree, x: jax.Array) -> Any:
    """Rows that are read and never written, beside those of what is trained; a count of steps."""
    base, adapter, count = state

    def loss(adapter: jax.Array) -> jax.Array:
        return (scan({**base, "w": base["w"] + adapter}, x) * x).sum()

    value, g = jax.value_and_grad(loss)(adapter)
    return (base, adapter - jnp.where(count % 2 == 0, g, 2 * g), count + 1), value


def mixing(p: Tree, x: jax.Array) -> Any:
    """Gradients of other layers: what mixes rows reads all of them."""
    value, g = gradients_of(scan, p, x)
    return minus(
        p, {"b": jnp.roll(g["b"], 1, 0), "w": jnp.sort(g["w"], 0) * jnp.arange(LAYERS)[:, None, None]}
    ), value


def transposed(state: Tree, x: jax.Array) -> Any:
    """A state that has rows along its last dimension, and one of all elements in a row."""
    p, m, flat = state
    value, g = gradients_of(scan, p, x)
    m = m + g["w"].transpose(1, 2, 0)
    flat = flat + jnp.concatenate([g["w"].reshape(-1), g["b"].reshape(-1)])
    return (
        {"b": p["b"] - flat[-LAYERS * WIDTH :].reshape(p["b"].shape), "w": p["w"] - m.transpose(2, 0, 1)},
        m,
        flat,
    ), value


def orthogonal(state: Tree, x: jax.Array) -> Any:
    """A loop over gradients of all layers, as Muon has one, and a count."""
    p, count = state
    value, g = gradients_of(scan, p, x)
    u, count = lax.fori_loop(
        0,
        3,
        lambda i, c: (jnp.clip(c[0] @ c[0].swapaxes(1, 2) - c[0], -2, 2), c[1] + i),
        (jnp.sign(g["w"]), count),
    )
    return ({"b": p["b"] - g["b"], "w": p["w"] - u}, count), value


def meeting(p: Tree, x: jax.Array) -> Any:
    """A loop whose iterations look at all layers: its rows stay at one stage."""
    value, g = gradients_of(scan, p, x)
    u = lax.fori_loop(0, 3, lambda i, c: jnp.where(c.sum() > 0, jnp.flip(c, 0), c - 1), jnp.sign(g["w"]))
    return {"b": p["b"] - g["b"], "w": p["w"] - u}, value


def as_matrix(p: Tree, x: jax.Array) -> Any:
    """An update that takes the biases of all layers for one matrix, as Muon does."""
    value, g = gradients_of(scan, p, x)
    u = jnp.sign(g["b"])
    for _ in range(3):
        u = jnp.clip(u @ u.T @ u, -2, 2)
    return {"b": p["b"] - u, "w": p["w"] - g["w"]}, value


STEPS: dict[Callable[..., Any], Tree] = {
    descent: parameters(),
    written_out: parameters(),
    recomputed: parameters(),
    clipped: (parameters(), zeros(parameters())),
    by_layer: parameters(),
    tied: parameters(),
    adapted: (parameters(), zeros(parameters()["w"]), np.int32(0)),
    mixing: parameters(),
    orthogonal: (parameters(), np.int32(0)),
    meeting: parameters(),
    as_matrix: parameters(),
    transposed: (
        parameters(),
        np.zeros((WIDTH, WIDTH, LAYERS), "f"),
        np.zeros(LAYERS * (WIDTH + 1) * WIDTH, "f"),
    ),
}


def staged(step: Callable[..., Any], stages: int, count: int, devices: int, **config: Any) -> Any:
    settings = {"auto.auto_parallel": True, "pipeline.num_stages": stages, "pipeline.num_micro_batch": count}
    return epl.parallelize(step, devices=devices, config={**settings, **config}, state=0, batch=1)


def dump_of(made: Any, folder: Path, *arguments: Tree) -> str:
    """The plan of a step as text."""
    made.lower(*arguments).compile().save(folder / "step.eplan")
    command = [BIN / "epl-plan", "dump", folder / "step.eplan"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


LAYOUTS: list[tuple[int, int, int, dict[str, Any]]] = [
    (2, 1, 2, {}),
    (3, 4, 3, {"pipeline.strategy": "zb-h1"}),
    (4, 2, 4, {}),  # no stage has as many layers as the next
    (2, 2, 4, {"zero.level": "v1"}),
]


@pytest.mark.parametrize(("stages", "count", "devices", "config"), LAYOUTS)
@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.__name__)
def test_steps_on_rows_have_the_bits_of_one_device(
    step: Callable[..., Any], stages: int, count: int, devices: int, config: dict[str, Any]
) -> None:
    expected = jax.jit(step)(STEPS[step], X)
    found = staged(step, stages, count, devices, **config)(STEPS[step], X)
    for result, wanted in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_array_equal(result, wanted)


@pytest.mark.parametrize("step", [descent, written_out, clipped], ids=lambda step: step.__name__)
def test_each_stage_has_the_rows_of_its_layers(step: Callable[..., Any], tmp_path: Path) -> None:
    """What is sent are the samples of a micro-batch, and numbers for what is done with all gradients."""
    whole, *parts = dump_of(staged(step, 3, 2, 3), tmp_path, STEPS[step], X).split("\npart ")
    assert "rows from" not in whole
    for part in parts:
        states = re.findall(r" state f32\[(.*?)\] .* rows from (\d+) of 6", part)
        assert {len(shape.split("x")) for shape, _ in states} == {2, 3}, "biases and weights"
    sent = [line for part in parts for line in part.splitlines() if " send " in line]
    assert {shape for line in sent for shape in re.findall(r"(\d\S*)xf32 sharding", line)} == {"4x8"}


def test_what_mixes_rows_stays_whole(tmp_path: Path) -> None:
    """Its gradient is sent once, not each product of it."""
    _, *parts = dump_of(staged(as_matrix, 2, 2, 2), tmp_path, STEPS[as_matrix], X).split("\npart ")
    states = [
        line for part in parts for line in part.splitlines() if line.startswith("slot") and " state " in line
    ]
    assert len([line for line in states if " f32[6x8] " in line and "rows" not in line]) == 1
    assert len([line for line in states if "rows from" in line and line.count("x") == 2]) == 2
    sent = [line for part in parts for line in part.splitlines() if " send " in line]
    assert len(sent) < 10


def test_interleaved_stages_have_rows_apart(tmp_path: Path) -> None:
    """Two stages on each mesh: rows 0, 1 and 4, 5 are on the first, the others on the second."""

    def step(w: jax.Array, x: jax.Array) -> Any:
        def loss(w: jax.Array) -> jax.Array:
            h = x
            for index in range(4):
                with epl.replicate(name=f"stage{index}"):
                    h = jnp.maximum(h @ w[2 * index], -3) @ w[2 * index + 1]
                    if index == 3:
                        return (h * x).sum()
            raise AssertionError

        value, g = jax.value_and_grad(loss)(w)
        return w - g, value

    w = numbers(8, WIDTH, WIDTH, seed=3)
    config = {"pipeline.num_stages": 2, "pipeline.num_micro_batch": 2, "pipeline.strategy": "interleaved"}
    made = epl.parallelize(step, devices=2, config=config, state="w", batch="x")
    for result, wanted in zip(made(w, X), jax.jit(step)(w, X), strict=True):
        np.testing.assert_array_equal(result, wanted)
    first, second = dump_of(made, tmp_path, w, X).split("\npart ")[1:]
    for part, rows in (first, (0, 4)), (second, (2, 6)):
        for row in rows:
            assert f"rows from {row} of 8" in part


def test_states_go_from_one_layout_to_another() -> None:
    """Rows of two stages, of three, all on one device; kept, donated, read."""
    state = STEPS[clipped]
    steps = [staged(clipped, 2, 2, 2), staged(clipped, 3, 1, 3), jax.jit(clipped), staged(clipped, 3, 2, 6)]
    expected = state
    for made in [*steps, steps[0], steps[0]]:
        expected = jax.jit(clipped)(expected, X)[0]
        expected = jax.tree.map(lambda a: jnp.clip(a, -2, 2), expected)
        state = jax.tree.map(lambda a: np.clip(np.asarray(a), -2, 2), made(state, X)[0])
        for found, wanted in zip(jax.tree.leaves(state), jax.tree.leaves(expected), strict=True):
            np.testing.assert_array_equal(found, wanted)


def test_states_of_rows_stay_on_their_devices() -> None:
    made, other = staged(descent, 2, 2, 2), staged(descent, 3, 1, 3)
    state: Tree = jax.tree.map(lambda a: a / 64, parameters())
    expected = state
    for step in (made, made, other, made):
        state = step(state, X)[0]
        expected = jax.jit(descent)(expected, X)[0]
    for found, wanted in zip(jax.tree.leaves(state), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5 * np.abs(wanted).max())
