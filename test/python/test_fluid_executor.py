"""`epl.fluid` runs programs: Executor, ParallelExecutor, CompiledProgram, as guides and tests of Fluid do."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

paddle = pytest.importorskip("paddle")

import epl
from epl import fluid

X = np.float32([[1], [2], [3]])


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Programs, names and variables of its own for each test, and two devices."""
    monkeypatch.setenv("CPU_NUM", "2")
    monkeypatch.delenv("EPL_FLUID_SPLIT", raising=False)
    with (
        fluid.program_guard(fluid.Program(), fluid.Program()),
        fluid.unique_name.guard(),
        fluid.scope_guard(fluid.Scope()),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("error")
        yield


class Line:
    """y = x w of one weight, its mean or sum; trained with a rate of 1."""

    def __init__(self, kind: str = "mean", **options: Any) -> None:
        x = paddle.static.data("x", [None, 1])
        constant = paddle.nn.initializer.Constant(1.0)
        w = paddle.create_parameter([1, 1], "float32", name="w", default_initializer=constant)
        self.y = paddle.matmul(x, w)
        self.loss = paddle.mean(self.y) if kind == "mean" else paddle.sum(self.y)
        self.main = fluid.default_main_program()
        self.test = self.main.clone(for_test=True)
        paddle.optimizer.SGD(1.0).minimize(self.loss)
        fluid.Executor(fluid.CPUPlace()).run(fluid.default_startup_program())
        self.train = fluid.ParallelExecutor(False, loss_name=self.loss.name, **options)

    @property
    def w(self) -> float:
        found = fluid.global_scope().find_var("w")
        assert found is not None
        return float(np.array(found.get_tensor()).item())


def scale(strategy: str) -> fluid.BuildStrategy:
    build = fluid.BuildStrategy()
    build.gradient_scale_strategy = getattr(fluid.BuildStrategy.GradientScaleStrategy, strategy)
    return build


def test_the_guides_example() -> None:
    """Three samples on two devices: the last device has what is left."""
    line = Line()
    loss, y = line.train.run(fetch_list=[line.loss.name, line.y], feed={"x": X})
    assert loss.tolist() == [1.0, 2.5]
    assert y.ravel().tolist() == [1.0, 2.0, 3.0]
    assert line.w == 1 - 1.75
    assert line.train.device_count == 2
    test = fluid.ParallelExecutor(False, main_program=line.test, share_vars_from=line.train)
    (tested,) = test.run([line.loss], feed={"x": X})
    assert tested.tolist() == [-0.75, -0.75 * 2.5]


def test_the_split_of_paddle_from_1_7_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EPL_FLUID_SPLIT", "ceil")
    line = Line()
    (loss,) = line.train.run([line.loss], feed={"x": X})
    assert loss.tolist() == [1.5, 3.0]
    assert line.w == 1 - 2.25
    monkeypatch.setenv("EPL_FLUID_SPLIT", "half")
    with pytest.raises(
        epl.ConfigError, match='EPL_FLUID_SPLIT="half" in the environment, expected "rest" or "c'
    ):
        line.train.run([line.loss], feed={"x": X})


@pytest.mark.parametrize(
    ("kind", "strategy", "w"), [("mean", "One", -2.5), ("sum", "One", -5.0), ("sum", "CoeffNumDevice", -2.0)]
)
def test_what_the_gradient_begins_with(kind: str, strategy: str, w: float) -> None:
    line = Line(kind, build_strategy=scale(strategy))
    line.train.run([], feed={"x": X})
    assert line.w == w


def test_a_gradient_that_is_fed() -> None:
    line = Line(build_strategy=scale("Customized"))
    name = f"{line.loss.name}@GRAD"
    line.train.run([], feed=[{"x": X[:1], name: np.float32(10)}, {"x": X[1:], name: np.float32(100)}])
    assert line.w == 1 - 10 - 250
    with pytest.raises(epl.ArgumentError, match=r"GradientScaleStrategy\.Customized it is fed"):
        line.train.run([], feed={"x": X})


def test_a_loss_of_all_rows() -> None:
    line = Line(loss="global")
    (loss,) = line.train.run([line.loss], feed={"x": X})
    assert loss.tolist() == [2.0, 2.0]
    assert line.w == 1 - 2.0
    with pytest.raises(epl.ArgumentError, match="found 'rows'"):
        fluid.ParallelExecutor(False, loss_name=line.loss.name, loss="rows")


def test_a_feed_list() -> None:
    line = Line()
    loss, y = line.train.run([line.loss, line.y], feed=[{"x": X[:2]}, {"x": X[2:]}])
    assert loss.tolist() == [1.5, 3.0]
    assert y.ravel().tolist() == [1.0, 2.0, 3.0]


WRONG_FEEDS: list[tuple[Any, str]] = [
    (
        [{"x": X}] * 3,
        "the list should be the same size as places: expected a dict for each of 2 devices, found 3",
    ),
    (
        [{"x": X}],
        "the list should be the same size as places: expected a dict for each of 2 devices, found 1",
    ),
    ([{"x": X}, X], "Each element of feed list should be a dict, found ndarray"),
    ([{"x": X}, {}], "element 1 of the feed list is empty"),
    ([], "expected a dict for each of 2 devices, found 0"),
    (X, "feed must be a dict, or a list of dicts, found ndarray"),
    (
        {"x": X[:1]},
        r"The number\(1\) of samples\[x\] of current batch is less than the count\(2\) of devices\(CPU\)",
    ),
    ({"x": X[:0]}, r"The number\(0\) of samples\[x\]"),
    ({"x": X.astype("float16")}, '"x" in feed: the variable is float32, found float16'),
    ({"x": np.zeros((3, 2), "float32")}, r'"x" in feed: should have dimensions = \[-1, 1\], found \[3, 2\]'),
    ({}, "feed has no x, found nothing"),
    (None, "feed has no x, found nothing"),
]


@pytest.mark.parametrize(("feed", "text"), WRONG_FEEDS)
def test_feeds_that_do_not_fit(feed: Any, text: str) -> None:
    line = Line()
    with pytest.raises(epl.ArgumentError, match=text):
        line.train.run([line.loss], feed=feed)
    line.train.run([line.loss], feed={"x": X})  # nothing is broken
    assert line.w == 1 - 1.75


def test_a_name_that_is_no_variable_is_warned_of() -> None:
    line = Line()
    with pytest.warns(UserWarning, match='"z" in feed is no variable of the program'):
        line.train.run([line.loss], feed={"x": X, "z": X})


def test_fetches() -> None:
    line = Line()
    twice = line.train.run([line.loss, line.loss], feed={"x": X})
    assert [each.tolist() for each in twice] == [[1.0, 2.5]] * 2
    gradient, w = line.train.run(["w@GRAD", "w"], feed={"x": X})
    assert gradient.tolist() == [[1.75], [1.75]]
    assert w.tolist() == [[-2.5], [-2.5]]
    (tensor,) = line.train.run([line.loss], feed={"x": X}, return_numpy=False)
    assert tensor.shape() == [2]
    assert tensor.lod() == []
    with pytest.raises(epl.ArgumentError, match='no variable "w@GARD" to fetch, did you mean "w@GRAD"'):
        line.train.run(["w@GARD"], feed={"x": X})
    with pytest.raises(epl.ArgumentError, match="fetch_list has a int, expected a variable or its name"):
        line.train.run([3], feed={"x": X})


def test_a_learning_rate_that_is_fed() -> None:
    line = Line()
    rate = next(name for name in fluid.global_scope().values if name.startswith("learning_rate"))
    line.train.run([], feed={"x": X, rate: np.float32([2])})
    assert line.w == 1 - 2 * 1.75
    line.train.run([], feed={"x": X, rate: np.float32([4, 4])})
    assert line.w == 1 - 6 * 1.75
    for rows, text in (
        ([1, 2, 3], "has 3 rows: expected 1, or one for each of 2 devices"),
        ([1, 2], "different values"),
    ):
        with pytest.raises(epl.ArgumentError, match=text):
            line.train.run([], feed={"x": X, rate: np.float32(rows)})


def test_executors_that_cannot_be_made(monkeypatch: pytest.MonkeyPatch) -> None:
    line = Line()
    with pytest.raises(AssertionError, match="The loss name of CompiledProgram is None"):
        fluid.ParallelExecutor(False)
    with pytest.raises(TypeError, match="share_vars_from must be ParallelExecutor, found Program"):
        fluid.ParallelExecutor(False, main_program=line.test, share_vars_from=line.main)
    with pytest.raises(
        ValueError, match="has no option num_threads: it is a field of ExecutionStrategy, which exec"
    ):
        fluid.ParallelExecutor(False, main_program=line.test, num_threads=2)
    with pytest.raises(ValueError, match="has no option allow: "[:-2]):
        fluid.ParallelExecutor(False, main_program=line.test, allow=2)
    with pytest.raises(ValueError, match='loss_name is "los", which is no variable of the program'):
        fluid.ParallelExecutor(False, loss_name="los").run([], feed={"x": X})
    never = fluid.ParallelExecutor(False, loss_name=line.loss.name)
    with pytest.raises(epl.Error, match="share_vars_from never ran"):
        fluid.ParallelExecutor(False, main_program=line.test, share_vars_from=never).run([], feed={"x": X})
    monkeypatch.setenv("CPU_NUM", "3")
    with pytest.raises(epl.Error, match="share_vars_from has 2 devices, expected 3, as here"):
        fluid.ParallelExecutor(False, main_program=line.test, share_vars_from=line.train)


def test_scopes_that_are_dropped() -> None:
    execution = fluid.ExecutionStrategy()
    execution.num_iteration_per_drop_scope = 10
    line = Line(exec_strategy=execution)
    for ask in (line.train.drop_local_exe_scopes, line.train._need_create_local_exe_scopes):
        with pytest.raises(TypeError, match="the executor never ran"):
            ask()
    for _ in range(9):
        line.train.run([], feed={"x": X})
        assert not line.train._need_create_local_exe_scopes()
    line.train.run([], feed={"x": X})
    assert line.train._need_create_local_exe_scopes()
    line.train.run([], feed={"x": X})
    line.train.drop_local_exe_scopes()
    assert line.train._need_create_local_exe_scopes()
    line.train.run([], feed={"x": X})
    assert line.w == 1 - 12 * 1.75


def test_memory_is_given_back() -> None:
    x = paddle.static.data("x", [None, 256])
    h = paddle.static.nn.fc(x, 256, activation="tanh")
    loss = paddle.mean(paddle.static.nn.fc(h, 256, activation="tanh"))
    paddle.optimizer.SGD(0.1).minimize(loss)
    fluid.Executor().run(fluid.default_startup_program())
    train = fluid.ParallelExecutor(False, loss_name=loss.name)
    train.run([], feed={"x": np.ones((512, 256), "float32")})
    before = epl.live_bytes()
    train.drop_local_exe_scopes()
    assert epl.live_bytes() < before - 2 * 256 * 256 * 4
    train.run([], feed={"x": np.ones((512, 256), "float32")})
    assert epl.live_bytes() == before


def test_more_devices_than_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CPU_NUM", "7")
    line = Line()
    (loss,) = line.train.run([line.loss], feed={"x": np.arange(1, 8, dtype="float32")[:, None]})
    assert loss.tolist() == [1, 2, 3, 4, 5, 6, 7]
    assert line.w == 1 - 4


def test_a_program_without_a_loss_takes_any_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in Fluid's test_parallel_executor_feed_persistable_var and its tests of inference."""
    monkeypatch.setenv("CPU_NUM", "4")
    x = paddle.static.data("x", [None, 3])
    y = paddle.nn.functional.relu(x)
    infer = fluid.ParallelExecutor(False)
    numbers = np.random.default_rng(0).normal(size=(11, 3)).astype("float32")
    for rows in range(1, 12):
        (found,) = infer.run([y], feed={"x": numbers[:rows]})
        assert np.array_equal(found, np.maximum(numbers[:rows], 0))
    for count in range(1, 5):
        (found,) = infer.run([y], feed=[{"x": numbers[i : i + 2]} for i in range(count)])
        assert np.array_equal(
            found, np.concatenate([np.maximum(numbers[i : i + 2], 0) for i in range(count)])
        )
    with pytest.raises(ValueError, match="expected a dict for each of 4 devices, found 5"):
        infer.run([y], feed=[{"x": numbers}] * 5)


def test_dropout_differs_between_devices_and_runs() -> None:
    x = paddle.static.data("x", [None, 100])
    y = paddle.nn.functional.dropout(x, 0.5)
    fluid.default_main_program().random_seed = 3
    run = fluid.ParallelExecutor(False)
    ones = {"x": np.ones((2, 100), "float32")}
    (first,), (second,) = run.run([y], feed=ones), run.run([y], feed=ones)
    assert not np.array_equal(first[0], first[1])
    assert not np.array_equal(first, second)
    again = fluid.ParallelExecutor(False)
    assert np.array_equal(again.run([y], feed=ones)[0], first)


def test_iterations_of_a_run() -> None:
    execution = fluid.ExecutionStrategy()
    execution.num_iteration_per_run = 3
    line = Line(exec_strategy=execution)
    (loss,) = line.train.run([line.loss], feed={"x": X[:2]})
    assert line.w == 1 - 3 * 1.5
    assert loss.tolist() == [-2.0, -4.0]


@pytest.mark.parametrize(
    ("strategy", "field", "value", "config"),
    [
        ("exec_strategy", "num_threads", 1, {"cluster.num_threads": 1, "cluster.sequential": True}),
        ("build_strategy", "fuse_all_reduce_ops", False, {"communication.fuse": False}),
        ("build_strategy", "enable_sequential_execution", True, {"cluster.sequential": True}),
        ("build_strategy", "nccl_comm_num", 2, {"communication.num_communicators": 2}),
    ],
)
def test_strategies_that_become_settings(strategy: str, field: str, value: Any, config: Any) -> None:
    made = fluid.ExecutionStrategy() if strategy == "exec_strategy" else fluid.BuildStrategy()
    setattr(made, field, value)
    line = Line(**{strategy: made})
    line.train.run([], feed={"x": X})
    assert line.w == 1 - 1.75
    assert line.train._made().config.items() >= config.items()


def test_a_graph_of_the_plan(tmp_path: Any) -> None:
    build = fluid.BuildStrategy()
    build.debug_graphviz_path = str(tmp_path / "graph.dot")
    line = Line(build_strategy=build)
    line.train.run([], feed={"x": X})
    text = (tmp_path / "graph.dot").read_text()
    assert text.startswith("digraph plan {")
    assert "all_reduce" in text
    assert "test_fluid_executor.py" in text


def test_statistics_of_all_devices() -> None:
    build = fluid.BuildStrategy()
    build.sync_batch_norm = True
    x = paddle.static.data("x", [None, 3])
    y = paddle.static.nn.batch_norm(x)
    fluid.Executor().run(fluid.default_startup_program())
    numbers = np.random.default_rng(0).normal(size=(5, 3)).astype("float32")
    (found,) = fluid.ParallelExecutor(False, build_strategy=build).run([y], feed={"x": numbers})
    np.testing.assert_allclose(
        found, (numbers - numbers.mean(0)) / np.sqrt(numbers.var(0) + 1e-5), rtol=1e-4, atol=1e-5
    )


ALWAYS = [
    (kind, name, value)
    for kind in (fluid.BuildStrategy, fluid.ExecutionStrategy)
    for name, each in kind.FIELDS.items()
    for value in (True, False)
    if each.effect.value in ("always", "none")
]


@pytest.mark.parametrize(
    ("kind", "name", "value"), ALWAYS, ids=lambda each: str(getattr(each, "__name__", each))
)
def test_fields_that_make_no_difference(kind: Any, name: str, value: bool) -> None:
    from epl.paddle import strategies

    strategies._said.clear()
    made = kind()
    if kind.FIELDS[name].effect.value == "none":
        setattr(made, name, value)
        return
    with pytest.warns(UserWarning, match=f"{kind.__name__}.{name} makes no difference: "):
        setattr(made, name, value)
    setattr(made, name, value)  # said once
    assert getattr(made, name) is value


REFUSED = [
    (kind, name)
    for kind in (fluid.BuildStrategy, fluid.ExecutionStrategy)
    for name, each in kind.FIELDS.items()
    if each.effect.value == "refused"
]


@pytest.mark.parametrize(("kind", "name"), REFUSED, ids=lambda each: str(getattr(each, "__name__", each)))
def test_fields_that_are_refused(kind: Any, name: str) -> None:
    made = kind()
    default = getattr(made, name)
    setattr(made, name, default)
    other = {bool: not default, int: 7, set: {"conv2d"}}[type(default)]
    with pytest.raises(epl.ArgumentError, match=rf"{kind.__name__}.{name} = .* is not supported: \w+"):
        setattr(made, name, other)


def test_strategies_check_what_they_are_given() -> None:
    build, execution = fluid.BuildStrategy(), fluid.ExecutionStrategy()
    for made, name, value, text in (
        (build, "memory_optimize", "yes", "memory_optimize must be bool or None, found 'yes'"),
        (build, "reduce_strategy", "Reduce", "reduce_strategy must be ReduceStrategy, found 'Reduce'"),
        (execution, "num_threads", -1, "num_threads must be 0 or more, found -1"),
        (execution, "num_threads", True, "num_threads must be int, found True"),
        (execution, "num_iteration_per_drop_scope", 0, "must be 1 or more, found 0"),
    ):
        with pytest.raises(ValueError, match=text):
            setattr(made, name, value)
    with pytest.raises(AttributeError, match='has no field "num_thread", did you mean "num_threads"'):
        execution.num_thread = 3
    with pytest.raises(epl.ArgumentError, match="_NoReduce is not supported"):
        build.reduce_strategy = fluid.BuildStrategy.ReduceStrategy._NoReduce


def test_strategies_are_final_when_a_program_has_run() -> None:
    build = fluid.BuildStrategy()
    line = Line(build_strategy=build)
    build.fuse_all_reduce_ops = False
    line.train.run([], feed={"x": X})
    with pytest.raises(
        epl.ArgumentError, match="BuildStrategy has been finalized by a run, sync_batch_norm cannot"
    ):
        build.sync_batch_norm = True
    other = build._copy()
    other.sync_batch_norm = True
    assert not build.sync_batch_norm


def test_a_compiled_program() -> None:
    line = Line()
    exe = fluid.Executor(fluid.CPUPlace())
    program = fluid.CompiledProgram(line.main).with_data_parallel(loss_name=line.loss.name)
    loss, y = exe.run(program, feed={"x": X}, fetch_list=[line.loss, line.y], return_merged=False)
    assert [each.tolist() for each in loss] == [[1.0], [2.5]]
    assert [each.shape for each in y] == [(1, 1), (2, 1)]
    assert line.w == 1 - 1.75
    test = fluid.CompiledProgram(line.test).with_data_parallel(share_vars_from=program)
    (tested,) = exe.run(test, feed={"x": X}, fetch_list=[line.loss])
    assert tested.tolist() == [-0.75, -0.75 * 2.5]
    (alone,) = exe.run(fluid.CompiledProgram(line.test), feed={"x": X}, fetch_list=[line.loss])
    assert alone == -1.5


def test_compiled_programs_that_cannot_be_made() -> None:
    line = Line()
    exe = fluid.Executor(fluid.CPUPlace())
    feed = {"feed": {"x": X}}
    with pytest.raises(TypeError, match="expected a Program of Paddle, found str"):
        fluid.CompiledProgram("program")
    program = fluid.CompiledProgram(line.main).with_data_parallel(loss_name=line.loss.name)
    with pytest.raises(AssertionError, match="Already compiled with parallel, cannot be recompiled"):
        program.with_data_parallel(loss_name=line.loss.name)
    with pytest.raises(AssertionError, match="The loss name of CompiledProgram is None"):
        exe.run(fluid.CompiledProgram(line.main).with_data_parallel(), **feed)
    for shared, text in (
        (fluid.CompiledProgram(line.main), "The shared Program is not data parallel"),
        (program, "The shared Program is not compiled and executed"),
    ):
        with pytest.raises(ValueError, match=text):
            exe.run(fluid.CompiledProgram(line.test).with_data_parallel(share_vars_from=shared), **feed)
    with pytest.raises(AssertionError, match="Place type not match"):
        fluid.CompiledProgram(line.test).with_data_parallel(places=[fluid.CPUPlace(), fluid.CUDAPlace(0)])
    exe.run(program, **feed)
    with pytest.raises(ValueError, match="Cannot compile program with different scope"):
        exe.run(program, scope=fluid.Scope(), **feed)
    with pytest.raises(ValueError, match="Cannot compile program with different place"):
        fluid.Executor(fluid.CUDAPlace(0)).run(program, **feed)
    other = fluid.CompiledProgram(line.test).with_data_parallel(
        share_vars_from=program, places=[fluid.CPUPlace()] * 3
    )
    with pytest.raises(epl.Error, match="share_vars_from has 2 devices, expected 3, as here"):
        exe.run(other, **feed)


def test_places(monkeypatch: pytest.MonkeyPatch) -> None:
    assert fluid.cpu_places() == [fluid.CPUPlace()] * 2
    assert fluid.cpu_places(3) == [fluid.CPUPlace()] * 3
    monkeypatch.delenv("CPU_NUM")
    with pytest.warns(UserWarning, match="CPU_NUM is not set, so that there is 1 CPU device"):
        assert len(fluid.cpu_places()) == 1
    assert len(fluid.cpu_places()) == 1  # it is written, and not said again
    for wrong in ("0", "two", "-1", ""):
        monkeypatch.setenv("CPU_NUM", wrong)
        with pytest.raises(epl.ConfigError, match=f'CPU_NUM="{wrong}" in the environment, expected a number'):
            fluid.cpu_places()
    monkeypatch.delenv("FLAGS_selected_gpus", raising=False)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    with pytest.raises(epl.ConfigError, match="no card is named, and EPL has no CUDA devices yet"):
        fluid.cuda_places()
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "2,5")
    assert fluid.cuda_places() == [fluid.CUDAPlace(0), fluid.CUDAPlace(1)]
    monkeypatch.setenv("FLAGS_selected_gpus", "1")
    assert fluid.cuda_places() == [fluid.CUDAPlace(1)]
    assert fluid.cuda_places([0, 3]) == [fluid.CUDAPlace(0), fluid.CUDAPlace(3)]
    monkeypatch.setenv("FLAGS_selected_gpus", "1,1")
    with pytest.raises(epl.ConfigError, match='FLAGS_selected_gpus="1,1" in the environment'):
        fluid.cuda_places()


