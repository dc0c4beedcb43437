"""Machine code of GPUs beside source lines, and that lines change nothing of the code."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import epl
from epl import sass

BIN = Path(__file__).parents[2] / "build" / "bin"
X = np.ones((64, 512), np.float32)


def program(x: jax.Array, gain: jax.Array) -> Any:
    scaled = jnp.exp(x) * gain
    total = scaled.sum(-1, keepdims=True)
    return scaled / total, jnp.sort(gain)


def line_of(text: str) -> int:
    """The line of this file that begins so."""
    lines = Path(__file__).read_text().splitlines()
    return next(i for i, line in enumerate(lines, 1) if line.strip().startswith(text))


def compile_with(*options: str | Path) -> str:
    text = epl.parallelize(program, devices="cuda:0", batch=()).lower(X, X[0]).as_text()
    command = [BIN / "epl-compile", "-", "--devices=cuda:0", *options]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("plans") / "step.eplan"
    compile_with("--line-info", "-o", path)
    return path


def tools() -> None:
    pytest.importorskip("nvidia")


def without_lines(ptx: str) -> list[str]:
    """The instructions: no lines and files, and no labels that nobody jumps to."""
    code = re.sub(r"^\s*\.(loc|file)\t.*\n|//.*$", "", ptx, flags=re.M)
    used = set(re.findall(r"(\$L\w+)\b(?!:)", code))
    lines = (line.strip() for line in code.splitlines())
    return [line for line in lines if line and (not line.endswith(":") or line[:-1] in used)]


def test_lines_leave_the_code_as_it_is(plan: Path) -> None:
    plain, lined = compile_with("--emit=ptx"), compile_with("--emit=ptx", "--line-info")
    assert "\t.loc\t" in lined
    assert "\t.loc\t" not in plain
    assert "\t.file\t" not in plain
    assert without_lines(lined) == without_lines(plain)


def machine_code(folder: Path, ptx: str, *options: str) -> list[str]:
    text, cubin = folder / "kernels.ptx", folder / "kernels.cubin"
    text.write_text(ptx)
    subprocess.run([sass.tool("ptxas"), "-arch=sm_90", *options, text, "-o", cubin], check=True)
    shown = subprocess.run(
        [sass.tool("nvdisasm"), "-c", cubin], capture_output=True, text=True, check=True
    ).stdout
    return re.findall(r"/\*[0-9a-f]{4,}\*/\s+(.*;)", shown)


def test_ptxas_makes_the_same_of_it(tmp_path: Path) -> None:
    tools()
    expected = machine_code(tmp_path, compile_with("--emit=ptx"))
    lined = compile_with("--emit=ptx", "--line-info")
    assert expected
    assert machine_code(tmp_path, lined) == expected
    assert machine_code(tmp_path, lined, "-lineinfo") == expected


@pytest.mark.parametrize("architecture", ["sm_80", "sm_90"])
def test_instructions_stand_below_their_lines(plan: Path, architecture: str) -> None:
    tools()
    found = sass.disassemble(plan, architecture=architecture)
    sources = {group.source for group in found}
    here = {f"{__file__}:{line_of(text)}" for text in ("scaled = jnp.exp", "total = scaled", "return scaled")}
    assert here <= sources
    by_line = {
        source: " ".join(i for g in found if g.source == source for i in g.instructions) for source in here
    }
    exponential = f"{__file__}:{line_of('scaled = jnp.exp')}"
    assert "MUFU.EX2" in by_line[exponential]
    assert "SHFL" in by_line[f"{__file__}:{line_of('total = scaled')}"]
    assert not any("NOP" in group.instructions[-1] for group in found)
    text = sass.report(found)
    assert f"{exponential}  scaled = jnp.exp(x) * gain\n    /*" in text


def test_one_kernel_alone(plan: Path) -> None:
    tools()
    kernels = {group.entry.split("$")[0] for group in sass.disassemble(plan)}
    assert len(kernels) > 1
    first = min(kernels)
    assert {group.entry.split("$")[0] for group in sass.disassemble(plan, first)} == {first}


def test_the_command_line(plan: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tools()
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-m", "epl.sass", plan]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert re.search(r"^k\w+: \d+ instructions\n  ", done.stdout)
    with pytest.raises(
        SystemExit, match='error: the plan has no code for a kernel "none", expected one of "'
    ):
        sass.main([str(plan), "--kernel=none"])
    with pytest.raises(SystemExit, match="error: ptxas: "):
        sass.main([str(plan), "--arch=sm_70"])
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SystemExit, match=r"error: ptxas, which .* pip install nvidia-cuda-nvcc$"):
        sass.main([str(plan)])


def test_lines_are_of_code_for_gpus() -> None:
    command = [BIN / "epl-compile", "-", "--devices=cpu:1", "--line-info", "--emit=kernel"]
    done = subprocess.run(command, input="", capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "--line-info: is of code for GPUs, found --devices=cpu:1" in done.stderr
