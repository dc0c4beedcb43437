"""The command line of `epl-launch`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

RUNNERS = {".py": [sys.executable, "-u"], ".sh": ["bash"]}
"""What runs a script, by the end of its name."""


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The command line; ends the process with a usage error if it is none."""
    parser = argparse.ArgumentParser(
        prog="epl-launch",
        description="Starts a script in several processes: by mpirun, which connects them; with --servers as "
        "workers that parameter servers connect. All are ended if one of them fails.",
        epilog="A script that ends in .py is run by this Python, one in .sh by bash, all else as it is.",
    )
    parser.add_argument(
        "-n",
        "--num_workers",
        "--workers",
        type=_at_least(1),
        help="how many processes run the script",
        required=True,
    )
    parser.add_argument(
        "--servers",
        type=_at_least(1),
        default=0,
        help="how many parameter servers to start beside them, on this machine: processes of epl-server",
    )
    parser.add_argument(
        "--gpu_per_worker", type=_at_least(0), default=0, help="GPUs of each process: CUDA_VISIBLE_DEVICES"
    )
    parser.add_argument(
        "--machine_list",
        default="",
        help="where to start over ssh: HOST or HOST:PORT, with commas between",
    )
    parser.add_argument(
        "--machine_rank", type=int, default=0,
        help="which of them this is: the launcher of machine 0 starts all processes, others do nothing",
    )  # fmt: skip
    parser.add_argument(
        "--restarts",
        type=_at_least(0),
        default=0,
        help="how often to start again after a failure; EPL_RESTART counts the starts, from 0 on",
    )
    parser.add_argument("--log_dir", type=Path, help="a folder for a file of what each process writes")
    parser.add_argument("command", nargs=argparse.REMAINDER, help="a script, or a program, and its arguments")
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version of EPL")
    found = parser.parse_args(arguments)
    if not found.command:
        parser.error("no script to start")
    hosts = hosts_of(found)
    if hosts and found.servers:
        parser.error("--servers starts processes on this machine; on several, their cluster starts them")
    if hosts and found.num_workers % len(hosts):
        parser.error(f"--num_workers {found.num_workers} are no equal shares for {len(hosts)} machines")
    if not 0 <= found.machine_rank < max(1, len(hosts)):
        parser.error(f"--machine_rank {found.machine_rank} is none of {len(hosts)} machines")
    return found


def hosts_of(options: argparse.Namespace) -> list[str]:
    """The hosts of `--machine_list`; a port of EPL's own launcher means nothing to ssh."""
    machines = options.machine_list.split(",")
    return [machine.strip().partition(":")[0] for machine in machines if machine.strip()]


def command_of(options: argparse.Namespace) -> list[str]:
    """How a process of the script is started."""
    return [*RUNNERS.get(Path(options.command[0]).suffix, []), *options.command]


class _Version(argparse.Action):
    """Loads EPL, which knows its version, if that is asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from epl import versions

        print(f"{parser.prog} {versions.version()}")
        parser.exit()


def _at_least(least: int) -> Callable[[str], int]:
    def number(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(f"must be a number of at least {least}, found {text}")
        return int(text)

    return number
