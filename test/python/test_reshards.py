"""Programs sharded by hand: every change of sharding gives the numbers of one device, on 2 to 8 devices."""

from __future__ import annotations

import itertools
import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

BIN = Path(__file__).parents[2] / "build" / "bin"

Mesh = dict[str, int]
Sharding = tuple[tuple[str, ...], ...]  # the axes of each dimension
MESHES: dict[int, Mesh] = {
    2: {"data": 2},
    3: {"data": 3},
    4: {"data": 2, "model": 2},
    6: {"data": 2, "model": 3},
    8: {"data": 2, "model": 2, "expert": 2},
}
SHAPE = (24, 48)


def shardings(mesh: Mesh) -> list[Sharding]:
    """Each axis splits the rows, the columns or nothing."""
    places = itertools.product(range(3), repeat=len(mesh))
    return [
        tuple(tuple(axis for axis, at in zip(mesh, place, strict=True) if at == dim) for dim in range(2))
        for place in places
    ]


def attribute(sharding: Sequence[Sequence[str]]) -> str:
    dims = ", ".join("{" + ", ".join(f'"{axis}"' for axis in axes) + "}" for axes in sharding)
    return f"#epl.sharding<@mesh, [{dims}]>"


def header(mesh: Mesh) -> str:
    axes = ", ".join(f'"{axis}"={size}' for axis, size in mesh.items())
    return f"epl.mesh @mesh axes [{axes}]\n"


def argument(name: str, role: str, kind: str, sharding: Sequence[Sequence[str]]) -> str:
    return f'%{name}: {kind} {{{role}, epl.name = "{name}", epl.sharding = {attribute(sharding)}}}'


def state(name: str, kind: str, sharding: Sequence[Sequence[str]]) -> str:
    return argument(name, 'epl.role = "state"', kind, sharding)


def batch(name: str, kind: str, sharding: Sequence[Sequence[str]]) -> str:
    return argument(name, 'epl.role = "batch", epl.batch_dim = 0 : i64', kind, sharding)


def run(folder: Path, text: str, devices: int, inputs: list[np.ndarray]) -> tuple[list[np.ndarray], str]:
    """The results, each of its input's shape, and the plan as text."""
    (folder / "in").mkdir()
    (folder / "step.mlir").write_text(text)
    for slot, value in enumerate(inputs):
        value.tofile(folder / "in" / f"s{slot}.bin")
    compile_: list[str | Path] = [
        BIN / "epl-compile",
        "step.mlir",
        f"--devices=cpu:{devices}",
        "-o",
        "step.eplan",
    ]
    start: list[str | Path] = [BIN / "epl-run", "step.eplan", "--inputs=in", "--outputs=out"]
    for command in (compile_, start):
        result = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        assert result.returncode == 0, result.stderr
    dump = [BIN / "epl-plan", "dump", "step.eplan"]
    plan = subprocess.run(dump, cwd=folder, capture_output=True, text=True, check=True).stdout
    files = sorted((folder / "out").iterdir(), key=lambda file: int(file.stem[1:]))
    return [np.fromfile(file, np.int32) for file in files], plan


@pytest.mark.parametrize("devices", MESHES)
@pytest.mark.parametrize("shift", [1, 2, 4])
def test_states_that_take_each_others_places(tmp_path: Path, devices: int, shift: int) -> None:
    """State i becomes what state i + shift was, so that each of these pairs of shardings is one reshard."""
    mesh = MESHES[devices]
    kinds = shardings(mesh)
    count = len(kinds)
    kind = f"tensor<{SHAPE[0]}x{SHAPE[1]}xi32>"
    arguments = [state(f"s{i}", kind, sharding) for i, sharding in enumerate(kinds)]
    arguments.append(state("steps", "tensor<i32>", ()))  # so that there is something to do
    updates = ", ".join(f"{kind} {{epl.updates = {i} : i64}}" for i in range(count))
    results = ", ".join(f"%s{(i + shift) % count}" for i in range(count))
    text = (
        f"{header(mesh)}func.func @main({', '.join(arguments)}) -> ({updates}, tensor<i32>) {{\n"
        f"  %next = arith.addi %steps, %steps : tensor<i32>\n"
        f"  return {results}, %next : {', '.join([kind] * count)}, tensor<i32>\n}}\n"
    )
    size = SHAPE[0] * SHAPE[1]
    inputs = [np.arange(i * size, (i + 1) * size, dtype=np.int32) for i in range(count)]
    found, plan = run(tmp_path, text, devices, [*inputs, np.array(1, np.int32)])
    for i, value in enumerate(found[:count]):
        np.testing.assert_array_equal(value, inputs[(i + shift) % count], err_msg=str(kinds[i]))
    assert "exchange_blocks" in plan


