"""Compiles one program for several devices and as the reference, runs both plans, and compares with NumPy."""

from __future__ import annotations

import functools
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from expression import DTYPES
from generate import INPUT_BOUND
from program import Program

ROOT = Path(__file__).parents[2]
COMPILER = ROOT / "build" / "bin" / "epl-compile"
TIMEOUT = 60  # seconds: a compile or a run that takes longer hangs


class Mismatch(Exception):
    """The program does not compile, or a plan gives other numbers."""


class Refusal(Exception):
    """The compiler says that it does not support the program yet."""


@dataclass(frozen=True)
class Case:
    """A program and the number of devices that it is compiled for."""

    program: Program
    devices: int


@functools.cache
def _runtime() -> Any:
    sys.path.append(str(ROOT / "build" / "python"))
    import _epl_runtime

    return _epl_runtime


def check(case: Case) -> None:
    """Raises what is wrong with the case, if anything."""
    inputs = _make_inputs(case.program)
    expected = case.program.evaluate(inputs)
    _compare("reference", _run(case.program, ["--reference"], inputs), expected)
    _compare(f"cpu:{case.devices}", _run(case.program, [f"--devices=cpu:{case.devices}"], inputs), expected)


def _make_inputs(program: Program) -> list[np.ndarray]:
    numbers = np.random.default_rng(program.seed)
    return [
        numbers.integers(-INPUT_BOUND, INPUT_BOUND + 1, argument.value.type.shape).astype(
            DTYPES[argument.value.type.element]
        )
        for argument in program.arguments
    ]


def _run(program: Program, options: list[str], inputs: list[np.ndarray]) -> list[list[np.ndarray]]:
    """The results of two steps on the same inputs; the second consumes the states."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "step.eplan"
        compiled = subprocess.run(
            [COMPILER, "-", *options, "-o", path], input=program.text(), capture_output=True, text=True,
            timeout=TIMEOUT, check=False,
        )  # fmt: skip
        if compiled.returncode:
            error = f"epl-compile {' '.join(options)} ended with {compiled.returncode}:\n{compiled.stderr}"
            raise (Refusal if "not supported yet" in error else Mismatch)(error)
        plan = _runtime().Plan.load(str(path))
    session = _runtime().Session(plan, f"cpu:{plan.devices}")
    return [_step(session, program, inputs, donate) for donate in (False, True)]


def _step(session: Any, program: Program, inputs: list[np.ndarray], donate: bool) -> list[np.ndarray]:
    is_state = [argument.role == "state" for argument in program.arguments]
    values = [session.state(i, array) if is_state[i] else array for i, array in enumerate(inputs)]
    results, call = session.call(values, [donate and state for state in is_state], "step")
    call.wait()
    return [np.array(result.numpy()) for result in results]


def _compare(name: str, steps: list[list[np.ndarray]], expected: list[np.ndarray]) -> None:
    for step, results in enumerate(steps):
        for index, (result, number) in enumerate(zip(results, expected, strict=True)):
            if result.dtype != number.dtype or not np.array_equal(result, number):
                raise Mismatch(
                    f"result {index} of step {step} of {name}: expected {number.dtype}\n{number}\n"
                    f"found {result.dtype}\n{result}"
                )
