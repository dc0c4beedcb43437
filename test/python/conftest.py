"""Fixtures shared by the tests of the front end."""

from __future__ import annotations

import ctypes
import gc
import hashlib
import os
import random
import shutil
import subprocess
import textwrap
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import epl
import epl.compile as epl_compile
from epl import environment, scopes
from epl.adapters.jax import trace as adapter
from epl.errors import Place
from epl.servers import connection
from epl.tables.keeping import KEEPING
from steps import scale

Lower = Callable[..., adapter.Program]
MlirOpt = Callable[[str], str]
WritePlan = Callable[[str], Path]
Fake = Callable[[str], None]
BUILD = Path(__file__).parents[2] / "build"


def _keep_what_xla_compiles() -> None:
    """What tests compare with is compiled once, not by each test, process and run: half of all their time.

    All clones share it. JAX tells programs and options apart, but not CPUs. Processes that tests start have
    a folder of their own: who reads what another one is writing is warned by JAX, and a warning is an error
    here.
    """
    cpu = next(line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("flags"))
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = caches / "epl-tests" / hashlib.sha256(cpu.encode()).hexdigest()[:16]
    jax.config.update("jax_compilation_cache_dir", str(folder))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    os.environ["JAX_COMPILATION_CACHE_DIR"] = f"{folder}-processes"
    os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
    os.environ["JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES"] = "-1"


_keep_what_xla_compiles()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of a test with many cases runs so many of them as EPL_CASES says, if it is set.

    These are the first one, the last one, and others by EPL_CASES_SEED: in the course of changes all of them.
    """
    most = int(os.environ.get("EPL_CASES") or 0)
    if not most:
        return
    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    chosen = set()
    for test, found in cases.items():
        draw = random.Random(f"{os.environ.get('EPL_CASES_SEED')} {test}")
        others = draw.sample(found[1:-1], max(most - 2, 0)) if len(found) > most else found[1:-1]
        chosen.update({found[0], found[-1], *others})
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = [item for item in items if item in chosen]


@pytest.fixture(scope="module", autouse=True)
def _forget_what_jax_traced() -> Iterator[None]:
    """What JAX keeps of one file helps no other, and every collection of garbage would look through it."""
    yield
    jax.clear_caches()
    gc.collect()


@pytest.fixture
def lower() -> Lower:
    """Traces and lowers a function of flat arguments, all constants unless `arguments` says otherwise."""

    def run(function: Callable[..., Any], *leaves: Any, **options: Any) -> adapter.Program:
        shapes = [jax.ShapeDtypeStruct(leaf.shape, leaf.dtype) for leaf in leaves]
        traced = adapter.trace(function, shapes, "step")
        constants = [adapter.Argument(f"a{i}", "constant") for i in range(len(shapes))]
        plain = [adapter.Result(f"r{i}") for i in range(len(jax.tree.leaves(traced.out)))]
        return adapter.lower(
            traced,
            options.pop("arguments", constants),
            options.pop("results", plain),
            name="step",
            place=Place("user.py", 3),
            **options,
        )

    return run


@pytest.fixture
def mlir_opt() -> MlirOpt:
    """Parses and verifies a text with the compiler's MLIR, another version than jaxlib's."""
    tool = shutil.which("mlir-opt-22")
    if tool is None:
        pytest.skip("mlir-opt-22 is not installed")

    def run(text: str) -> str:
        command = [tool, "--allow-unregistered-dialect", "--mlir-print-debuginfo", "--mlir-print-local-scope"]
        return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout

    return run


@pytest.fixture(autouse=True)
def _fresh_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test sees what another one has set."""
    monkeypatch.setattr(environment, "_settings", None)
    monkeypatch.setattr(scopes, "_default", None)


@pytest.fixture
def write_plan(tmp_path: Path) -> WritePlan:
    """Writes one of the plans of EplWriteTestPlan to a file."""

    def run(kind: str) -> Path:
        path = tmp_path / f"{kind}.eplan"
        subprocess.run([BUILD / "bin" / "EplWriteTestPlan", kind, path], check=True)
        return path

    return run


def open_gate(gate: jax.Array) -> None:
    """Changes an immutable array: steps read JAX's arrays where they lie."""
    ctypes.c_int64.from_address(gate.unsafe_buffer_pointer()).value = 1


class GatedStep:
    """A step `n + 1` on two devices that waits at a gate and fails on the rank that `culprit` names."""

    def __init__(self, plan: Path) -> None:
        self._step = epl.load(plan)
        self._gate = jnp.zeros((), jnp.int64)

    def __call__(self, n: Any, culprit: int = -1) -> epl.Array:
        result: epl.Array
        (result,) = self._step(n, self._gate, jnp.full((), culprit, jnp.int64))
        return result

    @staticmethod
    def zero() -> np.ndarray[Any, Any]:
        """The first state."""
        return np.zeros((), np.int64)

    def open(self) -> None:
        """Lets every step through that was or will be called."""
        open_gate(self._gate)


@pytest.fixture
def gated(write_plan: WritePlan) -> Iterator[GatedStep]:
    """A step that ends when the test says so."""
    with jax.enable_x64(True):
        step = GatedStep(write_plan("fragile"))
        yield step
        step.open()


@pytest.fixture(autouse=True)
def _no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads or writes the user's cache of plans; those of the cache name a folder of their own."""
    monkeypatch.setenv("EPL_CACHE_DIR", "")


@pytest.fixture(autouse=True)
def _keep_plans(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leaves the plans that tests compile in the folder EPL_TEST_PLANS, for test/over_processes."""
    if not (folder := os.environ.get("EPL_TEST_PLANS")):
        return
    compile_plan = epl_compile.compile_plan

    def compile_and_keep(text: str, options: Sequence[str], name: str) -> bytes:
        plan = compile_plan(text, options, name)
        file = Path(folder) / f"{hashlib.sha256(plan).hexdigest()[:16]}.eplan"
        file.write_bytes(plan)
        return plan

    monkeypatch.setattr(epl_compile, "compile_plan", compile_and_keep)


@pytest.fixture
def scaled() -> epl.Parallelized:
    """`steps.scale` on two devices."""
    return epl.parallelize(scale, state="state", batch="x", devices=2)


@pytest.fixture
def compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fake:
    """Installs a shell script as the compiler."""

    def install(script: str) -> None:
        program = tmp_path / "epl-compile"
        program.write_text("#!/bin/sh\n" + textwrap.dedent(script))
        program.chmod(0o755)
        monkeypatch.setenv("EPL_COMPILE", str(program))

    return install


@pytest.fixture
def own_servers(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The test is a process of its own to its servers, which are in it."""
    monkeypatch.setattr(connection, "_connection", None)
    monkeypatch.setattr(KEEPING, "keeper", None)
    monkeypatch.setattr(KEEPING, "loads", {})
    yield
    connection.disconnect()