@pytest.mark.parametrize("devices", MESHES)
@pytest.mark.parametrize("operation", ["addi", "maxsi"])
def test_sums_that_are_kept_in_parts(tmp_path: Path, devices: int, operation: str) -> None:
    """Every state adds what is pending over all axes, or over one while others split it."""
    mesh = MESHES[devices]
    axes = list(mesh)
    targets = shardings(mesh)
    sources = [(axes, (), ()), (axes[:1], axes[1:], ()), (axes[-1:], (), axes[:-1])]
    chosen = [sources[i % len(sources)] for i in range(len(targets))]
    kind, samples = f"tensor<{SHAPE[0]}x{SHAPE[1]}xi32>", f"tensor<24x{SHAPE[0]}x{SHAPE[1]}xi32>"
    count = len(targets)
    arguments = [state(f"s{i}", kind, sharding) for i, sharding in enumerate(targets)]
    arguments += [batch(f"x{i}", samples, sharding) for i, sharding in enumerate(chosen)]
    updates = ", ".join(f"{kind} {{epl.updates = {i} : i64}}" for i in range(count))
    body = f"  %first = arith.constant dense<{0 if operation == 'addi' else -(2**31)}> : {kind}\n"
    for i in range(count):
        body += (
            f"  %r{i} = linalg.reduce {{ arith.{operation} }} ins(%x{i} : {samples}) outs(%first : {kind}) "
            f"dimensions = [0]\n  %n{i} = arith.addi %s{i}, %r{i} : {kind}\n"
        )
    results = ", ".join(f"%n{i}" for i in range(count))
    text = (
        f"{header(mesh)}func.func @main({', '.join(arguments)}) -> ({updates}) {{\n"
        f"{body}  return {results} : {', '.join([kind] * count)}\n}}\n"
    )
    random = np.random.default_rng(devices)
    inputs = [random.integers(-1000, 1000, SHAPE, np.int32) for _ in targets]
    inputs += [random.integers(-1000, 1000, (24, *SHAPE), np.int32) for _ in targets]
    found, plan = run(tmp_path, text, devices, inputs)
    reduce = np.sum if operation == "addi" else np.max
    for i, value in enumerate(found):
        wanted = inputs[i] + reduce(inputs[count + i], 0)
        np.testing.assert_array_equal(value.reshape(SHAPE), wanted, err_msg=f"{chosen[i]} to {targets[i]}")
    assert "reduce_blocks" in plan


def adam(update: str, moment: Sharding) -> str:
    """One parameter on two devices, its moment sharded as is said."""
    kind, map_ = "tensor<8x6xf32>", "affine_map<(i, j) -> (i, j)>"
    return f"""{header({"data": 2})}
func.func @main({state("w", kind, ((), ()))}, {state("m", kind, moment)},
                %x: tensor<16x8x6xf32> {{epl.role = "batch", epl.batch_dim = 0 : i64}})
    -> ({kind} {{epl.updates = 0 : i64}}, {kind} {{epl.updates = 1 : i64}}) {{
  %zero = arith.constant dense<0.0> : {kind}
  %g = linalg.reduce {{ arith.addf }} ins(%x : tensor<16x8x6xf32>) outs(%zero : {kind}) dimensions = [0]
  %e = tensor.empty() : {kind}
  %m1 = linalg.generic {{indexing_maps = [{map_}, {map_}, {map_}], iterator_types = ["parallel", "parallel"]}}
      ins(%m, %g : {kind}, {kind}) outs(%e : {kind}) {{
  ^bb0(%a: f32, %b: f32, %out: f32):
    %c = arith.{update} %a, %b : f32
    linalg.yield %c : f32
  }} -> {kind}
  %w1 = arith.subf %w, %m1 : {kind}
  return %w1, %m1 : {kind}, {kind}
}}
"""


@pytest.mark.parametrize("update", ["addf", "maximumf"])
def test_gradients_go_straight_into_sharded_optimizer_state(tmp_path: Path, update: str) -> None:
    """ZeRO: with the moment split, a gradient is scattered and the new parameter gathered, no more."""
    x = np.random.default_rng(0).integers(-8, 8, (16, 8, 6)).astype(np.float32)
    w, m = np.ones((8, 6), np.float32), np.full((8, 6), 2, np.float32)
    gradient = x.sum(0)
    moment = m + gradient if update == "addf" else np.maximum(m, gradient)
    for name, sharding, expected in (
        ("whole", ((), ()), ["reduce_part", "gather_parts"]),
        ("rows", (("data",), ()), ["reduce_blocks", "gather_blocks"]),
        ("columns", ((), ("data",)), ["reduce_blocks", "gather_blocks"]),
    ):
        folder = tmp_path / name
        folder.mkdir()
        found, plan = run(folder, adam(update, sharding), 2, [w, m, x])
        actions = ["reduce_part", "gather_parts", "reduce_blocks", "gather_blocks", "exchange_blocks"]
        assert [action for action in actions if f" {action} " in plan] == expected
        np.testing.assert_array_equal(found[0].view(np.float32).reshape(8, 6), w - moment)
        np.testing.assert_array_equal(found[1].view(np.float32).reshape(8, 6), moment)
