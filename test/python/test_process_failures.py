"""One process of a run ends, in one way or another: the others end soon, and say which and why.

scripts/nightly does it at random moments (test/over_processes/failures.py).
"""

from __future__ import annotations

import re
import signal
import sys
import time
from pathlib import Path

import pytest

import mpi

sys.path.append(str(Path(__file__).parents[1] / "over_processes"))

from failures import judge, lives, run

CASES = {
    "mpirun sees a killed process": ("kill", 2, 1, (), "rank 1 "),
    "mpirun looks away": ("kill", 2, 1, ("--enable-recovery",), "is lost: no sign of life for 3 s"),
    "process 0 is stopped": ("stop", 2, 0, (), "is lost: no sign of life for 3 s"),
    "a process raises": ("raise", 4, 1, (), "has failed: ValueError: no such file: x"),
    "a process ends early": ("exit", 2, 1, (), "has ended after"),
    "the launcher is killed": ("launcher", 2, 0, (), ""),
}


@pytest.mark.parametrize("case", CASES)
def test_all_end_if_one_does(case: str) -> None:
    kind, processes, victim, options, reason = CASES[case]
    outcome = run(kind, processes, victim, 0.5, options)
    assert judge(kind, processes, victim, outcome, seconds=30) is None, outcome  # others use the machine, too
    assert reason in outcome.output
    if reason and "lost" in reason:
        assert "ProcessError: call " in outcome.output


SLOW = """
    import os
    import time

    import jax
    import jax.numpy as jnp
    import numpy as np

    import epl

    epl.init(os.environ.get("DEVICES", "cpu:2"))


    @epl.parallelize(batch="x")
    def mean(x):
        with epl.replicate():
            return jnp.mean(x)


    x = np.ones((4, 4), np.float32)
    mean(x)
    if jax.process_index() == 1:
        time.sleep(5)  # the slow line
    print(f"MEAN {float(mean(x))}", flush=True)  # in one piece: mpirun mixes what processes print
"""


def test_who_waits_long_says_for_what(tmp_path: Path) -> None:
    done = mpi.run(2, mpi.write(tmp_path / "slow.py", SLOW), EPL_STUCK_SECONDS="1.5")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("MEAN 1.0") == 2
    call = r"a call of mean\(x: float32\[4, 4\]\) by plan 1"
    assert re.search(rf"epl: process 0 has waited for \d+ s in {call}, number \d+ of", done.stderr)
    message = r'command "all_reduce" of .*slow.py:\d+ on device 0 waits for 4 bytes from process 1'
    assert re.search(message, done.stderr), done.stderr
    assert "time.sleep(5)  # the slow line" in done.stderr


def test_patience_is_a_number_of_seconds(tmp_path: Path) -> None:
    done = mpi.run(2, mpi.write(tmp_path / "slow.py", SLOW), EPL_STUCK_SECONDS="soon")
    assert done.returncode == 1
    assert (
        'EPL_STUCK_SECONDS in the environment must be a number of seconds above 0, found "soon"'
        in done.stderr
    )


DIFFERS = """
    import os
    import sys

    import numpy as np

    import epl

    own = int(os.environ["OMPI_COMM_WORLD_RANK"])
    how, folder = sys.argv[1:]
    epl.init(devices=os.environ["OMPI_COMM_WORLD_SIZE"])


    def make(rate):
        @epl.parallelize(state="w", batch="x")
        def train(w, x):
            with epl.replicate():
                return w - rate * x.mean(0)

        return train


    train = make(0.5)
    w = np.ones(4, np.float32)
    x = np.ones((8, 4), np.float32)
    if how == "plan":
        for rate in (0.5, 0.25):
            os.makedirs(f"{folder}/{rate}-{own}")
            make(rate).lower(w, x).compile().save(f"{folder}/{rate}-{own}/step.eplan")
        epl.load(f"{folder}/{0.25 if own else 0.5}-{own}/step.eplan")
    old = w = train(w, x)
    w = train(w, x[:4])
    if how == "shape":
        w = train(w, x[: 8 - 4 * own]).block_until_ready()  # a last batch that is smaller in one process
    if how == "caught" and own == 1:
        try:
            train(old, x)
        except epl.DonatedError:
            pass
    if how == "caught":
        w = train(w, x)  # one call of both, in spite of that
        print(f"SUM {float(w.sum())}", flush=True)
    if how == "differs":  # process 3 has no neighbour that sees it
        try:
            w = train(w + own if own == 1 else w, x).block_until_ready()
        except epl.Error:
            pass
    elif own == 0:
        w = train(w, x)
        epl.gather(w)
"""


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ("plan", r"step step has another plan in process 1 \(pid .*\) than in process 0"),
        (
            "shape",
            r"a call of train\(x: float32\[[48], 4\]\) by plan [12] there, and a call of train",
        ),
        ("caught", r"process 1 \(pid .*\) has ended after \d+ steps"),
    ],
)
def test_processes_that_differ_say_so(tmp_path: Path, how: str, why: str) -> None:
    done = mpi.run(2, mpi.write(tmp_path / "differs.py", DIFFERS), how, str(tmp_path))
    assert done.returncode == 1
    assert re.search(why, done.stderr), done.stderr
    assert done.stdout.count("SUM -2.0") == (2 if how == "caught" else 0)


