"""What kernels ask of a GPU, where there is none.

Memory is what bounds the kernels here. Each is run on the stand-in of a GPU, which counts the sectors that it
moves, and assembled, which tells its registers and its instructions. From both follows whether a card could
be kept busy: the numbers of cards are from data sheets, latencies from public measurements. No card has shown
a speed.
"""

from __future__ import annotations

import json
import math
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import epl
from test_cuda import pytestmark, run_on  # noqa: F401
from test_gpu_kernels import BIN, compile_to, run

ROWS, COLUMNS = 512, 1024


@dataclass(frozen=True)
class Card:
    """A GPU: bandwidth in bytes a second, latency of its memory in seconds, shared bytes."""

    architecture: str
    multiprocessors: int
    clock: float
    bandwidth: float
    latency: float
    shared: int

    @staticmethod
    def of(kind: str) -> Card:
        """As the project's tables have it (runtime/machine/Machine.cpp)."""
        figures = json.loads(run([BIN / "epl-plan", "machine", f"--kind={kind}"]))
        gpu, memory = figures["gpu"], figures["memory"]
        return Card(
            architecture=f"sm_{gpu['architecture']}",
            multiprocessors=gpu["multiprocessors"],
            clock=gpu["clock_hz"],
            bandwidth=memory["bytes_per_second"],
            latency=memory["latency_ns"] * 1e-9,
            shared=gpu["shared_bytes"],
        )


KINDS = ["a100", "h100", "b200"]
# Instructions of a card for each of PTX.
EXPANSION = 1.2


def normalize(x: Any, gain: Any, bias: Any) -> Any:
    centered = x - x.mean(-1, keepdims=True)
    return centered * jax.lax.rsqrt((centered**2).mean(-1, keepdims=True) + 1e-5) * gain + bias


def cross_entropy(x: Any, labels: Any) -> Any:
    return jax.nn.logsumexp(x, -1) - jnp.take_along_axis(x, labels[:, None], 1)[:, 0]


def adamw(p: Any, m: Any, v: Any, g: Any) -> Any:
    m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
    return p - 1e-3 * (m / (jnp.sqrt(v) + 1e-8) + 0.01 * p), m, v


MATRIX = jax.ShapeDtypeStruct((ROWS, COLUMNS), np.float32)
TALL = jax.ShapeDtypeStruct((8192, COLUMNS), np.float32)
ROW = jax.ShapeDtypeStruct((COLUMNS,), np.float32)
LABELS = jax.ShapeDtypeStruct((ROWS,), np.int32)
PROGRAMS: dict[str, tuple[Any, list[Any]]] = {
    "gelu": (jax.nn.gelu, [MATRIX]),
    "softmax": (jax.nn.softmax, [MATRIX]),
    # Blocks load the gains anew: as many rows as a card has work with.
    "layer_norm": (normalize, [TALL, ROW, ROW]),
    "layer_norm_gradient": (
        lambda x, g, b, d: jax.vjp(normalize, x, g, b)[1](d),
        [MATRIX, ROW, ROW, MATRIX],
    ),
    "cross_entropy": (cross_entropy, [MATRIX, LABELS]),
    "adamw": (adamw, [MATRIX] * 4),
    "column_sum": (lambda x: x.sum(0), [MATRIX]),
    "transpose": (lambda x: x.T, [MATRIX]),
}


def draw(shape: Any) -> Any:
    random = np.random.default_rng(0)
    if shape.dtype == np.int32:
        return random.integers(0, COLUMNS, shape.shape, np.int32)
    return random.random(shape.shape, np.float32)


def step_of(name: str) -> tuple[Any, list[Any]]:
    function, shapes = PROGRAMS[name]
    return epl.parallelize(function, devices="cuda:0", batch=()), shapes


def check(name: str) -> None:
    """Runs a program as JAX does: in the process that has the stand-in."""
    step, shapes = step_of(name)
    arguments = [draw(shape) for shape in shapes]
    expected = jax.tree.leaves(jax.jit(PROGRAMS[name][0])(*arguments))
    for found, right in zip(jax.tree.leaves(step(*arguments)), expected, strict=True):
        np.testing.assert_allclose(np.asarray(found), right, rtol=1e-5, atol=1e-5)


def bytes_of(name: str) -> int:
    """The arguments and results of a program, each once."""
    function, shapes = PROGRAMS[name]
    leaves = shapes + jax.tree.leaves(jax.eval_shape(function, *shapes))
    return sum(math.prod(leaf.shape) * leaf.dtype.itemsize for leaf in leaves)


def counters_of(name: str, tmp_path: Path) -> dict[str, Any]:
    """Of all launches of the program's kernels together."""
    run_on(1, f"from test_gpu_traffic import check; check('{name}')", tmp_path)
    kernels = json.loads((tmp_path / "report.json").read_text())["kernels"]
    total: dict[str, Any] = {}
    for kernel, counters in kernels.items():
        if kernel.startswith("epl_"):
            continue  # the plugin's own, which bring arguments and take results
        for key, value in counters.items():
            parts = value if isinstance(value, dict) else {"": value}
            for part, number in parts.items():
                total[f"{key} {part}".strip()] = total.get(f"{key} {part}".strip(), 0) + number
    return total


