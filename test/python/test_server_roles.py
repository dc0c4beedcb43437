"""Steps in two roles: what a worker and the programs of servers make together is what the step makes."""

from __future__ import annotations

import importlib
import os
import re
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import epl
from server_steps import Refused, Servers, leaves_of, roles_of
from steps import assert_near, batches, mlp_loss, mlp_parameters, training_step
from test_models import NAMES
from test_owners import OPTIMIZERS

ROUNDS = 3
# AdamW with a clipped global norm, Adam, BatchNorm with momentum, whole matrices: every night all models.
CHOSEN = NAMES if os.environ.get("EPL_NIGHTLY") else ["gpt", "mlp", "resnet", "shampoo"]
BLOCKS = ("--servers=3", "--min-block-size=16")


# Optimizers whose update of a row reads others.
OF_MATRICES = ("lamb", "adafactor", "muon", "novograd")
ALL = {**OPTIMIZERS, "novograd": lambda: optax.novograd(1e-2)}


def lower(step: Any, *arguments: Any, devices: int = 1, state: Any = 0, batch: Any = 1) -> Any:
    return epl.parallelize(step, state=state, batch=batch, devices=devices).lower(*arguments)


def check_model(name: str, folder: Path, devices: int = 1, worker: tuple[str, ...] = ()) -> None:
    """Trains a model in both ways, each of its steps by itself."""
    model = importlib.import_module(f"models.{name}").build()
    random = np.random.default_rng(7)
    for number, step in enumerate(model.steps):
        lowered = lower(step, model.state, model.batch(random), devices=devices)
        (own := folder / str(number)).mkdir()
        servers = Servers(lowered, own, f"--devices=cpu:{devices}", *BLOCKS, worker=worker)
        state, whole = model.state, jax.jit(step)
        servers.start(state, model.batch(random))
        for _ in range(ROUNDS):
            batch = model.batch(random)
            (found,) = servers.step((state, batch))
            state, expected = whole(state, batch)
            for a, b in zip(found, leaves_of(expected), strict=True):
                np.testing.assert_allclose(a, b, rtol=10 * model.tolerance)
        expected = leaves_of(state)
        assert_near([servers.fetch(index) for index in range(len(expected))], expected, 10 * model.tolerance)


@pytest.mark.parametrize("name", CHOSEN)
def test_models_train_as_whole_steps(name: str, tmp_path: Path) -> None:
    check_model(name, tmp_path)


