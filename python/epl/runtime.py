"""Finds the runtime's Python module, its libraries and the programs, which the build makes.

Where a wheel installed the package, the programs are in its folder `bin` and the module beside it; else
all are in `build/` of the repository, or in the folder that EPL_BUILD names.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import importlib.util
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from epl.errors import DonatedError, Error

_PACKAGE = Path(__file__).parent
_ROOT = Path(__file__).parents[2]
_BUILD = Path(os.environ.get("EPL_BUILD") or _ROOT / "build")


@functools.cache
def module() -> Any:
    """The runtime: `Plan`, `Session`, `StateBuffer` (runtime/binding); loaded when it is first needed."""
    built = _BUILD / "python"
    if built.is_dir() and str(built) not in sys.path:
        sys.path.insert(0, str(built))
    try:
        return importlib.import_module("_epl_runtime")
    except ImportError as error:
        raise Error(f"{_missing('the runtime')} ({error})") from error


_NVIDIA = {
    "EPL_CUBLAS": "cu13/lib/libcublas.so.13",
    "EPL_CUBLASLT": "cu13/lib/libcublasLt.so.13",
    "EPL_CUDNN": "cudnn/lib/libcudnn.so.9",
    "EPL_CUSOLVER": "cu13/lib/libcusolver.so.12",
    "EPL_NCCL": "nccl/lib/libnccl.so.2",
}
"""NVIDIA's libraries: what names one, and where it is in the packages of pip."""


@functools.cache
def _installed() -> dict[str, str]:
    """What `_NVIDIA` has, of those that pip has installed: their files."""
    package = importlib.util.find_spec("nvidia")
    folders = package.submodule_search_locations if package else None
    paths = ((name, Path(folder) / file) for folder in folders or () for name, file in _NVIDIA.items())
    return {name: str(path) for name, path in paths if path.exists()}


@contextlib.contextmanager
def named_libraries() -> Iterator[None]:
    """Within, the plugin for GPUs finds NVIDIA's libraries where pip has put them; if the user names none."""
    named = {name: path for name, path in _installed().items() if name not in os.environ}
    os.environ.update(named)
    try:
        yield
    finally:
        for name in named:
            del os.environ[name]


def translated(error: Exception) -> Error:
    """An error of the runtime as one of EPL."""
    if isinstance(error, module().DonatedError):
        return DonatedError(f"{error}: use what that returned, copy() it before, or set donate=False")
    return Error(str(error))


def live_bytes() -> int:
    """Bytes that EPL holds in this process: states, results not read yet, work memory of compiled steps."""
    return int(module().live_bytes())


def compiler() -> Path:
    """The program `epl-compile`: named by EPL_COMPILE, else as `program` finds it."""
    if named := os.environ.get("EPL_COMPILE"):
        if not os.access(named, os.X_OK):
            raise Error(f'EPL_COMPILE names "{named}", which is not a program')
        return Path(named)
    try:
        return program("epl-compile")
    except Error as error:
        raise Error(f"{error}, or name it in EPL_COMPILE") from error


def program(name: str) -> Path:
    """A program of the package: in its folder, else in the repository's build. Raises Error if in neither."""
    for folder in (_PACKAGE / "bin", _BUILD / "bin"):
        if os.access(folder / name, os.X_OK):
            return folder / name
    raise Error(_missing(name))


def _missing(what: str) -> str:
    """That a part is not there, and how one gets it: in a clone of the repository, else as a package."""
    if (_ROOT / "CMakeLists.txt").exists():
        return f"{what} is not built: run scripts/setup"
    return f'{what} is not part of this installation in "{_PACKAGE}": install the whole wheel of epl with pip'
