"""EPL's own tests of strategies and splits, by the numbers that they have in reference/epl.md, section 7.

Those of task graphs that one sees in the compiler only are in test/lit/annotate/epl-cases.mlir.
"""

from __future__ import annotations

import contextlib
import itertools
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import epl
from steps import assert_near

BIN = Path(__file__).parents[2] / "build" / "bin"
ROWS, WIDTH = 8, 12
COLOCATED = {"cluster.colocate_split_and_replicate": True}
Scoped = Callable[[], Any]


def dense(scope: Scoped, columns: int) -> tuple[Callable[..., Any], Any, jax.Array, jax.Array]:
    """A step of a dense layer and a softmax loss under a scope; parameters, samples and labels."""
    random = np.random.default_rng(0)
    params = {"w": jnp.asarray(random.normal(size=(WIDTH, columns)), jnp.float32), "b": jnp.zeros(columns)}
    x = jnp.asarray(random.normal(size=(ROWS, WIDTH)), jnp.float32)
    y = jnp.asarray(random.integers(0, columns, ROWS), jnp.int32)

    def loss(params: Any, x: jax.Array, y: jax.Array) -> jax.Array:
        with scope():
            logits = x @ params["w"] + params["b"]
            return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()

    def step(params: Any, x: jax.Array, y: jax.Array) -> tuple[Any, jax.Array]:
        value, gradients = jax.value_and_grad(loss)(params, x, y)
        return jax.tree.map(lambda p, g: p - 0.5 * g, params, gradients), value

    return step, params, x, y


def check(scope: Scoped, columns: int, devices: int, config: Any = None) -> Any:
    """Three steps on the devices as `jax.jit` takes them; the compiled step."""
    step, params, x, y = dense(scope, columns)
    return check_step(step, params, x, y, devices, config)


def check_step(
    step: Any, params: Any, x: jax.Array, y: jax.Array, devices: int | str, config: Any = None
) -> Any:
    parallel = epl.parallelize(step, state="params", batch=("x", "y"), devices=devices, config=config)
    compiled = parallel.lower(params, x, y).compile()
    found = expected = params
    for _ in range(3):
        found, loss = parallel(found, x, y)
        expected, expected_loss = jax.jit(step)(expected, x, y)
        np.testing.assert_allclose(loss, expected_loss, rtol=1e-5)
    assert_near(found, expected, 1e-5)
    return compiled


def count_task_graphs(scope: Scoped) -> int:
    step, params, x, y = dense(scope, 8)
    lowered = epl.parallelize(step, state="params", batch=("x", "y"), devices=2).lower(params, x, y)
    return int(lowered.as_text(stage="global").count("\nscope tg"))


@pytest.mark.parametrize("devices", [1, 2, 4])
def test_case_10_one_replicate_takes_all_devices(devices: int) -> None:
    assert f"data {devices}" in check(epl.replicate, 8, devices).layout


def stages(*scopes: Scoped) -> tuple[Callable[..., Any], Any, jax.Array, jax.Array]:
    """Like `dense`, behind a layer in each of the scopes but the last one."""
    head, params, x, y = dense(scopes[-1], 8)

    def step(params: Any, x: jax.Array, y: jax.Array) -> tuple[Any, jax.Array]:
        for scope in scopes[:-1]:
            with scope():
                x = jnp.tanh(x + x.mean(axis=1, keepdims=True))
        return head(params, x, y)

    return step, params, x, y


@pytest.mark.parametrize(
    ("case", "scopes", "devices", "first"),
    [
        (11, [epl.replicate] * 2, 4, ["data 2"] * 2),
        (13, [epl.replicate] * 4, 4, ["data 1"] * 4),
        (17, [lambda: epl.replicate(2)] * 2, 8, ["data 2, data2 2"] * 2),
        (18, [epl.replicate] * 2, 8, ["data 4"] * 2),
        (18, [epl.replicate] * 2, 2, ["data 1"] * 2),
    ],
)
def test_cases_11_to_18_task_graphs_on_devices_of_their_own(
    case: int, scopes: Any, devices: int, first: list[str]
) -> None:
    """Which devices these are, is in test/lit/annotate/epl-cases-placement.mlir."""
    compiled = check_step(*stages(*scopes), devices)
    assert compiled.layout == f"cpu:{devices} = " + " + ".join(f"[{axes}]" for axes in first), case


