"""How a step is called, and the errors of calls."""

from __future__ import annotations

import sys
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import epl
from steps import scale

X = np.arange(24, dtype=np.float32).reshape(6, 4)


def test_static_arguments_and_kwargs() -> None:
    @epl.parallelize(batch="x", static_argnames="mode", devices=2)
    def step(x: jax.Array, *, mode: str = "sum") -> jax.Array:
        with epl.replicate():
            return x.sum() if mode == "sum" else x.max()

    assert float(step(X)) == X.sum()
    assert float(step(x=X, mode="max")) == X.max()
    assert float(step(X, mode="sum")) == X.sum()
    assert len(step._lowered) == 2


def test_one_plan_per_shape_and_dtype(scaled: epl.Parallelized) -> None:
    state = 1.0
    for x in (X, jnp.asarray(X), X.astype(np.float64), X.tolist() and np.asarray(X.tolist())):
        state, _ = scaled(state, x)
    assert len(scaled._lowered) == 1
    scaled(state, X[:4])
    assert len(scaled._lowered) == 2


def test_devices_and_default_strategy_choose_the_plan() -> None:
    step = epl.parallelize(lambda x: x + 1, name="add")
    for devices in (1, 2, 1):
        epl.init(devices)
        step(X)
    epl.set_default_strategy(epl.replicate())
    step(X)
    assert len(step._lowered) == 3


def test_the_layout_is_printed_once_per_compilation(
    scaled: epl.Parallelized, capfd: pytest.CaptureFixture[str]
) -> None:
    state, _ = scaled(1.0, X)
    scaled(state, X)
    assert capfd.readouterr().err == "scale: cpu:2 = data 2\n"


def test_a_batch_that_does_not_divide_gives_the_numbers() -> None:
    step = epl.parallelize(scale, state="state", batch="x", devices=4)
    with pytest.raises(epl.CompileError) as error:
        step(1.0, X)
    assert "6" in error.value.message
    assert "4" in error.value.message
    assert error.value.place == epl.errors.Place(scale.__code__.co_filename, scale.__code__.co_firstlineno)


def test_an_error_of_the_compiler_names_the_users_line() -> None:
    @epl.parallelize(batch="x", devices=3)
    def step(x: jax.Array) -> jax.Array:
        with epl.replicate():
            x = jnp.sin(x)
        with epl.replicate(name="head"):
            return jnp.cos(x)

    with pytest.raises(epl.CompileError, match="2 task graphs over 2 devices on 3") as error:
        step(X)
    first = step.__wrapped__.__code__.co_firstlineno
    assert error.value.place == epl.errors.Place(__file__, first + 2)  # the scope


def test_a_failed_call_costs_no_state(scaled: epl.Parallelized) -> None:
    state, _ = scaled(1.0, X)
    with pytest.raises(epl.CompileError):
        scaled(state, X[:5])
    with pytest.raises(TypeError):
        scaled(state)
    assert float(state) == 2 + X.mean()


def _unaligned(x: np.ndarray) -> np.ndarray:
    made = np.zeros(x.nbytes + 1, np.uint8)[1:].view(x.dtype).reshape(x.shape)
    made[...] = x
    return made


def _read_only(x: np.ndarray) -> np.ndarray:
    made = x.copy()
    made.flags.writeable = False
    return made


