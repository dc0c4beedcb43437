"""Plans simulated: as long as their tables, and by recorded times."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pytest

import epl
from pipeline_steps import skipping, stages
from test_cuda import run_on

ROOT = Path(__file__).parents[2]
BIN = ROOT / "build" / "bin"
SCHEDULES = sorted((ROOT / "examples" / "schedules").glob("*.txt"))


def run(*arguments: str | Path) -> str:
    return subprocess.run([BIN / "epl-plan", *arguments], capture_output=True, text=True, check=True).stdout


def compiled(
    meshes: int, count: int, schedule: str, step: Any = stages, stages_per_mesh: int = 1
) -> tuple[Any, list[jax.Array], jax.Array]:
    """By the schedule of a name, or of a file."""
    key = "pipeline.schedule" if schedule.endswith(".txt") else "pipeline.strategy"
    config = {"pipeline.num_micro_batch": count, key: schedule}
    if stages_per_mesh > 1 and key == "pipeline.strategy":
        config["pipeline.num_stages"] = meshes
    made = epl.parallelize(step, state="ws", batch="x", devices=meshes, config=config)
    ws, x = [jnp.eye(4) for _ in range(meshes * stages_per_mesh)], jnp.ones((2 * count, 4))
    return made.lower(ws, x).compile(), ws, x


def simulated(made: Any, folder: Path) -> Any:
    """In units' times, as a table is."""
    made.save(folder / "step.eplan")
    return json.loads(run("simulate", folder / "step.eplan", "--times=1,1,1", "--json"))


def makespan(*table: str | Path) -> float:
    (line,) = (line for line in run("schedule", *table).splitlines() if line.startswith("# makespan"))
    return float(line.split()[2].rstrip(","))


def assert_as_long(made: Any, folder: Path, *table: str | Path) -> None:
    assert simulated(made, folder)["makespan"] * 1e6 == pytest.approx(makespan(*table), rel=0.03)


@pytest.mark.parametrize("schedule", ["gpipe", "1f1b", "zb-h1"])
@pytest.mark.parametrize(("meshes", "count"), [(2, 4), (2, 16), (3, 8), (4, 8), (4, 16)])
def test_a_plan_takes_as_long_as_its_table(meshes: int, count: int, schedule: str, tmp_path: Path) -> None:
    made, _, _ = compiled(meshes, count, schedule)
    assert_as_long(made, tmp_path, schedule, str(meshes), str(count))


@pytest.mark.parametrize("schedule", ["gpipe", "1f1b", "zb-h1", "preferbackwardoptimizer"])
@pytest.mark.parametrize("reads", ["first", "last"])
@pytest.mark.parametrize(
    ("readers", "meshes", "count"), [([2], 3, 4), ([2], 4, 4), ([3], 4, 8), ([2, 3], 4, 4)]
)
def test_values_go_past_stages(
    readers: list[int], meshes: int, count: int, reads: str, schedule: str, tmp_path: Path
) -> None:
    made, _, _ = compiled(meshes, count, schedule, skipping(readers, reads))
    assert_as_long(made, tmp_path, schedule, str(meshes), str(count))


@pytest.mark.parametrize("readers", [[], [2], [3], [2, 3]])
@pytest.mark.parametrize(("meshes", "count"), [(2, 4), (4, 4), (4, 12)])
def test_meshes_have_several_stages(meshes: int, count: int, readers: list[int], tmp_path: Path) -> None:
    made, _, _ = compiled(meshes, count, "interleaved", skipping(readers), stages_per_mesh=2)
    assert_as_long(made, tmp_path, "interleaved", str(meshes), str(count), "--stages-per-mesh=2")


@pytest.mark.parametrize("readers", [[], [2], [2, 3]])
@pytest.mark.parametrize("path", SCHEDULES, ids=lambda path: path.stem)
def test_stages_go_there_and_back(path: Path, readers: list[int], tmp_path: Path) -> None:
    meshes, count = (int(number) for number in re.findall(r"-[pm](\d+)", path.stem))
    made, _, _ = compiled(meshes, count, str(path), skipping(readers), stages_per_mesh=2)
    assert_as_long(made, tmp_path, path)


