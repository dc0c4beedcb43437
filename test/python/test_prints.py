"""`jax.debug.print` and `jax.debug.callback` in steps: what JAX shows, whole values, in program order."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx
from jax import lax

import epl
from steps import assert_close

Step = Callable[..., Any]
show = functools.partial(jax.debug.print, ordered=True)
X = jnp.arange(24, dtype=jnp.float32).reshape(12, 2)
W = jnp.array([[1.0, 2.0], [0.0, -1.0]])
DEVICES = pytest.mark.parametrize("devices", [1, 2, 3])


def in_scans(x: jax.Array, w: jax.Array) -> Any:
    """Short loops are unrolled, long ones kept; what no iteration changes, counters, branches of one."""

    def body(h: jax.Array, i: jax.Array) -> Any:
        for _ in range(15):
            h = jnp.round(h @ w) % 16
        show("iteration {} {h}", i, h=h[0])
        lax.cond(i % 3 == 0, lambda: show("third {}", i), lambda: show("no third"))
        show("always {} {}", x.sum(), w)
        return h, h.sum()

    with epl.replicate():
        h, few = lax.scan(body, x, jnp.arange(3))
        h, many = lax.scan(body, h, jnp.arange(20), reverse=True)
    return h, few, many


def in_branches(x: jax.Array, w: jax.Array) -> Any:
    def inner(h: jax.Array) -> jax.Array:
        show("inner {}", h.sum())
        return h @ w

    def outer(h: jax.Array) -> jax.Array:
        show("outer {}", h[1])
        return lax.cond(h.sum() < 1e6, inner, lambda h: (show("not this"), h)[1], h)

    branches = [lambda h: (show("first {}", h), h)[1], outer, lambda h: (show("last {}", h), h)[1]]
    with epl.replicate():
        return lax.switch(jnp.int32(x[0, 1]), branches, x)


def under_transformations(x: jax.Array, w: jax.Array) -> Any:
    def loss(w: jax.Array, row: jax.Array) -> jax.Array:
        show("row {} {}", row, w[0])
        return (row @ w).sum()

    with epl.replicate():
        losses, gradients = jax.vmap(jax.value_and_grad(loss), (None, 0))(w, x[:3])
        return losses, gradients, jax.grad(jax.checkpoint(loss))(w, x[1])


def kinds_of_values(x: jax.Array, w: jax.Array) -> Any:
    show("{} {}", x.astype(jnp.bfloat16)[:2], x.astype(jnp.uint8)[0])
    show("{d}", d={"a": x[0] > 0, "b": (x[1].astype(jnp.int8), 3)})
    show("{:.3f} {:>10} {{}}", x[1, 1], w[0, 0])
    show("nothing")
    show("empty {}", x[:0])
    return x


def of_split_layers(x: jax.Array, w: jax.Array) -> Any:
    with epl.split(device_count=1):
        h = x @ w
        show("{}", h)
    return h.sum()


def of_several_meshes(x: jax.Array, w: jax.Array) -> Any:
    with epl.replicate(name="one"):
        h = x @ w
        show("one {}", h[0])
    with epl.replicate(name="two"):
        g = h @ w
        show("two {}", g)
    show("both {}", (g - h).sum())
    return g.sum()


STEPS = [in_scans, in_branches, under_transformations, kinds_of_values, of_split_layers]


def shown_by_jax(step: Step, capsys: pytest.CaptureFixture[str], *args: Any) -> tuple[Any, str]:
    capsys.readouterr()
    out = jax.block_until_ready(jax.jit(step)(*args))
    jax.effects_barrier()
    return out, capsys.readouterr().out


@DEVICES
@pytest.mark.parametrize("step", STEPS)
def test_a_step_shows_what_jax_shows(step: Step, devices: int, capsys: pytest.CaptureFixture[str]) -> None:
    expected, text = shown_by_jax(step, capsys, X, W)
    parallel = epl.parallelize(step, batch="x", devices=devices, debug=True)
    assert text
    for _ in range(2):
        assert_close(parallel(X, W), expected)
        assert capsys.readouterr().out == text
    parallel.lower(X, W).compile().check(X, W)
    assert capsys.readouterr().out == text  # the reference's are the same


@pytest.mark.parametrize("devices", [1, 2, 4])
def test_scopes_on_devices_of_their_own(devices: int, capsys: pytest.CaptureFixture[str]) -> None:
    expected, text = shown_by_jax(of_several_meshes, capsys, X, W)
    assert_close(epl.parallelize(of_several_meshes, batch="x", devices=devices, debug=True)(X, W), expected)
    assert capsys.readouterr().out == text


def test_values_are_whole_where_devices_have_parts(capsys: pytest.CaptureFixture[str]) -> None:
    @epl.parallelize(batch="x", devices=2, debug=True)
    def step(x: jax.Array, w: jax.Array) -> jax.Array:
        with epl.split(device_count=2):
            h = x @ w
            show("{} {}", h[0], h[-1])
            return h.sum()

    _, text = shown_by_jax(step.__wrapped__, capsys, X, W)
    step(X, W)
    assert capsys.readouterr().out == text


def test_a_callback_gets_arrays_in_the_order_of_the_program() -> None:
    seen: list[Any] = []

    @epl.parallelize(batch="x", devices=2, debug=True)
    def step(x: jax.Array) -> jax.Array:
        def body(total: jax.Array, row: jax.Array) -> Any:
            jax.debug.callback(lambda value, tag: seen.append((tag, value)), row, tag="row")
            return total + row.sum(), None

        return lax.scan(body, 0.0, x)[0]

    step(X)
    assert [tag for tag, _ in seen] == ["row"] * 12
    assert all(isinstance(value, jax.Array) for _, value in seen)
    np.testing.assert_array_equal([value for _, value in seen], X)


def test_a_callback_that_fails_leaves_the_new_state() -> None:
    def fail(_: Any) -> None:
        raise ValueError("no")

    @epl.parallelize(state="n", devices=2, debug=True)
    def step(n: jax.Array, fails: jax.Array) -> jax.Array:
        lax.cond(fails, lambda: jax.debug.callback(fail, n), lambda: None)
        return n + 1

    n = step(jnp.zeros(3), False)
    with pytest.raises(ValueError, match="no"):
        step(n, True)
    np.testing.assert_array_equal(n, [2, 2, 2])


def test_without_debug_one_warning_names_the_first_line() -> None:
    def step(x: jax.Array) -> jax.Array:
        jax.debug.print("{}", x)
        jax.debug.callback(lambda _: None, x)
        return x * 2

    parallel = epl.parallelize(step, batch="x", devices=2)
    with pytest.warns(UserWarning, match="debug=True") as warnings:
        lowered = parallel.lower(X)
    assert_close(parallel(X), X * 2)  # warns no more
    [warning] = warnings
    line = step.__code__.co_firstlineno + 1
    assert (warning.filename, warning.lineno) == (__file__, line)
    assert str(warning.message) == (
        f"{__file__}:{line}: step leaves out what it prints here and 1 more: give debug=True to "
        "epl.parallelize"
    )
    assert [slot.hidden for slot in lowered.compile().plan.slots] == [False, False]


def test_what_is_only_printed_is_not_computed_without_debug() -> None:
    def step(x: jax.Array) -> jax.Array:
        jax.debug.print("{}", jnp.sin(x))
        return x * 2

    with pytest.warns(UserWarning, match="debug=True"):
        lowered = epl.parallelize(step, batch="x", devices=2).lower(X)
    assert "math.sin" not in lowered.program.text
    assert "math.sin" in epl.parallelize(step, batch="x", devices=2, debug=True).lower(X).program.text


def test_jax_prints_as_ever_outside_of_steps(capsys: pytest.CaptureFixture[str]) -> None:
    epl.parallelize(kinds_of_values, batch="x", devices=2, debug=True)(X, W)
    capsys.readouterr()
    _, text = shown_by_jax(lambda x: show("{}", x.sum()), capsys, X)
    assert text == "276.0\n"


def test_typed_keys(capsys: pytest.CaptureFixture[str]) -> None:
    @epl.parallelize(devices=2, debug=True)
    def step(key: jax.Array) -> jax.Array:
        keys = jax.random.split(key, 3)
        jax.debug.callback(lambda k: print(jax.random.key_data(k)), keys)
        return jax.random.uniform(keys[0])

    step(jax.random.key(3))
    assert capsys.readouterr().out == f"{jax.random.key_data(jax.random.split(jax.random.key(3), 3))}\n"


def test_modules_of_nnx(capsys: pytest.CaptureFixture[str]) -> None:
    @epl.parallelize(state="model", batch="x", devices=2, debug=True)
    def step(model: nnx.Linear, x: jax.Array) -> jax.Array:
        with epl.replicate():
            jax.debug.print("bias {}", model.bias[...])
            model.bias[...] += model(x).mean()
            return model.bias.sum()

    model = nnx.Linear(2, 2, rngs=nnx.Rngs(0))
    step(model, X)
    step(model, X)
    first, second = capsys.readouterr().out.splitlines()
    assert first == "bias [0. 0.]"
    assert second != first


def test_a_padded_batch_is_shown_with_its_padding(capsys: pytest.CaptureFixture[str]) -> None:
    @epl.parallelize(batch="x", devices=2, debug=True, pad_batch=True)
    def step(x: jax.Array, mask: jax.Array) -> jax.Array:
        jax.debug.print("{} {}", x[:, 0], mask)
        return x * 2

    assert step(X[:3]).shape == (3, 2)
    assert capsys.readouterr().out == "[0. 2. 4. 4.] [ True  True  True False]\n"


def saved_and_loaded(step: Step, tmp_path: Path, like: bool) -> tuple[Any, Any]:
    lowered = epl.parallelize(step, batch="x", devices=2, debug=True).lower(X, W)
    compiled = lowered.compile()
    compiled.save(tmp_path / "step.eplan")
    return compiled, epl.load(tmp_path / "step.eplan", like=lowered if like else None)


@pytest.mark.parametrize("step", [in_scans, in_branches, under_transformations])
@pytest.mark.parametrize("like", [True, False])
def test_a_loaded_plan_shows_the_same(
    step: Step, like: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    compiled, loaded = saved_and_loaded(step, tmp_path, like)
    expected = compiled(X, W)
    text = capsys.readouterr().out
    assert_close(jax.tree.leaves(loaded(X, W)), jax.tree.leaves(expected))
    assert capsys.readouterr().out == text


def test_a_plan_that_shows_by_python_asks_for_the_step(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = kinds_of_values.__code__.co_firstlineno + 2
    with pytest.raises(epl.Error, match=f"{__file__}:{line}: .* with like=, the lowered step, or compile"):
        saved_and_loaded(kinds_of_values, tmp_path, like=False)
    _, loaded = saved_and_loaded(kinds_of_values, tmp_path, like=True)
    capsys.readouterr()
    loaded(X, W)
    assert "'b': (Array([2, 3], dtype=int8), Array(3, dtype=int32))" in capsys.readouterr().out
