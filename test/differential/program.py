"""Programs: steps in SSA form that NumPy can run and that print as MLIR.

A program is for the global batch; roles, phases, scopes and shardings are what the compiler gets to see
beside the ops.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from alike import find_scoped
from layout import Layout, Sharding, find_sharding_fault, write_mesh, write_sharding
from loop import Loop
from ops import Empty, Names, Op, join
from ranges import make_exact
from tensors import DTYPES, Value


@dataclass(frozen=True)
class Argument:
    value: Value
    role: str  # state | batch | constant
    batch_dim: int = 0
    sharding: Sharding | None = None  # by hand

    def find_fault(self, layout: Layout) -> str | None:
        batch_dim = self.batch_dim if self.role == "batch" else None
        return find_sharding_fault(layout, self.value.type.shape, self.sharding, batch_dim)


@dataclass(frozen=True)
class Region:
    """The ops at positions from `begin` to `end`, in one of the layout's scopes."""

    begin: int
    end: int
    scope: int = 0


@dataclass(frozen=True)
class Program:
    """A step: `results` in order, each with the index of the argument that it updates, or None.

    Ops before `phases[0]` are forward, from there to `phases[1]` backward, then apply: as locations say it.
    Regions stand in their order.
    """

    arguments: tuple[Argument, ...]
    ops: tuple[Op, ...]
    results: tuple[tuple[Value, int | None], ...]
    phases: tuple[int, int] | None = None
    regions: tuple[Region, ...] = ()
    default_strategy: bool = False  # says that ops outside of a scope have a strategy too
    layout: Layout = field(default_factory=lambda: Layout(1))
    named: bool = False  # arguments and results, as a front end names them; MLIR by hand has none
    floats: str = ""  # what floats are: "" integers, so that all is exact; or a key of `floats.SHARES`
    seed: int = field(default=0, compare=False)
    checkpoints: int = 0  # every so many ops a value is named that recomputation keeps; 0: none is
    alike: int = (
        0  # so many micro-batches have the same samples, and ops stand in `epl.per_micro_batch`; 0: none
    )

    def evaluate(self, inputs: list[np.ndarray]) -> list[np.ndarray]:
        """The results, computed on int64, as what their types say."""
        arrays = {
            argument.value.id: array.astype(np.int64)
            for argument, array in zip(self.arguments, inputs, strict=True)
        }
        for op in self.ops:
            for value, array in zip(op.results, op.evaluate(arrays), strict=True):
                arrays[value.id] = array
        return [arrays[value.id].astype(DTYPES[value.type.element]) for value, _ in self.results]

    def evaluate_ranges(self, inputs: list[np.ndarray]) -> list[np.ndarray]:
        """What a right plan may compute (ranges.py)."""
        arrays = {
            argument.value.id: make_exact(array)
            for argument, array in zip(self.arguments, inputs, strict=True)
        }
        with np.errstate(all="ignore"):
            for op in self.ops:
                for value, array in zip(op.results, op.evaluate_ranges(arrays), strict=True):
                    arrays[value.id] = array
        return [arrays[value.id] for value, _ in self.results]

    def text(self) -> str:
        return "\n".join(_write(self)) + "\n"

    def find_scoped(self) -> set[int]:
        """The positions of the ops in `epl.per_micro_batch`."""
        if not self.alike:
            return set()
        batches = {a.value.id: a.batch_dim for a in self.arguments if a.role == "batch"}
        updates = [value for value, updates in self.results if updates is not None]
        return find_scoped(batches, self.ops, updates, self.alike, self.seed)

    def find_faults(self) -> list[str]:
        """What the compiler has to say, one of it, if the program cannot be divided among its devices."""
        if self.layout.outside or self.layout.apart:
            return []
        layout = self._get_said_layout()
        faults = (part.find_fault(layout) for part in (*self.ops, *self.arguments))
        fault = layout.find_fault()
        return [fault] if fault else [fault for fault in faults if fault]

    @property
    def sample_parts(self) -> int:
        """Into how many parts devices cut samples, if all scopes share their devices, at most."""
        if self.layout.outside or self.layout.mesh:
            return self.layout.devices
        return self._get_said_layout().axes.get("data", 1)

    def _get_said_layout(self) -> Layout:
        """The layout without a strategy that nothing in the program says."""
        says_strategy = self.ops and (self.default_strategy or self.regions)
        return self.layout if says_strategy else Layout(self.layout.devices, mesh=self.layout.mesh)

    def prune(self) -> Program:
        """Without the ops and arguments that no result needs, and scopes without work.

        States stay: their updates name them. A tensor of which only the shape counts is no work: the compiler
        makes it wherever it is read.
        """
        ops = [op.trim() for op in self.ops]
        needed = {value.id for value, _ in self.results}
        kept = []
        for position in reversed(range(len(ops))):
            if any(value.id in needed for value in ops[position].results):
                kept.append(position)
                ops[position] = ops[position].keep(needed)
                needed.update(operand.id for operand in ops[position].operands)
        arguments = [a for a in self.arguments if a.role == "state" or a.value.id in needed]
        place = {argument.value.id: index for index, argument in enumerate(arguments)}
        spans = [_move((region.begin, region.end), kept) for region in self.regions]
        regions = [Region(*span, region.scope) for span, region in zip(spans, self.regions, strict=True)]
        working = {
            region.scope
            for region in self.regions
            for i in kept
            if region.begin <= i < region.end and not isinstance(ops[i], Empty)
        }
        return dataclasses.replace(
            self,
            arguments=tuple(arguments),
            ops=tuple(ops[position] for position in reversed(kept)),
            results=tuple(
                (value, None if updates is None else place[self.arguments[updates].value.id])
                for value, updates in self.results
            ),
            phases=self.phases and _move(self.phases, kept),
            regions=tuple(r for r in regions if r.begin < r.end and r.scope in working),
        )._fit_layout()

    def _fit_layout(self) -> Program:
        """With devices only for the task graphs that are there, where each has its own."""
        if not self.layout.apart:
            return self
        used = sorted({region.scope for region in self.regions})
        default = self.default_strategy and self._has_default()
        regions = (dataclasses.replace(region, scope=used.index(region.scope)) for region in self.regions)
        layout = self.layout.keep(used, default)
        return dataclasses.replace(self, regions=tuple(regions), default_strategy=default, layout=layout)

    def _has_default(self) -> bool:
        """Whether forward work on values is outside of all scopes: that of the default strategy.

        Of work that is not forward, too, what its operands are filled with may be.
        """
        forward = self.phases[0] if self.phases else len(self.ops)
        inside = {position for region in self.regions for position in range(region.begin, region.end)}
        return any(op.operands for op in (self.ops[i] for i in range(forward) if i not in inside))


