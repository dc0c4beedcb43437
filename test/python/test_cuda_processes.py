"""GPUs of several processes, where there is none: over the stand-ins of a GPU and of NCCL.

scripts/nightly also runs random programs so (test/over_processes/programs.py --cards), and the tests of
processes on CPU devices (test_processes.py) on virtual devices of a card.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import mpi

sys.path.append(str(Path(__file__).parents[1] / "differential"))
sys.path.append(str(Path(__file__).parents[1] / "over_processes"))

import cards
from failures import judge, run

from test_process_failures import SLOW

ROOT = Path(__file__).parents[2]
NIGHTLY = bool(os.environ.get("EPL_NIGHTLY"))

pytestmark = pytest.mark.skipif(
    not (ROOT / "build" / "lib" / "libepl_cuda.so").exists(), reason="built without CUDA's headers"
)

BEGIN = """
    import os, sys
    import jax, jax.numpy as jnp, numpy as np, epl

    os.environ["EPL_CUDA_REPORT"] = f"{sys.argv[1]}/{os.environ.get('OMPI_COMM_WORLD_RANK', 0)}.json"


    def say(text):
        os.write(1, f"{text}\\n".encode())  # in one piece: mpirun mixes what processes print
"""


def run_in(
    processes: int, code: str, folder: Path, fails: bool = False, **variables: str
) -> subprocess.CompletedProcess[str]:
    """A program in so many processes, in which the stand-in has found nothing."""
    if cards.ON_DRIVER and cards.count() < 4:
        pytest.skip("4 GPUs")
    own = {"EPL_CUDA_DEVICES": "4", **variables}
    script = mpi.write(folder / "program.py", BEGIN + code)
    done = mpi.run(processes, script, str(folder), **(cards.environment() | own))
    assert (done.returncode != 0) == fails, done.stdout + done.stderr
    if not fails and not cards.ON_DRIVER:
        reports = [json.loads(path.read_text()) for path in folder.glob("[0-9].json")]
        assert len(reports) == processes
        assert [report["findings"] for report in reports] == [[]] * processes
    return done


def kernels(folder: Path) -> set[str]:
    """Those that have run in some process."""
    return {name for path in folder.glob("[0-9].json") for name in json.loads(path.read_text())["kernels"]}


INTEGERS = """

    LAYOUTS = {
        "replicate": ("rrr", {}),
        "split": ("sss", {}),
        "both": ("rsr", {"cluster.colocate_split_and_replicate": True}),
        "zero": ("rrr", {"zero.level": "v2"}),
        "stages": ("abb", {"pipeline.num_micro_batch": 4}),
        "offload": ("rrr", {"offload.level": "v0", "zero.level": "v3"}),
        "offload_stages": ("abb", {"offload.level": "v0", "pipeline.num_micro_batch": 4}),
    }
    SCOPES = {"r": epl.replicate, "s": epl.split}


    def scope(letter):
        return SCOPES[letter]() if letter in SCOPES else epl.replicate(name=letter)


    def make(letters):
        def loss(params, x, y):
            with scope(letters[0]):
                h = x @ params[0]
            with scope(letters[1]):
                h = h * 2 @ params[1]
            with scope(letters[2]):
                return ((h - y) ** 2).sum()

        def step(params, x, y):
            value, gradients = jax.value_and_grad(loss)(params, x, y)
            return [p - g * 2.0**-12 for p, g in zip(params, gradients)], value

        return step


    random = np.random.default_rng(0)
    draw = lambda *shape: random.integers(-3, 4, shape).astype(np.float32)
    params, x, y = [draw(8, 12), draw(12, 4)], draw(16, 8), draw(16, 4)
    epl.init(sys.argv[2] if len(sys.argv) > 2 else os.environ["DEVICES"])
    for name in os.environ["LAYOUTS"].split():
        letters, config = LAYOUTS[name]
        expected, loss = jax.jit(make(letters))(params, x, y)
        own = epl.parallelize(make(letters), state="params", batch=("x", "y"), config=config)
        state, value = own(params, x, y)
        assert float(value) == float(loss), (name, value, loss)
        for a, b in zip(epl.gather(state), expected, strict=True):
            assert (np.asarray(a) == np.asarray(b)).all(), name
        for _ in range(3):  # the first as a graph, with states in two places
            state, value = own(state, x, y)
            expected, loss = jax.jit(make(letters))(expected, x, y)
        np.testing.assert_allclose(float(value), float(loss), rtol=1e-5)
        say(f"{name} has the bits of one device")
