"""What workers of parameter servers do together: sums, and one compilation for all."""

from __future__ import annotations

import re
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest

import epl
import mpi
from epl import runtime
from server_runs import alone, run, said

PROGRAM = str(Path(__file__).with_name("served_together.py"))


def counted(done: subprocess.CompletedProcess[str]) -> list[int]:
    """How many plans each worker has compiled."""
    assert done.returncode == 0, said(done)
    found = [re.search(rf"worker {n} has compiled (\d) of its plans", done.stdout) for n in range(3)]
    return [int(each[1]) if each else -1 for each in found]


def test_worker_0_compiles_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """But what one of them alone has, and what is for another CPU."""
    monkeypatch.setenv("EPL_CACHE_DIR", "")
    assert counted(run(2, 3, "compile_once", program=PROGRAM)) == [1, 1, 0]
    if runtime.module().cpu_level() in ("x86-64-v3", "x86-64-v4"):
        assert counted(run(2, 3, "compile_once", "other", program=PROGRAM)) == [1, 2, 0]


def test_workers_add_up() -> None:
    done = run(2, 3, "add_up", program=PROGRAM)
    assert done.returncode == 0, said(done)
    assert done.stdout.count("has the sums") == 3, said(done)
    done = alone("add_up", program=PROGRAM)
    assert done.returncode == 0, said(done)
    assert "worker 0 has the sums" in done.stdout


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ("SIGKILL", "worker 1 has been silent for 3 s"),
        ("end", r"worker 1 has ended: epl.workers.sum of int64\[1048576\] awaits it"),
        (
            "differ",
            r"worker \d is at epl.workers.sum of .*, worker \d at epl.workers.sum of .*the same of all",
        ),
    ],
)
def test_a_sum_needs_all_workers(how: str, expected: str) -> None:
    done = run(2, 3, "add_up", how, "1", program=PROGRAM)
    assert done.returncode != 0, said(done)
    assert "has the sums" not in done.stdout
    assert re.search(f"ProcessError: .*{expected}", said(done)), said(done)


def test_a_compiler_ends_with_the_job(tmp_path: Path) -> None:
    """So worker 0 says at once who is lost."""
    start = time.monotonic()
    done = run(2, 2, "lose_early", "sync", "compiles", str(tmp_path), program=PROGRAM)
    assert done.returncode != 0, said(done)
    assert re.search(
        "ProcessError: server . .* has failed: .*worker 1 has been silent for 3 s", said(done)
    ), said(done)
    assert time.monotonic() - start < 60, said(done)


def test_others_go_on_without_who_is_lost_before_its_first_step() -> None:
    done = run(2, 2, "lose_early", "async", "ends", program=PROGRAM)
    assert "worker 0 has trained" in done.stdout, said(done)
    assert "without it nothing goes on" not in said(done), said(done)
    assert done.returncode == 128 + signal.SIGKILL, said(done)  # worker 1's alone


def test_restarts_begin_anew_where_one_is_lost_before_the_first_step() -> None:
    arguments = ("lose_early", "sync", "once")
    done = mpi.launch("--servers", "2", "--workers", "2", "--restarts", "1", PROGRAM, *arguments)
    assert done.returncode == 0, said(done)
    assert re.search("worker 1 has been silent for 3 s", said(done)), said(done)
    for worker in range(2):
        assert done.stdout.count(f"worker {worker} has trained") == 1, said(done)


@pytest.mark.parametrize(
    ("how", "who", "expected"),
    [
        ("raise", "1", r"worker 1 has failed: ValueError: there is no file \(.*served_together.py:\d+\)"),
        ("raise", "0", "worker 0 has failed: ValueError: there is no file"),
        ("exit", "1", "worker 1 has failed: SystemExit: no data"),
        ("SIGKILL", "1", "worker 1 has been silent for 3 s"),
        ("return", "0", "worker 0 has ended: compilation of step .* awaits it"),
    ],
)
def test_who_is_lost_before_it_has_spoken_is_named(how: str, who: str, expected: str) -> None:
    done = run(2, 2, "end_early", who, how, program=PROGRAM)
    assert done.returncode != 0, said(done)
    assert "has trained" not in done.stdout, said(done)
    assert re.search(expected, said(done)), said(done)


def test_the_others_train_without_who_has_no_data() -> None:
    done = run(2, 3, "end_early", "1", "return", program=PROGRAM)
    assert done.returncode == 0, said(done)
    assert done.stdout.count("has trained") == 2, said(done)


def test_servers_end_with_workers_that_do_not_need_them(tmp_path: Path) -> None:
    """With those that tell them so, and with those that do not."""
    done = run(2, 2, "end_early", "0,1", "return", program=PROGRAM)
    assert done.returncode == 0, said(done)
    script = tmp_path / "other.py"
    script.write_text("print('done')")
    done = run(2, 2, program=str(script))
    assert done.returncode == 0, said(done)
    assert done.stdout.count("done") == 2, said(done)


def test_what_workers_add_up_are_numbers() -> None:
    with pytest.raises(epl.ArgumentError, match=r"epl.workers.sum needs an array of numbers, found str\d+"):
        epl.workers.sum("one")
    assert epl.workers.mean(3) == 3
    value = np.ones(2)
    found = epl.workers.sum(value)
    found += 1
    assert value.tolist() == [1, 1]