@pytest.mark.parametrize(
    ("intra", "placed"), [(True, ["cpu:0, cpu:2", "cpu:1, cpu:3"]), (False, ["cpu:0, cpu:1", "cpu:2, cpu:3"])]
)
def test_case_16_replicas_within_a_node_or_across(intra: bool, placed: list[str], tmp_path: Path) -> None:
    """Nodes have devices 0 and 1, 2 and 3."""
    config = {"cluster.device_place_prefer_intra_node": intra}
    compiled = check_step(*stages(epl.replicate, epl.replicate), "cpu:2x2", config)
    compiled.save(tmp_path / "step.eplan")
    command = [BIN / "epl-plan", "explain", tmp_path / "step.eplan"]
    explained = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert re.findall(r"== part \d of 2, on (.*)", explained) == placed
    assert compiled.layout == ("cpu:4" if intra else "cpu:2x2") + " = [data 2] + [data 2]"
    if intra:
        epl.load(tmp_path / "step.eplan", devices="cpu:4")
    else:
        assert epl.load(tmp_path / "step.eplan").plan.device_string == "cpu:2x2"
        with pytest.raises(epl.Error, match=r'is for "cpu:2x2", .* found "cpu:4"'):
            epl.load(tmp_path / "step.eplan", devices="cpu:4")


def test_case_15_devices_that_the_sum_of_counts_does_not_divide() -> None:
    step, params, x, y = stages(epl.replicate, lambda: epl.replicate(device_count=2))
    parallel = epl.parallelize(step, state="params", batch=("x", "y"), devices=4)
    with pytest.raises(epl.CompileError, match=r"2 task graphs over 3 devices on 4, expected .*, or clust"):
        parallel(params, x, y)
    shared = epl.parallelize(step, state="params", batch=("x", "y"), devices=4, config=COLOCATED)
    shared.lower(params, x, y).compile().check(params, x, y)


@pytest.mark.parametrize("config", [None, COLOCATED])
def test_case_14_a_default_strategy_is_one_task_graph_on_all_devices(config: Any) -> None:
    epl.set_default_strategy(epl.replicate(device_count=1))
    assert count_task_graphs(lambda: jax.named_scope("none")) == 1
    assert "data 2" in check(lambda: jax.named_scope("none"), 8, 2, config).layout


@pytest.mark.parametrize(("scope", "count"), [(epl.replicate, 3), (epl.split, 3), (epl.split, 8)])
def test_case_15_devices_that_the_count_does_not_divide(scope: Any, count: int) -> None:
    step, params, x, y = dense(lambda: scope(device_count=count), 8)
    parallel = epl.parallelize(step, state="params", batch=("x", "y"), devices=4)
    with pytest.raises(epl.CompileError, match=rf"over {count} devices on 4, expected .* divides"):
        parallel(params, x, y)


@pytest.mark.parametrize(("outer", "inner"), list(itertools.product([epl.replicate, epl.split], repeat=2)))
def test_case_19_scopes_do_not_nest(outer: Any, inner: Any) -> None:
    @contextlib.contextmanager
    def scope() -> Iterator[None]:
        with outer(name="outer"), inner(name="inner"):
            yield

    step, params, x, y = dense(scope, 8)
    with pytest.raises(epl.ScopeError, match=r'name="inner"\) is entered inside .*name="outer"'):
        epl.parallelize(step, state="params", batch=("x", "y"), devices=2).lower(params, x, y)


