"""Steps in micro-batches: the results of the whole batch, in less memory, with as many sums over replicas."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import epl
from steps import assert_near, exchanged
from test_models import NAMES, train

BIN = Path(__file__).parents[2] / "build" / "bin"

# Models of which an op reads a value of the whole batch, which takes a product of every sample.
MIXING = {
    "contrastive": "each sample is compared with all others",
    "graph": "nodes of one micro-batch read those of others",
    "sorting": "samples are ordered by what a product makes of them",
}
# Models whose statistics are of each micro-batch (`test_micro_batch_statistics.py`).
OF_EACH = {"resnet"}
# Micro-batches and devices.
COUNTS = [(2, 2), (4, 1), (4, 2), (2, 1)] if os.environ.get("EPL_NIGHTLY") else [(2, 2)]


def in_micro_batches(step: Callable[..., Any], count: int, devices: int, **options: Any) -> Any:
    config = {"pipeline.num_micro_batch": count}
    return epl.parallelize(step, devices=devices, config=config, **options)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in MIXING.keys() | OF_EACH])
def test_models_train_as_jax_does(name: str) -> None:
    model = importlib.import_module(f"models.{name}").build()
    expected, expected_losses = train(model, [jax.jit(step) for step in model.steps])
    for count, devices in COUNTS:
        steps = [in_micro_batches(s, count, devices, state="state", batch=1) for s in model.steps]
        found, losses = train(model, steps)
        np.testing.assert_allclose(losses, expected_losses, rtol=model.tolerance)
        assert_near(found, expected, 10 * model.tolerance)


@pytest.mark.parametrize("name", MIXING)
def test_models_that_mix_samples_are_refused(name: str) -> None:
    model = importlib.import_module(f"models.{name}").build()
    step = in_micro_batches(model.steps[0], 2, 1, state="state", batch=1)
    with pytest.raises(epl.CompileError, match="mixes samples across micro-batches") as error:
        step.lower(model.state, model.batch(np.random.default_rng(0))).compile()
    assert re.search(rf"{name}\.py:\d+: .*epl\.per_micro_batch\(\)", str(error.value))
    assert "site-packages" not in str(error.value)


def masked_mean(w: jax.Array, x: jax.Array, mask: jax.Array) -> tuple[jax.Array, jax.Array]:
    """A step whose loss is a mean over the samples that count: each gradient reads how many these are."""

    def loss(w: jax.Array) -> jax.Array:
        return ((jnp.tanh(x @ w) ** 2).sum(axis=1) * mask).sum() / mask.sum()

    value, gradient = jax.value_and_grad(loss)(w)
    return w - 0.1 * gradient, value


@pytest.mark.parametrize(("count", "devices"), [(2, 1), (3, 2), (6, 1), (12, 1)])
def test_a_sum_that_samples_read(count: int, devices: int) -> None:
    random = np.random.default_rng(0)
    w, x = random.normal(size=(5, 7)).astype("f"), random.normal(size=(12, 5)).astype("f")
    mask = (random.random(12) < 0.5).astype("f")
    expected = jax.jit(masked_mean)(w, x, mask)
    found = in_micro_batches(masked_mean, count, devices, state="w", batch=("x", "mask"))(w, x, mask)
    assert_near(found, expected, 1e-5)


def integers(w: jax.Array, x: jax.Array, key: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    """A step of whole numbers, exact in f32, with dropout and a result of each sample."""
    kept = jax.random.bernoulli(key, 0.5, x.shape)
    y = jnp.where(kept, x, 0) @ w
    return w + y.sum(axis=0), y.max(axis=1), y.max()


@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("options", [{}, {"zero.level": "v1"}])
@pytest.mark.parametrize(("count", "devices"), [(4, 1), (8, 1), (2, 2), (4, 2)])
def test_whole_numbers_are_bit_equal(count: int, devices: int, options: dict[str, Any], dim: int) -> None:
    def step(w: jax.Array, x: jax.Array, key: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
        return integers(w, x if dim == 0 else x.T, key)

    random = np.random.default_rng(0)
    w, x = random.integers(-4, 5, (6, 4)).astype("f"), random.integers(-4, 5, (8, 6)).astype("f")
    x = x if dim == 0 else np.ascontiguousarray(x.T)
    key = jax.random.key(3)
    config = {"pipeline.num_micro_batch": count, **options}
    made = epl.parallelize(step, state="w", batch={"x": dim}, devices=devices, config=config)
    for found, expected in zip(made(w, x, key), jax.jit(step)(w, x, key), strict=True):
        np.testing.assert_array_equal(found, expected)


def mlp(optimizer: optax.GradientTransformation, params: Any, state: Any, x: jax.Array) -> Any:
    def loss(params: Any) -> jax.Array:
        h = x
        for w in params:
            h = jnp.tanh(h @ w)
        return (h**2).mean()

    value, gradients = jax.value_and_grad(loss)(params)
    updates, state = optimizer.update(gradients, state)
    return optax.apply_updates(params, updates), state, value


def lower_mlp(count: int, devices: int) -> Any:
    optimizer = optax.adam(1e-3)
    params = [jnp.ones((64, 64)) * 0.01 for _ in range(4)]

    def step(params: Any, state: Any, x: jax.Array) -> Any:
        return mlp(optimizer, params, state, x)

    made = in_micro_batches(step, count, devices, state=("params", "state"), batch="x")
    return made.lower(params, optimizer.init(params), jnp.ones((512, 64)))


def test_gradients_are_summed_over_replicas_behind_the_loop() -> None:
    whole, parts = (exchanged(lower_mlp(count, 2).as_text("local")) for count in (1, 8))
    assert Counter(parts["all_reduce"]) == Counter(whole["all_reduce"])
    assert set(parts) == set(whole) == {"all_reduce"}
    text = lower_mlp(8, 2).as_text("local")
    assert text.index("epl.all_reduce") > text.rindex("epl.loop_last")


@pytest.mark.parametrize("devices", [1, 2])
def test_an_iteration_copies_nothing_and_products_add_to_gradients(devices: int, tmp_path: Path) -> None:
    lower_mlp(4, devices).compile().save(tmp_path / "step.eplan")
    command = [BIN / "epl-plan", "dump", tmp_path / "step.eplan"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert not re.findall(r"^  #\d+ \"(slice|stack|copy)\" copy ", text, re.MULTILINE)
    assert len(re.findall(r"^buffer .* \"slice\" \d+ bytes at \d+ of b", text, re.MULTILINE)) == 4
    products = re.findall(r"^  #\d+ .*\" contract .*", text, re.MULTILINE)
    assert sum(" +> " in product for product in products) == 3 * 4  # of 4 weights, but the first time


def test_activations_of_one_micro_batch_are_kept() -> None:
    whole, parts = (lower_mlp(count, 1).compile() for count in (1, 8))
    assert parts.plan.arena_bytes < 0.4 * whole.plan.arena_bytes
    assert (whole.layout, parts.layout) == ("cpu:1 = data 1", "cpu:1 = data 1, 8 micro-batches")


def test_the_layout_of_shared_devices_says_micro_batches(
    capfd: pytest.CaptureFixture[str],
) -> None:
    def step(w: jax.Array, v: jax.Array, x: jax.Array) -> jax.Array:
        with epl.replicate():
            y = jnp.tanh(x @ w)
        with epl.split(device_count=2):
            return (y @ v).sum()

    config = {"pipeline.num_micro_batch": 4, "cluster.colocate_split_and_replicate": True}
    made = epl.parallelize(step, state=(), batch="x", devices=4, config=config)
    made(np.ones((4, 8)), np.ones((8, 16)), np.ones((16, 4)))
    layout, shared = capfd.readouterr().err.splitlines()[-2:]
    assert layout == "step: cpu:4 = data 2, model 2, 4 micro-batches"
    assert "micro-batches" not in shared


@pytest.mark.parametrize(
    "options", [{}, {"split.sequence_parallel": True}, {"zero.level": "v2"}, {"zero.level": "v3"}]
)
@pytest.mark.parametrize(("count", "devices"), [(2, 2), (4, 4)])
def test_a_split_in_micro_batches(count: int, devices: int, options: dict[str, Any]) -> None:
    """Parameters of a block split over two devices, on four also replicated."""
    optimizer = optax.adam(1e-2)
    random = np.random.default_rng(0)
    params = {"up": random.normal(size=(8, 16)).astype("f"), "down": random.normal(size=(16, 8)).astype("f")}

    def step(params: Any, state: Any, x: jax.Array) -> Any:
        def loss(params: Any) -> jax.Array:
            with epl.split(device_count=2):
                h = x + jax.nn.gelu((x - x.mean(-1, keepdims=True)) @ params["up"]) @ params["down"]
                return (h**2).mean()

        value, gradients = jax.value_and_grad(loss)(params)
        updates, state = optimizer.update(gradients, state)
        return optax.apply_updates(params, updates), state, value

    config = {"pipeline.num_micro_batch": count, **options}
    made = epl.parallelize(step, state=("params", "state"), batch="x", devices=devices, config=config)
    state = optimizer.init(params)
    found, expected = (params, state), (params, state)
    for _ in range(3):
        x = random.normal(size=(16, 8)).astype("f")
        *found, loss = made(*found, x)
        *expected, expected_loss = jax.jit(step)(*expected, x)
        np.testing.assert_allclose(loss, expected_loss, rtol=1e-5)
    assert_near(found, expected, 1e-4)


def adversarial(state: Any, z: jax.Array, x: jax.Array) -> Any:
    """Updates a discriminator, then the generator by what the new discriminator says."""
    optimizer = optax.adam(1e-2)

    def generate(generator: Any) -> jax.Array:
        return jnp.tanh(z @ generator["a"]) @ generator["b"]

    def score(discriminator: Any, samples: jax.Array) -> jax.Array:
        return jax.nn.softplus(jnp.tanh(samples @ discriminator["a"]) @ discriminator["b"]).mean()

    def updated(loss: Callable[[Any], jax.Array], name: str) -> tuple[Any, Any, jax.Array]:
        value, gradients = jax.value_and_grad(loss)(state[name]["params"])
        updates, opt = optimizer.update(gradients, state[name]["opt"])
        params = optax.apply_updates(state[name]["params"], updates)
        return params, {"params": params, "opt": opt}, value

    before = generate(state["generator"]["params"])
    told = lambda d: score(d, before) - score(d, x)  # noqa: E731
    params, discriminator, first = updated(told, "discriminator")
    params, generator, second = updated(lambda g: -score(params, generate(g)), "generator")
    new = {"generator": generator, "discriminator": discriminator}
    return new, first + second, generate(params) - before


@pytest.mark.parametrize("options", [{}, {"zero.level": "v1"}, {"zero.level": "v3"}])
@pytest.mark.parametrize(("count", "devices"), [(2, 1), (4, 1), (2, 2), (4, 2)])
def test_updated_parameters_are_read_by_a_second_pass(
    count: int, devices: int, options: dict[str, Any]
) -> None:
    random = np.random.default_rng(0)
    shapes = {"generator": ((4, 8), (8, 5)), "discriminator": ((5, 8), (8, 1))}
    state = {}
    for name, (a, b) in shapes.items():
        params = {"a": random.normal(size=a).astype("f"), "b": random.normal(size=b).astype("f")}
        state[name] = {"params": params, "opt": optax.adam(1e-2).init(params)}
    z, x = random.normal(size=(24, 4)).astype("f"), random.normal(size=(24, 5)).astype("f")
    config = {"pipeline.num_micro_batch": count, **options}
    made = epl.parallelize(adversarial, state="state", batch=("z", "x"), devices=devices, config=config)
    assert_near(made(state, z, x), jax.jit(adversarial)(state, z, x), 1e-4)


@pytest.mark.parametrize("samples", [1, 5, 8, 9])
def test_a_batch_is_padded_to_whole_micro_batches(samples: int) -> None:
    random = np.random.default_rng(0)
    w, x = random.normal(size=(5, 7)).astype("f"), random.normal(size=(samples, 5)).astype("f")
    made = in_micro_batches(masked_mean, 4, 2, state="w", batch="x", pad_batch=True)
    assert_near(made(w, x), jax.jit(masked_mean)(w, x, np.ones(samples, "f")), 1e-5)


def test_a_sum_that_is_whole_behind_the_loop_is_added_there() -> None:
    """Three layers share a gradient; that of the second, which is skipped at times, is selected."""

    def step(ws: list[jax.Array], skips: jax.Array, x: jax.Array) -> tuple[list[jax.Array], jax.Array]:
        def loss(ws: list[jax.Array]) -> jax.Array:
            h = jnp.tanh(x @ ws[0])
            h = jax.lax.cond(skips, lambda h: h * 2, lambda h: jnp.tanh(h @ ws[1]), h)
            return (jnp.tanh(h @ ws[2]) ** 2).mean()

        value, gradients = jax.value_and_grad(loss)(ws)
        return [w - 0.1 * sum(gradients) for w in ws], value

    random = np.random.default_rng(0)
    ws = [random.normal(size=(8, 8)).astype("f") for _ in range(3)]
    x = random.normal(size=(12, 8)).astype("f")
    made = in_micro_batches(step, 2, 1, state="ws", batch="x")
    for skips in (False, True):
        assert_near(made(ws, np.bool_(skips), x), jax.jit(step)(ws, skips, x), 1e-5)


def test_an_empty_batch_is_cut() -> None:
    arguments = (np.ones((6, 4), "f"), np.ones((0, 6), "f"), jax.random.key(3))

    def step(w: jax.Array, x: jax.Array, key: jax.Array) -> tuple[jax.Array, jax.Array]:
        y = jnp.where(jax.random.bernoulli(key, 0.5, x.shape), x, 0) @ w
        return w + y.sum(axis=0), y.min(axis=1)

    made = in_micro_batches(step, 2, 1, state="w", batch="x")
    for found, expected in zip(made(*arguments), jax.jit(step)(*arguments), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_what_cannot_be_cut_is_an_error() -> None:
    with pytest.raises(epl.CompileError, match=r"10 samples of .* not divisible by 4 micro-batches"):
        in_micro_batches(lambda x: x * 2, 4, 1, batch="x").lower(jnp.ones(10)).compile()
    with pytest.raises(epl.CompileError, match="nothing to cut"):
        in_micro_batches(lambda x: x * 2, 4, 1).lower(jnp.ones(10)).compile()
