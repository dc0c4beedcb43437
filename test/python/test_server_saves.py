"""Tables saved and loaded by several servers and workers, and jobs that go on from their checkpoints."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import mpi
from server_runs import run, said

PROGRAM = str(Path(__file__).with_name("served_saves.py"))


def digest(done: subprocess.CompletedProcess[str], workers: int, end: int) -> str:
    """What all workers say that servers have."""
    assert done.returncode == 0, said(done)
    found = re.findall(rf"worker \d at {end}: (\w+)", done.stdout)
    assert len(found) == workers, said(done)
    assert len(set(found)) == 1, said(done)
    return found[0]


def test_a_table_belongs_to_no_number_of_servers(tmp_path: Path) -> None:
    """Rows and momentum go on from a save with the bits of a job that nothing has interrupted."""
    parts, straight = str(tmp_path / "parts"), str(tmp_path / "straight")
    expected = digest(run(2, 2, "train", straight, "0", "6", program=PROGRAM), 2, 6)
    first = digest(run(1, 2, "train", parts, "0", "3", program=PROGRAM), 2, 3)
    assert digest(run(3, 2, "train", parts, "3", "6", program=PROGRAM), 2, 6) == expected != first


def test_a_load_is_seen_by_all_workers(tmp_path: Path) -> None:
    done = run(2, 3, "reload", str(tmp_path), program=PROGRAM)
    assert done.returncode == 0, said(done)
    assert len(re.findall(r"worker \d: True, then", done.stdout)) == 3, said(done)
    assert len(set(re.findall(r"True, then (\w+)", done.stdout))) == 1, said(done)
    for worker in range(3):
        assert f'worker {worker}: "{tmp_path}/none" has no rows of table "user"' in done.stdout, said(done)


def test_tables_are_loaded_without_sync(tmp_path: Path) -> None:
    digest(run(1, 1, "train", str(tmp_path), "0", "3", "async", program=PROGRAM), 1, 3)
    done = run(2, 2, "train", str(tmp_path), "3", "5", "half_async", program=PROGRAM)
    assert done.returncode == 0, said(done)
    assert len(re.findall(r"worker \d at 5: \w+", done.stdout)) == 2, said(done)


def test_restarts_go_on_from_checkpoints(tmp_path: Path) -> None:
    """A server is killed between two saves, or while orbax may still write one."""
    straight = digest(run(2, 2, "resume", str(tmp_path / "straight"), "8", program=PROGRAM), 2, 8)
    for kill in ("3", "4"):
        folder = tmp_path / kill
        arguments = ("resume", str(folder), "8", kill)
        done = mpi.launch("--servers", "2", "--workers", "2", "--restarts", "1", PROGRAM, *arguments)
        assert digest(done, 2, 8) == straight
        begins = {int(found) for found in re.findall(r"worker \d begins with step (\d)", done.stdout)}
        assert begins <= {0, 2, 4}, said(done)
        assert max(begins) >= 2, said(done)
        assert sorted(path.name for path in (folder / "tables").iterdir()) == ["6", "8"]
        assert sorted(path.name for path in folder.iterdir()) == ["6", "8", "tables"]


def test_a_checkpoint_that_a_server_has_not_written_is_none(tmp_path: Path) -> None:
    done = run(2, 1, "fail", str(tmp_path), program=PROGRAM)
    assert re.search(r"not saved: server 1 .* has been silent for 3 s", done.stdout), said(done)
    assert "saved: [1], rows of ['1']" in done.stdout, said(done)
