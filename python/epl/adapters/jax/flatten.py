"""Flattens a StableHLO module into `main`: no calls, loops of one iteration or unrolled, all branches or one.

Problem: JAX lowers inner `jit`s (`relu`, `_where`, `log_softmax`, ...) to calls, `scan` and `fori_loop` to
`while`, `cond` and `switch` to `case`. The operations of a callee know only the inner end of their name
stack; scope and phase stand at the call. No sharding rule sees into loops and branches.
Method: partial evaluation. The operations of a callee, of an iteration, of a branch are cloned in its place;
scalar integers that are known (counters, bounds, indices made of them) become constants on the way, so the
condition of a loop of constant length is known at every iteration. Of a long loop the body is cloned once
(`loops.py`). Where the index of a `case` is not known, the operations of all branches stand there and the
results are selected by scalars that stand before them, so that the compiler sees what only one branch needs
(passes/shard/analysis/Branches.h). A loop whose length the step computes has as many iterations as its bound
says, each of them a branch (`whiles.py`). Long functions of elements, such as those that make random bits,
stay calls (`maps.py`). What the step reports is recorded where it is met (`reports.py`).
Invariant out: one function, `main`, without other calls and control flow; an operation's name stack is its
chain of call sites.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from epl.adapters.jax import loops, reports, scalars, whiles
from epl.adapters.jax.locations import unsupported_operation, user_place
from epl.adapters.jax.maps import call_map, is_map
from epl.adapters.jax.reports import Record
from epl.adapters.jax.simplify import compare, constant
from epl.errors import UnsupportedError

MAX_OPERATIONS = 200_000  # that are cloned: about half a minute

MOST_INNER = 2_000  # operations of an inner loop that each iteration of an outer one has, unrolled
MOST_INNER_BRANCHES = 10_000  # of one whose length the step computes: few of them run

Values = dict[ir.Value, ir.Value]


class _LongInnerLoop(Exception):  # noqa: N818  # a choice, no error
    """The loop inside is the one to keep."""


@dataclass(frozen=True)
class Flat:
    """The functions that are still called, by `maps.MAP`, and what the step reports, in program order."""

    maps: dict[str, ir.Operation]
    records: list[Record]


def flatten(module: ir.Module, sites: Sequence[reports.Site] = ()) -> Flat:
    """Flattens `main`, takes the other functions out. Recursion does not occur: JAX unrolls it.

    Args:
      sites: what the module's custom calls report.

    Raises:
      UnsupportedError: for a loop whose length is computed by the step and that has no bound, or that is very
        long.
    """
    functions = {
        ir.StringAttr(op.attributes["sym_name"]).value: op.operation
        for op in module.body.operations
        if op.operation.name == "func.func"
    }
    main = functions.pop("main")
    maps = {name: function for name, function in functions.items() if is_map(function)}
    flattener = _Flattener(functions, maps, sites)
    for op in [view.operation for view in main.regions[0].blocks[0].operations]:
        with ir.InsertionPoint(op):
            results = flattener.replaced(op, {}, None)
        if results is not None:
            for old, new in zip(op.results, results, strict=True):
                old.replace_all_uses_with(new)
            op.erase()
    for name, function in functions.items():
        if name in maps:
            function.detach_from_parent()
        else:
            function.erase()
    return Flat(maps, flattener.records)


class _Flattener:
    """Makes operations at the insertion point. `values` are what those of an outer block have become."""

    def __init__(
        self,
        functions: dict[str, ir.Operation],
        maps: dict[str, ir.Operation],
        sites: Sequence[reports.Site],
    ) -> None:
        self._functions, self._maps, self._sites = functions, maps, sites
        self.records: list[Record] = []
        self._guards: list[tuple[ir.Value, bool]] = []  # of the branches round the insertion point
        self._rules: dict[str, Callable[..., list[ir.Value] | None]] = {
            "func.call": self._call,
            "stablehlo.while": self._while,
            "stablehlo.case": self._case,
            "stablehlo.custom_call": self._custom_call,
        }
        self._cloned = 0
        self._loops = 0
        self._is_in_loop = False
        self._has_bounds = False
        self._chosen: dict[tuple[ir.Value, int], ir.Value] = {}

    def replaced(self, op: ir.Operation, values: Values, caller: ir.Location | None) -> list[ir.Value] | None:
        """What stands for the results of an operation; None if the operation itself does."""
        if rule := self._rules.get(op.name):
            return rule(op, values, caller)
        if (number := scalars.fold(op, [values.get(v, v) for v in op.operands])) is None:
            return None
        with _called_at(op.location, caller):
            return [constant(op.results[0].type, number)]

    def _block(
        self, block: ir.Block, arguments: Sequence[ir.Value], values: Values, caller: ir.Location | None
    ) -> list[ir.Value]:
        """Clones a block; returns what its terminator does."""
        values.update(zip(block.arguments, arguments, strict=True))
        *body, terminator = (view.operation for view in block.operations)
        for op in body:
            results = self.replaced(op, values, caller)
            if results is None:
                results = self._clone(op, values, caller)
            values.update(zip(op.results, results, strict=True))
        return [values.get(value, value) for value in terminator.operands]

    def _clone(self, op: ir.Operation, values: Values, caller: ir.Location | None) -> list[ir.Value]:
        """Clones an operation that uses the new values, in its regions too, and says where it was called."""
        self._cloned += 1
        if self._cloned > MAX_OPERATIONS:
            message = f"loops of more than {MAX_OPERATIONS} operations in all are not supported yet"
            message += ": lower the bounds of epl.bounded_while" if self._has_bounds else ""
            raise UnsupportedError(message, user_place(_called_at(op.location, caller)))

        def adopt(nested: ir.Operation) -> ir.WalkResult:
            for index, operand in enumerate(nested.operands):
                if operand in values:
                    nested.operands[index] = values[operand]
            nested.location = _called_at(nested.location, caller)
            return ir.WalkResult.ADVANCE

        clone = op.clone().operation
        clone.walk(adopt)
        return list(clone.results)

    def _call(self, op: ir.Operation, values: Values, caller: ir.Location | None) -> list[ir.Value]:
        name = ir.FlatSymbolRefAttr(op.attributes["callee"]).value
        arguments = [values.get(value, value) for value in op.operands]
        location = _called_at(op.location, caller)
        if name in self._maps:
            return call_map(self._maps[name], arguments, location)
        return self._block(self._functions[name].regions[0].blocks[0], arguments, {}, location)

    def _custom_call(
        self, op: ir.Operation, values: Values, caller: ir.Location | None
    ) -> list[ir.Value] | None:
        if not reports.is_report(op):
            return None
        operands = [values.get(value, value) for value in op.operands]
        with _called_at(op.location, caller) as location:
            place = user_place(location)
            self.records.append(reports.record(op, self._sites, operands, self._guards, place))
        return []

    def _while(self, op: ir.Operation, values: Values, caller: ir.Location | None) -> list[ir.Value]:
        carried = [values.get(value, value) for value in op.operands]
        results = None if self._is_in_loop else self._kept(op, carried, values, caller)
        return results or self._unrolled(op, carried, values, caller)

    def _kept(
        self, op: ir.Operation, carried: list[ir.Value], values: Values, caller: ir.Location | None
    ) -> list[ir.Value] | None:
        """The results of a loop that stays one; None if it is one to unroll."""

        def clone(iteration: loops.Iteration) -> loops.Loop:
            [goes_on], following = (
                self._block(region.blocks[0], iteration.arguments, values, caller) for region in op.regions
            )
            return loops.Loop(iteration, carried, goes_on, following, self._reported())

        return self._written([value.type for value in carried], clone, _called_at(op.location, caller))

    def _reported(self) -> list[ir.Value]:
        return [value for record in self.records for value in record.values]

    def _written(
        self, types: Sequence[ir.Type], clone: Callable[[loops.Iteration], loops.Loop], location: ir.Location
    ) -> list[ir.Value] | None:
        """The results of the loop whose iteration `clone` clones; None if it is one to unroll."""
        iteration, chosen, outer = loops.Iteration(types), dict(self._chosen), self.records
        cloned, self._is_in_loop, self.records = self._cloned, True, []
        try:
            with ir.InsertionPoint(iteration.block):
                loop = clone(iteration)
            if loop.is_kept:
                results = loop.write(self._loops, location)
                stacks = iter(loop.stacks)
                outer += [r.stacked(self._loops, loop.trip_count, stacks) for r in self.records]
                self._loops += 1
                return results
        except (_LongInnerLoop, UnsupportedError):  # such as for one whose length depends on the iteration
            pass
        finally:
            iteration.erase()
            self._chosen, self.records = chosen, outer
            self._is_in_loop = False
        self._cloned = cloned
        return None

    def _unrolled(
        self, op: ir.Operation, carried: list[ir.Value], values: Values, caller: ir.Location | None
    ) -> list[ir.Value]:
        condition, body = (region.blocks[0] for region in op.regions)
        location = _called_at(op.location, caller)
        follower = whiles.Follower(self._functions, lambda value: values.get(value, value))
        if (bound := whiles.bound(op, carried, location, follower)) is not None:
            return self._bounded(op, bound, carried, values, caller)
        before = self._cloned
        while True:
            self._check_inner(before, MOST_INNER)
            [goes_on] = self._block(condition, carried, values, caller)
            known = scalars.known(goes_on)
            if known is None:
                raise unsupported_operation(op, location)
            if not known:
                return carried
            carried = self._block(body, carried, values, caller)

    def _check_inner(self, before: int, most: int) -> None:
        """A loop inside another one is unrolled, if that makes no more operations than this."""
        if self._is_in_loop and self._cloned - before > most:
            raise _LongInnerLoop

    def _bounded(
        self,
        op: ir.Operation,
        bound: whiles.Bound,
        carried: list[ir.Value],
        values: Values,
        caller: ir.Location | None,
    ) -> list[ir.Value]:
        """A loop whose length the step computes: as many iterations as its bound says, each one a branch."""
        self._has_bounds = True
        carried = [*carried, *self._block(op.regions[0].blocks[0], carried, values, caller)]

        def clone(iteration: loops.Iteration) -> loops.Loop:
            following = self._branch_iteration(op, iteration.arguments, values, caller)
            return loops.Loop(iteration, carried, bound.trip_count, following, self._reported())

        location = _called_at(op.location, caller)
        types = [value.type for value in carried]
        results = None if self._is_in_loop else self._written(types, clone, location)
        if results is None:
            before, results = self._cloned, carried
            for _ in range(bound.trip_count):
                self._check_inner(before, MOST_INNER_BRANCHES)
                results = self._branch_iteration(op, results, values, caller)
        *results, goes_on = results
        if not bound.sure:
            with location:
                place = user_place(location)
                reports.add_unended(self.records, goes_on, bound.message, self._guards, place)
        return results

    def _branch_iteration(
        self, op: ir.Operation, arguments: Sequence[ir.Value], values: Values, caller: ir.Location | None
    ) -> list[ir.Value]:
        """An iteration that is skipped when the loop, as the last argument says, has ended."""
        *carried, goes_on = arguments
        condition, body = (region.blocks[0] for region in op.regions)
        with self._taking([(goes_on, True)]):
            following = self._block(body, carried, values, caller)
            following += self._block(condition, following, values, caller)
        with _called_at(op.location, caller):
            ended = [*carried, constant(goes_on.type, 0)]
            return [
                a if a == b else stablehlo.SelectOp(goes_on, a, b).result
                for a, b in zip(following, ended, strict=True)
            ]

    @contextlib.contextmanager
    def _taking(self, guards: reports.Guards) -> Iterator[None]:
        """Within, operations are those of a branch that is taken where these predicates hold."""
        self._guards += guards
        try:
            yield
        finally:
            del self._guards[len(self._guards) - len(guards) :]

    def _case(self, op: ir.Operation, values: Values, caller: ir.Location | None) -> list[ir.Value]:
        index = values.get(op.operands[0], op.operands[0])
        branches = [region.blocks[0] for region in op.regions]
        if (known := scalars.known(index)) is not None:
            chosen = int(known) if 0 <= known < len(branches) else -1
            return self._block(branches[chosen], [], values, caller)
        with _called_at(op.location, caller):
            are_chosen = [self._is_chosen(index, position) for position in range(len(branches) - 1)]
        guards: list[reports.Guards] = [[(is_chosen, True)] for is_chosen in are_chosen]
        guards.append([(is_chosen, False) for is_chosen in are_chosen])
        results_of = []
        for branch, taken in zip(branches, guards, strict=True):
            with self._taking(taken):
                results_of.append(self._block(branch, [], values, caller))
        *firsts, results = results_of
        with _called_at(op.location, caller):
            for is_chosen, first in reversed(list(zip(are_chosen, firsts, strict=True))):
                results = [
                    a if a == b else stablehlo.SelectOp(is_chosen, a, b).result
                    for a, b in zip(first, results, strict=True)
                ]
        return results

    def _is_chosen(self, index: ir.Value, position: int) -> ir.Value:
        """Whether a `case` takes a branch: one value for a branch and its gradient's."""
        found = self._chosen.get((index, position))
        if found is None or found.owner.operation.block != ir.InsertionPoint.current.block:
            found = compare(index, constant(index.type, position), "EQ")
            self._chosen[index, position] = found
        return found


def _called_at(callee: ir.Location, caller: ir.Location | None) -> ir.Location:
    if caller is None:
        return callee
    return caller if callee == ir.Location.unknown() else ir.Location.callsite(callee, [caller])
