"""Parameters that are used alike are of one kind, whatever they are called and whatever tree they are in."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import optax
import pytest

import epl

ROOT = Path(__file__).parents[2]
LENGTH, WIDTH, HEADS, BATCH, LAYERS = 8, 16, 2, 4, 3
NAMES = ("q", "k", "v", "o", "up", "down")

Layer = tuple[jax.Array, ...]  # in the order of NAMES


def block(x: jax.Array, layer: Layer) -> jax.Array:
    q, k, v, o, up, down = layer

    def heads(w: jax.Array) -> jax.Array:
        return (x @ w).reshape(BATCH, LENGTH, HEADS, -1)

    scores = jnp.einsum("bqhd,bkhd->bhqk", heads(q), heads(k))
    read = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), heads(v))
    x = x + read.reshape(x.shape) @ o
    return x + jax.nn.gelu(x @ up) @ down


def trees(hidden: int) -> dict[str, tuple[Any, Callable[[Any], list[Layer]]]]:
    """Ways to keep the parameters, and how to get the layers of each."""
    shapes = [(WIDTH, WIDTH)] * 4 + [(WIDTH, hidden), (hidden, WIDTH)]
    layers = [tuple(jnp.ones(shape) for shape in shapes) for _ in range(LAYERS)]
    width = len(NAMES)
    return {
        "names": (
            [dict(zip(NAMES, layer, strict=True)) for layer in layers],
            lambda tree: [tuple(layer[name] for name in NAMES) for layer in tree],
        ),
        "letters": (
            {
                f"layer_{chr(ord('a') + i)}": dict(zip(NAMES, layer, strict=True))
                for i, layer in enumerate(layers)
            },
            lambda tree: [tuple(layer[name] for name in NAMES) for layer in tree.values()],
        ),
        "tuples": (layers, lambda tree: tree),
        "list": (
            [array for layer in layers for array in layer],
            lambda tree: [tuple(tree[i : i + width]) for i in range(0, len(tree), width)],
        ),
        "numbered": (
            {f"w{i}": array for i, array in enumerate(array for layer in layers for array in layer)},
            lambda tree: [
                tuple(tree[f"w{i}"] for i in range(at, at + width)) for at in range(0, len(tree), width)
            ],
        ),
    }


def as_mlir(tree: Any, layers: Callable[[Any], list[Layer]]) -> str:
    """A training step of a transformer that is split over two devices."""
    optimizer = optax.sgd(0.1)

    def step(params: Any, state: Any, x: jax.Array, y: jax.Array) -> Any:
        def loss(params: Any) -> jax.Array:
            with epl.split(device_count=2):
                h = x
                for layer in layers(params):
                    h = block(h, layer)
                return ((h - y) ** 2).mean()

        value, gradients = jax.value_and_grad(loss)(params)
        updates, state = optimizer.update(gradients, state)
        return optax.apply_updates(params, updates), state, value

    x = jnp.ones((BATCH, LENGTH, WIDTH))
    compiled = epl.parallelize(step, state=["params", "state"], batch=["x", "y"], devices=2)
    return compiled.lower(tree, optimizer.init(tree), x, x).as_text("input")


def find_splits(text: str) -> Counter[tuple[int, str]]:
    """How many parameters of one kind are split along which dimension, by the table of the search."""
    done = subprocess.run(
        [ROOT / "build/bin/epl-compile", "-", "--devices=cpu:2", "--explain-split", "--emit=local"],
        input=text,
        capture_output=True,
        text=True,
        check=True,
    )
    rows = [line.strip("| ").split("|") for line in done.stderr.splitlines() if line.startswith("| ")]
    found: Counter[tuple[int, str]] = Counter()
    for name, _, split, *_ in rows[1:]:
        count = re.search(r"(\d+) of them", name)
        dim = re.search(r"dimension (\d)", split)
        assert dim, rows
        found[int(count[1]) if count else 1, dim[1]] += 1
    return found


# q, k, v and up by columns, o and down by rows.
MEGATRON = Counter({(LAYERS, "1"): 4, (LAYERS, "0"): 2})


@pytest.mark.parametrize("hidden", [4 * WIDTH, WIDTH], ids=["wide", "square"])
@pytest.mark.parametrize("name", ["names", "letters", "tuples", "list", "numbered"])
def test_a_transformer_is_split_as_megatron_does(name: str, hidden: int) -> None:
    assert find_splits(as_mlir(*trees(hidden)[name])) == MEGATRON


@pytest.mark.parametrize("hidden", [4 * WIDTH, WIDTH], ids=["wide", "square"])
def test_arguments_need_no_names(hidden: int) -> None:
    text = as_mlir(*trees(hidden)["list"])
    bare = re.sub(r'epl\.name = "[^"]*"(, )?', "", text)
    assert "epl.name" in text
    assert "epl.name" not in bare
    assert find_splits(bare) == MEGATRON
