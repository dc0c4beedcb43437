"""Parameter servers as users have them: a script in several processes, started by `epl-launch`."""

from __future__ import annotations

import itertools
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import epl
import mpi
from epl.servers.compiling import compile_server, options_of, server_level
from epl.servers.geo import exchange
from epl.servers.job import Job
from epl.servers.serving import thread_options
from over_processes.launching import environment_of
from server_runs import PROGRAM, alone, free_port, run, said

MERGES = str(Path(__file__).with_name("served_merges.py"))


@pytest.mark.parametrize(
    ("servers", "workers", "slices"),
    list(itertools.product((1, 2, 3), (1, 2, 4), ("blocks", "rows", "whole"))),
)
def test_sync_has_the_bits_of_one_device(servers: int, workers: int, slices: str) -> None:
    done = run(servers, workers, "train_exactly", str(servers), slices)
    assert done.returncode == 0, said(done)
    for worker in range(workers):
        text = f"worker {worker} of {workers} with {servers} servers has the bits of one device"
        assert text in done.stdout, said(done)


@pytest.mark.parametrize(("servers", "workers"), [(1, 1), (2, 2), (3, 4)])
def test_adam_in_sync_is_that_of_one_device(servers: int, workers: int) -> None:
    """Within 1e-5 after 100 steps."""
    done = run(servers, workers, "regress", "sync")
    assert done.returncode == 0, said(done)
    assert done.stdout.count("has what one device has") == workers, said(done)


@pytest.mark.parametrize(
    ("which", "workers"),
    [("adam", 1), ("adam", 2), ("novograd", 1), ("novograd", 2), ("decayed", 1), ("average", 2)],
)
def test_updates_read_more_than_a_gradient(which: str, workers: int) -> None:
    done = run(2, workers, "rate", which)
    assert done.returncode == 0, said(done)
    assert done.stdout.count("has what one device has") == workers, said(done)


def test_what_servers_have_copies_of_stays_as_it_was() -> None:
    done = alone("retune")
    assert done.returncode == 0, said(done)
    assert "ArgumentError: \"opt_state.hyperparams['b1']\" is held by servers from the first" in done.stdout


@pytest.mark.parametrize("mode", ["async", "dc_asgd"])
def test_rates_are_pushed_without_sync(mode: str) -> None:
    done = run(2, 2, "rate", "adam", mode)
    assert done.returncode == 0, said(done)
    assert done.stdout.count("has trained") == 2, said(done)


@pytest.mark.parametrize(("servers", "workers"), [(1, 1), (2, 2), (3, 2)])
def test_tables_in_sync_are_embeddings_of_one_device(servers: int, workers: int) -> None:
    done = run(servers, workers, "tables")
    assert done.returncode == 0, said(done)
    assert done.stdout.count("has the rows of one device") == workers, said(done)


@pytest.mark.parametrize("mode", ["half_async", "async"])
def test_tables_are_trained_without_sync(mode: str) -> None:
    done = run(2, 2, "tables", mode)
    assert done.returncode == 0, said(done)
    assert done.stdout.count("has trained a table") == 2, said(done)


@pytest.mark.parametrize("mode", ["half_async", "async", "dc_asgd", "geo"])
def test_losses_fall_without_sync(mode: str) -> None:
    done = run(2, 2, "regress", mode)
    assert done.returncode == 0, said(done)
    losses = [line.split(": ")[-1].split(" to ") for line in done.stdout.splitlines() if " to " in line]
    assert len(losses) == 2, said(done)
    for first, last in losses:
        assert float(last) < 0.5 * float(first)


@pytest.mark.parametrize(
    ("options", "moment"),
    [
        ({"max_merge": 2}, 537),  # 64, 1, 2 + 4 and 9: a moment is twice the one before, and the gradient
        ({"max_merge": 2, "merge": "mean"}, 531),
        ({"merge": "mean"}, 263),
        ({}, 273),  # 64, 1 and 2 + 4 + 9
    ],
)
def test_gradients_that_wait_merge_as_the_strategy_says(options: dict[str, Any], moment: int) -> None:
    done = run(1, 1, json.dumps(options), str(moment), program=MERGES)
    assert done.returncode == 0, said(done)
    assert f"the moment is {moment}\n" in done.stdout, said(done)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_geo_of_one_worker_is_one_device(dtype: str) -> None:
    done = run(2, 1, "geo", dtype)
    assert done.returncode == 0, said(done)
    assert "worker 0 has the bits of one device" in done.stdout, said(done)


