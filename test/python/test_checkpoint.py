"""States go to disk and come back: pickle, flax, orbax."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import orbax.checkpoint as ocp
import pytest
from flax import nnx, serialization
from flax.training.train_state import TrainState

import epl
from conftest import GatedStep
from steps import batches, mlp, mlp_loss, mlp_parameters

DTYPES = ["bool", "int8", "uint8", "int32", "uint32", "float16", "bfloat16", "float32"]


OPTIMIZER = optax.adam(1e-3)


def new_state() -> TrainState:
    return TrainState.create(apply_fn=mlp, params=mlp_parameters(), tx=OPTIMIZER)


@pytest.fixture(scope="module")
def train() -> epl.Parallelized:
    """A step on a flax TrainState: a state tree with dicts, named tuples and a count."""

    def step(state: TrainState, x: jax.Array, y: jax.Array) -> TrainState:
        return state.apply_gradients(grads=jax.grad(mlp_loss)(state.params, x, y))

    return epl.parallelize(step, state="state", batch=("x", "y"), devices=2, name="train")


@pytest.fixture
def trained(train: epl.Parallelized) -> TrainState:
    state: TrainState = new_state()
    for x, y in batches(2):
        state = train(state, x, y)
    return state


@pytest.fixture(scope="module")
def keep() -> epl.Parallelized:
    return epl.parallelize(lambda state: state, state="state", devices=2, name="keep")


def assert_equal(found: Any, expected: Any) -> None:
    assert jax.tree.structure(found) == jax.tree.structure(expected)
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        np.testing.assert_array_equal(np.asarray(a), np.asarray(b))


def assert_training_goes_on(train: epl.Parallelized, restored: Any, trained: TrainState) -> None:
    """The restored state is the saved one, also to the next step."""
    assert_equal(restored, trained)
    ((x, y),) = batches(1)
    assert_equal(train(restored, x, y), train(trained, x, y))
    assert len(train._lowered) == 1


def test_pickled_training_goes_on(train: epl.Parallelized, trained: TrainState) -> None:
    leaves, tree = jax.tree.flatten(trained)
    restored = pickle.loads(pickle.dumps(leaves))
    assert all(isinstance(leaf, jax.Array) for leaf in restored)
    assert_training_goes_on(train, jax.tree.unflatten(tree, restored), trained)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("dtype", DTYPES)
def test_pickle_keeps_dtype_and_shape(dtype: str, protocol: int) -> None:
    keep = epl.parallelize(lambda state: state, state="state", devices=2, name="keep")
    array = keep(jnp.arange(6).reshape(2, 3).astype(dtype))
    assert_equal(pickle.loads(pickle.dumps(array, protocol)), array)


def test_deep_copies_outlive_donation(keep: epl.Parallelized) -> None:
    array = keep(jnp.arange(3))
    twin = copy.deepcopy({"a": array})
    keep(array)
    np.testing.assert_array_equal(twin["a"], [0, 1, 2])


def test_flax_restores_a_train_state(train: epl.Parallelized, trained: TrainState) -> None:
    content = serialization.to_bytes(trained)
    for target in (new_state(), trained):
        assert_training_goes_on(train, serialization.from_bytes(target, content), trained)
        trained = serialization.from_bytes(new_state(), content)


@pytest.mark.parametrize("dtype", DTYPES)
def test_flax_keeps_dtype_and_shape(dtype: str) -> None:
    keep = epl.parallelize(lambda state: state, state="state", devices=2, name="keep")
    array = keep(jnp.arange(6).reshape(2, 3).astype(dtype))
    restored = serialization.msgpack_restore(
        serialization.msgpack_serialize(serialization.to_state_dict(array))
    )
    assert_equal(restored, array)


def test_orbax_restores_a_train_state(train: epl.Parallelized, trained: TrainState, tmp_path: Path) -> None:
    expected = jax.tree.map(np.array, trained)
    with ocp.StandardCheckpointer() as checkpointer:
        checkpointer.save(tmp_path / "state", trained)
        abstract = jax.eval_shape(lambda state: state, trained)
        checkpointer.wait_until_finished()
        restored = checkpointer.restore(tmp_path / "state", abstract)
    assert_equal(restored, expected)
    assert_training_goes_on(train, restored, trained)


def test_orbax_manages_steps_while_training_goes_on(
    train: epl.Parallelized, trained: TrainState, tmp_path: Path
) -> None:
    """A save runs behind the program: the steps after it must not change what it writes."""
    saved = {}
    with ocp.CheckpointManager(tmp_path, options=ocp.CheckpointManagerOptions(max_to_keep=2)) as manager:
        for x, y in batches(4):
            trained = train(trained, x, y)
            index = int(trained.step)
            saved[index] = jax.tree.map(np.array, trained)
            manager.save(index, args=ocp.args.StandardSave(trained))
        manager.wait_until_finished()
        assert manager.all_steps() == [5, 6]
        abstract = jax.eval_shape(lambda state: state, trained)
        for index in manager.all_steps():
            assert_equal(manager.restore(index, args=ocp.args.StandardRestore(abstract)), saved[index])


def test_saving_a_state_that_is_lost_is_an_error(gated: GatedStep, tmp_path: Path) -> None:
    gated.open()
    lost = gated(gated.zero(), culprit=0)
    for save in (
        pickle.dumps,
        serialization.to_bytes,
        lambda tree: ocp.StandardCheckpointer().save(tmp_path / "state", tree),
    ):
        with pytest.raises(epl.Error, match="as asked"):
            save({"n": lost})


def test_a_train_state_goes_through_checkpoints(
    train: epl.Parallelized, trained: TrainState, tmp_path: Path
) -> None:
    """A named tuple inside a dataclass, a count that began as a Python number."""
    ((x, y),) = batches(1)
    layout = epl.layout_of(train.lower(new_state(), x, y), new_state())
    with epl.Checkpoints(tmp_path) as checkpoints:
        checkpoints.save(int(trained.step), trained)
        restored = checkpoints.restore(layout)
    assert all(isinstance(leaf, epl.Array) for leaf in jax.tree.leaves(restored))
    assert restored.step.buffer.is_donated is False
    assert_training_goes_on(train, restored, trained)


def test_objects_of_nnx_go_through_checkpoints(tmp_path: Path) -> None:
    def step(model: nnx.Module, optimizer: nnx.Optimizer, x: jax.Array) -> jax.Array:
        def loss(model: Any) -> jax.Array:
            with epl.replicate():
                return jnp.mean(model(x) ** 2)

        value, gradients = nnx.value_and_grad(loss)(model)
        optimizer.update(model, gradients)
        return value

    def new() -> tuple[Any, Any]:
        model = nnx.Linear(12, 4, rngs=nnx.Rngs(0))
        return model, nnx.Optimizer(model, optax.adam(1e-2), wrt=nnx.Param)

    train = epl.parallelize(
        step, state=("model", "optimizer"), batch="x", devices=2, config={"zero.level": "v3"}
    )
    model, optimizer = new()
    x = np.random.default_rng(0).normal(size=(8, 12)).astype(np.float32)
    train(model, optimizer, x)
    with epl.Checkpoints(tmp_path) as checkpoints:
        checkpoints.save(1, {"model": nnx.state(model), "optimizer": nnx.state(optimizer)})
        expected = [train(model, optimizer, x) for _ in range(2)]
        model, optimizer = new()
        lowered = train.lower(model, optimizer, x)
        layout = epl.layout_of(lowered, (model, optimizer))
        assert jax.tree.structure(layout) == jax.tree.structure(
            epl.layout_of(lowered, (nnx.state(model), nnx.state(optimizer)))
        )
        restored = checkpoints.restore(dict(zip(("model", "optimizer"), layout, strict=True)))
    nnx.update(model, restored["model"])
    nnx.update(optimizer, restored["optimizer"])
    assert isinstance(model.kernel.get_raw_value(), epl.Array)
    assert [float(train(model, optimizer, x)) for _ in range(2)] == [float(loss) for loss in expected]
