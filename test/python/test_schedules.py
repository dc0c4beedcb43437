"""The schedules of examples/schedules: each is one, and as good as it says."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "examples" / "schedules").glob("*.txt"))


def describe(*arguments: str | Path) -> str:
    command = [ROOT / "build" / "bin" / "epl-plan", "schedule", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_there_are_schedules() -> None:
    assert {path.name.partition("-p")[0] for path in FILES} == {"dualpipe-v", "zb-v"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_v_is_as_good_as_it_says(path: Path) -> None:
    numbers = re.search(r"-p(\d+)-m(\d+)$", path.stem)
    assert numbers
    meshes, micro_batches = (int(number) for number in numbers.groups())
    text = describe(path, str(meshes), str(micro_batches), "--stages-per-mesh=2")
    # In units of a stage's F, I or W: no step is shorter, as the last mesh begins after p - 1 forwards.
    assert f"# makespan {6 * micro_batches + meshes - 1}, " in text
    assert f"kept at most: {2 * meshes} on each\n" in text
    comments = "".join(line for line in path.read_text().splitlines(True) if line.startswith("#"))
    for said in (
        f"for {meshes} meshes of 2 stages and {micro_batches} micro-batches",
        f"at most {2 * meshes} micro-batches of a stage",
        "Source: ",
        "How it was made: ",
    ):
        assert said in comments
