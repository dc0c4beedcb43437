"""The file beside a plan that holds what its caller does not see: constants, and what hidden results say."""

from __future__ import annotations

import hashlib
import tempfile
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from epl import reports
from epl.errors import Error
from epl.reports import Report
from epl.slots import GIVEN


def to_bytes(plan: Any, constants: Sequence[np.ndarray[Any, Any]], said: Sequence[Report]) -> bytes:
    """What the file beside a plan holds: values of hidden arguments, and what hidden results say."""
    with tempfile.SpooledTemporaryFile() as file:
        np.savez(file, *constants, plan=_digest(plan), reports=np.array(reports.to_text(said)))
        file.seek(0)
        return file.read()


def path_of(path: Path) -> Path:
    """The file beside a plan's."""
    return path.with_name(f"{path.name}.hidden.npz")


def _digest(plan: Any) -> np.ndarray[Any, Any]:
    """What ties a file of hidden constants to its plan."""
    return np.frombuffer(hashlib.sha256(plan.to_bytes()).digest(), np.uint8)


def read(
    path: Path, plan: Any, slots: Sequence[Any]
) -> tuple[list[np.ndarray[Any, Any]], tuple[Report, ...]]:
    """The hidden constants of a plan, in the order of its slots, and what its hidden results say."""
    if not path.exists():
        raise Error(f'the plan needs constants from "{path}", which is missing')
    constants = [slot for slot in slots if slot.role in GIVEN]
    try:
        with path.open("rb") as file, np.load(file) as saved:
            arrays = [saved[f"arr_{index}"] for index in range(len(constants))]
            text = str(saved["reports"])
            same = np.array_equal(saved["plan"], _digest(plan))
    except (OSError, EOFError, KeyError, ValueError, zipfile.BadZipFile, zlib.error) as error:
        raise Error(f'"{path}" does not hold the constants of the plan: {error}') from None
    if not same:
        raise Error(f'"{path}" holds the constants of another plan')
    said = reports.from_text(text, [slot.shape for slot in slots if slot.role == "result"])
    # numpy's format knows bfloat16 as two bytes.
    pairs = zip(arrays, constants, strict=True)
    return [a.view(slot.dtype) if a.dtype.kind == "V" else a for a, slot in pairs], said
