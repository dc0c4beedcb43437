"""Programs that once failed, as files: what a seed stands for changes with the generator, a file does not.

A file is the program as MLIR; its first line says how it is compiled, `// epl-compile --devices=cpu:4 ...`
(`--schedule=table.txt`: by the table in a file of the same name and `.txt`), and, behind `expects:`, errors
of which it must have one. Else its results must be those of the unparallelized program (`--reference`) on
random integers, bit by bit; or, if a file of the same name and `.json` is beside it, as that of a program on
floats, its results on the inputs there must lie in the ranges there (ranges.py).

    found.py FILE ...     says what is wrong with each; fails if something is
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from check import (
    TIMEOUT,
    AnyCase,
    Case,
    Mismatch,
    Verdict,
    compile_file,
    get_cpus,
    make_input,
    make_inputs,
    run_step,
    runtime,
)
from floats import find_difference
from ranges import pack
from tensors import DTYPES

FOUND = Path(__file__).parent / "found"
_COMMAND = "// epl-compile "
_EXPECTS, _OR = " expects: ", " or "
ENDS = ("low", "high", "nan")


def write_program(case: AnyCase, verdict: Verdict, stem: Path) -> Path:
    """Writes a case that failed as such a file, what was wrong behind the program; a step of JAX in words."""
    file = stem.with_suffix(".mlir" if isinstance(case, Case) else ".txt")
    file.parent.mkdir(parents=True, exist_ok=True)
    faults = case.find_faults() if isinstance(case, Case) else []
    command = _COMMAND + " ".join(case.options) + (_EXPECTS + _OR.join(faults) if faults else "")
    if isinstance(case, Case) and case.program.floats and not faults:
        stem.with_suffix(".json").write_text(json.dumps(_describe_floats(case)))
    if isinstance(case, Case) and case.table:
        stem.with_suffix(".txt").write_text(case.table)
    said = "".join(f"// {line}\n" for line in verdict.text.splitlines())
    file.write_text(f"{command}\n{case.text().rstrip()}\n{said}")
    return file


def _describe_floats(case: Case) -> dict[str, Any]:
    """The inputs of a program, and what each result may be: ends of ranges, whether they are NaN."""
    inputs = make_inputs(case.program)
    given = [
        {"type": argument.value.type.element, "numbers": array.astype(np.float64).tolist()}
        for argument, array in zip(case.program.arguments, inputs, strict=True)
    ]
    expected = [
        {"type": value.type.element, **{name: ranges[name].tolist() for name in ENDS}}
        for (value, _), ranges in zip(case.program.results, case.program.evaluate_ranges(inputs), strict=True)
    ]
    return {"inputs": given, "results": expected}


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
            faults = expected.split(_OR)
            return "" if any(fault in error for fault in faults) else f"no error with {expected}: {error}"
        if (floats := file.with_suffix(".json")).exists():
            return error or _check_floats(plans[0], json.loads(floats.read_text()))
        error = error or _compile(file, ["--reference"], plans[1])
        return error or _compare(*(_run(plan) for plan in plans))


def _check_floats(plan: Path, described: dict[str, Any]) -> str:
    inputs = [np.array(each["numbers"]).astype(DTYPES[each["type"]]) for each in described["inputs"]]
    for index, found in enumerate(_run(plan, inputs)):
        each = described["results"][index % len(described["results"])]
        expected = pack(each["low"], each["high"], each["nan"])
        found = found.view(DTYPES["bf16"]) if each["type"] == "bf16" else found  # NumPy's has two bytes
        if difference := find_difference(found, expected):
            return f"result {index}: {difference}"
    return ""


def _get_options(command: str) -> list[str]:
    """Those of the command in a file's first line; those of a CPU that this machine has not are left out."""
    return [each for each in command.split() if not each.startswith("--cpu=") or each[6:] in get_cpus()]


def _compile(file: Path, options: list[str], plan: Path) -> str:
    """What the compiler has to say of a file that it does not compile, else ""."""
    try:
        done = compile_file(file, options, plan)
    except Mismatch as hangs:
        return str(hangs)
    return done.stderr or f"exit code {done.returncode}" if done.returncode else ""


def _run(path: Path, inputs: list[np.ndarray] | None = None) -> list[np.ndarray]:
    """The results of two steps on the same inputs, random ones if none are given; the second consumes the
    states."""
    plan = runtime().Plan.load(str(path))
    session = runtime().Session(plan, f"cpu:{plan.devices}")
    numbers = np.random.default_rng(0)
    arguments = [slot for slot in plan.slots if slot.role != "result"]
    if inputs is None:
        inputs = [make_input(slot.shape, np.dtype(slot.dtype), numbers) for slot in arguments]
    is_state = [slot.role == "state" for slot in arguments]
    return [array for donate in (False, True) for array in run_step(session, is_state, inputs, donate)]


def _compare(found: list[np.ndarray], expected: list[np.ndarray]) -> str:
    for index, (ours, reference) in enumerate(zip(found, expected, strict=True)):
        if ours.dtype != reference.dtype or ours.tobytes() != reference.tobytes():
            return f"result {index}: expected {reference.dtype}\n{reference}\nfound {ours.dtype}\n{ours}"
    return ""


if __name__ == "__main__":
    wrong = {path: reason for path in sys.argv[1:] if (reason := _check(Path(path)))}
    print("\n".join(wrong.values()))
    sys.exit(bool(wrong))