def test_case_21_a_second_default_strategy_replaces_the_first() -> None:
    epl.set_default_strategy(epl.replicate(device_count=1))
    epl.set_default_strategy(epl.replicate(device_count=2))
    step, params, x, y = dense(lambda: jax.named_scope("none"), 8)
    lowered = epl.parallelize(step, state="params", batch=("x", "y"), devices=2).lower(params, x, y)
    text = lowered.as_text(stage="global")
    assert text.count("\nscope tg") == 1
    assert "scope tg0: replicate, 2 devices" in text


@pytest.mark.parametrize("devices", [2, 4])
def test_cases_61_and_62_experts_in_a_split_under_a_default(devices: int) -> None:
    """Built in one entry and called in another: one task graph here, since both are the same split. The
    experts are split, gradients are where their parameters are, and dense layers stay whole."""
    epl.set_default_strategy(epl.replicate(device_count=1))
    random = np.random.default_rng(0)
    shapes = {"dense": (WIDTH, WIDTH), "gate": (WIDTH, 10), "up": (10, WIDTH, 16), "down": (10, 16, WIDTH)}
    params = {name: jnp.asarray(random.normal(0, 0.3, shape), jnp.float32) for name, shape in shapes.items()}

    def loss(params: Any, x: jax.Array, y: jax.Array) -> jax.Array:
        with epl.split(device_count=2):
            up, down = 2 * params["up"], 2 * params["down"]
        h = jnp.tanh(x @ params["dense"])
        gates = jax.nn.softmax(h @ params["gate"])
        with epl.split(device_count=2):
            sent = jnp.einsum("be,bw->ebw", (gates > 0.1).astype(h.dtype), h)
            made = jnp.einsum("ebh,ehw->ebw", jax.nn.relu(jnp.einsum("ebw,ewh->ebh", sent, up)), down)
            h = h + jnp.einsum("be,ebw->bw", gates, made)
        return optax.softmax_cross_entropy_with_integer_labels(h, y).mean()

    def step(params: Any, x: jax.Array, y: jax.Array) -> tuple[Any, jax.Array]:
        value, gradients = jax.value_and_grad(loss)(params, x, y)
        return jax.tree.map(lambda p, g: p - 0.05 * g, params, gradients), value

    x = jnp.asarray(random.normal(size=(ROWS, WIDTH)), jnp.float32)
    y = jnp.asarray(random.integers(0, WIDTH, ROWS), jnp.int32)
    compiled = check_step(step, params, x, y, devices, COLOCATED)
    text = compiled.lowered.as_text("local")
    split = {name for name in shapes if re.search(rf'model"\}}[^>]*>> {{epl.name = "params\[\'{name}', text)}
    assert split == {"up", "down"}


@pytest.mark.parametrize("columns", [10, 7])
def test_case_63_columns_that_the_devices_do_not_divide(columns: int) -> None:
    """EPL gives the first device more; here another dimension is split or none; numbers are right."""
    check(lambda: epl.split(device_count=4), columns, 4)


@pytest.mark.parametrize(("count", "devices"), [(2, 2), (4, 4), (2, 4), (4, 8)])
def test_case_64_a_split_loss_is_that_of_one_device(count: int, devices: int) -> None:
    """EPL's gradients of split parameters are as many times too large as there are devices."""
    compiled = check(lambda: epl.split(device_count=count), 4 * count, devices)
    assert f"model {count}" in compiled.layout


@pytest.mark.parametrize(("count", "devices"), [(2, 2), (4, 4), (2, 4)])
def test_case_64_behind_a_body_on_the_same_devices(count: int, devices: int) -> None:
    """Features of the body are gathered to the batch that a replica of the head has."""
    split = dense(lambda: epl.split(device_count=count), 4 * count)

    def step(params: Any, x: jax.Array, y: jax.Array) -> Any:
        with epl.replicate():
            x = jnp.tanh(x * 2)
        return split[0](params, x, y)

    compiled = check_step(step, *split[1:], devices, COLOCATED)
    assert f"model {count}" in compiled.layout