@pytest.mark.parametrize("name", PROGRAMS)
def test_kernels_move_little_more_than_they_must(name: str, tmp_path: Path) -> None:
    counters = counters_of(name, tmp_path)
    least = bytes_of(name) / 32
    # What a block has read before its cache has: gains of a layer norm, of which each row reads all.
    moved = counters["sectors_fetched"] + counters["stores sectors"]
    assert moved <= 1.05 * least, f"{moved / least:.3f} of the least"
    used = counters["loads bytes"] + counters["stores bytes"]
    named = 32 * (counters["loads sectors"] + counters["stores sectors"])
    assert used >= 0.95 * named, f"{used / named:.3f} of each sector"
    assert counters["shared_cycles"] <= 1.1 * counters["shared_requests"]
    card = Card.of("h100")
    issued = EXPANSION * counters["lane_instructions"] / (128 * card.multiprocessors * card.clock)
    share = issued / (32 * moved / card.bandwidth)
    assert share <= 0.6, f"{share:.2f} of the instructions that an H100 issues in the time"


@dataclass
class Assembled:
    """A kernel: registers of a thread, shared bytes of a block, bytes of spilled registers, instructions."""

    registers: int
    shared: int
    spills: int
    code: list[str]


def tool(name: str) -> Path:
    nvidia = pytest.importorskip("nvidia")
    return Path(next(iter(nvidia.__path__))) / "cu13" / "bin" / name


def assemble(ptx: Path, entry: str, architecture: str) -> Assembled:
    cubin = ptx.with_suffix(".cubin")
    command: list[str | Path] = [tool("ptxas"), "-v", f"-arch={architecture}", ptx, "-o", cubin]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    about = (done.stdout + done.stderr).split(f"Function properties for {entry}\n")[1]

    def number(what: str) -> int:
        found = re.search(rf"(\d+) {what}", about.split("Function properties")[0])
        return int(found[1]) if found else 0

    sass = run([tool("nvdisasm"), "-c", cubin])
    text = sass.split(f".text.{entry}:\n")[1].split("//---")[0]
    code = re.findall(r"/\*[0-9a-f]{4,}\*/\s+(.*?) ;", text)
    return Assembled(number("registers"), number("bytes smem"), number("bytes spill stores"), code)


def bytes_in_flight(code: list[str]) -> int:
    """Bytes that a thread has asked for, at most, before an instruction needs the first of them."""
    most = 0
    waiting: dict[str, int] = {}
    for instruction in code:
        operation, _, operands = instruction.partition(" ")
        if operation.startswith("@"):
            operation, _, operands = operands.strip().partition(" ")
        registers = re.findall(r"\bR\d+\b", operands)
        is_load = operation.startswith("LDG")
        if any(register in waiting for register in (registers[1:] if is_load else registers)):
            waiting = {}
        if is_load:
            width = re.search(r"\.(64|128)\b", operation)
            size = int(width[1]) // 8 if width else 4
            first = int(registers[0][1:])
            waiting |= {f"R{first + i}": 4 for i in range(size // 4)}
            most = max(most, sum(waiting.values()))
    return most


def threads_of(dump: str, entry: str) -> int:
    grid = re.search(rf'symbol "{re.escape(entry)}".*? grid \d+ x (\d+)', dump)
    assert grid
    return int(grid[1])


# Bytes of spilled registers. A warp holds two rows, the gains and two sums over rows, a few registers more
# than its threads have.
SPILLED = {("layer_norm_gradient", "sm_80"): 32}


def busy(card: Card, kernel: Assembled, threads: int) -> float:
    """Bytes in flight on a multiprocessor, of those that its share of the bandwidth needs."""
    blocks = [2048 // threads, 65536 // (-(-kernel.registers // 8) * 8 * threads), 32]
    if kernel.shared:
        blocks.append(card.shared // (kernel.shared + 1024))
    flying = min(blocks) * threads * bytes_in_flight(kernel.code)
    return flying / (card.bandwidth * card.latency / card.multiprocessors)


@pytest.mark.parametrize("name", PROGRAMS)
def test_code_keeps_memory_busy(name: str, tmp_path: Path) -> None:
    step, shapes = step_of(name)
    text = str(step.lower(*shapes).as_text())
    ptx, plan = tmp_path / "kernels.ptx", tmp_path / "step.eplan"
    ptx.write_text(compile_to("ptx", text))
    entry = re.findall(r"\.entry (\w+)\(", ptx.read_text())[0]
    run([BIN / "epl-compile", "-", "--devices=cuda:0", "-o", plan], text)
    threads = threads_of(run([BIN / "epl-plan", "dump", plan]), entry)
    for kind in KINDS:
        card = Card.of(kind)
        kernel = assemble(ptx, entry, card.architecture)
        spilled = SPILLED.get((name, card.architecture), 0)
        assert kernel.spills <= spilled
        assert spilled or not [line for line in kernel.code if re.match(r"(@\S+ )?(LDL|STL)", line)]
        assert any(line.startswith("LDG.E.128") or ".128" in line for line in kernel.code if "LDG" in line)
        share = busy(card, kernel, threads)
        print(f"{name} on {card.architecture}: {share:.1f} of the bytes in flight that its bandwidth needs")
        if kind == "h100":
            assert share >= 1.5
