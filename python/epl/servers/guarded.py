"""Errors of the runtime's part of parameter servers, as Python's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from epl import runtime
from epl.errors import ProcessError


def guarded(action: Callable[..., Any], *arguments: Any) -> Any:
    """Calls a function of the runtime.

    Raises:
      ProcessError: what it raises.
    """
    try:
        return action(*arguments)
    except runtime.module().Error as error:
        raise ProcessError(str(error)) from None
