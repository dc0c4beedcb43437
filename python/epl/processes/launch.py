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
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

_TAG = re.compile(rb"\[\d+,(\d+)\]<(?:stdout|stderr)>:")
_BEGUN_TAG = re.compile(rb"\[(?:\d+(?:,(?:\d+(?:\](?:<[a-z]*>?)?)?)?)?)?\Z")
_LINE = re.compile(rb"(\r*)(?!\r)([^\r\n]*(?:\r?\n|\r))")
_RUNNERS = {".py": [sys.executable, "-u"], ".sh": ["bash"]}
_ROOM = 1 << 16  # bytes that are read at once
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
    parser.add_argument("-n", "--num_workers", type=_at_least(1), help="how many processes", required=True)
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


def _at_least(least: int) -> Callable[[str], int]:
    def number(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(f"must be a number of at least {least}, found {text}")
        return int(text)

    return number


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
    return [*command, *_RUNNERS.get(Path(script).suffix, []), *options.command]


class Pieces:
    """Takes apart what mpirun writes.

    It tags each piece that a process writes at once, be it a part of a line, and each line of it. A line of
    its own has no tag.
    """

    def __init__(self) -> None:
        self._rest = b""  # the begin of a tag, perhaps
        self._process: int | None = None  # who wrote what comes next

    def take(self, content: bytes) -> Iterator[tuple[int | None, bytes]]:
        """What comes next, with the numbers of the processes; None for mpirun. Empty content is the end."""
        text = self._rest + content
        begun = _BEGUN_TAG.search(text) if content else None
        end = begun.start() if begun else len(text)
        self._rest = text[end:]
        first, *tagged = _TAG.split(text[:end])
        yield from self._of_one(first)
        for number, piece in zip(tagged[::2], tagged[1::2], strict=True):
            self._process = int(number)
            yield from self._of_one(piece)

    def _of_one(self, piece: bytes) -> Iterator[tuple[int | None, bytes]]:
        if self._process is not None and b"\n" in piece:
            line, _, piece = piece.partition(b"\n")
            yield self._process, line + b"\n"
            self._process = None
        if piece:
            yield self._process, piece


class Output:
    """Passes on what processes write, line by line, with their numbers.

    A line ends in a line feed, or in a carriage return: behind that, who shows progress writes it again.
    What mpirun writes is read to its end, come what may: processes wait for room in a pipe that is full.
    """

    def __init__(self, folder: Path | None, on_closed: Callable[[], object]) -> None:
        """`on_closed` is called when nobody can read what this writes any more."""
        self._folder, self._on_closed = folder, on_closed
        self._files: dict[int, IO[bytes]] = {}
        self._lock = threading.Lock()

    def follow(self, source: IO[bytes], target: IO[str]) -> threading.Thread:
        """Passes on the lines of a stream of mpirun until it ends, in a thread."""
        thread = threading.Thread(target=self._pass_all, args=(source, target), daemon=True)
        thread.start()
        return thread

    def close(self) -> None:
        """Closes the files; what comes later is not in them."""
        with self._lock:
            self._folder = None
            for file in self._files.values():
                file.close()

    def _pass_all(self, source: IO[bytes], target: IO[str]) -> None:
        pieces = Pieces()
        begun: dict[int, bytes] = {}  # lines that have not ended, by process
        content = b"begin"
        while content:
            content = os.read(source.fileno(), _ROOM)
            for process, piece in pieces.take(content):
                if process is None:
                    self._write(target, piece)
                else:
                    begun[process] = self._pass_lines(process, begun.get(process, b""), piece, target)
        for process, rest in begun.items():
            if rest:
                self._pass_lines(process, rest, b"\n", target)

    def _pass_lines(self, process: int, begun: bytes, piece: bytes, target: IO[str]) -> bytes:
        """Passes on the lines that end in a piece; gives the begin of the next one."""
        text = begun + piece
        if not re.search(rb"[\r\n]", piece):
            return text
        passed = 0
        for line in _LINE.finditer(text):
            self._pass(process, line[1], line[2], target)
            passed = line.end()
        return text[passed:]

    def _pass(self, process: int, before: bytes, line: bytes, target: IO[str]) -> None:
        """`before`: carriage returns, behind which the number is to be seen."""
        self._write(target, before + f"{process}: ".encode() + line)
        with self._lock:
            if self._folder is None:
                return
            try:
                if process not in self._files:
                    self._files[process] = (self._folder / f"{process}.log").open("ab")
                self._files[process].write(before + line)
                self._files[process].flush()
            except OSError as error:
                _say(f"{error}; the run goes on without files of what processes write")
                self._folder = None

    def _write(self, target: IO[str], content: bytes) -> None:
        with self._lock, contextlib.suppress(ValueError):  # it was closed below
            try:
                target.write(content.decode(errors="replace"))
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
            self._output.close()


def _problem(options: argparse.Namespace) -> tuple[str, int] | None:
    """Why nothing can be started, however often, and the exit code."""
    if shutil.which("mpirun") is None:
        return "there is no mpirun: install Open MPI (openmpi-bin of Debian)", 2
    if options.log_dir is not None:
        try:
            options.log_dir.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            return f"--log_dir: {error}", 2
    program = options.command[0]
    if not options.machine_list and not _can_start(program):  # other machines may have other files
        kind = "script" if Path(program).suffix in _RUNNERS else "program that can be run"
        return f'"{program}" is no {kind}', 127
    return None


def _can_start(program: str) -> bool:
    if Path(program).suffix in _RUNNERS:
        return Path(program).is_file()
    folders = [os.environ.get("PATH", os.defpath), os.curdir]  # where mpirun looks
    return shutil.which(program, path=os.pathsep.join(folders)) is not None


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
    if (problem := _problem(options)) is not None:
        text, code = problem
        _say(text)
        return code
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


if __name__ == "__main__":
    sys.exit(entry())
