"""Code for GPUs where there is none.

Every kernel of a model runs on the stand-in of a GPU, which finds races, reads of what nobody wrote and
accesses out of bounds, with the results of plain loops on a CPU; and NVIDIA's assembler takes it.
"""

from __future__ import annotations

import functools
import importlib
import os
import subprocess
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import epl
from epl.sass import tool
from test_models import NAMES

BIN = Path(__file__).parents[2] / "build" / "bin"
NIGHTLY = os.environ.get("EPL_NIGHTLY")
ARCHITECTURES = ["sm_80", "sm_90", "sm_100", "sm_120"] if NIGHTLY else ["sm_80"]
SOME = ["gpt", "lstm", "mixed_precision", "moe_top_k"]


def text_of(step: Any, state: Any, batch: Any) -> str:
    return str(epl.parallelize(step, devices=2, state="state", batch=1).lower(state, batch).as_text())


@functools.cache  # two tests read them
def steps_of(name: str) -> list[str]:
    model = importlib.import_module(f"models.{name}").build()
    batch = jax.tree.map(np.asarray, model.batch(np.random.default_rng(0)))
    return [text_of(step, model.state, batch) for step in model.steps]


def run(command: list[str | Path], text: str | None = None) -> str:
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def compile_to(stage: str, text: str) -> str:
    return run([BIN / "epl-compile", "-", "--devices=cuda:0x2", f"--emit={stage}"], text)


@pytest.mark.parametrize("name", NAMES if NIGHTLY else SOME)
def test_kernels_compute_what_loops_do(name: str, tmp_path: Path) -> None:
    files = []
    for number, text in enumerate(steps_of(name)):
        files.append(tmp_path / f"{number}.mlir")
        files[-1].write_text(compile_to("kernel", text))
    run([BIN / "epl-check-gpu-kernels", *files])


@pytest.mark.parametrize("name", NAMES if NIGHTLY else SOME)
def test_code_assembles_and_calls_nothing(name: str, tmp_path: Path) -> None:
    pytest.importorskip("nvidia")
    ptxas = tool("ptxas")
    for text in steps_of(name):
        code = tmp_path / "kernels.ptx"
        code.write_text(compile_to("ptx", text))
        assert ".extern" not in code.read_text()
        assert "call" not in code.read_text()
        for architecture in ARCHITECTURES:
            run([ptxas, f"-arch={architecture}", code, "-o", tmp_path / "kernels.cubin"])
