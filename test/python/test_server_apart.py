"""What each worker of parameter servers has for itself, and workers that end at different times."""

from __future__ import annotations

from pathlib import Path

import pytest

from server_runs import run, said

PROGRAM = str(Path(__file__).with_name("served_apart.py"))


@pytest.mark.parametrize("mode", ["sync", "half_async"])
def test_what_forward_work_updates_stays_with_each_worker(mode: str, tmp_path: Path) -> None:
    """Worker 0's is saved; a schedule of servers counts the updates of all workers."""
    done = run(2, 2, "have", mode, str(tmp_path), program=PROGRAM)
    assert done.returncode == 0, said(done)
    assert done.stdout.count("has its own, and what worker 0 has saved") == 2, said(done)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_sync_averages_those_that_are_left(dtype: str) -> None:
    """Files of workers may be of different lengths; parameters may have 16 bits."""
    done = run(2, 2, "end", dtype, program=PROGRAM)
    assert done.returncode == 0, said(done)
    assert done.stdout.count("has trained") == 2, said(done)


def test_sync_goes_on_without_a_lost_worker_if_it_is_told_so() -> None:
    done = run(2, 2, "lose", program=PROGRAM)
    assert "worker 0 has trained" in done.stdout, said(done)
    assert done.returncode == 7, said(done)  # worker 1's alone


def test_a_child_of_a_worker_ends_by_itself() -> None:
    """Threads of the worker did not come along."""
    done = run(1, 2, "fork", program=PROGRAM)
    assert done.returncode == 0, said(done)
    assert done.stdout.count("has trained") == 2, said(done)
