"""`epl.init_state` over processes: the bits of one, in little memory; saved, restored by another number."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

import mpi
from init_layouts import LAYOUTS

NIGHTLY = bool(os.environ.get("EPL_NIGHTLY"))
SOME = ["ZeRO v3", "split on 4, ZeRO v1", "rows in stages"]
COUNTS = [2, 3, 4] if NIGHTLY else [2]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With the plans of all tests."""
    return tmp_path_factory.mktemp("init")


def run(folder: Path, processes: int, function: str, *arguments: object, fails: bool = False) -> str:
    return mpi.call(processes, "init_programs", function, *arguments, folder=folder, fails=fails)


def layouts(processes: int) -> list[str]:
    return [name for name in (LAYOUTS if NIGHTLY else SOME) if LAYOUTS[name].devices % processes == 0]


def made(folder: Path, processes: int) -> list[dict[str, dict[str, dict[str, str]]]]:
    """What each process has of the states of each layout, at first and after a step."""
    run(folder, processes, "make", folder, layouts(processes))
    return [json.loads((folder / f"{p} of {processes}.json").read_text()) for p in range(processes)]


@pytest.fixture(scope="module")
def alone(folder: Path) -> dict[str, Any]:
    """What one process has of all."""
    return made(folder, 1)[0]


@pytest.mark.parametrize("processes", COUNTS)
def test_processes_make_the_bits_of_one_each_its_own(
    folder: Path, alone: dict[str, Any], processes: int
) -> None:
    found = made(folder, processes)
    for layout in layouts(processes):
        for moment, expected in alone[layout].items():
            parts = [one[layout][moment] for one in found]
            joined = {block: digest for part in parts for block, digest in part.items()}
            assert joined == expected, (layout, moment)
            assert sum(map(len, parts)) == len(expected), "a block is in one process"


@pytest.mark.parametrize(("saving", "restoring"), [(2, 4), (4, 1), (1, 2)] if NIGHTLY else [(2, 1)])
def test_another_number_of_processes_goes_on(
    folder: Path, tmp_path: Path, saving: int, restoring: int
) -> None:
    names = [name for name in layouts(4) if LAYOUTS[name].devices == 4][: None if NIGHTLY else 1]
    assert names
    run(folder, saving, "save", tmp_path, names)
    run(folder, restoring, "restore", tmp_path, names)
    for name in names:
        expected, found = (
            json.loads((tmp_path / f"{name} {which}.json").read_text()) for which in ("expected", "found")
        )
        assert found == expected, name


MISTAKES = [
    r'key: ProcessError: init_state\(key\): "key" is uint32\[2\] \[0, 0\] in process 0, '
    r"uint32\[2\] \[0, 1\] in process 1 \(pid",
    r'function: ProcessError: process 0 compiles step "function", process 1 .* another program of that name',
    r"array: ProcessError: step array: array 0 that it closed over is float32\[3000\] with the digest \w+ in "
    r"process 0, float32\[3000\] with the digest \w+ in process 1",
    r"tree: .*StateError: tree does not give the states of step: p\.more: expected nothing, found",
]


def test_what_differs_is_an_error_in_each_process(folder: Path, tmp_path: Path) -> None:
    printed = run(folder, 2, "mistake", tmp_path, fails=True)
    for process in (0, 1):
        told = (tmp_path / str(process)).read_text().splitlines()
        assert len(told) == len(MISTAKES), printed
        for line, expected in zip(told, MISTAKES, strict=True):
            assert re.match(expected, line), line
        assert ("ProcessError: process 1" in told[-1]) == (process == 0)


@pytest.mark.skipif(not NIGHTLY, reason="a gibibyte: scripts/nightly checkpoints")
def test_a_device_needs_three_parts_more_than_its_state(folder: Path) -> None:
    printed = run(folder, 2, "make_large")
    found = re.findall(r"beside 512 MiB ([-\d.]+) parts", printed)
    assert len(found) == 2, printed
    assert 0 <= max(map(float, found)) <= 3
