"""Parameters that one device owns (`zero.owner`): update and optimizer's state are there alone."""

from __future__ import annotations

import gc
import importlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import epl
import mpi
from steps import assert_close, assert_near, batches, exchanged, mlp_parameters, training_step
from test_models import train as train_model

OWNERS = {"zero.owner": "parameter"}


def orthogonalized(gradient: jax.Array) -> jax.Array:
    """Muon's Newton-Schulz iteration, which takes the whole matrix."""
    x = gradient / (jnp.linalg.norm(gradient) + 1e-7)
    for _ in range(3):
        square = x @ x.T
        x = 3.4445 * x + (-4.775 * square + 2.0315 * square @ square) @ x
    return x


def muon(learning_rate: float) -> optax.GradientTransformation:
    """Momentum, orthogonalized where it is a matrix."""

    def update(gradients: Any, momentum: Any, params: Any = None) -> Any:
        momentum = jax.tree.map(lambda m, g: 0.9 * m + g, momentum, gradients)
        made = jax.tree.map(lambda m: orthogonalized(m) if m.ndim == 2 else m, momentum)
        return jax.tree.map(lambda u: -learning_rate * u, made), momentum

    return optax.GradientTransformation(lambda params: jax.tree.map(jnp.zeros_like, params), update)


OPTIMIZERS: dict[str, Callable[[], optax.GradientTransformation]] = {
    "sgd": lambda: optax.sgd(0.1),
    "momentum": lambda: optax.sgd(0.1, momentum=0.9),
    "nesterov": lambda: optax.sgd(0.1, momentum=0.9, nesterov=True),
    "adam": lambda: optax.adam(1e-2),
    "adamw": lambda: optax.adamw(optax.cosine_decay_schedule(1e-2, 10)),
    "lamb": lambda: optax.lamb(1e-2),
    "lion": lambda: optax.lion(1e-3),
    "adafactor": lambda: optax.adafactor(1e-2),
    "clipped": lambda: optax.chain(optax.clip_by_global_norm(0.1), optax.adamw(1e-2, eps=1e-3)),
    "muon": lambda: muon(0.02),
}


def parallelized(optimizer: optax.GradientTransformation, devices: Any, **config: Any) -> Any:
    options: dict[str, Any] = {"state": ("params", "opt_state"), "batch": ("x", "y")}
    return epl.parallelize(training_step(optimizer), devices=devices, config=config, **options)


def train(step: Any, state: Any, rounds: int = 4) -> tuple[Any, list[float]]:
    losses = []
    for batch in batches(rounds):
        *state, loss = step(*state, *batch)
        losses.append(float(loss))
    return tuple(state), losses


@pytest.mark.parametrize("devices", [1, 2, 3, 4])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_an_optimizer_trains_as_on_all_devices(name: str, devices: int) -> None:
    optimizer = OPTIMIZERS[name]()
    state = (mlp_parameters(), optimizer.init(mlp_parameters()))
    owned, losses = train(parallelized(optimizer, devices, **OWNERS), state)
    copied, expected_losses = train(parallelized(optimizer, devices), state)
    np.testing.assert_allclose(losses, expected_losses, rtol=1e-6)
    assert_near(owned, copied, 1e-6)
    reference, reference_losses = train(jax.jit(training_step(optimizer)), state)
    np.testing.assert_allclose(losses, reference_losses, rtol=1e-4)
    assert_close(owned, reference, 1e-3)


