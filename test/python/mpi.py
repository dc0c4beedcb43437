"""Scripts that tests run in several processes, as users start them."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path

import epl
from over_processes.launching import environment_of, mpirun

SECONDS = 120.0
LAUNCHER = Path(epl.__file__).parent / "launcher"
PYTHON = [sys.executable]
"""How a script is started; `on_cards` has another way."""


def run(
    processes: int, script: Path, *arguments: str, **environment: str
) -> subprocess.CompletedProcess[str]:
    """What a script gives in so many processes; one runs as scripts do without a launcher."""
    variables = {"PYTHONPATH": os.pathsep.join(sys.path), "EPL_CACHE_DIR": "", **environment}
    command = [*PYTHON, str(script), *arguments]
    if processes > 1:
        return mpirun(processes, command, SECONDS, **variables)
    return subprocess.run(
        command, env={**os.environ, **variables}, capture_output=True, text=True, timeout=SECONDS, check=False
    )


def start_launcher(*arguments: str, closes: Sequence[int] = ()) -> subprocess.Popen[str]:
    """`epl-launch` with these arguments, and without files of these numbers."""
    environment = environment_of(PYTHONPATH=os.pathsep.join(sys.path), EPL_CACHE_DIR="")
    command = [sys.executable, str(LAUNCHER), *arguments]
    if closes:
        command = ["sh", "-c", f'exec "$0" "$@" {" ".join(f"{number}>&-" for number in closes)}', *command]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, env=environment, stdout=pipe, stderr=pipe, text=True)


def call(
    processes: int, module: str, function: str, *arguments: object, folder: Path, fails: bool = False
) -> str:
    """Calls a function of a module of the tests in so many processes; gives what they print.

    Args:
      folder: for the script, and the plans, which later calls find there.
      fails: whether the processes must end with an error.
    """
    values = ", ".join(repr(str(each) if isinstance(each, Path) else each) for each in arguments)
    script = write(folder / "program.py", f"import {module} as m\nm.{function}({values})\n")
    done = run(processes, script, EPL_CACHE_DIR=str(folder / "plans"))
    printed = done.stdout + done.stderr
    assert (done.returncode != 0) == fails, printed
    return printed


def launch(*arguments: str) -> subprocess.CompletedProcess[str]:
    """What `epl-launch` gives with these arguments."""
    with start_launcher(*arguments) as child:
        try:
            said = child.communicate(timeout=SECONDS)
        finally:
            child.kill()
        return subprocess.CompletedProcess(child.args, child.returncode, *said)


def write(path: Path, code: str) -> Path:
    """A script; its lines may be indented as in the test."""
    path.write_text(textwrap.dedent(code))
    return path
