"""Rows of figures: ours beside a peer, and beside the goal."""

import dataclasses
import datetime
import importlib.metadata
import json
import os
import platform
import statistics
import subprocess
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

UNITS = {
    "s": [("s ", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9)],
    "B": [("MiB", 2.0**20), ("KiB", 2.0**10)],
    "": [("", 1.0)],
}


@dataclass(frozen=True)
class Row:
    """What was measured, in rounds: ours, and the peer's right beside it.

    `goal` bounds the ratio, or, where there is no peer, ours. `best` compares the best rounds of each instead
    of neighbouring ones: for machines that others use meanwhile. `within`: the goal's inverse is the least
    that the ratio may be, as where the peer is a prediction.
    """

    what: str
    ours: list[float]
    peer: list[float] | None = None
    goal: float | None = None
    unit: str = "s"
    best: bool = False
    within: bool = False

    def typical(self, rounds: list[float]) -> float:
        """One value that stands for all rounds."""
        return min(rounds) if self.best else statistics.median(rounds)

    @property
    def rounds(self) -> list[float]:
        """What the goal bounds, round by round. Rounds are compared, not means: machines drift."""
        if self.peer is None:
            return self.ours
        return [a / b for a, b in zip(self.ours, self.peer, strict=True)]

    @property
    def value(self) -> float:
        """What the goal bounds."""
        if self.peer and self.best:
            return self.typical(self.ours) / self.typical(self.peer)
        return self.typical(self.rounds)

    @property
    def met(self) -> bool | None:
        """Whether the value meets the goal."""
        if self.goal is None:
            return None
        return self.value <= self.goal and (not self.within or self.value >= 1 / self.goal)

    def cells(self) -> list[str]:
        """The row of the table."""

        def show(value: float | None) -> str:
            return "" if value is None else (f"{value:.2f}" if self.peer else quantity(value, self.unit))

        return [
            self.what,
            quantity(self.typical(self.ours), self.unit),
            quantity(self.typical(self.peer), self.unit) if self.peer else "",
            show(self.value) if self.peer else "",
            f"{show(min(self.rounds))} to {show(max(self.rounds))}",
            self._bounds(show),
            {None: "", True: "yes", False: "NO"}[self.met],
        ]

    def _bounds(self, show: Callable[[float | None], str]) -> str:
        if self.goal is None:
            return ""
        return f"{show(1 / self.goal)}-{show(self.goal)}" if self.within else f"<= {show(self.goal)}"

    def json(self) -> dict[str, Any]:
        """All that the row knows."""
        return {**dataclasses.asdict(self), "value": self.value, "met": self.met}


def quantity(value: float, unit: str) -> str:
    """A number of seconds or bytes in a readable unit."""
    name, size = next((u for u in UNITS[unit] if value >= u[1]), UNITS[unit][-1])
    return (f"{value / size:.3g} {name}" if value / size < 1000 else f"{value / size:.0f} {name}").rstrip()


HEADINGS = ["what", "ours", "peer", "ratio", "spread", "goal", "met"]
WIDTHS = [68, 9, 9, 6, 20, 9, 4]


def line(cells: Iterable[str]) -> str:
    """Cells under their headings."""
    return "  ".join(cell.ljust(width) for cell, width in zip(cells, WIDTHS, strict=True)).rstrip()


def command_output(*command: str) -> str | None:
    """The first line that a command prints; None if there is no such command."""
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.partition("\n")[0]
    except (OSError, subprocess.CalledProcessError):
        return None


def package_version(name: str) -> str | None:
    """The version of an installed Debian package."""
    return command_output("dpkg-query", "-W", "-f", "${Version}\n", name)


def machine() -> dict[str, Any]:
    """Where and beside whom the figures were made."""
    info = Path("/proc/cpuinfo").read_text() if platform.system() == "Linux" else ""
    models = [
        entry.partition(":")[2].strip() for entry in info.splitlines() if entry.startswith("model name")
    ]
    return {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "machine": models[0] if models else platform.processor(),
        "cores": len(os.sched_getaffinity(0)),
        "avx512": " avx512f" in info,
        "peers": {
            "jax": importlib.metadata.version("jax"),
            "jaxlib": importlib.metadata.version("jaxlib"),
            **{name: package_version(name) for name in ("libtbb-dev", "libomp-22-dev", "libopenmpi-dev")},
        },
    }


def write(path: Path, rows: list[Row]) -> None:
    """The figures as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({**machine(), "rows": [row.json() for row in rows]}, indent=1) + "\n")
