"""Compiles programs and compares what their plans compute with NumPy.

Starting the compiler costs more than compiling a small program, so programs with the same options share a
process; one whose plan is missing then is compiled alone, for what the compiler has to say.
"""

from __future__ import annotations

import dataclasses
import functools
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import cards
import numpy as np
from alike import repeat
from derivatives import Derivatives
from floats import count_tolerances, find_difference, make_floats
from program import Argument, Program
from tables import draw_kinds, draw_meshes, draw_table
from tensors import DTYPES, is_float
from values import INPUT_BOUND

ROOT = Path(__file__).parents[2]
COMPILER = Path(os.environ.get("EPL_COMPILE", ROOT / "build" / "bin" / "epl-compile"))
TIMEOUT = 60  # seconds: one program that takes longer to compile or to run hangs


@functools.cache
def get_cpus() -> list[str]:
    """CPUs that this machine can stand in for: its own, then without AVX512-BF16, AVX-512 and AVX."""
    flags = Path("/proc/cpuinfo").read_text().split()
    needs = {"x86-64-v4": "avx512dq", "haswell": "avx2", "x86-64": "sse2"}
    return ["host", "host", *(cpu if flag in flags else "host" for cpu, flag in needs.items())]


class Mismatch(Exception):
    """The program does not compile, or a plan gives other numbers."""


class Refusal(Exception):
    """The compiler says that it does not support the program yet."""


class Indivisible(Exception):
    """The compiler says that the program cannot be done in micro-batches."""


TABLE = "table.txt"  # the name of a case's own schedule among its options
MIXES = "mixes samples across micro-batches"
# Samples of one micro-batch that are too few for the devices of a constraint.
SHORT = ("is constrained, but its size of", "'epl.constrain' op dimension")
# Values of each micro-batch that are no floats, so that there is no mean of them.
EACH = ("is a value of each micro-batch", "what each micro-batch makes of statistics in")
# Scopes that data flows back through: no stages.
BACK = "in the order in which data flows through them"


@dataclass(frozen=True)
class Case:
    """A program and what it is compiled for: a kind of kernels, a CPU, a level of ZeRO or owners, whether
    what a split leaves whole between its sums and products is shared, the machine that choices are made for,
    how many micro-batches the batch is done in, in which order (by name, or "random" for the program's own
    table), which values are kept where the rest is computed again, whether states are in memory of the host,
    and whether devices are those of a card, on the stand-in of a GPU."""

    program: Program
    kernels: str  # vectorized | loops | reference: loops without the scopes, on one device
    cpu: str = "host"
    zero: str = "off"  # v1 | v2 | v3 | owners
    sequence: bool = False
    machine: str = "cpu"
    micro_batches: int = 1
    schedule: str = "1f1b"
    recompute: str = "off"  # auto | collection
    offload: bool = False
    on_card: bool = False

    @property
    def device_string(self) -> str:
        """The devices that the plan is for."""
        return f"cuda:0x{self.devices}" if self.on_card else f"cpu:{self.devices}"

    @property
    def devices(self) -> int:
        return 1 if self.kernels == "reference" else self.program.layout.devices

    @property
    def options(self) -> tuple[str, ...]:
        if self.kernels == "reference":
            return ("--reference",)
        levels = {"off": (), "owners": ("--owners",)}
        zero = levels.get(self.zero, (f"--zero={self.zero}",))
        layout = self.program.layout
        colocate = ("--colocate",) if layout.outside and not layout.apart else ()
        code = () if self.on_card else (f"--kernels={self.kernels}", f"--cpu={self.cpu}")
        target = (f"--devices={self.device_string}", *code)
        sequence = ("--sequence-parallel",) if self.sequence else ()
        machine = () if self.machine == "cpu" else (f"--machine={self.machine}",)
        stages = (f"--num-stages={layout.meshes}",) if layout.meshes else ()
        micro: tuple[str, ...] = ()
        if self.micro_batches > 1:
            schedule = self.get_schedule()
            micro = (f"--micro-batches={self.micro_batches}", f"--schedule={schedule}")
        recompute = () if self.recompute == "off" else (f"--recompute={self.recompute}",)
        offload = ("--offload",) if self.offload else ()
        return (*target, *zero, *colocate, *sequence, *machine, *stages, *micro, *recompute, *offload)

    def get_schedule(self) -> str:
        """The name of the schedule, of which only one takes several stages on a mesh, or TABLE."""
        layout = self.program.layout
        has_several = layout.stages > layout.meshes > 0
        if self.schedule == "random" or (has_several and self.micro_batches % layout.meshes):
            return TABLE
        return "interleaved" if has_several else self.schedule

    @property
    def table(self) -> str:
        """The table that the option `--schedule` names, if it names one."""
        if self.micro_batches == 1 or self.kernels == "reference" or self.get_schedule() != TABLE:
            return ""
        choices, layout = random.Random(f"table of {self.program.seed}"), self.program.layout
        meshes = draw_meshes(choices, layout.stages, min(layout.meshes or layout.stages, layout.stages))
        kinds = draw_kinds(choices, layout.stages)
        return draw_table(choices, meshes, kinds, self.micro_batches)

    @property
    def size(self) -> int:
        """The ops of the program."""
        return len(self.program.ops)

    def text(self) -> str:
        """The program as MLIR."""
        return self.program.text()

    def find_faults(self) -> list[str]:
        """What the compiler has to say, one of it, if the program cannot be divided among the devices."""
        return [] if self.kernels == "reference" else self.program.find_faults()


