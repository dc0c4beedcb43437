"""Fluid's nccl2 and collective modes: what trainers compute in several processes is what one process does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("paddle")

import epl
import mpi
from epl import fluid
from epl.fluid.trainers import Trainers


def load(file: Path) -> dict[str, Any]:
    with np.load(file) as arrays:
        return dict(arrays)


@pytest.mark.parametrize(
    ("sizes", "says", "communicators"),
    [([3, 3, 3, 3], True, 1), ([2, 5, 1, 4], False, 1), ([3, 3, 3, 3], False, 2)],
)
def test_trainers_train_as_one_process(
    tmp_path: Path, sizes: list[int], says: bool, communicators: int
) -> None:
    """Two processes of two devices are four devices; each sees the losses and statistics of its own."""
    mpi.call(1, "fluid_trainers", "train", sizes, 1, tmp_path, True, folder=tmp_path)
    mpi.call(2, "fluid_trainers", "train", sizes, 2, tmp_path, says, 0, communicators, folder=tmp_path)
    check_trained(tmp_path, trainers=2, devices=2)
    one, plan = ((tmp_path / f"{trainers}-0.dot").read_text() for trainers in (1, 2))
    assert (plan.count("all_reduce") > one.count("all_reduce")) == (communicators > 1)


def check_trained(folder: Path, trainers: int, devices: int) -> None:
    """Compares what trainers have written with what one process has, whose statistics are trainer 0's."""
    one = load(folder / "1-0.npz")
    for trainer in range(trainers):
        found = load(folder / f"{trainers}-{trainer}.npz")
        own = one["losses"][:, devices * trainer : devices * (trainer + 1)]
        np.testing.assert_allclose(found["losses"], own, rtol=1e-5)
        for name, value in one.items():
            if name == "losses" or (trainer and name.startswith("batch_norm_0.w_") and name[-1] in "12"):
                continue
            np.testing.assert_allclose(found[name], value, rtol=1e-5, atol=1e-6, err_msg=name)


def test_sums_within_groups_of_trainers_first(tmp_path: Path) -> None:
    """Four trainers in two groups: two sums, one after the other, instead of one."""
    sizes = [2, 5, 1, 4]
    mpi.call(1, "fluid_trainers", "train", sizes, 1, tmp_path, False, folder=tmp_path)
    mpi.call(4, "fluid_trainers", "train", sizes, 4, tmp_path, False, 2, folder=tmp_path)
    check_trained(tmp_path, trainers=4, devices=1)
    plans = [(tmp_path / f"{trainers}-0.dot").read_text() for trainers in (1, 4)]
    assert [plan.count("all_reduce") for plan in plans] == [2, 4]  # both halves of each


@pytest.mark.parametrize("mode", ["grad_allreduce", "local_sgd"])
def test_programs_that_exchange_by_their_own_ops(tmp_path: Path, mode: str) -> None:
    """Gradients are 1 + step and 3 + step; all begin with the weight of trainer 0, who refuse together."""
    said = mpi.call(2, "fluid_trainers", "train_alone", 2, mode, tmp_path, folder=tmp_path)
    refused = 'no variable "v" to fetch'
    assert said.count(f"1: ArgumentError: {refused}") == 3
    who = "trainer 1 of 2 (127.0.0.1:6175) has refused its fetch_list"
    assert said.count(f"0: RefusedError: {who}: {refused}") == 3
    first, second = (load(tmp_path / f"{mode}-{trainer}.npz")["w"] for trainer in range(2))
    assert np.array_equal(first, second)
    np.testing.assert_allclose(first - first[0], [0, -2, -5, -9], atol=1e-6)


REFUSALS = {
    "name": ("ArgumentError", "element 0 of the feed list has no y, found x"),
    "type": ("ArgumentError", '"x" in element 0 of the feed list: the variable is float32, found int64'),
    "shape": (
        "ArgumentError",
        '"x" in element 0 of the feed list: should have dimensions = [-1, 4], found [2, 3]',
    ),
    "parts": ("ArgumentError", "expected a dict for each of 2 devices, found 1"),
    "rows": ("ArgumentError", "The number(1) of samples[x] of current batch is less than the count(2)"),
    "kind": ("ArgumentError", "feed must be a dict, or a list of dicts, found int"),
    "fetch": ("ArgumentError", 'no variable "los" to fetch'),
    "no fetch": ("ArgumentError", "fetch_list has a int, expected a variable or its name"),
    "rate": ("ArgumentError", '"learning_rate_0" in feed has different values for the devices'),
    "value": ("ArgumentError", 'variable "fc_0.w_0" has no value: run the startup program first'),
}


