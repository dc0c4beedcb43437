"""What PTX costs: the compiler's time for a GPU beside that for a CPU, of one step of a GPT."""

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from effort import Effort
from programs import TOOLS
from table import Row

FOLDER = Path(__file__).parent
PROGRAM = """
import sys
import epl
from models import MODELS
model = MODELS["GPT"]()
states = list(range(len(model.state)))
step = epl.parallelize(model.step, devices="cpu:1", state=states, batch=(len(states), len(states) + 1))
sys.stdout.write(step.lower(*model.state, *model.batch).as_text())
"""


def seconds(program: Path, devices: str) -> float:
    """What the compiler takes, in a process of its own."""
    plan = program.with_suffix(".eplan")
    begin = time.perf_counter()
    subprocess.run(
        [str(TOOLS / "epl-compile"), str(program), f"--devices={devices}", "-o", str(plan)], check=True
    )
    return time.perf_counter() - begin


def compilation(effort: Effort) -> Iterator[Row]:
    """Compile for both in turn."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "gpt.mlir"
        with program.open("w") as file:
            subprocess.run([sys.executable, "-c", PROGRAM], stdout=file, check=True, cwd=FOLDER)
        rounds = [(seconds(program, "cuda:0"), seconds(program, "cpu:1")) for _ in range(effort.rounds)]
    gpu, cpu = zip(*rounds, strict=True)
    yield Row("compile GPT for a GPU / for a CPU", list(gpu), list(cpu), goal=1.5)
