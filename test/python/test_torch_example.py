"""The example that trains a GPT of torch, and the document."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("torchax")

from test_documents import blocks, run_python

ROOT = Path(__file__).parents[2]


def test_trains_a_gpt_as_torch_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", f"{ROOT}/python:{ROOT}/build/python")
    command = [
        sys.executable,
        ROOT / "examples/torch_gpt.py",
        "--steps",
        "20",
        "--trace",
        tmp_path / "gpt.json",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "layout              cpu:2 = data 2" in done.stdout
    assert (tmp_path / "gpt.json").stat().st_size > 1000


def test_the_document_prints_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "document"}
    printed = ""
    for language, code in blocks("docs/torch.md"):
        if language == "text":
            assert printed.splitlines() == code.splitlines()
        else:
            printed = run_python(code, str(tmp_path / "model.py"), names)