def test_what_one_trainer_refuses_all_raise(tmp_path: Path) -> None:
    """The others hear who and why; nothing has run, so that the losses are those of a run without it."""
    mpi.call(2, "fluid_trainers", "refuse", tmp_path, folder=tmp_path)
    found = [json.loads((tmp_path / f"refused-{trainer}.json").read_text()) for trainer in range(2)]
    for number, (name, (kind, text)) in enumerate(REFUSALS.items()):
        own, other = (found[trainer]["raised"][name] for trainer in (number % 2, 1 - number % 2))
        assert own.startswith(f"{kind}: "), own
        assert text in own
        what = "its fetch_list" if "fetch" in name else "its feed"
        who = f"trainer {number % 2} of 2 (127.0.0.1:{6174 + number % 2})"
        assert other == f"RefusedError: {who} has refused {what}: {own.removeprefix(f'{kind}: ')}"
    assert [each["raised"].keys() for each in found] == [REFUSALS.keys()] * 2
    assert all(each["losses"] == each["plain"] for each in found)
    assert len(found[0]["losses"]) == len(REFUSALS)


def test_feeds_and_fetches_that_differ_between_trainers(tmp_path: Path) -> None:
    """Rows of one shape and one learning rate are expected; what is fetched may differ."""
    mpi.call(2, "fluid_trainers", "feed_unlike", tmp_path, folder=tmp_path)
    found = [json.loads((tmp_path / f"unlike-{trainer}.json").read_text()) for trainer in range(2)]
    for each in found:
        rows, rate = each["raised"]
        assert rows == (
            '"x" in feed has rows of float32[2] on trainer 0, float32[3] on trainer 1 of 2 (127.0.0.1:6175): '
            "expected the same on all trainers"
        )
        assert rate.startswith(
            '"learning_rate_0" in feed has another value on trainer 1 of 2 (127.0.0.1:6175)'
        )
        assert each["rate"] == 0.0
    assert [each["fetched"] for each in found] == [[[1], [2, 3]], []]


def test_a_first_run_that_one_trainer_refuses(tmp_path: Path) -> None:
    mpi.call(2, "fluid_trainers", "refuse_to_begin", tmp_path, folder=tmp_path)
    first, second = ((tmp_path / f"begun-{trainer}.txt").read_text() for trainer in range(2))
    assert second.startswith("SharingError: share_vars_from never ran")
    assert first.startswith(
        "RefusedError: trainer 1 of 2 (127.0.0.1:6175) has refused its first run: share_vars"
    )


def test_a_trainer_that_ends_between_runs_ends_the_others(tmp_path: Path) -> None:
    said = mpi.call(2, "fluid_trainers", "train_and_end", folder=tmp_path, fails=True)
    assert "the reader has no more files" in said


def test_a_trainer_that_is_not_who_it_says(tmp_path: Path) -> None:
    said = mpi.call(1, "fluid_trainers", "train_wrong", 2, folder=tmp_path, fails=True)
    assert "this is trainer 0 of 2, as the script says, but process 0 of 1, as its launcher says" in said
    assert "start trainers by epl-launch -n 2" in said
    said = mpi.call(2, "fluid_trainers", "train_wrong", 2, folder=tmp_path, fails=True)
    wrong = "this is trainer 0 of 2, as the script says, but process 1 of 2, as its launcher says"
    assert f"ConfigError: {wrong}" in said
    assert f"RefusedError: trainer 1 of 2 has refused its numbers: {wrong}" in said


def program() -> Any:
    x = fluid.layers.data("x", [1])
    loss = fluid.layers.mean(fluid.layers.fc(x, 1))
    fluid.optimizer.SGD(0.1).minimize(loss)
    return loss


WRONG: list[tuple[Any, str, type[Exception], str]] = [
    (2, "a:1", AssertionError, "trainers must be a string of addresses .* in mode nccl2, found 2"),
    ("a:1", "a:1", ValueError, "trainers names 1 trainer, expected 2 or more: a:1"),
    ("a:1,a:1", "a:1", ValueError, 'trainers names "a:1" twice'),
    ("a:1,b:1", "c:1", ValueError, 'current_endpoint is "c:1", expected one of a:1, b:1'),
    ("a:1,b:1", "b:1", ValueError, 'current_endpoint "b:1" is that of trainer 1, but trainer_id is 0'),
    ("a:1,b", "a:1", ValueError, 'trainers has "b", expected an address and a port'),
]


