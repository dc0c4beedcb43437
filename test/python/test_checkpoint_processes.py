"""Checkpoints of several processes: saved by some, restored by others, killed in a save."""

from __future__ import annotations

import os
import pickle
import re
from collections.abc import Callable
from pathlib import Path

import pytest

import mpi
from checkpoint_layouts import LAYOUTS, assert_same, new_state, numbers, trained, tree_of

SOME = ("ZeRO v3", "split, 2 replicas", "two stages")
DIVISIBLE = tuple(name for name, (devices, *_) in LAYOUTS.items() if devices == 4)
NIGHTLY = bool(os.environ.get("EPL_NIGHTLY"))

Run = Callable[..., str]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Calls a function of checkpoint_programs.py in so many processes; gives what they print."""
    folder = tmp_path_factory.mktemp("programs")  # with the plans that the first one compiles

    def start(processes: int, call: str, *arguments: object, fails: bool = False) -> str:
        values = ", ".join(repr(str(each) if isinstance(each, Path) else each) for each in arguments)
        script = mpi.write(folder / "program.py", f"import checkpoint_programs as c\nc.{call}({values})\n")
        done = mpi.run(processes, script, EPL_CACHE_DIR=str(folder / "plans"))
        printed = done.stdout + done.stderr
        assert (done.returncode != 0) == fails, printed
        return printed

    return start


@pytest.fixture(scope="module")
def saved(run: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """By two processes."""
    folder = tmp_path_factory.mktemp("saved")
    run(2, "save", folder, DIVISIBLE if NIGHTLY else SOME)
    return folder


@pytest.mark.parametrize("processes", [1, 2, 4] if NIGHTLY else [1, 4])
def test_what_two_save_any_number_restores(run: Run, saved: Path, processes: int) -> None:
    layouts = DIVISIBLE if NIGHTLY else SOME
    targets = layouts if NIGHTLY else layouts[:2]
    printed = run(processes, "restore", saved, layouts, targets)
    assert f"restored {len(layouts) * len(targets)}" in printed


@pytest.mark.parametrize("processes", [1, 4])
@pytest.mark.skipif(not NIGHTLY, reason="long: scripts/nightly checkpoints")
def test_what_others_save_two_restore(run: Run, processes: int, tmp_path: Path) -> None:
    run(processes, "save", tmp_path, DIVISIBLE)
    run(2, "restore", tmp_path, DIVISIBLE, DIVISIBLE)


@pytest.mark.parametrize("victim", [0, 1] if NIGHTLY else [1])
def test_killed_in_a_save_it_goes_on_from_the_last_one(run: Run, victim: int, tmp_path: Path) -> None:
    run(2, "train_and_die", tmp_path, "ZeRO v3", victim, fails=True)
    printed = run(2, "train_and_die", tmp_path, "ZeRO v3", -1)
    (begin,) = re.findall(r"began with (\d)", printed)
    if int(begin) < 4:
        assert printed.count('4.orbax-checkpoint-tmp" is of a save that did not finish') == 1
    assert begin in "34"
    assert_same(
        pickle.loads((tmp_path / "final.pickle").read_bytes()),
        numbers(tree_of(trained("ZeRO v3", new_state(), 6))),
    )


@pytest.mark.parametrize("victim", [0, 1] if NIGHTLY else [1])
def test_a_disk_that_is_full_for_one_is_an_error_of_all(run: Run, victim: int, tmp_path: Path) -> None:
    run(2, "fill_disk", tmp_path, victim)
    for process in (0, 1):
        told = (tmp_path / f"told{process}").read_text()
        about = "" if process == victim else rf"process {victim} \(pid \d+ on .*\) has failed: "
        assert re.match(rf'"{tmp_path}/run/1" was not saved: {about}.*File too large', told), told


@pytest.mark.skipif(not NIGHTLY, reason="long: scripts/nightly checkpoints")
def test_a_folder_that_is_lost_is_an_error_of_all(run: Run, tmp_path: Path) -> None:
    run(2, "lose_folder", tmp_path)
    for process in (0, 1):
        told = (tmp_path / f"told{process}").read_text()
        assert re.match(rf'"{tmp_path}/run/1" was not saved: .*Not a directory', told), told


@pytest.mark.skipif(not NIGHTLY, reason="long: scripts/nightly checkpoints")
def test_a_restore_takes_little_more_memory_than_the_state(run: Run, tmp_path: Path) -> None:
    run(2, "save_large", tmp_path)
    found = re.findall(r"peak ([\d.]+) of 512 MiB", run(2, "restore_large", tmp_path))
    assert len(found) == 2
    assert max(map(float, found)) <= 1.2