def test_scopes() -> None:
    scope = fluid.Scope()
    assert scope.find_var("a") is None
    tensor = scope.var("a").get_tensor()
    with pytest.raises(epl.ArgumentError, match='variable "a" has no value'):
        np.array(tensor)
    tensor.set(np.float32([1, 2]), fluid.CPUPlace())
    assert np.array(tensor).tolist() == [1, 2]
    found = scope.find_var("a")
    assert found is not None
    assert found.get_tensor().shape() == [2]
    with pytest.raises(epl.ArgumentError, match=r"sequences of different lengths \(LoD\) are not supported"):
        tensor.set_lod([[0, 1, 2]])
    outside = fluid.global_scope()
    with fluid.scope_guard(scope):
        assert fluid.global_scope() is scope
    assert fluid.global_scope() is outside


def test_integers_keep_their_64_bits() -> None:
    ids = paddle.static.data("ids", [None, 1], "int64")
    exe = fluid.Executor()
    (found,) = exe.run(feed={"ids": np.int64([[3]])}, fetch_list=[ids + 1])
    assert found.dtype == np.int64
    with pytest.raises(ValueError, match=r'"ids" in feed has numbers from 1099511627776 .* no int32'):
        exe.run(feed={"ids": np.int64([[1 << 40]])}, fetch_list=[ids])


