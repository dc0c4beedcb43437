"""Finds the runtime's Python module and the compiler's program, which the build makes."""

from __future__ import annotations

import functools
import importlib
import os
import shutil
import sys
from pathlib import Path
from typing import Any

from epl.errors import DonatedError, Error

_ROOT = Path(__file__).parents[2]


@functools.cache
def module() -> Any:
    """The runtime: `Plan`, `Session`, `StateBuffer` (runtime/binding); loaded when it is first needed."""
    built = _ROOT / "build" / "python"
    if built.is_dir() and str(built) not in sys.path:
        sys.path.append(str(built))
    try:
        return importlib.import_module("_epl_runtime")
    except ImportError as error:
        raise Error(f"the runtime is not built: run scripts/setup ({error})") from error


def translated(error: Exception) -> Error:
    """An error of the runtime as one of EPL."""
    if isinstance(error, module().DonatedError):
        return DonatedError(f"{error}: use what that returned, copy() it before, or set donate=False")
    return Error(str(error))


def live_bytes() -> int:
    """Bytes that EPL holds in this process: states, results not read yet, work memory of compiled steps."""
    return int(module().live_bytes())


def compiler() -> Path:
    """The program `epl-compile`: named by EPL_COMPILE, else the repository's build, else on the PATH."""
    if named := os.environ.get("EPL_COMPILE"):
        if not os.access(named, os.X_OK):
            raise Error(f'EPL_COMPILE names "{named}", which is not a program')
        return Path(named)
    built = _ROOT / "build" / "bin" / "epl-compile"
    found = built if built.exists() else shutil.which("epl-compile")
    if found is None:
        raise Error("epl-compile is not built: run scripts/setup, or name it in EPL_COMPILE")
    return Path(found)
