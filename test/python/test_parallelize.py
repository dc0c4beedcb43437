"""Parallelized steps against `jax.jit` of the same function, and everything that a user can do with one."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax.training.train_state import TrainState

import epl
from epl import stages
from steps import batches, mlp, mlp_parameters, training_step

DEVICES = [1, 2, 3, 4, 8]


def assert_close(found: Any, expected: Any, tolerance: float = 1e-5) -> None:
    """Equal trees; elements within a tolerance of the largest one of their tensor."""
    assert jax.tree.structure(found) == jax.tree.structure(expected)
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        scale = np.abs(np.asarray(b, np.float64)).max(initial=1e-30)
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=0, atol=tolerance * scale)


def scale(state: Any, x: Any) -> Any:
    """A step whose state and loss depend on every sample."""
    with epl.replicate():
        return jax.tree.map(lambda leaf: leaf * 2 + x.mean(), state), (x * x).sum()


@pytest.fixture
def scaled() -> epl.Parallelized:
    return epl.parallelize(scale, state="state", batch="x", devices=2)


X = np.arange(24, dtype=np.float32).reshape(6, 4)


@pytest.mark.parametrize("devices", DEVICES)
@pytest.mark.parametrize("optimizer", [optax.sgd(0.1), optax.adam(1e-3, eps=1e-2)], ids=["sgd", "adam"])
def test_training_agrees_with_jax(devices: int, optimizer: optax.GradientTransformation) -> None:
    function = training_step(optimizer)
    step = epl.parallelize(function, state=("params", "opt_state"), batch=("x", "y"), devices=devices)
    reference = jax.jit(function)
    found = expected = (mlp_parameters(), optimizer.init(mlp_parameters()))
    for x, y in batches(10):
        *found, loss = step(*found, x, y)
        *expected, expected_loss = reference(*expected, x, y)
        np.testing.assert_allclose(loss, expected_loss, rtol=1e-5)
    assert_close(tuple(found), tuple(expected), 1e-4)
    assert all(isinstance(leaf, epl.Array) for leaf in jax.tree.leaves(found))
    assert isinstance(loss, jax.Array)


@pytest.mark.parametrize("devices", DEVICES)
def test_evaluation_takes_the_states_of_training(devices: int) -> None:
    @epl.parallelize(batch=("x", "y"), devices=devices)
    def evaluate(params: Any, x: jax.Array, y: jax.Array) -> dict[str, jax.Array]:
        with epl.replicate():
            logits = mlp(params, x)
            hits = jnp.argmax(logits, axis=-1) == y
            return {"correct": hits.sum(), "logits": logits, "hits": hits}

    optimizer = optax.sgd(0.1)
    train = epl.parallelize(
        training_step(optimizer), state=("params", "opt_state"), batch=("x", "y"), devices=devices
    )
    (x, y), *_ = batches(1)
    params, _, _ = train(mlp_parameters(), optimizer.init(mlp_parameters()), x, y)
    found = evaluate(params, x, y)
    logits = mlp(jax.tree.map(jnp.asarray, params), x)
    np.testing.assert_allclose(found["logits"], logits, rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(found["hits"], np.argmax(logits, -1) == y)
    assert found["hits"].dtype == bool
    assert int(found["correct"]) == int((np.argmax(logits, -1) == y).sum())
    assert not any(leaf.is_deleted() for leaf in jax.tree.leaves(params))


def test_a_train_state_and_a_python_step_count() -> None:
    optimizer = optax.adam(1e-3)

    @epl.parallelize(state=0, batch=1, devices=2)
    def step(state: TrainState, x: jax.Array) -> tuple[TrainState, jax.Array]:
        def loss(params: Any) -> jax.Array:
            with epl.replicate():
                return (mlp(params, x) ** 2).mean()

        value, gradients = jax.value_and_grad(loss)(state.params)
        return state.apply_gradients(grads=gradients), value

    state = TrainState.create(apply_fn=mlp, params=mlp_parameters(), tx=optimizer)
    for x, _ in batches(3):
        state, _ = step(state, x)
    assert int(state.step) == 3
    assert state.tx is optimizer
    assert len(step._lowered) == 1


def test_decorator_without_arguments() -> None:
    epl.init("cpu:2")

    @epl.parallelize
    def double(x: jax.Array) -> jax.Array:
        """Doubles."""
        return x * 2

    assert double.__name__ == "double"
    assert double.__doc__ == "Doubles."
    np.testing.assert_array_equal(double(X), X * 2)
    np.testing.assert_array_equal(double(x=X), X * 2)


def test_results_keep_tree_dtype_and_weak_type() -> None:
    @epl.parallelize(devices=2)
    def step(x: Any, n: Any) -> Any:
        return {"a": (x.astype(jnp.bfloat16), None), "b": [n + 1, x > 3], "c": (x * 10).astype(jnp.uint8)}

    found = step(X, 2)
    expected = jax.jit(step.__wrapped__)(X, 2)
    assert_close(found, expected, 0)
    kinds = [(leaf.shape, leaf.dtype) for leaf in jax.tree.leaves(found)]
    assert kinds == [(leaf.shape, leaf.dtype) for leaf in jax.tree.leaves(expected)]
    assert all(isinstance(leaf, jax.Array) for leaf in jax.tree.leaves(found))


def test_arguments_promote_and_default_as_in_jit() -> None:
    def step(x: jax.Array, rate: Any, double: bool = False) -> jax.Array:
        return x * rate * (2 if double else 1)

    x = jnp.arange(4, dtype=jnp.bfloat16)
    parallel = epl.parallelize(step, batch="x", devices=2, name="scale")
    for rate in (0.1, np.float32(0.1)):
        found, expected = parallel(x, rate), jax.jit(step)(x, rate)
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)
    optional = epl.parallelize(lambda x, a=None, b=1.0: x * b if a is None else x + a, devices=2, name="pick")
    assert [float(optional(3.0)), float(optional(3.0, a=1.0)), float(optional(3.0, b=4.0))] == [3, 4, 12]


def test_unsigned_states_stay_unsigned() -> None:
    step = epl.parallelize(lambda state: (state + 1) // 2, state="state", devices=1, name="halve")
    state = step(np.array([0, 5, 4_000_000_001], np.uint32))
    assert state.dtype == np.uint32
    np.testing.assert_array_equal(state, [0, 3, 2_000_000_001])
    np.testing.assert_array_equal(step(state), [0, 2, 1_000_000_001])


def test_typed_keys_come_back_typed() -> None:
    @epl.parallelize(state="key", devices=2)
    def step(key: jax.Array, other: jax.Array) -> Any:
        key, now = jax.random.split(key)
        return key, jax.random.uniform(now, (5,)), jax.random.fold_in(other, 3)

    key, other = jax.random.key(7), jax.random.key(8, impl="threefry2x32")
    found, expected = step(key, other), jax.jit(step.__wrapped__)(key, other)
    for a, b in zip(found, expected, strict=True):
        assert a.dtype == b.dtype
    np.testing.assert_array_equal(jax.random.key_data(found[0]), jax.random.key_data(expected[0]))
    np.testing.assert_array_equal(jax.random.key_data(found[2]), jax.random.key_data(expected[2]))
    np.testing.assert_array_equal(found[1], expected[1])
    step(found[0], other)


def test_dropout_does_not_depend_on_the_devices() -> None:
    def step(x: jax.Array, key: jax.Array) -> jax.Array:
        with epl.replicate():
            return jnp.where(jax.random.bernoulli(key, 0.5, x.shape), x, 0.0)

    expected = jax.jit(step)(X, jax.random.key(3))
    for devices in (1, 2, 3):
        found = epl.parallelize(step, batch="x", devices=devices)(X, jax.random.key(3))
        np.testing.assert_array_equal(found, expected)


def test_nan_and_infinity_pass_through() -> None:
    x = np.array([[np.nan, np.inf, -np.inf, 1.0], [0.0, -0.0, 1e38, -1e38]], np.float32)

    def step(x: jax.Array) -> Any:
        with epl.replicate():
            return x * 10, jnp.maximum(x, 0), x.sum(0), jnp.exp(x), jnp.isnan(x)

    found = epl.parallelize(step, batch="x", devices=2)(x)
    for a, b in zip(found, jax.jit(step)(x), strict=True):
        np.testing.assert_array_equal(a, b)


def test_closed_over_arrays_are_uploaded_once() -> None:
    table = jnp.asarray(np.random.default_rng(0).normal(size=(4, 300)), jnp.float32)

    @epl.parallelize(batch="x", devices=2)
    def step(x: jax.Array) -> jax.Array:
        with epl.replicate():
            return x @ table

    for factor in (1, 2):
        np.testing.assert_allclose(step(factor * X), factor * X @ table, rtol=1e-5, atol=1e-5)
    (lowered,) = step._lowered.values()
    assert [value.shape for value in lowered.program.hidden] == [(4, 300)]


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


def test_lower_takes_shapes_and_shares_the_plan(scaled: epl.Parallelized) -> None:
    lowered = scaled.lower(jax.ShapeDtypeStruct((), jnp.float32), jax.ShapeDtypeStruct(X.shape, jnp.float32))
    compiled = lowered.compile()
    assert compiled is lowered.compile()
    assert scaled.lower(1.0, X).compile() is compiled
    assert compiled.layout == compiled.plan.layout == "cpu:2 = data 2"
    state, total = compiled(1.0, X)
    assert (float(state), float(total)) == (2 + X.mean(), (X * X).sum())
    scaled(state, X)


def test_as_text_shows_every_stage(scaled: epl.Parallelized) -> None:
    lowered = scaled.lower(1.0, X)
    assert "epl.scopes" in lowered.as_text()
    assert "epl.sharding" in lowered.as_text("global") or "epl.work" in lowered.as_text("global")
    assert "!epl.dist<" in lowered.as_text("local")
    assert "epl.kernel" in lowered.as_text("kernel")
    with pytest.raises(ValueError, match="stage must be one of input, global, local, kernel, found 'plan'"):
        lowered.as_text("plan")


def test_a_compiled_step_takes_only_what_it_was_compiled_for(scaled: epl.Parallelized) -> None:
    compiled = scaled.lower(1.0, X).compile()
    with pytest.raises(TypeError, match=r'"x" as float32\[6, 4\], found float32\[4, 4\]'):
        compiled(1.0, X[:4])
    with pytest.raises(TypeError, match="was compiled for arguments"):
        compiled((1.0, 2.0), X)


def test_check_reports_the_largest_differences(scaled: epl.Parallelized) -> None:
    compiled = scaled.lower({"a": 1.0, "b": X}, X).compile()
    state = {"a": 1.0, "b": X}
    report = compiled.check(state, X)
    assert [difference.name for difference in report.differences] == ["state['a']", "state['b']", "result[1]"]
    assert all(difference.passes for difference in report.differences)
    kept, _ = compiled(state, X)
    compiled.check(kept, X)
    assert not kept["a"].is_deleted()


def test_check_refuses_a_wrong_plan(scaled: epl.Parallelized, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = scaled.lower(1.0, X).compile()
    wrong = epl.parallelize(
        lambda state, x: (state * 3, (x * x).sum()), state="state", devices=1, name="wrong"
    )
    monkeypatch.setattr(stages.Compiled, "_reference", wrong.lower(1.0, X).compile())
    with pytest.raises(
        epl.CheckError, match=r"scale differs from its reference .*\nstate: differs by .* beyond"
    ):
        compiled.check(1.0, X)


def test_trace_writes_a_timeline(scaled: epl.Parallelized, tmp_path: Path) -> None:
    compiled = scaled.lower(1.0, X).compile()
    with compiled.trace(tmp_path / "t.json"):
        for _ in range(3):
            scaled(1.0, X)
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    assert all({"ph", "ts", "pid", "tid", "name"} <= event.keys() for event in events)
    assert sum(event["name"].startswith("step ") for event in events) == 3
    scaled(1.0, X)


def test_a_timeline_shows_the_users_own_lines(tmp_path: Path) -> None:
    optimizer = optax.adam(1e-3)
    step = epl.parallelize(
        training_step(optimizer), state=("params", "opt_state"), batch=("x", "y"), devices=2
    )
    params = mlp_parameters()
    arguments = (params, optimizer.init(params), *batches(1)[0])
    compiled = step.lower(*arguments).compile()
    with compiled.trace(tmp_path / "t.json"):
        compiled(*arguments)
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    commands = [event["args"] for event in events if event.get("cat") in ("compute", "collective", "copy")]
    assert {Path(command["source"].rpartition(":")[0]).name for command in commands} == {"steps.py"}
    names = {event["name"] for event in events if event.get("cat") == "compute"}
    assert any("matmul" in name for name in names)
    assert any("maximum" in name for name in names)


def test_a_timeline_into_a_pipe_leaves_the_pipe(scaled: epl.Parallelized, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE) as reader:
        with scaled.lower(1.0, X).compile().trace(pipe):
            scaled(1.0, X)
        output, _ = reader.communicate(timeout=30)
    assert json.loads(output)
    assert pipe.is_fifo()


def test_save_and_load(scaled: epl.Parallelized, tmp_path: Path) -> None:
    lowered = scaled.lower({"a": 1.0}, X)
    lowered.compile().save(tmp_path / "m.eplan")
    flat = epl.load(tmp_path / "m.eplan")
    state, total = flat(1.0, X)
    assert (float(state), float(total)) == (2 + X.mean(), (X * X).sum())
    assert [slot.name for slot in flat.plan.slots] == ["state['a']", "x", "state['a']", "result[1]"]
    tree = epl.load(tmp_path / "m.eplan", like=lowered)
    assert float(tree({"a": state}, X)[0]["a"]) == 2 * (2 + X.mean()) + X.mean()
    with pytest.raises(TypeError, match=r"takes 2 arrays \(state\['a'\], x\), found 1"):
        flat(1.0)
    other = epl.parallelize(lambda y: y, devices=2, name="other").lower(X)
    with pytest.raises(epl.Error, match="is not one of other"):
        epl.load(tmp_path / "m.eplan", like=other)


def test_save_and_load_hidden_constants(tmp_path: Path) -> None:
    table = np.random.default_rng(0).normal(size=(4, 600)).astype(np.float32)
    ones = jnp.ones((4, 4), jnp.bfloat16)
    half = jnp.asarray(table, jnp.bfloat16)
    step = epl.parallelize(lambda x: (x @ table, ones @ half), batch="x", devices=2, name="project")
    file = tmp_path / "m.eplan"
    step.lower(X).compile().save(file)
    found = epl.load(file)(X)
    np.testing.assert_allclose(found[0], X @ table, rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(found[1], step(X)[1])
    hidden = tmp_path / "m.eplan.hidden.npz"
    content = hidden.read_bytes()
    for size in (0, 100, len(content) // 2, len(content) - 1):
        hidden.write_bytes(content[:size])
        with pytest.raises(epl.Error, match="does not hold the constants of the plan"):
            epl.load(file)
    hidden.unlink()
    with pytest.raises(epl.Error, match=r'needs constants from ".*m.eplan.hidden.npz", which is missing'):
        epl.load(file)
    step.lower(X[:4]).compile().save(tmp_path / "other.eplan")
    (tmp_path / "other.eplan.hidden.npz").rename(hidden)
    with pytest.raises(epl.Error, match="holds the constants of another plan"):
        epl.load(file)


def test_a_plan_for_other_devices_names_both(scaled: epl.Parallelized, tmp_path: Path) -> None:
    scaled.lower(1.0, X).compile().save(tmp_path / "m.eplan")
    epl.init("cpu:4")
    with pytest.raises(epl.Error) as error:
        epl.load(tmp_path / "m.eplan")
    assert "2" in str(error.value)
    assert "4" in str(error.value)
    assert epl.load(tmp_path / "m.eplan", devices="cpu:2").layout == "cpu:2 = data 2"


def test_damaged_plan_files_are_refused(scaled: epl.Parallelized, tmp_path: Path) -> None:
    scaled.lower(1.0, X).compile().save(tmp_path / "m.eplan")
    whole = (tmp_path / "m.eplan").read_bytes()
    for position in range(0, len(whole), max(1, len(whole) // 50)):
        changed = bytearray(whole)
        changed[position] ^= 0x40
        (tmp_path / "changed.eplan").write_bytes(changed)
        with pytest.raises(epl.Error):
            epl.load(tmp_path / "changed.eplan")
        (tmp_path / "cut.eplan").write_bytes(whole[:position])
        with pytest.raises(epl.Error):
            epl.load(tmp_path / "cut.eplan")
    with pytest.raises(epl.Error, match=r"nowhere.eplan"):
        epl.load(tmp_path / "nowhere.eplan")


def test_a_full_disk_while_saving_loses_nothing(scaled: epl.Parallelized, tmp_path: Path) -> None:
    compiled = scaled.lower(1.0, X).compile()
    compiled.save(tmp_path / "m.eplan")
    before = (tmp_path / "m.eplan").read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) // 2, limits[1]))
        with pytest.raises(epl.Error, match=r"m.eplan"):
            compiled.save(tmp_path / "m.eplan")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert [file.name for file in tmp_path.iterdir()] == ["m.eplan"]
    assert (tmp_path / "m.eplan").read_bytes() == before


def test_a_batch_that_does_not_divide_gives_the_numbers() -> None:
    step = epl.parallelize(scale, state="state", batch="x", devices=4)
    line = scale.__code__.co_firstlineno
    with pytest.raises(epl.CompileError) as error:
        step(1.0, X)
    assert "6" in error.value.message
    assert "4" in error.value.message
    assert error.value.place == epl.errors.Place(__file__, line)


def test_an_error_of_the_compiler_names_the_users_line() -> None:
    @epl.parallelize(batch="x", devices=2)
    def step(x: jax.Array) -> jax.Array:
        with epl.replicate():
            x = jnp.sin(x)
        with epl.replicate():
            return jnp.cos(x)

    with pytest.raises(epl.CompileError, match="several stages: not supported yet") as error:
        step(X)
    assert error.value.place is not None
    assert error.value.place.file == __file__


def test_a_failed_call_costs_no_state(scaled: epl.Parallelized) -> None:
    state, _ = scaled(1.0, X)
    with pytest.raises(epl.CompileError):
        scaled(state, X[:5])
    with pytest.raises(TypeError):
        scaled(state)
    assert float(state) == 2 + X.mean()


def test_errors_of_jax_name_the_users_function() -> None:
    def step(x: jax.Array) -> Any:
        return x if x.sum() > 0 else "nothing"

    with pytest.raises(jax.errors.TracerBoolConversionError, match=f"step at {__file__}"):
        epl.parallelize(step, devices=1)(X)


@pytest.mark.parametrize(
    "transform",
    [
        lambda step: jax.jit(lambda x: step(1.0, x))(X),
        lambda step: jax.grad(lambda x: step(1.0, x)[1])(X),
        lambda step: jax.vmap(lambda x: step(1.0, x))(X),
        lambda step: jax.eval_shape(step, 1.0, X),
        lambda step: epl.parallelize(lambda x: step(1.0, x), devices=1, name="outer")(X),
    ],
    ids=["jit", "grad", "vmap", "eval_shape", "parallelize"],
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
        epl.parallelize(lambda x: x, config={"zero.level": "v1"})
    with pytest.raises(TypeError):
        epl.parallelize(lambda x: x, state="y")