def test_geo_exchanges_differences() -> None:
    sent: list[Any] = []

    def swap(moved: Any) -> Any:
        sent.extend(moved)
        return [np.float32([2.0])]  # 1, what the worker had, and its difference

    one = [np.float32([1.0])]
    assert exchange([np.float32([3.0])], one, 2, swap) == [3.0]
    assert sent == [1.0]
    assert exchange([np.float32([3.0])], one, 2, lambda moved: [np.float32([7.0])]) == [8.0]


def test_checkpoints_belong_to_no_number_of_servers(tmp_path: Path) -> None:
    def state(done: subprocess.CompletedProcess[str]) -> str:
        assert done.returncode == 0, said(done)
        found = re.search(r"at \d+: \[.*\]", done.stdout)
        assert found is not None, said(done)
        return found[0]

    straight = state(run(2, 2, "resume", str(tmp_path / "straight"), "0", "6"))
    first = state(run(2, 2, "resume", str(tmp_path / "parts"), "0", "3"))
    assert state(alone("restore", str(tmp_path / "parts"))) == first
    assert state(run(3, 2, "resume", str(tmp_path / "parts"), "3", "6")) == straight


def test_delay_is_compensated(tmp_path: Path) -> None:
    """Case 69 of Paddle's: w = 1, the gradient's worker had 1.5, g = 2: nothing is left of it."""

    def step(w: Any, x: Any) -> Any:
        with epl.replicate():
            gradient = jax.grad(lambda w: jnp.mean(x @ w))(w)
        return w - 0.25 * gradient

    lowered = epl.parallelize(
        step, state="w", batch="x", devices="cpu:1", strategy=epl.ParameterServer(mode="dc_asgd")
    ).lower(np.ones(2, np.float32), np.ones((4, 2), np.float32))
    cut = options_of(lowered.strategy, 1, has_tables=False)
    plans = compile_server(lowered.program.text, "step", cut, ["apply0"], server_level())
    (tmp_path / "apply.eplan").write_bytes(plans["apply0"])
    apply = epl.load(tmp_path / "apply.eplan", devices="cpu:1")
    w, gradient, backup = (np.float32(each) for each in ([1, 1], [2, 2], [1.5, 1]))
    np.testing.assert_array_equal(np.asarray(apply(w, gradient, backup)[0]), np.float32([1, 0.5]))


def test_a_step_overlaps_with_what_it_pulls_and_pushes(tmp_path: Path) -> None:
    done = run(2, 2, "overlap", str(tmp_path))
    assert done.returncode == 0, said(done)
    lines = done.stdout
    pulls = ["pulled params['w0']", "pulled params['w1']", "pulled params['w2']"]
    assert f"pulls {pulls}" in lines, said(done)
    pushes = [f"pushed for params['w{i}']" for i in (2, 1, 0)]
    assert f"pushes {pushes}" in lines, said(done)
    assert "computed before a pull had come: True" in lines, said(done)
    assert "pushed before the last command: True" in lines, said(done)


def test_a_process_alone_has_its_server_in_it() -> None:
    done = alone("train_exactly", "0")
    assert done.returncode == 0, said(done)
    assert "worker 0 of 1" in done.stdout


@pytest.mark.parametrize(
    ("how", "who", "expected"),
    [
        ("SIGKILL", "1", "worker 1 has been silent for 3 s"),
        ("SIGSTOP", "1", "worker 1 has been silent for 3 s"),
        ("SIGKILL", "0", "worker 0 has been silent for 3 s"),
        ("SIGSTOP", "0", "worker 0 has been silent for 3 s"),
        ("SIGKILL", "server 1", r"server 1 \(127.0.0.1:\d+\) has (been silent|lost the connection)"),
        ("SIGSTOP", "server 0", r"server 0 \(127.0.0.1:\d+\) has been silent for 3 s"),
        ("raise", "1", "worker 1 has failed: ValueError: the data are bad"),
        ("exit", "1", "worker 1 has failed: SystemExit: 3"),
    ],
)
def test_who_is_lost_ends_sync_with_its_name(how: str, who: str, expected: str) -> None:
    begin = time.monotonic()
    with mpi.start_launcher("--servers", "2", "--workers", "2", PROGRAM, "fail", how, who) as child:
        try:
            assert child.stdout is not None
            assert child.stderr is not None
            errors = ""
            for line in child.stderr:
                errors += line
                if "ProcessError: " in line:
                    break
            assert re.search(expected, errors), errors
        finally:
            child.terminate()
            child.wait()
    assert time.monotonic() - begin < mpi.SECONDS