"""
ALL = "replicate split both zero stages offload offload_stages"
CASES = [
    (2, "cuda:*", ALL),
    (2, "cuda:0x4", ALL),
    (2, "cuda:0-1x2", "both stages"),
    (4, "cuda:0-3", "both stages"),
]


@pytest.mark.parametrize(("processes", "devices", "layouts"), CASES)
@pytest.mark.parametrize("seed", range(1, 6) if NIGHTLY else [1])
def test_layouts_have_the_bits_of_one_device(
    processes: int, devices: str, layouts: str, seed: int, tmp_path: Path
) -> None:
    done = run_in(processes, INTEGERS, tmp_path, DEVICES=devices, LAYOUTS=layouts, EPL_CUDA_SEED=str(seed))
    assert done.stdout.count("has the bits of one device") == processes * len(layouts.split())
    assert ("through memory of the host" in done.stderr) == ("x" in devices)


def test_sums_are_those_of_nccl(tmp_path: Path) -> None:
    run_in(1, INTEGERS, tmp_path, DEVICES="cuda:0-3", LAYOUTS="replicate")
    assert "epl_sum_f32" not in kernels(tmp_path)
    for variable, value in (("EPL_CUDA_SAME_BITS", "1"), ("EPL_NCCL", "")):
        run_in(1, INTEGERS, tmp_path, DEVICES="cuda:0-3", LAYOUTS="replicate", **{variable: value})
        assert "epl_sum_f32" in kernels(tmp_path)


def test_messages_go_through_the_host_without_nccl(tmp_path: Path) -> None:
    done = run_in(2, INTEGERS, tmp_path, DEVICES="cuda:*", LAYOUTS="both stages", EPL_NCCL="")
    said = "there is no NCCL (the Python package nvidia-nccl-cu13, or its file in EPL_NCCL)"
    assert done.stderr.count(f"through memory of the host: {said}") == 1


def test_two_processes_share_a_card(tmp_path: Path) -> None:
    done = run_in(2, INTEGERS, tmp_path, DEVICES="cuda:*", LAYOUTS="replicate", EPL_CUDA_DEVICES="1")
    assert "through memory of the host: NCCL takes one device of each card" in done.stderr


@pytest.mark.parametrize("devices", ["cuda:*", "cuda:0x2"])
def test_commands_run_one_by_one(devices: str, tmp_path: Path) -> None:
    run_in(2, INTEGERS, tmp_path, DEVICES=devices, LAYOUTS="both stages", EPL_CUDA_BLOCKING="1")


PARTS = """

    import optax

    more = {"offload.level": "v0"} if os.environ.get("OFFLOADS") else {}
    epl.init(os.environ["DEVICES"])
    optimizer = optax.adam(0.125)


    @epl.parallelize(state=("w", "moments"), batch="x", config={"zero.level": "v1"} | more)
    def train(w, moments, x):
        with epl.replicate():
            gradient = jax.grad(lambda w: jnp.mean((x @ w) ** 2))(w)
        update, moments = optimizer.update(gradient, moments)
        return w + update, moments


    w, x = jnp.ones((8, 6), jnp.float32), np.arange(32, dtype=np.float32).reshape(4, 8)
    state = (w, optimizer.init(w))
    layout = epl.layout_of(train.lower(*state, x), state)
    state = train(*state, x)
    own = [shard for shard in state[1][0].mu.addressable_shards if shard.data.size]
    whole = np.asarray(epl.gather(state[1][0].mu))
    assert own and all((np.asarray(shard.data) == whole[shard.index]).all() for shard in own)
    assert sum(shard.data.size for shard in own) < whole.size, "it is in parts"
    with epl.Checkpoints(f"{sys.argv[1]}/saved") as checkpoints:
        checkpoints.save(1, state)
        later = train(*state, x)
        again = train(*checkpoints.restore(layout), x)
    for one, other in zip(jax.tree.leaves(later), jax.tree.leaves(again), strict=True):
        assert (np.asarray(epl.gather(one)) == np.asarray(epl.gather(other))).all()
    say("goes on")
