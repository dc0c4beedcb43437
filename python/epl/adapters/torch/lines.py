"""The user's lines of operators: noted where torch is called, shown again where JAX is.

Method: a function mode of torch sees every call of its API and annotates what is traced in it with the frames
that called. When the graph is lowered, JAX records the frames of its own caller; functions whose code says
that it stands in the noted lines make them the same.
"""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

from torch.overrides import TorchFunctionMode

from epl.adapters.torch import hooks
from epl.errors import Place
from epl.places import is_library, standing_at

FRAMES = "epl.frames"
_MOST = 3  # of a model's own frames; the user's innermost one comes with them

Frame = tuple[str, int, str]  # file, line, function
_HIDDEN = (*(f"{folder}/" for folder in hooks.PACKAGES), f"{Path(__file__).parents[2]}/")


class Lines(TorchFunctionMode):  # type: ignore[misc]
    """Annotates nodes with the lines that make them, innermost first."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Called in place of every function of torch."""
        with hooks.annotated({FRAMES: _frames()}):
            return func(*args, **(kwargs or {}))


def _frames() -> tuple[Frame, ...]:
    found: list[Frame] = []
    frame: types.FrameType | None = sys._getframe(2)
    while frame is not None:
        code = frame.f_code
        if not code.co_filename.startswith(_HIDDEN):
            users = not is_library(code.co_filename)
            if users or len(found) < _MOST:
                found.append((code.co_filename, frame.f_lineno, code.co_name))
            if users:
                break
        frame = frame.f_back
    return tuple(found)


def place(node: Any) -> Place | None:
    """The user's line of a node, or None."""
    frames = hooks.marks(node).get(FRAMES, ())
    own = (Place(file, line) for file, line, _ in frames if not is_library(file))
    return next(own, Place(*frames[0][:2]) if frames else None)


def at(node: Any, action: Callable[[], Any]) -> Any:
    """Calls an action so that its caller seems to stand in the lines of a node."""
    for file, line, name in hooks.marks(node).get(FRAMES, ()):
        action = functools.partial(standing_at, Place(file, line), action, name)
    return action()