def test_others_go_on_in_async() -> None:
    done = run(2, 2, "fail", "SIGKILL", "1", "async", "60")
    assert done.returncode == 137, said(done)
    assert "worker 0: " in done.stdout
    assert " to " in done.stdout, said(done)


def test_workers_that_differ_are_told() -> None:
    done = run(1, 2, "differ")
    assert done.returncode != 0
    kinds = r"""the type of "params\['[bw]'\]" is .*20\], expected .*24\]"""
    expected = f"worker 1 has another job than worker 0: {kinds}; do all run the same script"
    for line in ("worker 1: ", "worker 0: "):
        assert re.search(f"{line}.*{expected}", said(done)), said(done)


def test_a_step_without_gradients_has_nothing_for_servers() -> None:
    done = alone("keep")
    assert "updates no state by work that applies gradients" in done.stderr, said(done)


def test_states_on_servers_are_those_that_a_step_returned() -> None:
    done = alone("misuse")
    assert done.returncode == 0, said(done)
    lines = done.stdout.splitlines()
    assert lines[0].startswith("ArgumentError: \"params['b']\" is held by servers"), said(done)
    assert lines[1].startswith("DonatedError: state \"params['b']\" was donated by step 1"), said(done)
    assert lines[2].startswith("epl.Array(float32[24], donated)"), said(done)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"mode": "bsp"}, 'mode of epl.ParameterServer must be one of "sync"'),
        ({"on_lost": "wait"}, 'on_lost of epl.ParameterServer must be one of "end", "continue"'),
        ({"on_lost": "continue", "mode": "async"}, 'is of mode "sync"'),
        ({"min_block_size": 0}, "min_block_size of epl.ParameterServer must be an integer of at least 1"),
        ({"geo_steps": True}, "geo_steps of epl.ParameterServer must be an integer of at least 1"),
        ({"slice_up": 1}, "slice_up of epl.ParameterServer must be True or False"),
        ({"check_finite": None}, "check_finite of epl.ParameterServer must be True or False, found None"),
        ({"max_merge": 0}, "max_merge of epl.ParameterServer must be an integer of at least 1, found 0"),
        ({"max_merge": 2.0}, "max_merge of epl.ParameterServer must be an integer of at least 1, found 2.0"),
        ({"merge": "max"}, """merge of epl.ParameterServer must be one of "sum", "mean", found 'max'"""),
        ({"dispatch": "random"}, 'dispatch of epl.ParameterServer must be one of "round_robin", "hash"'),
    ],
)
def test_a_strategy_says_what_is_wrong(options: dict[str, Any], expected: str) -> None:
    with pytest.raises(epl.ArgumentError) as raised:
        epl.ParameterServer(**options)
    assert expected in str(raised.value)


def roles(names: list[str]) -> Any:
    """Parameters of 10 elements each in two blocks, without states."""
    argument = {"shape": [10], "type": "f32", "sliced": True}
    blocks = [{"offset": 0, "size": 5, "rows": 5}, {"offset": 5, "size": 5, "rows": 5}]
    return {
        "worker": {"arguments": []},
        "programs": ["apply0"],
        "groups": [
            {
                "name": name,
                "parameter": number,
                "arguments": [
                    {"kind": "parameter", "argument": number, "name": name, **argument},
                    {"kind": "push", "push": number, **argument},
                ],
                "blocks": [
                    {"name": f"{name}.block{i}", "program": "apply0", **block}
                    for i, block in enumerate(blocks)
                ],
            }
            for number, name in enumerate(names)
        ],
    }


def test_a_dispatch_of_the_users_names_servers() -> None:
    seen = []

    def dispatch(names: Any) -> list[int]:
        seen.append(list(names))
        return [2, 0]

    Job(roles(["a", "b"]), epl.ParameterServer(dispatch=dispatch), 3, 1, {"apply0": b"plan"})
    assert seen == [["a.block0", "a.block1"], ["b.block0", "b.block1"]]


@pytest.mark.parametrize(
    ("dispatch", "expected"),
    [
        (lambda names: None, "None"),
        (lambda names: 1, "1"),
        (lambda names: [0], "[0]"),
        (lambda names: [0, 1, 0], "[0, 1, 0]"),
        (lambda names: (0, 2), "[0, 2]"),
        (lambda names: [-1, 0], "[-1, 0]"),
        (lambda names: [0.0, True], "[0.0, True]"),
        (lambda names: names, "['a.block0', 'a.block1']"),
    ],
)
def test_a_dispatch_gives_a_server_for_each_block(dispatch: Any, expected: str) -> None:
    with pytest.raises(epl.ArgumentError) as raised:
        Job(roles(["a"]), epl.ParameterServer(dispatch=dispatch), 2, 1, {"apply0": b"plan"})
    start = "dispatch of epl.ParameterServer must give a server of 0 to 1 for each block of "
    assert str(raised.value) == f"{start}['a.block0', 'a.block1'], found {expected}"


