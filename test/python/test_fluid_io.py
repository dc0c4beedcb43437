"""Files of Fluid: what EPL writes Paddle reads, and the other way."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

paddle = pytest.importorskip("paddle")

import epl
from epl import fluid

X = np.random.default_rng(0).normal(size=(6, 3)).astype("float32")


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("CPU_NUM", "2")
    with (
        fluid.program_guard(fluid.Program(), fluid.Program()),
        fluid.unique_name.guard(),
        fluid.scope_guard(fluid.Scope()),
    ):
        yield


def trained() -> tuple[Any, Any]:
    """What is fetched of a network with BatchNorm that has trained on two devices, and its test program."""
    x = fluid.layers.data("x", [3])
    y = fluid.layers.batch_norm(fluid.layers.fc(x, 4, act="tanh"))
    test = fluid.default_main_program().clone(for_test=True)
    loss = fluid.layers.mean(y)
    fluid.optimizer.Adam(0.01).minimize(loss)
    fluid.Executor().run(fluid.default_startup_program())
    train = fluid.ParallelExecutor(False, loss_name=loss.name)
    for _ in range(3):
        train.run([], feed={"x": X[:5]})
    return y, test


def outcome(y: Any, program: Any) -> np.ndarray[Any, Any]:
    (found,) = fluid.Executor().run(program, feed={"x": X}, fetch_list=[y])
    return np.asarray(found)


@pytest.mark.parametrize("filename", [None, "all"])
def test_persistables(tmp_path: Path, filename: str | None) -> None:
    y, test = trained()
    expected = outcome(y, test)
    exe = fluid.Executor()
    fluid.io.save_persistables(exe, tmp_path, fluid.default_main_program(), filename)
    files = sorted(path.name for path in tmp_path.iterdir())
    assert files == (
        ["all"]
        if filename
        else sorted(v.name for v in fluid.default_main_program().list_vars() if v.persistable)
    )
    with fluid.scope_guard(fluid.Scope()):
        fluid.io.load_persistables(exe, tmp_path, fluid.default_main_program(), filename)
        assert np.array_equal(outcome(y, test), expected)
    scope = paddle.static.Scope()
    with paddle.static.scope_guard(scope):
        own = paddle.static.Executor(paddle.CPUPlace())
        own.run(fluid.default_startup_program())
        paddle.static.load_vars(
            own,
            str(tmp_path),
            fluid.default_main_program(),
            predicate=fluid.io.is_persistable,
            filename=filename,
        )
        (found,) = own.run(test, feed={"x": X}, fetch_list=[y])
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_a_program_and_its_variables(tmp_path: Path) -> None:
    y, test = trained()
    expected = outcome(y, test)
    fluid.io.save(fluid.default_main_program(), tmp_path / "deep" / "model")
    assert sorted(p.name for p in (tmp_path / "deep").iterdir()) == [
        "model.pdmodel",
        "model.pdopt",
        "model.pdparams",
    ]
    with fluid.scope_guard(fluid.Scope()):
        fluid.io.load(fluid.default_main_program(), tmp_path / "deep" / "model")
        assert np.array_equal(outcome(y, test), expected)
    with paddle.static.scope_guard(paddle.static.Scope()):
        own = paddle.static.Executor(paddle.CPUPlace())
        own.run(fluid.default_startup_program())
        paddle.static.load(fluid.default_main_program(), str(tmp_path / "deep" / "model"), own)
        (found,) = own.run(test, feed={"x": X}, fetch_list=[y])
        paddle.static.save(fluid.default_main_program(), str(tmp_path / "paddle"))
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    with fluid.scope_guard(fluid.Scope()):
        fluid.io.load(fluid.default_main_program(), tmp_path / "paddle")
        assert np.array_equal(outcome(y, test), expected)


@pytest.mark.parametrize("file", [None, "parameters"])
def test_a_model_for_inference(tmp_path: Path, file: str | None) -> None:
    y, test = trained()
    expected = outcome(y, test)
    exe = fluid.Executor()
    assert fluid.io.save_inference_model(tmp_path, ["x"], [y], exe, test, params_filename=file) == [y.name]
    with fluid.scope_guard(fluid.Scope()):
        program, names, targets = fluid.io.load_inference_model(tmp_path, exe, params_filename=file)
        assert names == ["x"]
        (found,) = exe.run(program, feed={"x": X}, fetch_list=targets)
        assert np.array_equal(found, expected)
        infer = fluid.ParallelExecutor(False, main_program=program)
        assert np.array_equal(infer.run(targets, feed={"x": X[:5]})[0], expected[:5])
    model = epl.paddle.load(tmp_path / "__model__")
    values = model.read_parameters(tmp_path if file is None else tmp_path / file)
    np.testing.assert_allclose(model(values, {"x": X})[0], expected, rtol=1e-6, atol=1e-6)


def test_what_does_not_fit(tmp_path: Path) -> None:
    y, test = trained()
    exe = fluid.Executor()
    with pytest.raises(
        epl.ArgumentError, match='feeded_var_names has "z", which is no variable of the program'
    ):
        fluid.io.save_inference_model(tmp_path, ["z"], [y], exe, test)
    with pytest.raises(epl.Error, match=r'__model__" cannot be read: No such file'):
        fluid.io.load_inference_model(tmp_path / "none", exe)
    fluid.io.save_params(exe, tmp_path, test)
    weight = next(tmp_path.glob("*.w_0"))
    (tmp_path / "fc_0.w_0").write_bytes(weight.read_bytes()[:-3])
    before = outcome(y, test)
    with pytest.raises(epl.Error, match="in the midst of a tensor"):
        fluid.io.load_params(exe, tmp_path, test)
    other = np.zeros((3, 5), "float32")
    (tmp_path / "fc_0.w_0").write_bytes(epl.paddle.parameters.write_stream([other]))
    with pytest.raises(
        epl.Error, match=r'"fc_0.w_0" in the file is float32\[3, 5\], expected float32\[3, 4\]'
    ):
        fluid.io.load_params(exe, tmp_path, test)
    assert np.array_equal(outcome(y, test), before)
    with (
        fluid.scope_guard(fluid.Scope()),
        pytest.raises(epl.ArgumentError, match="has no value: run the startup"),
    ):
        fluid.io.save_params(exe, tmp_path, test)
    with pytest.raises(epl.ArgumentError, match="expected a path that ends in a name"):
        fluid.io.save(test, "/")
