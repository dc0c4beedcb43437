"""Pipelines, scopes with devices of their own in micro-batches: by any schedule what one device gives."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import epl
from pipeline_steps import deep, integers, whole_numbers
from steps import assert_near

SCHEDULES = ("gpipe", "1f1b", "preferbackwardoptimizer", "zb-h1")


def pipeline(step: Any, count: int, devices: int, schedule: str = "1f1b", **options: Any) -> Any:
    config = {"pipeline.num_micro_batch": count, "pipeline.strategy": schedule, **options.pop("config", {})}
    return epl.parallelize(step, devices=devices, config=config, **options)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize(
    ("stages", "count", "devices"), [(2, 2, 2), (2, 4, 4), (3, 8, 3), (4, 6, 4), (4, 1, 4)]
)
def test_whole_numbers_are_bit_equal(stages: int, count: int, devices: int, schedule: str) -> None:
    arguments = whole_numbers(stages, 24 if count == 6 else 16)
    made = pipeline(integers, count, devices, schedule, state="ws", batch="x")
    expected = jax.tree.leaves(jax.jit(integers)(*arguments))
    for found, wanted in zip(jax.tree.leaves(made(*arguments)), expected, strict=True):
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize(("stages", "meshes", "count", "devices"), [(4, 2, 4, 2), (4, 2, 8, 4), (6, 2, 2, 2)])
def test_several_stages_on_each_mesh(stages: int, meshes: int, count: int, devices: int) -> None:
    arguments = whole_numbers(stages, 16)
    config = {"pipeline.num_stages": meshes}
    made = pipeline(integers, count, devices, "interleaved", state="ws", batch="x", config=config)
    expected = jax.tree.leaves(jax.jit(integers)(*arguments))
    for found, wanted in zip(jax.tree.leaves(made(*arguments)), expected, strict=True):
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("name", ["zb-v-p2-m4", "dualpipe-v-p2-m4"])
def test_schedules_of_the_examples(name: str) -> None:
    """A V: each mesh has two stages, there and back."""
    arguments = whole_numbers(4, 16)
    table = Path(__file__).parents[2] / "examples" / "schedules" / f"{name}.txt"
    made = pipeline(integers, 4, 2, state="ws", batch="x", config={"pipeline.schedule": str(table)})
    expected = jax.tree.leaves(jax.jit(integers)(*arguments))
    for found, wanted in zip(jax.tree.leaves(made(*arguments)), expected, strict=True):
        np.testing.assert_array_equal(found, wanted)


def skipping(ws: list[jax.Array], x: jax.Array) -> tuple[list[jax.Array], jax.Array]:
    """What the first stage makes is added in later ones. The loss is linear: its gradient is of x alone."""

    def loss(ws: list[jax.Array]) -> jax.Array:
        h, first = x, jnp.zeros_like(x)
        for stage, w in enumerate(ws):
            with epl.replicate(name=f"stage{stage}"):
                h = jnp.clip(h @ w, -3, 3)
                first = h if stage == 0 else first
                h = h + first if stage >= 2 else h
        return 2 * (h * x).sum()

    value, gradients = jax.value_and_grad(loss)(ws)
    return [w - g for w, g in zip(ws, gradients, strict=True)], value


@pytest.mark.parametrize("table", ["interleaved", "dualpipe-v-p2-m4", "zb-v-p2-m4"])
def test_each_stage_of_a_mesh_makes_what_is_of_batches_alone(table: str) -> None:
    arguments = whole_numbers(4, 16)[:2]
    file = Path(__file__).parents[2] / "examples" / "schedules" / f"{table}.txt"
    by_file = {"pipeline.schedule": str(file)}
    config = {"pipeline.num_stages": 2} if table == "interleaved" else by_file
    made = pipeline(skipping, 4, 2, "interleaved", state="ws", batch="x", config=config)
    expected = jax.tree.leaves(jax.jit(skipping)(*arguments))
    for found, wanted in zip(jax.tree.leaves(made(*arguments)), expected, strict=True):
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize(
    ("stages", "config", "said"),
    [
        (3, {"pipeline.num_stages": 2}, r"3 scopes on 2 meshes \(pipeline.num_stages\), expected a multiple"),
        (4, {"pipeline.num_stages": 2}, "those with as many are interleaved"),
        (2, {"pipeline.strategy": "interleaved"}, "those with as many are gpipe"),
        (4, {"pipeline.num_stages": 4, "pipeline.num_micro_batch": 3}, "not divisible by 3 micro-batches"),
    ],
)
def test_numbers_of_stages_that_do_not_fit(stages: int, config: dict[str, Any], said: str) -> None:
    made = pipeline(integers, 4, 4, state="ws", batch="x", config=config)
    with pytest.raises(epl.CompileError, match=said):
        made.lower(*whole_numbers(stages, 16)).compile()


@pytest.mark.parametrize("level", ["v1", "v2", "v3"])
def test_states_are_shared_among_replicas_of_a_stage(level: str) -> None:
    arguments = whole_numbers(2, 16)
    made = pipeline(integers, 4, 4, state="ws", batch="x", config={"zero.level": level})
    expected = jax.tree.leaves(jax.jit(integers)(*arguments))
    for found, wanted in zip(jax.tree.leaves(made(*arguments)), expected, strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_a_later_pass_reads_what_an_earlier_one_has_kept_on_another_mesh() -> None:
    """Of two losses the second one reads the first one's activations, and what it has updated."""

    def step(w: jax.Array, v: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
        def first(w: jax.Array) -> tuple[jax.Array, jax.Array]:
            with epl.replicate(name="first"):
                h = x @ w
                return (h * h).sum(), h

        (value, h), gradient = jax.value_and_grad(first, has_aux=True)(w)
        w = w - gradient

        def second(v: jax.Array) -> jax.Array:
            with epl.replicate(name="second"):
                return ((h @ v) * w.sum()).sum()

        return w, v - jax.grad(second)(v), value

    (w, v), x, _ = whole_numbers(2, 16)
    made = pipeline(step, 4, 2, state=("w", "v"), batch="x")
    for found, wanted in zip(made(w, v, x), jax.jit(step)(w, v, x), strict=True):
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("trained", [(0, 1, 2), (0,), (0, 2), (2,)])
def test_gradients_that_are_the_same_for_all_micro_batches_are_sent_once(
    trained: tuple[int, ...], schedule: str
) -> None:
    """A last stage without a nonlinearity, as a critic's: its gradient reads no sample. Some are frozen."""

    def step(ws: list[jax.Array], x: jax.Array) -> tuple[list[jax.Array], jax.Array]:
        def loss(own: list[jax.Array]) -> jax.Array:
            used = dict(zip(trained, own, strict=True))
            h = x
            for index, w in enumerate(ws):
                with epl.replicate(name=f"stage{index}"):
                    h = h @ used.get(index, w)
                    h = jax.nn.relu(h) if index == 0 else h * 2
            return h.sum()

        value, gradients = jax.value_and_grad(loss)([ws[index] for index in trained])
        new = dict(zip(trained, gradients, strict=True))
        return [w - new[index] if index in new else w for index, w in enumerate(ws)], value

    ws, x, _ = whole_numbers(3, 16)
    made = pipeline(step, 4, 3, schedule, state="ws", batch="x")
    expected = jax.tree.leaves(jax.jit(step)(ws, x))
    for found, wanted in zip(jax.tree.leaves(made(ws, x)), expected, strict=True):
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize(("split", "devices"), [({0}, 4), ({1}, 8), ({0, 1, 2}, 6)])
def test_what_a_split_stage_receives_is_split_in_each_micro_batch(
    split: set[int], devices: int, schedule: str
) -> None:
    """Gradients come whole to a stage that shares its features among two devices."""

    def step(ws: list[jax.Array], x: jax.Array) -> tuple[list[jax.Array], jax.Array]:
        def loss(ws: list[jax.Array]) -> jax.Array:
            h = x
            for index, w in enumerate(ws):
                name = f"stage{index}"
                with epl.split(2, name=name) if index in split else epl.replicate(name=name):
                    h = jax.nn.relu(h @ w)
            return (h * h).sum()

        value, gradients = jax.value_and_grad(loss)(ws)
        return [w - g for w, g in zip(ws, gradients, strict=True)], value

    random = np.random.default_rng(1)
    ws = [random.integers(-1, 2, (6, 6)).astype("f") for _ in range(3)]
    x = random.integers(-1, 2, (16, 6)).astype("f")
    made = pipeline(step, 4, devices, schedule, state="ws", batch="x")
    expected = jax.tree.leaves(jax.jit(step)(ws, x))
    for found, wanted in zip(jax.tree.leaves(made(ws, x)), expected, strict=True):
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_loop_in_a_stage_begins_with_what_its_gradient_needs(schedule: str) -> None:
    """The gradient that the last stage sends is made by a loop over its layers, which share a weight."""

    def step(ws: list[jax.Array], x: jax.Array) -> tuple[list[jax.Array], jax.Array]:
        def loss(ws: list[jax.Array]) -> jax.Array:
            with epl.replicate(name="first"):
                h = jnp.tanh(x @ ws[0])
            with epl.replicate(name="second"):
                h = jnp.tanh(h @ ws[1])
            with epl.replicate(name="last"):
                h, _ = jax.lax.scan(lambda h, _: (jnp.tanh(h @ ws[2]), None), h, None, length=40)
                return (h**2).mean()

        value, gradients = jax.value_and_grad(loss)(ws)
        return [w - 0.1 * g for w, g in zip(ws, gradients, strict=True)], value

    random = np.random.default_rng(0)
    ws = [random.normal(size=(5, 5)).astype("f") * 0.5 for _ in range(3)]
    x = random.normal(size=(12, 5)).astype("f")
    made = pipeline(step, 3, 3, schedule, state="ws", batch="x")
    assert_near(made(ws, x), jax.jit(step)(ws, x), 1e-4)


OPTIMIZER = optax.chain(optax.clip_by_global_norm(0.1), optax.adam(1e-2))


def mlp(params: list[dict[str, Any]], state: Any, x: jax.Array, y: jax.Array) -> Any:
    """Two layers in each stage, the second one split if it says so; gradients are clipped over all stages."""

    def loss(params: list[dict[str, Any]]) -> jax.Array:
        h = x
        for index, stage in enumerate(params):
            with (
                epl.split(2, name=f"stage{index}")
                if "split" in stage
                else epl.replicate(name=f"stage{index}")
            ):
                h = jax.nn.gelu(h @ stage["up"]) @ stage["down"] + h
                if index == len(params) - 1:
                    return ((h - y) ** 2).mean()
        raise AssertionError("no stage")

    value, gradients = jax.value_and_grad(loss)(params)
    updates, state = OPTIMIZER.update(gradients, state, params)
    return optax.apply_updates(params, updates), state, value


def layers(stages: int, split: bool = False, width: int = 16) -> list[dict[str, Any]]:
    keys = jax.random.split(jax.random.key(0), 2 * stages)
    made: list[dict[str, Any]] = [
        {
            "up": jax.random.normal(keys[2 * s], (width, 2 * width)) * 0.2,
            "down": jax.random.normal(keys[2 * s + 1], (2 * width, width)) * 0.2,
        }
        for s in range(stages)
    ]
    if split:
        made[-1]["split"] = jnp.zeros(())
    return made


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize(
    ("stages", "devices", "split"), [(2, 4, False), (2, 3, True), (2, 6, True), (3, 4, True)]
)
def test_steps_train_as_jax_does(stages: int, devices: int, split: bool, schedule: str) -> None:
    params, x = layers(stages, split), jax.random.normal(jax.random.key(1), (16, 16))
    found = expected = (params, OPTIMIZER.init(params), jnp.zeros(()))
    made = pipeline(mlp, 4, devices, schedule, state=("params", "state"), batch=("x", "y"))
    for _ in range(3):
        found = made(found[0], found[1], x, x * 0.3)
        expected = jax.jit(mlp)(expected[0], expected[1], x, x * 0.3)
    assert_near(found, expected, 1e-4)


def compiled_mlp(count: int, schedule: str, samples_of_one: int = 32) -> Any:
    params, x = layers(4, width=32), jnp.ones((count * samples_of_one, 32))
    made = pipeline(mlp, count, 4, schedule, state=("params", "state"), batch=("x", "y"))
    return made.lower(params, OPTIMIZER.init(params), x, x).compile()


def gan(generator: jax.Array, critic: jax.Array, noise: jax.Array, real: jax.Array) -> Any:
    """Both networks trained at once. The critic's work begins before the generator's, with real samples."""

    def generate(generator: jax.Array) -> jax.Array:
        with epl.replicate(name="generator"):
            return jnp.tanh(noise @ generator)

    def judge(critic: jax.Array, samples: jax.Array) -> jax.Array:
        with epl.replicate(name="critic"):
            return jax.nn.softplus(samples @ critic)

    def loss_of_critic(critic: jax.Array) -> jax.Array:
        return (judge(critic, -real) + judge(critic, generate(generator))).mean()

    def loss_of_generator(generator: jax.Array) -> jax.Array:
        return judge(critic, -generate(generator)).mean()

    loss, gradient = jax.value_and_grad(loss_of_critic)(critic)
    return generator - jax.grad(loss_of_generator)(generator), critic - gradient, loss


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_stages_are_in_the_order_of_the_data(schedule: str) -> None:
    random = jax.random.split(jax.random.key(5), 4)
    shapes = [(6, 6), (6, 1), (16, 6), (16, 6)]
    arguments = [jax.random.normal(key, shape) for key, shape in zip(random, shapes, strict=True)]
    made = pipeline(gan, 4, 2, schedule, state=("generator", "critic"), batch=("noise", "real"))
    assert_near(made(*arguments), jax.jit(gan)(*arguments), 1e-5)


def test_memory_grows_with_micro_batches_in_flight_alone() -> None:
    """1F1B keeps as many micro-batches as there are stages, GPipe all."""
    few, many = (compiled_mlp(count, "1f1b").plan.arena_bytes for count in (8, 32))
    assert many == few
    assert compiled_mlp(32, "gpipe").plan.arena_bytes > 3 * many


def arenas(count: int, schedule: str) -> np.ndarray:
    """Of each of four meshes: stages of five layers of 32 x 32, micro-batches of 64 samples."""
    ws, x = [jnp.eye(32)] * 20, jnp.ones((64 * count, 32))
    compiled = pipeline(deep, count, 4, schedule, state="ws", batch="x").lower(ws, x).compile()
    whole, *meshes = re.findall(r"^arena (\d+) bytes$", compiled.plan.dump(), re.MULTILINE)
    assert whole == "0"
    return np.array(meshes, np.int64)


def test_each_micro_batch_kept_takes_the_same_bytes() -> None:
    """Kept are the layers' results, and what a stage receives. Beside these there are sums of gradients, what
    two units receive and send, and two values that a unit works with: less than one micro-batch more."""
    message, sums = 4 * 64 * 32, 5 * 4 * 32 * 32
    some, more, all_kept = (arenas(count, "gpipe") for count in (16, 24, 32))
    kept = np.array([5, 6, 6, 6]) * message
    np.testing.assert_array_equal(more - some, 8 * kept)
    np.testing.assert_array_equal(all_kept - more, 8 * kept)

    in_turn = arenas(32, "1f1b")
    assert in_turn[1] - in_turn[2] == kept[1]  # of two stages alike the first one keeps one more
    for rest in (all_kept - 32 * kept, in_turn - np.array([4, 3, 2, 1]) * kept):
        assert (rest >= 0).all()
        assert (rest <= sums + (2 * 2 + 2) * message + 256).all()  # and the loss, and gaps


def test_a_table_is_a_schedule(tmp_path: Path) -> None:
    table = tmp_path / "table.txt"
    table.write_text(
        "s0.F.m0 s0.F.m1 s0.B.m0 s0.B.m1  # all forward work first\ns1.F.m0 s1.F.m1 s1.B.m0 s1.B.m1\n"
    )
    arguments = whole_numbers(2, 16)
    made = pipeline(integers, 2, 2, state="ws", batch="x", config={"pipeline.schedule": str(table)})
    for found, wanted in zip(
        jax.tree.leaves(made(*arguments)), jax.tree.leaves(jax.jit(integers)(*arguments)), strict=True
    ):
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("strategy", ["zb-h1", "1f1b", "gpipe"])
def test_a_gradient_goes_to_two_stages(strategy: str) -> None:
    """What the last stage adds up, the two before it have made; and it reads the weight of the first."""

    def step(ws: list[jax.Array], x: jax.Array) -> tuple[list[jax.Array], jax.Array]:
        def loss(ws: list[jax.Array]) -> jax.Array:
            with epl.replicate(name="first"):
                first = x @ ws[0]
            with epl.replicate(name="second"):
                second = jax.lax.stop_gradient(first) @ ws[1]
            with epl.replicate(name="third"):
                return (((first + second) @ ws[2] @ ws[0]) * x).sum()

        value, gradients = jax.value_and_grad(loss)(ws)
        return [w - g for w, g in zip(ws, gradients, strict=True)], value

    ws, x, _ = whole_numbers(3, 8)
    made = pipeline(step, 4, 3, state="ws", batch="x", config={"pipeline.strategy": strategy})
    for result, wanted in zip(
        jax.tree.leaves(made(ws, x)), jax.tree.leaves(jax.jit(step)(ws, x)), strict=True
    ):
        np.testing.assert_array_equal(result, wanted)
