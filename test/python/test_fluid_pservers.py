"""Fluid's pserver mode: the guide in processes, the blocks of its servers, and what it refuses."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("paddle")

import epl
import mpi
from epl import fluid
from epl.fluid import pservers
from epl.fluid.dispatchers import Block
from epl.fluid.transpiler import HashName, PSDispatcher, RoundRobin
from epl.processes import group
from epl.servers import roles
from over_processes.launching import environment_of

PROGRAM = str(Path(__file__).with_name("fluid_served.py"))
ENDPOINTS = "127.0.0.1:6174,127.0.0.1:6175"


@pytest.fixture(autouse=True)
def _joins_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """What transpile says of this process is of one test."""
    monkeypatch.setattr(group, "_alone", False)
    monkeypatch.setattr(roles, "_assigned", None)


def free_endpoints(count: int) -> str:
    """Addresses of this machine."""
    probes = [socket.socket() for _ in range(count)]
    for probe in probes:
        probe.bind(("127.0.0.1", 0))
    ports = [probe.getsockname()[1] for probe in probes]
    for probe in probes:
        probe.close()
    return ",".join(f"127.0.0.1:{port}" for port in ports)


def start(
    folder: Path,
    name: str,
    role: dict[str, str],
    *arguments: str,
    program: str = "guide",
    script: str = PROGRAM,
) -> subprocess.Popen[str]:
    """A process of the guide, or of another program, whose output is a file of this name."""
    environment = environment_of(
        PYTHONPATH=os.pathsep.join(sys.path), EPL_CACHE_DIR=str(folder / "plans"), **role
    )
    command = [sys.executable, script, program, str(folder), *arguments]
    with (folder / name).open("w") as output:
        return subprocess.Popen(command, env=environment, stdout=output, stderr=output, text=True)


def wait(children: Sequence[subprocess.Popen[str]]) -> list[int | None]:
    """The exit codes of processes, of which none outlives one that fails."""
    end = time.monotonic() + mpi.SECONDS
    try:
        while True:
            codes = [child.poll() for child in children]
            if any(codes) or None not in codes or time.monotonic() > end:
                return codes
            time.sleep(0.05)
    finally:
        for child in children:
            child.kill()
            child.wait()


def run(
    folder: Path,
    servers: int,
    trainers: int,
    *arguments: str,
    program: str = "guide",
    script: str = PROGRAM,
) -> list[str]:
    """What the processes of the guide, or of another program, print, servers first; all end well."""
    endpoints = free_endpoints(servers)
    common = {"PADDLE_PSERVER_IPS": endpoints, "PADDLE_TRAINERS": str(trainers)}
    roles = {
        f"server {number}": {"PADDLE_TRAINING_ROLE": "PSERVER", "PADDLE_CURRENT_ENDPOINT": endpoint}
        for number, endpoint in enumerate(endpoints.split(","))
    }
    roles |= {
        f"trainer {trainer}": {"PADDLE_TRAINING_ROLE": "TRAINER", "PADDLE_TRAINER_ID": str(trainer)}
        for trainer in range(trainers)
    }
    codes = wait(
        [
            start(folder, name, {**common, **role}, *arguments, program=program, script=script)
            for name, role in roles.items()
        ]
    )
    said = [(folder / name).read_text() for name in roles]
    assert codes == [0] * len(roles), "\n".join(said)
    return said


def load(file: Path) -> dict[str, Any]:
    with np.load(file) as arrays:
        return dict(arrays)


@pytest.mark.parametrize(
    ("optimizer", "devices"), [("Momentum", "1"), ("decayed", "1"), ("Momentum", "2"), ("Momentum", "2 old")]
)
def test_two_trainers_in_sync_are_one_process_on_the_joined_batch(
    tmp_path: Path, optimizer: str, devices: str
) -> None:
    """Case 67 of Paddle's; parameters and their states as well, which trainer 0 fetches.

    With the rates of cases 57 and 58, and the decay of case 59. Also with several devices of each trainer, by
    a `CompiledProgram` or a `ParallelExecutor` ("old").
    """
    said = run(tmp_path, 2, 2, "sync", optimizer, "closes", *devices.split())
    for number, text in enumerate(said[:2]):
        assert f"server {number} listens at 127.0.0.1:" in text
        assert "came back" not in text
    for trainer, text in enumerate(said[2:]):
        assert f"trainer {trainer}: the executor is closed" in text
        assert "hidden_w.block1 [32, 320] on 127.0.0.1:" in text
    environment = environment_of(PYTHONPATH=os.pathsep.join(sys.path))
    subprocess.run(
        [sys.executable, PROGRAM, "local", str(tmp_path), "2", optimizer], env=environment, check=True
    )
    whole, first, second = (load(tmp_path / f"{name}.npz") for name in ("local", "0", "1"))
    mean = (first.pop("losses") + second["losses"]) / 2
    np.testing.assert_allclose(mean, whole.pop("losses")[:-1], rtol=1e-5)
    if optimizer == "Momentum":  # lower rates do not get far in ten steps
        assert mean[-1] < mean[0]
    tested = whole.pop("tested")
    # A trainer's next gradients are awaited, so that it reads what all steps so far have made, and no more.
    np.testing.assert_allclose(first.pop("tested"), tested[:-1], rtol=1e-4)
    np.testing.assert_array_equal(second["hidden_w"], first["hidden_w"])
    assert first.keys() == whole.keys()
    assert "hidden_w" in first
    assert any("velocity" in name for name in first)
    for name, value in whole.items():
        np.testing.assert_allclose(first[name], value, rtol=1e-4, atol=1e-6, err_msg=name)


def test_trainers_go_on_from_saved_variables(tmp_path: Path) -> None:
    """With another number of servers, and the optimizer's states and counts."""
    for folder, parts in {"whole": [(2, 0, 6)], "parts": [(1, 0, 3), (2, 3, 6)]}.items():
        (tmp_path / folder).mkdir()
        for servers, first, end in parts:
            run(tmp_path / folder, servers, 2, str(first), str(end), program="resume")
    whole, parts_of = load(tmp_path / "whole" / "at 6.npz"), load(tmp_path / "parts" / "at 6.npz")
    assert parts_of.keys() == whole.keys()
    for name, value in whole.items():
        np.testing.assert_allclose(parts_of[name], value, rtol=1e-6, atol=1e-7, err_msg=name)
    assert any(np.any(value != load(tmp_path / "parts" / "at 3.npz")[name]) for name, value in whole.items())