def depths(made: Any, folder: Path) -> dict[str, str]:
    """For how many messages each channel has room."""
    made.save(folder / "step.eplan")
    return dict(re.findall(r" to channel (\d+) message 1 in (\d+) ", run("dump", folder / "step.eplan")))


@pytest.mark.parametrize("schedule", ["gpipe", "1f1b", "zb-h1", "interleaved"])
def test_room_for_messages_does_not_grow_with_micro_batches(schedule: str, tmp_path: Path) -> None:
    """Not that of a value that goes past two stages either, which is in its channel for longest."""
    few, many = (
        depths(compiled(4, count, schedule, skipping([3]), 1 + (schedule == "interleaved"))[0], tmp_path)
        for count in (8, 32)
    )
    assert few == many
    assert max(few.values()) == ("4" if schedule == "interleaved" else "3")


def forward(ws: list[jax.Array], x: jax.Array) -> tuple[list[jax.Array], jax.Array]:
    h = x
    for index, w in enumerate(ws):
        with epl.replicate(name=f"stage{index}"):
            h = jnp.tanh(h @ w)
    return ws, h


def frozen(ws: list[jax.Array], x: jax.Array) -> tuple[list[jax.Array], jax.Array]:
    """All stages but the first send gradients back, and have none of their own."""
    value, gradient = jax.value_and_grad(lambda w: (forward([w, *ws[1:]], x)[1] ** 2).sum())(ws[0])
    return [ws[0] - 0.1 * gradient, *ws[1:]], value


@pytest.mark.parametrize("step", [forward, frozen, stages, skipping([2])])
@pytest.mark.parametrize("schedule", ["gpipe", "1f1b", "zb-h1"])
def test_the_layout_says_the_bubble_of_the_plan(step: Any, schedule: str, tmp_path: Path) -> None:
    made, _, _ = compiled(3, 4, schedule, step)
    assert made.layout.endswith(f" by {schedule}, bubble {100 * simulated(made, tmp_path)['bubble']:.0f} %")


@pytest.mark.parametrize("schedule", ["gpipe", "1f1b", "zb-h1"])
def test_a_step_without_gradients_keeps_nothing(schedule: str, tmp_path: Path) -> None:
    """Whatever its schedule does between its forward units, it does these one after another."""
    found = simulated(compiled(3, 4, schedule, forward)[0], tmp_path)
    assert found["makespan"] == pytest.approx(6e-6)
    assert found["bubble"] == pytest.approx(1 / 3)
    assert [mesh["kept"] for mesh in found["meshes"]] == [1, 1, 1]


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


CARDS = """
import jax.numpy as jnp
import epl
from pipeline_steps import stages
config = {"pipeline.num_micro_batch": 4}
step = epl.parallelize(stages, state="ws", batch="x", devices="cuda:0x2", config=config)
made = step.lower([jnp.eye(4) for _ in range(2)], jnp.ones((8, 4))).compile()
predicted = made.simulate().makespan
assert predicted == made.simulate(card="h100").makespan
slow = {"kind": "h100", "gpu": {"launch_ns": 1000000}}
with open("slow.json", "w") as file:
    file.write(str(slow).replace("'", '"'))
assert made.simulate(card="slow.json").makespan > 100 * predicted
try:
    made.simulate(card="cpu")
except epl.Error as error:
    print(error)
"""


@pytest.mark.skipif(not (ROOT / "build/lib/libepl_cuda.so").exists(), reason="built without CUDA's headers")
def test_commands_of_gpus_take_what_a_card_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert '"cpu" is no GPU, expected one of "a100"' in run_on(1, CARDS, tmp_path)


def test_what_is_no_timeline_is_an_error(tmp_path: Path) -> None:
    made, _, _ = compiled(2, 2, "1f1b")
    (tmp_path / "empty.json").write_text('{"traceEvents": []}')
    with pytest.raises(epl.Error, match=r"^timeline .* has no #0"):
        made.simulate(timeline=tmp_path / "empty.json")
    with pytest.raises(epl.Error, match="gflops: must be above 0"):
        made.simulate(gflops=-1.0)
