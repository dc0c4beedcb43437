"""How `epl-compile` is run: its diagnostics, its failures, Ctrl-C. The compiler is a shell script here."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import epl
from conftest import Fake
from epl.compile import compile_plan, emit


def test_passes_the_text_and_the_options(compiler: Fake) -> None:
    compiler('{ echo "$1 $2 $3 $4"; cat; } > "$5"')
    plan = compile_plan("module {}", ["--devices=cpu:3", "--reference"], "step")
    assert plan == b"- --devices=cpu:3 --reference -o\nmodule {}"


def test_emit_gives_what_is_printed(compiler: Fake) -> None:
    compiler("cat > /dev/null; echo $2 $3")
    assert emit("module {}", "cpu:3", "step", "local") == "--devices=cpu:3 --emit=local\n"


def test_diagnostics_name_the_users_line(compiler: Fake) -> None:
    library = Path(os.__file__).with_name("library.py")
    compiler(f"""
        cat > /dev/null
        echo '{library}:7:3: error: "sort" is not supported' >&2
        echo '/home/me/train.py:12:5: note: called from' >&2
        exit 1
    """)
    with pytest.raises(epl.CompileError) as error:
        compile_plan("", ["--devices=cpu:2"], "step")
    assert str(error.value) == '/home/me/train.py:12: "sort" is not supported'
    assert error.value.place == epl.errors.Place("/home/me/train.py", 12)
    assert "called from" in error.value.diagnostics


def test_notes_are_shown(compiler: Fake) -> None:
    compiler("""
        cat > /dev/null
        echo '/home/me/train.py:12:5: error: scopes do not nest' >&2
        echo '/home/me/train.py:11:3: note: the outer scope is here' >&2
        exit 1
    """)
    with pytest.raises(epl.CompileError) as error:
        compile_plan("", ["--devices=cpu:2"], "step")
    assert str(error.value).splitlines() == [
        "/home/me/train.py:12: scopes do not nest",
        "/home/me/train.py:11:3: note: the outer scope is here",
    ]


def test_diagnostics_without_a_place(compiler: Fake) -> None:
    compiler("""cat > /dev/null; echo 'loc("x"): error: batch of 9 does not divide by 2' >&2; exit 1""")
    with pytest.raises(epl.CompileError, match=r"^batch of 9 does not divide by 2$") as error:
        compile_plan("", ["--devices=cpu:2"], "step")
    assert error.value.place is None


def test_a_silent_failure_names_the_exit_code(compiler: Fake) -> None:
    compiler("exit 2")
    with pytest.raises(epl.CompileError, match='failed on step "step" with exit code 2'):
        compile_plan("", ["--devices=cpu:2"], "step")


def test_a_compiler_that_does_not_read_is_no_broken_pipe(compiler: Fake) -> None:
    compiler("echo 'a.mlir:1:1: error: too long' >&2; exit 1")
    with pytest.raises(epl.CompileError, match="too long"):
        compile_plan("x" * 10_000_000, ["--devices=cpu:2"], "step")


def test_a_missing_compiler_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EPL_COMPILE", "/nonexistent/epl-compile")
    with pytest.raises(epl.Error, match='"/nonexistent/epl-compile", which is not a program'):
        compile_plan("", ["--devices=cpu:2"], "step")


def test_ctrl_c_ends_the_child_and_leaves_nothing(compiler: Fake, tmp_path: Path) -> None:
    compiler(f'echo $$ > {tmp_path}/pid; touch "$4"; exec sleep 1000')
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    code = 'from epl.compile import compile_plan; compile_plan("", ["--devices=cpu:2"], "step")'
    environment = {**os.environ, "TMPDIR": str(temporary), "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen(
        [sys.executable, "-c", code], env=environment, stderr=subprocess.PIPE, text=True
    )
    while not (
        (tmp_path / "pid").exists() and (tmp_path / "pid").read_text() and any(temporary.rglob("*.eplan"))
    ):
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert "KeyboardInterrupt" in errors
    assert not list(temporary.iterdir())
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)