@pytest.mark.parametrize(
    ("mode", "optimizer"), [("async", "SGD"), ("half_async", "Adam"), ("dc_asgd", "SGD"), ("geo", "Momentum")]
)
def test_losses_fall_without_sync(tmp_path: Path, mode: str, optimizer: str) -> None:
    run(tmp_path, 2, 2, mode, optimizer, "ends")
    for trainer in range(2):
        losses = load(tmp_path / f"{trainer}.npz")["losses"]
        assert losses[-1] < 0.9 * losses[0]


def test_no_server_is_awaited_longer_than_the_deadline(tmp_path: Path) -> None:
    endpoint = free_endpoints(1)
    role = {"PADDLE_PSERVER_IPS": endpoint, "PADDLE_TRAINERS": "1", "FLAGS_rpc_deadline": "300"}
    child = start(tmp_path, "said", {**role, "PADDLE_TRAINING_ROLE": "TRAINER"}, "sync")
    assert wait([child]) == [1]
    expected = f"ProcessError: server 0 ({endpoint}) does not listen after 300 ms (FLAGS_rpc_deadline)"
    assert expected in (tmp_path / "said").read_text()


@pytest.fixture
def program() -> Iterator[Any]:
    """Fluid's 1000 x 1000 layer, with SGD, as the default program; its loss."""
    with fluid.program_guard(fluid.Program(), fluid.Program()), fluid.unique_name.guard():
        x, y = fluid.layers.data("x", [1000]), fluid.layers.data("y", [1000])
        weight, bias = fluid.ParamAttr("fc_w"), fluid.ParamAttr("fc_b")
        made = fluid.layers.fc(x, 1000, param_attr=weight, bias_attr=bias)
        yield fluid.layers.mean(fluid.layers.square_error_cost(made, y))