AnyCase = Case | Derivatives


@dataclass(frozen=True)
class Verdict:
    """What became of a case, and what there is to say: of one that passed, why it was done as a whole."""

    outcome: str  # passed | failed | refused
    text: str = ""
    tolerances: dict[str, int] = field(default_factory=dict)  # of elements, by how closely they are compared


@functools.cache
def runtime() -> Any:
    """The runtime's Python module, of the build."""
    sys.path.append(str(ROOT / "build" / "python"))
    import _epl_runtime

    return _epl_runtime


def check(cases: list[AnyCase]) -> Iterator[Verdict]:
    """A verdict for each case, as soon as there is one."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        programs = [(number, case) for number, case in enumerate(cases) if isinstance(case, Case)]
        for number, case in programs:
            (folder / f"{number}.mlir").write_text(case.text())
            (folder / f"{number}.txt").write_text(case.table)
        for options in sorted({case.options for _, case in programs if not case.table}):
            numbers = [number for number, case in programs if case.options == options]
            if len(numbers) > 1:
                _compile_together(options, [folder / f"{number}.mlir" for number in numbers])
        for number, any_case in enumerate(cases):
            if isinstance(any_case, Case):
                yield _judge(any_case, folder / f"{number}.mlir")
            else:
                yield _judge_derivatives(any_case)


def _judge_derivatives(step: Derivatives) -> Verdict:
    from derivative_steps import find_difference  # JAX, which takes seconds to load

    try:
        difference = find_difference(step)
    except Exception as error:  # whatever it is, no step may raise it
        return Verdict("failed", f"{type(error).__name__}: {error}")
    return Verdict("failed", difference) if difference else Verdict("passed")


def _compile_together(options: tuple[str, ...], files: list[Path]) -> None:
    """Makes the plans that can be made; a crash or a hang costs those behind it."""
    command: list[str | Path] = [COMPILER, *files, *options, "-o", files[0].parent]
    try:
        done = subprocess.run(command, capture_output=True, timeout=TIMEOUT + len(files), check=False)
    except subprocess.TimeoutExpired:
        return
    plans = [file.with_suffix(".eplan") for file in files]
    if done.returncode != 0 and all(plan.exists() for plan in plans):
        for plan in plans:  # it failed behind the last, as sanitizers do for leaks: each is compiled alone
            plan.unlink()


def _judge(case: Case, file: Path) -> Verdict:
    try:
        plan = file.with_suffix(".eplan")
        if faults := case.find_faults():
            _expect_fault(case, file, plan, faults)
            return Verdict("passed")
        if not plan.exists():
            _compile_alone(case, file, plan)
        tolerances = _run_and_compare(case, plan)
    except Refusal as refusal:
        return Verdict("refused", str(refusal))
    except Indivisible as reason:
        verdict = _judge(dataclasses.replace(case, micro_batches=1), file)
        return dataclasses.replace(verdict, text=str(reason)) if verdict.outcome == "passed" else verdict
    except Mismatch as mismatch:
        return Verdict("failed", str(mismatch))
    return Verdict("passed", tolerances=tolerances)


def _compile_alone(case: Case, file: Path, plan: Path) -> None:
    code, error = _compile(case, file, plan)
    for reason in (MIXES, *EACH, *SHORT, BACK):
        if code and case.micro_batches > 1 and reason in error:
            raise Indivisible(reason)
    if code:
        raise (Refusal if "not supported yet" in error else Mismatch)(error)


def _expect_fault(case: Case, file: Path, plan: Path, faults: list[str]) -> None:
    code, error = (0, "no error") if plan.exists() else _compile(case, file, plan)
    if code != 1 or not any(fault in error for fault in faults):
        expected = " or ".join(f'"{fault}"' for fault in faults)
        raise Mismatch(f"expected an error with {expected}, found {error}")


def _compile(case: Case, file: Path, plan: Path) -> tuple[int, str]:
    """The exit code, and what there is to say of it."""
    done = compile_file(file, case.options, plan)
    return (
        done.returncode,
        f"epl-compile {' '.join(case.options)} ended with {done.returncode}:\n{done.stderr}",
    )


def compile_file(file: Path, options: Sequence[str], plan: Path) -> subprocess.CompletedProcess[str]:
    """Compiles a program by itself; its own table, if options name one, is beside it.

    Raises Mismatch if that takes longer than TIMEOUT.
    """
    own = f"--schedule={file.with_suffix('.txt')}"
    given = [own if option == f"--schedule={TABLE}" else option for option in options]
    try:
        return subprocess.run(
            [COMPILER, file, *given, "-o", plan], capture_output=True, text=True, timeout=TIMEOUT,
            check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise Mismatch(f"epl-compile {' '.join(options)} hangs") from None


def _run_and_compare(case: Case, path: Path) -> dict[str, int]:
    """Two steps on the same inputs; the second consumes the states. Returns how closely floats were
    compared."""
    inputs = make_inputs(case.program)
    compare = _compare_ranges if case.program.floats else _compare_exactly
    expected = (case.program.evaluate_ranges if case.program.floats else case.program.evaluate)(inputs)
    plan = runtime().Plan.load(str(path))
    if case.on_card:
        cards.restart(case.program.seed)
    session = runtime().Session(plan, case.device_string)
    for donate in (False, True):
        results = _step(session, case.program, inputs, donate)
        for index, (result, each) in enumerate(zip(results, expected, strict=True)):
            element = case.program.results[index][0].type.element
            if difference := compare(result, each, element):
                step = "second" if donate else "first"
                raise Mismatch(f"result {index} of the {step} step: {difference}")
    if case.on_card and (findings := cards.findings()):
        raise Mismatch("\n".join(findings))
    return count_tolerances(expected) if case.program.floats else {}


def _compare_exactly(found: np.ndarray, expected: np.ndarray, element: str) -> str:
    if found.dtype == expected.dtype and np.array_equal(found, expected):
        return ""
    return f"expected {expected.dtype}\n{expected}\nfound {found.dtype}\n{found}"


def _compare_ranges(found: np.ndarray, expected: np.ndarray, element: str) -> str:
    if (found.dtype, found.shape) != (DTYPES[element], expected.shape):
        return f"expected {DTYPES[element]} {expected.shape}, found {found.dtype} {found.shape}"
    return find_difference(found, expected)


def make_inputs(program: Program) -> list[np.ndarray]:
    """Inputs by the program's seed; each by itself, so that a smaller program has the same."""
    inputs = [
        _make_input(argument, program.floats, np.random.default_rng((program.seed, argument.value.id)))
        for argument in program.arguments
    ]
    return [
        repeat(array, argument.batch_dim, program.alike)
        if program.alike and argument.role == "batch"
        else array
        for argument, array in zip(program.arguments, inputs, strict=True)
    ]


