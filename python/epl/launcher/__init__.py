"""`epl-launch`: starts a script in several processes, and again if they fail.

It imports nothing of EPL to start a script, so that it does so at once. Its flags are those of EPL's
launcher. Each line that a process writes has the process's number before it; with `--log_dir` it is in a file
of that process, too.

    epl-launch -n 4 python train.py
    epl-launch --num_workers 4 --restarts 3 train.py --epochs 10
    epl-launch --machine_list node1,node2 --num_workers 8 train.py     over ssh, as many on each
    epl-launch --servers 2 --workers 3 train.py                        with parameter servers
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import sys
import time
from pathlib import Path

from .command_line import RUNNERS, parse
from .mpi_run import MpiRun
from .output import say
from .servers_run import ServersRun, server_program

_PAUSE_SECONDS = 1.0  # before a restart


def main() -> int:
    """Parses the command line and runs it; the exit code."""
    options = parse(sys.argv[1:])
    if options.machine_rank > 0:
        print(f"epl-launch: machine 0 starts the processes of machine {options.machine_rank} over ssh")
        return 0
    if (problem := _problem(options)) is not None:
        text, code = problem
        say(text)
        return code
    code = 0
    for attempt in range(options.restarts + 1):
        try:
            run = ServersRun(options, attempt) if options.servers else MpiRun(options, attempt)
        except OSError as error:
            say(f"cannot start all processes of {_counts(options)}: {error.strerror or error}")
            return 1
        code = _wait(run)
        if run.ended_by is not None:
            return 128 + run.ended_by
        if code == 0 or attempt == options.restarts:
            break
        say(f"the run ended with exit code {code}; restart {attempt + 1} of {options.restarts}")
        time.sleep(_PAUSE_SECONDS)
    return code if code >= 0 else 128 - code


def _wait(run: MpiRun | ServersRun) -> int:
    """Waits for a run, which is ended by what ends the launcher."""
    signals = (signal.SIGTERM, signal.SIGINT)
    before = {each: signal.signal(each, lambda signum, _: run.end(signum)) for each in signals}
    try:
        return run.wait()
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def _counts(options: argparse.Namespace) -> str:
    """How many processes a run has, as the command line says it."""
    servers = f"--servers {options.servers} " if options.servers else ""
    return f"{servers}--num_workers {options.num_workers}"


def _problem(options: argparse.Namespace) -> tuple[str, int] | None:
    """Why nothing can be started, however often, and the exit code."""
    if options.servers and not os.access(server_program(), os.X_OK):
        return f'there is no "{server_program()}": this installation of EPL has no parameter servers', 2
    if not options.servers and shutil.which("mpirun") is None:
        return "there is no mpirun: install Open MPI (openmpi-bin of Debian)", 2
    if options.log_dir is not None:
        try:
            options.log_dir.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            return f"--log_dir: {error}", 2
    program = options.command[0]
    if not options.machine_list and not _can_start(program):  # other machines may have other files
        kind = "script" if Path(program).suffix in RUNNERS else "program that can be run"
        return f'"{program}" is no {kind}', 127
    return None


def _can_start(program: str) -> bool:
    if Path(program).suffix in RUNNERS:
        return Path(program).is_file()
    folders = [os.environ.get("PATH", os.defpath), os.curdir]  # where mpirun looks
    return shutil.which(program, path=os.pathsep.join(folders)) is not None


def _open_closed() -> None:
    """Has a stream that was closed below take what is written; else the next file would have its number."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode))


def entry() -> int:
    """The same; Ctrl-C between two starts ends it as it ends other programs."""
    _open_closed()
    try:
        return main()
    except KeyboardInterrupt:
        return 130
