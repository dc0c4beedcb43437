"""Models of Fluid for inference that have distributed embeddings, and these as servers have saved them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("paddle")

import epl
from epl import fluid
from epl.fluid import pservers, tables
from epl.servers import roles
from epl.servers.strategy import AssignedServers
from fluid_ctr import FEEDS, ROWS, batch, first_rows, network
from test_fluid_tables import (  # noqa: F401
    _joins_anew,
    _no_tables_of_others,
    _own_programs,
    alone,
    inferred,
)


@pytest.mark.parametrize("file", [None, "parameters"])
@pytest.mark.usefixtures("own_servers")
def test_a_model_for_inference_has_tables_as_parameters(
    tmp_path: Path, file: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    loss, test_program = network("Adagrad")
    program, executor, endpoints = alone(), fluid.Executor(), ["127.0.0.1:6174"]

    def save() -> None:
        fluid.io.save_inference_model(tmp_path, FEEDS, [loss], executor, program, params_filename=file)

    def tested() -> Any:
        return executor.run(test_program, feed=batch(0, 0), fetch_list=[loss])[0]

    executor.run(fluid.default_startup_program())
    with pytest.raises(epl.ArgumentError, match=r'save of table "[a-z]+" is called before the first call'):
        save()
    for step in range(2):
        executor.run(program, feed=batch(step, 0))
    before = tested()
    save()
    assert np.array_equal(inferred(tmp_path, file), before)
    assert np.array_equal(inferred(tmp_path, file, endpoints), before)
    for step in range(2):  # it goes on: nothing was loaded into tables
        executor.run(program, feed=batch(step, 0))
    assert tested() < before
    assert np.array_equal(inferred(tmp_path, file), before)
    live = inferred(tmp_path, file, endpoints)  # rows as they are now, and other parameters as they were
    assert live < before
    assert not np.array_equal(live, tested())
    # In another process, and with no part of Fluid.
    monkeypatch.setattr(tables, "_BY_NAME", {})
    assert np.array_equal(inferred(tmp_path, file, endpoints), before)
    model = epl.paddle.load(tmp_path / "__model__")
    values = model.read_parameters(tmp_path if file is None else tmp_path / file)
    np.testing.assert_allclose(model(values, batch(0, 0))[0], before, rtol=1e-6)
    used = np.unique([batch(step, 0)[name] for step in range(2) for name in ("query", "title")])
    others = np.setdiff1d(np.arange(1, ROWS), used)  # 0 is the padding
    np.testing.assert_allclose(values["words"][others], first_rows()[others], rtol=1e-6)
    assert not np.isclose(values["words"][used[used > 0]], first_rows()[used[used > 0]]).all(1).any()


@pytest.mark.parametrize("file", [None, "parameters"])
@pytest.mark.usefixtures("own_servers")
def test_saved_rows_are_parameters_without_servers(
    tmp_path: Path, file: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    loss, test_program = network("Adagrad")
    program, executor = alone(), fluid.Executor()

    def tested() -> Any:
        return executor.run(test_program, feed=batch(0, 0), fetch_list=[loss])[0]

    executor.run(fluid.default_startup_program())
    for step in range(2):
        executor.run(program, feed=batch(step, 0))
    expected = tested()
    if file is None:  # whose files are not those that are read then
        fluid.io.save_inference_model(tmp_path, FEEDS, [loss], executor, program)
        executor.run(program, feed=batch(0, 0))
        expected = tested()
    fluid.io.save_persistables(executor, tmp_path, program, file)
    monkeypatch.setattr(tables, "_BY_NAME", {})
    with fluid.scope_guard(fluid.Scope()):
        with pytest.raises(
            epl.Error, match=r'.parts" has "[a-z]+_moment_0" with each row of table "[a-z]+", as'
        ):
            fluid.io.load_persistables(executor, tmp_path, program, file)
        if file is not None:  # has all that trains
            return
        fluid.io.load_persistables(executor, tmp_path, test_program, file)
        assert np.array_equal(tested(), expected)
        words = np.array(fluid.global_scope().find_var("words").get_tensor())
        used = np.unique([batch(step, 0)[name] for step in range(2) for name in ("query", "title")])
        others = np.setdiff1d(np.arange(1, ROWS), used)  # 0 is the padding
        np.testing.assert_allclose(words[others], first_rows()[others], rtol=1e-6)
        about = tmp_path / "words.parts" / "table.json"
        for content in ("", "{}", "[1]", '{"version": 2}'):
            about.write_text(content)
            with pytest.raises(epl.Error, match=r'table.json" does not say what the table is'):
                fluid.io.load_persistables(executor, tmp_path, test_program)


@pytest.mark.usefixtures("own_servers")
def test_where_a_model_for_inference_does_not_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loss, _ = network("SGD")
    program, executor = alone(), fluid.Executor()
    executor.run(fluid.default_startup_program())
    executor.run(program, feed=batch(0, 0))
    fluid.io.save_inference_model(tmp_path / "model", FEEDS, [loss], executor, program)
    strategy = pservers.noted(program)
    assert isinstance(strategy, AssignedServers)
    role = roles.Role("worker", 0, ("127.0.0.1:6174",), 1)
    next(iter(tables._BY_NAME.values())).strategy = replace(strategy, role=role)
    with pytest.raises(epl.ArgumentError, match=r"pserver_endpoints are 127.0.0.1:1, and table .* expected"):
        fluid.io.load_inference_model(tmp_path / "model", executor, pserver_endpoints=["127.0.0.1:1"])
    fluid.io.load_inference_model(tmp_path / "model", executor)
    with pytest.raises(
        epl.ArgumentError, match=r'"users" is of a table, which .* and has a value in the scop'
    ):
        executor.run(program, feed=batch(0, 0))
    monkeypatch.setattr(tables, "_BY_NAME", {})
    fluid.global_scope().values.clear()
    with pytest.raises(epl.Error, match=r'has no file of .* "users", "words"'):
        fluid.io.load_persistables(executor, tmp_path, program)
