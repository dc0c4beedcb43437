"""The program epl-run, on hand-written plans."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

BIN = Path(__file__).parents[2] / "build" / "bin"
Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Runs epl-run in a folder with the plans step.eplan (two devices), reference.eplan, wrong.eplan, ..."""
    for kind in ("step", "reference", "wrong", "echo", "matmul"):
        subprocess.run([BIN / "EplWriteTestPlan", kind, tmp_path / f"{kind}.eplan"], check=True)

    def start(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([BIN / "epl-run", *arguments], cwd=tmp_path, capture_output=True, text=True)

    return start


def test_equal_plans_give_0(run: Run) -> None:
    result = run("step.eplan", "--reference=reference.eplan", "--steps=3", "--inputs=random:7")
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines() == ['"n": equal', '"total": equal', '"same": equal']


def test_a_difference_gives_1_and_is_shown(run: Run) -> None:
    result = run("step.eplan", "--reference=wrong.eplan", "--steps=3")
    assert result.returncode == 1
    assert '"n": largest difference 3 in step 3 at element 0' in result.stdout
    assert "12 elements beyond the tolerance" in result.stdout
    assert '"total": equal' in result.stdout


def test_tolerances_are_used(run: Run) -> None:
    for tolerance in ("--atol=3", "--rtol=2"):
        assert run("step.eplan", "--reference=wrong.eplan", "--steps=3", tolerance).returncode == 0


def test_inputs_and_outputs_are_raw_files(run: Run, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    np.array([5, 6, 7, 8]).tofile(tmp_path / "in" / "s0.bin")
    np.arange(6).tofile(tmp_path / "in" / "s1.bin")
    result = run("step.eplan", "--inputs=in", "--outputs=out/deep", "--steps=2", "--devices=cpu:2")
    assert result.returncode == 0, result.stderr
    outputs = [
        np.fromfile(tmp_path / "out" / "deep" / f"s{slot}.bin", np.int64).tolist() for slot in (2, 3, 4)
    ]
    assert outputs == [[7, 8, 9, 10], [3, 5, 7], [0, 1, 2, 3, 4, 5]]


def test_random_inputs_are_those_of_the_seed(run: Run, tmp_path: Path) -> None:
    def outputs(seed: int) -> bytes:
        assert run("echo.eplan", f"--inputs=random:{seed}", "--outputs=out").returncode == 0
        return b"".join(path.read_bytes() for path in sorted((tmp_path / "out").iterdir()))

    assert outputs(1) == outputs(1)
    assert outputs(1) != outputs(2)


def test_the_trace_is_written(run: Run, tmp_path: Path) -> None:
    assert run("step.eplan", "--trace=t.json", "--steps=2").returncode == 0
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    assert sum(event["cat"] != "step" for event in events if event["ph"] == "X") == 2 * 2 * 4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["step.eplan", "--devices=cpu:0"], 'at least one device is needed, found "cpu:0"'),
        (["step.eplan", "--devices=gpu"], 'devices must be "cpu:N", "cuda:CARDS" or a count, found "gpu"'),
        (["step.eplan", "--devices=cpu:3"], "the plan is for 2 devices (cpu:2 = data 2), found 3 devices"),
        (["missing.eplan"], "missing.eplan"),
        (["step.eplan", "--inputs=nowhere"], '"nowhere" is neither "random:SEED" nor a folder'),
        (["step.eplan", "--inputs=random:x"], '"random:x" has no number as its seed'),
        (["step.eplan", "--inputs=."], '"./s0.bin" for argument "n"'),
        (["step.eplan", "--reference=echo.eplan"], "the reference has 18 arguments and results, expected 5"),
        (
            ["step.eplan", "--trace=nowhere/t.json"],
            'cannot write "nowhere/t.json": No such file or directory',
        ),
        (["step.eplan", "--outputs=step.eplan/out"], 'cannot make folder "step.eplan/out": Not a directory'),
    ],
)
def test_errors_give_1_and_name_the_thing(run: Run, arguments: list[str], message: str) -> None:
    result = run(*arguments)
    assert result.returncode == 1
    assert result.stderr.startswith("error: ")
    assert message in result.stderr


def test_a_file_of_another_size_is_named(run: Run, tmp_path: Path) -> None:
    (tmp_path / "s0.bin").write_bytes(bytes(31))
    result = run("step.eplan", "--inputs=.")
    assert result.returncode == 1
    assert '"./s0.bin" has 31 bytes, expected 32 of argument "n", int64[4]' in result.stderr


def test_a_missing_library_is_named(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("matmul.eplan").returncode == 0
    monkeypatch.setenv("EPL_OPENBLAS", "/nowhere/libopenblas.so.0")
    result = run("matmul.eplan")
    assert result.returncode == 1
    assert "/nowhere/libopenblas.so.0" in result.stderr
    assert "EPL_OPENBLAS" in result.stderr
    assert run("step.eplan").returncode == 0  # contracts nothing


@pytest.mark.parametrize("option", ["--rtol", "--atol"])
@pytest.mark.parametrize("value", ["nan", "-nan", "inf", "-inf", "-1", "-1e-300", "1e999", "x", ""])
def test_a_tolerance_is_finite_and_not_negative(run: Run, option: str, value: str) -> None:
    result = run("step.eplan", "--reference=wrong.eplan", f"{option}={value}")
    assert result.returncode == 2
    assert f"{option}: " in result.stderr


@pytest.mark.parametrize("arguments", [[], ["step.eplan", "--steps=0"], ["step.eplan", "--no-such-option"]])
def test_wrong_usage_gives_2(run: Run, arguments: list[str]) -> None:
    assert run(*arguments).returncode == 2


def test_help_gives_0(run: Run) -> None:
    result = run("--help")
    assert result.returncode == 0
    assert "Exit codes" in result.stdout
