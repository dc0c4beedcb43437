"""Makes a failing case smaller while it still fails."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator

from check import Case
from program import Argument, Op, Program


def shrink(case: Case, fails: Callable[[Case], bool], budget: int = 200) -> Case:
    """Takes the first smaller case that fails, until there is none or `budget` cases were tried."""
    while budget > 0:
        for smaller in _get_smaller(case):
            budget -= 1
            if fails(smaller):
                case = smaller
                break
            if budget == 0:
                break
        else:
            break
    return case


def _get_smaller(case: Case) -> Iterator[Case]:
    for program in _get_smaller_programs(case.program):
        yield dataclasses.replace(case, program=program.prune())
    if case.devices > 2:
        yield dataclasses.replace(case, devices=2)


def _get_smaller_programs(program: Program) -> Iterator[Program]:
    if len(program.results) > 1:
        for result in program.results:
            yield _with_result(program, result[0].id)
    for position in reversed(range(len(program.ops))):
        yield from _cut(program, position)
    if program.scope:
        yield dataclasses.replace(program, scope=None)
    if program.phases:
        yield dataclasses.replace(program, phases=None)


def _with_result(program: Program, value_id: int) -> Program:
    """One result only; states whose update went away become constants."""
    results = tuple(result for result in program.results if result[0].id == value_id)[:1]
    updated = {updates for _, updates in results}
    arguments = tuple(
        dataclasses.replace(argument, role="constant")
        if argument.role == "state" and index not in updated
        else argument
        for index, argument in enumerate(program.arguments)
    )
    return dataclasses.replace(program, arguments=arguments, results=results, scope=None)


def _cut(program: Program, position: int) -> Iterator[Program]:
    """An argument in the place of an op: a batch where a dimension can be one, then a constant."""
    op = program.ops[position]
    if op.result.type.element == "i1":
        return
    ops: tuple[Op, ...] = program.ops[:position] + program.ops[position + 1 :]
    batches = {a.value.type.shape[a.batch_dim] for a in program.arguments if a.role == "batch"}
    dims = [dim for dim, extent in enumerate(op.result.type.shape) if extent in batches]
    roles = [("batch", dim) for dim in dims] + [("constant", 0)]
    for role, dim in roles:
        argument = Argument(op.result, role, dim)
        yield dataclasses.replace(program, arguments=(*program.arguments, argument), ops=ops, phases=None, scope=None)