def test_an_executor_runs_a_program_that_has_changed() -> None:
    x = paddle.static.data("x", [None, 1])
    exe = fluid.Executor()
    assert exe.run(feed={"x": X}, fetch_list=[x * 2])[0].tolist() == (X * 2).tolist()
    assert exe.run(feed={"x": X}, fetch_list=[x * 3])[0].tolist() == (X * 3).tolist()
    exe.close()
    with pytest.raises(epl.ArgumentError, match="the executor is closed"):
        exe.run(feed={"x": X})
    with pytest.raises(epl.ArgumentError, match="place must be a CPUPlace or a CUDAPlace, found str"):
        fluid.Executor("cpu")


def test_a_variable_without_a_value() -> None:
    paddle.static.nn.fc(paddle.static.data("x", [None, 1]), 2, name="layer")
    with pytest.raises(
        epl.ArgumentError, match=r'variable "layer.w_0" has no value: run the startup program first'
    ):
        fluid.Executor().run(feed={"x": X})


def test_a_feeder() -> None:
    x = paddle.static.data("x", [None, 2])
    label = paddle.static.data("label", [None, 1], "int64")
    feeder = fluid.DataFeeder([x, "label"])
    fed = feeder.feed([([1, 2], 3), ([4, 5], 6)])
    assert fed["x"].tolist() == [[1, 2], [4, 5]]
    assert fed["label"].dtype == np.int64
    assert fed["label"].tolist() == [[3], [6]]
    parts = list(feeder.feed_parallel([[([1, 2], 3)], [([4, 5], 6)]], 2))
    assert [part["label"].tolist() for part in parts] == [[[3]], [[6]]]
    for rows, text in (
        ([([1, 2],)], "a row has 1 values, expected 2"),
        ([([1, 2, 3], 3)], r'"x" is float32\[-1, 2\], which rows of the shapes \[3\] do not make'),
    ):
        with pytest.raises(epl.ArgumentError, match=text):
            feeder.feed(rows)
    with pytest.raises(epl.ArgumentError, match='feed_list has "z", which is no variable'):
        fluid.DataFeeder([label, "z"])
    with pytest.raises(epl.ArgumentError, match="found rows for 1 devices, expected 2"):
        feeder.feed_parallel([[([1, 2], 3)]], 2)


