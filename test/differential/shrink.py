"""Makes a failing case smaller while it still fails."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import expression as ex
from check import AnyCase, Case
from derivatives import Derivatives
from layout import Layout, Sharding, lay_apart
from nest import Nest
from program import Argument, Program, Region
from tensors import Value

# Smaller cases, the smallest first; none if the edit does not apply.
Edit = Callable[[Case], Iterator[Case]]


def shrink(case: AnyCase, fails: Callable[[AnyCase], bool]) -> AnyCase:
    """Applies every edit that leaves the case failing, until none does."""
    before: AnyCase | None = None
    while case != before:
        before = case
        edits: Iterable[Any] = case.edits() if isinstance(case, Derivatives) else _get_edits(case.program)
        for edit in edits:
            case = next(filter(fails, edit(case)), case)
    return case


def _get_edits(program: Program) -> list[Edit]:
    made = [value for op in program.ops for value in op.results]
    results = [partial(_return_only, value) for value in (*made, *(value for value, _ in program.results))]
    cuts = [partial(_cut, op.result.id) for op in reversed(program.ops)]
    bodies = [partial(_simplify, op.result.id) for op in program.ops]
    shardings = [partial(_drop_sharding, argument.value.id) for argument in program.arguments]
    micro = [_drop_micro_batches, _drop_table, _drop_recompute]
    options = [_drop_special, _drop_zero, _drop_offload, _drop_sequence, _drop_machine, *micro]
    layouts: list[Edit] = [*shardings, *options, _replicate, _drop_axes, _take_two_devices, _take_fewer]
    return [*results, *cuts, *bodies, _drop_regions, _drop_phases, _drop_names, *layouts, _take_loops]


def _with(case: Case, program: Program) -> Case:
    return dataclasses.replace(case, program=program.prune())


def _return_only(value: Value, case: Case) -> Iterator[Case]:
    """One result only, if there is such a value; states that it does not update become constants."""
    program = case.program
    values = [
        *(value for op in program.ops for value in op.results),
        *(argument.value for argument in program.arguments),
    ]
    results = tuple(result for result in program.results if result[0] == value)[:1] or ((value, None),)
    if value not in values or program.results == results:
        return
    arguments = tuple(
        dataclasses.replace(argument, role="constant")
        if argument.role == "state" and index != results[0][1]
        else argument
        for index, argument in enumerate(program.arguments)
    )
    yield _with(case, dataclasses.replace(program, arguments=arguments, results=results))


def _cut(value_id: int, case: Case) -> Iterator[Case]:
    """Arguments in the place of an op: batches where a dimension can be one, then constants."""
    program = case.program
    found = [position for position, op in enumerate(program.ops) if op.result.id == value_id]
    if not found:
        return
    position = found[0]
    shorter = dataclasses.replace(
        program,
        ops=program.ops[:position] + program.ops[position + 1 :],
        phases=program.phases and _shift(program.phases, position),
        regions=tuple(
            Region(*_shift((region.begin, region.end), position), region.scope) for region in program.regions
        ),
    )
    batches = {a.value.type.shape[a.batch_dim] for a in program.arguments if a.role == "batch"}
    values = program.ops[position].results
    for skipped in range(len(values[0].type.shape) + 1):
        made = tuple(_make_argument(value, batches, skipped) for value in values)
        yield _with(case, dataclasses.replace(shorter, arguments=(*program.arguments, *made)))


def _make_argument(value: Value, batches: set[int], skipped: int) -> Argument:
    """A batch in a dimension, behind the skipped ones, that could be one; else a constant."""
    dims = [dim for dim, extent in enumerate(value.type.shape) if extent in batches]
    return Argument(value, "batch", dims[skipped]) if skipped < len(dims) else Argument(value, "constant")


def _simplify(value_id: int, case: Case) -> Iterator[Case]:
    """A nest with parts of its bodies in their place."""
    program = case.program
    for position, op in enumerate(program.ops):
        if op.result.id != value_id or type(op) is not Nest:
            continue
        for index, output in enumerate(op.outputs):
            element = op.results[index].type.element
            for part in ex.get_parts(output.body):
                if ex.get_element(part, op.operands) != element:
                    continue
                outputs = list(op.outputs)
                outputs[index] = dataclasses.replace(output, body=part)
                ops = list(program.ops)
                ops[position] = dataclasses.replace(op, outputs=tuple(outputs))
                yield _with(case, dataclasses.replace(program, ops=tuple(ops)))


def _shift(span: tuple[int, int], removed: int) -> tuple[int, int]:
    """A span of positions after the op at `removed` went away."""
    return (span[0] - (removed < span[0]), span[1] - (removed < span[1]))


def _drop_regions(case: Case) -> Iterator[Case]:
    """Without all regions, then without one of them."""
    regions = case.program.regions
    for kept in ((), *(regions[:i] + regions[i + 1 :] for i in range(len(regions)))):
        if kept != regions:
            yield _with(case, dataclasses.replace(case.program, regions=kept))


def _drop_phases(case: Case) -> Iterator[Case]:
    if case.program.phases:
        yield _with(case, dataclasses.replace(case.program, phases=None))


def _drop_names(case: Case) -> Iterator[Case]:
    if case.program.named:
        yield _with(case, dataclasses.replace(case.program, named=False))


def _drop_special(case: Case) -> Iterator[Case]:
    if case.program.floats == "special":
        yield _with(case, dataclasses.replace(case.program, floats="ordinary"))


def _drop_sequence(case: Case) -> Iterator[Case]:
    if case.sequence:
        yield dataclasses.replace(case, sequence=False)


def _drop_machine(case: Case) -> Iterator[Case]:
    if case.machine != "cpu":
        yield dataclasses.replace(case, machine="cpu")


def _drop_micro_batches(case: Case) -> Iterator[Case]:
    if case.micro_batches > 1:
        yield dataclasses.replace(case, micro_batches=1)


def _drop_table(case: Case) -> Iterator[Case]:
    """A schedule that has a name."""
    if case.table:
        yield dataclasses.replace(case, schedule="1f1b")


def _drop_recompute(case: Case) -> Iterator[Case]:
    if case.recompute != "off":
        program = dataclasses.replace(case.program, checkpoints=0)
        yield dataclasses.replace(case, program=program, recompute="off")


def _drop_offload(case: Case) -> Iterator[Case]:
    if case.offload:
        yield dataclasses.replace(case, offload=False)


def _drop_zero(case: Case) -> Iterator[Case]:
    if case.zero != "off":
        yield dataclasses.replace(case, zero="off")


def _drop_sharding(value_id: int, case: Case) -> Iterator[Case]:
    """An argument without its sharding by hand."""
    arguments = case.program.arguments
    bare = tuple(dataclasses.replace(a, sharding=None) if a.value.id == value_id else a for a in arguments)
    if bare != arguments:
        yield _with(case, dataclasses.replace(case.program, arguments=bare))


def _lay_out(case: Case, layout: Layout) -> Iterator[Case]:
    """Another layout, without the axes and scopes that it lacks, if the program can be divided so."""
    names = dict(layout.mesh)
    arguments = tuple(
        dataclasses.replace(a, sharding=_keep_axes(a.sharding, names)) for a in case.program.arguments
    )
    regions = tuple(region for region in case.program.regions if region.scope < len(layout.scopes))
    program = dataclasses.replace(case.program, layout=layout, arguments=arguments, regions=regions)
    if layout != case.program.layout and not program.find_faults():
        yield _with(case, program)


def _keep_axes(sharding: Sharding | None, names: dict[str, int]) -> Sharding | None:
    if sharding is None or not names:
        return None
    return tuple(tuple(axis for axis in axes if axis in names) for axes in sharding)


def _replicate(case: Case) -> Iterator[Case]:
    yield from _lay_out(case, Layout(case.program.layout.devices))


def _drop_axes(case: Case) -> Iterator[Case]:
    """The mesh without one of its axes."""
    mesh = case.program.layout.mesh
    for axis in mesh if len(mesh) > 1 else ():
        rest = tuple(other for other in mesh if other != axis)
        yield from _lay_out(case, Layout(math.prod(size for _, size in rest), mesh=rest))


def _take_two_devices(case: Case) -> Iterator[Case]:
    layout = case.program.layout
    if layout.devices > 2 and len(layout.mesh) < 2 and not layout.apart:
        mesh = tuple((name, 2) for name, _ in layout.mesh)
        outside = layout.outside and (layout.outside[0], min(layout.outside[1], 2))
        if not outside or layout.devices % 2 == 0:  # then two divide the batch
            yield from _lay_out(case, Layout(2, layout.strategy, min(layout.count, 2), mesh, outside))


def _take_fewer(case: Case) -> Iterator[Case]:
    """One replica of scopes that are apart, then one device for each of them; all that divided still does."""
    layout = case.program.layout
    if layout.apart and layout.devices > 1:
        yield from _lay_out(case, dataclasses.replace(layout, devices=layout.replica_devices))
        scopes = [(kind, 1) for kind, _ in layout.scopes]
        outside = layout.outside and (layout.outside[0], 1)
        small = lay_apart(layout.replicas * (layout.meshes or len(layout.strategies)), scopes, outside)
        yield from _lay_out(case, dataclasses.replace(small, meshes=layout.meshes))


def _take_loops(case: Case) -> Iterator[Case]:
    if case.kernels == "vectorized":
        yield dataclasses.replace(case, kernels="loops", cpu="host")
    if case.cpu != "host":
        yield dataclasses.replace(case, cpu="host")
