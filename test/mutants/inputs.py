"""What mutants are made of: programs of the tests at every level, each with the commands that take it."""

from __future__ import annotations

import os
import random
import re
import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
BIN = Path(os.environ.get("EPL_BIN", ROOT / "build/bin"))

SPLIT = "// -----"  # what stands between the programs of a file
Command = tuple[str, ...]  # a tool and its options; the file comes between

COMPILE: list[Command] = [
    ("epl-compile", "--devices=cpu:2", "--kernels=loops"),
    ("epl-compile", "--devices=cpu:4", "--kernels=loops", "--zero=v3", "--sequence-parallel", "--colocate"),
    ("epl-compile", "--devices=cpu:2", "--emit=global", "--explain-split", "--explain-sharding"),
    ("epl-compile", "--reference"),
    ("epl-compile", "--devices=cpu:2", "--emit=kernel"),
]
# What a program comes from, by the stage of `epl-compile` that prints it, and what goes on with it.
STAGES: list[tuple[Command, list[Command]]] = [
    (("epl-opt", "--epl-annotate=devices=2"), [("epl-opt", "--epl-shard")]),
    (
        ("epl-opt", "--epl-parallelize=devices=2"),
        [("epl-opt", "--epl-pipeline"), ("epl-opt", "--epl-kernel")],
    ),
    (("epl-compile", "--devices=cpu:2", "--emit=kernel"), [("epl-opt", "--epl-codegen")]),
]
# Options of a test that say how it is judged, not what the tool does.
OF_THE_TEST = re.compile(
    r"-?-(split-input-file|verify-diagnostics|o|timing|progress|help)\b.*|-|%s|[12]?>.*|<"
)


@dataclass(frozen=True)
class Input:
    """A program, the commands of its test, and those that any program may be given to."""

    text: str
    commands: tuple[Command, ...]
    others: tuple[Command, ...]

    def choose(self, choices: random.Random) -> Command:
        """Mostly a command of its test: others refuse most programs at once."""
        return choices.choice(self.commands if choices.random() < 0.7 else self.others)


def get_tool(name: str) -> Path:
    return BIN / name


def read_inputs() -> list[Input]:
    """The right programs of all tests, and what the phases make of the models; as written and generic.

    Generic forms have more attributes that can be changed; the others have what only parsers see.
    """
    tests = sorted((ROOT / "test/lit").rglob("*.mlir"))
    programs = [program for file in tests for program in _read_test(file)]
    for model in sorted((ROOT / "test/models").glob("*.mlir")):
        whole: list[Command] = [("epl-opt", "--epl-parallelize=devices=2"), *COMPILE]
        programs.append((model.read_text(), tuple(whole)))
        programs += [(_dump(command, model), tuple(then)) for command, then in STAGES]
    others = (*_list_passes(), *COMPILE)
    texts = [text for text, _ in programs]
    return [
        Input(form, commands, others)
        for (text, commands), generic in zip(programs, _print_generic(texts), strict=True)
        if generic
        for form in (text, generic)
    ]


def _print_generic(texts: list[str]) -> list[str]:
    """Programs without the short forms of their ops; empty texts for those that are wrong."""
    done = subprocess.run(
        [get_tool("epl-opt"), "--mlir-print-op-generic", "--allow-unregistered-dialect",
         "--split-input-file"],
        input=f"{SPLIT}\n".join(texts), capture_output=True, text=True, check=False,
    )  # fmt: skip
    return [output.strip() and output for output in done.stdout.split(f"{SPLIT}\n")]


def _list_passes() -> list[Command]:
    """Every pass and pipeline of EPL, without options."""
    text = subprocess.run([get_tool("epl-opt"), "--help"], capture_output=True, text=True, check=True).stdout
    names = re.findall(r"^ +(--epl-[a-z-]+) +- ", text, re.MULTILINE)
    return [("epl-opt", name) for name in names]


def _dump(command: Command, model: Path) -> str:
    tool, *options = command
    return subprocess.run(
        [get_tool(tool), model, *options], capture_output=True, text=True, check=True
    ).stdout


def _read_test(file: Path) -> list[tuple[str, tuple[Command, ...]]]:
    """The programs of a file, without comments, and the commands of its RUN lines."""
    text = file.read_text()
    runs = re.sub(r"\\\n// RUN:", "", "\n".join(re.findall(r"// RUN:.*", text)))
    found = [_read_command(run) for run in re.findall(r"RUN:(.*)", runs)]
    commands = tuple(dict.fromkeys(command for command in found if command)) or (("epl-opt",),)
    parts = re.split(r"^// ?---.*$", text, flags=re.MULTILINE)
    stripped = [re.sub(r"^\s*//.*\n", "", part, flags=re.MULTILINE).strip() for part in parts]
    return [(part + "\n", commands) for part in stripped if part]


def _read_command(run: str) -> Command | None:
    """The tool that a RUN line gives the file to, if it is one of the two, with what it says of the program.

    What a test calls with `not` may be wrong usage, of which no line of the program is to blame.
    """
    words = shlex.split(re.split(r"\||&&", run)[0])
    if not words or words[0] not in ("epl-opt", "epl-compile"):
        return None
    options = [
        word for word in words[1:] if not OF_THE_TEST.fullmatch(word) and not word.startswith(("%t", "/"))
    ]
    return None if any("%" in option for option in options) else (words[0], *options)
