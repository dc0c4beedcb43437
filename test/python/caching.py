"""What the tests of the plan cache share: a compiler that counts its calls, and a step to compile."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from epl.compile import load_or_compile

BUILD = Path(__file__).parents[2] / "build"
runtime = pytest.importorskip("_epl_runtime")


def parse(content: bytes) -> Any:
    return runtime.Plan.from_bytes(content)


def compile_step(text: str = "module {}", **options: Any) -> bytes:
    plan = load_or_compile(text, options.pop("devices", "cpu:2"), "step", **options)
    return bytes(plan.to_bytes())


class Compiler:
    """A compiler that copies a plan and counts how often it is run."""

    def __init__(self, folder: Path) -> None:
        self.program = folder / "epl-compile"
        self.plan = folder / "step.eplan"
        self._calls = folder / "calls"
        subprocess.run([BUILD / "bin" / "EplWriteTestPlan", "step", self.plan], check=True)
        self.install("")

    def install(self, comment: str) -> None:
        """Writes the program; another comment makes it another build."""
        script = f'cat > /dev/null; echo >> {self._calls}; for last; do :; done; cp {self.plan} "$last"'
        self.program.write_text(f"#!/bin/sh\n# {comment}\n{script}\n")
        self.program.chmod(0o755)

    @property
    def calls(self) -> int:
        return len(self._calls.read_text()) if self._calls.exists() else 0