@pytest.mark.parametrize("devices", [2, 3, 4])
def test_sums_of_whole_numbers_are_equal_bit_by_bit(devices: int) -> None:
    def step(params: Any, momentum: Any, x: jax.Array) -> Any:
        with epl.replicate():
            loss, gradients = jax.value_and_grad(lambda p: ((x @ p["a"]).sum() * p["b"]).sum())(params)
        momentum = jax.tree.map(lambda m, g: m + g, momentum, gradients)
        return jax.tree.map(lambda p, m: p - m, params, momentum), momentum, loss

    params = {"a": jnp.ones((7, 3)), "b": jnp.arange(5.0)}
    state = (params, jax.tree.map(jnp.zeros_like, params))
    options: dict[str, Any] = {"state": ("params", "momentum"), "batch": "x", "devices": devices}
    x = np.arange(12.0 * 7, dtype=np.float32).reshape(12, 7) % 5
    owned = epl.parallelize(step, config=OWNERS, **options)(*state, x)
    expected = epl.parallelize(step, **options)(*state, x)
    assert_near(owned, expected, 0)
    assert_near(owned, jax.jit(step)(*state, x), 0)


def sized_step(sizes: list[int]) -> tuple[Any, Any]:
    """A step whose gradients come in the order of the parameters, each of so many elements."""

    def loss(params: Any, x: jax.Array) -> jax.Array:
        total = jnp.zeros(())
        for name in sorted(params, reverse=True):  # the last one's gradient comes first
            total = total + ((x.sum(axis=1, keepdims=True) * params[name]) ** 2).mean()
        return total

    def step(params: Any, x: jax.Array) -> Any:
        with epl.replicate():
            gradients = jax.grad(loss)(params, x)
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, gradients)

    return step, {f"p{index}": jnp.ones(size) for index, size in enumerate(sizes)}


@pytest.mark.parametrize(
    ("sizes", "devices", "expected"),
    [
        ([100, 100, 100, 100], 2, [0, 1, 0, 1]),
        ([1000, 10, 10, 10, 980], 2, [0, 1, 1, 1, 1]),
        ([5, 4, 3, 2, 1], 2, [0, 1, 1, 0, 0]),
        ([10, 20, 30, 40], 3, [0, 1, 2, 0]),
    ],
)
def test_groups_go_to_the_device_with_the_fewest_elements(
    sizes: list[int], devices: int, expected: list[int]
) -> None:
    """The answers are those of Paddle's Reduce mode for gradients in this order."""
    step, params = sized_step(sizes)
    parallel = epl.parallelize(step, state="params", batch="x", devices=devices, config=OWNERS)
    compiled = parallel.lower(params, np.ones((12, 4), np.float32)).compile()
    assert compiled.owners == {f"params['p{index}']": owner for index, owner in enumerate(expected)}


def test_the_state_of_the_optimizer_is_on_one_device() -> None:
    optimizer = optax.adam(1e-2)
    params = {f"w{index}": jnp.ones((12, 12)) for index in range(4)}

    def loss(params: Any, x: jax.Array, y: jax.Array) -> jax.Array:
        with epl.replicate():
            for name in sorted(params):
                x = jnp.tanh(x @ params[name])
            return (x * y[:, None]).mean()

    options: dict[str, Any] = {"state": ("params", "opt_state"), "batch": ("x", "y"), "devices": 2}
    step = epl.parallelize(training_step(optimizer, loss), config=OWNERS, **options)
    state = (params, optimizer.init(params))
    compiled = step.lower(*state, *batches(1)[0]).compile()
    matrix = 12 * 12 * 4
    assert compiled.plan.state_bytes == 4 * matrix + 4 + 2 * 2 * matrix
    owners = compiled.owners
    assert sorted(owners[f"params['{name}']"] for name in params) == [0, 0, 1, 1]
    gc.collect()
    before = epl.live_bytes()
    *state, _ = step(*state, *batches(1)[0])
    after = epl.live_bytes()
    assert after - before >= 4 * matrix + 2 * 4 + 2 * 4 * matrix  # of both devices, and an arena
    for name in params:
        owner = owners[f"params['{name}']"]
        for moments in (state[1][0].mu, state[1][0].nu):
            (shard,) = moments[name].addressable_shards
            assert shard.rank == owner
            assert moments[name].device_sharding.owner == (("data", owner),)
            assert f"owner data={owner}" in repr(moments[name].sharding)
        assert len(memories(state[0][name])) == 1


