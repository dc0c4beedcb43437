"""The machine as data: measured, given as a file, and what the compiler makes of it."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import optax
import pytest

import epl
from steps import batches, mlp_parameters, training_step

BIN = Path(__file__).parents[2] / "build" / "bin"
STEP = """func.func @main(%x: tensor<8xf32> {epl.role = "batch", epl.batch_dim = 0 : i64}) -> tensor<8xf32> {
  return %x : tensor<8xf32>
}
"""
PATIENT = {"within_process": {"latency_ns": 100_000, "bytes_per_second": 10_000_000_000}}
HASTY = {"within_process": {"latency_ns": 1, "bytes_per_second": 1_000_000_000}}


def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    program, *arguments = command
    return subprocess.run([BIN / program, *arguments], capture_output=True, text=True, input=STEP)


def write(path: Path, machine: dict[str, Any]) -> Path:
    path.write_text(json.dumps(machine))
    return path


def compiled(machine: str | Path | None) -> Any:
    optimizer = optax.sgd(1e-3)
    config = {} if machine is None else {"cluster.machine": str(machine)}
    step = epl.parallelize(
        training_step(optimizer), state=("params", "opt_state"), batch=("x", "y"), devices=2, config=config
    )
    params = mlp_parameters()
    return step.lower(params, optimizer.init(params), *batches(1)[0]).compile()


def count_collectives(plan: Any, path: Path) -> int:
    plan.save(path)
    count = re.search(r"(\d+) collectives", run("epl-plan", "verify", path).stdout)
    return int(count[1]) if count else 0


def test_what_is_measured_is_a_machine_for_the_compiler(tmp_path: Path) -> None:
    path = tmp_path / "machine.json"
    assert run("epl-plan", "machine", "--devices=cpu:3", "-o", path).stderr == ""
    machine = json.loads(path.read_text())
    assert machine.pop("kind") == "cpu"
    assert {section: set(figures) for section, figures in machine.items()} == {
        "compute": {"f64", "f32", "f16"},
        "memory": {"bytes", "bytes_per_second", "latency_ns"},
        "within_process": {"bytes_per_second", "latency_ns"},
    }
    assert all(
        isinstance(figure, int) and figure > 0 for each in machine.values() for figure in each.values()
    )
    result = run("epl-compile", "-", f"--machine={path}", "--emit=kernel")
    assert result.returncode == 0, result.stderr
    assert f"f32 = {machine['compute']['f32']}" in result.stdout


def test_a_link_needs_two_devices() -> None:
    result = run("epl-plan", "machine", "--devices=cpu:1")
    assert result.returncode == 1
    assert result.stderr.startswith('error: devices are "cpu:1", expected two or more')


@pytest.mark.parametrize("kind", ["cpu", "a100", "h100", "h200", "b200"])
def test_a_kind_is_a_machine(kind: str) -> None:
    assert (
        f'#epl.machine<kind = "{kind}"'
        in run("epl-compile", "-", f"--machine={kind}", "--emit=kernel").stdout
    )


def test_a_bad_file_is_an_error_with_its_place(tmp_path: Path) -> None:
    path = write(tmp_path / "machine.json", {"memory": {"bytes": "many"}})
    result = run("epl-compile", "-", f"--machine={path}", "-o", tmp_path / "x.eplan")
    expected = f'machine file "{path}": "memory.bytes" is "many", expected a whole number of at least 1'
    assert (result.returncode, result.stderr) == (1, f"error: {expected}\n")
    with pytest.raises(epl.CompileError, match=r'"memory\.bytes" is "many"'):
        compiled(path)
    with pytest.raises(epl.CompileError, match='machine "toaster" is none of "cpu", "a100"'):
        compiled("toaster")


def test_the_machine_decides_and_a_changed_file_is_another_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sums are joined as far as the link's latency is worth it; the plan cache knows the file's content."""
    monkeypatch.setenv("EPL_CACHE_DIR", str(tmp_path / "cache"))
    path = write(tmp_path / "Machine.json", PATIENT)
    joined = count_collectives(compiled(path), tmp_path / "a.eplan")
    assert joined > 0
    assert joined == count_collectives(compiled(None), tmp_path / "b.eplan")
    write(path, HASTY)
    assert count_collectives(compiled(path), tmp_path / "c.eplan") > joined
