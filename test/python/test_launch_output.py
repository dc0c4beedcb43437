"""What `epl-launch` passes on of what processes write, and what it can't start."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest

import mpi
from epl.launcher.output import Output

# As mpirun writes it: each piece of a process has a tag, each line too.
WRITTEN = b"".join(
    [
        b"[1,0]<stdout>:first\n[1,0]<stdout>:second\n",
        b"[1,1]<stderr>:\r 0%[1,0]<stderr>:\r  0 of 9[1,1]<stderr>:\r 50%",
        b"[1,1]<stderr>:\r100%[1,1]<stderr>:\n",
        b"mpirun: a line of its own [1]\n",
        b"[1,0]<stderr>:\r  9 of 9[1,0]<stderr>:\n[1,1]<stdout>:\n",
        b"[1,1]<stdout>:a \xc3[1,1]<stdout>:\xa4 [1,\n",
        b"[1,0]<stdout>:written over\r[1,0]<stdout>:again\r[1,1]<stdout>:not ended",
    ]
)
SHOWN = {
    None: ["mpirun: a line of its own [1]\n"],
    "0": ["first\n", "second\n", "\r  0 of 9\r", "  9 of 9\n", "written over\r", "again\r"],
    "1": ["\r 0%\r", " 50%\r", "100%\n", "\n", "a ä [1,\n", "not ended\n"],
}


def passed_on(size: int, folder: Path) -> str:
    """What is written for what comes in pieces of so many bytes."""
    source, target = os.pipe(), io.StringIO()
    with os.fdopen(source[0], "rb") as reader:
        output = Output(folder, lambda: None)
        thread = output.follow(reader, target)
        for begin in range(0, len(WRITTEN), size):
            os.write(source[1], WRITTEN[begin : begin + size])
        os.close(source[1])
        thread.join()
        output.close()
    return target.getvalue()


@pytest.mark.parametrize("size", [1, 7, 1 << 16])
def test_each_line_has_the_number_of_its_process(size: int, tmp_path: Path) -> None:
    shown = passed_on(size, tmp_path)
    for process, lines in SHOWN.items():
        for line in lines:
            text = line.lstrip("\r")
            expected = line if process is None else f"{line[: -len(text)] or ''}{process}: {text}"
            assert expected in shown, line
    assert shown.count("0: ") == 6
    assert shown.count("1: ") == 6
    assert (tmp_path / "1.log").read_bytes().decode() == "".join(SHOWN["1"])
    assert (tmp_path / "0.log").read_bytes().decode() == "".join(SHOWN["0"])


def test_a_progress_bar_of_a_process(tmp_path: Path) -> None:
    code = r"""
        import sys
        for done in range(3):
            sys.stderr.write(f"\r{50 * done:3}%")
            sys.stderr.flush()
        sys.stderr.write("\n")
    """
    script = mpi.write(tmp_path / "script.py", code)
    done = mpi.launch("-n", "2", "--log_dir", str(tmp_path), str(script))
    assert done.returncode == 0, done.stderr
    for process in (0, 1):
        assert (tmp_path / f"{process}.log").read_bytes() == b"\r  0%\r 50%\r100%\n"
        assert done.stderr.count(f"{process}:  50%\n") == 1, "which was a carriage return"


@pytest.mark.parametrize(
    ("program", "problem"),
    [
        ("none.py", '"none.py" is no script'),
        ("no-such-program", '"no-such-program" is no program that can be run'),
        (__file__ + "c", "is no program that can be run"),
        (str(Path(__file__).parent), "is no program that can be run"),
    ],
)
def test_what_does_not_exist_is_not_started_again(program: str, problem: str) -> None:
    done = mpi.launch("-n", "2", "--restarts", "3", program)
    assert done.returncode == 127
    assert problem in done.stderr
    assert "restart" not in done.stderr


def test_a_program_that_is_no_script() -> None:
    done = mpi.launch("-n", "2", "echo", "hello")
    assert (done.returncode, sorted(done.stdout.splitlines())) == (0, ["0: hello", "1: hello"])
