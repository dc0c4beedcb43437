"""The shard phase on many layers: how long it takes, and how that grows with the number of devices."""

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from effort import Effort
from table import Row

FOLDER = Path(__file__).parent
OPT = FOLDER.parents[1] / "build/bin/epl-opt"
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


def seconds(program: Path, devices: int) -> dict[str, float]:
    """What each pass takes from the annotated step to tasks, by its name."""
    options = [f"--epl-parallelize=devices={devices}", "--mlir-timing", "--mlir-timing-display=list"]
    command = [str(OPT), str(program), *options, "-o", "/dev/null"]
    report = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=True).stderr
    return {name: float(time) for time, name in PASS.findall(report)}


def sharding(effort: Effort) -> Iterator[Row]:
    """24 unrolled layers, all passes and propagation alone, on 2, 4 and 64 devices in turn."""
    layers = 2 if effort.quick else 24
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "step.mlir"
        command = [sys.executable, "-c", PROGRAM.format(layers=layers)]
        with program.open("w") as file:
            subprocess.run(command, stdout=file, stderr=subprocess.DEVNULL, check=True, cwd=FOLDER)
        rounds = [{n: seconds(program, n) for n in (2, 4, 64)} for _ in range(effort.rounds)]
    for what, passes in (("all passes", None), ("propagation", "Propagate"), ("search", "SeedSplit")):
        times = {
            devices: [found[devices][passes] if passes else sum(found[devices].values()) for found in rounds]
            for devices in (2, 4, 64)
        }
        goal = 1.1 if passes is None else None
        yield Row(f"shard {layers} layers, {what}, 64 / 4 devices", times[64], times[4], goal)
        yield Row(f"shard {layers} layers, {what}, 64 / 2 devices, one axis", times[64], times[2], goal)
