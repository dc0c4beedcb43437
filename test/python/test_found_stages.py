"""Stages that the compiler finds: by any cut what one device gives, cut where the largest stage is least."""

from __future__ import annotations

import importlib
import json
import os
import re
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import epl
from pipeline_steps import whole_numbers
from steps import assert_near
from test_micro_batches import MIXING, OF_EACH
from test_models import NAMES, train

HERE = Path(__file__).name


def found(step: Any, stages: int, count: int, devices: int, **options: Any) -> Any:
    """A step without scopes, whose stages the compiler finds."""
    config = {
        "auto.auto_parallel": True,
        "pipeline.num_stages": stages,
        "pipeline.num_micro_batch": count,
        **options.pop("config", {}),
    }
    return epl.parallelize(step, devices=devices, config=config, **options)


def integers(
    ws: list[jax.Array], x: jax.Array, key: jax.Array
) -> tuple[list[jax.Array], jax.Array, jax.Array, jax.Array]:
    """Layers of whole numbers, no scope: dropout, a residual over all, the first weight again in the end, a
    result for each sample and a maximum."""

    def loss(ws: list[jax.Array]) -> tuple[jax.Array, jax.Array]:
        h = x
        for index, w in enumerate(ws):
            kept = jax.random.bernoulli(jax.random.fold_in(key, index), 0.7, h.shape)
            h = jnp.where(kept, h, 0) @ w
        h = (h + x) @ ws[0]
        return (h * x).sum(), h

    (value, h), gradients = jax.value_and_grad(loss, has_aux=True)(ws)
    return [w - g for w, g in zip(ws, gradients, strict=True)], value, h.max(axis=1), jnp.abs(h).max()


def assert_same_bits(made: Any, step: Any, arguments: Any) -> None:
    expected = jax.tree.leaves(jax.jit(step)(*arguments))
    for result, wanted in zip(jax.tree.leaves(made(*arguments)), expected, strict=True):
        np.testing.assert_array_equal(result, wanted)


@pytest.mark.parametrize("schedule", ["gpipe", "1f1b", "zb-h1"])
@pytest.mark.parametrize(
    ("layers", "stages", "count", "devices"), [(3, 2, 4, 2), (5, 4, 4, 4), (3, 2, 2, 4), (4, 3, 1, 3)]
)
def test_whole_numbers_are_bit_equal(
    layers: int, stages: int, count: int, devices: int, schedule: str
) -> None:
    config = {"pipeline.strategy": schedule}
    made = found(integers, stages, count, devices, config=config, state="ws", batch="x")
    assert_same_bits(made, integers, whole_numbers(layers, 16))


def test_a_scope_is_cut_like_a_step() -> None:
    def step(ws: list[jax.Array], x: jax.Array, key: jax.Array) -> Any:
        with epl.auto_stages(2):
            return integers(ws, x, key)

    config = {"pipeline.num_micro_batch": 4}
    made = epl.parallelize(step, devices=2, config=config, state="ws", batch="x")
    arguments = whole_numbers(3, 16)
    assert_same_bits(made, integers, arguments)
    layout = made.lower(*arguments).compile().layout
    assert layout == found(integers, 2, 4, 2, state="ws", batch="x").lower(*arguments).compile().layout


def test_a_scope_on_one_device_is_not_cut() -> None:
    assert_same_bits(found(integers, 2, 2, 1, state="ws", batch="x"), integers, whole_numbers(3, 16))


def test_found_stages_beside_a_scope() -> None:
    """Three of the devices' four parts are found, one is written."""

    def step(ws: list[jax.Array], x: jax.Array) -> Any:
        def loss(ws: list[jax.Array]) -> jax.Array:
            h = x
            with epl.auto_stages(3, name="body"):
                for w in ws[:-1]:
                    h = h @ w
            with epl.replicate(name="head"):
                return ((h @ ws[-1]) * x).sum()

        value, gradients = jax.value_and_grad(loss)(ws)
        return [w - g for w, g in zip(ws, gradients, strict=True)], value

    config = {"pipeline.num_micro_batch": 2}
    made = epl.parallelize(step, devices=4, config=config, state="ws", batch="x")
    assert_same_bits(made, step, whole_numbers(5, 8)[:2])


