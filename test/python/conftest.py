"""Fixtures shared by the tests of the front end."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from typing import Any

import jax
import pytest

from epl import environment, scopes
from epl.adapters.jax import trace as adapter
from epl.errors import Place

Lower = Callable[..., adapter.Program]
MlirOpt = Callable[[str], str]


@pytest.fixture
def lower() -> Lower:
    """Traces and lowers a function of flat arguments, all constants unless `arguments` says otherwise."""

    def run(function: Callable[..., Any], *leaves: Any, **options: Any) -> adapter.Program:
        shapes = [jax.ShapeDtypeStruct(leaf.shape, leaf.dtype) for leaf in leaves]
        traced = adapter.trace(function, shapes, "step")
        constants = [adapter.Argument(f"a{i}", "constant") for i in range(len(shapes))]
        plain = [adapter.Result(f"r{i}") for i in range(len(jax.tree.leaves(traced.out)))]
        return adapter.lower(
            traced,
            options.pop("arguments", constants),
            options.pop("results", plain),
            name="step",
            place=Place("user.py", 3),
            **options,
        )

    return run


@pytest.fixture
def mlir_opt() -> MlirOpt:
    """Parses and verifies a text with the compiler's MLIR, another version than jaxlib's."""
    tool = shutil.which("mlir-opt-22")
    if tool is None:
        pytest.skip("mlir-opt-22 is not installed")

    def run(text: str) -> str:
        command = [tool, "--allow-unregistered-dialect", "--mlir-print-debuginfo", "--mlir-print-local-scope"]
        return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout

    return run


@pytest.fixture(autouse=True)
def _fresh_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test sees what another one has set."""
    monkeypatch.setattr(environment, "_settings", None)
    monkeypatch.setattr(scopes, "_default", None)