def memories(array: epl.Array) -> set[int]:
    """Where the devices have an array that each has whole."""
    shards = array.addressable_shards
    assert len(shards) == 2
    return {np.asarray(shard.data).ctypes.data for shard in shards}


def test_devices_have_one_memory_of_what_one_of_them_writes() -> None:
    """Through steps, values that are looked at, and steps that write on all devices and so take a copy."""
    optimizer = optax.adam(1e-2)
    owned, plain = parallelized(optimizer, 2, **OWNERS), parallelized(optimizer, 2)
    state = owned_state = (mlp_parameters(), optimizer.init(mlp_parameters()))
    for number, batch in enumerate(batches(6)):
        *state, _ = plain(*state, *batch)
        if number == 3:
            *owned_state, _ = plain(*owned_state, *batch)
            assert len(memories(jax.tree.leaves(owned_state[0])[0])) == 2
            owned_state = jax.tree.map(np.array, owned_state)
            continue
        seen = jax.tree.map(np.asarray, owned_state[0])  # views: the step writes elsewhere
        kept = jax.tree.map(np.array, seen)
        *owned_state, _ = owned(*owned_state, *batch)
        jax.tree.map(np.testing.assert_array_equal, seen, kept)
        assert all(len(memories(leaf)) == 1 for leaf in jax.tree.leaves(owned_state[0]))
    assert_near(owned_state, state, 0)


def test_devices_have_one_memory_of_what_a_step_reads() -> None:
    def evaluate(params: Any, x: jax.Array) -> Any:
        with epl.replicate():
            return params, (x @ params).sum()

    params, x = np.ones((64, 64), np.float32), np.ones((8, 64), np.float32)
    kept, total = epl.parallelize(evaluate, state="params", batch="x", devices=2)(params, x)
    assert total == 8 * 64 * 64
    assert len(memories(kept)) == 1


def test_a_step_says_who_owns_a_state() -> None:
    step, params = sized_step([10, 20, 30])
    options: dict[str, Any] = {"state": "params", "batch": "x", "devices": 3, "config": OWNERS}
    x = np.ones((12, 4), np.float32)

    def owners(**said: Any) -> Any:
        return epl.parallelize(step, **options, **said).lower(params, x).compile().owners

    assert owners(owners={"params['p0']": 2, "params['p1']": 2}) == {
        "params['p0']": 2,
        "params['p1']": 2,
        "params['p2']": 0,
    }
    with pytest.raises(
        epl.ArgumentError, match="owners names \"params\\['p9'\\]\", which is no state of step"
    ):
        owners(owners={"params['p9']": 0})
    with pytest.raises(epl.CompileError, match="state \"params\\['p0'\\]\" has owner 3, expected 0 to 2"):
        owners(owners={"params['p0']": 3})
    for wrong in (["params"], {"params['p0']": "0"}, {0: 1}, {"params['p0']": -1}):
        with pytest.raises(epl.ArgumentError, match="owners must be a dict from names of states"):
            owners(owners=wrong)


def test_what_devices_exchange() -> None:
    step = parallelized(optax.adam(1e-2), 2, **OWNERS)
    state = (mlp_parameters(), optax.adam(1e-2).init(mlp_parameters()))
    lowered = step.lower(*state, *batches(1)[0])
    local = lowered.as_text("local")
    found = {kind: len(tensors) for kind, tensors in exchanged(local).items()}
    assert found == {"all_reduce": 1, "reduce": 6, "broadcast": 6}
    assert len(re.findall(r"= epl\.(reduce|broadcast)\b", local)) == 4  # one of each owner


def test_a_norm_of_all_gradients_keeps_their_sums() -> None:
    optimizer = OPTIMIZERS["clipped"]()
    step = parallelized(optimizer, 2, **OWNERS)
    state = (mlp_parameters(), optimizer.init(mlp_parameters()))
    found = exchanged(step.lower(*state, *batches(1)[0]).as_text("local"))
    assert {kind: len(tensors) for kind, tensors in found.items()} == {"all_reduce": 7, "broadcast": 6}


