"""`epl-launch`: starts a script in several processes by mpirun, and again if they fail.

It imports nothing of EPL to start a script, so that it does so at once. Its flags are those of EPL's
launcher. Each line that a process writes has the process's number before it; with `--log_dir` it is in a file
of that process, too.

    epl-launch -n 4 python train.py
    epl-launch --num_workers 4 --restarts 3 train.py --epochs 10
    epl-launch --machine_list node1,node2 --num_workers 8 train.py     over ssh, as many on each
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any

_TAG = re.compile(r"\[\d+,(\d+)\]<(?:stdout|stderr)>:")
_PAUSE_SECONDS = 1.0  # before a restart
_PR_SET_PDEATHSIG = 1
# Each process has the GPUs of its place on its machine.
_TAKE_GPUS = (
    "first=$((OMPI_COMM_WORLD_LOCAL_RANK * {count})); "
    'export CUDA_VISIBLE_DEVICES=$(seq -s, $first $((first + {count} - 1))); exec "$@"'
)


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The command line; ends the process with a usage error if it is none."""
    parser = argparse.ArgumentParser(
        prog="epl-launch",
        description="Starts a script in several processes by mpirun. All are ended if one of them fails.",
        epilog="A script that ends in .py is run by this Python, one in .sh by bash, all else as it is.",
    )
    parser.add_argument("-n", "--num_workers", type=_positive, help="how many processes", required=True)
    parser.add_argument(
        "--gpu_per_worker", type=int, default=0, help="GPUs of each process: CUDA_VISIBLE_DEVICES"
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
        type=int,
        default=0,
        help="how often to start again after a failure; EPL_RESTART counts the starts, from 0 on",
    )
    parser.add_argument("--log_dir", type=Path, help="a folder for a file of what each process writes")
    parser.add_argument("command", nargs=argparse.REMAINDER, help="a script, or a program, and its arguments")
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version of EPL")
    found = parser.parse_args(arguments)
    if not found.command:
        parser.error("no script to start")
    if found.gpu_per_worker < 0 or found.restarts < 0:
        parser.error("--gpu_per_worker and --restarts must be at least 0")
    hosts = _hosts(found.machine_list)
    if hosts and found.num_workers % len(hosts):
        parser.error(f"--num_workers {found.num_workers} are no equal shares for {len(hosts)} machines")
    if not 0 <= found.machine_rank < max(1, len(hosts)):
        parser.error(f"--machine_rank {found.machine_rank} is none of {len(hosts)} machines")
    return found


class _Version(argparse.Action):
    """Loads EPL, which knows its version, if that is asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from epl import versions

        print(f"{parser.prog} {versions.version()}")
        parser.exit()


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return value


def _hosts(machines: str) -> list[str]:
    """The hosts of a list; a port of EPL's own launcher means nothing to ssh."""
    return [machine.strip().partition(":")[0] for machine in machines.split(",") if machine.strip()]


def mpirun_command(options: argparse.Namespace) -> list[str]:
    """The command line of mpirun."""
    count, hosts = options.num_workers, _hosts(options.machine_list)
    command = ["mpirun", "-n", str(count), "--bind-to", "none", "--tag-output"]
    if hosts:
        command += ["--host", ",".join(f"{host}:{count // len(hosts)}" for host in hosts)]
    else:
        command += ["--oversubscribe"]
    if options.gpu_per_worker:
        command += ["bash", "-c", _TAKE_GPUS.format(count=options.gpu_per_worker), "bash"]
    script = options.command[0]
    runner = {".py": [sys.executable, "-u"], ".sh": ["bash"]}.get(Path(script).suffix, [])
    return [*command, *runner, *options.command]


