"""Programs of Paddle on several devices: what Paddle 2.6's ParallelExecutor makes of them."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

import epl
from epl.adapters.jax.padded_rows import Batch, Padded, Rows
from epl.paddle import feeds
from epl.paddle.device_values import Fetched, Local
from epl.paddle.feeds import Split
from epl.paddle.replicas import Replicas, Weight
from epl.paddle.running import Run
from paddle_modules import FOLDER, module
from test_paddle_programs import NAMES, TRAINED, begin, check, read, trained

batches = module("batches")


def parallel(name: str) -> tuple[Any, str, dict[str, Any], dict[str, Any]]:
    """A program, its loss, the variables before it trains, and losses by places, mode and sizes of parts."""
    with np.load(FOLDER / "parallel" / f"{name}.npz") as arrays:
        found = dict(arrays)
    program = epl.paddle.load(FOLDER / "parallel" / f"{name}.program")
    return program, str(found["loss"]), begin(program, found), found


KINDS = [(places, kind) for places, kinds in batches.SIZES.items() for kind in kinds]


OWNERS = {"AllReduce": "", "Reduce": "parameter"}


@pytest.mark.parametrize(("places", "kind"), KINDS)
@pytest.mark.parametrize("mode", OWNERS)
@pytest.mark.parametrize("name", batches.FEEDS)
def test_losses_are_those_of_paddles_parallel_executor(name: str, mode: str, places: int, kind: str) -> None:
    program, loss, variables, found = parallel(name)
    replicas = Replicas(program, places, loss=loss, config={"zero.owner": OWNERS[mode]})
    losses = []
    for parts in batches.batches(name, batches.SIZES[places][kind]):
        (fetched,) = replicas.run(variables, feeds.of_parts(parts, places), [loss])
        losses.append(np.stack(fetched.values).reshape(-1))
    expected = found[f"{places}:{mode}:{kind}"]
    # One loss is a mean that comes by zero.
    np.testing.assert_allclose(losses, expected, rtol=1e-5, atol=1e-6 * np.max(np.abs(expected)))
    assert bool(replicas.owners()) == (mode == "Reduce" and places > 1)


@pytest.mark.parametrize("kind", batches.SIZES[4])
@pytest.mark.parametrize("name", batches.FEEDS)
def test_sums_within_groups_of_devices_first(name: str, kind: str) -> None:
    """Two sums, one after the other; the losses are those of one sum, which are Paddle's."""
    program, loss, variables, found = parallel(name)
    replicas = Replicas(program, 4, loss=loss, groups=2)
    losses = []
    for parts in batches.batches(name, batches.SIZES[4][kind]):
        (fetched,) = replicas.run(variables, feeds.of_parts(parts, 4), [loss])
        losses.append(np.stack(fetched.values).reshape(-1))
    expected = found[f"4:AllReduce:{kind}"]
    np.testing.assert_allclose(losses, expected, rtol=1e-5, atol=1e-6 * np.max(np.abs(expected)))
    assert replicas.graph().count("all_reduce") == 4  # both halves of each


LINE_X = np.float32([[1], [2], [3]])


def line(kind: str, **options: Any) -> tuple[Replicas, dict[str, Any], str, str]:
    """x w and its loss, a mean or a sum, of one weight, which is trained with a rate of 1, on two devices."""
    program = epl.paddle.load(FOLDER / "parallel" / f"line_{kind}.program")
    y, loss = (program.ops[index].outputs["Out"][0] for index in (0, 1))
    variables: dict[str, Any] = {}
    startup = epl.paddle.load(FOLDER / "parallel" / f"line_{kind}.startup")
    Replicas(startup, 1).run(variables, feeds.of_parts([{}], 1), [])
    return Replicas(program, 2, loss=loss, **options), variables, y, loss


def fed(split: Split = Split.REST) -> feeds.Fed:
    return feeds.of_batch({"x": LINE_X}, 2, split)


@pytest.mark.parametrize("name", ["din", "ngram", "recognize_digits", "recommender_system", "resnet"])
def test_nets_of_fluid_train_on_unequal_parts_as_on_one_device(name: str) -> None:
    """Losses and parameters are those that Paddle has on one device."""
    program, loss, steps, found = trained(f"fluid_{name}")
    variables = begin(program, found)
    replicas = Replicas(program, 2, loss=loss, weight=Weight.ROWS, syncs=True)
    losses = []
    for batch in steps:
        rows = 1 + len(next(iter(batch.values()))) // 2
        parts = [{key: x[own] for key, x in batch.items()} for own in (slice(rows), slice(rows, None))]
        (fetched,) = replicas.run(variables, feeds.of_parts(parts, 2), [loss])
        losses.append(fetched.values[0].reshape(()))
    np.testing.assert_allclose(losses, found["losses"].reshape(-1), rtol=1e-5)
    for key in program.parameters:
        if f"after:{key}" in found:
            value = variables[key].first if isinstance(variables[key], Local) else np.asarray(variables[key])
            expected = found[f"after:{key}"]
            np.testing.assert_allclose(np.reshape(value, expected.shape), expected, rtol=1e-3, atol=1e-5)


