"""Data flows down through the house once (docs/design.md, "The folders"): who includes whom, by folder.

A folder of `HOUSE` may include itself and those it names; a folder of `ROOMS` likewise, within its phase.
What the folders of a phase have in common (the declarations of its passes) lies beside them.
"""

from __future__ import annotations

import re
from collections import defaultdict
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

HOUSE = {
    "dialect": ["runtime/machine"],
    "passes/annotate": ["dialect"],
    "passes/shard": ["dialect", "runtime/servers/model"],
    "passes/pipeline": ["dialect"],
    "passes/kernel": ["dialect"],
    "passes/emit": ["dialect", "runtime"],
    "runtime": ["runtime/machine", "runtime/servers/model"],
    "runtime/servers/model": ["runtime"],
    "runtime/machine": [],
}

ROOMS = {
    "passes/shard": {
        "analysis": [],
        "explain": ["analysis"],
        "prepare": ["analysis", "explain"],
        "seed/split": ["analysis", "explain"],
        "seed": ["analysis", "explain", "seed/split"],
        "place": ["analysis", "explain"],
        "localize": ["analysis"],
        "microbatch": ["analysis", "localize", "place", "prepare"],
        "stages": ["analysis", "explain", "localize", "place"],
        "servers": ["analysis", "place"],
        "tasks": ["analysis"],
        "ops": ["analysis", "prepare", "localize"],
    },
    "passes/kernel": {
        "cluster": [],
        "match": ["cluster"],
        "target": [],
        "nest": ["cluster", "match", "target"],
        "convert": ["cluster", "nest"],
        "cpu": ["cluster", "convert", "target"],
        "gpu": ["convert", "nest", "target"],
    },
    "runtime": {
        "host": [],
        "machine": [],
        "plan": ["machine"],
        "device": ["plan", "host"],
        "device/cpu": ["device", "plan", "host"],
        "device/cuda": ["device", "device/cpu", "collective", "plan", "host"],
        "collective": ["device", "plan", "host"],
        "collective/inproc": ["collective", "device", "device/cpu", "plan", "host"],
        "collective/messages": [
            "collective",
            "collective/inproc",
            "device",
            "device/cpu",
            "plan",
            "host",
        ],
        "collective/mpi": ["collective"],
        "executor": ["collective", "device", "plan", "host"],
        "session": [
            "executor",
            "collective",
            "collective/inproc",
            "collective/messages",
            "device",
            "device/cpu",
            "device/cuda",
            "plan",
            "host",
        ],
        "binding": ["session", "executor", "collective", "collective/mpi", "device/cpu", "plan", "host"],
    },
    "runtime/plan": {
        "format": [],
        "schedule": ["format"],
        "model": ["schedule", "format"],
        "simulate": ["model", "schedule", "format"],
        "verify": ["model", "schedule", "format"],
        "build": ["verify", "simulate", "model", "schedule", "format"],
    },
}


def sources(folder: str) -> list[Path]:
    return [path for path in (ROOT / folder).rglob("*") if path.suffix in {".h", ".cpp"}]


def includes(path: Path) -> list[str]:
    """The project's headers that a file names, from the repository's root on."""
    return re.findall(r'^\s*#\s*include\s*"((?:dialect|passes|runtime|tools)/[^"]+)"', path.read_text(), re.M)


def folder_of(header: str, folders: dict[str, list[str]]) -> str | None:
    """The innermost of `folders` that has a header; none if it lies beside them."""
    having = [folder for folder in folders if header.startswith(folder + "/")]
    return max(having, key=len, default=None)


@pytest.mark.parametrize("folder", HOUSE)
def test_a_folder_includes_only_those_below_it(folder: str) -> None:
    files = sources(folder)
    assert files
    for path in files:
        for header in includes(path):
            found = folder_of(header, HOUSE)
            assert found in {folder, *HOUSE[folder]}, f"{path.relative_to(ROOT)} includes {header}"


@pytest.mark.parametrize("phase", ROOMS)
def test_a_room_includes_only_those_it_may(phase: str) -> None:
    rooms = {
        f"{phase}/{room}": [f"{phase}/{other}" for other in below] for room, below in ROOMS[phase].items()
    }
    tuple(TopologicalSorter(rooms).static_order())  # raises CycleError: no rule can be a circle
    used = defaultdict(set)
    for path in sources(phase):
        room = folder_of(str(path.relative_to(ROOT)), rooms)
        for header in includes(path):
            found = folder_of(header, rooms)
            if room is None or found is None or found == room:
                continue
            assert found in rooms[room], f"{path.relative_to(ROOT)} includes {header}"
            used[room].add(found)
    assert used, "the rooms know each other by no header: the test looks at the wrong place"


@pytest.mark.parametrize("phase", ROOMS)
def test_every_file_has_a_room(phase: str) -> None:
    beside = {path.name for path in (ROOT / phase).glob("*") if path.suffix in {".h", ".cpp"}}
    assert beside <= {"Passes.h", "Pipeline.cpp", "Error.h"}
    for room in ROOMS[phase]:
        assert len(list((ROOT / phase / room).rglob("*.cpp"))) > 1, f"{phase}/{room} is no room"


def test_only_one_file_of_the_session_knows_kinds_of_devices() -> None:
    kinds = ("runtime/device/cpu/", "runtime/collective/inproc/", "runtime/collective/messages/")
    knowing = {
        path.name
        for path in sources("runtime/session")
        if any(header.startswith(kinds) for header in includes(path))
    }
    assert knowing == {"OpenDevices.cpp"}


def test_intrinsics_are_where_the_cpu_is_known() -> None:
    intrinsics = re.compile(r"\b(?:immintrin|x86intrin|cpuid)\.h|\b__builtin_ia32_|\b_mm\d*_")
    using = {
        path.relative_to(ROOT / "runtime").parent.as_posix()
        for path in sources("runtime")
        if intrinsics.search(path.read_text())
    }
    assert "host" in using
    assert using <= {"host", "device/cpu", "collective/inproc"}