def transpiled(minimizes: Any = None, **fields: Any) -> Any:
    """A transpiler of the default program, for two servers and two trainers."""
    config = fluid.DistributeTranspilerConfig()
    for name, value in fields.items():
        setattr(config, name, value)
    if minimizes is not None:
        fluid.optimizer.SGD(0.1).minimize(minimizes)
    made = fluid.DistributeTranspiler(config)
    made.transpile(0, pservers=ENDPOINTS, trainers=2, sync_mode=config.sync_mode)
    return made


def shapes(program: Any) -> dict[str, list[int]]:
    return {each.name: list(each.shape) for each in program.list_vars() if not each.name.startswith("learn")}


def blocks(made: Any) -> list[dict[str, list[int]]]:
    """What each server has."""
    return [shapes(made.get_pserver_program(endpoint)) for endpoint in ENDPOINTS.split(",")]


def test_blocks_are_those_of_paddle(program: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """Cases 55 and 66, and the answers of Paddle 2.6.2."""
    made = transpiled(program, print_log=True)
    assert blocks(made) == [{"fc_b": [1000], "fc_w.block1": [500, 1000]}, {"fc_w.block0": [500, 1000]}]
    assert capsys.readouterr().out.splitlines() == [
        "fc_b [1000] on 127.0.0.1:6174",
        "fc_w.block0 [500, 1000] on 127.0.0.1:6175",
        "fc_w.block1 [500, 1000] on 127.0.0.1:6174",
    ]
    main = fluid.default_main_program()
    assert made.get_trainer_program(wait_port=False) is main
    assert (main._is_distributed, main._is_chief, main._endpoints) == (True, True, ENDPOINTS.split(","))
    server, startup = made.get_pserver_programs("127.0.0.1:6175")
    assert shapes(server) == shapes(startup) == {"fc_w.block0": [500, 1000]}
    assert fluid.Executor().run(startup) == []


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"min_block_size": 1048576}, [{"fc_b"}, {"fc_w"}]),  # case 56
        ({"slice_var_up": False}, [{"fc_w"}, {"fc_b"}]),  # in the order of numpy's shuffle by seed 0
        ({"split_method": RoundRobin}, [{"fc_b", "fc_w.block1"}, {"fc_w.block0"}]),
        ({"split_method": HashName}, [set(), {"fc_b", "fc_w.block0", "fc_w.block1"}]),
        ({"split_method": "HashName"}, [set(), {"fc_b", "fc_w.block0", "fc_w.block1"}]),
    ],
)
def test_settings_of_blocks(program: Any, fields: dict[str, Any], expected: list[set[str]]) -> None:
    assert [set(own) for own in blocks(transpiled(program, **fields))] == expected


def test_dispatchers_go_on_until_they_are_reset() -> None:
    made = RoundRobin(["a:1", "b:1", "c:1"])
    blocks = [Block("w.block0", (1,)), Block("w.block1", (1,))]
    assert made.dispatch(blocks) == ["a:1", "b:1"]
    assert made.dispatch(blocks) == ["c:1", "a:1"]
    made.reset()
    assert made.dispatch(blocks[:1]) == ["a:1"]
    # zlib.crc32(b"w.block0") % 3, and of b"w.block1"
    assert HashName(["a:1", "b:1", "c:1"]).dispatch(blocks) == ["b:1", "a:1"]
    with pytest.raises(AssertionError, match="HashName needs at least 1 address of a server, found none"):
        HashName([])


def test_a_server_may_have_nothing(program: Any) -> None:
    """As case 60: one parameter that is not cut."""
    with fluid.program_guard(fluid.Program(), fluid.Program()):
        made = fluid.layers.fc(fluid.layers.data("x", [1000]), 10, param_attr="only", bias_attr=False)
        assert blocks(transpiled(fluid.layers.mean(made), slice_var_up=False)) == [{"only": [1000, 10]}, {}]


