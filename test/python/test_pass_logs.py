"""Passes of the phases shard and pipeline count what they do and say why, under their own names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PHASES = ("shard", "pipeline")
FLAGS = {
    flag: phase
    for phase in PHASES
    for path in (ROOT / "passes" / phase).rglob("Passes.td")
    for flag in re.findall(r': Pass<"([^"]+)"', path.read_text())
}

NUMBERS = {phase: next((ROOT / "test" / "lit" / phase).glob("statistics.*")).read_text() for phase in PHASES}


def source_of(flag: str) -> Path:
    """The file of a pass, whose debug logs are of the pass's flag."""
    texts = {path: path.read_text() for path in (ROOT / "passes" / FLAGS[flag]).rglob("*.cpp")}
    files = [
        path
        for path, text in texts.items()
        if f'#define DEBUG_TYPE "{flag}"' in text and "#define GEN_PASS_DEF_" in text
    ]
    assert len(files) == 1, f"{flag}: {files}"
    return files[0]


def test_there_are_passes() -> None:
    assert len(FLAGS) > 15


@pytest.mark.parametrize("flag", FLAGS)
def test_a_pass_counts_what_it_does(flag: str) -> None:
    text = source_of(flag).read_text()
    counters = re.findall(r"ALWAYS_ENABLED_STATISTIC\((\w+), \"(.+)\"\);", text)
    assert counters
    for name, description in counters:
        assert text.count(name) > 1, f"{name} is not counted"
        assert description[0].isupper()
        shown = rf"^.*-DAG: .*\b[1-9]\d* {flag} - {re.escape(description)}$"
        assert re.search(shown, NUMBERS[FLAGS[flag]], re.MULTILINE), (
            f"no test of {flag} shows {description!r}"
        )


@pytest.mark.parametrize("flag", FLAGS)
def test_a_pass_says_what_it_decides(flag: str) -> None:
    """But those that check and decide nothing."""
    assert flag.startswith("epl-verify-") or "LDBG()" in source_of(flag).read_text()