def test_what_a_startup_program_makes_is_not_written_by_who_reads_it() -> None:
    _, variables, _, _ = line("mean")
    assert np.array_equal(variables["w"], [[1.0]])
    assert not np.asarray(variables["w"]).flags.writeable


def test_a_variable_without_a_value_is_named_though_others_have_none() -> None:
    """The first one that the program reads."""
    program, loss, variables, _ = parallel("mlp")
    first, second, *_ = program.parameters
    for name in (second, first):
        variables[name] = None
    with pytest.raises(epl.ArgumentError, match=f'variable "{first}" has no value: run the startup program'):
        Replicas(program, 2, loss=loss).run(
            variables, feeds.of_parts(batches.batches("mlp", [4, 4])[0], 2), [loss]
        )


def values(fetched: Fetched) -> list[Any]:
    return [value.ravel().tolist() for value in fetched.values]


@pytest.mark.parametrize(
    ("kind", "weight", "split", "w"),
    [
        ("mean", Weight.MEAN, Split.REST, 1 - 1.75),
        ("mean", Weight.MEAN, Split.CEILING, 1 - 2.25),  # Paddle 2.6: -1.25
        ("mean", Weight.ONE, Split.REST, 1 - 3.5),
        ("mean", Weight.ONE, Split.CEILING, 1 - 4.5),  # Paddle 2.6: -3.5
        ("mean", Weight.ROWS, Split.REST, 1 - 2.0),  # as one device
        ("mean", Weight.ROWS, Split.CEILING, 1 - 2.0),
        ("sum", Weight.MEAN, Split.CEILING, 1 - 3.0),  # Paddle 2.6: -2.0
        ("sum", Weight.ONE, Split.REST, 1 - 6.0),  # Paddle 2.6: -5.0
    ],
)
def test_the_weight_of_unequal_parts(kind: str, weight: Weight, split: Split, w: float) -> None:
    replicas, variables, _, loss = line(kind, weight=weight)
    replicas.run(variables, fed(split), [loss])
    assert np.array_equal(variables["w"], [[np.float32(w)]])


def test_the_loss_of_all_rows_is_that_of_one_device() -> None:
    replicas, variables, _, loss = line("mean", weight=Weight.ROWS)
    assert values(replicas.run(variables, fed(), [loss])[0]) == [[2.0], [2.0]]


def test_a_gradient_of_the_loss_that_is_fed() -> None:
    replicas, variables, _, loss = line("mean", weight=Weight.FED)
    parts = [
        {"x": LINE_X[:1], f"{loss}@GRAD": np.float32(10)},
        {"x": LINE_X[1:], f"{loss}@GRAD": np.float32(100)},
    ]
    replicas.run(variables, feeds.of_parts(parts, 2), [loss])
    assert np.array_equal(variables["w"], [[np.float32(1 - 10 - 250)]])  # Paddle 2.6: -259.0
    with pytest.raises(epl.ArgumentError, match=f'feed has no "{loss}@GRAD": with GradientScaleStrategy'):
        replicas.run(variables, fed(), [loss])


def test_what_is_fetched_has_the_real_rows() -> None:
    replicas, variables, y, loss = line("mean")
    (rows, losses, again) = replicas.run(variables, fed(), [y, loss, y])
    assert values(rows) == values(again) == [[1.0], [2.0, 3.0]]
    assert values(losses) == [[1.0], [2.5]]
    gradient, w = replicas.run(variables, fed(), ["w@GRAD", "w"])
    assert values(gradient) == [[1.75], [1.75]]
    assert values(w) == [[-2.5], [-2.5]]
    with pytest.raises(epl.ArgumentError, match='no variable "w@GARD" to fetch, did you mean "w@GRAD"'):
        replicas.run(variables, fed(), ["w@GARD"])


def test_a_program_that_tests_takes_fewer_parts() -> None:
    _, variables, y, _ = line("mean")
    test = Replicas(epl.paddle.load(FOLDER / "parallel" / "line_mean.test"), 3)
    (found,) = test.run(variables, feeds.of_parts([{"x": LINE_X}, {"x": LINE_X[:1]}], 3), [y])
    assert values(found) == [[1.0, 2.0, 3.0], [1.0]]


