"""Which rows of a batch, and which files of a list, each process reads."""

from __future__ import annotations

import itertools
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import epl
import mpi
from epl import environment
from epl.processes import group

SLICING = {"io.slicing": True}
DROPPING = {"io.slicing": True, "io.drop_last_files": True}
UNBALANCED = {"io.slicing": True, "io.unbalanced_io_slicing": True}


def in_each_process(processes: int, read: Callable[[], Any]) -> list[Any]:
    """What `read` returns in each of so many processes, by the variables of a launcher."""
    found = []
    with pytest.MonkeyPatch.context() as patch:
        for process in range(processes):
            patch.setenv("RANK", str(process))
            patch.setenv("WORLD_SIZE", str(processes))
            found.append(read())
    return found


@given(st.integers(1, 64), st.integers(1, 64))
def test_parts_in_order_are_the_batch(processes: int, rows: int) -> None:
    batch = np.arange(processes * rows)
    parts = in_each_process(processes, lambda: batch[epl.local_slice(len(batch))])
    assert {len(part) for part in parts} == {rows}
    np.testing.assert_array_equal(np.concatenate(parts), batch)


def test_a_process_that_is_alone_reads_all() -> None:
    assert epl.local_slice(130) == slice(0, 130)
    assert epl.local_slice(np.int64(3)) == slice(0, 3)  # type: ignore[arg-type]


@pytest.mark.parametrize("size", [0, -4, 4.0, "4", None, True])
def test_a_batch_size_is_a_positive_integer(size: Any) -> None:
    with pytest.raises(epl.ArgumentError, match="batch_size must be an integer of at least 1, found"):
        epl.local_slice(size)


@pytest.mark.parametrize(("size", "near"), [(130, "128 or 132"), (3, "4")])
def test_processes_read_equally_many_rows(size: int, near: str) -> None:
    def fails() -> None:
        with pytest.raises(
            epl.ArgumentError, match=f"batch_size .* processes, 4, .* found {size}: make it {near}$"
        ):
            epl.local_slice(size)

    in_each_process(4, fails)


