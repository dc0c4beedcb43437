"""Programs that once failed, as files: what a seed stands for changes with the generator, a file does not.

A file is the program as MLIR; its first line says how it is compiled: `// epl-compile --devices=cpu:4 ...`.
Its results must be those of the unparallelized program (`--reference`) on random integers, bit by bit.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from check import COMPILER, TIMEOUT, AnyCase, Case, Verdict, get_cpus, runtime
from values import INPUT_BOUND

FOUND = Path(__file__).parent / "found"
_COMMAND = "// epl-compile "


def write_program(case: AnyCase, verdict: Verdict, stem: Path) -> Path:
    """Writes a case that failed as such a file, what was wrong behind the program; a step of JAX in words."""
    file = stem.with_suffix(".mlir" if isinstance(case, Case) else ".txt")
    file.parent.mkdir(parents=True, exist_ok=True)
    said = "".join(f"// {line}\n" for line in verdict.text.splitlines())
    file.write_text(f"{_COMMAND}{' '.join(case.options)}\n{case.text().rstrip()}\n{said}")
    return file


def check_files(files: list[Path]) -> Iterator[tuple[Path, str]]:
    """Of each file what is wrong, "" if nothing."""
    for file in files:
        yield file, _check(file)


def _check(file: Path) -> str:
    first = file.read_text().partition("\n")[0]
    if not first.startswith(_COMMAND):
        return f"the first line is {first!r}, expected {_COMMAND!r} and its options"
    with tempfile.TemporaryDirectory() as folder:
        steps = []
        for options in (_get_options(first), ["--reference"]):
            plan = Path(folder) / f"{len(steps)}.eplan"
            done = _compile(file, options, plan)
            if done:
                return done
            steps.append(_run(plan))
    return _compare(*steps)


def _get_options(line: str) -> list[str]:
    """Those of the command in a file's first line, for this machine where it has not the CPU."""
    options = line.removeprefix(_COMMAND).split()
    return [option for option in options if not option.startswith("--cpu=") or option[6:] in get_cpus()]


def _compile(file: Path, options: list[str], plan: Path) -> str:
    try:
        done = subprocess.run(
            [COMPILER, file, *options, "-o", plan],
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"epl-compile {' '.join(options)} hangs"
    return done.stderr or f"exit code {done.returncode}" if done.returncode else ""


def _run(path: Path) -> list[np.ndarray]:
    """The results of two steps on the same random inputs; the second consumes the states."""
    plan = runtime().Plan.load(str(path))
    session = runtime().Session(plan, f"cpu:{plan.devices}")
    numbers = np.random.default_rng(0)
    arguments = [slot for slot in plan.slots if slot.role != "result"]
    inputs = [_make_input(slot, numbers) for slot in arguments]
    is_state = [slot.role == "state" for slot in arguments]
    made: list[np.ndarray] = []
    for donate in (False, True):
        values = [session.state(i, array) if is_state[i] else array for i, array in enumerate(inputs)]
        results, call = session.call(values, [donate and state for state in is_state], "step")
        call.wait()
        made += [np.array(result.numpy()) for result in results]
    return made


def _make_input(slot: Any, numbers: np.random.Generator) -> np.ndarray:
    is_boolean = slot.dtype == "bool"
    least, most = (0, 1) if is_boolean else (-INPUT_BOUND, INPUT_BOUND)
    return numbers.integers(least, most + 1, slot.shape).astype(slot.dtype)


def _compare(found: list[np.ndarray], expected: list[np.ndarray]) -> str:
    for index, (ours, reference) in enumerate(zip(found, expected, strict=True)):
        if ours.dtype != reference.dtype or ours.tobytes() != reference.tobytes():
            return f"result {index}: expected {reference.dtype}\n{reference}\nfound {ours.dtype}\n{ours}"
    return ""