"""


@pytest.mark.parametrize(("devices", "offloads"), [("cuda:*", ""), ("cuda:0x4", ""), ("cuda:*", "1")])
def test_parts_are_shown_saved_and_restored(devices: str, offloads: str, tmp_path: Path) -> None:
    done = run_in(2, PARTS, tmp_path, DEVICES=devices, OFFLOADS=offloads)
    assert done.stdout.count("goes on") == 2


@pytest.mark.parametrize("devices", ["cuda:*", "cuda:0x2"])
def test_who_waits_long_says_for_whom(devices: str, tmp_path: Path) -> None:
    done = run_in(2, SLOW, tmp_path, DEVICES=devices, EPL_STUCK_SECONDS="1.5")
    assert done.stdout.count("MEAN 1.0") == 2
    assert re.search(r"epl: process 0 has waited for \d+ s in a call of mean", done.stderr)
    assert "time.sleep(5)  # the slow line" in done.stderr
    if devices == "cuda:0x2":
        message = r'command "all_reduce" of .*program.py:\d+ on device 0 waits for 4 bytes from process 1'
        assert re.search(message, done.stderr), done.stderr


@pytest.mark.parametrize(("devices", "blocking"), [("cuda:*", "0"), ("cuda:0x2", "0"), ("cuda:*", "1")])
def test_a_step_is_given_up_at_a_deadline(devices: str, blocking: str, tmp_path: Path) -> None:
    variables = {"DEVICES": devices, "EPL_CUDA_BLOCKING": blocking, "EPL_DEADLINE_SECONDS": "2"}
    done = run_in(2, SLOW.replace("sleep(5)", "sleep(8)"), tmp_path, fails=True, **variables)
    assert "devices wait for others, and the step has not ended after 2 s" in done.stderr
    assert (': command "all_reduce" of ' in done.stderr) == (blocking == "1")


@pytest.mark.parametrize("lost", ["member.1", "connects.1"])
def test_cards_that_do_not_connect_are_given_up(lost: str, tmp_path: Path) -> None:
    """A call of NCCL waits for another process: to make a communicator, and in its first collective."""
    if cards.ON_DRIVER:
        pytest.skip("the stand-in of NCCL")
    variables = {"DEVICES": "cuda:*", "EPL_NCCL_LOST": lost, "EPL_DEADLINE_SECONDS": "2"}
    done = run_in(2, SLOW.replace("sleep(5)", "sleep(0)"), tmp_path, fails=True, **variables)
    assert "devices wait for others, and the step has not ended after 2 s" in done.stderr


@pytest.mark.parametrize("devices", ["cuda:*", "cuda:0x4"])
@pytest.mark.parametrize("kind", ["kill", "stop", "raise", "exit"] if NIGHTLY else ["stop"])
def test_all_end_if_one_does(kind: str, devices: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (cards.environment() | {"DEVICES": devices}).items():
        monkeypatch.setenv(name, value)
    victim = 0 if kind == "stop" else 1
    outcome = run(kind, 2, victim, 0.5, ("--enable-recovery",) if kind == "kill" else ())
    assert judge(kind, 2, victim, outcome, seconds=30) is None, outcome
    if kind != "exit":
        assert "ProcessError: call " in outcome.output


def test_all_sum_alike(tmp_path: Path) -> None:
    code = """
    os.environ["EPL_CUDA_SAME_BITS"] = os.environ["OMPI_COMM_WORLD_RANK"]
"""
    variables = {"DEVICES": "cuda:*", "LAYOUTS": "replicate"}
    done = run_in(2, code + INTEGERS, tmp_path, fails=True, **variables)
    said = "EPL_CUDA_SAME_BITS is 0 in the environment of process 0, and not in that of process 1"
    assert f"{said}: expected the same in all" in done.stderr


@pytest.mark.parametrize(
    ("devices", "found"),
    [
        (
            "cuda:3*",
            '"cuda:3*" are 3 devices over 2 processes, expected a number of devices that the number of',
        ),
        ("cuda:0-2", '"cuda:0-2" are 3 devices over 2 processes'),
        ("cuda:8-9", '"cuda:8-9" names card 8, found 4 cards'),
    ],
)
def test_devices_that_are_not_there(devices: str, found: str, tmp_path: Path) -> None:
    done = run_in(2, INTEGERS, tmp_path, fails=True, DEVICES=devices, LAYOUTS="replicate")
    assert found in done.stderr


def test_processes_take_the_cards_that_are_used_in_turn(tmp_path: Path) -> None:
    run_in(
        2,
        """
    epl.init("cuda:*", {"cluster.run_visible_devices": "3,1"})
    step = epl.parallelize(lambda w, x: (w + x.sum(0), x.sum()), state="w", batch="x")
    w, _ = step(np.ones(3, np.float32), np.ones((4, 3), np.float32))
    own = int(os.environ["OMPI_COMM_WORLD_RANK"])
    here = epl.dlpack.CudaDevice(own, [3, 1][own], own)
    assert w.devices() == {here, epl.dlpack.CudaDevice(1 - own, None, 1 - own)}, w.devices()
    assert w.__dlpack_device__() == (2, [3, 1][own]) and (np.asarray(w) == 5).all()
    assert str(here) == ["cuda:3", "cuda:1"][own]
    """,
        tmp_path,
    )