@pytest.mark.parametrize(
    "variables",
    [
        {"RANK": "1", "WORLD_SIZE": "4", "MASTER_ADDR": "node0"},
        {"TF_CONFIG": '{"cluster": {"worker": ["a", "b", "c", "d"]},"task": {"type": "worker", "index": 1}}'},
        {"PMIX_RANK": "1", "SLURM_STEP_NUM_TASKS": "4"},
    ],
    ids=["torchrun", "TF_CONFIG", "PMIx under Slurm"],
)  # fmt: skip
def test_every_launcher_that_counts_processes_says_the_part(
    variables: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert epl.local_slice(128) == slice(32, 64)
    assert epl.local_files(list("abcdefgh"), SLICING) == ["b", "f"]


def test_a_number_of_processes_that_no_variable_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PMIX_RANK", "1")
    monkeypatch.setenv("PMIX_NAMESPACE", "prterun-node0-7@1")
    monkeypatch.setattr(group, "_alone", False)  # other tests have joined
    for read in (lambda: epl.local_slice(8), lambda: epl.local_files(["a"])):
        with pytest.raises(epl.ConfigError, match=r"PMIX_RANK=1 in .*: call epl\.init first"):
            read()


def test_a_process_that_mpi_has_called_alone_reads_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PMIX_RANK", "0")
    monkeypatch.setattr(group, "_alone", True)
    assert epl.local_slice(8) == slice(0, 8)


JOINED = """
    import os
    from pathlib import Path

    for name in [name for name in os.environ if name.startswith("OMPI_COMM_WORLD")]:
        del os.environ[name]  # PMIx is left, which does not count processes
    import epl

    try:
        epl.local_slice(8)
    except epl.ConfigError as problem:
        assert "call epl.init first" in str(problem), problem
        epl.init(devices=4)
        said = f"{epl.local_slice(8)} {epl.local_files(['a', 'b', 'c', 'd'], {'io.slicing': True})}"
        Path(os.environ["SAID"], os.environ["PMIX_RANK"]).write_text(said)
"""


def test_a_process_that_has_joined_knows_its_part(tmp_path: Path) -> None:
    done = mpi.run(2, mpi.write(tmp_path / "joined.py", JOINED), SAID=str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "0").read_text() == "slice(0, 4, None) ['a', 'c']"
    assert (tmp_path / "1").read_text() == "slice(4, 8, None) ['b', 'd']"


def files_of_each(count: int, processes: int, config: dict[str, Any]) -> list[list[int]]:
    """The positions of the files that each process reads."""
    names = [f"part{i}.csv" for i in range(count)]
    read = in_each_process(processes, lambda: epl.local_files(names, config))
    return [[names.index(name) for name in own] for own in read]


@pytest.mark.parametrize(
    ("count", "config", "expected"),
    [
        # EPL's case 68, as far as all processes have equally many devices
        (2, SLICING, [[0], [1]]),
        (4, SLICING, [[0, 2], [1, 3]]),
        (3, DROPPING, [[0], [1]]),
        # what follows from its rules
        (3, UNBALANCED, [[0, 2], [1]]),
        (4, DROPPING, [[0, 2], [1, 3]]),
        (4, UNBALANCED, [[0, 2], [1, 3]]),
        (1, {}, [[0], [0]]),
        (3, {}, [[0, 1, 2], [0, 1, 2]]),
    ],
)
def test_files_of_two_processes(count: int, config: dict[str, Any], expected: list[list[int]]) -> None:
    assert files_of_each(count, 2, config) == expected


@pytest.mark.parametrize(
    ("count", "processes", "config", "message"),
    [
        (1, 2, SLICING, "as there are 1 for 2 processes: make more files"),
        (1, 2, DROPPING, "as there are 1 for 2 processes"),
        (3, 4, UNBALANCED, "as there are 3 for 4 processes"),
        (3, 2, SLICING, 'as 3 do not divide evenly over 2 processes: set "io.drop_last_files"'),
    ],
)
def test_files_that_cannot_be_shared_are_read_by_all(
    count: int, processes: int, config: dict[str, Any], message: str
) -> None:
    with pytest.warns(epl.NotParallelWarning, match=f"every process reads all files, {message}") as seen:
        read = files_of_each(count, processes, config)
    assert read == [list(range(count))] * processes
    assert {Path(warning.filename).name for warning in seen} == {Path(__file__).name}


@given(st.integers(1, 8), st.integers(0, 40), st.sampled_from(["drop", "unbalanced"]))
def test_every_file_is_read_once_or_dropped(processes: int, more: int, left: str) -> None:
    count = processes + more
    read = files_of_each(count, processes, DROPPING if left == "drop" else UNBALANCED)
    lengths = [len(own) for own in read]
    kept = count - count % processes if left == "drop" else count
    assert sorted(itertools.chain(*read)) == list(range(kept))
    assert max(lengths) - min(lengths) == (0 if left == "drop" else min(1, count % processes))


def test_one_process_reads_all_files_without_a_warning() -> None:
    with warnings.catch_warnings(action="error"):
        for config in (SLICING, DROPPING, UNBALANCED):
            assert epl.local_files(["a", "b", "c"], config) == ["a", "b", "c"]


def test_paths_stay_paths() -> None:
    files = (Path("a"), Path("b"))
    assert in_each_process(2, lambda: epl.local_files(files, SLICING)) == [[Path("a")], [Path("b")]]


def test_the_settings_are_those_of_init_or_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    files = ["a", "b"]
    epl.init("cpu:2", SLICING)
    assert in_each_process(2, lambda: epl.local_files(files)) == [["a"], ["b"]]
    assert in_each_process(2, lambda: epl.local_files(files, {"io.slicing": False})) == [files, files]
    monkeypatch.setattr(environment, "_settings", None)
    monkeypatch.setattr(environment, "_default_config", epl.Config)  # what was read once
    monkeypatch.setenv("EPL_IO_SLICING", "true")
    assert in_each_process(2, lambda: epl.local_files(files)) == [["a"], ["b"]]


@pytest.mark.parametrize(
    "files",
    ["a.csv", b"a", {"a", "b"}, (name for name in "ab"), {"a": 1}, None, Path("a")],
    ids=lambda files: type(files).__name__,
)
def test_files_are_a_list(files: Any) -> None:
    with pytest.raises(epl.ArgumentError, match="files must be a list of names in an order"):
        epl.local_files(files)


def test_a_pattern_that_found_nothing_is_an_error() -> None:
    with pytest.raises(epl.ArgumentError, match="found an empty list"):
        epl.local_files([])


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"io.drop_last_files": True}, 'set "io.slicing" too'),
        ({"io.unbalanced_io_slicing": True}, 'set "io.slicing" too'),
        (DROPPING | UNBALANCED, "choose one"),
        ({"io.slicing": "yes"}, '"io.slicing" must be True or False'),
    ],
)
def test_settings_of_files_that_do_not_go_together(config: dict[str, Any], message: str) -> None:
    with pytest.raises(epl.ConfigError, match=message):
        epl.Config(config)


def test_variables_of_a_launcher_leave_other_tests_alone() -> None:
    in_each_process(2, lambda: None)
    assert "RANK" not in os.environ