@pytest.mark.parametrize("dispatch", [lambda names: {}[names[0]], lambda names: ({}[name] for name in names)])
def test_a_dispatch_that_raises_is_named(dispatch: Any) -> None:
    with pytest.raises(epl.ArgumentError, match=r"dispatch of .* has raised KeyError: 'a.block0'"):
        Job(roles(["a"]), epl.ParameterServer(dispatch=dispatch), 2, 1, {"apply0": b"plan"})


def test_jobs_that_differ_say_in_what() -> None:
    def job(names: list[str], **options: Any) -> Job:
        return Job(roles(names), epl.ParameterServer(**options), 2, 2, {"apply0": b"plan"})

    held = job(["a", "b"])
    assert job(["a", "c"]).difference(held) == 'parameter "c" is not among them'
    assert job(["a"]).difference(held) == 'parameter "b" is not in this step'
    assert "a setting of epl.ParameterServer" in job(["a", "b"], mode="async").difference(held)
    wider = roles(["a"])
    for argument in wider["groups"][0]["arguments"]:
        argument["type"] = "f64"
    found = Job(wider, epl.ParameterServer(), 2, 2, {"apply0": b"plan"})
    assert found.difference(job(["a"])) == 'parameter "a" is float64[10], expected float32[10]'


def test_servers_apply_what_has_an_average() -> None:
    found = roles(["a"])
    found["groups"][0]["arguments"].append(
        {"kind": "push", "push": 1, "shape": [], "type": "i32", "sliced": False}
    )
    Job(found, epl.ParameterServer(), 2, 1, {"apply0": b"plan"})
    Job(found, epl.ParameterServer(mode="async"), 2, 2, {"apply0": b"plan"})
    with pytest.raises(epl.UnsupportedError, match=r'"a" reads int32\[\] .* the average over 2 workers'):
        Job(found, epl.ParameterServer(), 2, 2, {"apply0": b"plan"})
    with pytest.raises(epl.UnsupportedError, match=r'"dc_asgd" compensates a gradient float32\[10\]'):
        Job(found, epl.ParameterServer(mode="dc_asgd"), 2, 1, {"apply0": b"plan"})


def test_equal_settings_make_equal_jobs() -> None:
    def job(**options: Any) -> str:
        return Job(roles(["a", "b"]), epl.ParameterServer(**options), 2, 2, {"apply0": b"plan"}).job.hash

    assert job() == job()
    assert job() != job(dispatch="hash") != job(mode="async")


def test_threads_of_a_server_are_those_that_fluid_says() -> None:
    assert thread_options({}) == []
    send, get = "FLAGS_rpc_send_thread_num", "FLAGS_rpc_get_thread_num"
    assert thread_options({send: "3", get: "12"}) == ["--stream-threads", "12"]
    fetch, cores = "FLAGS_rpc_prefetch_thread_num", len(os.sched_getaffinity(0))
    assert thread_options({fetch: "1"}) == ["--threads", "1"]
    assert thread_options({get: "2", fetch: "1024"}) == ["--stream-threads", "2", "--threads", str(cores)]
    for name in (get, fetch):
        with pytest.raises(epl.ConfigError, match=rf'{name} .* of 1 to 1024, found "0"'):
            thread_options({name: "0"})


def test_a_script_becomes_a_server_where_the_environment_says_so(tmp_path: Path) -> None:
    environment = environment_of(
        PYTHONPATH=os.pathsep.join(sys.path),
        TRAINING_ROLE="PSERVER",
        PADDLE_PSERVERS_IP_PORT_LIST="127.0.0.1:1,127.0.0.1:0x",
        PADDLE_TRAINERS_NUM="1",
        POD_IP="127.0.0.1",
        PADDLE_PORT="1",
    )
    program = mpi.write(tmp_path / "train.py", "import epl\nepl.init('cpu:1')\nprint('came back')\n")
    command = [sys.executable, str(program)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert 'must have addresses host:port, found "127.0.0.1:0x"' in done.stderr
    port = str(free_port())
    environment["PADDLE_PSERVERS_IP_PORT_LIST"] = f"127.0.0.1:{port}"
    environment["PADDLE_PORT"] = port
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        try:
            assert child.stdout.readline() == f"server 0 listens at 127.0.0.1:{port}\n"
        finally:
            child.terminate()
    assert child.returncode == 1
