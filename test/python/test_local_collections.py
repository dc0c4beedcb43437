"""Results in `LOCAL_` collections: what the step returns for each micro-batch alone, or their mean or sum."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import epl
from steps import assert_near

KEYS = epl.GraphKeys
COMBINED: dict[str, Callable[[Any], Any]] = {
    KEYS.LOCAL_CONCAT_OBJECTS: lambda values: values,
    KEYS.LOCAL_MEAN_OBJECTS: lambda values: jnp.mean(values, axis=0),
    KEYS.LOCAL_SUM_OBJECTS: lambda values: jnp.sum(values, axis=0),
}
ROWS, CLASSES = 16, 4


def in_micro_batches(step: Callable[..., Any], count: int, devices: int = 1, **options: Any) -> Any:
    config = {"pipeline.num_micro_batch": count, **options.pop("config", {})}
    return epl.parallelize(step, devices=devices, config=config, **options)


def of_each(step: Callable[..., Any], count: int, state: Any, *batches: Any, axis: int = 0) -> Any:
    """What a step that returns its state first returns else for each micro-batch alone, stacked."""
    parts = [np.split(batch, count, axis=axis) for batch in batches]
    returned = [jax.jit(step)(state, *part)[1:] for part in zip(*parts, strict=True)]
    return jax.tree.map(lambda *values: np.stack(values), *returned)


def classifier(key: str) -> Callable[..., Any]:
    """A step whose metrics, collected in the differentiated function, are all in one collection."""

    def metrics(w: jax.Array, x: jax.Array, y: jax.Array) -> dict[str, jax.Array]:
        logits = jnp.tanh(x @ w)
        ce = optax.softmax_cross_entropy_with_integer_labels(logits, y)
        right = logits.argmax(-1) == y
        return {
            "mean": ce.mean(),
            "sum": ce.sum(),
            "max": ce.max(),
            "count": right.sum(),
            "accuracy": right.mean(),
            "perplexity": jnp.exp(ce.mean()),
            "variance": logits.var(axis=0),
            "masked": jnp.where(right, ce, 0).sum() / (right.sum() + 1),
            "by position": -jax.nn.log_softmax(logits)[jnp.arange(len(y)), y].mean(),
            "weighted": (0.5 / len(y)) * ce.sum(),
            "half": jnp.sort(ce)[: len(y) // 2].sum(),
            "samples": ce,
            "weights": (w**2).sum(),
        }

    def step(w: jax.Array, x: jax.Array, y: jax.Array) -> Any:
        def loss(w: jax.Array) -> tuple[jax.Array, dict[str, jax.Array]]:
            with epl.replicate(name="all"):
                found = metrics(w, x, y)
                epl.add_to_collection(list(found.values()), key)
                return found["mean"], found

        (value, found), gradient = jax.value_and_grad(loss, has_aux=True)(w)
        return w - 0.1 * gradient, value, found

    return step


def labelled() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    w, x = random.normal(size=(6, CLASSES)).astype("f"), random.normal(size=(ROWS, 6)).astype("f")
    return w, x, random.integers(0, CLASSES, ROWS).astype(np.int32)


@pytest.mark.parametrize(
    ("count", "devices", "key"),
    [
        *((count, devices, KEYS.LOCAL_CONCAT_OBJECTS) for count in (1, 2, 4) for devices in (1, 2)),
        (16, 1, KEYS.LOCAL_CONCAT_OBJECTS),
        *((count, 2, key) for count in (1, 4) for key in (KEYS.LOCAL_MEAN_OBJECTS, KEYS.LOCAL_SUM_OBJECTS)),
    ],
)
def test_results_are_those_of_each_micro_batch(count: int, devices: int, key: str) -> None:
    step, (w, x, y) = classifier(key), labelled()
    made = in_micro_batches(step, count, devices, state="w", batch=("x", "y"))
    expected = jax.tree.map(COMBINED[key], of_each(step, count, w, x, y))
    new, *found = made(w, x, y)
    assert jax.tree.map(np.shape, found) == jax.tree.map(np.shape, [*expected])
    assert_near(found, [*expected], 1e-5)
    np.testing.assert_allclose(new, jax.jit(step)(w, x, y)[0], rtol=1e-5)
    made.lower(w, x, y).compile().check(w, x, y)


@pytest.mark.parametrize("schedule", ["gpipe", "1f1b"])
@pytest.mark.parametrize(("count", "devices"), [(1, 2), (2, 2), (4, 2), (4, 4)])
def test_stages_of_a_pipeline(count: int, devices: int, schedule: str) -> None:
    def step(ws: list[jax.Array], x: jax.Array, y: jax.Array) -> Any:
        def loss(ws: list[jax.Array]) -> Any:
            with epl.replicate(name="first"):
                h = jnp.tanh(x @ ws[0])
                size = jnp.abs(h).max()
            with epl.replicate(name="second"):
                error = (h @ ws[1] - y) ** 2
                value = error.mean()
            epl.add_to_collection([value, error, size], KEYS.LOCAL_CONCAT_OBJECTS)
            return value, (error, size)

        (value, found), gradients = jax.value_and_grad(loss, has_aux=True)(ws)
        return [w - 0.1 * g for w, g in zip(ws, gradients, strict=True)], value, found

    random = np.random.default_rng(0)
    ws = [random.normal(size=(5, 5)).astype("f") for _ in range(2)]
    x, y = random.normal(size=(16, 5)).astype("f"), random.normal(size=(16, 5)).astype("f")
    config = {"pipeline.strategy": schedule}
    made = in_micro_batches(step, count, devices, state="ws", batch=("x", "y"), config=config)
    new, *found = made(ws, x, y)
    assert_near(found, [*of_each(step, count, ws, x, y)], 1e-5)
    assert_near(new, jax.jit(step)(ws, x, y)[0], 1e-5)


def collecting(step: Callable[..., Any]) -> Callable[..., Any]:
    """A step of a model with its loss collected."""

    def collected(state: Any, batch: Any) -> Any:
        state, loss = step(state, batch)
        epl.add_to_collection(loss, KEYS.LOCAL_CONCAT_OBJECTS)
        return state, loss

    return collected


def products(lowered: Any) -> int:
    text = lowered.as_text("global")
    return sum(text.count(name) for name in ("dot_general", "conv_general_dilated"))


@pytest.mark.parametrize("name", ["cnn", "recommender", "scanned", "vit"])
def test_models_do_no_product_a_second_time(name: str) -> None:
    model = importlib.import_module(f"models.{name}").build()
    step, batch = collecting(model.steps[0]), model.batch(np.random.default_rng(0))
    made, plain = (in_micro_batches(s, 2, state="state", batch=1) for s in (step, model.steps[0]))
    assert products(made.lower(model.state, batch)) == products(plain.lower(model.state, batch)) > 0
    halves = [jax.tree.map(lambda leaf, i=i: np.split(leaf, 2)[i], batch) for i in range(2)]
    expected = np.stack([jax.jit(model.steps[0])(model.state, half)[1] for half in halves])
    np.testing.assert_allclose(made(model.state, batch)[1], expected, rtol=1e-5)


@pytest.mark.parametrize("name", ["gpt", "vae"])
def test_random_bits_are_those_of_the_batch(name: str) -> None:
    """So the mean over micro-batches is that of the batch."""
    model = importlib.import_module(f"models.{name}").build()
    batch = model.batch(np.random.default_rng(0))
    made = in_micro_batches(collecting(model.steps[0]), 4, 2, state="state", batch=1)
    losses = made(model.state, batch)[1]
    assert losses.shape == (4,)
    np.testing.assert_allclose(losses.mean(), jax.jit(model.steps[0])(model.state, batch)[1], rtol=1e-5)


@pytest.mark.parametrize("devices", [1, 2])
def test_statistics_of_each_micro_batch(devices: int) -> None:
    def step(w: jax.Array, x: jax.Array) -> Any:
        def loss(w: jax.Array) -> jax.Array:
            h = x @ w
            with epl.per_micro_batch():
                h = (h - h.mean(axis=0)) / jnp.sqrt(h.var(axis=0) + 1e-3)
            value = (jnp.tanh(h) ** 3).mean() + (h[:, 0] * x[:, 0]).mean()
            epl.add_to_collection(value, KEYS.LOCAL_CONCAT_OBJECTS)
            return value

        value, gradient = jax.value_and_grad(loss)(w)
        return w - 0.1 * gradient, value

    w, x, _ = labelled()
    made = in_micro_batches(step, 4, devices, state="w", batch="x")
    np.testing.assert_allclose(made(w, x)[1], of_each(step, 4, w, x)[0], rtol=1e-4)


@pytest.mark.parametrize("devices", [1, 2])
def test_gradients_and_what_is_made_of_new_parameters(devices: int) -> None:
    def step(w: jax.Array, x: jax.Array) -> Any:
        def loss(w: jax.Array) -> jax.Array:
            with epl.replicate(name="all"):
                return (jnp.tanh(x @ w) ** 2).mean()

        gradient = jax.grad(loss)(w)
        norm, after = optax.tree.norm(gradient), loss(w - 0.1 * gradient)
        epl.add_to_collection([norm, after], KEYS.LOCAL_CONCAT_OBJECTS)
        return w - 0.1 * gradient, norm, after

    w, x, _ = labelled()
    found = in_micro_batches(step, 4, devices, state="w", batch="x")(w, x)[1:]
    assert_near(list(found), list(of_each(step, 4, w, x)), 1e-5)


def wrapped_step(wrap: Callable[[Any], Any]) -> Callable[..., Any]:
    def step(w: jax.Array, x: jax.Array) -> Any:
        def mean(w: jax.Array, x: jax.Array) -> jax.Array:
            value = (jnp.tanh(x @ w) ** 2).mean()
            epl.add_to_collection(value, KEYS.LOCAL_CONCAT_OBJECTS)
            return value

        return w, wrap(mean)(w, x)

    return step


def in_scan(mean: Callable[..., jax.Array]) -> Callable[..., Any]:
    def function(w: jax.Array, x: jax.Array) -> jax.Array:
        return jax.lax.scan(lambda total, scale: (total + mean(w * scale, x), None), 0.0, jnp.arange(3.0))[0]

    return function


@pytest.mark.parametrize(
    "wrap", [jax.jit, jax.checkpoint, lambda mean: jax.vmap(lambda s, w, x: mean(s * w, x), (0, None, None))]
)
def test_transformed_functions(wrap: Callable[[Any], Any], request: pytest.FixtureRequest) -> None:
    """What is collected in a function that is transformed is found where the step returns it."""
    plain = wrapped_step(wrap)
    w, x, _ = labelled()
    scales = np.arange(3, dtype="f")

    def step(w: jax.Array, x: jax.Array) -> Any:
        if wrap in (jax.jit, jax.checkpoint):
            return plain(w, x)
        return wrapped_step(lambda mean: lambda w, x: wrap(mean)(scales, w, x))(w, x)

    found = in_micro_batches(step, 4, state="w", batch="x")(w, x)[1]
    np.testing.assert_allclose(found, of_each(step, 4, w, x)[0], rtol=1e-5)


def test_what_is_not_returned_is_ignored() -> None:
    w, x, _ = labelled()
    step = wrapped_step(in_scan)
    found = in_micro_batches(step, 4, state="w", batch="x")(w, x)[1]
    np.testing.assert_allclose(found, jax.jit(step)(w, x)[1], rtol=1e-5)


def test_a_batch_along_another_dimension_and_one_that_is_whole() -> None:
    def step(w: jax.Array, x: jax.Array, whole: jax.Array) -> Any:
        h = jnp.tanh(w @ x) * whole.sum()
        value = jnp.abs(h).max(axis=1)
        epl.add_to_collection([h, value], KEYS.LOCAL_CONCAT_OBJECTS)
        return w, h, value

    w, x, _ = labelled()
    w, x = w.T.copy(), x.T.copy()
    whole = np.ones(3, "f")
    made = in_micro_batches(step, 4, 2, state="w", batch={"x": 1, "whole": None})
    expected = of_each(lambda w, x: step(w, x, whole), 4, w, x, axis=1)
    assert_near(list(made(w, x, whole)[1:]), list(expected), 1e-5)


def test_what_a_step_prints_is_shown_once(capsys: pytest.CaptureFixture[str]) -> None:
    def step(w: jax.Array, x: jax.Array) -> Any:
        def iteration(total: jax.Array, row: jax.Array) -> Any:
            jax.debug.print("total {:.0f}", total)
            return total + row.sum(), None

        total, _ = jax.lax.scan(iteration, jnp.zeros(()), x)
        epl.add_to_collection(total, KEYS.LOCAL_CONCAT_OBJECTS)
        return w, total

    w, x = np.ones(2, "f"), np.ones((4, 2), "f")
    found = in_micro_batches(step, 2, state="w", batch="x", debug=True)(w, x)[1]
    np.testing.assert_array_equal(found, [4, 4])
    assert capsys.readouterr().out.split() == ["total", "0", "total", "2", "total", "4", "total", "6"]


def test_global_collections_are_of_the_batch() -> None:
    w, x, _ = labelled()
    step = collected_in([KEYS.GLOBAL_CONCAT_OBJECTS], lambda w, x, _: (x @ w).max())
    found = in_micro_batches(step, 4, 2, state="w", batch="x")(w, x)
    assert_near(found, jax.jit(step)(w, x), 1e-5)


def test_a_padded_batch_has_results_of_each_micro_batch() -> None:
    def step(w: jax.Array, x: jax.Array, mask: jax.Array) -> Any:
        value = ((x @ w).sum(axis=1) * mask).sum()
        epl.add_to_collection(value, KEYS.LOCAL_CONCAT_OBJECTS)
        return w, value

    w, x, _ = labelled()
    found = in_micro_batches(step, 4, state="w", batch="x", pad_batch=True)(w, x[:14])[1]
    expected = [(x[:14] @ w).sum(axis=1)[i : i + 4].sum() for i in range(0, 16, 4)]
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def refused(step: Callable[..., Any], message: str, error: type[Exception], **options: Any) -> None:
    w, x, _ = labelled()
    with pytest.raises(error, match=message) as raised:
        in_micro_batches(step, 4, state="w", batch="x", **options).lower(w, x)
    assert __file__ in str(raised.value)


def collected_in(keys: Sequence[str], make: Callable[..., Any]) -> Callable[..., Any]:
    def step(w: jax.Array, x: jax.Array, mask: Any = None) -> Any:
        value = make(w, x, mask)
        for key in keys:
            epl.add_to_collection(value, key)
        return w, value

    return step


def test_a_value_in_two_collections() -> None:
    message = r'two collections, "local_mean_objects" \(.*:\d+\) and "global_sum_objects"'
    keys = [KEYS.LOCAL_MEAN_OBJECTS, KEYS.GLOBAL_SUM_OBJECTS]
    refused(collected_in(keys, lambda w, x, _: (x @ w).sum()), message, epl.ArgumentError)


def test_a_state_in_a_collection() -> None:
    def step(w: jax.Array, x: jax.Array) -> Any:
        w = w + x.sum()
        epl.add_to_collection(w, KEYS.LOCAL_SUM_OBJECTS)
        return w, x.sum()

    refused(step, '"w" is a state, which is that of the whole step', epl.ArgumentError)


def test_samples_of_padded_batches() -> None:
    step = collected_in([KEYS.LOCAL_CONCAT_OBJECTS], lambda w, x, mask: x.sum(axis=1) * mask)
    refused(step, "a value for each sample, of which pad_batch cuts", epl.ArgumentError, pad_batch=True)


def test_micro_batches_of_padding_alone() -> None:
    """Sums make the mean of the real samples, as does a mean that is in no collection."""

    def step(x: jax.Array, mask: Any = None) -> Any:
        total, count = (jnp.tanh(x).sum(axis=1) * mask).sum(), mask.sum()
        mean = total / count
        means, safe = jnp.sqrt(mean**2), total / jnp.maximum(count, 1)
        epl.add_to_collection([total, count], KEYS.LOCAL_SUM_OBJECTS)
        epl.add_to_collection([means, safe], KEYS.LOCAL_CONCAT_OBJECTS)
        return total, count, mean, means, safe

    x = labelled()[1][:10]
    made = in_micro_batches(step, 4, 2, batch="x", pad_batch=True)
    total, count, mean, means, safe = made(x)
    expected = np.tanh(x).sum(axis=1)
    assert count == 10
    np.testing.assert_allclose([total / count, mean], expected.mean(), rtol=1e-5)
    assert np.isnan(means).tolist() == [False, False, False, True]  # as the documents say
    parts = [expected[:4].mean(), expected[4:8].mean(), expected[8:].mean(), 0]
    np.testing.assert_allclose(safe, parts, rtol=1e-5)


def test_steps_that_take_no_micro_batch() -> None:
    keys = [KEYS.LOCAL_MEAN_OBJECTS]
    number = "write the size of the batch, not a number"
    refused(collected_in(keys, lambda w, x, _: x.reshape(16, 3, 2).sum()), number, epl.UnsupportedError)

    def in_scope(w: jax.Array, x: jax.Array, _: Any) -> jax.Array:
        with epl.replicate(name=f"of{len(x)}"):
            return jnp.tanh(x).sum()

    refused(collected_in(keys, in_scope), f"enters other scopes there.*{number}", epl.UnsupportedError)


@pytest.mark.parametrize("count", [2, 16])
def test_steps_that_do_something_else_for_a_micro_batch(count: int) -> None:
    """As JAX does for one sample."""

    def make(w: jax.Array, x: jax.Array, _: Any) -> jax.Array:
        h = x @ w
        h = h - h.max(axis=0) if len(x) == ROWS else jnp.sin(h)
        return jnp.take_along_axis(h, jnp.argmin(h, axis=1, keepdims=True), axis=1).mean()

    w, x, _ = labelled()
    step = collected_in([KEYS.LOCAL_CONCAT_OBJECTS], make)
    found = in_micro_batches(step, count, state="w", batch="x")(w, x)[1]
    np.testing.assert_allclose(found, of_each(step, count, w, x)[0], rtol=1e-5)
