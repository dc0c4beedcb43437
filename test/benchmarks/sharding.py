"""The shard phase on many layers: how long it takes, and how that grows with the number of devices."""

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from effort import Effort
from programs import BUILD
from table import Row

FOLDER = Path(__file__).parent
OPT = BUILD / "bin/epl-opt"
PASS = re.compile(r"([\d.]+) \(\s*[\d.]+%\)  (\w+)Pass$", re.MULTILINE)

# Prints the program of a transformer whose layers are split over two devices each.
PROGRAM = """
import optax
import epl
import models
import shardings
shardings.split_scopes(2)
model = models.transformer({layers}, 128, 4, 64, 64, optax.adamw(1e-3))
step = epl.parallelize(model.step, state=(0, 1), batch=(2, 3), devices="cpu:2")
print(step.lower(*model.state, *model.batch).as_text(stage="input"))
"""


def write_program(folder: str, layers: int) -> Path:
    """The annotated step of so many layers."""
    program = Path(folder) / f"{layers} layers.mlir"
    command = [sys.executable, "-c", PROGRAM.format(layers=layers)]
    with program.open("w") as file:
        subprocess.run(command, stdout=file, stderr=subprocess.DEVNULL, check=True, cwd=FOLDER)
    return program


def seconds(program: Path, *passes: str) -> dict[str, float]:
    """What each of these passes takes, by its name."""
    timing = ("--mlir-timing", "--mlir-timing-display=list")
    command = [str(OPT), str(program), *passes, *timing, "-o", "/dev/null"]
    report = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=True).stderr
    return {name: float(time) for time, name in PASS.findall(report)}


def sharding(effort: Effort) -> Iterator[Row]:
    """How the shard phase grows with devices, and its searches with layers."""
    with tempfile.TemporaryDirectory() as folder:
        few, many = (write_program(folder, layers) for layers in ((2, 4) if effort.quick else (24, 96)))
        yield from _devices(effort, few)
        yield from _searches(effort, few, many)


def _devices(effort: Effort, program: Path) -> Iterator[Row]:
    """All passes and propagation alone, on 2, 4 and 64 devices in turn."""
    rounds = [
        {n: seconds(program, f"--epl-parallelize=devices={n}") for n in (2, 4, 64)}
        for _ in range(effort.rounds)
    ]
    for what, passes in (("all passes", None), ("propagation", "Propagate"), ("search", "SeedSplit")):
        times = {
            devices: [found[devices][passes] if passes else sum(found[devices].values()) for found in rounds]
            for devices in (2, 4, 64)
        }
        goal = 1.1 if passes is None else None
        yield Row(f"shard {program.stem}, {what}, 64 / 4 devices", times[64], times[4], goal)
        yield Row(f"shard {program.stem}, {what}, 64 / 2 devices, one axis", times[64], times[2], goal)


def _searches(effort: Effort, few: Path, many: Path) -> Iterator[Row]:
    """The searches for splits and for regions of the sequence, on four times the layers in turn."""
    passes = ("--epl-annotate=devices=2", "--epl-shard=sequence-parallel=true")
    rounds = [[seconds(program, *passes) for program in (many, few)] for _ in range(effort.rounds)]
    for what, search, goal in (("splits", "SeedSplit", 0.25), ("sequence", "SeedSequence", None)):
        times = [[found[search] for found in each] for each in zip(*rounds, strict=True)]
        yield Row(f"search for {what}, {few.stem}", times[1], goal=goal, best=True)
        yield Row(f"search for {what}, {many.stem} / {few.stem}", times[0], times[1], 4.5, best=True)
