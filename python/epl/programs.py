"""The commands of an installed package: `epl-compile`, `epl-plan`, `epl-run`, `epl-server`, `epl-launch`."""

from __future__ import annotations

import os
import sys

from epl import launcher, runtime
from epl.errors import Error


def epl_compile() -> None:
    """Becomes the program `epl-compile`; ends the process with an error if there is none."""
    _become("epl-compile")


def epl_plan() -> None:
    """Becomes the program `epl-plan`; ends the process with an error if there is none."""
    _become("epl-plan")


def epl_run() -> None:
    """Becomes the program `epl-run`; ends the process with an error if there is none."""
    _become("epl-run")


def epl_server() -> None:
    """Becomes the program `epl-server`; ends the process with an error if there is none."""
    _become("epl-server")


def epl_launch() -> None:
    """The program `epl-launch`."""
    sys.exit(launcher.entry())


def _become(name: str) -> None:
    try:
        program = runtime.program(name)
    except Error as error:
        sys.exit(f"error: {error}")
    os.execv(program, [name, *sys.argv[1:]])
