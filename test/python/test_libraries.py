"""States of EPL in the libraries that people use with JAX."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import chex
import equinox as eqx
import flax.linen as nn
import flax.serialization
import haiku as hk
import jax
import jax.numpy as jnp
import numpy as np
import optax
import orbax.checkpoint as ocp
import pytest
from flax import nnx

import epl
from processes import run_python

X = np.random.default_rng(0).normal(size=(8, 3)).astype(np.float32)
OPTIMIZER = optax.adam(0.1)


def as_epl(tree: Any) -> Any:
    """The tree as a step returns it."""
    kept = epl.parallelize(lambda state: state, state="state", devices=2, name="keep")(tree)
    assert all(isinstance(leaf, epl.Array) for leaf in jax.tree.leaves(kept))
    return kept


def assert_equal(found: Any, expected: Any) -> None:
    """Two trees of arrays with the same structure and values."""
    assert jax.tree.structure(found) == jax.tree.structure(expected)
    jax.tree.map(np.testing.assert_array_equal, found, expected)


def assert_close(found: Any, expected: Any) -> None:
    """The same up to the order of sums over the batch."""
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6), found, expected)


def trained_alike(loss: Any, params: Any) -> Any:
    """The parameters after three steps on two devices, which `jax.jit` of the same step confirms."""

    def step(params: Any, moments: Any, x: Any) -> Any:
        def scoped(params: Any) -> Any:
            with epl.replicate():
                return loss(params, x)

        value, gradients = jax.value_and_grad(scoped)(params)
        updates, moments = OPTIMIZER.update(gradients, moments, params)
        return optax.apply_updates(params, updates), moments, value

    parallel = epl.parallelize(step, state=("params", "moments"), batch="x", devices=2)
    compiled = jax.jit(step)
    found = expected = (params, OPTIMIZER.init(params), 0.0)
    for _ in range(3):
        found, expected = parallel(*found[:2], X), compiled(*expected[:2], X)
    assert_close(found, expected)
    return found[0]


def test_equinox_takes_states_for_arrays() -> None:
    params = as_epl({"w": jnp.ones((3, 4)), "n": jnp.arange(2)})
    kept, rest = eqx.partition(params, eqx.is_inexact_array)
    assert_equal(kept, {"w": np.ones((3, 4)), "n": None})
    assert_equal(rest, {"w": None, "n": np.arange(2)})
    assert eqx.is_array(params["w"])
    gradients = eqx.filter_grad(lambda p: (p["w"] ** 2).sum())(params)
    assert_equal(gradients, {"w": np.full((3, 4), 2), "n": None})
    assert float(eqx.filter_jit(lambda p: p["w"].sum())(params)) == 12
    assert eqx.tree_equal(params, jax.tree.map(jnp.asarray, params))


def test_equinox_trains_and_serialises() -> None:
    model = eqx.nn.MLP(3, 2, 8, 1, key=jax.random.key(0))
    arrays, static = eqx.partition(model, eqx.is_inexact_array)

    def loss(arrays: Any, x: Any) -> Any:
        return (jax.vmap(eqx.combine(arrays, static))(x) ** 2).mean()

    trained = eqx.combine(trained_alike(loss, arrays), static)
    assert jax.vmap(trained)(X).shape == (8, 2)
    gradients = eqx.filter_grad(lambda model: (jax.vmap(model)(X) ** 2).mean())(trained)
    assert all(leaf.shape for leaf in jax.tree.leaves(gradients))
    file = io.BytesIO()
    eqx.tree_serialise_leaves(file, trained)
    file.seek(0)
    restored = eqx.tree_deserialise_leaves(file, model)
    assert_equal(eqx.filter(restored, eqx.is_array), eqx.filter(trained, eqx.is_array))
    file.seek(0)
    described = eqx.filter_eval_shape(
        lambda model: model, trained
    )  # a tree of states is no `like` of equinox's
    again = eqx.tree_deserialise_leaves(file, described)
    assert_equal(eqx.filter(again, eqx.is_array), eqx.filter(trained, eqx.is_array))


def test_haiku_trains() -> None:
    model = hk.without_apply_rng(hk.transform(lambda x: hk.nets.MLP([8, 2])(x)))
    params = trained_alike(
        lambda params, x: (model.apply(params, x) ** 2).mean(), model.init(jax.random.key(0), X)
    )
    assert model.apply(params, X).shape == (8, 2)
    head, body = hk.data_structures.partition(lambda module, *_: module == "mlp/~/linear_1", params)
    assert_equal(hk.data_structures.merge(head, body), params)


def test_linen_trains_and_serialises() -> None:
    model = nn.Dense(2)
    params = trained_alike(
        lambda params, x: (model.apply(params, x) ** 2).mean(), model.init(jax.random.key(0), X)
    )
    assert model.apply(params, X).shape == (8, 2)
    assert_equal(flax.serialization.from_bytes(params, flax.serialization.to_bytes(params)), params)
    assert_equal(flax.serialization.from_state_dict(params, flax.serialization.to_state_dict(params)), params)


def test_flax_serializes_also_if_it_is_imported_after_the_step() -> None:
    printed = run_python(
        """
        import sys, epl, jax.numpy as jnp, numpy as np
        keep = epl.parallelize(lambda w: w, state="w", devices=2, name="keep")
        w = keep(jnp.ones((3, 4)))
        assert "flax.serialization" not in sys.modules
        import flax.serialization
        print(flax.serialization.from_bytes(w, flax.serialization.to_bytes(w)).sum())
        """
    )
    assert printed == "12.0\n"


def test_nnx_holds_states() -> None:
    model = nnx.Linear(3, 2, rngs=nnx.Rngs(0))
    expected = model(X)
    nnx.update(model, as_epl(nnx.state(model)))
    np.testing.assert_allclose(model(X), expected, rtol=1e-6)
    np.testing.assert_allclose(nnx.jit(lambda model, x: model(x))(model, X), expected, rtol=1e-6)
    gradients = nnx.grad(lambda model: model(X).sum())(model)
    np.testing.assert_allclose(gradients["bias"][...], np.full(2, 8), rtol=1e-6)


def test_optax_goes_on_with_states() -> None:
    params = as_epl({"w": jnp.ones((3, 4))})
    moments = as_epl(OPTIMIZER.init(params))
    updates, moments = OPTIMIZER.update(params, moments, params)
    assert_close(optax.apply_updates(params, updates), {"w": np.full((3, 4), 0.9)})
    assert float(optax.tree.norm(params)) == pytest.approx(12**0.5)
    assert optax.tree.zeros_like(params)["w"].shape == (3, 4)


def test_orbax_saves_and_restores(tmp_path: Path) -> None:
    state = {"w": jnp.arange(6.0).reshape(2, 3), "key": jnp.zeros(2, jnp.uint32), "step": jnp.int32(3)}
    kept = as_epl(state)
    with ocp.StandardCheckpointer() as checkpointer:
        checkpointer.save(tmp_path / "saved", kept)
        checkpointer.wait_until_finished()
        assert_equal(checkpointer.restore(tmp_path / "saved", kept), state)  # like states
        described = jax.eval_shape(lambda s: s, kept)
        assert_equal(checkpointer.restore(tmp_path / "saved", described), state)


def test_chex_asserts_about_states() -> None:
    state = as_epl({"a": jnp.ones((2, 3)), "b": jnp.ones((2, 3))})
    chex.assert_shape(state["a"], (2, 3))
    chex.assert_type(state["a"], jnp.float32)
    chex.assert_rank(state["a"], 2)
    chex.assert_trees_all_equal(state, {"a": np.ones((2, 3)), "b": np.ones((2, 3))})
    chex.assert_tree_all_finite(state)
    chex.assert_equal_shape(jax.tree.leaves(state))
    chex.assert_trees_all_close(state, jax.tree.map(jnp.asarray, state))
    with pytest.raises(AssertionError):
        chex.assert_shape(state["a"], (3, 2))
