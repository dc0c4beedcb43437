"""Runs the tools on mutants and judges what they answer."""

from __future__ import annotations

import bisect
import collections
import itertools
import re
import signal
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from inputs import SPLIT, Command, get_tool

LIMIT = 20  # seconds of a process; a hundred times what a program of a test takes
FILE = "mutant.mlir"
# At a place of the file, or of the source that a location names; a location without a file is printed whole.
ERROR = re.compile(r"^(?!<unknown>).+:\d+(:\d+)?: error: |^<unknown>:0: error: loc\(", re.MULTILINE)
CRASH = re.compile(
    r".*(has crashed|LLVM ERROR|Assertion|UNREACHABLE|Sanitizer|runtime error|bug of EPL|std::bad_alloc).*"
)


@dataclass(frozen=True)
class Mutant:
    name: str
    text: str
    command: Command


@dataclass(frozen=True)
class Failure:
    mutant: Mutant
    reason: str


@dataclass(frozen=True)
class Answer:
    """What a process ended with; `code` is none for one that reached the limit."""

    code: int | None
    output: str
    errors: str

    def get_crash(self) -> str:
        """Why this is no answer, whatever the input was; empty if it is one."""
        if self.code is None:
            return f"no answer within {LIMIT} s"
        if self.code < 0:
            return f"killed by {signal.Signals(-self.code).name}"
        if crash := CRASH.search(self.errors):
            return crash[0].strip()
        return "" if self.code in (0, 1) else f"exit code {self.code}: {self.errors.strip()}"


Verdicts = tuple["collections.Counter[str]", list[Failure]]


def check(mutants: list[Mutant]) -> Verdicts:
    """Counts what becomes of mutants that have one command, and lists those that fail.

    They share a process. If it crashes, or one has no error at a place of its own, halves are checked.
    """
    answer = _run(mutants)
    if len(mutants) == 1:
        return _judge(mutants[0], answer)
    if not answer.get_crash():
        outputs = re.split(rf"^{SPLIT}\n", answer.output, flags=re.MULTILINE)
        refused = {index for index, output in enumerate(outputs) if not output.strip()}
        if len(outputs) == len(mutants) and refused <= _find_errors(mutants, answer.errors):
            return collections.Counter(compiled=len(mutants) - len(refused), refused=len(refused)), []
    middle = len(mutants) // 2
    (first, failures), (second, more) = check(mutants[:middle]), check(mutants[middle:])
    return first + second, failures + more


def _judge(mutant: Mutant, answer: Answer) -> Verdicts:
    reason = answer.get_crash()
    if not reason and answer.code and not ERROR.search(answer.errors):
        reason = f"no error at a place: {answer.errors.strip()}"
    if reason:
        return collections.Counter(failed=1), [Failure(mutant, reason)]
    return collections.Counter({"refused" if answer.code else "compiled": 1}), []


def _find_errors(mutants: list[Mutant], errors: str) -> set[int]:
    """The mutants of a process, by number, that have an error at a line of theirs."""
    begins = list(itertools.accumulate((mutant.text.count("\n") + 1 for mutant in mutants), initial=1))
    lines = re.findall(rf"^\S*{FILE}:(\d+):\d+: error: ", errors, re.MULTILINE)
    return {bisect.bisect_right(begins, int(line)) - 1 for line in lines}


def _run(mutants: list[Mutant]) -> Answer:
    tool, *options = mutants[0].command
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, FILE)
        file.write_text(f"{SPLIT}\n".join(mutant.text for mutant in mutants))
        if tool == "epl-opt":
            options += ["--mlir-disable-threading", *(["--split-input-file"] if len(mutants) > 1 else [])]
        elif not any(option.startswith("--emit") for option in options):
            options += ["-o", str(Path(folder, "mutant.eplan"))]
        try:
            done = subprocess.run(
                [get_tool(tool), file, *options], capture_output=True, timeout=LIMIT, check=False,
                env={"LLVM_DISABLE_SYMBOLIZATION": "1", "TMPDIR": folder},
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return Answer(None, "", "")
    return Answer(done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace"))
