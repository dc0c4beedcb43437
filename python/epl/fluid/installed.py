"""The Paddle that is installed, which builds the programs of `epl.fluid`."""

from __future__ import annotations

import functools
import importlib
from typing import Any

import jax  # noqa: F401  (before Paddle: where that comes first, versions of both have ended the process)

from epl.errors import Error

_VERSION = "2.6"
_REMEDY = "epl.fluid builds programs with Paddle 2.6: pip install paddlepaddle==2.6.2"


@functools.cache
def load() -> Any:
    """Paddle, in static mode.

    Raises:
      Error: if it is missing, or another version than 2.6.
    """
    try:
        paddle: Any = importlib.import_module("paddle")
    except ImportError as error:
        raise Error(f"{_REMEDY}; found no Paddle ({error})") from None
    found = str(getattr(paddle, "__version__", "unknown"))
    if ".".join(found.split(".")[:2]) != _VERSION:
        raise Error(f"{_REMEDY}; found version {found}")
    paddle.enable_static()
    return paddle
