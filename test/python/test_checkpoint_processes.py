"""Checkpoints of several processes: saved by some, restored by others, killed in a save."""

from __future__ import annotations

import os
import pickle
import re
import shutil
from pathlib import Path

import pytest

from checkpoint_layouts import LAYOUTS, assert_same, new_state, numbers, trained, tree_of
from processes import mpirun

SOME = ("ZeRO v3", "split, 2 replicas", "two stages")
DIVISIBLE = tuple(name for name, (devices, *_) in LAYOUTS.items() if devices == 4)
NIGHTLY = "EPL_NIGHTLY" in os.environ

pytestmark = pytest.mark.skipif(shutil.which("mpirun") is None, reason="Open MPI is not installed")


def program(call: str) -> str:
    return f"from pathlib import Path\nimport checkpoint_programs as c\nc.{call}"


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """By two processes."""
    folder = tmp_path_factory.mktemp("saved")
    mpirun(2, program(f"save(Path({str(folder)!r}), {DIVISIBLE if NIGHTLY else SOME})"))
    return folder


@pytest.mark.parametrize("processes", [1, 2, 4] if NIGHTLY else [1, 4])
def test_what_two_save_any_number_restores(saved: Path, processes: int) -> None:
    layouts = DIVISIBLE if NIGHTLY else SOME
    targets = layouts if NIGHTLY else layouts[:2]
    printed = mpirun(processes, program(f"restore(Path({str(saved)!r}), {layouts}, {targets})"))
    assert f"restored {len(layouts) * len(targets)}" in printed


@pytest.mark.parametrize("processes", [1, 4])
@pytest.mark.skipif(not NIGHTLY, reason="long: scripts/nightly checkpoints")
def test_what_others_save_two_restore(processes: int, tmp_path: Path) -> None:
    mpirun(processes, program(f"save(Path({str(tmp_path)!r}), {DIVISIBLE})"))
    mpirun(2, program(f"restore(Path({str(tmp_path)!r}), {DIVISIBLE}, {DIVISIBLE})"))


@pytest.mark.parametrize("victim", [0, 1] if NIGHTLY else [1])
def test_killed_in_a_save_it_goes_on_from_the_last_one(victim: int, tmp_path: Path) -> None:
    call = f"train_and_die(Path({str(tmp_path)!r}), 'ZeRO v3', {{}})"
    mpirun(2, program(call.format(victim)), fails=True)
    printed = mpirun(2, program(call.format(9)))
    (begin,) = re.findall(r"began with (\d)", printed)
    if int(begin) < 4:
        assert printed.count('4.orbax-checkpoint-tmp" is of a save that did not finish') == 1
    assert begin in "34"
    assert_same(
        pickle.loads((tmp_path / "final.pickle").read_bytes()),
        numbers(tree_of(trained("ZeRO v3", new_state(), 6))),
    )


@pytest.mark.skipif(not NIGHTLY, reason="long: scripts/nightly checkpoints")
def test_a_full_disk_ends_all(tmp_path: Path) -> None:
    printed = mpirun(2, program(f"fill_disk(Path({str(tmp_path)!r}))"), fails=True)
    assert "was told" in printed
    assert "no error" not in printed
