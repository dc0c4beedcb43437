"""The example that goes on from where it ended: each process reads its part of the same global batches."""

from __future__ import annotations

import itertools
import os
import re
import runpy
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import epl
import mpi
from over_processes.launching import environment_of

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "resume.py"
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


def said(printed: str) -> tuple[int, dict[int, str]]:
    """With which batch a run began, and its losses by batch."""
    begin = re.search(r"begins with global batch (\d+)", printed)
    assert begin is not None, printed
    losses = re.findall(r"batch (\d+): loss ([\d.]+)", printed)
    return int(begin[1]), {int(batch): loss for batch, loss in losses}


Train = Callable[..., tuple[int, dict[int, str]]]


@pytest.fixture
def train(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Train:
    """Runs the example in this process; what it says."""
    monkeypatch.syspath_prepend(EXAMPLE.parent)

    def run(folder: str, steps: int, devices: str = "cpu:2") -> tuple[int, dict[int, str]]:
        monkeypatch.setattr(sys, "argv", [str(EXAMPLE), *options(tmp_path / folder, steps, devices)])
        runpy.run_path(str(EXAMPLE), run_name="__main__")
        return said(capsys.readouterr().out)

    return run


def options(folder: Path, steps: int, devices: str) -> list[str]:
    return ["--folder", str(folder), "--devices", devices, "--steps", str(steps), "--every", "4"]


def test_training_that_was_ended_goes_on_with_the_same_bits(train: Train) -> None:
    begin, losses = train("at-once", 16)
    assert (begin, list(losses)) == (0, [4, 8, 12, 16])
    assert train("twice", 8) == (0, {batch: losses[batch] for batch in (4, 8)})
    assert train("twice", 16) == (8, {batch: losses[batch] for batch in (12, 16)})
    assert train("twice", 16) == (16, {})


# The example, whose last process is killed in the save of a batch.
KILLED = """
    import os, runpy, signal, sys

    import jax

    import epl

    save = epl.Checkpoints.save


    def save_and_die(self, number, state):
        save(self, number, state)
        if number == {dies_at} and jax.process_index() == jax.process_count() - 1:
            os.kill(os.getpid(), signal.SIGKILL)


    epl.Checkpoints.save = save_and_die
    sys.path.insert(0, os.path.dirname({example!r}))
    sys.argv = [{example!r}, *{options}]
    runpy.run_path({example!r}, run_name="__main__")
"""

CHANGES = [(1, 2), (2, 1), (2, 4), (4, 2)] if os.environ.get("EPL_NIGHTLY") else [(2, 1)]


def saved_bits(folder: Path, like: Any) -> list[bytes]:
    """Those of the last checkpoint."""
    with epl.Checkpoints(folder) as checkpoints:
        return [np.asarray(leaf).tobytes() for leaf in jax.tree.leaves(checkpoints.restore(like))]


@pytest.mark.parametrize(("before", "after"), CHANGES)
def test_killed_it_goes_on_in_another_number_of_processes(
    tmp_path: Path, example: dict[str, Any], train: Train, before: int, after: int
) -> None:
    def train_in(processes: int, dies_at: int) -> tuple[int, dict[int, str]]:
        code = KILLED.format(
            example=str(EXAMPLE), options=options(tmp_path / "killed", 24, "cpu:4"), dies_at=dies_at
        )
        script = mpi.write(tmp_path / "script.py", code)
        done = mpi.run(processes, script, EPL_CACHE_DIR=str(tmp_path / "plans"))
        assert (done.returncode != 0) == (dies_at != 0), done.stderr
        return said(done.stdout)

    begin, losses = train("at-once", 24, "cpu:4")
    assert (begin, list(losses)) == (0, [4, 8, 12, 16, 20, 24])
    begin, first = train_in(before, dies_at=16)
    assert begin == 0
    assert first == {batch: losses[batch] for batch in first}
    begin, second = train_in(after, dies_at=0)
    assert begin in (12, 16)
    assert second == {batch: losses[batch] for batch in losses if batch > begin}
    like = jax.eval_shape(lambda: tuple(example["initial_state"]()))
    assert saved_bits(tmp_path / "killed", like) == saved_bits(tmp_path / "at-once", like)


def shell_of(code: str, output: Path) -> subprocess.Popen[bytes]:
    """Starts a command of README in the repository; what it prints goes to a file."""
    paths = [str(ROOT / "build" / "bin"), str(Path(sys.executable).parent), os.environ["PATH"]]
    environment = environment_of(PATH=os.pathsep.join(paths), PYTHONPATH=os.pathsep.join(sys.path))
    with output.open("wb") as file:
        return subprocess.Popen(
            ["bash", "-c", code], cwd=ROOT, env=environment, stdout=file, stderr=subprocess.STDOUT
        )


def await_save(folder: Path, child: subprocess.Popen[bytes], said: Path) -> None:
    end = time.monotonic() + mpi.SECONDS
    while not folder.exists():
        assert child.poll() is None, said.read_text()
        assert time.monotonic() < end, said.read_text()
        time.sleep(0.02)


def plain(printed: str) -> list[str]:
    """The lines without losses, which other CPUs round in another way."""
    return re.sub(r"loss \S+", "loss", printed).splitlines()


@pytest.mark.skipif(not os.environ.get("EPL_NIGHTLY"), reason="a minute: scripts/nightly checkpoints")
def test_readme_says_what_is_seen_of_a_kill(tmp_path: Path) -> None:
    text = (ROOT / "README.md").read_text().partition("### Launch, kill, resume")[2]
    blocks = re.findall(r"^```sh\n(.*?)\n```$.*?^```text\n(.*?)^```$", text, re.M | re.S)
    (launch, begun), (kill, died), (resume, resumed) = (
        (code.replace("/tmp/digits", str(tmp_path / "digits")), seen) for code, seen in blocks
    )
    first, second = tmp_path / "first", tmp_path / "second"

    child = shell_of(launch, first)
    await_save(tmp_path / "digits" / "1600", child, first)
    assert kill == "kill -9 $(pgrep -nf resume.py)"  # which would find those of other tests, too
    youngest = subprocess.run(["pgrep", "-nf", f"resume.py.*{tmp_path}"], capture_output=True, check=True)
    os.kill(int(youngest.stdout), signal.SIGKILL)
    assert child.wait(mpi.SECONDS) != 0
    assert set(plain(begun)) <= set(plain(first.read_text()))
    assert re.search(re.escape(died.strip()).replace(r"\.\.\.", r"\S+"), first.read_text())

    assert shell_of(resume, second).wait(mpi.SECONDS) == 0
    assert plain(second.read_text()) == plain(resumed)
