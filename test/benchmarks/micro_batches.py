"""Compiling a pipeline: what more micro-batches cost, in time and in bytes."""

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from effort import Effort
from programs import TOOLS
from table import Row

FOLDER = Path(__file__).parent
FEW, MANY = 4, 256
PLAN_TIME = re.compile(r"([\d.]+) \(\s*[\d.]+%\)\s+plan$", re.MULTILINE)

# Prints the program of a GPT of two layers, each a stage of a pipeline.
PROGRAM = f"""
import jax
import optax
import epl
import models
model = models.gpt(optax.adamw(1e-3), stages=2)
batch = [jax.ShapeDtypeStruct(({MANY}, *part.shape[1:]), part.dtype) for part in model.batch]
step = epl.parallelize(model.step, state=(0, 1), batch=(2, 3), devices="cpu:2")
print(step.lower(*model.state, *batch).as_text(stage="input"))
"""


@dataclass(frozen=True)
class Compilation:
    """What one took, in processor time, since others may use the machine, and what it made."""

    seconds: float
    plan_seconds: float
    commands: int
    bytes: int
    kernels: int


# What must not grow beyond what is compiled.
FIGURES: list[tuple[str, Callable[[Compilation], float], str]] = [
    ("the plan by commands", lambda made: made.plan_seconds / made.commands, "s"),
    ("bytes by commands", lambda made: made.bytes / made.commands, ""),
    ("kernels", lambda made: made.kernels, ""),
]


def compile_step(program: Path, micro_batches: int) -> Compilation:
    """Compile for two devices by 1F1B."""
    plan = program.with_suffix(f".{micro_batches}.eplan")
    count = f"--micro-batches={micro_batches}"
    command = [
        str(TOOLS / "epl-compile"),
        str(program),
        "--devices=cpu:2",
        count,
        "--timing",
        "-o",
        str(plan),
    ]
    before = os.times()
    report = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=True).stderr
    after = os.times()
    seconds = sum(after[2:4]) - sum(before[2:4])  # user and system time of children
    found = PLAN_TIME.search(report)
    assert found
    text = subprocess.run(
        [str(TOOLS / "epl-plan"), "dump", str(plan)], stdout=subprocess.PIPE, text=True, check=True
    )
    commands = len(re.findall(r"^  #", text.stdout, re.MULTILINE))
    kernels = len(re.findall(r"^kernel ", text.stdout, re.MULTILINE))
    return Compilation(seconds, float(found[1]), commands, plan.stat().st_size, kernels)


def compilation(effort: Effort) -> Iterator[Row]:
    """Compile for few and many micro-batches in turn."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "gpt.mlir"
        with program.open("w") as file:
            subprocess.run([sys.executable, "-c", PROGRAM], stdout=file, check=True, cwd=FOLDER)
        rounds = [(compile_step(program, MANY), compile_step(program, FEW)) for _ in range(effort.rounds)]
    ratio = f"{MANY} / {FEW} micro-batches"
    many, few = zip(*rounds, strict=True)
    what = f"compile GPT of 2 stages, {ratio}"
    yield Row(what, [each.seconds for each in many], [each.seconds for each in few], 2.1)
    for name, figure, unit in FIGURES:
        found, beside = ([figure(each) for each in sizes] for sizes in (many, few))
        yield Row(f"{what}, {name}", found, beside, 1.1, unit)
