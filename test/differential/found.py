"""Programs that once failed, as files: what a seed stands for changes with the generator, a file does not.

A file is the program as MLIR; its first line says how it is compiled, `// epl-compile --devices=cpu:4 ...`,
and, behind `expects:`, errors of which it must have one. Else its results must be those of the unparallelized
program (`--reference`) on random integers.

    found.py FILE ...     says what is wrong with each; fails if something is
"""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from check import COMPILER, TIMEOUT, AnyCase, Case, Verdict, get_cpus, runtime
from values import INPUT_BOUND

FOUND = Path(__file__).parent / "found"
_COMMAND = "// epl-compile "
_EXPECTS, _OR = " expects: ", " or "


def write_program(case: AnyCase, verdict: Verdict, stem: Path) -> Path:
    """Writes a case that failed as such a file, what was wrong behind the program; a step of JAX in words."""
    file = stem.with_suffix(".mlir" if isinstance(case, Case) else ".txt")
    file.parent.mkdir(parents=True, exist_ok=True)
    faults = case.find_faults() if isinstance(case, Case) else []
    command = _COMMAND + " ".join(case.options) + (_EXPECTS + _OR.join(faults) if faults else "")
    said = "".join(f"// {line}\n" for line in verdict.text.splitlines())
    file.write_text(f"{command}\n{case.text().rstrip()}\n{said}")
    return file


def check_file(file: Path) -> str:
    """What is wrong with a file, "" if nothing. A process of its own runs the plan: it may crash or hang."""
    try:
        done = subprocess.run(
            [sys.executable, __file__, file], capture_output=True, text=True, timeout=4 * TIMEOUT, check=False
        )
    except subprocess.TimeoutExpired:
        return "hangs"
    if done.returncode < 0:
        return f"killed by {signal.Signals(-done.returncode).name}"
    return done.stdout.strip() or done.stderr if done.returncode else ""


def _check(file: Path) -> str:
    first = file.read_text().partition("\n")[0]
    if not first.startswith(_COMMAND):
        return f"the first line is {first!r}, expected {_COMMAND!r} and its options"
    command, _, expected = first.removeprefix(_COMMAND).partition(_EXPECTS)
    with tempfile.TemporaryDirectory() as folder:
        plans = [Path(folder) / "parallel.eplan", Path(folder) / "reference.eplan"]
        error = _compile(file, _get_options(command), plans[0])
        if expected:
            return (
                ""
                if any(fault in error for fault in expected.split(_OR))
                else f"no error with {expected}: {error}"
            )
        error = error or _compile(file, ["--reference"], plans[1])
        return error or _compare(*(_run(plan) for plan in plans))


def _get_options(command: str) -> list[str]:
    """Those of the command in a file's first line; those of a CPU that this machine has not are left out."""
    return [each for each in command.split() if not each.startswith("--cpu=") or each[6:] in get_cpus()]


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
        if ours.dtype != reference.dtype or not np.array_equal(ours, reference):
            return f"result {index}: expected {reference.dtype}\n{reference}\nfound {ours.dtype}\n{ours}"
    return ""


if __name__ == "__main__":
    wrong = {path: reason for path in sys.argv[1:] if (reason := _check(Path(path)))}
    print("\n".join(wrong.values()))
    sys.exit(bool(wrong))
