"""Ends one of the processes of a run, or its launcher, and sees how and when the others end.

failures.py [--runs 50] [--seed S]      at random moments; what goes wrong is printed, and the exit code is 1

Every second run saves again and again, so that its end falls into a save. Then the program is started again,
from the last checkpoint that was done.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import secrets
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from launching import command_of, environment_of, mpirun

PROGRAM = Path(__file__).with_name("endless.py")
START_SECONDS = 60.0
END_SECONDS = 5.0
"""Within which the others must end."""

ORPHAN_SECONDS = 20.0
"""Within which nothing of the run may be left, the service that lives on for those who are told included."""

SIGNALS = {"kill": signal.SIGKILL, "terminate": signal.SIGTERM, "stop": signal.SIGSTOP}
KINDS = (*SIGNALS, "raise", "exit", "vanish", "launcher")


@dataclass
class Outcome:
    """How a run has ended: seconds until each process was gone, and what was said."""

    gone: dict[int, float] = field(default_factory=dict)
    output: str = ""
    orphans: list[str] = field(default_factory=list)


def run(
    kind: str,
    processes: int,
    victim: int,
    after: float,
    options: tuple[str, ...] = (),
    saves: Path | None = None,
) -> Outcome:
    """Starts the program, and ends process `victim`, or the launcher, `after` seconds from its first step.

    Args:
      kind: of `KINDS`.
      options: of mpirun.
      saves: the folder into which it saves; default none.
    """
    session = f"epl-test-{os.getpid()}-{secrets.token_hex(4)}"
    variables = {"FAIL": kind, "VICTIM": str(victim), "AFTER": str(after), "EPL_TEST_SESSION": session}
    if saves is not None:
        variables["SAVES"] = str(saves)
    command = [*command_of(processes, options), sys.executable, str(PROGRAM)]
    child = subprocess.Popen(
        command,
        env=_environment(**variables),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    lines: list[str] = []
    reader = threading.Thread(target=_read, args=(child.stdout, lines), daemon=True)
    reader.start()
    try:
        pids = _await_begin(lines, processes)
        begin = time.monotonic() + after
        time.sleep(after)
        if kind == "launcher":
            child.kill()
        elif kind in SIGNALS:
            os.kill(pids[victim], SIGNALS[kind])
        outcome = Outcome(_await_end(pids, begin, set() if kind != "stop" else {victim}))
    finally:
        orphans = _await_orphans(session)
        child.kill()
        child.wait()
        reader.join(timeout=5)
    return Outcome(outcome.gone, "".join(lines), orphans)


def resume(processes: int, saves: Path) -> str | None:
    """Starts the program again, from what it has saved; what is wrong with that."""
    command, variables = [sys.executable, str(PROGRAM)], {"FAIL": "resume", "SAVES": str(saves)}
    try:
        done = mpirun(processes, command, START_SECONDS, **_paths(), **variables)
    except subprocess.TimeoutExpired as error:
        return f"the restart does not end: {error.stderr}"
    if done.returncode == 0 and done.stdout.count("RESUMED") == processes:
        return None
    return f"it does not go on from {sorted(path.name for path in saves.iterdir())}:\n{done.stderr}"


def _environment(**variables: str) -> dict[str, str]:
    return environment_of(**_paths(), **variables)


def _paths() -> dict[str, str]:
    return {"PYTHONPATH": os.pathsep.join(sys.path), "EPL_CACHE_DIR": ""}


def _read(source: IO[str], lines: list[str]) -> None:
    with source:
        for line in source:
            lines.append(line)  # noqa: PERF402  (seen by who waits)


def _await_begin(lines: list[str], processes: int) -> dict[int, int]:
    """The processes' ids by their numbers, when all have done a step."""
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end:
        found = dict(map(int, pair) for pair in re.findall(r"BEGUN (\d+) (\d+)", "".join(lines)))
        if len(found) == processes:
            return found
        time.sleep(0.05)
    raise TimeoutError(f"the run has not begun:\n{''.join(lines)}")


def _await_end(pids: dict[int, int], begin: float, ignored: set[int]) -> dict[int, float]:
    gone: dict[int, float] = {}
    while len(gone) < len(pids) - len(ignored) and time.monotonic() < begin + 6 * END_SECONDS:
        for process, pid in pids.items():
            if process not in gone and process not in ignored and not lives(pid):
                gone[process] = time.monotonic() - begin
        time.sleep(0.01)
    return gone


def lives(pid: int) -> bool:
    """Whether a process runs, or is stopped."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX"


def _await_orphans(session: str) -> list[str]:
    """What is left of a run after a while; ends it."""
    end = time.monotonic() + ORPHAN_SECONDS
    while (left := _find(session)) and time.monotonic() < end:
        time.sleep(0.1)
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    return [f"process {pid}" for pid in left]


def _find(session: str) -> list[int]:
    """The processes with the session in their environment."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if session.encode() in (folder / "environ").read_bytes() and lives(int(folder.name)):
                found.append(int(folder.name))
        except OSError:
            continue
    return found


def judge(
    kind: str, processes: int, victim: int, outcome: Outcome, seconds: float = END_SECONDS
) -> str | None:
    """What is wrong with the end of a run, be it that it took longer than that; None if nothing is."""
    expected = set(range(processes)) - ({victim} if kind == "stop" else set())
    if set(outcome.gone) != expected or max(outcome.gone.values()) > seconds:
        return f"expected all to end within {seconds} s, found {outcome.gone}"
    if outcome.orphans:
        return f"left behind: {outcome.orphans}"
    named = re.search(rf"process {victim} \(pid|rank {victim} |,1\],{victim}\]", outcome.output)
    if kind != "launcher" and not named:
        return f"nobody names process {victim}"
    return None


def try_once(kind: str, processes: int, victim: int, after: float, saves: bool) -> str | None:
    """One run; what is wrong with its end, or with the restart if it `saves`."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) if saves else None
        outcome = run(kind, processes, victim, after, saves=folder)
        is_cut = folder is not None and any(folder.glob("run/*.orbax-checkpoint-tmp"))
        print(f"{max(outcome.gone.values(), default=0):.2f} s{', in a save' if is_cut else ''}", flush=True)
        problem = judge(kind, processes, victim, outcome)
        if problem is None and folder is not None:
            problem = resume(processes, folder)
    return None if problem is None else f"{problem}\n{outcome.output}"


def main() -> int:
    """Ends runs at random moments."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=50, help="how many")
    parser.add_argument("--seed", type=int, help="of the choices (default: a fresh one)")
    arguments = parser.parse_args()
    seed = secrets.randbelow(10**9) if arguments.seed is None else arguments.seed
    print(f"seed {seed}", flush=True)
    choices, wrong = random.Random(seed), 0
    for number in range(arguments.runs):
        kind, processes = choices.choice(KINDS), choices.choice([2, 4])
        victim, after = choices.randrange(processes), choices.uniform(0, 3)
        print(f"{number}: {kind} of {victim} of {processes} after {after:.2f} s: ", end="", flush=True)
        if problem := try_once(kind, processes, victim, after, saves=number % 2 == 1):
            wrong += 1
            print(f"  {problem}", flush=True)
    return min(wrong, 1)


if __name__ == "__main__":
    sys.exit(main())