def _make_input(argument: Argument, floats: str, numbers: np.random.Generator) -> np.ndarray:
    type_ = argument.value.type
    if floats and is_float(type_.element):
        return make_floats(type_.shape, type_.element, floats, numbers)
    return make_input(type_.shape, np.dtype(DTYPES[type_.element]), numbers)


def make_input(shape: Sequence[int], dtype: np.dtype[Any], numbers: np.random.Generator) -> np.ndarray:
    """Small integers, or booleans."""
    least, most = (0, 1) if dtype.kind == "b" else (-INPUT_BOUND, INPUT_BOUND)
    return numbers.integers(least, most + 1, shape).astype(dtype)


def _step(session: Any, program: Program, inputs: list[np.ndarray], donate: bool) -> list[np.ndarray]:
    is_state = [argument.role == "state" for argument in program.arguments]
    arrays = run_step(session, is_state, inputs, donate)
    types = [value.type.element for value, _ in program.results]
    # NumPy's buffers know bf16 as two bytes.
    return [
        array.view(DTYPES["bf16"]) if type_ == "bf16" else array
        for array, type_ in zip(arrays, types, strict=True)
    ]


def run_step(session: Any, is_state: list[bool], inputs: list[np.ndarray], donate: bool) -> list[np.ndarray]:
    """The results of a step, as the runtime gives them; with `donate` it consumes the states."""
    values = [session.state(i, array) if is_state[i] else array for i, array in enumerate(inputs)]
    results, call = session.call(values, [donate and state for state in is_state], "step")
    call.wait()
    return [np.array(result.numpy()) for result in results]