def test_a_step_that_is_broken_off_ends_all(tmp_path: Path) -> None:
    """Be it that who has seen the error goes on; process 3 waits for what never comes."""
    done = mpi.run(4, mpi.write(tmp_path / "differs.py", DIFFERS), "differs", str(tmp_path))
    assert done.returncode == 1
    a_process = r"process [012] \(pid .*\) has failed"
    kind = r"(what call 1 has made|a host's array) in process"  # of two neighbours, either may tell first
    assert re.search(rf'epl: process 3 ends: {a_process}: .*argument "w" is {kind}', done.stderr), done.stderr


ENDS = """
    import os
    import signal
    import sys
    import threading
    import time

    import epl

    epl.init(devices=2)
    is_victim = os.environ["OMPI_COMM_WORLD_RANK"] == os.environ["VICTIM"]


    def stop():
        time.sleep(1)
        os.kill(os.getpid(), signal.SIGSTOP)


    if is_victim and len(sys.argv) > 1:
        threading.Thread(target=stop, daemon=True).start()  # while it waits for the others
    elif is_victim and "INTERRUPTED" in os.environ:
        raise KeyboardInterrupt
    elif is_victim:
        sys.exit("no data")
    else:
        time.sleep(float(sys.argv[1]) if len(sys.argv) > 1 else 60)
        print("SLEPT", flush=True)
"""


@pytest.mark.parametrize("victim", [0, 1])
def test_an_exit_with_an_error_is_a_failure(tmp_path: Path, victim: int) -> None:
    done = mpi.run(2, mpi.write(tmp_path / "ends.py", ENDS), VICTIM=str(victim))
    assert done.returncode == 1
    assert re.search(
        rf"process {victim} \(pid .*\) has failed: SystemExit: no data \(.*ends.py:24\)", done.stderr
    )
    assert "SLEPT" not in done.stdout


def test_an_error_without_text_is_its_name(tmp_path: Path) -> None:
    done = mpi.run(2, mpi.write(tmp_path / "ends.py", ENDS), VICTIM="1", INTERRUPTED="")
    assert re.search(r"process 1 \(pid .*\) has failed: KeyboardInterrupt \(.*ends.py:22\)", done.stderr)


@pytest.mark.parametrize(
    ("victim", "slept", "why"),
    [
        (1, 5, r"process 1 \(pid .*\) is lost: no sign of life"),
        (0, 2, r"all have ended, but MPI does not: of process 0 \(pid .*\) one is lost"),
    ],
)
def test_who_is_stopped_at_its_end_is_lost(tmp_path: Path, victim: int, slept: int, why: str) -> None:
    done = mpi.run(2, mpi.write(tmp_path / "ends.py", ENDS), str(slept), VICTIM=str(victim))
    assert done.returncode == 1
    assert re.search(f"epl: process {1 - victim} ends: {why}", done.stderr)


LAUNCHED = """
    import os
    import sys

    import epl

    epl.init(devices=2)
    attempt, process = os.environ["EPL_RESTART"], os.environ["OMPI_COMM_WORLD_RANK"]
    print(f"ATTEMPT {attempt} of {process} {' '.join(sys.argv[1:])}", flush=True)
    if (attempt, process) == ("0", "1"):
        raise ValueError("once")
"""


