"""Runs of programs with parameter servers, for tests: servers and workers by `epl-launch`, or one process."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import mpi
from over_processes.launching import environment_of

PROGRAM = str(Path(__file__).with_name("served.py"))


def run(
    servers: int, workers: int, *arguments: str, program: str = PROGRAM
) -> subprocess.CompletedProcess[str]:
    """A program of `served`, or of another file, with so many servers and workers."""
    return mpi.launch("--servers", str(servers), "--workers", str(workers), program, *arguments)


def alone(*arguments: str, program: str = PROGRAM) -> subprocess.CompletedProcess[str]:
    """The same in one process, without a launcher."""
    command = [sys.executable, program, *arguments]
    environment = environment_of(PYTHONPATH=os.pathsep.join(sys.path))
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def said(done: subprocess.CompletedProcess[str]) -> str:
    return done.stdout + done.stderr


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
