"""How a process was started, by the variables of each launcher and of several."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

import epl
from epl.processes.launch_variables import ALONE, mark_joined, no_mpi_message, read_launch

OPEN_MPI = {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "4"}
SLURM = {"SLURM_PROCID": "1", "SLURM_STEP_NUM_TASKS": "4", "SLURM_NTASKS": "4"}
SLURM_PMIX = {**SLURM, "PMIX_RANK": "1", "PMIX_NAMESPACE": "slurm.pmix.77.0"}
MPICH = {"PMI_RANK": "1", "PMI_SIZE": "4"}
TORCHRUN = {"RANK": "1", "WORLD_SIZE": "4", "MASTER_ADDR": "node0", "MASTER_PORT": "29500"}
ENDPOINTS = "node0:6070,node1:6070,node2:6070,node3:6070"
PADDLE = {
    "PADDLE_TRAINER_ID": "1",
    "PADDLE_TRAINERS_NUM": "4",
    "PADDLE_TRAINER_ENDPOINTS": ENDPOINTS,
}
WORKERS = ["node0:2222", "node1:2222", "node2:2222", "node3:2222"]


def tf_config(cluster: Any, kind: Any = "worker", index: Any = 1) -> dict[str, str]:
    return {"TF_CONFIG": json.dumps({"cluster": cluster, "task": {"type": kind, "index": index}})}


TENSORFLOW = tf_config({"worker": WORKERS})


@pytest.mark.parametrize(
    ("environ", "launcher", "address", "has_mpi"),
    [
        (OPEN_MPI, "Open MPI", None, True),
        ({"PMIX_RANK": "1", "SLURM_STEP_NUM_TASKS": "4"}, "PMIx", None, True),
        (SLURM_PMIX, "PMIx", None, True),
        (SLURM, "Slurm", None, False),
        (MPICH, "MPICH", None, False),
        (SLURM | MPICH, "Slurm", None, False),
        (TORCHRUN, "torchrun", "node0", False),
        ({"RANK": "1", "WORLD_SIZE": "4"}, "torchrun", None, False),
        (PADDLE, "Paddle", "node0:6070", False),
        (TENSORFLOW, "TF_CONFIG", "node0:2222", False),
        (OPEN_MPI | TORCHRUN, "Open MPI", "node0", True),
        (SLURM_PMIX | TENSORFLOW, "PMIx", "node0:2222", True),
        (TORCHRUN | PADDLE, "torchrun", "node0", False),
    ],
)
def test_the_second_of_four(
    environ: dict[str, str], launcher: str, address: str | None, has_mpi: bool
) -> None:
    launch = read_launch(environ)
    assert (launch.process, launch.processes) == (1, 4)
    assert (launch.launcher, launch.address, launch.has_mpi) == (launcher, address, has_mpi)


@pytest.mark.parametrize(
    "environ",
    [
        {},
        {"PATH": "/bin", "RANK": "", "WORLD_SIZE": " ", "TF_CONFIG": ""},
        {"SLURM_NTASKS": "4", "SLURM_PROCID": "0", "SLURM_JOB_ID": "7"},  # a batch script
        {"SLURM_STEP_NUM_TASKS": "4"},
        {"TF_CONFIG": "{}"},
        {"TF_CONFIG": '{"cluster": {}, "task": {"type": "worker", "index": 0}}'},
    ],
)
def test_without_a_launcher_a_process_is_alone(environ: dict[str, str]) -> None:
    assert read_launch(environ) == ALONE
    assert (ALONE.process, ALONE.processes, ALONE.address, ALONE.has_mpi) == (0, 1, None, False)


def test_pmix_alone_leaves_the_count_to_mpi() -> None:
    launch = read_launch({"PMIX_RANK": "3", "PMIX_NAMESPACE": "prterun-node0-7@1"})
    assert (launch.process, launch.processes, launch.has_mpi) == (3, None, True)


def test_a_count_that_pmix_lacks_comes_from_another_launcher() -> None:
    launch = read_launch({"PMIX_RANK": "1", "PMIX_NAMESPACE": "prterun-node0-7@1"} | TORCHRUN)
    assert (launch.processes, launch.launcher) == (4, "PMIx")


DAEMON = {"SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "2", "PMI_RANK": "0", "PMI_SIZE": "2"}


@pytest.mark.parametrize(
    ("nearer", "processes"),
    [
        (OPEN_MPI, 4),
        ({**OPEN_MPI, "PMIX_RANK": "1", "PMIX_NAMESPACE": "1234"}, 4),
        ({"PMIX_RANK": "1", "PMIX_NAMESPACE": "prterun-node0-7@1"}, None),
    ],
)
def test_the_tasks_of_slurm_are_daemons_where_another_launcher_is_nearer(
    nearer: dict[str, str], processes: int | None
) -> None:
    launch = read_launch(DAEMON | nearer)
    assert (launch.process, launch.processes) == (1, processes)


@pytest.mark.parametrize("kind", ["chief", "master"])
def test_the_chief_is_process_0_and_workers_follow(kind: str) -> None:
    cluster = {"worker": ["node1:1", "node2:1"], kind: ["node0:1"]}
    for task, index, process in [(kind, 0, 0), ("worker", 0, 1), ("worker", 1, 2), ("worker", "1", 2)]:
        launch = read_launch(tf_config(cluster, task, index))
        assert (launch.process, launch.processes, launch.address) == (process, 3, "node0:1")


@pytest.mark.parametrize(
    ("environ", "names"),
    [
        (OPEN_MPI | {"RANK": "2", "WORLD_SIZE": "4"}, ["OMPI_COMM_WORLD_RANK=1", "RANK=2", "which process"]),
        (OPEN_MPI | {"RANK": "1", "WORLD_SIZE": "8"}, ["OMPI_COMM_WORLD_SIZE=4", "WORLD_SIZE=8", "how many"]),
        (OPEN_MPI | {"PMIX_RANK": "0"}, ["OMPI_COMM_WORLD_RANK=1", "PMIX_RANK=0"]),
        (SLURM_PMIX | {"SLURM_PROCID": "2"}, ["PMIX_RANK=1", "SLURM_PROCID=2"]),
        (SLURM | {"PMI_RANK": "0", "PMI_SIZE": "1"}, ["SLURM_PROCID=1", "PMI_RANK=0"]),
        (
            TORCHRUN | tf_config({"worker": WORKERS}, index=3),
            ["RANK=1 (torchrun)", "TF_CONFIG (task worker 3)"],
        ),
        (
            TORCHRUN | tf_config({"worker": WORKERS[:2]}),
            ["WORLD_SIZE=4", "TF_CONFIG (cluster of 2)"],
        ),
        (
            {"PMIX_RANK": "1", "PMIX_NAMESPACE": "x", "RANK": "1", "WORLD_SIZE": "2"} | PADDLE,
            ["WORLD_SIZE=2", "PADDLE_TRAINERS_NUM=4"],
        ),
    ],
)
def test_launchers_that_disagree_are_both_named(environ: dict[str, str], names: list[str]) -> None:
    with pytest.raises(epl.ConfigError, match="disagree") as error:
        read_launch(environ)
    for name in names:
        assert name in str(error.value)


PAIRS = [
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMIX_RANK", "SLURM_STEP_NUM_TASKS"),
    ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS"),
    ("PMI_RANK", "PMI_SIZE"),
    ("RANK", "WORLD_SIZE"),
    ("PADDLE_TRAINER_ID", "PADDLE_TRAINERS_NUM"),
]


@pytest.mark.parametrize("bad", ["one", "1.0", "-1", "1e3", "0x1", "1_0", "٣", "1" * 10, "1,2"])
@pytest.mark.parametrize(("rank", "size"), PAIRS)
def test_values_that_are_no_integers(rank: str, size: str, bad: str) -> None:
    for environ, name in [({rank: bad, size: "4"}, rank), ({rank: "0", size: bad}, size)]:
        with pytest.raises(epl.ConfigError, match=f'^{name} in the environment must be .* found "{bad}"'):
            read_launch(environ)


@pytest.mark.parametrize(("rank", "size"), PAIRS)
def test_values_out_of_range(rank: str, size: str) -> None:
    with pytest.raises(epl.ConfigError, match=f"^{rank} in the environment must be below {size}=4, found 4"):
        read_launch({rank: "4", size: "4"})
    with pytest.raises(epl.ConfigError, match=f'^{size} .* must be an integer of at least 1, found "0"'):
        read_launch({rank: "0", size: "0"})


@pytest.mark.parametrize(
    ("rank", "size"), [pair for pair in PAIRS if "SLURM_STEP_NUM_TASKS" not in pair], ids=str
)
def test_half_of_a_pair_names_the_other(rank: str, size: str) -> None:
    for name, missing in [(rank, size), (size, rank)]:
        with pytest.raises(epl.ConfigError, match=f"^{name}=2 in the environment needs {missing}"):
            read_launch({name: "2"})


def test_paddles_endpoints_are_as_many_as_its_trainers() -> None:
    with pytest.raises(
        epl.ConfigError, match=r"PADDLE_TRAINERS_NUM=4 .*PADDLE_TRAINER_ENDPOINTS names 2: a,b"
    ):
        read_launch({**PADDLE, "PADDLE_TRAINER_ENDPOINTS": "a,b"})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is no JSON"),
        ("worker:1", "is no JSON"),
        ("[" * 100_000, "is no JSON"),
        ('{"cluster": ' + "1" * 5000 + "}", "is no JSON"),
        ("[]", r"must be a JSON object, found \[\]"),
        ('{"cluster": ["a"]}', '"cluster" of TF_CONFIG must be an object'),
        (
            '{"cluster": {"worker": "a"}}',
            '"worker" of "cluster" of TF_CONFIG must be a list of hosts, found \'a\'',
        ),
        ('{"cluster": {"worker": [1]}}', "must be a list of hosts"),
        ('{"cluster": {"worker": [""]}}', "must be a list of hosts"),
        (
            '{"cluster": {"worker": ["a"]}}',
            '"task" of TF_CONFIG must have a "type" and an "index", found None',
        ),
        ('{"cluster": {"worker": ["a"]}, "task": {"type": "worker"}}', '"task" of TF_CONFIG must have'),
        ('{"cluster": {"chief": ["a", "b"]}}', "must have one chief .* found a, b"),
        ('{"cluster": {"chief": ["a"], "master": ["b"]}}', "must have one chief"),
        ('{"cluster": {"cheif": ["a"]}}', "a kind of tasks .* found 'cheif'"),
        ('{"cluster": {"ps": ["a"], "worker": ["b"]}}', "parameter servers"),
        ('{"cluster": {"evaluator": ["a"], "worker": ["b"]}}', "an evaluator"),
    ],
)
def test_malformed_tf_configs(text: str, message: str) -> None:
    with pytest.raises(epl.ConfigError, match=message) as error:
        read_launch({"TF_CONFIG": text})
    assert "TF_CONFIG" in str(error.value)


@pytest.mark.parametrize(
    ("kind", "index", "message"),
    [
        ("ps", 0, "parameter servers"),
        ("evaluator", 0, "an evaluator"),
        ("wroker", 0, "found 'wroker'"),
        (["worker"], 0, "a kind of tasks"),
        ("worker", 4, '"index" of "task" of TF_CONFIG must be below the 4 of "worker" in "cluster", found 4'),
        ("chief", 0, 'must be below the 0 of "chief"'),
        ("worker", -1, "found -1"),
        ("worker", "one", "found 'one'"),
        ("worker", True, "found True"),
        ("worker", 1.0, "found 1.0"),
    ],
)
def test_tasks_that_are_none_of_the_cluster(kind: Any, index: Any, message: str) -> None:
    with pytest.raises(epl.ConfigError, match=message) as error:
        read_launch(tf_config({"worker": WORKERS}, kind, index))
    assert "TF_CONFIG" in str(error.value)


@pytest.mark.parametrize(
    ("environ", "said", "unset"),
    [
        (TORCHRUN, "RANK=1 and WORLD_SIZE=4 (torchrun)", "RANK, WORLD_SIZE"),
        (SLURM, "SLURM_PROCID=1 and SLURM_STEP_NUM_TASKS=4 (Slurm)", "SLURM_PROCID, SLURM_STEP_NUM_TASKS"),
        (TENSORFLOW, "TF_CONFIG (task worker 1) and TF_CONFIG (cluster of 4)", "TF_CONFIG"),
    ],
)
def test_several_processes_without_mpi_are_told_what_to_write(
    environ: dict[str, str], said: str, unset: str
) -> None:
    message = no_mpi_message(read_launch(environ))
    assert message.startswith(f"several processes, but no MPI: {said}")
    assert message.endswith(f"unset {unset}")
    for command in ("epl-launch", "mpirun", "srun --mpi=pmix"):
        assert f'"{command} -n 4 python train.py"' in message


def test_who_has_joined_is_still_of_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EPL_PROCESS_OF", "1")  # so that it is restored
    mark_joined()
    assert os.environ["EPL_PROCESS_OF"] == str(os.getpid())
    assert read_launch({**os.environ, **OPEN_MPI}).processes == 4


def test_what_a_process_of_a_run_starts_is_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    program = (
        "import os\nfrom epl.processes.launch_variables import read_launch\n"
        "print(read_launch(os.environ).processes)"
    )
    for name, value in (OPEN_MPI | {"PYTHONPATH": os.pathsep.join(sys.path), "EPL_PROCESS_OF": ""}).items():
        monkeypatch.setenv(name, value)
    for expected in ("4", "1"):
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        assert done.stdout.strip() == expected
        mark_joined()


def test_a_mark_that_is_no_process() -> None:
    with pytest.raises(epl.ConfigError, match=r'EPL_PROCESS_OF .* found "me"'):
        read_launch({"EPL_PROCESS_OF": "me"})