LAYOUTS = {
    "fortran": np.asfortranarray,
    "strided": lambda x: np.repeat(x, 2, axis=1)[:, ::2],
    "reversed": lambda x: x[::-1].copy()[::-1],
    "unaligned": _unaligned,
    "read_only": _read_only,
    "float64": lambda x: x.astype(np.float64),
    "subclass": lambda x: x.copy().view(type("Own", (np.ndarray,), {})),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_batch_of_any_layout_is_given_back(scaled: epl.Parallelized, layout: str) -> None:
    """A call that waits reads NumPy's arrays where they are; they are the caller's alone again afterwards."""
    expected = scaled(1.0, jnp.asarray(X))
    x = LAYOUTS[layout](X)
    references = sys.getrefcount(x)
    for _ in range(2):
        found = scaled(1.0, x)
        assert sys.getrefcount(x) == references
        assert all(map(np.array_equal, found, expected))
    assert np.array_equal(x, X)


def test_a_batch_may_be_overwritten_after_a_call_that_does_not_wait() -> None:
    step = epl.parallelize(lambda state, x: state + x.sum(), state="state", batch="x", devices=2)
    state, x = jnp.float32(0), np.ones((64, 1024), np.float32)
    for _ in range(20):
        state = step(state, x)
        x.fill(np.nan)
        x.fill(1)
    assert float(state) == 20 * x.size


LEAVES = jax.tree.structure((0, 0))
"""Of a step of two arguments, each a leaf."""


def test_leaves_alone_give_what_a_call_gives(scaled: epl.Parallelized) -> None:
    """Of the results states stay on the devices, others come as arrays of NumPy."""
    expected, found, plans = 1.0, 1.0, []
    for x in (X, X + 1, X[:4]):
        (expected, total) = scaled(expected, x)
        before = found
        found, own_total = scaled.call_leaves(LEAVES, [found, x])
        assert isinstance(found, epl.Array)
        assert type(own_total) is np.ndarray
        assert (own_total.dtype, own_total.shape) == (np.float32, ())
        assert np.array_equal(own_total, total)
        plans.append(len(scaled._lowered))
    assert np.array_equal(found, expected)
    assert plans == [1, 1, 2]
    with pytest.raises(epl.DonatedError):
        np.asarray(before)


def test_leaves_are_cut_and_looked_at_as_in_a_call() -> None:
    step = epl.parallelize(
        lambda x, mask: jnp.log(x) * mask, batch="x", devices=2, pad_batch=True, name="logarithms"
    )
    ones, mask = np.ones(3, np.float32), np.ones(3, bool)
    for _ in range(2):
        (found,) = step.call_leaves(LEAVES, [ones, mask])
        assert np.array_equal(found, np.zeros(3))
    with jax.debug_nans(True), pytest.raises(FloatingPointError):
        step.call_leaves(LEAVES, [-ones, mask])


def test_a_check_that_fails_for_leaves_gives_the_results_of_a_call() -> None:
    def step(state: Any, x: Any) -> Any:
        epl.check(x[0] < 1, "too large")
        return state + x.sum(), {"rows": x}

    parallel = epl.parallelize(step, state="state", batch="x", devices=2)
    found = []
    for call in (lambda x: parallel(0.0, x), lambda x: parallel.call_leaves(LEAVES, [0.0, x])):
        with pytest.raises(epl.StepError, match="too large") as error:
            call(np.float32([1, 2]))
        found.append(error.value.results)
    assert jax.tree.structure(found[0]) == jax.tree.structure(found[1])
    assert all(map(np.array_equal, jax.tree.leaves(found[0]), jax.tree.leaves(found[1])))


def test_errors_of_jax_name_the_users_function() -> None:
    def step(x: jax.Array) -> Any:
        return x if x.sum() > 0 else "nothing"

    with pytest.raises(jax.errors.TracerBoolConversionError, match=f"step at {__file__}"):
        epl.parallelize(step, devices=1)(X)


@pytest.mark.parametrize(
    "use", [lambda b: 1 if b["on"] else 2, lambda b: float(b["on"]), lambda b: jnp.arange(b["on"])]
)
def test_errors_of_jax_name_the_arguments(use: Any) -> None:
    step = epl.parallelize(lambda x, b: x + use(b), batch="x", devices=2)
    with pytest.raises(jax.errors.JAXTypeError, match=r"(?s)the value of the argument b\['on'\]"):
        step(X, {"on": True})


@pytest.mark.parametrize(
    "transform",
    [
        lambda step: jax.jit(lambda x: step(1.0, x))(X),
        lambda step: jax.grad(lambda x: step(1.0, x)[1])(X),
        lambda step: jax.vmap(lambda x: step(1.0, x))(X),
        lambda step: jax.eval_shape(step, 1.0, X),
        lambda step: epl.parallelize(lambda x: step(1.0, x), devices=1, name="outer")(X),
        lambda step: jax.jit(lambda x: step.call_leaves(LEAVES, [1.0, x]))(X),
    ],
    ids=["jit", "grad", "vmap", "eval_shape", "parallelize", "leaves"],
)
def test_transformations_of_a_parallelized_step(scaled: epl.Parallelized, transform: Any) -> None:
    with pytest.raises(epl.Error, match=r"scale is parallelized and cannot be called under jax.jit"):
        transform(scaled)


def test_without_devices_a_call_says_what_to_do() -> None:
    with pytest.raises(epl.Error, match=r'call epl.init\("cpu:2"\) first'):
        epl.parallelize(lambda x: x)(X)


def test_bad_options_are_errors_where_they_are_written() -> None:
    with pytest.raises(epl.ConfigError):
        epl.parallelize(lambda x: x, devices="cpu:0")
    with pytest.raises(epl.ConfigError):
        epl.parallelize(lambda x: x, config={"offload.level": "v1"})
    with pytest.raises(TypeError):
        epl.parallelize(lambda x: x, state="y")


ORDERS: list[dict[str, Any]] = [
    {"communication.fuse": False},
    {"cluster.sequential": True},
    {"cluster.num_threads": 1},
    {"cluster.num_threads": 3},
]


@pytest.mark.parametrize("config", ORDERS, ids=lambda config: next(iter(config)))
def test_the_order_of_work_makes_no_difference(config: dict[str, Any]) -> None:
    """Nor does memory that is given back between steps."""

    def train(w: Any, x: Any) -> Any:
        gradient = jax.grad(lambda w: jnp.sum((jnp.tanh(x @ w["a"]) @ w["b"]) ** 2))(w)
        return jax.tree.map(lambda value, g: value - 0.1 * g, w, gradient)

    random = np.random.default_rng(0)
    w = {"a": random.random((6, 8), dtype=np.float32), "b": random.random((8, 4), dtype=np.float32)}
    x = random.random((8, 6), dtype=np.float32)
    plain = epl.parallelize(train, state="w", batch="x", devices=2)
    step = epl.parallelize(train, state="w", batch="x", devices=2, config=config)
    step.release()  # before there is a plan
    expected = found = w
    for _ in range(3):
        expected, found = plain(expected, x), step(found, x)
        step.release()
        for name in w:
            assert np.array_equal(found[name], expected[name])
    compiled, other = (each.newest.compile().plan for each in (step, plain))
    assert compiled.num_collectives == (2 if config.get("communication.fuse") is False else 1)
    assert other.num_collectives == 1