def rows() -> Iterator[tuple[Any, int]]:
    return ((np.float32([index, 0]), index) for index in range(11))


@pytest.mark.parametrize(
    ("drops", "sizes"),
    [(True, [[2, 2], [2, 2]]), (False, [[2, 2], [2, 2], [2, 1]])],
    ids=["drop_last", "all"],
)
def test_a_loader_gives_each_place_its_batches(drops: bool, sizes: list[list[int]]) -> None:
    x = paddle.static.data("x", [None, 2])
    label = paddle.static.data("label", [None, 1], "int64")
    y = x * 2
    loader = fluid.io.DataLoader.from_generator([x, label], capacity=4, drop_last=drops)
    loader.set_sample_generator(rows, 2, drops, fluid.cpu_places())
    infer = fluid.ParallelExecutor(False)
    found = []
    for feed in loader:
        found.append([len(part["x"]) for part in feed])
        (doubled,) = infer.run([y], feed=feed)
        assert np.array_equal(doubled, 2 * np.concatenate([part["x"] for part in feed]))
    assert found == sizes
    again = [part["label"].ravel().tolist() for step in loader for part in step]
    assert again[:2] == [[0, 1], [2, 3]]


def test_loaders_of_lists_and_batches() -> None:
    x = paddle.static.data("x", [None, 2])
    loader = fluid.io.DataLoader.from_generator([x], return_list=True)
    with pytest.raises(epl.ArgumentError, match="the loader has no generator"):
        iter(loader)
    ones = np.ones((3, 2), "float32")
    loader.set_batch_generator(lambda: iter([ones, [ones], {"x": ones}]))
    assert [len(step[0][0]) for step in loader] == [3, 3, 3]
    loader.set_sample_list_generator(lambda: iter([[(row,) for row in ones]]), fluid.CPUPlace())
    assert [step[0][0].shape for step in loader] == [(3, 2)]
    loader.set_batch_generator(lambda: iter([[ones, ones]]))
    with pytest.raises(epl.ArgumentError, match="a batch has 2 arrays, expected 1"):
        list(loader)
    with pytest.raises(epl.UnsupportedError, match="iterable=False is not supported"):
        fluid.io.DataLoader.from_generator([x], iterable=False)
    with pytest.raises(epl.ArgumentError, match="feed_list must name the variables"):
        fluid.io.DataLoader.from_generator()