@pytest.mark.parametrize("devices", [1, 2, 4])
def test_cases_44_and_45_merged_results(devices: int) -> None:
    """What EPL gathers and averages is the value of the whole batch, in whatever structure it is returned."""
    keys = epl.GraphKeys
    seen = {}

    def step(w: jax.Array, x: jax.Array, labels: jax.Array) -> Any:
        with epl.replicate():
            logits = x @ w
            losses = optax.softmax_cross_entropy_with_integer_labels(logits, labels)
            loss, hits = losses.mean(), (logits.argmax(-1) == labels).mean()
            epl.add_to_collection([x, labels], keys.GLOBAL_CONCAT_OBJECTS)
            epl.add_to_collection(loss, keys.GLOBAL_MEAN_OBJECTS)
            epl.add_to_collection(hits, keys.GLOBAL_MEAN_OBJECTS)
            epl.add_to_collection(losses.sum(), keys.GLOBAL_SUM_OBJECTS)
        seen.update({key: len(found) for key, found in epl.get_all_collections().items()})
        return w, {
            "batch": (x, [labels]),
            "loss": loss,
            "hits": hits,
            "sum": epl.get_collection(keys.GLOBAL_SUM_OBJECTS),
        }

    random = np.random.default_rng(0)
    w = jnp.asarray(random.normal(size=(WIDTH, 3)), jnp.float32)
    x, labels = (
        random.normal(size=(ROWS, WIDTH)).astype(np.float32),
        random.integers(0, 3, ROWS).astype(np.int32),
    )
    _, found = epl.parallelize(step, state="w", batch=("x", "labels"), devices=devices)(w, x, labels)
    assert list(seen.values()) == [2, 2, 1, 0, 0, 0]
    assert list(seen) == list(keys.ALL_COLLECTION_KEYS)
    np.testing.assert_array_equal(found["batch"][0], x)
    np.testing.assert_array_equal(found["batch"][1][0], labels)
    losses = optax.softmax_cross_entropy_with_integer_labels(x @ w, labels)
    np.testing.assert_allclose(found["loss"], losses.mean(), rtol=1e-5)
    np.testing.assert_allclose(found["sum"][0], losses.sum(), rtol=1e-5)
    assert found["hits"] == ((x @ w).argmax(-1) == labels).mean()
    assert not any(epl.get_all_collections().values())  # nothing outlives its trace


def test_unknown_collections_and_values_are_errors() -> None:
    with pytest.raises(KeyError, match='"losses" is no collection, expected one of global_concat_objects'):
        epl.add_to_collection(jnp.zeros(2), "losses")
    with pytest.raises(KeyError, match="is no collection"):
        epl.get_collection("losses")
    with pytest.raises(epl.ArgumentError, match='collection "global_sum_objects" takes arrays, found 1'):
        epl.add_to_collection([jnp.zeros(2), 1], epl.GraphKeys.GLOBAL_SUM_OBJECTS)


def test_cases_54_and_55_mixed_precision() -> None:
    """A dense product runs in 16 bits and trains; what overflows goes on: there is no scale to find."""
    config = {"amp.level": "O1", "amp.loss_scale": "dynamic", "pipeline.num_micro_batch": 3}
    step, params, _, _ = dense(epl.replicate, 4)
    random = np.random.default_rng(0)
    x, y = random.normal(size=(2 * WIDTH, WIDTH)).astype("f"), random.integers(0, 4, 2 * WIDTH)
    parallel = epl.parallelize(step, state="params", batch=("x", "y"), devices=2, config=config)
    assert "bf16[" in parallel.lower(params, x, y).as_text("global")
    losses = []
    for _ in range(5):
        params, loss = parallel(params, x, y)
        losses.append(float(loss))
    assert losses == sorted(losses, reverse=True)
    params, loss = parallel(jax.tree.map(lambda p: p * np.float32(1e38), params), x, y)
    assert not np.isfinite(float(parallel(params, x, y)[1]))
    with pytest.raises(epl.ConfigError, match=r'"amp\.loss_scale" must be "dynamic" or 1'):
        epl.Config({"amp.loss_scale": 128})