def test_servers_have_the_same_blocks_without_sync(program: Any) -> None:
    """As case 61."""
    made = transpiled(program, sync_mode=False)
    assert blocks(made) == [{"fc_b": [1000], "fc_w.block1": [500, 1000]}, {"fc_w.block0": [500, 1000]}]


def test_workers_are_those_of_the_script(program: Any) -> None:
    transpiled(program)
    assert (epl.workers.number, epl.workers.count) == (0, 2)


def test_a_flag_says_how_many_gradients_merge(program: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    transpiled(program, sync_mode=False)
    assert pservers.noted(fluid.default_main_program()).max_merge == 20
    monkeypatch.setenv("FLAGS_communicator_max_merge_var_num", "7")
    transpiled(sync_mode=False)
    assert pservers.noted(fluid.default_main_program()).max_merge == 7
    monkeypatch.setenv("FLAGS_communicator_max_merge_var_num", "0")
    with pytest.raises(epl.ConfigError, match=r'max_merge_var_num in .* an integer of at least 1, found "0"'):
        transpiled()


def test_states_are_cut_with_their_parameters(program: Any) -> None:
    """As case 63."""
    fluid.optimizer.RMSProp(0.1).minimize(program)
    for own in blocks(transpiled()):
        states = {name: shape for name, shape in own.items() if name.startswith("fc_w_")}
        assert any("momentum" in name for name in states)
        assert set(map(tuple, states.values())) == {(500, 1000)}


def test_an_optimizer_of_whole_parameters_has_them_whole(program: Any) -> None:
    fluid.optimizer.Lamb(0.1).minimize(program)
    assert [name for own in blocks(transpiled()) for name in own if name.startswith("fc_w.block")] == []


def test_an_optimizer_that_is_not_known(program: Any) -> None:
    """As case 64."""
    for parameter, gradient in fluid.backward.append_backward(program):
        block = program.block
        rate = fluid.layers.fill_constant([1], "float32", 0.1)
        names = {"Param": [parameter], "Grad": [gradient], "LearningRate": [rate]}
        attributes = {"clip": 1.0, "batch_size": 4.0, "sigma": 0.0, "op_role": 2}
        block.append_op(type="dpsgd", inputs=names, outputs={"ParamOut": [parameter]}, attrs=attributes)
    with pytest.raises(epl.UnsupportedError, match='ops that are not supported yet: "dpsgd"'):
        transpiled()


def test_a_dispatcher_of_the_users(program: Any) -> None:
    seen = []

    class Last(PSDispatcher):
        def dispatch(self, varlist: Any) -> list[str]:
            seen.append([(each.name, each.shape) for each in varlist])
            return [self.eps[-1]] * len(varlist)

    assert blocks(transpiled(program, split_method=Last))[0] == {}
    assert seen[0] == [("fc_b@GRAD", (1000,))]
    assert seen[1] == [("fc_w@GRAD.block0", (500, 1000)), ("fc_w@GRAD.block1", (500, 1000))]

    class Elsewhere(Last):
        def dispatch(self, varlist: Any) -> list[str]:
            return ["10.0.0.1:1"] * len(varlist)

    with pytest.raises(AssertionError, match=r"Elsewhere.dispatch must give one of .* for each of fc_b@GRAD"):
        transpiled(split_method=Elsewhere)


SETTINGS: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"min_block_size": 1024}, AssertionError, "min_block_size must be an integer of at least 8192"),
    ({"split_method": object}, AssertionError, "split_method must be a class that is derived from PSDispat"),
    ({"split_method": "Random"}, AssertionError, "or RoundRobin or HashName, found 'Random'"),
    ({"enable_dc_asgd": True}, AssertionError, "enable_dc_asgd compensates delays"),
    ({"sync_mode": None}, ValueError, "sync_mode must be True or False, found None"),
    ({"runtime_split_send_recv": None}, ValueError, "runtime_split_send_recv must be True or False"),
    ({"runtime_split_send_recv": True}, ValueError, "runtime_split_send_recv is not to be True where sync_m"),
    (
        {"sync_mode": False, "runtime_split_send_recv": True, "geo_sgd_mode": True, "half_async": True},
        AssertionError,
        "geo_sgd_mode and half_async are two modes",
    ),
    (
        {"sync_mode": False, "geo_sgd_mode": True, "geo_sgd_need_push_nums": 0},
        ValueError,
        "geo_steps of epl.ParameterServer must be an integer of at least 1",
    ),
]


