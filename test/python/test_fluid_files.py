"""Files that EPL writes, Paddle reads, and the other way round: `static.load`, `paddle.load`, `load_vars`."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

import epl.paddle  # JAX before Paddle, which aborts the other way round
from epl.paddle import parameters
from paddle_programs import tutorial

paddle = pytest.importorskip("paddle")

from paddle import static
from paddle.base import core
from paddle.framework import io_utils
from paddle.static.io import is_persistable, load_vars, save_vars

VALUES: dict[str, Any] = {
    "half": np.float16([[1.5, -2]]),
    "bytes": np.int8([[-128], [127]]),
    "bools": np.array([True, False]),
    "double": np.float64([1 / 3]),
    "ids": np.int64([1 << 40, -1]),
    "number": np.array(2.5, np.float32),
    "empty": np.zeros((0, 4), np.float32),
    "brain": np.uint16([0x3FC0]),  # bfloat16, as Paddle gives it
}


class Trained:
    """A program of Paddle, and a scope with its persistable variables."""

    def __init__(self) -> None:
        self.main, startup, self.scope = static.Program(), static.Program(), static.Scope()
        with static.program_guard(self.main, startup), paddle.utils.unique_name.guard():
            x = static.data("x", [None, 4])
            loss = paddle.mean(static.nn.fc(static.nn.fc(x, 3), 2))
            paddle.optimizer.Adam(0.1).minimize(loss)
        self.executor = static.Executor(paddle.CPUPlace())
        self.names = sorted(each.name for each in self.main.list_vars() if is_persistable(each))
        with static.scope_guard(self.scope):
            self.executor.run(startup)
            self.executor.run(self.main, feed={"x": np.ones((2, 4), np.float32)})

    def values(self) -> dict[str, Any]:
        return {name: np.array(self.scope.find_var(name).get_tensor()) for name in self.names}

    def clear(self) -> None:
        for name in self.names:
            tensor = self.scope.find_var(name).get_tensor()
            tensor.set(np.zeros_like(np.array(tensor)), paddle.CPUPlace())


@pytest.fixture(autouse=True)
def static_mode() -> Iterator[None]:
    """The mode that epl.fluid sets for the whole process; a test may leave it."""
    paddle.enable_static()
    yield
    paddle.enable_static()


@pytest.fixture
def trained() -> Trained:
    return Trained()


def check(found: dict[str, Any], expected: dict[str, Any]) -> None:
    assert set(found) == set(expected)
    for name, value in found.items():
        assert value.dtype == expected[name].dtype
        assert value.shape == expected[name].shape
        assert np.array_equal(value, expected[name])


def test_static_load_reads_a_state(tmp_path: Path, trained: Trained) -> None:
    values = trained.values()
    of_layers = {each.name for each in trained.main.all_parameters()}
    for suffix, is_in in (("pdparams", True), ("pdopt", False)):
        kept = {name: value for name, value in values.items() if (name in of_layers) == is_in}
        parameters.write_state(tmp_path / f"own.{suffix}", kept)
    trained.clear()
    with static.scope_guard(trained.scope):
        static.load(trained.main, str(tmp_path / "own"))
    check(trained.values(), values)
    check(static.load_program_state(str(tmp_path / "own")), values)


@pytest.mark.parametrize("protocol", [2, 3, 4])
def test_a_state_that_static_save_has_written(tmp_path: Path, trained: Trained, protocol: int) -> None:
    with static.scope_guard(trained.scope):
        static.save(trained.main, str(tmp_path / "own"), protocol=protocol)
        paddle.save(trained.main.state_dict(), str(tmp_path / "state.pdparams"), protocol=protocol)
    parts = [parameters.read_state(tmp_path / f"own.{suffix}") for suffix in ("pdparams", "pdopt")]
    check(parts[0] | parts[1], trained.values())
    check(parameters.read_state(tmp_path / "state.pdparams"), trained.values())
    program = epl.paddle.load(tmp_path / "own")
    expected = {name: trained.values()[name] for name in program.parameters}
    check(program.read_parameters(tmp_path / "own.pdparams"), expected)


@pytest.mark.parametrize("filename", [None, "all"])
def test_variables_go_both_ways(tmp_path: Path, trained: Trained, filename: str | None) -> None:
    """A folder with a file for each variable, and one file of all in the order of names."""
    values = trained.values()
    with static.scope_guard(trained.scope):
        save_vars(trained.executor, str(tmp_path / "theirs"), trained.main, None, is_persistable, filename)
    program = epl.paddle.load(trained.main)
    theirs = tmp_path / "theirs" / (filename or "")
    check(program.read_parameters(theirs), {name: values[name] for name in program.parameters})
    if filename is None:
        parameters.write_folder(tmp_path / "own", values)
        written = {name: (tmp_path / "own" / name).read_bytes() for name in values}
        assert written == {name: (theirs / name).read_bytes() for name in values}
    else:
        (tmp_path / "own").mkdir()
        content = parameters.write_stream([values[name] for name in sorted(values)])
        (tmp_path / "own" / filename).write_bytes(content)
        assert content == theirs.read_bytes()
    trained.clear()
    with static.scope_guard(trained.scope):
        load_vars(trained.executor, str(tmp_path / "own"), trained.main, None, is_persistable, filename)
    check(trained.values(), values)


def test_paddle_load_reads_a_state_of_all_dtypes(tmp_path: Path) -> None:
    parameters.write_state(tmp_path / "x.pdparams", VALUES)
    check(paddle.load(str(tmp_path / "x.pdparams"), return_numpy=True), VALUES)


def test_a_state_of_all_dtypes_that_paddle_has_written(tmp_path: Path, trained: Trained) -> None:
    tensors = {name: core.LoDTensor() for name in VALUES}
    for name, tensor in tensors.items():
        tensor.set(VALUES[name], paddle.CPUPlace())
    paddle.save(tensors, str(tmp_path / "x.pdparams"))
    check(parameters.read_state(tmp_path / "x.pdparams"), VALUES)


def test_tensors_of_all_dtypes_go_both_ways(tmp_path: Path, trained: Trained) -> None:
    values = VALUES | {"brain": VALUES["brain"].view(jnp.bfloat16)}
    parameters.write_folder(tmp_path, values)
    for name, value in VALUES.items():
        tensor = paddle.load(str(tmp_path / name))
        assert np.array_equal(np.array(tensor), value)
        assert np.array(tensor).shape == value.shape
        paddle.save(tensor, str(tmp_path / name), use_binary_format=True)
    check(parameters.read_folder(tmp_path, values), values)


def test_the_state_of_a_layer(tmp_path: Path) -> None:
    paddle.disable_static()
    layer = paddle.nn.Linear(3, 2)
    expected = {name: value.numpy() for name, value in layer.state_dict().items()}
    paddle.save(layer.state_dict(), str(tmp_path / "x.pdparams"))
    check(parameters.read_state(tmp_path / "x.pdparams"), expected)
    paddle.save({**layer.state_dict(), "steps": 3}, str(tmp_path / "named.pdparams"))  # tensors with names
    check(parameters.read_state(tmp_path / "named.pdparams"), expected)
    parameters.write_state(tmp_path / "own.pdparams", {name: value + 1 for name, value in expected.items()})
    layer.set_state_dict(paddle.load(str(tmp_path / "own.pdparams")))
    check({name: value.numpy() - 1 for name, value in layer.state_dict().items()}, expected)


def test_parts_are_joined_as_paddle_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tensor is cut that has more than 2^30 bytes; here, one that has more than eight elements."""
    values = {"w": np.arange(20, dtype=np.float32).reshape(4, 5), "b": np.ones(2, np.float32)}
    monkeypatch.setattr(io_utils, "int", lambda number: min(int(number), 8), raising=False)
    cut = io_utils._unpack_saved_dict(dict(values), 2)
    assert sorted(cut) == ["UnpackBigParamInfor@@", "b", "w@@.0", "w@@.1", "w@@.2"]
    (tmp_path / "x.pdparams").write_bytes(pickle.dumps(cut, 2))
    check(parameters.read_state(tmp_path / "x.pdparams"), values)
    check(io_utils._pack_loaded_dict(cut), values)