@pytest.mark.parametrize(("trainers", "current", "kind", "text"), WRONG)
def test_addresses_that_do_not_fit(trainers: Any, current: str, kind: type[Exception], text: str) -> None:
    config = fluid.DistributedTranspilerConfig()
    config.mode = "nccl2"
    with fluid.program_guard(fluid.Program(), fluid.Program()), pytest.raises(kind, match=text):
        fluid.DistributedTranspiler(config).transpile(0, trainers=trainers, current_endpoint=current)


def test_a_mode_that_is_none() -> None:
    config = fluid.DistributeTranspilerConfig()
    config.mode = "mpi"
    with pytest.raises(epl.ArgumentError, match='mode is "mpi", expected "pserver", "nccl2" or "collective"'):
        fluid.DistributeTranspiler(config).transpile(0, trainers=2)


def test_what_the_transpiler_leaves_on_a_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CPU_NUM", "1")
    config = fluid.DistributeTranspilerConfig()
    config.mode = "nccl2"
    with fluid.program_guard(fluid.Program(), fluid.Program()):
        loss = program()
        main = fluid.default_main_program()
        fluid.DistributeTranspiler(config).transpile(1, trainers="a:1,b:2", current_endpoint="b:2")
        assert main._is_distributed
        assert not main._is_chief
        assert main._trainers_endpoints == ["a:1", "b:2"]
        fluid.Executor().run(fluid.default_startup_program(), scope=(scope := fluid.Scope()))
        feed = {"feed": {"x": np.ones((1, 1), "float32")}}
        for options, text in (
            ({"num_trainers": 3, "trainer_id": 1}, "num_trainers is 3 and trainer_id 1, but the program was"),
            ({}, "this is trainer 1 of 2, as the script says, but process 0 of 1"),
        ):
            made = fluid.ParallelExecutor(False, loss_name=loss.name, scope=scope, **options)
            with pytest.raises(ValueError, match=text):
                made.run([], **feed)


BUILDS: list[tuple[dict[str, Any], str]] = [
    ({"num_trainers": 2, "trainer_id": 2}, "trainer_id is 2, expected less than num_trainers, which is 2"),
    (
        {"num_trainers": 2, "trainers_endpoints": ["a:1"]},
        "1 endpoints are named, expected num_trainers, which is 2",
    ),
    (
        {"num_trainers": 6, "use_hierarchical_allreduce": True, "hierarchical_allreduce_inter_nranks": 4},
        r"groups of 4 \(hierarchical_allreduce_inter_nranks\): expected groups of 2 or more that 6 trainers",
    ),
    (
        {
            "num_trainers": 6,
            "use_hierarchical_allreduce": True,
            "hierarchical_allreduce_inter_nranks": 3,
            "hierarchical_allreduce_exter_nranks": 3,
        },
        "hierarchical_allreduce_exter_nranks is 3, expected 2, the groups that 6 trainers make, or 0",
    ),
    (
        {
            "num_trainers": 4,
            "use_hierarchical_allreduce": True,
            "hierarchical_allreduce_inter_nranks": 2,
            "reduce_strategy": fluid.BuildStrategy.ReduceStrategy.Reduce,
        },
        r"use_hierarchical_allreduce with ReduceStrategy.Reduce: expected ReduceStrategy.AllReduce",
    ),
]


@pytest.mark.parametrize(("fields", "text"), BUILDS)
def test_numbers_that_do_not_fit(fields: dict[str, Any], text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CPU_NUM", "1")
    build = fluid.BuildStrategy()
    for name, value in fields.items():
        setattr(build, name, value)
    with fluid.program_guard(fluid.Program(), fluid.Program()), fluid.scope_guard(fluid.Scope()):
        loss = program()
        fluid.Executor().run(fluid.default_startup_program())
        made = fluid.ParallelExecutor(False, loss_name=loss.name, build_strategy=build)
        with pytest.raises(epl.ArgumentError, match=text):
            made.run([], feed={"x": np.ones((1, 1), "float32")})


def test_ranks() -> None:
    """Trainer 1 of 2 with four devices each has devices 4 to 7."""
    assert list(Trainers(2, 1).here(4)) == [4, 5, 6, 7]
