"""What a user's value means: integers of all libraries, and the name that was meant by an unknown one."""

from __future__ import annotations

import difflib
import operator
from collections.abc import Iterable
from typing import Any

import numpy as np


def as_integer(value: Any) -> int | None:
    """A Python or numpy integer as a Python one; None for all else, booleans and arrays too."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
        return None
    return operator.index(value)


def did_you_mean(name: Any, known: Iterable[str]) -> str:
    """`, did you mean "x"?` for the known name that is like this one, else nothing; case does not count."""
    names = {each.lower(): each for each in known}
    near = difflib.get_close_matches(str(name).lower(), names, n=1)
    return f', did you mean "{names[near[0]]}"?' if near else ""
