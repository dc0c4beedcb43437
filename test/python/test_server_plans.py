"""Steps with parameter servers that are saved, and loaded in another job."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import epl
import epl.compile
from server_runs import run, said
from table_steps import DIM, batches, first_params, parallel, restart, table

PROGRAM = str(Path(__file__).with_name("served_saves.py"))
ADAM, ADAGRAD = optax.adam(0.1), optax.adagrad(0.05)
SCALES = np.linspace(1, 2, DIM, dtype=np.float32)


@pytest.fixture
def no_compiler(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Whoever compiles something from the call on fails; the cache is no help."""

    def refuse(*arguments: Any) -> Any:
        raise AssertionError(f"compiles {arguments[1:]}")

    def forbid() -> None:
        monkeypatch.setattr(epl.compile, "_run", refuse)
        monkeypatch.setenv("EPL_CACHE_DIR", "")

    return forbid


def dense_step(params: Any, state: Any, x: Any, y: Any) -> Any:
    """A step that closes over an array, and whose matrix is cut for several servers."""
    with epl.replicate():
        loss, grads = jax.value_and_grad(lambda p: jnp.mean(((x * SCALES) @ p["w"] - y) ** 2))(params)
    moved, state = ADAM.update(grads, state, params)
    return optax.apply_updates(params, moved), state, loss


def dense(strategy: epl.ParameterServer, step: Any = dense_step) -> Any:
    return epl.parallelize(
        step, state=("params", "state"), batch=("x", "y"), devices="cpu:2", strategy=strategy
    )


def arguments() -> tuple[Any, ...]:
    random = np.random.default_rng(3)
    params = {"w": np.zeros(DIM, np.float32)}
    x = random.normal(size=(8, DIM)).astype(np.float32)
    return params, ADAM.init(params), x, x.sum(1)


def trained(step: Any) -> list[Any]:
    """What three steps give, in another job than before."""
    restart()
    params, state, x, y = arguments()
    losses = []
    for _ in range(3):
        params, state, loss = step(params, state, x, y)
        losses.append(float(loss))
    assert losses[-1] < losses[0]
    return jax.tree.map(np.asarray, jax.tree.leaves((params, state, losses)))


def assert_equal(found: list[Any], expected: list[Any]) -> None:
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("mode", ["sync", "half_async", "async", "dc_asgd", "geo"])
@pytest.mark.usefixtures("own_servers")
def test_a_loaded_step_is_trained_by_servers(
    tmp_path: Path, mode: Any, no_compiler: Callable[[], None]
) -> None:
    lowered = dense(epl.ParameterServer(mode=mode, geo_steps=2)).lower(*arguments())
    compiled = lowered.compile()
    expected = trained(compiled)
    compiled.save(tmp_path / "step.eplan")
    restart()
    no_compiler()
    again = dense(epl.ParameterServer(mode=mode, geo_steps=2)).lower(*arguments())
    loaded = epl.load(tmp_path / "step.eplan", like=again)
    assert_equal(trained(loaded), expected)
    if mode != "geo":  # there workers hold them
        with pytest.raises(epl.ArgumentError, match=r"is held by servers from the first call of"):
            loaded(*arguments())


@pytest.mark.usefixtures("own_servers")
def test_loaded_steps_have_tables(tmp_path: Path, no_compiler: Callable[[], None]) -> None:
    """One trains them, another one looks them up."""

    def look(params: Any, user: Any, ids: Any) -> Any:
        return user.lookup(ids).mean(1) @ params["w"]

    def lowered() -> list[Any]:
        user = table(ADAGRAD)
        evaluates = epl.parallelize(
            look, name="look", devices="cpu:1", batch="ids", strategy=epl.ParameterServer()
        )
        return [
            parallel().lower(first_params(), user, *given[0]),
            evaluates.lower(first_params(), user, given[0][0]),
        ]

    def results(train: Any, evaluate: Any) -> list[Any]:
        restart()
        params, user = first_params(), table(ADAGRAD)
        for batch in given:
            params, user, _ = train(params, user, *batch)
        return [np.asarray(params["w"]), np.asarray(evaluate(params, user, given[0][0]))]

    given = batches(3)
    compiled = [each.compile() for each in lowered()]
    expected = results(*compiled)
    for name, each in zip("ab", compiled, strict=True):
        each.save(tmp_path / name)
    no_compiler()
    loaded = [epl.load(tmp_path / name, like=like) for name, like in zip("ab", lowered(), strict=True)]
    assert_equal(results(*loaded), expected)


