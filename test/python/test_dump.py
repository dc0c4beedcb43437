"""EPL_DUMP_DIR keeps the module of a step that the compiler fails on, and errors name the file."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import epl
from conftest import Fake
from epl.compile import compile_plan, load_or_compile

MODULE = "module {}"
FAILS = "cat > /dev/null; echo 'step.py:1:1: error: no such op' >&2; exit 1"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A dump folder that is not there yet."""
    monkeypatch.setenv("EPL_DUMP_DIR", str(tmp_path / "nested" / "dumps"))
    return tmp_path / "nested" / "dumps"


def error_of(step: str = "train step/2") -> str:
    with pytest.raises(epl.CompileError) as error:
        compile_plan(MODULE, ["--devices=cpu:2"], step)
    return str(error.value)


def kept_in(message: str, folder: Path) -> str:
    """The text of the one file in the folder, which the message names."""
    (path,) = folder.iterdir()
    assert str(path) in message
    return path.read_text()


def test_an_error_of_the_compiler(compiler: Fake, folder: Path) -> None:
    compiler(FAILS)
    message = error_of()
    assert kept_in(message, folder) == MODULE
    assert re.search(
        r'note: the module is kept as ".*/epl-train_step_2-\w+\.mlir" \(EPL_DUMP_DIR\)$', message
    )


def test_nothing_is_kept_of_an_error_unless_asked_for(
    compiler: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("EPL_DUMP_DIR", raising=False)
    compiler(FAILS)
    assert error_of() == "step.py:1: no such op"
    assert not list(tmp_path.glob("**/*.mlir"))


def test_a_compiler_that_fails_without_a_reason(
    compiler: Fake, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler("cat > /dev/null; exit 3")
    assert kept_in(error_of(), folder) == MODULE
    monkeypatch.delenv("EPL_DUMP_DIR")
    assert "set EPL_DUMP_DIR to a folder" in error_of()


@pytest.mark.parametrize("signal", ["SEGV", "KILL"])
def test_a_compiler_that_a_signal_ends(compiler: Fake, folder: Path, signal: str) -> None:
    compiler(f"cat > /dev/null; kill -{signal} $$")
    assert kept_in(error_of(), folder) == MODULE


def test_a_plan_that_does_not_load(compiler: Fake, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler('cat > /dev/null; for last; do :; done; echo "no plan" > "$last"')
    with pytest.raises(epl.CompileError, match="which is a bug of EPL") as error:
        load_or_compile(MODULE, "cpu:2", "step")
    assert kept_in(str(error.value), folder) == MODULE
    monkeypatch.delenv("EPL_DUMP_DIR")
    with pytest.raises(epl.CompileError, match="set EPL_DUMP_DIR"):
        load_or_compile(MODULE, "cpu:2", "step")


def test_a_folder_that_cannot_be_made(compiler: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EPL_DUMP_DIR", "/proc/epl")
    compiler(FAILS)
    message = error_of()
    assert message.startswith("step.py:1: no such op\nnote: the module could not be kept (EPL_DUMP_DIR): ")
