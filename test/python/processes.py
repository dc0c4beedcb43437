"""Programs that tests run in a process of their own."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap


def run_python(code: str, **environment: str) -> str:
    """What a program prints; its lines may be indented as in the test. Fails with its traceback."""
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment}
    command = [sys.executable, "-c", textwrap.dedent(code)]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def mpirun(processes: int, code: str, *, fails: bool = False, **environment: str) -> str:
    """What a program prints in so many processes of Open MPI on this machine, errors too.

    Fails unless it ends well, or badly if `fails`.
    """
    paths = [path for path in sys.path if path]
    loopback = {"OMPI_MCA_oob_tcp_if_include": "lo", "OMPI_MCA_btl": "self,vader"}
    loopback |= {"OMPI_MCA_btl_vader_single_copy_mechanism": "none"}
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    variables = {**os.environ, **loopback, **root, "PYTHONPATH": os.pathsep.join(paths), **environment}
    options = ["-n", str(processes), "--oversubscribe", "--bind-to", "none"]
    command = ["mpirun", *options, sys.executable, "-c", textwrap.dedent(code)]
    done = subprocess.run(
        command,
        env=variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        check=False,
    )
    assert (done.returncode != 0) == fails, done.stdout
    return done.stdout
