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
    died = run(2, "train_and_die", tmp_path, "ZeRO v3", victim, fails=True)
    printed = run(2, "train_and_die", tmp_path, "ZeRO v3", -1)
    (begin,) = re.findall(r"began with (\d)", printed)
    assert begin in "34", died
    if int(begin) < 4:
        assert printed.count('4.orbax-checkpoint-tmp" is of a save that did not finish') == 1
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


DIFFERS = """
    import os
    import sys

    import numpy as np

    import epl

    epl.init(devices=2, config={"zero.level": "v3"})
    own = int(os.environ["OMPI_COMM_WORLD_RANK"])
    how, folder = sys.argv[1:]


    @epl.parallelize(state="p", batch="x")
    def train(p, x):
        with epl.replicate():
            return {name: value - x.mean() for name, value in p.items()}


    x = np.ones((4, 4), np.float32)
    p = train({"a": np.ones((4, 4), np.float32), "b": np.ones(4, np.float32)}, x)
    checkpoints = epl.Checkpoints(folder + str(own) if how == "folder" else folder)
    checkpoints.save(1, p)
    if how == "skips" and own == 1:  # as where a script saves on process 0 alone
        checkpoints.save(2, p)
    if how == "number":
        checkpoints.save(2 + own, p)
    if how == "tree":
        checkpoints.save(2, {"a": p["a"]} if own else p)
    if how == "metrics":
        checkpoints.save(2, p, metrics={"loss": 0.5 + own})
    if how == "ends" and own == 1:
        sys.exit()
    checkpoints.save(4, p)
    checkpoints.wait()
    if how == "restores":
        checkpoints.restore(p, 4 if own else 1)
    if how == "fits":
        checkpoints.restore({"a": p["b"]} if own else p)
    if how == "file":
        epl.save_safetensors(folder + "/file", {"a": p["a"]} if own else {"b": p["a"]})
    checkpoints.close()
"""


@pytest.mark.parametrize(
    ("how", "why"),
    [
        (
            "folder",
            'process 0 asks in the opening of checkpoints for ".*0" where process 1 .* asks for ".*1"',
        ),
        ("skips", "process 0 saves step 4 where process 1 .* saves step 2"),
        ("number", "process 0 saves step 2 where process 1 .* saves step 3"),
        ("tree", r"process 0 saves b: float32\[4\] where process 1 .* saves nothing"),
        ("metrics", r"process 0 saves metric loss = 0\.5 where process 1 .* saves metric loss = 1\.5"),
        (
            "ends",
            'is (the close of ".*"|a save of step 4 in ".*") there, and (the close of|a save of step 4)',
        ),
        ("restores", 'process 0 asks in a restore for ".*/1" where process 1 .* asks for ".*/4"'),
        ("file", r"asks in the saving of a file for b: float32\[4,4\] where process 1 .* for a: float32"),
        (
            "fits",
            r'process 1 .* can\'t take part in a restore: the checkpoint ".*" does not fit: "a" is float32',
        ),
    ][:: 1 if NIGHTLY else 2],
)
def test_processes_that_differ_say_so(tmp_path: Path, how: str, why: str) -> None:
    done = mpi.run(2, mpi.write(tmp_path / "differs.py", DIFFERS), how, str(tmp_path / "saved"))
    assert done.returncode == 1
    assert re.search(why, done.stderr), done.stderr


ENDS = """
    import resource
    import signal
    import sys

    import numpy as np

    import epl

    epl.init(devices=2)
    checkpoints = epl.Checkpoints(sys.argv[1])
    values = np.random.default_rng(0).normal(size=1 << 20)
    checkpoints.save(1, {"a": values})
    checkpoints.wait()
    if len(sys.argv) > 2:  # from here on the disk is full
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, 1 << 16))
    epl.Checkpoints(sys.argv[1]).save(2, {"a": values})
"""


@pytest.mark.parametrize("processes", [1, 2])
def test_the_end_waits_for_a_save(tmp_path: Path, processes: int) -> None:
    done = mpi.run(processes, mpi.write(tmp_path / "ends.py", ENDS), str(tmp_path / "saved"))
    assert done.returncode == 0, done.stderr
    assert {path.name for path in (tmp_path / "saved").iterdir()} == {"1", "2"}


@pytest.mark.parametrize("processes", [1, 2])
def test_a_save_that_fails_at_the_end_is_an_error(tmp_path: Path, processes: int) -> None:
    done = mpi.run(processes, mpi.write(tmp_path / "ends.py", ENDS), str(tmp_path / "saved"), "full")
    assert done.returncode == 1
    assert re.search(r'epl: ".*/saved/2" was not saved: .*File too large', done.stderr), done.stderr
    assert [path.name for path in (tmp_path / "saved").iterdir()] == ["1"]  # what was written is gone


READS = """
    import pathlib
    import sys

    import numpy as np

    import epl

    epl.init(devices=2)
    with epl.Checkpoints(sys.argv[1]) as checkpoints:
        checkpoints.save(1, {"a": np.arange(3.0)})


    def touch(path):
        raise OSError(30, "Read-only file system", str(path))


    pathlib.Path.touch = touch
    print(f"READ {float(epl.Checkpoints(sys.argv[1]).restore({'a': np.zeros(3)})['a'].sum())}", flush=True)
"""


def test_processes_restore_from_a_folder_that_is_only_read(tmp_path: Path) -> None:
    done = mpi.run(2, mpi.write(tmp_path / "reads.py", READS), str(tmp_path / "saved"))
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("READ 3.0") == 2
