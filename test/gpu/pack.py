"""Makes a folder that runs where there is a GPU and its driver, and nothing else: no toolkit, Python or LLVM.

    pack.py FOLDER [--models gpt cnn] [--programs 200]

In it are `run.sh`, which runs all of it; `bin/epl-run`, `bin/epl-plan` and the plugin for GPUs; tests of
what the plugin relies on of a driver; and of each step of test/models, and of random programs, a plan for
one, two and four devices of a GPU, the step's inputs, and a plan of the same step for one CPU device in
plain loops, whose results are the answers. `scripts/test-gpu --pack` calls this.
"""

from __future__ import annotations

import argparse
import importlib
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
BUILD = ROOT / "build"
sys.path += [str(ROOT / "test" / name) for name in ("", "differential", "python")]

import jax  # noqa: E402
import numpy as np  # noqa: E402
from check import Case  # noqa: E402
from run import make_case, put_on_card  # noqa: E402

import epl  # noqa: E402
from test_models import NAMES  # noqa: E402

PROGRAMS = ("bin/epl-run", "bin/epl-plan", "bin/EplCardTests", "lib/libepl_cuda.so")
LEVEL = "x86-64-v3"  # of the CPU that computes the answers
COUNTS = (1, 2, 4)
LIMIT = 64 << 20


@dataclass
class Step:
    """A step as text, what it is called with, and how near its results have to be."""

    name: str
    text: str
    inputs: Sequence[np.ndarray[Any, Any]] | None
    tolerance: float
    options: Sequence[str] = ()
    counts: Sequence[int] = COUNTS


def steps_of(model_name: str) -> Iterator[Step]:
    """Those of a model, each from its first state."""
    model = importlib.import_module(f"models.{model_name}").build()
    batch = model.batch(np.random.default_rng(7))
    for number, function in enumerate(model.steps):
        step = epl.parallelize(function, state="state", batch=1, devices="cuda:0")
        program = step.lower(model.state, batch).program
        leaves = [*jax.tree.leaves((model.state, batch)), *program.hidden]
        yield Step(f"{model_name}{number}", program.text, [_array(leaf) for leaf in leaves], model.tolerance)


def _array(leaf: Any) -> np.ndarray[Any, Any]:
    if isinstance(leaf, jax.Array) and jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        leaf = jax.random.key_data(leaf)
    return np.asarray(leaf)


def random_steps(count: int) -> Iterator[Step]:
    """Programs of test/differential that closed arithmetic has equal bits of, wherever it is."""
    seed = 0
    while count:
        case = put_on_card(make_case(seed))
        if isinstance(case, Case) and case.on_card and not case.find_faults() and not case.table:
            options = [option for option in case.options if not option.startswith("--devices")]
            yield Step(f"random{seed}", case.text(), None, 1e-4, options, (case.devices,))
            count -= 1
        seed += 1


def compile_step(text: Path, plan: Path, *options: str) -> bool:
    """Whether the compiler takes it."""
    command = [BUILD / "bin" / "epl-compile", text, "-o", plan, *options]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def put(step: Step, folder: Path) -> list[dict[str, Any]]:
    """Writes the plans and the inputs of a step; what is to be run."""
    text = folder / f"{step.name}.mlir"
    text.write_text(step.text)
    inputs = "random:0"
    if step.inputs is not None:
        inputs = f"{step.name}.inputs"
        (folder / inputs).mkdir()
        for slot, array in enumerate(step.inputs):
            array.tofile(folder / inputs / f"s{slot}.bin")
    answers = folder / f"{step.name}.answers.eplan"
    runs = []
    if compile_step(text, answers, "--reference", f"--cpu={LEVEL}"):
        for count in step.counts:
            plan = folder / f"{step.name}.{count}.eplan"
            if compile_step(text, plan, f"--devices=cuda:0x{count}", *step.options):
                runs.append({"plan": plan.name, "answers": answers.name, "inputs": inputs, "devices": count,
                             "tolerance": step.tolerance})  # fmt: skip
    text.unlink()
    return runs


def write(folder: Path, steps: Iterator[Step]) -> int:
    """The pack; how many runs are in it."""
    plans = folder / "plans"
    plans.mkdir(parents=True)
    for file in PROGRAMS:
        (folder / file).parent.mkdir(exist_ok=True)
        shutil.copy2(BUILD / file, folder / file)
    shutil.copy2(Path(__file__).with_name("run.sh"), folder)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        runs = [run for each in pool.map(lambda step: put(step, plans), steps) for run in each]
    lines = ["{plan} {answers} {inputs} {devices} {tolerance}".format_map(run) for run in runs]
    (plans / "list.txt").write_text("\n".join(lines) + "\n")
    with tarfile.open(folder / "plans.tar.gz", "w:gz") as archive:
        archive.add(plans, "plans")
    shutil.rmtree(plans)
    return len(runs)


def main() -> int:
    """Parses the command line and makes the pack."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="that is made")
    parser.add_argument("--models", nargs="*", default=NAMES, help="of test/models (default: all)")
    parser.add_argument("--programs", type=int, default=200, help="random ones")
    arguments = parser.parse_args()
    if arguments.folder.exists():
        print(f"{arguments.folder} is there already", file=sys.stderr)
        return 2

    def steps() -> Iterator[Step]:
        for name in arguments.models:
            yield from steps_of(name)
        yield from random_steps(arguments.programs)

    runs = write(arguments.folder, steps())
    size = sum(path.stat().st_size for path in arguments.folder.rglob("*") if path.is_file())
    print(f"{arguments.folder}: {runs} runs, {size / 2**20:.1f} MiB; ./run.sh runs them where there is a GPU")
    return 0 if size <= LIMIT else 1


if __name__ == "__main__":
    sys.exit(main())