def test_statistics_are_each_devices_own() -> None:
    program, loss, variables, found = parallel("cnn")
    replicas = Replicas(program, 2, loss=loss)
    for parts in batches.batches("cnn", [3, 6])[:2]:
        replicas.run(variables, feeds.of_parts(parts, 2), [loss])
    own = {name: value for name, value in variables.items() if isinstance(value, Local)}
    assert sorted(own) == ["batch_norm_0.w_1", "batch_norm_0.w_2"]
    for value in own.values():
        assert not np.array_equal(value.values[0], value.values[1])
        assert np.array_equal(value.first, value.values[0])
    one = Replicas(program, 1, loss=loss)
    one.run(variables, feeds.of_parts(batches.batches("cnn", [8])[0], 1), [loss])
    assert variables["batch_norm_0.w_1"].shape == found["before:batch_norm_0.w_1"].shape


@pytest.mark.parametrize("sizes", [[4, 4], [3, 5]])
def test_statistics_of_all_devices_are_those_of_one(sizes: list[int]) -> None:
    program, loss, variables, _ = parallel("cnn")
    (first, second, *_) = batches.batches("cnn", [8])
    one = dict(variables)
    several = Replicas(program, 2, loss=loss, syncs=True, weight=Weight.ROWS)
    for (part,) in (first, second):
        parts = [
            {key: value[rows] for key, value in part.items()}
            for rows in (slice(sizes[0]), slice(sizes[0], 8))
        ]
        (expected,) = Replicas(program, 1, loss=loss).run(one, feeds.of_parts([part], 1), [loss])
        (found,) = several.run(variables, feeds.of_parts(parts, 2), [loss])
        check(found.values, expected.values * 2)
    check([variables["batch_norm_0.w_1"].first], [np.asarray(one["batch_norm_0.w_1"])])


def test_a_variable_without_a_value_is_named() -> None:
    replicas, variables, *_ = line("mean")
    del variables["w"]
    with pytest.raises(epl.ArgumentError, match='variable "w" has no value: run the startup program first'):
        replicas.run(variables, fed(), [])


@pytest.mark.parametrize(
    ("rows", "count", "rest", "ceiling"),
    [
        (3, 2, [1, 2], [2, 1]),
        (5, 4, [1, 1, 1, 2], [2, 2, 1]),
        (6, 4, [1, 1, 1, 3], [2, 2, 2]),
        (7, 4, [1, 1, 1, 4], [2, 2, 2, 1]),
        (9, 4, [2, 2, 2, 3], [3, 3, 3]),
        (10, 4, [2, 2, 2, 4], [3, 3, 3, 1]),
        (101, 4, [25, 25, 25, 26], [26, 26, 26, 23]),
        (15, 8, [1, 1, 1, 1, 1, 1, 1, 8], [2, 2, 2, 2, 2, 2, 2, 1]),
        (65, 8, [8, 8, 8, 8, 8, 8, 8, 9], [9, 9, 9, 9, 9, 9, 9, 2]),
        (3, 4, [1, 1, 1], [1, 1, 1]),
        (0, 2, [], []),
    ],
)
def test_splits(rows: int, count: int, rest: list[int], ceiling: list[int]) -> None:
    assert feeds.sizes(rows, count, Split.REST) == rest
    assert feeds.sizes(rows, count, Split.CEILING) == ceiling


def test_rows_of_other_lengths_are_of_one_batch_or_of_two() -> None:
    """Words are three for each sentence, and pictures as they come."""
    parts = [
        {"sentence": np.zeros((n, 2)), "word": np.zeros((3 * n, 5)), "picture": np.zeros((m, 4))}
        for n, m in ((2, 1), (3, 7))
    ]
    found = feeds.of_parts(parts, 2)
    assert dict(found.layout.rows) == {
        "sentence": Rows(0, 0),
        "word": Rows(0, 0, inner=3),
        "picture": Rows(1, 0),
    }
    assert found.layout.extents == (3, 7)
    assert found.counts.tolist() == [[2, 1], [3, 7]]
    assert found.values["word"].shape == (2, 9, 5)