def _move(span: tuple[int, int], kept: list[int]) -> tuple[int, int]:
    """The span of the ops at positions `kept` that were in `span`."""
    begin, end = (sum(position < edge for position in kept) for edge in span)
    return (begin, end)


def _write(program: Program) -> Iterator[str]:
    names = {argument.value.id: f"%v{argument.value.id}" for argument in program.arguments}
    names |= {value.id: f"%v{value.id}" for op in program.ops for value in op.results}
    fresh = (f"%t{i}" for i in itertools.count())
    arguments = join(
        *(f"{names[a.value.id]}: {a.value.type} {{{_get_role(a, program)}}}" for a in program.arguments)
    )
    results = join(*(_get_result(program, index) for index in range(len(program.results))))
    layout = program.layout
    kind, count = layout.outside or (layout.strategy, layout.count)
    strategy = f"#epl.strategy<{kind}, {count}>"
    attributes = f"attributes {{epl.default_strategy = {strategy}}} " if program.default_strategy else ""
    if layout.mesh:
        yield write_mesh(layout.mesh)
    yield f"func.func @main({arguments}) -> ({results}) {attributes}{{"
    written = 0
    for region in program.regions:
        yield from _write_ops(program, range(written, region.begin), names, fresh)
        yield from _write_region(program, region, names, fresh)
        written = region.end
    yield from _write_ops(program, range(written, len(program.ops)), names, fresh)
    values = [value for value, _ in program.results]
    yield f"return {join(*(names[v.id] for v in values))} : {join(*(v.type for v in values))}"
    yield "}"