class Output:
    """Passes on what processes write, line by line, with their numbers.

    What mpirun writes is read to its end, come what may: processes wait for room in a pipe that is full.
    """

    def __init__(self, folder: Path | None, on_closed: Callable[[], object]) -> None:
        """`on_closed` is called when nobody can read what this writes any more."""
        self._folder, self._on_closed = folder, on_closed
        self._files: dict[int, IO[str]] = {}
        self._lock = threading.Lock()

    def follow(self, source: IO[str], target: IO[str]) -> threading.Thread:
        """Passes on the lines of a stream of mpirun until it ends, in a thread."""
        thread = threading.Thread(target=self._pass_all, args=(source, target), daemon=True)
        thread.start()
        return thread

    def _pass_all(self, source: IO[str], target: IO[str]) -> None:
        """Mpirun tags each piece that a process writes, be it a part of a line; its own lines have no tag."""
        begun: dict[int, str] = {}  # lines that have not ended, by process
        for line in source:
            own, *tagged = _TAG.split(line)
            if own:
                self._write(target, own)
            for number, piece in zip(tagged[::2], tagged[1::2], strict=True):
                process = int(number)
                begun[process] = begun.get(process, "") + piece
                if piece.endswith("\n"):
                    self._pass(process, begun.pop(process), target)
        for process, rest in begun.items():
            self._pass(process, rest + "\n", target)

    def _pass(self, process: int, line: str, target: IO[str]) -> None:
        self._write(target, f"{process}: {line}")
        with self._lock:
            if self._folder is None:
                return
            try:
                if process not in self._files:
                    self._files[process] = (self._folder / f"{process}.log").open("a")
                self._files[process].write(line)
                self._files[process].flush()
            except OSError as error:
                _say(f"{error}; the run goes on without files of what processes write")
                self._folder = None

    def _write(self, target: IO[str], line: str) -> None:
        with self._lock, contextlib.suppress(ValueError):  # it was closed below
            try:
                target.write(line)
                target.flush()
            except OSError:
                with contextlib.suppress(OSError):
                    target.close()
                self._on_closed()


class Run:
    """One start of all processes, which is ended by what ends the launcher."""

    def __init__(self, options: argparse.Namespace, attempt: int) -> None:
        environment = {name: value for name, value in os.environ.items() if name != "EPL_PROCESS_OF"}
        environment["EPL_RESTART"] = str(attempt)
        if os.geteuid() == 0:  # as in a container, where there is nobody else
            environment |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        self.ended_by: int | None = None
        """The signal that was given to the launcher; SIGPIPE if nobody reads its output any more."""
        self._output = Output(options.log_dir, lambda: self._end(signal.SIGPIPE))
        self._child = subprocess.Popen(
            mpirun_command(options),
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            preexec_fn=_end_with_parent,
        )

    def _end(self, signum: int, _: object = None) -> None:
        """Ends all processes: mpirun passes it on, and kills who does not end."""
        self.ended_by = signum
        self._child.terminate()

    def wait(self) -> int:
        """Waits for all processes; mpirun's exit code, which is that of the first that failed."""
        before = {each: signal.signal(each, self._end) for each in (signal.SIGTERM, signal.SIGINT)}
        child = self._child
        assert child.stdout is not None
        assert child.stderr is not None
        threads = [
            self._output.follow(child.stdout, sys.stdout),
            self._output.follow(child.stderr, sys.stderr),
        ]
        try:
            return child.wait()
        finally:
            for each, handler in before.items():
                signal.signal(each, handler)
            for thread in threads:
                thread.join(timeout=2)


def _say(text: str) -> None:
    with contextlib.suppress(OSError, ValueError):
        print(f"epl-launch: {text}", file=sys.stderr, flush=True)


def _end_with_parent() -> None:
    """Has the kernel end this child when the launcher is killed."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def main() -> int:
    """Parses the command line and runs it; the exit code."""
    options = parse(sys.argv[1:])
    if options.machine_rank > 0:
        print(f"epl-launch: machine 0 starts the processes of machine {options.machine_rank} over ssh")
        return 0
    if shutil.which("mpirun") is None:
        _say("there is no mpirun: install Open MPI (openmpi-bin of Debian)")
        return 2
    if options.log_dir is not None:
        try:
            options.log_dir.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            _say(f"--log_dir: {error}")
            return 2
    code = 0
    for attempt in range(options.restarts + 1):
        run = Run(options, attempt)
        code = run.wait()
        if run.ended_by is not None:
            return 128 + run.ended_by
        if code == 0 or attempt == options.restarts:
            break
        _say(f"the run ended with exit code {code}; restart {attempt + 1} of {options.restarts}")
        time.sleep(_PAUSE_SECONDS)
    return code if code >= 0 else 128 - code


def entry() -> int:
    """The same; Ctrl-C between two starts ends it as it ends other programs."""
    try:
        return main()
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(entry())
