"""What a step of a pipeline takes beside what its simulation says, in a process of its own.

Rows, one JSON object a line. The step: two stages of perceptrons on two devices, which should have two cores.
Each round records a timeline, and simulates the plan with the times of its commands; the step's time is the
median of the timeline's. Then plans beside their tables, if each unit takes a unit of time.

    python simulation.py [--rounds N] [--steps N] [--width N]
"""

import argparse
import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import jax

import epl
from epl import runtime

SAMPLES = 4096
LAYERS = 2  # of a stage
MICRO_BATCHES = (1, 8, 16)
TABLES = [("gpipe", 4, 16), ("1f1b", 4, 16), ("zb-h1", 4, 16), ("1f1b", 2, 16)]


def step(stages: list[list[jax.Array]], x: jax.Array) -> tuple[list[list[jax.Array]], jax.Array]:
    """Perceptrons, each stage's on a device of its own."""

    def loss(stages: list[list[jax.Array]]) -> jax.Array:
        h = x
        for index, weights in enumerate(stages):
            with epl.replicate(name=f"stage{index}"):
                for w in weights:
                    h = jax.nn.relu(h @ w)
                if index == len(stages) - 1:
                    return (h * h).mean()
        raise AssertionError("no stage")

    value, gradients = jax.value_and_grad(loss)(stages)
    return jax.tree.map(lambda w, g: w - 0.1 * g, stages, gradients), value


def compiled(
    meshes: int, count: int, width: int, samples: int, schedule: str = "1f1b"
) -> tuple[Any, Any, Any]:
    """The step, compiled for so many meshes and micro-batches, and what it is called on."""
    keys = iter(jax.random.split(jax.random.key(0), meshes * LAYERS + 1))
    scale = (2 / width) ** 0.5
    stages = [
        [jax.random.normal(next(keys), (width, width)) * scale for _ in range(LAYERS)] for _ in range(meshes)
    ]
    x = jax.random.normal(next(keys), (samples, width))
    config = {"pipeline.num_micro_batch": count, "pipeline.strategy": schedule}
    made = epl.parallelize(step, state="stages", batch="x", devices=meshes, config=config)
    return made.lower(stages, x).compile(), stages, x


def measured(rounds: int, steps: int, width: int, count: int) -> dict[str, Any]:
    """A row of measured beside simulated steps."""
    made, stages, x = compiled(2, count, width, SAMPLES)
    found, simulated = [], []
    with tempfile.TemporaryDirectory() as folder:
        timeline = Path(folder) / "timeline.json"
        for _ in range(rounds + 1):
            with made.trace(timeline):
                for _ in range(steps):
                    stages, loss = made(stages, x)
                    jax.block_until_ready(loss)
            simulation = made.simulate(timeline=timeline)
            found.append(simulation.measured)
            simulated.append(simulation.makespan)
    what = f"step of 2 stages, {count} micro-batches, measured / simulated"
    return {"what": what, "ours": found[1:], "peer": simulated[1:], "goal": 1.1, "within": True}


def in_units(schedule: str, meshes: int, count: int) -> dict[str, Any]:
    """A row of a plan beside its table, in times of a unit, which is a second to both."""
    made, _, _ = compiled(meshes, count, 8, 2 * count, schedule)
    program = str(runtime.program("epl-plan"))
    with tempfile.TemporaryDirectory() as folder:
        made.save(Path(folder) / "step.eplan")
        plan = [program, "simulate", str(Path(folder) / "step.eplan"), "--times=1,1,1", "--json"]
        found = json.loads(subprocess.run(plan, capture_output=True, text=True, check=True).stdout)
    table = subprocess.run(
        [program, "schedule", schedule, str(meshes), str(count)], capture_output=True, text=True, check=True
    ).stdout
    (line,) = (line for line in table.splitlines() if line.startswith("# makespan"))
    expected = float(line.split()[2].rstrip(","))
    what = f"{schedule} of {meshes} stages, {count} micro-batches, plan / table"
    seconds = found["makespan"] * 1e6  # units are microseconds to the program
    return {"what": what, "ours": [seconds], "peer": [expected], "goal": 1.03, "within": True, "unit": ""}


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--steps", type=int, default=10, help="steps of a timeline")
    parser.add_argument("--width", type=int, default=512, help="of the perceptrons")
    args = parser.parse_args()
    for count in MICRO_BATCHES:
        print(json.dumps(measured(args.rounds, args.steps, args.width, count)), flush=True)
    for schedule, meshes, count in TABLES:
        print(json.dumps(in_units(schedule, meshes, count)), flush=True)


if __name__ == "__main__":
    main()
