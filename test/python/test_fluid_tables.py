"""Distributed embeddings of Fluid as tables: in processes, how servers have them, what is refused."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("paddle")

import epl
from epl import fluid
from epl.fluid import pservers, tables
from epl.fluid.programs import imported
from epl.paddle.row_updates import RowUpdate
from epl.paddle.running import Run
from epl.paddle.tables import read_tables
from epl.servers.strategy import AssignedServers
from fluid_ctr import FEEDS, ROWS, batch, network
from over_processes.launching import environment_of
from test_fluid_pservers import ENDPOINTS, _joins_anew, load, run, shapes, transpiled  # noqa: F401

SCRIPT = str(Path(__file__).with_name("fluid_ctr.py"))


@pytest.fixture(autouse=True)
def _no_tables_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "_BY_NAME", {})


@pytest.fixture(autouse=True)
def _own_programs() -> Iterator[None]:
    """The default programs and the scope are of one test."""
    with (
        fluid.program_guard(fluid.Program(), fluid.Program()),
        fluid.unique_name.guard(),
        fluid.scope_guard(fluid.Scope()),
    ):
        yield


@pytest.mark.parametrize(
    ("processes", "optimizer", "devices"),
    [(1, "Adagrad", "1"), (2, "SGD", "1"), (2, "decayed", "1"), (2, "SGD", "2"), (1, "Adagrad", "2")],
)
def test_trainers_in_sync_are_one_process_on_the_joined_batch(
    tmp_path: Path, processes: int, optimizer: str, devices: str
) -> None:
    run(tmp_path, processes, processes, "sync", optimizer, devices, program="train", script=SCRIPT)
    environment = environment_of(PYTHONPATH=os.pathsep.join(sys.path))
    command = [sys.executable, SCRIPT, "local", str(tmp_path), str(processes), optimizer]
    subprocess.run(command, env=environment, check=True)
    whole = load(tmp_path / "local.npz")
    trainers = [load(tmp_path / f"{number}.npz") for number in range(processes)]
    losses = np.mean([each["losses"] for each in trainers], 0)
    np.testing.assert_allclose(losses, whole["losses"][:-1], rtol=1e-5)
    assert losses[4:].mean() < losses[:4].mean()
    np.testing.assert_allclose(trainers[0]["tested"], whole["tested"][:-1], rtol=1e-4)
    np.testing.assert_allclose(trainers[0]["hidden_w"], whole["hidden_w"], rtol=1e-4, atol=1e-6)
    # The first row is the padding, which a dense sparse gradient has, too.
    np.testing.assert_allclose(trainers[0]["words"][1:], whole["words"][1:], rtol=1e-4, atol=1e-6)
    assert not trainers[0]["words"][0].any()


def test_trainers_go_on_from_saved_tables(tmp_path: Path) -> None:
    """With another number of servers."""
    run(tmp_path, 2, 2, "0", "4", program="resume", script=SCRIPT)
    saved = {path.name for path in (tmp_path / "saved").iterdir() if path.is_dir()}
    assert saved == {f"{table}{end}" for table in ("words", "users") for end in ("_0", "_1", ".parts")}
    for server in range(2):
        files = list((tmp_path / "saved" / f"words_{server}").iterdir())
        assert files
        assert all(path.name.startswith(f"words.server{server}of2.") for path in files)
    assert {"hidden_w", "learning_rate_0"} <= {path.name for path in (tmp_path / "saved").iterdir()}
    assert not (tmp_path / "saved" / "words").exists()
    run(tmp_path, 1, 2, "2", "4", program="resume", script=SCRIPT)
    whole, resumed = (load(tmp_path / f"from {first}.npz")["words"] for first in (0, 2))
    np.testing.assert_allclose(resumed, whole, rtol=1e-6, atol=1e-7)
    # Processes without servers.
    executor, (loss, test_program) = fluid.Executor(), network("Adagrad")
    fluid.io.load_persistables(executor, tmp_path / "saved", test_program)
    (tested,) = executor.run(test_program, feed=batch(0, 0), fetch_list=[loss])
    np.testing.assert_allclose(tested, load(tmp_path / "model.npz")["tested"], rtol=1e-6)
    np.testing.assert_allclose(
        inferred(tmp_path / "model", None), load(tmp_path / "model.npz")["tested"], rtol=1e-6
    )


def inferred(model: Path, file: str | None, endpoints: Any = None) -> Any:
    """The loss that a model for inference gives, in a scope of its own."""
    executor = fluid.Executor()
    with fluid.scope_guard(fluid.Scope()):
        program, feeds, targets = fluid.io.load_inference_model(
            model, executor, params_filename=file, pserver_endpoints=endpoints
        )
        assert sorted(feeds) == sorted(FEEDS)
        return executor.run(program, feed=batch(0, 0), fetch_list=targets)[0]


@pytest.mark.parametrize("mode", ["async", "half_async"])
def test_losses_fall_without_sync(tmp_path: Path, mode: str) -> None:
    run(tmp_path, 2, 2, mode, "Adagrad", program="train", script=SCRIPT)
    for trainer in range(2):
        losses = load(tmp_path / f"{trainer}.npz")["losses"]
        assert losses[-1] < 0.9 * losses[0]


def test_each_server_has_its_rows(capsys: pytest.CaptureFixture[str]) -> None:
    """Case 62 of Paddle's, but that the table has the program's optimizer, and not SGD."""
    fluid.default_startup_program().random_seed = 3
    ids = fluid.layers.data("ids", [1], dtype="int64")
    rows = fluid.layers.embedding(ids, (1000, 64), is_sparse=True, is_distributed=True, param_attr="shared_w")
    made = fluid.layers.fc(rows, 100, param_attr="fc_w", bias_attr="fc_b")
    fluid.optimizer.Adam(0.001).minimize(fluid.layers.mean(made))
    transpiler = transpiled(print_log=True)
    lines = capsys.readouterr().out.splitlines()
    for endpoint in ENDPOINTS.split(","):
        for program in transpiler.get_pserver_programs(endpoint):
            own = shapes(program)
            assert own["shared_w"] == own["shared_w_moment1_0"] == [500, 64]
            assert own["shared_w_beta1_pow_acc_0"] == [500, 1]
        assert f"shared_w [500, 64] on {endpoint}" in lines
    assert "fc_w [64, 100] on 127.0.0.1:6175" in lines
    assert fluid.default_main_program()._distributed_lookup_table == "shared_w"
    # Trainers make no rows: Fluid has "fake_init" there. Other variables are what they are without servers.
    fluid.Executor().run(fluid.default_startup_program())
    made_here, others = dict(fluid.global_scope().values), fluid.Scope()
    assert not any(name.startswith("shared_w") for name in made_here)
    fluid.Executor().run(fluid.default_startup_program().clone(), scope=others)
    assert {"fc_w", "fc_b", "fc_w_moment1_0"} <= made_here.keys() < others.values.keys()
    for name, value in made_here.items():
        np.testing.assert_array_equal(np.asarray(value), np.asarray(others.values[name]), err_msg=name)


def test_a_last_part_may_have_fewer_rows() -> None:
    rows = fluid.embedding(fluid.data("ids", [-1], "int64"), (1001, 4), is_distributed=True, param_attr="t")
    fluid.optimizer.SGD(0.1).minimize(fluid.layers.mean(rows))
    made = transpiled()
    assert [shapes(made.get_pserver_program(each)) for each in ENDPOINTS.split(",")] == [{"t": [501, 4]}] * 2


def test_sparse_embeddings_are_tables_where_fluid_fetches_their_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = fluid.embedding(fluid.data("ids", [-1], "int64"), (1000, 4), is_sparse=True, param_attr="sparse_w")
    fluid.optimizer.SGD(0.1).minimize(fluid.layers.mean(rows))
    assert shapes(transpiled().get_pserver_program("127.0.0.1:6174")) == {"sparse_w": [1000, 4]}
    monkeypatch.setenv("PADDLE_ENABLE_REMOTE_PREFETCH", "1")
    assert shapes(transpiled().get_pserver_program("127.0.0.1:6174")) == {"sparse_w": [500, 4]}


def alone() -> Any:
    """The default program, transpiled for a server that is in this process."""
    fluid.DistributeTranspiler().transpile(0, pservers="127.0.0.1:6174", trainers=1)
    program = fluid.default_main_program()
    strategy = pservers.noted(program)
    assert isinstance(strategy, AssignedServers)
    pservers.note(program, replace(strategy, role=None))
    return program


@pytest.mark.usefixtures("own_servers")
def test_what_a_trainer_may_not_do_with_a_table() -> None:
    loss, test_program = network("SGD")
    program, executor = alone(), fluid.Executor()
    with pytest.raises(epl.ArgumentError, match="has no value: run the startup program first"):
        executor.run(program, feed=batch(0, 0), fetch_list=[loss])
    executor.run(fluid.default_startup_program())
    with pytest.raises(epl.ArgumentError, match='table "users" has no rows before the first call of a step'):
        executor.run(test_program, feed=batch(0, 0), fetch_list=[loss])
    executor.run(program, feed=batch(0, 0), fetch_list=[loss])
    beyond = {**batch(0, 0), "title": np.full((8, 4), ROWS)}
    for each in (program, test_program):
        with pytest.raises(
            epl.ArgumentError,
            match=r'fluid_ctr.py:\d+: table "words" is looked up by id 1000 at \[0, 0\], expected .* to 999',
        ):
            executor.run(each, feed=beyond, fetch_list=[loss])
    with pytest.raises(epl.ArgumentError, match='"words" in fetch_list is of a table, which parameter serv'):
        executor.run(program, feed=batch(0, 0), fetch_list=["words"])
    with pytest.raises(epl.ArgumentError, match='the program trains "words", a table that servers hold, and'):
        executor.run(program.clone(), feed=batch(0, 0), fetch_list=[loss])


def two_paddings() -> Any:
    ids = fluid.data("ids", [-1], "int64")
    found = [
        fluid.embedding(ids, (10, 4), is_distributed=True, padding_idx=padding, param_attr="t")
        for padding in (0, 1)
    ]
    return fluid.layers.mean(fluid.layers.sums(found))


def begun(initializer: Any) -> Callable[[], Any]:
    def made() -> Any:
        attribute = fluid.ParamAttr("t", initializer=initializer)
        ids = fluid.data("ids", [-1], "int64")
        return fluid.layers.mean(fluid.embedding(ids, (10, 4), is_distributed=True, param_attr=attribute))

    return made


def read_whole() -> Any:
    rows = fluid.embedding(fluid.data("ids", [-1], "int64"), (10, 4), is_distributed=True, param_attr="t")
    table = fluid.default_main_program().global_block().var("t")
    return fluid.layers.mean(fluid.layers.matmul(rows, table, transpose_y=True))


def without_gradient() -> Any:
    ids = fluid.data("ids", [-1], "int64")
    first, other = (fluid.embedding(ids, (10, 4), is_distributed=True, param_attr="t") for _ in range(2))
    other.stop_gradient = True
    return fluid.layers.mean(fluid.layers.elementwise_mul(first, other))


PLAIN = begun(fluid.initializer.Uniform(-0.5, 0.5))
REFUSED: list[tuple[Callable[[], Any], Callable[[], Any], dict[str, Any], str]] = [
    (two_paddings, lambda: fluid.optimizer.SGD(0.1), {}, 'table "t" with padding_idx 1, and .* with 0'),
    (
        begun(fluid.initializer.Uniform(0, 1)),
        lambda: fluid.optimizer.SGD(0.1),
        {},
        "random of 0 to 1",
    ),
    (begun(fluid.initializer.Normal(1, 1)), lambda: fluid.optimizer.SGD(0.1), {}, "gaussian_random around 1"),
    (
        begun(fluid.initializer.TruncatedNormal()),
        lambda: fluid.optimizer.SGD(0.1),
        {},
        r'"truncated_gaussian_random" \(.*test_fluid_tables.py:\d+\) begins table "t"',
    ),
    (
        read_whole,
        lambda: fluid.optimizer.SGD(0.1),
        {},
        r'"matmul.*test_fluid_tables.py:\d+\) reads or writes',
    ),
    (without_gradient, lambda: fluid.optimizer.SGD(0.1), {}, "gives its rows no gradient"),
    (PLAIN, lambda: fluid.optimizer.Lamb(0.1), {}, r'"lamb" .*which is not by rows'),
    (
        PLAIN,
        lambda: fluid.optimizer.Adam(fluid.layers.exponential_decay(0.1, 2, 0.9)),
        {},
        r'"adam" .* by "[a-z_0-9.]+", which the program computes in each run',
    ),
    (
        PLAIN,
        lambda: fluid.optimizer.SGD(0.1),
        {"sync_mode": False, "geo_sgd_mode": True},
        "with geo_sgd_mode there are none",
    ),
    (
        PLAIN,
        lambda: fluid.optimizer.SGD(0.1),
        {"sync_mode": False, "enable_dc_asgd": True},
        "with enable_dc_asgd there are none",
    ),
]


@pytest.mark.parametrize(("loss", "optimizer", "fields", "text"), REFUSED)
def test_what_is_not_by_rows_is_refused_at_its_line(
    loss: Callable[[], Any],
    optimizer: Callable[[], Any],
    fields: dict[str, Any],
    text: str,
) -> None:
    made = loss()
    optimizer().minimize(made)
    with pytest.raises(epl.UnsupportedError, match=text):
        transpiled(**fields)


def test_a_table_that_is_not_trained_says_so() -> None:
    attribute = fluid.ParamAttr("t", trainable=False)
    rows = fluid.embedding(
        fluid.data("ids", [-1], "int64"), (10, 4), is_distributed=True, param_attr=attribute
    )
    fluid.optimizer.SGD(0.1).minimize(fluid.layers.mean(fluid.layers.fc(rows, 2)))
    with pytest.raises(epl.UnsupportedError, match='looks up table "t" and gives its rows no gradient'):
        transpiled()


OPTIMIZERS: list[Callable[[], Any]] = [
    lambda: fluid.optimizer.SGD(0.1),
    lambda: fluid.optimizer.Momentum(0.1, 0.9, use_nesterov=True),
    lambda: fluid.optimizer.Adagrad(0.1),
    lambda: fluid.optimizer.Adam(0.1, regularization=fluid.regularizer.L2Decay(0.1)),
    lambda: fluid.optimizer.Adamax(0.1),
    lambda: fluid.optimizer.Adadelta(0.1),
    lambda: fluid.optimizer.RMSProp(0.1, centered=True, momentum=0.5),
    lambda: fluid.optimizer.SGD(0.1, grad_clip=fluid.clip.GradientClipByValue(0.5)),
    lambda: fluid.optimizer.SGD(0.1, regularization=fluid.regularizer.L1Decay(0.1)),
]


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_an_update_of_rows_is_that_of_the_whole_table(optimizer: Callable[[], Any]) -> None:
    """If all rows are used, as moments of others would decay."""
    optimizer().minimize(PLAIN())
    program = imported(fluid.default_main_program())
    (table,) = read_tables(program, ["t"]).tables
    assert table.update is not None
    random = np.random.default_rng(0)
    whole = {"t": random.normal(size=(10, 4)).astype(np.float32), "learning_rate_0": np.float32([0.1])}
    firsts = {state.name: 0.5 for state in table.states}
    whole |= {state.name: np.full(state.shape, 0.5, np.float32) for state in table.states}
    update = RowUpdate(table, firsts, {name: whole[name] for name in table.update.constants})
    rows, kept = list(whole["t"]), [update.init(None) for _ in range(10)]
    for _ in range(3):
        gradient = random.normal(size=(10, 4)).astype(np.float32)
        done = Run({**whole, table.update.gradient: gradient})
        for number, op in table.update.ops:
            done.do(number, op)
        whole = {name: np.asarray(done.values[name]) for name in whole}
        found = [update.updated(*each) for each in zip(gradient, kept, rows, strict=True)]
        rows, kept = [np.asarray(row) for row, _ in found], [state for _, state in found]
    np.testing.assert_allclose(rows, whole["t"], rtol=1e-6)
    for state in table.states:
        own = np.stack([np.asarray(each[state.name]) for each in kept])
        np.testing.assert_allclose(own, np.broadcast_to(whole[state.name], own.shape), rtol=1e-6)
