"""The disk cache of plans under several processes, and under processes that are killed.

The processes are forked by one of their own, without threads, as loading JAX takes longer than any of this.
"""

from __future__ import annotations

import itertools
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from caching import Compiler, compile_step, parse
from epl.cache import PlanCache, plan_cache
from epl.compile import compile_plan

STEP = """
func.func @main(%x: tensor<4xf32> {epl.role = "state", epl.name = "NAME"})
    -> (tensor<4xf32> {epl.updates = 0 : i64}) {
  return %x : tensor<4xf32>
}
"""
LARGE_STEP = STEP.replace("NAME", "x" * 1_000_000)  # a plan that takes a while to write


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def run_forking(code: str, folder: Path, **environment: str) -> None:
    """Calls a function of this module in a process that may fork."""
    paths = os.pathsep.join([*sys.path, str(Path(__file__).parent)])
    settings = {"EPL_CACHE_DIR": str(folder), "TMPDIR": str(folder.parent), "PYTHONPATH": paths}
    command = [sys.executable, "-W", "ignore", "-c", f"import test_cache_processes as t; t.{code}"]
    done = subprocess.run(
        command, env={**os.environ, **settings, **environment}, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr


def fork(action: Callable[[], object]) -> int:
    """Runs `action` in a child; its status is 0 if nothing was raised."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            action()
            status = 0
        except Exception as error:
            print(error, file=sys.stderr, flush=True)
        finally:
            os._exit(status)
    return child


def compile_on_and_on() -> None:
    """Compiles and stores one step after the other, without end."""
    for step in itertools.count():
        compile_step(f"module @step{step} {{}}")


def kill_while_compiling(rounds: int) -> None:
    """Kills compiling processes at random moments after their first entry; every entry must be good."""
    cache, generator = plan_cache(), random.Random(1)
    assert cache
    for _ in range(rounds):
        child = fork(compile_on_and_on)
        while not list(cache.folder.glob("*.plan")):
            time.sleep(0.001)
        time.sleep(generator.uniform(0, 0.05))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        for entry in cache.folder.glob("*.plan"):
            assert cache.load(entry.stem, parse) is not None, entry
            entry.unlink()
    plan = compile_step("module @after {}")
    assert compile_step("module @after {}") == plan


def test_killed_processes_leave_a_good_cache(folder: Path) -> None:
    compiler = Compiler(folder.parent)
    compiler.plan.write_bytes(compile_plan(LARGE_STEP, [], "step"))
    run_forking("kill_while_compiling(rounds=20)", folder, EPL_COMPILE=str(compiler.program))


def compile_at_once(processes: int) -> None:
    children = [fork(lambda: compile_step(STEP)) for _ in range(processes)]
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * processes


@pytest.mark.parametrize("processes", [2, 8])
def test_processes_that_compile_the_same_step(folder: Path, processes: int) -> None:
    run_forking(f"compile_at_once({processes})", folder)
    (entry,) = folder.iterdir()
    assert PlanCache(folder).load(entry.stem, parse) is not None