def test_jobs_load_what_another_one_has_saved(tmp_path: Path) -> None:
    digests = set()
    for does in ("save", "load", "neither"):
        done = run(2, 2, "plans", str(tmp_path), does, program=PROGRAM)
        assert done.returncode == 0, said(done)
        found = re.findall(rf"worker \d {does}: (\w+)", done.stdout)
        assert len(found) == 2, said(done)
        digests |= set(found)
    assert len(digests) == 1
    done = run(1, 1, "plans", str(tmp_path), "load", program=PROGRAM)
    assert done.returncode == 1, said(done)
    assert re.search(r"for other servers than .* expected --servers=1 .*, found --servers=2 ", said(done))


def test_what_is_no_saved_step_with_servers(tmp_path: Path) -> None:
    sync, geo = epl.ParameterServer(), epl.ParameterServer(mode="geo")
    path, beside = tmp_path / "step.eplan", tmp_path / "step.eplan.servers"

    def lower(strategy: Any, step: Any = dense_step) -> Any:
        return dense(strategy, step).lower(*arguments())

    lower(geo).compile().save(path)
    with pytest.raises(
        epl.Error, match=r"is what a worker does of a step that .*load it with like=, the low"
    ):
        epl.load(path)
    with pytest.raises(
        epl.Error, match=r'for other servers than dense_step has here: .*found mode "geo" --se'
    ):
        epl.load(path, like=lower(sync))
    lower(sync).compile().save(path)
    with pytest.raises(
        epl.Error, match=r"is what a worker does of a step that .*load it with like=, the low"
    ):
        epl.load(path)
    with pytest.raises(
        epl.Error, match="expected --servers=1 --min-block-size=2, found --servers=1 --min-bl"
    ):
        epl.load(path, like=lower(epl.ParameterServer(min_block_size=2)))

    def other(params: Any, state: Any, x: Any, y: Any) -> Any:
        return *dense_step(params, state, x, y), x.sum()

    with pytest.raises(epl.Error, match=r"the plan is not one of other: expected results .* found"):
        epl.load(path, like=lower(sync, other))
    user, (ids, y) = table(), batches(1)[0]
    with pytest.raises(
        epl.Error, match=r"the plan is not one of step: expected arguments .*table user.*, fou"
    ):
        epl.load(path, like=parallel().lower(first_params(), user, ids, y))
    content = beside.read_bytes()
    for damaged in (b"", content[:40], content[:-1], content[:-1] + bytes([content[-1] ^ 1])):
        beside.write_bytes(damaged)
        with pytest.raises(epl.Error, match=r"step.eplan.servers\" does not hold .*: it is damaged"):
            epl.load(path, like=lower(sync))
    beside.unlink()
    with pytest.raises(epl.Error, match=r'step.eplan.servers" does not hold what servers have of "'):
        epl.load(path, like=lower(sync))
    beside.write_bytes(content)
    plain = epl.parallelize(dense_step, state=("params", "state"), batch=("x", "y"), devices="cpu:2")
    plain.lower(*arguments()).compile().save(path)  # beside the file of the plan before
    epl.load(path)
    with pytest.raises(epl.Error, match=r'step.eplan.servers" does not hold what servers have of "'):
        epl.load(path, like=lower(sync))
