"""Every model of test/models with one server and one worker, as processes, beside `jax.jit`."""

from __future__ import annotations

from pathlib import Path

import pytest

from server_runs import run, said
from test_models import NAMES

REFUSED = {"gan": "is not among them; a process trains one set of parameters by servers"}
"""Models of two steps, each of which has parameters of its own."""
PROGRAM = str(Path(__file__).with_name("served_models.py"))


@pytest.mark.parametrize("name", [name for name in NAMES if name not in REFUSED])
def test_trains_as_on_one_device(name: str) -> None:
    done = run(1, 1, name, program=PROGRAM)
    assert done.returncode == 0, said(done)
    assert f"{name} has trained as on one device" in done.stdout


@pytest.mark.parametrize("name", REFUSED)
def test_is_refused_for_a_reason(name: str) -> None:
    done = run(1, 1, name, program=PROGRAM)
    assert done.returncode != 0, said(done)
    assert REFUSED[name] in done.stderr, said(done)