@pytest.mark.parametrize(("config", "count"), [({}, 4), ({"communication.fuse_broadcasts": False}, 8)])
def test_broadcasts_are_joined_if_they_may_be(config: dict[str, Any], count: int) -> None:
    step = parallelized(optax.adam(1e-2), 2, **OWNERS, **config)
    state = (mlp_parameters(), optax.adam(1e-2).init(mlp_parameters()))
    local = step.lower(*state, *batches(1)[0]).as_text("local")
    assert len(re.findall(r"= epl\.(reduce|broadcast)\b", local)) == count


def test_explain_says_who_owns_what() -> None:
    step = parallelized(optax.adam(1e-2), 2, **OWNERS)
    state = (mlp_parameters(), optax.adam(1e-2).init(mlp_parameters()))
    lowered = step.lower(*state, *batches(1)[0])
    owned = re.findall(r'"data" = (\d) owns (.*): (\d+) elements of parameters', lowered.explain())
    assert len(owned) == 6
    for coordinate, names, elements in owned:
        for name in names.split(", "):
            assert lowered.compile().owners[name] == int(coordinate)
        assert int(elements) in (12 * 32, 32, 32 * 24, 24, 24 * 10, 10)


def test_a_level_and_an_owner_are_an_error() -> None:
    with pytest.raises(epl.ConfigError, match=r'"zero.owner" = .*"zero.level" = .*choose one'):
        epl.Config({"zero.owner": "parameter", "zero.level": "v1"})


def test_states_go_into_other_layouts_and_back() -> None:
    optimizer = optax.adam(1e-2)
    state: Any = (mlp_parameters(), optimizer.init(mlp_parameters()))
    steps = [
        parallelized(optimizer, 2, **OWNERS),
        parallelized(optimizer, 2),
        parallelized(optimizer, 2, **{"zero.level": "v1"}),
        parallelized(optimizer, 4, **OWNERS),
        parallelized(optimizer, 1),
    ]
    expected, reference = state, jax.jit(training_step(optimizer))
    for index in (0, 1, 0, 2, 0, 3, 0, 4, 0):
        batch = batches(1)[0]
        *state, loss = steps[index](*state, *batch)
        *expected, expected_loss = reference(*expected, *batch)
        np.testing.assert_allclose(loss, expected_loss, rtol=1e-4)
    assert_close(tuple(state), tuple(expected), 1e-4)


@pytest.mark.parametrize(
    "config",
    [
        {"pipeline.num_micro_batch": 2},
        {"pipeline.num_micro_batch": 4},
        {"cluster.sequential": True},
        {"amp.level": "o1"},
    ],
)
def test_other_settings_go_with_owners(config: dict[str, Any]) -> None:
    optimizer = optax.adamw(1e-2)
    state = (mlp_parameters(), optimizer.init(mlp_parameters()))
    owned, losses = train(parallelized(optimizer, 2, **OWNERS, **config), state)
    copied, expected = train(parallelized(optimizer, 2, **config), state)
    np.testing.assert_allclose(losses, expected, rtol=1e-6)
    assert_near(owned, copied, 1e-6)


@pytest.mark.parametrize("name", ["gan", "lora", "mixed_precision", "cnn"])
def test_models_train_as_jax_does(name: str) -> None:
    model = importlib.import_module(f"models.{name}").build()
    expected, expected_losses = train_model(model, [jax.jit(step) for step in model.steps])
    options: dict[str, Any] = {"state": "state", "batch": 1, "devices": 2, "config": OWNERS}
    found, losses = train_model(model, [epl.parallelize(step, **options) for step in model.steps])
    np.testing.assert_allclose(losses, expected_losses, rtol=model.tolerance)
    assert_near(found, expected, 10 * model.tolerance)


