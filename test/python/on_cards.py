"""A plugin of pytest: `cpu:4` is `cuda:0x4`, so that tests of CPU devices run on virtual devices of a card.

    LD_LIBRARY_PATH=build/cuda python -m pytest -p on_cards test/python/test_split.py

So it is in the scripts that tests run in several processes, where this module is the program that runs them.

Nodes (`cpu:2x2`) stay CPU devices, which cards have not. What the stand-in of a GPU (docs/design.md, section
10) has found by the end of a test fails it.
"""

from __future__ import annotations

import runpy
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import epl.devices
import epl.environment
import epl.parallelize
import epl.stages

sys.path.append(str(Path(__file__).parents[1] / "differential"))

import cards

import mpi

_parse = epl.devices.parse_devices


def _on_a_card(devices: epl.devices.Devices) -> str:
    text = _parse(devices)
    kind, _, count = text.partition(":")
    return f"cuda:0x{count}" if kind == "cpu" and count.isdigit() else text


for module in (epl.environment, epl.parallelize, epl.stages):
    module.parse_devices = _on_a_card  # type: ignore[attr-defined]
mpi.PYTHON = [sys.executable, __file__]


@pytest.fixture(autouse=True)
def _no_findings() -> Iterator[None]:
    before = cards.findings()
    yield
    assert cards.findings() == before


def _run_script() -> None:
    """Runs the script that the arguments name; what was found fails it."""
    del sys.argv[0]
    runpy.run_path(sys.argv[0], run_name="__main__")
    assert not cards.findings(), cards.findings()


if __name__ == "__main__":
    _run_script()
