"""Programs that once failed, as files: what a seed stands for changes with the generator, a file does not.

A file is the program as MLIR; its first line says how it is compiled: `// epl-compile --devices=cpu:4 ...`.
Its results must be those of the unparallelized program (`--reference`) on random integers, bit by bit.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from check import AnyCase, Case, Mismatch, Verdict, compile_file, get_cpus, make_input, run_step, runtime

FOUND = Path(__file__).parent / "found"
_COMMAND = "// epl-compile "


def write_program(case: AnyCase, verdict: Verdict, stem: Path) -> Path:
    """Writes a case that failed as such a file, what was wrong behind the program; a step of JAX in words."""
    file = stem.with_suffix(".mlir" if isinstance(case, Case) else ".txt")
    file.parent.mkdir(parents=True, exist_ok=True)
    said = "".join(f"// {line}\n" for line in verdict.text.splitlines())
    file.write_text(f"{_COMMAND}{' '.join(case.options)}\n{case.text().rstrip()}\n{said}")
    return file


def check_file(file: Path) -> str:
    """What is wrong with such a file, "" if nothing."""
    first = file.read_text().partition("\n")[0]
    if not first.startswith(_COMMAND):
        return f"the first line is {first!r}, expected {_COMMAND!r} and its options"
    with tempfile.TemporaryDirectory() as folder:
        steps = []
        for options in (_get_options(first), ["--reference"]):
            plan = Path(folder) / f"{len(steps)}.eplan"
            try:
                done = compile_file(file, options, plan)
            except Mismatch as hangs:
                return str(hangs)
            if done.returncode:
                return done.stderr or f"exit code {done.returncode}"
            steps.append(_run(plan))
    return _compare(*steps)


def _get_options(line: str) -> list[str]:
    """Those of the command in a file's first line, for this machine where it has not the CPU."""
    options = line.removeprefix(_COMMAND).split()
    return [option for option in options if not option.startswith("--cpu=") or option[6:] in get_cpus()]


def _run(path: Path) -> list[np.ndarray]:
    """The results of two steps on the same random inputs; the second consumes the states."""
    plan = runtime().Plan.load(str(path))
    session = runtime().Session(plan, f"cpu:{plan.devices}")
    numbers = np.random.default_rng(0)
    arguments = [slot for slot in plan.slots if slot.role != "result"]
    inputs = [make_input(slot.shape, np.dtype(slot.dtype), numbers) for slot in arguments]
    is_state = [slot.role == "state" for slot in arguments]
    return [array for donate in (False, True) for array in run_step(session, is_state, inputs, donate)]


def _compare(found: list[np.ndarray], expected: list[np.ndarray]) -> str:
    for index, (ours, reference) in enumerate(zip(found, expected, strict=True)):
        if ours.dtype != reference.dtype or ours.tobytes() != reference.tobytes():
            return f"result {index}: expected {reference.dtype}\n{reference}\nfound {ours.dtype}\n{ours}"
    return ""
