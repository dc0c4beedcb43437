"""Programs: steps in SSA form that NumPy can run and that print as MLIR.

A program is for the global batch and knows nothing of devices; roles, phases and scopes are what the compiler
gets to see beside the ops.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import starmap

import numpy as np
from ops import Names, Op, Value


@dataclass(frozen=True)
class Argument:
    value: Value
    role: str  # state | batch | constant
    batch_dim: int = 0


@dataclass(frozen=True)
class Program:
    """A step: `results` in order, each with the index of the argument that it updates, or None.

    Ops before `phases[0]` are forward, from there to `phases[1]` backward, then apply: as locations say it.
    Ops of `scope` (a range of positions) stand in a region.
    """

    arguments: tuple[Argument, ...]
    ops: tuple[Op, ...]
    results: tuple[tuple[Value, int | None], ...]
    phases: tuple[int, int] | None = None
    scope: tuple[int, int] | None = None
    seed: int = field(default=0, compare=False)

    def evaluate(self, inputs: list[np.ndarray]) -> list[np.ndarray]:
        arrays = {argument.value.id: array for argument, array in zip(self.arguments, inputs, strict=True)}
        for op in self.ops:
            arrays[op.result.id] = op.evaluate(arrays)
        return [arrays[value.id] for value, _ in self.results]

    def text(self) -> str:
        return "\n".join(_write(self)) + "\n"

    def prune(self) -> Program:
        """Without the ops and arguments that no result needs. States stay: their updates name them."""
        needed = {value.id for value, _ in self.results}
        kept = []
        for position in reversed(range(len(self.ops))):
            if self.ops[position].result.id in needed:
                kept.append(position)
                needed.update(operand.id for operand in self.ops[position].operands)
        arguments = [a for a in self.arguments if a.role == "state" or a.value.id in needed]
        place = {argument.value.id: index for index, argument in enumerate(arguments)}
        return dataclasses.replace(
            self,
            arguments=tuple(arguments),
            ops=tuple(self.ops[position] for position in reversed(kept)),
            results=tuple(
                (value, None if updates is None else place[self.arguments[updates].value.id])
                for value, updates in self.results
            ),
            phases=_move(self.phases, kept),
            scope=_move(self.scope, kept),
        )


def _move(span: tuple[int, int] | None, kept: list[int]) -> tuple[int, int] | None:
    """The span of the ops at positions `kept` that were in `span`."""
    if span is None:
        return None
    begin, end = (sum(position < edge for position in kept) for edge in span)
    return (begin, end)


def _write(program: Program) -> Iterator[str]:
    names = {argument.value.id: f"%v{argument.value.id}" for argument in program.arguments}
    names |= {op.result.id: f"%v{op.result.id}" for op in program.ops}
    fresh = (f"%t{i}" for i in itertools.count())
    arguments = _join(f"{names[a.value.id]}: {a.value.type} {{{_get_role(a)}}}" for a in program.arguments)
    yield f"func.func @main({arguments}) -> ({_join(starmap(_get_result, program.results))}) {{"
    begin, end = program.scope or (0, 0)
    yield from _write_ops(program, range(begin), names, fresh)
    if begin < end:
        yield from _write_scope(program, range(begin, end), names, fresh)
    yield from _write_ops(program, range(end, len(program.ops)), names, fresh)
    values = [value for value, _ in program.results]
    yield f"return {_join(names[value.id] for value in values)} : {_join(value.type for value in values)}"
    yield "}"


def _join(things: Iterable[object]) -> str:
    return ", ".join(map(str, things))


def _get_role(argument: Argument) -> str:
    batch = f", epl.batch_dim = {argument.batch_dim} : i64" if argument.role == "batch" else ""
    return f'epl.role = "{argument.role}"{batch}'


def _get_result(value: Value, updates: int | None) -> str:
    return str(value.type) + (f" {{epl.updates = {updates} : i64}}" if updates is not None else "")


def _write_ops(program: Program, positions: range, names: Names, fresh: Iterator[str]) -> Iterator[str]:
    """The ops with the locations that a tracer would give them."""
    for position in positions:
        *lines, last = program.ops[position].text(names, fresh)
        yield from lines
        if program.phases is None:
            yield last
        else:
            marker = ("jvp(f)/", "transpose(jvp(f))/", "")[sum(position >= cut for cut in program.phases)]
            yield f'{last} loc("jit(step)/{marker}op{position}")'


def _write_scope(program: Program, positions: range, names: Names, fresh: Iterator[str]) -> Iterator[str]:
    """A region of ops; outside of it what it yields has other names."""
    used = {operand.id for op in program.ops[positions.stop :] for operand in op.operands}
    used |= {value.id for value, _ in program.results}
    made = [program.ops[position].result for position in positions]
    yielded = [value for value in made if value.id in used]
    types = _join(value.type for value in yielded)
    outside = {value.id: f"%s{value.id}" for value in yielded}
    yield f"{_join(outside.values())} = epl.replicate -> {types} {{" if yielded else "epl.replicate {"
    yield from _write_ops(program, positions, names, fresh)
    if yielded:
        yield f"epl.yield {_join(names[value.id] for value in yielded)} : {types}"
    yield "}"
    names.update(outside)