def test_the_launcher_starts_again(tmp_path: Path) -> None:
    script = mpi.write(tmp_path / "script.py", LAUNCHED)
    logs = tmp_path / "logs"
    done = mpi.launch("-n", "2", "--restarts", "2", "--log_dir", str(logs), str(script), "--fast")
    assert done.returncode == 0, done.stderr
    assert "1: ValueError: once" in done.stderr
    assert "restart 1 of 2" in done.stderr
    for process in (0, 1):
        assert f"{process}: ATTEMPT 1 of {process} --fast" in done.stdout
        assert f"ATTEMPT 1 of {process}" in (logs / f"{process}.log").read_text()


def test_the_launcher_gives_up(tmp_path: Path) -> None:
    done = mpi.launch("-n", "2", str(mpi.write(tmp_path / "script.py", "raise SystemExit(3)\n")))
    assert done.returncode == 3


ENDLESS = """
    import os
    import sys
    import time

    print(f"STARTED {os.getpid()}", flush=True)
    while True:
        if "talks" in sys.argv:
            print(100 * "x", flush=True)
        time.sleep(0.001)
"""


@pytest.mark.parametrize("kind", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_launcher_and_all_processes(tmp_path: Path, kind: signal.Signals) -> None:
    script = mpi.write(tmp_path / "script.py", ENDLESS)
    with mpi.start_launcher("-n", "2", "--restarts", "3", str(script)) as child:
        assert child.stdout is not None
        pids = [int(child.stdout.readline().rpartition("STARTED ")[2]) for _ in range(2)]
        child.send_signal(kind)
        assert child.wait(timeout=30) == 128 + kind
        assert "restart" not in child.communicate()[1]
    end = time.monotonic() + 30
    while any(map(lives, pids)):
        assert time.monotonic() < end
        time.sleep(0.1)


def test_the_launcher_ends_when_nobody_reads_it(tmp_path: Path) -> None:
    script = mpi.write(tmp_path / "script.py", ENDLESS)
    with mpi.start_launcher("-n", "2", str(script), "talks") as child:
        assert child.stdout is not None
        child.stdout.readline()
        child.stdout.close()
        assert child.wait(timeout=30) == 128 + signal.SIGPIPE


def test_the_launcher_runs_without_an_output(tmp_path: Path) -> None:
    """As where a service has closed it."""
    script = mpi.write(tmp_path / "script.py", f"print(100_000 * 'x')\nopen(r'{tmp_path}/done', 'w')\n")
    with mpi.start_launcher("-n", "1", str(script), closes=(1,)) as child:
        assert child.wait(timeout=60) == 0
    assert (tmp_path / "done").exists()


def test_the_launcher_says_that_it_has_no_folder_for_logs(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = mpi.launch("-n", "2", "--log_dir", str(tmp_path / "file"), "x.py")
    assert done.returncode == 2
    assert f"--log_dir: [Errno 17] File exists: '{tmp_path / 'file'}'" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ((), "--num_workers"),
        (("-n", "0", "x.py"), "--num_workers/--workers: must be a number of at least 1, found 0"),
        (("-n", "x", "x.py"), "--num_workers/--workers: must be a number of at least 1, found x"),
        (("-n", "2"), "no script"),
        (("-n", "3", "--machine_list", "a,b", "x.py"), "no equal shares for 2 machines"),
        (("-n", "2", "--machine_list", "a,b", "--machine_rank", "2", "x.py"), "none of 2 machines"),
        (("-n", "2", "--restarts", "-1", "x.py"), "must be a number of at least 0, found -1"),
    ],
)
def test_the_launcher_says_how_it_is_used(arguments: tuple[str, ...], problem: str) -> None:
    done = mpi.launch(*arguments)
    assert done.returncode == 2
    assert problem in done.stderr


def test_only_the_first_machine_starts_processes() -> None:
    done = mpi.launch("-n", "2", "--machine_list", "a:1,b:1", "--machine_rank", "1", "x.py")
    assert done.returncode == 0
    assert "machine 0 starts the processes of machine 1" in done.stdout
