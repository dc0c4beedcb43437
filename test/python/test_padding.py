"""`pad_batch`: batches of any size beside `jax.jit` on the real samples."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import nnx

import epl
from steps import assert_near, batches, mlp, mlp_parameters

X, Y = batches(1, 24)[0]
DEVICES = pytest.mark.parametrize("devices", [1, 2, 4])
OPTIMIZER = optax.adam(1e-3, eps=1e-2)


def masked_mean(logits: jax.Array, y: jax.Array, mask: jax.Array) -> jax.Array:
    losses = optax.softmax_cross_entropy(logits, jax.nn.one_hot(y, 10))
    return jnp.sum(losses * mask) / jnp.sum(mask)


def evaluate(params: Any, batch: Any, mask: jax.Array) -> dict[str, jax.Array]:
    with epl.replicate():
        logits = mlp(params, batch["x"])
        right = logits.argmax(1) == batch["y"]
        return {
            "right": jnp.sum(right & mask),
            "loss": masked_mean(logits, batch["y"], mask),
            "logits": logits,
            "by class": logits.T,
            "likeness": logits @ logits.T,
            "keys": jax.vmap(jax.random.key)(batch["y"]),
        }


def train(params: Any, state: Any, x: jax.Array, y: jax.Array, mask: Any = None) -> Any:
    def loss_of(params: Any) -> jax.Array:
        with epl.replicate():
            return masked_mean(mlp(params, x), y, mask)

    loss, gradients = jax.value_and_grad(loss_of)(params)
    updates, state = OPTIMIZER.update(gradients, state, params)
    return optax.apply_updates(params, updates), state, loss


@DEVICES
def test_evaluation_of_any_number_of_samples_compiles_once(devices: int) -> None:
    step = epl.parallelize(evaluate, batch="batch", devices=devices, pad_batch=True)
    params = mlp_parameters()
    for size in (24, 24, 7, 1, 8, 23, 7):
        batch = {"x": X[:size], "y": jnp.asarray(Y[:size])}
        expected = jax.jit(evaluate)(params, batch, np.ones(size, bool))
        assert_near(step(params, batch), expected, 1e-5)
    assert len(step._lowered) == 1


@DEVICES
def test_training_on_what_is_left(devices: int) -> None:
    step = epl.parallelize(train, state=(0, 1), batch=("x", "y"), devices=devices, pad_batch=True)
    reference = jax.jit(train)
    found = expected = (mlp_parameters(), OPTIMIZER.init(mlp_parameters()))
    for size in (24, 13, 24, 6, 3):
        *found, loss = step(*found, X[:size], y=Y[:size])
        *expected, expected_loss = reference(*expected, X[:size], Y[:size], np.ones(size, bool))
        np.testing.assert_allclose(loss, expected_loss, rtol=1e-5)
    assert_near(found, expected, 1e-4)
    assert isinstance(found[0]["w0"], epl.Array)
    assert len(step._lowered) == 1


def test_sizes_without_a_plan_become_a_multiple_of_the_devices(
    caplog: pytest.LogCaptureFixture,
) -> None:
    step = epl.parallelize(evaluate, batch="batch", devices=4, pad_batch=True)
    with caplog.at_level("DEBUG", "epl"):
        for size in (5, 18, 6, 20):
            found = step(mlp_parameters(), {"x": X[:size], "y": Y[:size]})
            assert found["logits"].shape == (size, 10)
    assert [lowered.spec.kinds[-1][0] for lowered in step._lowered.values()] == [(8,), (20,)]
    assert "evaluate: batches of 5 are padded to 8" in caplog.messages
    assert "evaluate: batches of 18 are padded to 20" in caplog.messages


@pytest.mark.parametrize("dtype", [bool, np.float32, np.int32])
def test_a_mask_of_the_users_own_is_padded(dtype: Any) -> None:
    step = epl.parallelize(train, state=(0, 1), batch=("x", "y"), devices=2, pad_batch=True)
    state = mlp_parameters(), OPTIMIZER.init(mlp_parameters())
    mask = (np.arange(24) % 3 > 0).astype(dtype)
    for size in (24, 5):
        found = step(*state, X[:size], Y[:size], mask[:size])
        assert_near(found, jax.jit(train)(*state, X[:size], Y[:size], mask[:size]), 1e-5)
    assert len(step._lowered) == 1


def test_a_mask_per_token_and_axes_of_batches() -> None:
    def mean(batch: Any, offset: float, mask: jax.Array) -> Any:
        with epl.replicate():
            total = batch["tokens"] * batch["scale"] + offset
            return jnp.sum(total.T * mask) / mask.sum(), total[:, :, None]

    axes = {"batch": {"tokens": 1, "scale": None}}
    step = epl.parallelize(mean, batch=axes, devices=2, pad_batch=True)
    tokens, mask = X.T, np.random.default_rng(1).integers(0, 2, (24, 12)).astype(bool)
    for size in (24, 11):
        arguments = {"tokens": tokens[:, :size], "scale": 3}, 0.5, mask[:size]
        assert_near(step(*arguments), jax.jit(mean)(*arguments), 1e-5)


def test_keys_of_samples_are_padded() -> None:
    def draw(keys: jax.Array, mask: jax.Array) -> Any:
        noise = jax.vmap(jax.random.uniform)(keys)
        return noise, jnp.sum(noise * mask)

    step = epl.parallelize(draw, batch="keys", devices=2, pad_batch=True)
    keys = jax.random.split(jax.random.key(0), 7)
    assert_near(step(keys), jax.jit(draw)(keys, np.ones(7, bool)), 1e-6)


def test_objects_of_nnx_and_arrays_of_our_own_as_batches() -> None:
    def learn(model: nnx.Linear, x: jax.Array, mask: jax.Array) -> jax.Array:
        def loss(model: nnx.Linear) -> jax.Array:
            return jnp.sum(model(x).sum(1) ** 2 * mask) / mask.sum()

        value, gradients = nnx.value_and_grad(loss)(model)
        model.kernel[...] -= 0.1 * gradients.kernel[...]
        return value

    models = [nnx.Linear(12, 3, rngs=nnx.Rngs(0)) for _ in range(2)]
    own = epl.parallelize(lambda x: x + 1, state="x", devices=2)(X[:7] - 1)
    step = epl.parallelize(learn, state="model", batch="x", devices=2, pad_batch=True)
    for x in (X, own):
        expected = nnx.jit(learn)(models[1], jnp.asarray(x), np.ones(len(x), bool))
        np.testing.assert_allclose(step(models[0], x), expected, rtol=1e-5)
    assert_near(nnx.state(models[0]), nnx.state(models[1]), 1e-5)


def test_a_compiled_step_takes_smaller_batches_only() -> None:
    step = epl.parallelize(evaluate, batch="batch", devices=2, pad_batch=True)
    params = mlp_parameters()
    lowered = step.lower(params, {"x": X[:7], "y": Y[:7]})
    compiled = lowered.compile()
    assert [a.name for a in lowered.arguments[-2:]] == ["batch['y']", "mask"]
    assert compiled(params, {"x": X[:5], "y": Y[:5]})["logits"].shape == (5, 10)
    with pytest.raises(epl.ArgumentError, match=r'compiled for "batch\[\'x\'\]" as float32\[8, 12\]'):
        compiled(params, {"x": X[:9], "y": Y[:9]})


def test_nans_of_padded_steps_are_found() -> None:
    step = epl.parallelize(lambda x, mask: jnp.log(x) * mask, batch="x", devices=2, pad_batch=True)
    with jax.debug_nans(True):
        np.testing.assert_array_equal(step(np.ones(3, np.float32)), np.zeros(3))
        with pytest.raises(FloatingPointError):
            step(np.float32([1, -1, 1]))


def test_without_the_option_the_error_names_it() -> None:
    step = epl.parallelize(lambda x: x.sum(), batch="x", devices=2, name="total")
    with pytest.raises(epl.CompileError, match=r'size 7 is not divisible .* pad it \("pad_batch"'):
        step(X[:7])


def total(x: jax.Array, y: jax.Array, mask: jax.Array) -> jax.Array:
    return jnp.sum((x.sum(1) - y) * mask)


@pytest.mark.parametrize(
    ("function", "options", "message"),
    [
        (lambda x: x, {"batch": "x"}, r'has no parameter "mask": add it, .* jnp.sum\(loss \* mask\) / jnp'),
        (total, {}, "total has no batch, name its parameters in batch"),
        (total, {"batch": ("x", "y"), "state": "mask"}, '"mask" of total must be a batch along axis 0'),
        (total, {"batch": {"x": 0, "mask": 1}}, '"mask" of total must be a batch along axis 0'),
        (lambda mask, x: x, {"batch": "x"}, r'a call may leave out "mask" of .*: put it behind'),
    ],
)
def test_steps_that_cannot_be_padded(function: Any, options: Any, message: str) -> None:
    with pytest.raises(epl.ArgumentError, match=message):
        epl.parallelize(function, devices=2, pad_batch=True, **options)


@pytest.mark.parametrize(
    ("function", "arguments", "message"),
    [
        (total, (X, Y[:4]), '"y" is a batch of 4 samples, but "x" is one of 24'),
        (total, (X[:0], Y[:0]), "the batch of total is empty"),
        (lambda x, y, mask: x.sum(), (X, Y), 'does not use its "mask", and what it makes of all samples'),
        (lambda x, y, mask: (x * mask[:, None]).ravel(), (X, Y), r"has the shape \[288\] for 24 samples and"),
        (lambda x, y, mask: x.reshape(24, 3, 4) * mask.sum(), (X, Y), "takes no batch of 48 samples"),
    ],
)
def test_calls_that_cannot_be_padded(function: Any, arguments: Any, message: str) -> None:
    step = epl.parallelize(function, batch=("x", "y"), devices=2, pad_batch=True)
    with pytest.raises(epl.ArgumentError, match=message):
        step(*arguments)


@pytest.mark.parametrize(
    "function",
    [
        lambda x, mask: x[::-1],
        lambda x, mask: jnp.roll(x, -1, 0),
        lambda x, mask: jnp.sort(x, 0),
        lambda x, mask: jax.nn.softmax(x, 0),
        lambda x, mask: jnp.cumsum(x[::-1], 0)[::-1],
        lambda x, mask: jnp.abs(x[:, None] - x[None]).sum((1, 2)),
    ],
)
def test_results_per_sample_that_depend_on_others(function: Any) -> None:
    """They would come out with what is padded in them, though each has an entry for each sample."""
    x = np.random.default_rng(0).normal(size=(7, 3)).astype(np.float32)
    step = epl.parallelize(function, batch="x", devices=2, pad_batch=True)
    for _ in range(2):
        with pytest.raises(epl.ArgumentError, match="depends on what a batch is padded with"):
            step(x)
    whole = epl.parallelize(function, batch="x", devices=2, pad_batch=True)(x[:6])
    assert_near(whole, function(x[:6], np.ones(6, bool)), 1e-5)


def test_the_padding_is_looked_at_once_and_leaves_no_trace(capsys: pytest.CaptureFixture[str]) -> None:
    @epl.parallelize(state="total", batch="x", devices=2, pad_batch=True, debug=True)
    def step(total: jax.Array, x: jax.Array, mask: jax.Array) -> Any:
        jax.debug.print("a call")
        epl.check(x.sum() > -1e6, "too small")
        return total + jnp.sum(x * mask[:, None]), x * 2

    total = jnp.zeros(())
    for count in (7, 5, 7):
        total, doubled = step(total, np.ones((count, 3), np.float32))
        assert doubled.shape == (count, 3)
    assert total == 3 * 19
    assert capsys.readouterr().out.count("a call") == 3


def test_a_state_per_sample_cannot_be_padded() -> None:
    step = epl.parallelize(
        lambda last, x, mask: (x * mask[:, None], jnp.sum((x - last[0]).sum(1) * mask)),
        state="last",
        batch="x",
        devices=2,
        pad_batch=True,
    )
    with pytest.raises(epl.ArgumentError, match=r'"last" of _lambda_ is a state per sample.*make it a batch'):
        step(X, X)


def test_the_option_is_a_boolean() -> None:
    with pytest.raises(epl.ArgumentError, match="pad_batch must be True or False, found 128"):
        epl.parallelize(total, batch=("x", "y"), pad_batch=128)  # type: ignore[call-overload]
