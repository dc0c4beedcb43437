"""What plans of steps in micro-batches exchange: nothing m times that once is enough for."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import epl
from steps import assert_near, exchanged
from test_documents import blocks, run_shell

VOCABULARY, WIDTH, TOKENS = 11, 5, 3
_COMMAND = re.compile(r'^  #\d+ "(\w+)(?: of \d+)?" (\w+) (.*)$', re.MULTILINE)
_UNIT = re.compile(r" in (s\d+\.[FBIW]\.m\d+)\b")

Command = tuple[str, str, str]
"""What it is for, what it does, and its unit; "" if it is done once."""


def commands(compiled: Any) -> list[Command]:
    """The commands of all meshes."""
    found = []
    for name, action, rest in _COMMAND.findall(compiled.plan.dump()):
        unit = _UNIT.search(rest)
        found.append((name, f"{action} {rest}", unit[1] if unit else ""))
    return found


def tied(params: dict[str, jax.Array], tokens: jax.Array) -> tuple[dict[str, jax.Array], jax.Array]:
    """A language model of two stages; the first looks tokens up in the matrix that the last multiplies by."""

    def loss(params: dict[str, jax.Array]) -> jax.Array:
        with epl.replicate(name="first"):
            h = jnp.tanh(params["embedding"][tokens] @ params["first"])
        with epl.replicate(name="last"):
            logits = jnp.tanh(h @ params["last"]) @ params["embedding"].T
            losses = optax.softmax_cross_entropy_with_integer_labels(logits[:, :-1], tokens[:, 1:])
            return losses.mean()

    value, gradients = jax.value_and_grad(loss)(params)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, gradients), value


@pytest.mark.parametrize("schedule", ["1f1b", "zb-h1"])
@pytest.mark.parametrize("count", [2, 4])
def test_tied_weights_exchange_one_gradient(count: int, schedule: str) -> None:
    random = np.random.default_rng(0)
    shapes = {"embedding": (VOCABULARY, WIDTH), "first": (WIDTH, WIDTH), "last": (WIDTH, WIDTH)}
    params = {name: random.normal(size=shape).astype("f") for name, shape in shapes.items()}
    tokens = random.integers(0, VOCABULARY, (8, TOKENS))
    config = {"pipeline.num_micro_batch": count, "pipeline.strategy": schedule}
    made = epl.parallelize(tied, state="params", batch="tokens", devices=2, config=config)
    assert_near(made(params, tokens), jax.jit(tied)(params, tokens), 1e-5)

    sends = [
        (text, unit) for name, text, unit in commands(made.lower(params, tokens).compile()) if name == "send"
    ]
    weights = [unit for text, unit in sends if f" {VOCABULARY}x{WIDTH}xf32 " in text]
    assert weights == ["", ""]  # the matrix to the last stage, its gradient back: outside of all units
    samples = [unit for text, unit in sends if f" {8 // count}x{TOKENS}x{WIDTH}xf32 " in text]
    assert len(samples) == len(set(samples)) == 2 * count  # activations there, their gradients back
    assert len(sends) == 2 * count + 2


def perceptron(optimizer: optax.GradientTransformation, stages: int) -> Any:
    def step(params: list[jax.Array], state: Any, x: jax.Array) -> Any:
        def loss(params: list[jax.Array]) -> jax.Array:
            h = x
            for index, w in enumerate(params):
                with epl.replicate(name=f"stage{index * stages // len(params)}"):
                    h = jnp.tanh(h @ w)
                    if index == len(params) - 1:
                        return (h**2).mean()
            raise AssertionError("no layer")

        value, gradients = jax.value_and_grad(loss)(params)
        updates, state = optimizer.update(gradients, state)
        return optax.apply_updates(params, updates), state, value

    return step


def lowered(count: int, stages: int = 1, level: str = "", schedule: str = "1f1b") -> Any:
    """Four layers, two replicas of each stage, 16 samples in a micro-batch of each."""
    optimizer = optax.adam(1e-3)
    params = [jnp.ones((16, 16)) * 0.01 for _ in range(4)]
    made = epl.parallelize(
        perceptron(optimizer, stages),
        state=("params", "state"),
        batch="x",
        devices=2 * stages,
        config={"pipeline.num_micro_batch": count, "pipeline.strategy": schedule, "zero.level": level},
    )
    return made.lower(params, optimizer.init(params), jnp.ones((32 * count, 16)))


def sums(compiled: Any) -> Counter[tuple[str, str]]:
    """How often each kind of sum over replicas is made, by unit."""
    found = (
        (name, unit)
        for name, text, unit in commands(compiled)
        if text.startswith(("reduce_part", "reduce_blocks"))
    )
    return Counter(found)


@pytest.mark.parametrize("stages", [1, 2])
@pytest.mark.parametrize("level", ["", "v1"])
def test_sums_over_data_are_as_many_as_without_micro_batches(level: str, stages: int) -> None:
    whole = sums(lowered(1, stages, level).compile())
    assert sum(whole.values()) > 0
    for count in (2, 8):
        assert sums(lowered(count, stages, level).compile()) == whole  # in no unit: all behind the loop


def carried(local: str) -> list[str]:
    """The shardings in which iterations carry gradients."""
    return re.findall(
        r"epl\.loop_carry .*-> !epl\.dist<tensor<16x16xf32>, <@\w+, (.*?)>>$", local, re.MULTILINE
    )


@pytest.mark.parametrize("count", [2, 8])
def test_gradients_of_zero_v2_are_scattered_once_an_iteration_and_kept_in_parts(count: int) -> None:
    parts, once = lowered(count, level="v2"), lowered(count, level="v1")
    found = sums(parts.compile())
    assert {unit: times for (name, unit), times in found.items() if name == "reduce_scatter"} == {
        f"s0.B.m{index}": 1 for index in range(count)
    }
    whole = exchanged(parts.as_text("local"))
    assert whole == exchanged(lowered(1, level="v2").as_text("local"))  # gathers and other sums: as without
    assert carried(parts.as_text("local")) == ['[{"data"}, {}]'] * 4
    assert carried(once.as_text("local")) == ['[{}, {}], partial = sum{"data"}'] * 4


def measures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int, schedule: str) -> list[list[str]]:
    """What the commands of docs/performance.md say of a pipeline of two stages, by command."""
    monkeypatch.chdir(tmp_path)
    lowered(count, 2, schedule=schedule).compile().save("pipeline.eplan")
    (code,) = (code for language, code in blocks("docs/performance.md") if "pipeline.eplan" in code)
    return [run_shell(command).splitlines() for command in code.splitlines()]


def test_the_documents_commands_measure_a_plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few, many = (measures(tmp_path, monkeypatch, count, "1f1b") for count in (4, 16))
    arenas, kept, rings, sums = few
    assert [line.split(",")[0] for line in arenas[::2]] == ["== part 0 of 2", "== part 1 of 2"]
    assert all(re.fullmatch(r" *\S+ k?B  arena, for .* of temporaries", line) for line in arenas[1::2])
    assert [line.split("; ")[1] for line in kept] == [
        "keeps 2 micro-batches at most",
        "keeps 1 micro-batch at most",
    ]
    assert len(rings) == 2  # activations there, their gradients back
    assert [line.split()[0] for line in sums] == ["1", "1"]  # of each stage, with the loss
    assert many[2:] == few[2:]
    everything = measures(tmp_path, monkeypatch, 16, "gpipe")
    assert {line.split("; ")[1] for line in everything[1]} == {"keeps 16 micro-batches at most"}
