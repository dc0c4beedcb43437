"""Loops whose length the step computes: how many iterations they are given.

Problem: devices keep one schedule, so a loop has a number of iterations before the step runs; iterations that
come when it has ended are branches that are not taken. How many may there be?
Method: the user states it (`epl.bounded_while`, a name in the locations of what stands in it), or the program
shows it: `(i < 100) & (error > tolerance)` fails when the counter does, whatever the rest is. The condition
and the counters are followed iteration by iteration with what is known: numbers, true and false, nothing
else. Under `jax.vmap` each element has a counter, which stands still where the element has ended; it is
followed as one that goes on. That an ended element stays ended is not looked into, and the user's own
selections look alike. So the bound that follows from it is checked as the step runs, like the one that the
user states.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from jaxlib.mlir import ir

from epl.adapters.jax import scalars
from epl.bounds import NAME

MOST_ITERATIONS = 2_048  # that a program shows: beyond, a bound was not meant as one

_NAME = re.compile(rf"(?:^|[/(]){re.escape(NAME)}(\d+)(?=$|[/)])")
_SAME = ("stablehlo.broadcast_in_dim", "stablehlo.reshape")


class Known(NamedTuple):
    """A number, or true or false. sure: whatever the elements of a batch do."""

    number: np.ndarray
    sure: bool = True


Knowns = Sequence[Known | None]


def stated_bound(location: ir.Location) -> int | None:
    """The iterations that the innermost `epl.bounded_while` round an operation allows its loops."""
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
    """How many iterations a loop has at most; `sure`: it has ended by then. `message`: if it has not."""

    trip_count: int
    sure: bool
    message: str = ""


def bound(
    op: ir.Operation, carried: Sequence[ir.Value], location: ir.Location, follower: Follower
) -> Bound | None:
    """The iterations of a `while` from these carried values on, if the step computes whether one follows.

    None if that is known in all iterations, and if neither a block of the user's nor the program says how
    many.
    """
    stated = stated_bound(location)
    shown = follower.shown_bound(op, carried, min(MOST_ITERATIONS, stated or MOST_ITERATIONS))
    if follower.is_length_known or (shown is None and stated is None):
        return None
    if shown is not None and (stated is None or (shown.sure and shown.trip_count <= stated)):
        return replace(shown, message=_message(shown.trip_count, "state a bound with"))
    assert stated is not None
    return Bound(stated, False, _message(stated, "raise the bound of"))


def _message(trip_count: int, remedy: str) -> str:
    return f"the loop did not end within {trip_count} iterations: {remedy} epl.bounded_while"


class Follower:
    """Follows what is known in the iterations of a loop.

    Args:
      functions: of the module, by name.
      outer: what stands for a value from outside of the loop.
    """

    def __init__(self, functions: Mapping[str, ir.Operation], outer: Callable[[ir.Value], ir.Value]) -> None:
        self._functions, self._outer = functions, outer
        self._known: dict[ir.Value, Known | None] = {}
        self._slices: dict[tuple[ir.Block, tuple[ir.Value, ...]], list[ir.Operation]] = {}
        self.is_length_known = True
        """Whether it is known for sure in every iteration that was followed if there is a next one."""

    def shown_bound(self, op: ir.Operation, carried: Sequence[ir.Value], most: int) -> Bound | None:
        """How many iterations a `while` has from these values on; None if no number up to `most` shows."""
        condition, body = (region.blocks[0] for region in op.regions)
        now: Knowns = [_constant(value) for value in carried]
        for iteration in range(most + 1):
            [goes_on] = self._follow(condition, now, [True])
            self.is_length_known &= goes_on is not None and goes_on.sure
            if goes_on is not None and not goes_on.number:
                return Bound(iteration, goes_on.sure)
            following = self._follow(body, now, [iteration == 0 or known is not None for known in now])
            if following == now:
                return None
            now = following
        return None

    def _follow(self, block: ir.Block, arguments: Knowns, asked: Sequence[bool]) -> list[Known | None]:
        """What is known of those values that a block returns which are asked for."""
        self._known.update(zip(block.arguments, arguments, strict=True))
        *body, terminator = (view.operation for view in block.operations)
        returned = [v for v, is_asked in zip(terminator.operands, asked, strict=True) if is_asked]
        for op in self._needed(block, body, returned):
            self._known.update(zip(op.results, self._results(op), strict=True))
        return [
            self._look_up(value) if is_asked else None
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

    def _look_up(self, value: ir.Value) -> Known | None:
        return self._known[value] if value in self._known else _constant(self._outer(value))

    def _results(self, op: ir.Operation) -> Knowns:
        known = [self._look_up(operand) for operand in op.operands]
        if op.name == "func.call":
            name = ir.FlatSymbolRefAttr(op.attributes["callee"]).value
            return self._follow(self._functions[name].regions[0].blocks[0], known, [True] * len(op.results))
        if op.name == "stablehlo.constant":
            return [_constant(op.results[0])]
        if op.name in _SAME:
            return known
        if op.name == "stablehlo.reduce" and len(known) == 2:
            return [_reduced(op, known)]
        if len(op.results) != 1 or not scalars.has_rule(op):
            return [None] * len(op.results)
        return [_selected(*known) if op.name == "stablehlo.select" else _evaluate(op, known)]


def _selected(predicate: Known | None, on_true: Known | None, on_false: Known | None) -> Known | None:
    """What a selection gives; an element of a batch that has not ended takes the first."""
    if predicate is not None:
        chosen = on_true if predicate.number else on_false
        return None if chosen is None else Known(chosen.number, chosen.sure and predicate.sure)
    if on_true is None:
        return None
    same = on_false is not None and bool(on_true.number == on_false.number)
    return Known(on_true.number, same and on_true.sure and on_false is not None and on_false.sure)


def _reduced(op: ir.Operation, known: Knowns) -> Known | None:
    """Whether any, or all, of equal bools hold."""
    first = op.regions[0].blocks[0].operations[0].operation
    return _evaluate(first, known) if first.name in ("stablehlo.or", "stablehlo.and") else None


def _evaluate(op: ir.Operation, known: Knowns) -> Known | None:
    """As `scalars.evaluate`; an `and` of bools is known once one of them is false, an `or` if one is true."""
    there = [value for value in known if value is not None]
    if op.name in ("stablehlo.and", "stablehlo.or"):
        decides = op.name == "stablehlo.or"
        for value in sorted(there, key=lambda value: not value.sure):
            if value.number.dtype == bool and bool(value.number) == decides:
                return value
    if len(there) < len(known):
        return None
    number = scalars.evaluate(op, [value.number for value in there])
    return None if number is None else Known(number, all(value.sure for value in there))


def _constant(value: ir.Value) -> Known | None:
    """The number that all elements of a constant are, if they are integers or bools."""
    number = scalars.repeated(value)
    return None if number is None else Known(number)
