"""Starts programs by mpirun on this machine, over loopback and shared memory alone."""

from __future__ import annotations

import os
import subprocess

_VARIABLES = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_oob_tcp_if_include": "lo",
    "OMPI_MCA_btl": "self,vader",
    "OMPI_MCA_btl_vader_single_copy_mechanism": "none",  # which a container may not allow
}


def command_of(processes: int, options: tuple[str, ...] = ()) -> list[str]:
    """The command line that a program is written behind; `options` are mpirun's."""
    return ["mpirun", "-n", str(processes), "--oversubscribe", "--bind-to", "none", *options]


def environment_of(**more: str) -> dict[str, str]:
    """The environment of mpirun, with some more variables."""
    return {**os.environ, **_VARIABLES, **more}


def mpirun(
    processes: int, command: list[str], timeout: float, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Runs a command in so many processes; raises `subprocess.TimeoutExpired` if it takes longer."""
    return subprocess.run(
        [*command_of(processes), *command],
        env=environment_of(**environment),
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
