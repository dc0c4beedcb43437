"""What a process is in a run with parameter servers, by the variables of Fluid's three generations."""

from __future__ import annotations

import pytest

from epl.errors import ConfigError
from epl.servers.roles import read_role

NEWEST = {
    "TRAINING_ROLE": "TRAINER",
    "PADDLE_PSERVERS_IP_PORT_LIST": "node0:6170,node1:6171",
    "PADDLE_TRAINERS_NUM": "3",
    "PADDLE_TRAINER_ID": "2",
}
MIDDLE = {
    "PADDLE_TRAINING_ROLE": "TRAINER",
    "PADDLE_PSERVERS": "node0,node1",
    "PADDLE_PORT": "6170,6171",
    "PADDLE_TRAINERS_NUM": "3",
    "PADDLE_TRAINER_ID": "2",
}
OLDEST = {
    "PADDLE_TRAINING_ROLE": "TRAINER",
    "PADDLE_PSERVER_IPS": "node0,node1",
    "PADDLE_TRAINERS": "3",
    "PADDLE_TRAINER_ID": "2",
}
SERVER = {
    "newest": NEWEST | {"TRAINING_ROLE": "PSERVER", "POD_IP": "node1", "PADDLE_PORT": "6171"},
    "current": NEWEST | {"TRAINING_ROLE": "PSERVER", "PADDLE_CURRENT_ENDPOINT": "node1:6171"},
    "middle": MIDDLE | {"PADDLE_TRAINING_ROLE": "PSERVER", "POD_IP": "node1"},
    "oldest": OLDEST | {"PADDLE_TRAINING_ROLE": "PSERVER", "PADDLE_CURRENT_IP": "node1"},
    "pod": OLDEST | {"PADDLE_TRAINING_ROLE": "PSERVER", "POD_IP": "node1"},
}


@pytest.mark.parametrize("environ", [NEWEST, MIDDLE, OLDEST | {"PADDLE_PSERVER_PORT": "6170"}])
def test_the_last_of_three_workers(environ: dict[str, str]) -> None:
    role = read_role(environ)
    assert role is not None
    assert (role.kind, role.number, role.workers) == ("worker", 2, 3)
    assert role.servers[0] == "node0:6170"
    assert len(role.servers) == 2


@pytest.mark.parametrize("name", SERVER)
def test_the_second_of_two_servers(name: str) -> None:
    role = read_role(SERVER[name])
    assert role is not None
    assert (role.kind, role.number) == ("server", 1)
    assert role.address == ("node1:6174" if name in ("oldest", "pod") else "node1:6171")


def test_servers_on_one_host_differ_in_their_ports() -> None:
    environ = {
        **NEWEST,
        "TRAINING_ROLE": "PSERVER",
        "PADDLE_PSERVERS_IP_PORT_LIST": "127.0.0.1:6170,127.0.0.1:6171",
        "POD_IP": "127.0.0.1",
        "PADDLE_PORT": "6171",
    }
    role = read_role(environ)
    assert role is not None
    assert role.address == "127.0.0.1:6171"


@pytest.mark.parametrize(
    "environ",
    [{}, {"TRAINING_ROLE": "TRAINER"}, {"PADDLE_TRAINER_ID": "1", "PADDLE_TRAINERS_NUM": "2"}],
)
def test_variables_that_speak_of_no_servers(environ: dict[str, str]) -> None:
    assert read_role(environ) is None


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"TRAINING_ROLE": "MASTER"}, 'must be PSERVER or TRAINER, found "MASTER"'),
        ({"TRAINING_ROLE": ""}, "needs TRAINING_ROLE beside it"),
        (
            {"PADDLE_TRAINER_ID": "3"},
            "PADDLE_TRAINER_ID in the environment must be below PADDLE_TRAINERS_NUM=3",
        ),
        ({"PADDLE_TRAINER_ID": "-1"}, 'must be an integer of at least 0, found "-1"'),
        ({"PADDLE_TRAINER_ID": ""}, "lacks PADDLE_TRAINER_ID"),
        ({"PADDLE_TRAINERS_NUM": "0"}, 'must be an integer of at least 1, found "0"'),
        ({"PADDLE_PSERVERS_IP_PORT_LIST": ","}, 'must have addresses host:port, found ""'),
        ({"PADDLE_PSERVERS_IP_PORT_LIST": "node0"}, 'must have addresses host:port, found "node0"'),
        ({"PADDLE_PSERVERS_IP_PORT_LIST": "node0:70000"}, 'found "node0:70000"'),
        ({"PADDLE_PSERVERS_IP_PORT_LIST": "http://node0:80"}, 'found "http://node0:80"'),
        ({"PADDLE_PSERVERS_IP_PORT_LIST": "a:1,b:2,a:1"}, 'has "a:1" twice: as server 0 and as server 2'),
        ({"TRAINING_ROLE": "PSERVER"}, "needs POD_IP, the host of this server"),
        (
            {"TRAINING_ROLE": "PSERVER", "POD_IP": "node0", "PADDLE_PORT": "1"},
            'by POD_IP and PADDLE_PORT in the environment this server is "node0:1", expected '
            "one of PADDLE_PSERVERS_IP_PORT_LIST=node0:6170",
        ),
        (
            {"TRAINING_ROLE": "PSERVER", "PADDLE_CURRENT_ENDPOINT": "node2:1"},
            'by PADDLE_CURRENT_ENDPOINT in the environment this server is "node2:1", expected one of',
        ),
        ({"TRAINING_ROLE": "PSERVER", "PADDLE_PSERVERS_IP_PORT_LIST": ""}, "needs the addresses of all"),
    ],
)
def test_what_is_wrong_is_named(changes: dict[str, str], said: str) -> None:
    with pytest.raises(ConfigError) as raised:
        read_role(NEWEST | changes)
    assert said in str(raised.value)


def test_a_list_of_ports_is_as_long_as_the_servers() -> None:
    with pytest.raises(ConfigError, match="one for each of the 2 servers in PADDLE_PSERVERS"):
        read_role(MIDDLE | {"PADDLE_PORT": "1,2,3"})
