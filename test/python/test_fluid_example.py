"""The example that trains as the guides of Fluid do, and the document."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("paddle")

from epl import fluid
from test_documents import blocks, run_python

ROOT = Path(__file__).parents[2]


def test_trains_as_paddle_does() -> None:
    environment = {**os.environ, "CPU_NUM": "2", "PYTHONPATH": f"{ROOT}/python:{ROOT}/build/python"}
    done = subprocess.run(
        [sys.executable, ROOT / "examples/fluid_digits.py"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (accuracy,) = re.findall(r"accuracy (\S+)", done.stdout)
    (difference,) = re.findall(r"differ from Paddle's by (\S+)", done.stdout)
    assert float(accuracy) > 0.9
    assert float(difference) < 1e-4


def test_the_document_prints_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "document"}
    printed = ""
    with fluid.program_guard(fluid.Program(), fluid.Program()), fluid.scope_guard(fluid.Scope()):
        for language, code in blocks("docs/fluid.md"):
            if language == "text":
                assert printed.splitlines() == code.splitlines()
            else:
                printed = run_python(code, str(tmp_path / "program.py"), names)
