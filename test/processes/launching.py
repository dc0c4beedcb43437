"""Starts programs by mpirun on this machine, over loopback and shared memory alone."""

from __future__ import annotations

import os
import subprocess

VARIABLES = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_oob_tcp_if_include": "lo",
    "OMPI_MCA_btl": "self,vader",
    "OMPI_MCA_btl_vader_single_copy_mechanism": "none",  # which a container may not allow
}


def mpirun(
    processes: int, command: list[str], timeout: float, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Runs a command in so many processes; raises `subprocess.TimeoutExpired` if it takes longer."""
    launcher = ["mpirun", "-n", str(processes), "--oversubscribe", "--bind-to", "none"]
    return subprocess.run(
        [*launcher, *command],
        env={**os.environ, **VARIABLES, **environment},
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
