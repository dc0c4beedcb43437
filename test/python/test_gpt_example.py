"""The example that trains a GPT, as a pipeline of stages that the compiler finds."""

from __future__ import annotations

import json
import re
import runpy
import sys
from pathlib import Path

import jax
import pytest

import mpi

EXAMPLE = Path(__file__).parents[2] / "examples" / "gpt.py"


def run(monkeypatch: pytest.MonkeyPatch, *options: str) -> None:
    """Runs the example as a program, in this process, which has most of what it imports."""
    monkeypatch.setattr(sys, "argv", [str(EXAMPLE), *options])
    runpy.run_path(str(EXAMPLE), run_name="__main__")


def test_trains_a_gpt_in_stages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    trace = tmp_path / "gpt.json"
    pipeline = ["--stages", "2", "--micro-batches", "8", "--schedule", "zb-h1"]
    small = ["--steps", "10", "--layers", "2", "--width", "32", "--trace", str(trace)]
    run(monkeypatch, *pipeline, *small)
    printed = capsys.readouterr().out
    losses = re.search(r"^  loss +(\S+) at first, (\S+) at last$", printed, re.MULTILINE)
    assert losses is not None
    assert float(losses[2]) < 0.9 * float(losses[1])
    layout = r"^  layout +cpu:2 = \[data 1\] \+ \[data 1\], 2 stages, 8 micro-batches by zb-h1, bubble \d+ %$"
    assert re.search(layout, printed, re.MULTILINE)
    assert trace.stat().st_size > 1000


def test_two_processes_train_a_stage_each(tmp_path: Path) -> None:
    trace = tmp_path / "gpt.json"
    small = ["--steps", "10", "--layers", "2", "--width", "32", "--trace", str(trace)]
    options = ["--stages", "2", "--micro-batches", "4", *small]
    done = mpi.run(2, EXAMPLE, *options, JAX_COMPILATION_CACHE_DIR=jax.config.jax_compilation_cache_dir or "")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("cpu:2 = [data 1] + [data 1], 2 stages, 4 micro-batches") == 2
    events = json.loads(trace.read_text())["traceEvents"]
    assert {event["pid"] for event in events} == {0, 1, 2}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--steps", "9"], "argument --steps: expected at least 10, found 9"),
        (["--layers", "0"], "argument --layers: expected at least 1, found 0"),
        (["--stages", "0"], "argument --stages: expected at least 1, found 0"),
        (["--width", "30"], "argument --width: expected a multiple of 4 heads, found 30"),
    ],
)
def test_options_that_do_not_fit(
    options: list[str], said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        run(monkeypatch, *options)
    assert said in capsys.readouterr().err