@pytest.mark.parametrize("from_owned", [True, False])
def test_checkpoints_go_from_one_layout_to_the_other(from_owned: bool, tmp_path: Path) -> None:
    optimizer = optax.adam(1e-2)
    first, second = OWNERS, {}
    if not from_owned:
        first, second = second, first
    state: Any = (mlp_parameters(), optimizer.init(mlp_parameters()))
    *state, _ = parallelized(optimizer, 2, **first)(*state, *batches(1)[0])
    with epl.Checkpoints(tmp_path) as checkpoints:
        checkpoints.save(1, tuple(state))
        checkpoints.wait()
        other = parallelized(optimizer, 2, **second)
        like = epl.layout_of(other.lower(*state, *batches(1)[0]), tuple(state))
        restored = checkpoints.restore(like)
        assert_near(restored, tuple(state), 0)
        again = checkpoints.restore(tuple(state))
        assert_near(again, tuple(state), 0)
    moment = restored[1][0].mu["w1"]
    assert len(moment.addressable_shards) == (2 if from_owned else 1)
    assert_near(other(*restored, *batches(1)[0]), other(*state, *batches(1)[0]), 0)


# States of processes: each has what its device owns, and the others' by epl.gather.
PROCESSES = """
    import jax
    import jax.numpy as jnp
    import numpy as np
    import optax

    import epl

    epl.init(devices="cpu:2")
    optimizer = optax.adam(1e-2)


    def step(params, opt_state, x):
        def loss(params):
            with epl.replicate():
                return jnp.mean((jnp.tanh(x @ params["a"]) @ params["b"]) ** 2)

        value, gradients = jax.value_and_grad(loss)(params)
        updates, opt_state = optimizer.update(gradients, opt_state, params)
        return optax.apply_updates(params, updates), opt_state, value


    def make(config):
        return epl.parallelize(step, state=("params", "opt_state"), batch="x", config=config)


    owned, copied, shared = make({"zero.owner": "parameter"}), make({}), make({"zero.level": "v1"})
    params = {"a": jnp.ones((16, 32)) / 16, "b": jnp.ones((32, 16)) / 32}
    state = (params, optimizer.init(params))
    x = np.random.default_rng(0).normal(size=(8, 16)).astype(np.float32)
    expected = state
    reference = jax.jit(step)
    owners = owned.lower(*state, x).compile().owners
    assert sorted(owners[f"params['{name}']"] for name in params) == [0, 1]
    matrix = 16 * 32 * 4
    assert owned.lower(*state, x).compile().plan.state_bytes == 2 * matrix + 4 + 2 * matrix
    for parallel in (owned, owned, copied, owned, shared, owned):
        *state, value = parallel(*state, x)
        *expected, expected_value = reference(*expected, x)
        np.testing.assert_allclose(value, expected_value, rtol=1e-5)
    own = jax.process_index()
    for name in params:
        moment = state[1][0].mu[name]
        is_here = owners[f"params['{name}']"] == own
        assert len(moment.addressable_shards) == is_here
        if is_here:
            assert np.asarray(moment).shape == moment.shape
        else:
            try:
                np.asarray(moment)
            except epl.Error as error:
                assert "epl.gather" in str(error), error
            else:
                raise AssertionError("a state of another process was read")
        np.testing.assert_allclose(epl.gather(moment), expected[1][0].mu[name], rtol=1e-4, atol=1e-7)
        np.testing.assert_allclose(state[0][name], expected[0][name], rtol=1e-4, atol=1e-7)
    with epl.Checkpoints(FOLDER) as checkpoints:
        checkpoints.save(1, tuple(state))
        checkpoints.wait()
        restored = checkpoints.restore(tuple(state))
    for a, b in zip(jax.tree.leaves(epl.gather(restored)), jax.tree.leaves(epl.gather(tuple(state)))):
        np.testing.assert_array_equal(a, b)
    print("ENDED")
"""


def test_processes_have_what_they_own(tmp_path: Path) -> None:
    code = PROCESSES.replace("FOLDER", repr(str(tmp_path / "saved")))
    done = mpi.run(2, mpi.write(tmp_path / "owners.py", code))
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("ENDED") == 2
