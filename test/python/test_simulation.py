"""Plans simulated: as long as their tables, and by recorded times."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pytest

import epl
from pipeline_steps import stages

BIN = Path(__file__).parents[2] / "build" / "bin"


def run(*arguments: str | Path) -> str:
    return subprocess.run([BIN / "epl-plan", *arguments], capture_output=True, text=True, check=True).stdout


def compiled(meshes: int, count: int, schedule: str) -> tuple[Any, list[jax.Array], jax.Array]:
    config = {"pipeline.num_micro_batch": count, "pipeline.strategy": schedule}
    step = epl.parallelize(stages, state="ws", batch="x", devices=meshes, config=config)
    ws, x = [jnp.eye(4) for _ in range(meshes)], jnp.ones((2 * count, 4))
    return step.lower(ws, x).compile(), ws, x


@pytest.mark.parametrize("schedule", ["gpipe", "1f1b", "zb-h1"])
@pytest.mark.parametrize(("meshes", "count"), [(2, 4), (2, 16), (3, 8), (4, 8), (4, 16)])
def test_a_plan_takes_as_long_as_its_table(meshes: int, count: int, schedule: str, tmp_path: Path) -> None:
    made, _, _ = compiled(meshes, count, schedule)
    made.save(tmp_path / "step.eplan")
    found = json.loads(run("simulate", tmp_path / "step.eplan", "--times=1,1,1", "--json"))
    table = run("schedule", schedule, str(meshes), str(count))
    (line,) = (line for line in table.splitlines() if line.startswith("# makespan"))
    expected = float(line.split()[2].rstrip(","))
    assert found["makespan"] * 1e6 == pytest.approx(expected, rel=0.03)


def test_simulate_takes_a_roofline_or_a_timeline(tmp_path: Path) -> None:
    made, ws, x = compiled(2, 4, "1f1b")
    ideal = made.simulate(gflops=1.0, gbps=1.0)
    assert ideal.measured is None
    assert [mesh.devices for mesh in ideal.meshes] == ["cpu:0", "cpu:1"]
    assert [mesh.kept for mesh in ideal.meshes] == [2, 1]
    for mesh in ideal.meshes:
        assert mesh.busy + sum(mesh.waits.values()) == pytest.approx(ideal.makespan)
    busy = sum(mesh.busy for mesh in ideal.meshes)
    assert ideal.bubble == pytest.approx(1 - busy / (2 * ideal.makespan))
    slow = made.simulate(gflops=1.0, gbps=1.0, link_us=1000.0)
    assert slow.makespan > ideal.makespan + 2 * 1000e-6
    assert slow.meshes[0].waits["messages from mesh 1"] > 1000e-6

    with made.trace(tmp_path / "timeline.json"):
        for _ in range(3):
            ws, _ = made(ws, x)
    recorded = made.simulate(timeline=tmp_path / "timeline.json")
    assert recorded.measured is not None
    assert recorded.measured > 0
    assert recorded.makespan > 0
    assert "messages from mesh 1" in str(recorded)


def test_what_is_no_timeline_is_an_error(tmp_path: Path) -> None:
    made, _, _ = compiled(2, 2, "1f1b")
    (tmp_path / "empty.json").write_text('{"traceEvents": []}')
    with pytest.raises(epl.Error, match=r"^timeline .* has no #0"):
        made.simulate(timeline=tmp_path / "empty.json")
    with pytest.raises(epl.Error, match="gflops: must be above 0"):
        made.simulate(gflops=-1.0)