@pytest.mark.parametrize(("fields", "kind", "text"), SETTINGS)
def test_settings_that_fluid_does_not_take(
    program: Any, fields: dict[str, Any], kind: type[Exception], text: str
) -> None:
    """Cases 15 and 64."""
    with pytest.raises(kind, match=text):
        transpiled(program, **fields)


ARGUMENTS: list[tuple[dict[str, Any], str]] = [
    ({"pservers": "127.0.0.1"}, 'pservers must have addresses host:port, found "127.0.0.1"'),
    ({"pservers": "a:1,,b:1"}, 'pservers must have addresses host:port, found ""'),
    ({"pservers": "a:1,a:1"}, 'pservers has "a:1" twice'),
    ({"pservers": ["a:1"]}, "pservers must be a string of addresses with commas between them, found"),
    ({"trainers": "a:1,b:1"}, 'trainers must be in mode "pserver" an integer of at least 1, found'),
    ({"trainers": 0}, "an integer of at least 1, found 0"),
    ({"trainer_id": 2}, "trainer_id must be an integer of 0 to 1, found 2"),
    ({"trainer_id": -1}, "trainer_id must be an integer of 0 to 1, found -1"),
    ({"sync_mode": None}, "sync_mode must be True or False, found None"),
]


@pytest.mark.parametrize(("changed", "text"), ARGUMENTS)
def test_arguments_that_do_not_fit(program: Any, changed: dict[str, Any], text: str) -> None:
    fluid.optimizer.SGD(0.1).minimize(program)
    arguments: dict[str, Any] = {"trainer_id": 0, "pservers": ENDPOINTS, "trainers": 2, **changed}
    with pytest.raises(ValueError, match=text):
        fluid.DistributeTranspiler().transpile(**arguments)


def test_calls_in_a_wrong_order(program: Any) -> None:
    made = fluid.DistributeTranspiler()
    for call in (made.get_trainer_program, lambda: made.get_pserver_program("a:1")):
        with pytest.raises(epl.ArgumentError, match="behind transpile: call that before"):
            call()
    with pytest.raises(epl.ArgumentError, match="call minimize of an optimizer before transpile"):
        made.transpile(0, pservers=ENDPOINTS, trainers=2)
    made = transpiled(program)
    with pytest.raises(epl.ArgumentError, match=r'no server is at "a:1", expected one of 127\.0'):
        made.get_startup_program("a:1")
    with pytest.raises(TypeError, match="config must be a DistributeTranspilerConfig, found dict"):
        fluid.DistributeTranspiler({"mode": "pserver"})  # type: ignore[arg-type]


def test_what_is_not_supported_says_why(program: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CPU_NUM", "1")
    transpiled(program)
    with fluid.scope_guard(fluid.Scope()):
        fluid.Executor().run(fluid.default_startup_program())
        feed = {"x": np.ones((2, 1000), "float32"), "y": np.ones((2, 1000), "float32")}
        parallel = fluid.ParallelExecutor(False, loss_name=program.name)
        with pytest.raises(epl.UnsupportedError, match='"fc_b" in feed is a persistable variable, which par'):
            parallel.run([], feed={**feed, "fc_b": np.zeros(1000, "float32")})
        with pytest.raises(epl.UnsupportedError, match='"fc_b" in feed is a persistable variable, which par'):
            fluid.Executor().run(feed={**feed, "fc_b": np.zeros(1000, "float32")})


def test_a_trainer_that_is_not_who_its_launcher_says(program: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "TRAINING_ROLE": "TRAINER",
        "PADDLE_PSERVERS_IP_PORT_LIST": ENDPOINTS,
        "PADDLE_TRAINERS_NUM": "2",
        "PADDLE_TRAINER_ID": "1",
    }.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(
        epl.ConfigError, match=r"this is trainer 0 of 2 .*, as the script says, but trainer 1"
    ):
        transpiled(program)
