"""Timelines of steps over processes: one file, with the devices of all."""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Any

import mpi
from epl.processes.timelines import merged

SCRIPT = """
    import json
    import os

    import jax.numpy as jnp
    import numpy as np

    import epl

    own = os.environ["OMPI_COMM_WORLD_RANK"]
    said = os.environ["SAID"]
    epl.init(devices=4)


    @epl.parallelize(state="w", batch="x")
    def step(w, x):
        with epl.replicate():
            return w - jnp.mean(x)


    w, x = np.float32(0), np.ones((8, 4), np.float32)
    compiled = step.lower(w, x).compile()
    w = compiled(w, x)
    path = said + "/t.json"
    with compiled.trace(path):
        for _ in range(3):
            w = compiled(w, x)
    with open(path) as file:
        events = json.load(file)["traceEvents"]
    found = {
        "devices": sorted({event["pid"] for event in events if event["ph"] == "X"}),
        "names": sorted(event["args"]["name"] for event in events if event["name"] == "process_name"),
        "steps": sorted(event["name"] for event in events if event.get("cat") == "step"),
        "makespan": compiled.simulate(timeline=path).makespan > 0,
        "problems": [],
    }
    for other in (f"{said}/{own}.json", said + "/none/t.json"):
        try:
            with compiled.trace(other):
                w = compiled(w, x)
        except epl.Error as error:
            found["problems"].append(f"{type(error).__name__}: {error}")
    try:
        with compiled.trace(said + "/raised.json"):
            raise KeyError
    except KeyError:
        pass
    found["w"] = float(compiled(w, x))
    with open(f"{said}/{own}", "w") as file:
        json.dump(found, file)
"""


def test_a_timeline_has_the_devices_of_all_processes(tmp_path: Path) -> None:
    done = mpi.run(2, mpi.write(tmp_path / "script.py", SCRIPT), SAID=str(tmp_path))
    assert done.returncode == 0, done.stderr
    for process in range(2):
        found = json.loads((tmp_path / str(process)).read_text())
        assert found["devices"] == [0, 1, 2, 3, 4], "and the steps"
        assert found["names"] == ["cpu:0", "cpu:1", "cpu:2", "cpu:3", "cpu:4 = data 4"]
        assert found["steps"] == ["step 2", "step 3", "step 4"]
        assert found["makespan"]
        paths, folder = found["problems"]
        assert paths.startswith(
            f'ProcessError: a timeline of step is written to "{tmp_path}/0.json" by process 0'
        )
        assert f'to "{tmp_path}/1.json" by process 1 (pid ' in paths
        assert folder == f'Error: cannot write "{tmp_path}/none/t.json": No such file or directory'
        assert found["w"] == -6
    assert not (tmp_path / "raised.json").exists()


def recording(begin: int, events: list[dict[str, Any]]) -> tuple[int, bytes]:
    return begin, zlib.compress(json.dumps({"traceEvents": events}).encode())


def command(device: int, begin: float, end: float) -> dict[str, Any]:
    return {"ph": "X", "name": "f", "cat": "compute", "pid": device, "ts": begin, "dur": end - begin}


def step(number: int, begin: float, end: float) -> dict[str, Any]:
    return {"ph": "X", "name": f"step {number}", "cat": "step", "pid": 2, "ts": begin, "dur": end - begin}


def test_recordings_that_begin_later_are_moved_and_steps_go_round_all_commands() -> None:
    name = {"ph": "M", "name": "process_name", "pid": 2, "tid": 0, "ts": 0, "args": {"name": "steps"}}
    found = merged(
        [
            recording(5_000_000, [name, command(0, 10, 30), step(7, 10, 30), step(8, 50, 60)]),
            recording(4_980_000, [name, command(1, 35, 45), step(7, 35, 45), step(8, 90, 95)]),
        ]
    )
    expected = [name, command(0, 30, 50), command(1, 35, 45), step(7, 30, 50), step(8, 70, 95)]
    assert found["traceEvents"] == expected