def _get_role(argument: Argument, program: Program) -> str:
    batch = f", epl.batch_dim = {argument.batch_dim} : i64" if argument.role == "batch" else ""
    sharding = (
        f", epl.sharding = {write_sharding(argument.sharding)}" if argument.sharding is not None else ""
    )
    name = f', epl.name = "{_get_name(argument)}"' if program.named else ""
    return f'epl.role = "{argument.role}"{batch}{sharding}{name}'


def _get_name(argument: Argument) -> str:
    """What a front end calls it: the path of a leaf in a tree."""
    tree = {"state": "params['layer']", "batch": "batch", "constant": "constants"}[argument.role]
    return f"{tree}[{argument.value.id}]"


def _get_result(program: Program, index: int) -> str:
    """The type; which state it updates; the name, which is that of this state, if there are names."""
    value, updates = program.results[index]
    name = f"results[{index}]" if updates is None else _get_name(program.arguments[updates])
    attributes = [] if updates is None else [f"epl.updates = {updates} : i64"]
    attributes += [f'epl.name = "{name}"'] if program.named else []
    return f"{value.type} {{{', '.join(attributes)}}}" if attributes else str(value.type)


def _write_ops(program: Program, positions: range, names: Names, fresh: Iterator[str]) -> Iterator[str]:
    """The ops with the locations that a tracer would give them."""
    scoped = program.find_scoped()
    for position in positions:
        op, location = program.ops[position], _get_location(program, position, position in scoped)
        *lines, last = op.text(names, fresh, location) if isinstance(op, Loop) else op.text(names, fresh)
        yield from lines
        yield last + location
        if program.checkpoints and position % program.checkpoints == 0:
            for value in program.ops[position].results:
                yield f"epl.checkpoint {names[value.id]} : {value.type}"


def _get_location(program: Program, position: int, is_scoped: bool) -> str:
    scope = "epl.per_micro_batch/" if is_scoped else ""
    if program.phases is None:
        return f' loc("jit(step)/{scope}op{position}")' if scope else ""
    marker = ("jvp(f)/", "transpose(jvp(f))/", "")[sum(position >= cut for cut in program.phases)]
    return f' loc("jit(step)/{marker}{scope}op{position}")'


def _write_region(program: Program, region: Region, names: Names, fresh: Iterator[str]) -> Iterator[str]:
    """The ops of a region; outside of it what it yields has other names. Scopes of several have a name."""
    positions = range(region.begin, region.end)
    used = {operand.id for op in program.ops[positions.stop :] for operand in op.operands}
    used |= {value.id for value, _ in program.results}
    made = [value for position in positions for value in program.ops[position].results]
    yielded = [value for value in made if value.id in used]
    types = join(*(value.type for value in yielded))
    outside = {value.id: f"%s{value.id}" for value in yielded}
    kind, count = program.layout.scopes[region.scope]
    again = sum(other.scope == region.scope for other in program.regions) > 1
    scope = f"epl.{kind}" + (f' name("s{region.scope}")' if again else "") + f" devices({count})"
    yield f"{join(*outside.values())} = {scope} -> {types} {{" if yielded else f"{scope} {{"
    yield from _write_ops(program, positions, names, fresh)
    if yielded:
        yield f"epl.yield {join(*(names[value.id] for value in yielded))} : {types}"
    yield "}"
    names.update(outside)
