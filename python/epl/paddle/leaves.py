"""What a step calls the variables of a program."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import replace

from epl.servers.strategy import ParameterServer

_BLOCK_OF_LEAF = re.compile(r"shared\[(.*)\]((?:\.block[0-9]+)?)", re.DOTALL)


def with_leaves(strategy: ParameterServer) -> ParameterServer:
    """A strategy whose dispatch, if a function of names of variables, is one of what steps call them."""
    dispatch = strategy.dispatch
    if not callable(dispatch):
        return strategy

    def of_leaves(names: Sequence[str]) -> Sequence[int]:
        found = [_BLOCK_OF_LEAF.fullmatch(name) for name in names]
        return dispatch([f"{ast.literal_eval(each[1])}{each[2]}" for each in found if each])

    return replace(strategy, dispatch=of_leaves)


def leaf(name: str) -> str:
    """What a step calls a variable of which all devices have one value."""
    return f"shared[{name!r}]"