def with_padding(value: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Two more rows, of what spoils whatever it comes into."""
    more = np.full((2, *value.shape[1:]), np.nan if value.dtype.kind == "f" else 0, value.dtype)
    return np.concatenate([value, more])


def real(value: Any, rows: Rows | None, batches: dict[int, Batch]) -> np.ndarray[Any, Any]:
    if rows is None:
        return np.asarray(value)
    batch = batches[rows.batch]
    index = np.arange(value.shape[rows.dim]) // rows.inner % batch.extent
    return np.compress(index < int(batch.count), np.asarray(value), rows.dim)


def check_padding(program: Any, given: dict[str, Any], feed: dict[str, Any], fetches: list[str]) -> None:
    """What a program makes of padded batches is what it makes of them."""
    after, expected = jax.jit(lambda given, feed: program.run(given, feed, fetches))(given, feed)
    lengths = sorted({len(value) for value in feed.values()})
    rows = {name: Rows(lengths.index(len(value)), 0) for name, value in feed.items()}
    names = [*fetches, *after]
    known: dict[str, Rows] = {}

    def compute(values: dict[str, Any], counts: Any) -> dict[str, Any]:
        padding = Padded({index: Batch(each + 2, counts[index]) for index, each in enumerate(lengths)})
        run = Run(dict(values), padding=padding, rows=dict(rows))
        for number, op in enumerate(program.ops):
            run.do(number, op)
        known.update(run.rows or {})
        return {name: run.values[name] for name in names}

    padded = {name: with_padding(value) for name, value in feed.items()}
    made = jax.jit(compute)({**given, **padded}, np.int32(lengths))
    batches = {index: Batch(each + 2, each) for index, each in enumerate(lengths)}
    for name, value in zip(names, [*expected, *after.values()], strict=True):
        found = real(made[name], known.get(name), batches)
        assert found.shape == np.shape(value), name
        np.testing.assert_allclose(found, value, rtol=1e-4, atol=1e-5, err_msg=name)


# Left out: programs that say how many rows a batch has, or that have rows of rows.
@pytest.mark.parametrize("name", sorted(set(NAMES) - {"fluid_rows", "old_names", "places", "shapes"}))
def test_results_do_not_depend_on_padding(name: str) -> None:
    program, given, feed, _ = read(name)
    check_padding(program, given, feed, list(program.fetches))


@pytest.mark.parametrize("name", sorted(set(TRAINED) - {"fluid_rows", "functions"}))
def test_training_does_not_depend_on_padding(name: str) -> None:
    program, loss, batches, found = trained(name)
    check_padding(program, begin(program, found), batches[0], [loss])


def test_an_op_that_mixes_rows_otherwise_is_an_error_with_its_line() -> None:
    program, given, feed, _ = read("old_names")
    with pytest.raises(
        epl.UnsupportedError, match=r'"matmul" \(step.py:\d+\) mixes the rows of a batch, in a way that EPL'
    ):
        check_padding(program, given, feed, [])


def test_parts_have_rows_of_one_shape() -> None:
    parts = [{"x": np.zeros((2, 3), np.float32)}, {"x": np.zeros((2, 4), np.float32)}]
    with pytest.raises(
        epl.ArgumentError, match=r'"x" in feed is \[2, 3\] on device 0 and \[2, 4\] on device 1'
    ):
        feeds.of_parts(parts, 2)


def test_work_has_the_kinds_that_roles_say() -> None:
    """All gradients are one sum, and what applies them waits for nothing else."""
    program, loss, variables, _ = parallel("mlp")
    replicas = Replicas(program, 2, loss=loss)
    replicas.run(variables, feeds.of_parts(batches.batches("mlp", [4, 4])[0], 2), [loss])
    text = replicas.graph()
    assert text.count("all_reduce") == 2  # both halves of one
    updates = [line for line in text.splitlines() if "in momentum" in line]
    assert len(updates) == len([op for op in program.ops if op.kind == "momentum"])
    assert all("tg0.apply" in line for line in updates)
    assert not any("_grad" in line and "tg0.apply" in line for line in text.splitlines())


def test_the_optimizers_state_is_on_the_owner_alone() -> None:
    """Adam's moments are twice the parameters: each device has those of its own."""
    program, loss, variables, _ = parallel("cnn")
    sizes = {name: int(np.prod(each.shape)) for name, each in program.parameters.items()}
    plans = {}
    for mode, owner in OWNERS.items():
        replicas = Replicas(program, 2, loss=loss, config={"zero.owner": owner})
        replicas.run(dict(variables), feeds.of_parts(batches.batches("cnn", [4, 4])[0], 2), [loss])
        plans[mode] = replicas
    owners = plans["Reduce"].owners()
    moments = [name for name in sizes if "moment" in name]
    assert set(moments) <= set(owners)
    for name in moments:
        assert owners[name] == owners[name.partition("_moment")[0]]
    loads = [sum(sizes[name] for name in moments if owners[name] == device) for device in range(2)]
    assert sum(loads) == sum(sizes[name] for name in moments)
    assert all(loads)
