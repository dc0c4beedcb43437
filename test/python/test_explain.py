"""What EPL says about a split step: who holds what, what moves and why."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import epl

BIN = Path(__file__).parents[2] / "build" / "bin"
WIDTH, HEADS, LAYERS = 8, 2, 2


def attention(p: Any, x: jax.Array) -> jax.Array:
    q, k, v = jnp.split(x @ p["wqkv"], 3, -1)
    heads = [a.reshape(*a.shape[:2], HEADS, -1) for a in (q, k, v)]
    scores = jax.nn.softmax(jnp.einsum("bqhd,bkhd->bhqk", heads[0], heads[1]))
    mixed = jnp.einsum("bhqk,bkhd->bqhd", scores, heads[2]).reshape(x.shape)
    return x + mixed @ p["wo"]


def loss_of(params: Any, x: jax.Array) -> jax.Array:
    with epl.split(device_count=2):
        for p in params["layers"]:
            x = attention(p, x)
        return (x**2).mean()


def line_of(text: str) -> int:
    """The line of this file that begins so."""
    lines = Path(__file__).read_text().splitlines()
    return next(i for i, line in enumerate(lines, 1) if line.strip().startswith(text))


@epl.parallelize(state="params", batch="x", devices=4)
def step(params: Any, x: jax.Array) -> tuple[Any, jax.Array]:
    loss, gradients = jax.value_and_grad(loss_of)(params, x)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, gradients), loss


@pytest.fixture(scope="module")
def lowered() -> Any:
    random = np.random.default_rng(0)

    def weights(*shape: int) -> np.ndarray[Any, Any]:
        return random.normal(size=shape).astype(np.float32)

    layers = [{"wqkv": weights(WIDTH, 3 * WIDTH), "wo": weights(WIDTH, WIDTH)} for _ in range(LAYERS)]
    return step.lower({"layers": layers}, weights(4, 6, WIDTH))


@pytest.fixture(scope="module")
def plan(lowered: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("plans") / "step.eplan"
    lowered.compile().save(path)
    return path


def test_who_holds_what_and_why_it_moves(plan: Path) -> None:
    text = subprocess.run(
        [BIN / "epl-plan", "explain", plan, "--gflops=1", "--gbps=1"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    # Numbers of layers are left out; the three segments of a fused product are split each.
    assert "1/2  state     params['layers'][*]['wo'] f32[8/model, 8], 2 of them\n" in text
    assert "1/2  state     params['layers'][*]['wqkv'] f32[8, 3x8/model], 2 of them\n" in text
    assert "1/2  batch     x f32[4/data, 6, 8]\n" in text
    output = f"test_explain.py:{line_of('return x + mixed')}"
    flat = re.sub(r"\s+", " ", text)
    sums = f"all_reduce over model, tg0.forward f32[4/data, 6, 8]: dot_general {output} sums over model; "
    assert sums + f"add {output} reads the sum" in flat  # of both layers
    assert re.search(r"\n +2 +768 B .* all_reduce over model, tg0.forward\n", text)
    update = f"test_explain.py:{line_of('return jax.tree.map(lambda p, g')}"
    assert f"f32[8/model, 8]: dot_general {output} sums over data; mul {update} reads the sum" in flat


def test_the_program_with_its_shardings_reads_well(lowered: Any) -> None:
    text = lowered.as_text("global")
    assert "devices: data 2, model 2\nscope tg0: split, 2 devices" in text
    assert re.search(r"^ +params\['layers'\]\[0\]\['wqkv'\] +f32\[8, 3x8/model\] +state$", text, re.M)
    # Every operation has its tensor and its line; what moves has the reason.
    product, output = line_of("q, k, v"), line_of("return x + mixed")
    made = r"\(x, params\['layers'\]\[0\]\['wqkv'\]\) +f32\[4/data, 6, 3, 8/model\]"
    assert re.search(rf"dot_general{made} +test_explain.py:{product}$", text, re.M)
    cause = f"dot_general test_explain.py:{output} sums over model"
    (first, *_) = re.findall(rf"^  \* %(\d+) = all_reduce.* +f32\[4/data, 6, 8\] +{cause}", text, re.M)
    assert re.search(rf"add\(x, %{first}\) ", text)
    # Nothing of the dialects: no constants, empty tensors, maps or attributes.
    assert not re.search(r"constant|empty|affine|linalg|tensor<|epl\.", text)
    assert "params['layers'][0]['wqkv'] = %" in text.partition("\nresults\n")[2]


def test_the_picture_has_who_holds_what_and_what_moves(plan: Path) -> None:
    picture = subprocess.run([BIN / "epl-plan", "render", plan], capture_output=True, text=True, check=True)
    texts = [element.text or "" for element in ElementTree.fromstring(picture.stdout).iter() if element.text]
    assert "params['layers'][*]['wqkv'] f32[8, 3x8/model], 2 of them" in texts
    row = texts.index("params['layers'][*]['wo'] f32[8/model, 8], 2 of them")
    # Devices 0 and 2 have the first half, 1 and 3 the second.
    assert [text for text in texts[:row] if re.fullmatch(r"\d", text)][-4:] == ["0", "1", "0", "1"]
    causes = [text for text in texts if re.search(r"; add test_explain.py:\d+ reads the sum$", text, re.M)]
    assert any("all_reduce" in text for text in causes)  # of a box
    assert any(text.startswith("f32[4/data, 6, 8]: dot_general") for text in causes)  # of the table


def test_explain_says_what_was_chosen_and_what_was_next(lowered: Any) -> None:
    text = lowered.explain()
    # In the shape and by the dimensions that the user knows, layers together.
    chosen = (
        r"\| params\['layers'\]\[\*\]\['wqkv'\], 2 of them +\| tensor<8x24xf32> +"
        r"\| dimension 1 in each of 3 segments +\| +\d+ \| dimension 0 +\| +\d+ \|"
    )
    assert re.search(rf"^{chosen}$", text, re.M)
    table = [line for line in text.splitlines() if line.startswith("| ")]
    header = [name.strip() for name in table[0].strip("|").split("|")]
    assert header == ["parameter", "type", "split along", "bytes", "runner-up", "bytes"]
    bars = [[at for at, character in enumerate(line) if character == "|"] for line in table]
    assert bars == [bars[0]] * len(table)
    assert all(re.match(r"\S+:\d+: ", line) for line in text.splitlines() if line not in table)
    assert lowered.explain() == text
    # Where sums are completed, those of both layers in one line.
    output = f"test_explain.py:{line_of('return x + mixed')}"
    assert f": completed: f32[4/data, 6, 8]: dot_general {output} sums over model; add {output} reads" in text


def test_explain_says_which_of_two_shardings_was_dropped() -> None:
    @epl.parallelize(state="w", batch="x", devices=2)
    def mixed(w: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
        with epl.split(device_count=2, dims={"w": 1}):
            hidden = jnp.tanh(x @ w)
            rows = epl.constrain(hidden, {0: "model"})
            return w, rows.sum()

    text = mixed.lower(np.ones((4, 8), np.float32), np.ones((6, 4), np.float32)).explain()
    constrained, product = (
        f"test_explain.py:{line_of(begin)}" for begin in ("rows = epl.constrain(", "hidden = jnp.tanh(")
    )
    expected = rf'axis "model": \S+ {constrained} says dimension 0; dropped: tanh {product} f32\[6, 8/model\]'
    assert re.search(expected, text), text


def test_a_constraint_that_cannot_be_met_names_the_scope() -> None:
    @epl.parallelize(state="w", batch="x", devices=2)
    def constrained(w: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
        x = x + 1
        with epl.split(device_count=2, dims={"nothing": 1}):
            y = x * 2
            return w, (y @ w).sum()

    with pytest.raises(
        epl.CompileError, match='dims "nothing" = 1 names no parameter of the scope'
    ) as caught:
        constrained.lower(np.ones((4, 8), np.float32), np.ones((6, 4), np.float32)).compile()
    assert caught.value.place is not None
    assert caught.value.place.line == line_of('with epl.split(device_count=2, dims={"nothing": 1})')