def test_the_code_of_the_tutorial_goes_both_ways(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it saves, EPL runs; what EPL then writes, `static.load` reads."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    with paddle.utils.unique_name.guard(), static.scope_guard(static.Scope()):
        with static.program_guard(static.Program(), static.Program()):
            exec(tutorial.code(), names)
            main, executor = static.default_main_program(), names["executor"]
        x = np.random.default_rng(0).normal(size=(6, 12)).astype(np.float32)
        program, _, fetches = static.load_inference_model("classifier", executor)
        (expected,) = executor.run(program, {"x": x}, fetches)
        classifier = epl.paddle.load("classifier")
        (found,) = classifier(classifier.read_parameters("classifier.pdiparams"), {"x": x})
        np.testing.assert_allclose(found, expected, rtol=1e-5)

        training = epl.paddle.load("training")
        feed = {"x": x, "y": np.argmax(x[:, :3], 1, keepdims=True)}
        variables, (loss,) = training.run(training.read_parameters("training.pdparams"), feed, ["loss.tmp_0"])
        epl.paddle.write_folder("trained", variables)
        (theirs,) = executor.run(main, feed, ["loss.tmp_0"])
        np.testing.assert_allclose(loss, theirs, rtol=1e-5)
        _, (after,) = training.run(variables, feed, ["loss.tmp_0"])
        static.load(main, "trained", executor)
        (theirs,) = executor.run(main, feed, ["loss.tmp_0"])
        np.testing.assert_allclose(after, theirs, rtol=1e-5)
