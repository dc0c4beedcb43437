"""Processes of a job with parameter servers are killed, or stand still, at each kind of frame, over gRPC."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from epl import runtime
from over_processes.launching import environment_of
from server_runs import free_port

BUILD = Path(__file__).parents[2] / "build"
FAULTS = BUILD / "lib" / "libEplStreamFaults.so"
PROGRAM = str(Path(__file__).with_name("served_frames.py"))

if not FAULTS.exists():
    pytest.skip("built without gRPC", allow_module_level=True)

TO_SERVERS = ["Hello", "Begin", "PullRequest", "PullRows", "Push", "Fetch", "Heartbeat", "Goodbye"]
TO_WORKERS = ["Welcome", "Ready", "Acknowledge", "Value", "Heartbeat", "Goodbye"]
OF_WORKER_0 = {"to servers": ["Setup", "RunTask"], "to workers": ["TaskDone"]}
OF_SERVER_0 = {"to servers": ["Join", "Share"], "to workers": ["Joined", "Shared"]}  # all-gathers
LATE = {"TaskDone", "Goodbye"}
"""At which a process may have been all that the others wanted of it."""
END = 5.0
"""Seconds within which others end once a process is lost, before their job has begun, too."""
STARTING = 60.0
"""Seconds that processes have to come, and to come to their fault."""
LEAVING = 3.0
"""More seconds on a busy machine, where an interpreter ends in 0.3 on a quiet one."""


class Case(NamedTuple):
    """A process, and the frame at which it ends: that it has just sent, or is about to get."""

    who: str
    direction: str
    kind: str
    number: int = 1

    def __str__(self) -> str:
        return f"{self.who} {self.direction} {self.kind} {self.number}"


OF_FAILURES = [
    Case("worker 1", "sends", "Failure"),
    Case("server 0", "gets", "Failure"),
    Case("server 1", "gets", "Failure"),
    Case("server 0", "sends", "Failure"),
    Case("server 1", "sends", "Failure"),
    Case("worker 0", "gets", "Failure"),
    Case("server 0", "sends", "ShareFailed"),
    Case("worker 0", "gets", "ShareFailed"),
]
"""Of runs in which worker 1 fails, or leaves, where the other one awaits it."""


def all_cases() -> Iterator[Case]:
    """Each kind of frame in each process that sends it, and in each that gets it."""
    for number in (0, 1):
        ways = {"to servers": TO_SERVERS + OF_SERVER_0["to servers"]}
        ways["to workers"] = TO_WORKERS + OF_SERVER_0["to workers"]
        for way, kinds in ways.items():
            direction = "sends" if way == "to servers" else "gets"
            for kind in kinds + (OF_WORKER_0[way] if number == 0 else []):
                yield Case(f"worker {number}", direction, kind)
        for way, kinds in {"to servers": TO_SERVERS, "to workers": TO_WORKERS}.items():
            direction = "gets" if way == "to servers" else "sends"
            for kind in kinds + OF_WORKER_0[way] + (OF_SERVER_0[way] if number == 0 else []):
                yield Case(f"server {number}", direction, kind)
        yield Case(f"worker {number}", "sends", "Push", 5)
        yield Case(f"server {number}", "sends", "Value", 5)
    yield from OF_FAILURES


def drawn(count: int, what: str) -> list[Case]:
    """So many cases, others for each EPL_CASES_SEED; all of them every night."""
    cases = list(all_cases())
    if os.environ.get("EPL_NIGHTLY"):
        return cases
    return random.Random(f"{os.environ.get('EPL_CASES_SEED')} {what}").sample(cases, count)


class Job:
    """Two servers and two workers, one of which has a fault."""

    def __init__(self, folder: Path, case: Case, how: str) -> None:
        self._folder = folder
        (folder / "exported").mkdir()
        ports = [free_port(), free_port()]
        common = environment_of(
            PYTHONPATH=os.pathsep.join(sys.path),
            EPL_CACHE_DIR=str(folder.parent / "plans"),
            PADDLE_PSERVERS_IP_PORT_LIST=",".join(f"127.0.0.1:{port}" for port in ports),
            PADDLE_TRAINERS_NUM="2",
            FLAGS_rpc_deadline=str(int(1000 * STARTING)),
        )
        fault = {
            "EPL_GRPC": str(FAULTS),
            "EPL_TEST_FAULT": f"{how} {case.direction} {case.kind} {case.number}",
        }
        ending = {"Failure": ["fail"], "ShareFailed": ["leave"]}.get(case.kind, [])
        commands = {}
        for number, port in enumerate(ports):
            listens = ["--listen", f"127.0.0.1:{port}", "--number", str(number)]
            commands[f"server {number}"] = [str(runtime.program("epl-server")), *listens]
        for number in range(2):
            commands[f"worker {number}"] = [sys.executable, PROGRAM, str(folder / "exported"), *ending]
        self.children: dict[str, subprocess.Popen[bytes]] = {}
        for name, command in commands.items():
            role = {"TRAINING_ROLE": "TRAINER", "PADDLE_TRAINER_ID": name[-1]} if name[0] == "w" else {}
            environment = common | role | (fault if name == case.who else {})
            with (folder / name).open("w") as output:
                self.children[name] = subprocess.Popen(command, env=environment, stdout=output, stderr=output)

    def __enter__(self) -> Job:
        return self

    def __exit__(self, *_: object) -> None:
        for child in self.children.values():
            child.kill()
            child.wait()

    def said(self, name: str) -> str:
        """What a process has printed."""
        return (self._folder / name).read_text()

    def all_said(self) -> str:
        """The same of all, for messages."""
        return "\n".join(
            f"-- {name} ({child.poll()}):\n{self.said(name)}" for name, child in self.children.items()
        )

    def await_loss(self, name: str) -> None:
        """Waits until a process was killed, or stands still."""
        end, child = time.monotonic() + STARTING, self.children[name]
        stat = Path(f"/proc/{child.pid}/stat")
        while child.poll() is None and stat.read_text().rpartition(")")[2].split()[0] != "T":
            assert time.monotonic() < end, f"{name} does not come there:\n{self.all_said()}"
            time.sleep(0.02)
        lost = child.returncode in (None, -signal.SIGKILL)
        assert lost, f"{name} has ended without it:\n{self.all_said()}"

    def await_others(self, name: str, seconds: float) -> dict[str, int]:
        """The exit codes of the others."""
        end = time.monotonic() + seconds
        others = {other: child for other, child in self.children.items() if other != name}
        while any(child.poll() is None for child in others.values()):
            late = [other for other, child in others.items() if child.poll() is None]
            assert time.monotonic() < end, f"{late} have not ended in {seconds} s:\n{self.all_said()}"
            time.sleep(0.02)
        return {other: child.returncode for other, child in others.items()}


def check(case: Case, how: str, folder: Path) -> None:
    """The others end in time, each with an error that names who is lost; or well, once all is done."""
    with Job(folder, case, how) as job:
        job.await_loss(case.who)
        codes = job.await_others(case.who, END + LEAVING)
        names = {case.who}
        if case in OF_FAILURES:
            names.add("worker 1")
        for name, code in codes.items():
            if name == "worker 1" and case.kind == "ShareFailed":
                # It has left. Worker 0 fails by that, which it may hear of before it is gone.
                assert code == 0 or (code == 1 and "worker 0 has failed" in job.said(name)), job.all_said()
            elif code == 0:
                assert case.kind in LATE, f"{name} has ended well:\n{job.all_said()}"
                assert name[0] == "s" or "has exchanged all" in job.said(name), job.all_said()
            else:
                assert code == 1, job.all_said()
                fails = name == "worker 1" and case in OF_FAILURES
                assert fails or any(each in job.said(name) for each in names), job.all_said()


@pytest.mark.parametrize("case", drawn(3, "SIGKILL"), ids=str)
def test_all_end_where_one_is_killed(case: Case, tmp_path: Path) -> None:
    check(case, "SIGKILL", tmp_path)


@pytest.mark.parametrize("case", drawn(3, "SIGSTOP"), ids=str)
def test_all_end_where_one_stands_still(case: Case, tmp_path: Path) -> None:
    check(case, "SIGSTOP", tmp_path)