def scanned(ws: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Layers that are iterations over stacked parameters."""

    def loss(ws: jax.Array) -> jax.Array:
        h, _ = jax.lax.scan(lambda h, w: (h @ w, None), x, ws)
        return (h * x).sum()

    value, gradient = jax.value_and_grad(loss)(ws)
    return ws - gradient, value


@pytest.mark.parametrize("count", [1, 4])
def test_layers_of_a_scan_are_spread(count: int) -> None:
    ws, x, _ = whole_numbers(4, 16)
    made = found(scanned, 2, count, 2, state="ws", batch="x")
    assert_same_bits(made, scanned, (np.stack(ws), x))


def one_scope(monkeypatch: pytest.MonkeyPatch, stages: int) -> None:
    """All scopes of a model are one, which is cut."""
    for name in ("replicate", "split"):
        monkeypatch.setattr(epl, name, lambda *_, **__: epl.auto_stages(stages, name="model"))


def recomputed(ws: list[jax.Array], x: jax.Array) -> Any:
    """Two products are recomputed as one: a cut between them is within that."""

    @jax.checkpoint
    def layer(h: jax.Array, a: jax.Array, b: jax.Array) -> jax.Array:
        return jnp.maximum(jnp.maximum(h @ a, 0) @ b, 0) + h

    def loss(ws: list[jax.Array]) -> jax.Array:
        h = x
        for a, b in zip(ws[::2], ws[1::2], strict=True):
            h = layer(h, a, b)
        return (h * x).sum()

    value, gradients = jax.value_and_grad(loss)(ws)
    return [w - g for w, g in zip(ws, gradients, strict=True)], value


@pytest.mark.parametrize(("stages", "count"), [(2, 4), (3, 1), (4, 4)])
def test_recomputed_work_is_cut(stages: int, count: int) -> None:
    made = found(recomputed, stages, count, stages, state="ws", batch="x")
    assert_same_bits(made, recomputed, whole_numbers(4, 16)[:2])


CUTS = [(2, 4, 2), (4, 4, 4), (2, 2, 4)] if os.environ.get("EPL_NIGHTLY") else [(2, 4, 2), (4, 4, 4)]


@pytest.mark.parametrize(("stages", "count", "devices"), CUTS)
@pytest.mark.parametrize("name", ["gpt", "mlp"])
def test_models_in_found_stages(
    name: str, stages: int, count: int, devices: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = importlib.import_module(f"models.{name}").build()
    expected, expected_losses = train(model, [jax.jit(step) for step in model.steps])
    if name == "mlp" and stages > 3:
        pytest.skip("it has three products")
    one_scope(monkeypatch, stages)
    config = {"pipeline.num_micro_batch": count}
    steps = [epl.parallelize(s, state="state", batch=1, devices=devices, config=config) for s in model.steps]
    state, losses = train(model, steps)
    np.testing.assert_allclose(losses, expected_losses, rtol=model.tolerance)
    assert_near(state, expected, 10 * model.tolerance)


SOME = NAMES if os.environ.get("EPL_NIGHTLY") else ["cnn", "gan", "lstm", "moe_top_k", "translator"]


@pytest.mark.parametrize("name", [name for name in SOME if name not in MIXING.keys() | OF_EACH])
def test_models_that_nobody_has_cut(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Right, or an error at a line."""
    model = importlib.import_module(f"models.{name}").build()
    expected, expected_losses = train(model, [jax.jit(step) for step in model.steps])
    one_scope(monkeypatch, 2)
    config = {"pipeline.num_micro_batch": 2}
    steps = [epl.parallelize(s, state="state", batch=1, devices=2, config=config) for s in model.steps]
    try:
        state, losses = train(model, steps)
    except epl.CompileError as error:
        if error.place is None:
            raise
        return
    np.testing.assert_allclose(losses, expected_losses, rtol=model.tolerance)
    assert_near(state, expected, 10 * model.tolerance)


def layers(ws: list[jax.Array], x: jax.Array) -> Any:
    """Eight products alike."""

    def loss(ws: list[jax.Array]) -> jax.Array:
        h = x
        for w in ws:
            h = h @ w
        return (h * x).sum()

    value, gradients = jax.value_and_grad(loss)(ws)
    return [w - g for w, g in zip(ws, gradients, strict=True)], value


def machine(folder: Path, name: str, speed: int) -> str:
    """A file of a machine of so many 10^9 multiply-adds a second, whose links take next to no time."""
    rate, link = speed * 10**9, {"bytes_per_second": 10**13, "latency_ns": 1}
    figures = {
        "compute": {"f64": rate, "f32": rate, "f16": rate},
        "memory": {"bytes_per_second": 10**13},
        "within_process": link,
    }
    path = folder / f"{name}.json"
    path.write_text(json.dumps(figures))
    return str(path)


ALIKE = ([np.ones((256, 256), np.float32)] * 8, np.ones((256, 256), np.float32))


@pytest.mark.parametrize(("first", "second", "blocks"), [(3, 1, 6), (1, 3, 2), (1, 1, 4)])
def test_faster_devices_get_more_work(first: int, second: int, blocks: int, tmp_path: Path) -> None:
    machines = machine(tmp_path, "first", first), machine(tmp_path, "second", second)
    config = {"cluster.machine": ",".join(machines)}
    lowered = found(layers, 2, 4, 2, config=config, state="ws", batch="x").lower(*ALIKE)
    assert re.search(rf"^\| +0 \| 0 to {blocks - 1} ", lowered.explain(), re.M)
    alike = found(layers, 2, 4, 2, state="ws", batch="x").lower(*ALIKE).compile()
    run = {"gflops": 1.0, "gbps": 1000.0, "speeds": (first, second)}
    makespan, other = lowered.compile().simulate(**run).makespan, alike.simulate(**run).makespan
    assert makespan == pytest.approx(other) if first == second else makespan < 0.8 * other


def test_replicas_of_unequal_machines_are_refused(tmp_path: Path) -> None:
    machines = machine(tmp_path, "first", 3), machine(tmp_path, "second", 1)
    config = {"cluster.machine": ",".join(machines)}
    step = epl.parallelize(layers, devices=2, config=config, state="ws", batch="x")
    with pytest.raises(epl.CompileError, match=r"2 machines for 1 mesh.*1\.00 : 0\.33.*auto_stages"):
        step.lower(*ALIKE).compile()


def test_speeds_are_those_of_meshes() -> None:
    made = found(integers, 2, 4, 2, state="ws", batch="x").lower(*whole_numbers(3, 16)).compile()
    with pytest.raises(epl.Error, match="--speeds has 3 numbers, expected one for each of 2 meshes"):
        made.simulate(gflops=1.0, gbps=1.0, speeds=(1, 2, 3))


def test_stages_without_samples_are_refused() -> None:
    step = found(integers, 2, 1, 2, state="ws")
    with pytest.raises(epl.CompileError, match="no forward work multiplies samples of a batch") as error:
        step.lower(*whole_numbers(3, 16)).compile()
    assert f"{HERE}:" in str(error.value)


def test_more_stages_than_blocks() -> None:
    step = found(integers, 5, 1, 5, state="ws", batch="x")
    with pytest.raises(epl.CompileError, match=r"5 stages .* has 4 blocks") as error:
        step.lower(*whole_numbers(3, 16)).compile()
    assert f"{HERE}:" in str(error.value)


def test_scopes_beside_the_setting() -> None:
    def step(w: jax.Array, x: jax.Array) -> Any:
        with epl.replicate():
            return w - (x @ w).mean(), x.sum()

    with pytest.raises(epl.ScopeError, match=r"auto\.auto_parallel.*epl\.auto_stages"):
        found(step, 2, 1, 2, state="w", batch="x").lower(np.ones((3, 3)), np.ones((4, 3)))


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"auto.auto_parallel": True}, r'needs "pipeline\.num_stages".*found -1'),
        (
            {
                "auto.auto_parallel": True,
                "pipeline.num_stages": 2,
                "cluster.colocate_split_and_replicate": True,
            },
            "choose one",
        ),
        ({"pipeline.schedule": "table.txt"}, r'found "table\.txt" and "pipeline\.num_micro_batch" = 1'),
    ],
)
def test_settings_that_do_not_go_together(config: dict[str, Any], said: str) -> None:
    with pytest.raises(epl.ConfigError, match=said):
        epl.Config(config)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: epl.auto_stages(0), "num_stages of epl.auto_stages must be at least 1, found 0"),
        (lambda: epl.auto_stages("4"), r"write epl\.auto_stages\(4\)"),
        (lambda: epl.auto_stages(2, device_count=0), "device_count of epl.auto_stages must be at least 1"),
        (lambda: epl.auto_stages(2, name="a b"), "name of epl.auto_stages may hold"),
        (lambda: epl.set_default_strategy(epl.auto_stages(2)), "default strategy must be epl.replicate"),
    ],
)
def test_counts_that_are_none(make: Any, said: str) -> None:
    with pytest.raises(epl.ScopeError, match=said):
        make()


def test_explain_shows_the_cut_and_the_next_best() -> None:
    text = found(integers, 2, 4, 2, state="ws", batch="x").lower(*whole_numbers(3, 16)).explain()
    assert re.search(r"4 blocks in 2 stages: the largest takes \d+\.\d{3} ms in a step, \d+ bytes", text)
    line = integers.__code__.co_firstlineno + 10
    assert re.search(rf"^\| +0 \| 0.* \| dot_general {HERE}:{line} ", text, re.M)
    assert re.search(
        r"^\| next best: blocks 0.* \| .*: the largest takes \d+\.\d{3} ms, \d+ bytes", text, re.M
    )
