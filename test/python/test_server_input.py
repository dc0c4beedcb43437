"""What people give that is wrong: gradients that are not finite, settings, addresses."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import epl
import mpi
from epl import runtime
from over_processes.launching import environment_of
from server_runs import run, said
from table_steps import DIM, IDS, batches, descend, first_params, rows_of, squares, table

TOGETHER = __file__.replace("test_server_input", "served_together")
OWN_SERVERS = pytest.mark.usefixtures("own_servers")


def checking(**options: Any) -> epl.ParameterServer:
    return epl.ParameterServer(check_finite=True, min_block_size=4, **options)


def weighed(strategy: epl.ParameterServer, devices: str = "cpu:1") -> Any:
    """A step whose gradients are multiplied: those of `w` by `of_w`, those of rows by `of_rows`."""

    def step(params: Any, user: Any, ids: Any, y: Any, of_w: Any, of_rows: Any) -> Any:
        def loss_fn(params: Any, user: Any) -> Any:
            return squares(params, user, ids, y).mean()

        loss, (grads, rows) = jax.value_and_grad(loss_fn, argnums=(0, 1))(params, user)
        grads = {"w": grads["w"] * of_w}
        rows = jax.tree.map(lambda row: row * of_rows[:, None, None], rows)
        return descend(params, grads), user.update(rows), loss

    names = {"state": ("params", "user"), "batch": ("ids", "y", "of_rows")}
    return epl.parallelize(step, devices=devices, strategy=strategy, **names)


@OWN_SERVERS
@pytest.mark.parametrize("mode", ["sync", "async"])
def test_a_gradient_that_is_not_finite_changes_nothing(mode: Any) -> None:
    """Neither dense parameters nor rows, whichever has it; and the worker may go on."""
    step, (ids, y) = weighed(checking(mode=mode)), batches(1)[0]
    w, rows = np.ones(DIM, np.float32), np.ones(8, np.float32)
    params, user, _ = step(first_params(), table(), ids, y, w, rows)
    before = np.asarray(params["w"]), rows_of(user, np.arange(IDS))
    bad_w, bad_rows = w.copy(), rows.copy()
    bad_w[2], bad_rows[5] = np.nan, -np.inf
    for given, expected in [
        ((bad_w, rows), r"""step 1 of worker 0: what is pushed for "params\['w'\]" is nan at \[2\], exp"""),
        ((w, bad_rows), rf'step 1 of worker 0: .* for id {ids[5, 0]} of table "user" is -?inf at \[0\], exp'),
        ((bad_w, bad_rows), r"""for "params\['w'\]" is nan"""),
    ]:
        with pytest.raises(epl.StepError, match=expected) as raised:
            step(params, user, ids, y, *given)
        np.testing.assert_array_equal(params["w"], before[0])
        np.testing.assert_array_equal(raised.value.results[0]["w"], before[0])
        np.testing.assert_array_equal(rows_of(user, np.arange(IDS)), before[1])
    params, user, _ = step(params, user, ids, y, w, rows)
    assert (np.asarray(params["w"]) != before[0]).all()
    assert np.isfinite(rows_of(user, np.arange(IDS))).all()


@OWN_SERVERS
def test_what_is_not_finite_is_taken_unless_somebody_asks() -> None:
    step, (ids, y) = weighed(epl.ParameterServer(min_block_size=4)), batches(1)[0]
    bad = np.full(DIM, np.nan, np.float32)
    params, _, _ = step(first_params(), table(), ids, y, bad, np.ones(8, np.float32))
    assert np.isnan(params["w"]).all()


@OWN_SERVERS
def test_steps_of_a_process_merge_in_one_way() -> None:
    given = (*batches(1)[0], np.ones(DIM, np.float32), np.ones(8, np.float32))
    weighed(checking(mode="async"))(first_params(), table(), *given)
    step = weighed(checking(mode="async", merge="mean"))
    with pytest.raises(epl.ArgumentError, match=r"merge and max_merge .*\('sum', 20\), found \('mean', 20\)"):
        step(first_params(), table(), *given)


@OWN_SERVERS
def test_differences_of_geo_are_finite() -> None:
    def step(params: Any, x: Any) -> Any:
        loss, grads = jax.value_and_grad(lambda p: jnp.mean(jnp.tanh(x @ p["w"])))(params)
        return descend(params, grads), loss

    strategy = checking(mode="geo", geo_steps=2)
    made = epl.parallelize(step, devices="cpu:1", state="params", batch="x", strategy=strategy)
    x = np.ones((4, DIM), np.float32)
    params, _ = made(first_params(), x)
    with pytest.raises(epl.StepError, match=r"""worker 0: what is pushed for "params\['w'\]" is nan at"""):
        made(params, np.full_like(x, np.nan))


@pytest.mark.parametrize("mode", ["sync", "half_async"])
def test_a_worker_skips_a_batch_that_has_a_nan(mode: str) -> None:
    done = run(2, 2, "poison", mode, "skip", program=TOGETHER)
    assert done.returncode == 0, said(done)
    assert done.stdout.count("has trained") == 2, said(done)
    expected = r"worker 1 skips: step 3 of worker 1: what is pushed for \"params\['b'\]\" is nan at \[0\]"
    assert re.search(expected, done.stdout), said(done)


def test_a_nan_that_nobody_catches_ends_all_with_its_reason() -> None:
    done = run(2, 2, "poison", "sync", "raise", program=TOGETHER)
    assert done.returncode != 0
    assert "has trained" not in done.stdout, said(done)
    assert re.search(r"StepError: step \d of worker 1: what is pushed", done.stderr), said(done)
    assert re.search(r"ProcessError: .*worker 1.*what is pushed for", done.stderr), said(done)


@OWN_SERVERS
@pytest.mark.parametrize(("key", "value"), [("zero.level", "v1"), ("zero.owner", "parameter")])
def test_states_on_servers_are_not_dealt_out_among_devices(key: str, value: str) -> None:
    step = epl.parallelize(
        lambda w, x: w - 0.1 * jax.grad(lambda w: jnp.sum(x @ w))(w),
        name="step",
        devices="cpu:2",
        state="w",
        batch="x",
        strategy=epl.ParameterServer(),
        config=epl.Config({key: value}),
    )
    with pytest.raises(epl.ConfigError, match=rf"{key} is .*, which deals .* and servers hold those of step"):
        step(np.ones(4, np.float32), np.ones((8, 4), np.float32))


def test_a_port_that_is_taken() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        command = [str(runtime.program("epl-server")), "--listen", address]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=mpi.SECONDS)
    assert done.returncode == 1, said(done)
    assert f"cannot listen at {address}: the port is taken by another program" in done.stderr, said(done)


@pytest.mark.parametrize("count", ["0", "-1", "two"])
def test_there_is_a_server_at_least(count: str) -> None:
    command = [sys.executable, str(mpi.LAUNCHER), "--workers", "2", "--servers", count, TOGETHER]
    done = subprocess.run(
        command, env=environment_of(), capture_output=True, text=True, check=False, timeout=mpi.SECONDS
    )
    assert done.returncode == 2, said(done)
    assert f"argument --servers: must be a number of at least 1, found {count}" in done.stderr, said(done)


def test_processes_that_a_machine_has_no_room_for() -> None:
    """Sockets are files, of which a process may have so many."""
    command = ["bash", "-c", 'ulimit -n 60; exec "$@"', "bash", sys.executable, str(mpi.LAUNCHER)]
    for servers, expected in [(400, r"server \d+ has no port"), (40, r"(server|worker) \d+ is not started")]:
        done = subprocess.run(
            [*command, "--workers", "1", "--servers", str(servers), TOGETHER],
            env=environment_of(), capture_output=True, text=True, check=False, timeout=mpi.SECONDS,
        )  # fmt: skip
        assert done.returncode == 1, said(done)
        start = f"epl-launch: cannot start all processes of --servers {servers} --num_workers 1: "
        assert re.fullmatch(f"{start}{expected}: Too many open files\n", done.stderr), said(done)


@pytest.mark.parametrize("address", ["nowhere", "127.0.0.1:", "127.0.0.1:99999", ":1", "10.0.0:80", "a b:1"])
def test_addresses_of_a_server_are_checked(address: str) -> None:
    command = [str(runtime.program("epl-server")), "--listen", address]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=mpi.SECONDS)
    assert done.returncode == 1, said(done)
    assert f'the address "{address}": expected ' in done.stderr, said(done)
