"""The example that goes on from where it ended: each process reads its part of the same global batches."""

from __future__ import annotations

import itertools
import re
import runpy
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import epl

EXAMPLE = Path(__file__).parents[2] / "examples" / "resume.py"
SAMPLES = 70
DATA = np.arange(2 * SAMPLES).reshape(SAMPLES, 2), np.arange(SAMPLES)
COUNTS = [1, 2, 4]


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Its names; it imports another example, which lies beside it."""
    monkeypatch.syspath_prepend(EXAMPLE.parent)
    return runpy.run_path(str(EXAMPLE))


Read = Callable[[int, int, int], list[Any]]


@pytest.fixture
def read(example: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> Read:
    """The global batches `begin` to `end` as so many processes read them, each begun at `begin` and ahead."""

    def own(processes: int, process: int, begin: int, end: int) -> list[Any]:
        monkeypatch.setenv("RANK", str(process))
        monkeypatch.setenv("WORLD_SIZE", str(processes))
        ahead = epl.prefetch(example["GlobalBatches"](DATA, batch_size=16, seed=3), depth=3)
        ahead.set_state(begin)
        batches = list(itertools.islice(ahead, end - begin))
        assert ahead.get_state() == end
        return batches

    def run(processes: int, begin: int, end: int) -> list[Any]:
        parts = [own(processes, process, begin, end) for process in range(processes)]
        assert all(len(labels) == 16 // processes for part in parts for _, labels in part)
        return [
            tuple(np.concatenate(arrays) for arrays in zip(*batch, strict=True))
            for batch in zip(*parts, strict=True)
        ]

    return run


def assert_equal(found: list[Any], expected: list[Any]) -> None:
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        for a, b in zip(one, other, strict=True):
            np.testing.assert_array_equal(a, b)


def test_an_epoch_has_each_sample_once_in_its_own_order(read: Read) -> None:
    batches = read(1, 0, 8)  # two epochs of four batches; six samples are left out of each
    first, second = (np.concatenate([labels for _, labels in batches[i : i + 4]]) for i in (0, 4))
    for epoch in (first, second):
        assert len(set(epoch)) == 64
    assert list(first) != list(second)
    for images, labels in batches:
        np.testing.assert_array_equal(images, DATA[0][labels])


@pytest.mark.parametrize("processes", COUNTS)
def test_any_number_of_processes_reads_the_same_global_batches(read: Read, processes: int) -> None:
    assert_equal(read(processes, 0, 10), read(1, 0, 10))


@pytest.mark.parametrize(("before", "after"), list(itertools.product(COUNTS, COUNTS)))
@pytest.mark.parametrize("ended", [1, 4, 6])
def test_another_number_of_processes_goes_on_with_the_same(
    read: Read, before: int, after: int, ended: int
) -> None:
    assert_equal(read(before, 0, ended) + read(after, ended, 10), read(1, 0, 10))


def test_training_that_was_ended_goes_on_with_the_same_bits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(EXAMPLE.parent)

    def train(folder: str, steps: int) -> tuple[int, list[str]]:
        options = ["--folder", str(tmp_path / folder), "--steps", str(steps), "--every", "4"]
        monkeypatch.setattr(sys, "argv", [str(EXAMPLE), *options])
        runpy.run_path(str(EXAMPLE), run_name="__main__")
        printed = capsys.readouterr().out
        begin = re.search(r"begins with global batch (\d+)", printed)
        assert begin is not None
        return int(begin[1]), re.findall(r"batch \d+: loss \S+", printed)

    begin, losses = train("at-once", 16)
    assert (begin, len(losses)) == (0, 4)
    assert train("twice", 8) == (0, losses[:2])
    assert train("twice", 16) == (8, losses[2:])
    assert train("twice", 16) == (16, [])
