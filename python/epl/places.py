"""Tells the user's source files from those of libraries."""

from __future__ import annotations

import functools
import inspect
import site
import sys
import sysconfig
import traceback
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

from epl.errors import Place


@functools.cache
def _library_roots() -> tuple[str, ...]:
    paths = {sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")}
    paths.update(site.getsitepackages())
    paths.update(path for path in sys.path if path.endswith(("site-packages", "dist-packages")))
    paths.add(str(Path(__file__).parent))
    return tuple(f"{path}/" for path in paths)


def is_library(file: str) -> bool:
    """Whether a source file belongs to an installed package, the standard library or EPL, not to the user."""
    return file.startswith(_library_roots())


def raising_place(error: BaseException) -> Place | None:
    """The user's innermost line in the traceback of an error, or None."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = (Place(frame.filename, frame.lineno or 0) for frame in reversed(frames))
    return next((place for place in lines if not is_library(place.file)), None)


def standing_at(place: Place | None, action: Callable[[], Any], function: str = "<module>") -> Any:
    """Calls an action so that its caller seems to stand in a line, for JAX, which records such lines."""
    return action() if place is None else _caller(place, function)(action)


@functools.cache
def _caller(place: Place, name: str) -> Callable[[Callable[[], Any]], Any]:
    """A function whose code says that it stands there."""
    call = lambda action: action()  # noqa: E731
    code = call.__code__.replace(
        co_filename=place.file, co_firstlineno=place.line, co_name=name, co_qualname=name
    )
    return types.FunctionType(code, {})


def calling_place() -> Place | None:
    """The line of the user's own that is running in this thread, or None."""
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None and is_library(frame.f_code.co_filename):
        frame = frame.f_back
    return Place(frame.f_code.co_filename, frame.f_lineno) if frame is not None else None


def definition(function: Callable[..., Any]) -> Place:
    """Where a step, or what makes its states, is defined."""
    plain = inspect.unwrap(function)
    while isinstance(plain, functools.partial):
        plain = plain.func
    code = getattr(plain, "__code__", None)
    return Place(code.co_filename, code.co_firstlineno) if code else Place("<step>")
