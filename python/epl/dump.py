"""Keeps the module of a step that the compiler fails on, in the folder that EPL_DUMP_DIR names."""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path

_HINT = "note: set EPL_DUMP_DIR to a folder to keep the module of such a step there"


def folder() -> Path | None:
    """`$EPL_DUMP_DIR`, which is made if it is not there; None if nobody asks for it.

    Raises:
      OSError: if it cannot be made.
    """
    named = os.environ.get("EPL_DUMP_DIR")
    if not named:
        return None
    path = Path(named)
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    return path


def write(text: str, prefix: str) -> Path:
    """A new file with the module, in the dump folder, else in that of temporary files; errors: `folder`."""
    handle, name = tempfile.mkstemp(prefix=f"{prefix}-", suffix=".mlir", dir=folder())
    os.close(handle)
    path = Path(name)
    path.write_text(text)
    return path


def note(text: str, name: str) -> str | None:
    """A line of an error that says where the module is kept, or why it is not; None if nobody asks for it."""
    if not os.environ.get("EPL_DUMP_DIR"):
        return None
    try:
        path = write(text, "epl-" + re.sub(r"[^\w.-]", "_", name))
    except OSError as error:
        return f"note: the module could not be kept (EPL_DUMP_DIR): {error}"
    return f'note: the module is kept as "{path}" (EPL_DUMP_DIR)'


def note_of_bug(text: str, name: str) -> str:
    """The same for what is a bug of EPL, whose module somebody will ask for."""
    return note(text, name) or _HINT
