"""Loops whose length the step computes: how many turns they are given.

Problem: devices keep one schedule, so a loop has a number of turns before the step runs; turns that come when
it has ended are branches that are not taken. How many may there be?
Method: the user states it (`epl.bounded_while`, a name in the locations of what stands in it), or the program
shows it: `(i < 100) & (error > tolerance)` fails when the counter does, whatever the rest is. The condition
and the counters are followed turn by turn with what is known: numbers, true and false, nothing else. Under
`jax.vmap` each element has a counter, which stands still where the element has ended; it is followed as one
that goes on. That an ended element stays ended is not looked into, and the user's own selections look alike.
So the bound that follows from it is checked as the step runs, like the one that the user states.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxlib.mlir import ir

from epl.adapters.jax import scalars
from epl.bounds import NAME

MOST_TURNS = 2_048  # that a program shows: beyond, a bound was not meant as one

_NAME = re.compile(rf"(?:^|[/(]){re.escape(NAME)}(\d+)(?=$|[/)])")
_SAME = ("stablehlo.broadcast_in_dim", "stablehlo.reshape", "stablehlo.convert")

Numbers = dict[ir.Value, np.ndarray | None]


def stated_bound(location: ir.Location) -> int | None:
    """The turns that the innermost `epl.bounded_while` round an operation allows its loops."""
    return next((int(found[-1]) for name in _names(location) if (found := _NAME.findall(name))), None)


def _names(location: ir.Location) -> Iterator[str]:
    """The parts of a location's name stack, innermost first."""
    match location:
        case ir.NameLoc() as named:
            yield named.name_str
            yield from _names(named.child_loc)
        case ir.CallSiteLoc() as called:
            yield from _names(called.callee)
            yield from _names(called.caller)
        case ir.FusedLoc() as fused:
            for part in fused.locations:
                yield from _names(part)


@dataclass(frozen=True)
class Bound:
    """How many turns a loop has at most; `sure`: it has ended by then. `message`: if it has not."""

    turns: int
    sure: bool
    message: str = ""


def bound(
    op: ir.Operation, carried: Sequence[ir.Value], location: ir.Location, follower: Follower
) -> Bound | None:
    """The turns of a `while` from these carried values on, if the step computes whether there is a next one.

    None if that is known in all turns, and if neither a block of the user's nor the program says how many.
    """
    stated = stated_bound(location)
    shown = follower.shown_bound(op, carried, min(MOST_TURNS, stated or MOST_TURNS))
    if follower.is_decided or (shown is None and stated is None):
        return None
    if stated is None or (shown is not None and shown.turns <= stated):
        assert shown is not None
        return replace(shown, message=_message(shown.turns, "state a bound with"))
    return Bound(stated, False, _message(stated, "raise the bound of"))


def _message(turns: int, remedy: str) -> str:
    return f"the loop did not end within {turns} iterations: {remedy} epl.bounded_while"


class Follower:
    """Follows what is known in the turns of a loop.

    Args:
      functions: of the module, by name.
      outer: what stands for a value from outside of the loop.
    """

    def __init__(self, functions: Mapping[str, ir.Operation], outer: Callable[[ir.Value], ir.Value]) -> None:
        self._functions, self._outer = functions, outer
        self._numbers: Numbers = {}
        self._slices: dict[tuple[ir.Block, tuple[ir.Value, ...]], list[ir.Operation]] = {}
        self._sure = True
        self.is_decided = True
        """Whether it is known in every turn that was followed if there is a next one."""

    def shown_bound(self, op: ir.Operation, carried: Sequence[ir.Value], most: int) -> Bound | None:
        """How many turns a `while` has from these carried values on; None if no number up to `most` shows."""
        condition, body = (region.blocks[0] for region in op.regions)
        now = [_constant(value) for value in carried]
        for turn in range(most + 1):
            [goes_on] = self._follow(condition, now, [True])
            self.is_decided &= goes_on is not None
            if goes_on is not None and not goes_on:
                return Bound(turn, self._sure)
            following = self._follow(body, now, [turn == 0 or number is not None for number in now])
            if following == now:
                return None
            now = following
        return None

    def _follow(
        self, block: ir.Block, arguments: Sequence[np.ndarray | None], asked: Sequence[bool]
    ) -> list[np.ndarray | None]:
        """What is known of those values that a block returns which are asked for."""
        for argument, number in zip(block.arguments, arguments, strict=True):
            self._numbers[argument] = number
        *body, terminator = (view.operation for view in block.operations)
        returned = [v for v, is_asked in zip(terminator.operands, asked, strict=True) if is_asked]
        for op in self._needed(block, body, returned):
            for result, number in zip(op.results, self._results(op), strict=True):
                self._numbers[result] = number
        return [
            self._number(value) if is_asked else None
            for value, is_asked in zip(terminator.operands, asked, strict=True)
        ]

    def _needed(
        self, block: ir.Block, body: Sequence[ir.Operation], returned: Sequence[ir.Value]
    ) -> list[ir.Operation]:
        """The operations of a block that values depend on, in order."""
        key = (block, tuple(returned))
        if key not in self._slices:
            needed = set(returned)
            operations = []
            for op in reversed(body):
                if any(result in needed for result in op.results):
                    operations.append(op)
                    needed.update(op.operands)
            self._slices[key] = operations[::-1]
        return self._slices[key]

    def _number(self, value: ir.Value) -> np.ndarray | None:
        return self._numbers[value] if value in self._numbers else _constant(self._outer(value))

    def _results(self, op: ir.Operation) -> list[np.ndarray | None]:
        known = [self._number(operand) for operand in op.operands]
        if op.name == "func.call":
            name = ir.FlatSymbolRefAttr(op.attributes["callee"]).value
            return self._follow(self._functions[name].regions[0].blocks[0], known, [True] * len(op.results))
        if op.name == "stablehlo.constant":
            return [_constant(op.results[0])]
        if op.name in _SAME[:2]:
            return known
        if op.name == "stablehlo.reduce" and len(known) == 2:
            return [self._reduced(op, known)]
        if len(op.results) != 1 or not scalars.has_rule(op):
            return [None] * len(op.results)
        return [self._selected(known) if op.name == "stablehlo.select" else _evaluate(op, known)]

    def _selected(self, known: Sequence[np.ndarray | None]) -> np.ndarray | None:
        predicate, on_true, on_false = known
        if predicate is None:
            if on_true is not None:
                self._sure &= on_false is not None and bool(on_true == on_false)
            return on_true
        return on_true if predicate else on_false

    def _reduced(self, op: ir.Operation, known: Sequence[np.ndarray | None]) -> np.ndarray | None:
        """Whether any, or all, of equal bools hold."""
        first = op.regions[0].blocks[0].operations[0].operation
        if first.name not in ("stablehlo.or", "stablehlo.and"):
            return None
        return _evaluate(first, known)


def _evaluate(op: ir.Operation, known: Sequence[np.ndarray | None]) -> np.ndarray | None:
    """As `scalars.evaluate`; an `and` of bools is known once one of them is false, an `or` if one is true."""
    if op.name in ("stablehlo.and", "stablehlo.or") and (sure := [n for n in known if n is not None]):
        decides = op.name == "stablehlo.or"
        if found := [number for number in sure if number.dtype == bool and bool(number) == decides]:
            return found[0]
    return scalars.evaluate(op, known)


def _constant(value: ir.Value) -> np.ndarray | None:
    """The number that all elements of a constant are, if they are integers or bools."""
    return scalars.repeated(value)
