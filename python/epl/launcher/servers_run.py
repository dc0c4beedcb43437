"""The processes of a run with parameter servers, on this machine: epl-server, and the script for each worker.

Workers are no processes of MPI, which would end all of them with one. Who goes on when a worker is lost is a
matter of the servers: they end the others, or they don't. The launcher ends what is left where nothing can go
on, which is without a server or worker 0, and servers that no worker has spoken to.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from .command_line import command_of
from .output import Output, say
from .starting import end_with_parent, environment_of

_GRACE_SECONDS = 5.0  # for processes to say why they end, once one of them is lost
_KILL_SECONDS = 2.0  # for processes to end once they are asked to
_HOST = "127.0.0.1"


def server_program() -> Path:
    """Where epl-server is: in the folder of the package, else in the repository's build."""
    package = Path(__file__).parents[1]
    build = Path(os.environ.get("EPL_BUILD") or package.parents[1] / "build")
    found = [folder / "bin" / "epl-server" for folder in (package, build)]
    return next((path for path in found if os.access(path, os.X_OK)), found[-1])


class ServersRun:
    """One start of all servers and workers."""

    def __init__(self, options: argparse.Namespace, attempt: int) -> None:
        self.ended_by: int | None = None
        """The signal that was given to the launcher; SIGPIPE if nobody reads its output any more."""
        self._output = Output(options.log_dir, lambda: self.end(signal.SIGPIPE))
        self._ended = threading.Condition()
        self._codes: dict[str, int] = {}  # of processes that have ended, in this order
        self._deadline: float | None = None  # from which on the others are ended
        self._others: set[str] = set()  # that were ended so
        self._children: dict[str, subprocess.Popen[bytes]] = {}
        addresses = [f"{_HOST}:{port}" for port in _free_ports(options.servers)]
        common = environment_of(attempt) | {
            "PADDLE_PSERVERS_IP_PORT_LIST": ",".join(addresses),
            "PADDLE_TRAINERS_NUM": str(options.num_workers),
        }
        try:
            for number, address in enumerate(addresses):
                command = [str(server_program()), "--listen", address, "--number", str(number)]
                self._start(f"server {number}", command, common)
            for number in range(options.num_workers):
                own = common | {"TRAINING_ROLE": "TRAINER", "PADDLE_TRAINER_ID": str(number)}
                if options.gpu_per_worker:
                    gpus = range(number * options.gpu_per_worker, (number + 1) * options.gpu_per_worker)
                    own["CUDA_VISIBLE_DEVICES"] = ",".join(map(str, gpus))
                self._start(f"worker {number}", command_of(options), own)
        except BaseException:
            self._signal(signal.SIGKILL)
            raise

    def end(self, signum: int) -> None:
        """Ends all processes."""
        self.ended_by = signum
        self._deadline = time.monotonic()

    def wait(self) -> int:
        """Waits for all processes; the exit code of the first that failed, 0 if none did."""
        threads = [
            self._output.follow_process(name, source, target)
            for name, child in self._children.items()
            for source, target in ((child.stdout, sys.stdout), (child.stderr, sys.stderr))
            if source is not None
        ]
        for name, child in self._children.items():
            threading.Thread(target=self._await_end, args=(name, child), daemon=True).start()
        try:
            return self._wait_for_all()
        finally:
            for thread in threads:
                thread.join(timeout=2)
            self._output.close()

    def _start(self, name: str, command: list[str], environment: dict[str, str]) -> None:
        with _saying(f"{name} is not started"):
            self._children[name] = subprocess.Popen(
                command,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                preexec_fn=end_with_parent,
            )

    def _await_end(self, name: str, child: subprocess.Popen[bytes]) -> None:
        code = child.wait()
        with self._ended:
            self._codes[name] = code
            self._ended.notify_all()

    def _wait_for_all(self) -> int:
        with self._ended:
            while len(self._codes) < len(self._children):
                # Python runs handlers of signals between two waits.
                self._ended.wait(0.2)
                if self._deadline is None and self._is_over():
                    self._deadline = time.monotonic() + _GRACE_SECONDS
                late = time.monotonic() - self._deadline if self._deadline is not None else -1.0
                if late >= 0:  # who is stopped sees no SIGTERM
                    self._others |= self._children.keys() - self._codes.keys()
                    self._signal(signal.SIGTERM if late < _KILL_SECONDS else signal.SIGKILL)
            codes = (code for name, code in self._codes.items() if name not in self._others)
            return next((code for code in codes if code != 0), 0)

    def _is_over(self) -> bool:
        """Whether nothing goes on: one without which it can't has failed, or all workers have ended."""
        needed = (name for name in self._codes if not name.startswith("worker ") or name == "worker 0")
        lost = next((name for name in needed if self._codes[name] != 0), None)
        if lost is not None:
            say(f"{lost} ended with exit code {self._codes[lost]}: without it nothing goes on")
        workers = {name for name in self._children if name.startswith("worker ")}
        return lost is not None or workers <= self._codes.keys()

    def _signal(self, signum: int) -> None:
        for child in self._children.values():
            with contextlib.suppress(ProcessLookupError):
                child.send_signal(signum)


def _free_ports(count: int) -> Iterator[int]:
    """As many ports that nobody has now."""
    with contextlib.ExitStack() as stack:
        ports = []
        for number in range(count):
            with _saying(f"server {number} has no port"):
                probe = stack.enter_context(socket.socket())
                probe.bind((_HOST, 0))
            ports.append(probe.getsockname()[1])
    return iter(ports)


@contextlib.contextmanager
def _saying(what: str) -> Iterator[None]:
    """Has an error of the system in the block say what could not be done."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, f"{what}: {error.strerror}") from error