@pytest.mark.parametrize("name", CHOSEN)
def test_a_worker_splits_what_it_pulls(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(epl, "replicate", lambda *_, **__: epl.split(device_count=2, name="all"))
    check_model(name, tmp_path, devices=4)


@pytest.mark.parametrize("options", ["--micro-batches=2", "--zero=v3", "--owners", "--recompute=auto"])
def test_a_worker_is_compiled_as_a_step(options: str, tmp_path: Path) -> None:
    check_model("mlp", tmp_path, devices=2, worker=(options,))


def two_scopes(parameters: Any, x: jax.Array, y: jax.Array) -> jax.Array:
    with epl.replicate(name="body"):
        hidden = jax.nn.relu(x @ parameters["w0"] + parameters["b0"])
    with epl.split(device_count=2, name="head"):
        hidden = jax.nn.relu(hidden @ parameters["w1"] + parameters["b1"])
        logits = hidden @ parameters["w2"] + parameters["b2"]
        return optax.softmax_cross_entropy(logits, jax.nn.one_hot(y, 10)).mean()


@pytest.mark.parametrize("options", [("--devices=cpu:3",), ("--devices=cpu:2", "--colocate")])
def test_a_worker_has_several_scopes(options: tuple[str, ...], tmp_path: Path) -> None:
    optimizer, parameters = optax.adam(1e-2), mlp_parameters()
    state: Any = (parameters, optimizer.init(parameters))
    step = training_step(optimizer, two_scopes)
    names = {"state": ("params", "opt_state"), "batch": ("x", "y")}
    lowered = lower(step, *state, *batches(1)[0], devices=3, **names)
    micro = ("--micro-batches=2",) if len(options) == 1 else ()
    check_rounds(Servers(lowered, tmp_path, *options, *BLOCKS, worker=micro), step, state)


def check_rounds(servers: Servers, step: Any, state: Any, workers: int = 1) -> None:
    """Trains in both ways; each worker has its part of the batches."""
    servers.start(*state, *batches(1)[0])
    whole = jax.jit(step)
    for joined in batches(ROUNDS):
        parts = [tuple(np.split(leaf, workers)[index] for leaf in joined) for index in range(workers)]
        found = servers.step(*((*state, *part) for part in parts))
        *state, loss = whole(*state, *joined)
        np.testing.assert_allclose(np.mean([results[0] for results in found]), loss, rtol=1e-5)
    expected = leaves_of(state)
    assert_near([servers.fetch(index) for index in range(len(expected))], expected, 1e-4)


def optimizer_step(name: str) -> tuple[Any, tuple[Any, ...]]:
    optimizer = ALL[name]()
    parameters = mlp_parameters()
    return training_step(optimizer), (parameters, optimizer.init(parameters))


def lower_optimizer(name: str, samples: int = 24) -> Any:
    step, state = optimizer_step(name)
    return lower(step, *state, *batches(1, samples)[0], state=("params", "opt_state"), batch=("x", "y"))


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("name", ALL)
def test_an_optimizer_on_servers(name: str, workers: int, tmp_path: Path) -> None:
    step, state = optimizer_step(name)
    if name == "clipped" and workers > 1:
        pytest.skip("workers clip their own gradients")
    servers = Servers(lower_optimizer(name, 24 // workers), tmp_path, *BLOCKS, workers=workers)
    (group,) = (group for group in servers.roles["groups"] if group["name"] == "params['w0']")
    assert [block["rows"] for block in group["blocks"]] == ([12] if name in OF_MATRICES else [4, 4, 4])
    assert [each["shape"] for each in group["arguments"] if each["kind"] == "push"] == [[12, 32]]
    check_rounds(servers, step, state, workers)


def integer_step(w: jax.Array, m: jax.Array, count: jax.Array, x: jax.Array) -> Any:
    """A step of whole numbers, exact in f32: a mean over samples that are multiples of 16, by hand."""

    def loss(w: jax.Array) -> jax.Array:
        return (x @ w).mean(0).sum()

    value, gradient = jax.value_and_grad(loss)(w)
    count = count + 1
    m = 2 * m + gradient
    return w - m * count, m, count, value


@pytest.mark.parametrize("workers", [1, 2, 4])
@pytest.mark.parametrize("slices", [("--servers=1",), ("--servers=3", "--min-block-size=2"), BLOCKS])
def test_whole_numbers_are_bit_equal(workers: int, slices: tuple[str, ...], tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    state: Any = (np.arange(20, dtype="f").reshape(10, 2), np.zeros((10, 2), "f"), np.int32(0))
    names = ("w", "m", "count")
    joined = [16 * random.integers(-4, 5, (16, 10)).astype("f") for _ in range(4)]
    lowered = lower(integer_step, *state, joined[0][: 16 // workers], state=names, batch="x")
    servers = Servers(lowered, tmp_path, *slices, workers=workers)
    servers.start(*state, joined[0])
    for x in joined:
        servers.step(*((*state, part) for part in np.split(x, workers)))
        *state, _ = integer_step(*state, x)
    for index, expected in enumerate(state):
        np.testing.assert_array_equal(servers.fetch(index), expected)


def test_workers_clip_their_own_gradients(tmp_path: Path) -> None:
    roles = roles_of(lower_optimizer("clipped").as_text("input"), tmp_path, *BLOCKS)
    kinds = [[each["kind"] for each in group["arguments"]] for group in roles["groups"]]
    assert kinds == [["parameter", "state", "state", "own", "push"]] * 6  # the clipped gradient, and no norm


def scaled_step(params: Any, scale: jax.Array, x: jax.Array, y: jax.Array) -> Any:
    """A loss whose scale is halved when a gradient overflows, and grows else."""
    value, gradients = jax.value_and_grad(lambda p: scale * mlp_loss(p, x, y))(params)
    finite = jnp.stack([jnp.isfinite(leaf).all() for leaf in jax.tree.leaves(gradients)]).all()
    rate = jnp.where(finite, 0.1 / scale, 0.0)
    params = jax.tree.map(lambda w, g: w - rate * g, params, gradients)
    return params, jnp.where(finite, scale * 2, scale / 2), value


def test_the_scale_of_a_loss_is_a_workers_state(tmp_path: Path) -> None:
    state: Any = (mlp_parameters(), np.float32(4))
    lowered = lower(scaled_step, *state, *batches(1)[0], state=("params", "scale"), batch=("x", "y"))
    servers = Servers(lowered, tmp_path, *BLOCKS)
    assert {"argument": 6, "kind": "state"} in servers.roles["worker"]["arguments"]
    check_rounds(servers, scaled_step, state)


def sharpness_aware(params: Any, opt_state: Any, x: jax.Array, y: jax.Array) -> Any:
    """Gradients where weights are disturbed along a first gradient, which each worker does by itself."""
    value, gradients = jax.value_and_grad(mlp_loss)(params, x, y)
    length = 0.05 / optax.tree.norm(gradients)
    disturbed = jax.tree.map(lambda w, g: w + length * g, params, gradients)
    updates, opt_state = optax.adam(1e-2).update(jax.grad(mlp_loss)(disturbed, x, y), opt_state)
    return optax.apply_updates(params, updates), opt_state, value


def test_workers_compute_with_what_they_make_of_gradients(tmp_path: Path) -> None:
    parameters = mlp_parameters()
    state: Any = (parameters, optax.adam(1e-2).init(parameters))
    names = {"state": ("params", "opt_state"), "batch": ("x", "y")}
    lowered = lower(sharpness_aware, *state, *batches(1)[0], **names)
    check_rounds(Servers(lowered, tmp_path, *BLOCKS), sharpness_aware, state)


def refused(optimizer: optax.GradientTransformation, update: Any = None) -> tuple[Any, Any]:
    parameters = mlp_parameters()
    return training_step(optimizer) if update is None else update, (parameters, optimizer.init(parameters))


def looks_ahead(params: Any, opt_state: Any, x: jax.Array, y: jax.Array) -> Any:
    updates, opt_state = optax.adam(1e-2).update(jax.grad(mlp_loss)(params, x, y), opt_state)
    params = optax.apply_updates(params, updates)
    return params, opt_state, mlp_loss(params, x, y)


def updates_twice(params: Any, opt_state: Any, x: jax.Array, y: jax.Array) -> Any:
    for _ in range(2):
        value, gradients = jax.value_and_grad(mlp_loss)(params, x, y)
        updates, opt_state = optax.adam(1e-2).update(gradients, opt_state)
        params = optax.apply_updates(params, updates)
    return params, opt_state, value


def returns_moments(params: Any, opt_state: Any, x: jax.Array, y: jax.Array) -> Any:
    updates, opt_state = optax.adam(1e-2).update(jax.grad(mlp_loss)(params, x, y), opt_state)
    return optax.apply_updates(params, updates), opt_state, sum(jnp.sum(u) for u in jax.tree.leaves(updates))


def skips(params: Any, opt_state: Any, x: jax.Array, y: jax.Array) -> Any:
    gradients = jax.grad(mlp_loss)(params, x, y)
    updates, new_state = optax.adam(1e-2).update(gradients, opt_state)
    finite = jnp.isfinite(optax.tree.norm(gradients))
    kept = jax.tree.map(lambda new, old: jnp.where(finite, new, old), new_state, opt_state)
    return optax.apply_updates(params, updates), kept, finite


@pytest.mark.parametrize(
    ("case", "message"),
    [
        (
            refused(optax.chain(optax.adam(1e-2), optax.clip_by_global_norm(1.0))),
            r'the update of "params\[\'b0\'\]" reads what this makes of "opt_state.*", a state of another '
            r"update: servers update each parameter by itself",
        ),
        (refused(optax.adam(1e-2), looks_ahead), r'result ".*" depends on what servers make of gradients'),
        (refused(optax.adam(1e-2), updates_twice), "this depends on what servers make of gradients"),
        (refused(optax.adam(1e-2), returns_moments), r'result ".*" depends on what servers make'),
        (refused(optax.adam(1e-2), skips), "depends on this truth value, which workers make"),
    ],
    ids=["mixing", "new values", "two updates", "results", "truth values"],
)
def test_what_is_refused(case: tuple[Any, Any], message: str, tmp_path: Path) -> None:
    step, state = case
    lowered = lower(step, *state, *batches(1)[0], state=("params", "opt_state"), batch=("x", "y"))
    with pytest.raises(Refused, match=message) as error:
        roles_of(lowered.as_text("input"), tmp_path)
    assert re.search(r"^\S+\.py:\d+:\d+: error: ", str(error.value)), "the user's line"
