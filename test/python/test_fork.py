"""A process that is forked while a step runs gets errors and ends; it waits for nothing that stays behind."""

from __future__ import annotations

import os
import subprocess
import sys

from conftest import BUILD, WritePlan

# Without JAX, which refuses forks of its own. The child ends as a program does, and so destroys the session.
PROGRAM = """
import os, sys
import numpy as np
import _epl_runtime as runtime

session = runtime.Session(runtime.Plan.load(sys.argv[1]), "cpu:2")
gate = np.zeros(1, np.int64)
(n,), call = session.call([np.zeros(1, np.int64), gate], [False, False], "wait")
child = os.fork()
if child == 0:
    for use in (call.wait, n.numpy, n.copy, lambda: session.trace(True),
                lambda: session.call([n, gate], [True, False], "next")):
        try:
            use()
        except runtime.Error as error:
            print(error, flush=True)
    raise SystemExit(5)
_, status = os.waitpid(child, 0)
gate[0] = 1
call.wait()
print("child", os.waitstatus_to_exitcode(status), "parent", n.numpy()[0])
"""


def test_a_forked_process_gets_errors_and_ends(write_plan: WritePlan) -> None:
    command = [sys.executable, "-c", PROGRAM, str(write_plan("gate"))]
    environment = {**os.environ, "PYTHONPATH": str(BUILD / "python")}
    finished = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=60, check=True
    )
    *errors, last = finished.stdout.splitlines()
    assert last == "child 5 parent 1"
    waited = "the process was forked while call 1 of wait ran, and its devices stayed behind: "
    assert [error.startswith(waited) for error in errors] == [True, True, True, True, False]
    assert all(error.endswith("start a new one instead (spawn, not fork)") for error in errors)
