"""Random programs. Every value carries a bound, so that all of its sums are exact whatever their order."""

from __future__ import annotations

import dataclasses
import math
import random
from collections.abc import Callable
from dataclasses import dataclass

import expression as ex
from ops import (
    NEUTRAL,
    REDUCTIONS,
    Concatenate,
    Constant,
    ExtractSlice,
    Generic,
    InsertSlice,
    Op,
    Pad,
    Reshape,
    Type,
    Value,
    Walk,
)
from program import Argument, Program

EXTENTS = [1, 2, 3, 4, 5, 7, 8, 17]
MAX_ELEMENTS = 4096
MAX_ITERATIONS = 2**16
MAX_RANK = 4
INPUT_BOUND = 3


def make_program(seed: int) -> Program:
    return Generator(seed).run()


@dataclass(frozen=True)
class LoopNest:
    """What `Generic` says of loops and body; `init` is a number or the value that a reduction starts from."""

    inputs: list[Value]
    maps: list[tuple[Walk, ...]]
    extents: tuple[int, ...]
    result_map: tuple[int, ...]
    body: ex.Expression
    reduction: str | None = None
    init: int | Value = 0


class Generator:
    """Adds random ops to a program; the makers of ops return None if they find no operands that fit."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.random = random.Random(seed)
        self.element = self.random.choices(["f32", "f64", "i32", "i64"], [6, 1, 2, 1])[0]
        self.limit = ex.LIMITS[self.element]
        self.batch = self.random.choice([12, 24])
        self.arguments: list[Argument] = []
        self.ops: list[Op] = []
        self.values: list[Value] = []

    def run(self) -> Program:
        self._add_arguments()
        makers: dict[Callable[[], Op | None], int] = {
            self._make_pointwise: 8,
            self._make_reduction: 4,
            self._make_contraction: 5,
            self._make_window: 1,
            self._make_collapse: 1,
            self._make_expand: 1,
            self._make_extract_slice: 1,
            self._make_insert_slice: 1,
            self._make_pad: 1,
            self._make_concatenate: 1,
            self._make_constant: 1,
        }
        for _ in range(self.random.randint(6, 20)):
            self._add(self.random.choices(list(makers), list(makers.values()))[0]())
        results = self._make_results()
        cuts = sorted(self.random.randint(0, len(self.ops)) for _ in range(4))
        return Program(
            tuple(self.arguments),
            tuple(self.ops),
            tuple(results),
            phases=(cuts[1], cuts[2]) if self.random.random() < 0.5 else None,
            scope=(cuts[0], cuts[3]) if self.random.random() < 0.3 and cuts[0] < cuts[3] else None,
            seed=self.seed,
        ).prune()

    # Values

    def _new(self, shape: tuple[int, ...], element: str, bound: int) -> Value:
        return Value(len(self.arguments) + len(self.ops), Type(shape, element), bound)

    def _add(self, op: Op | None) -> None:
        if op is not None and math.prod(op.result.type.shape) <= MAX_ELEMENTS:
            self.ops.append(op)
            self.values.append(op.result)

    def _add_arguments(self) -> None:
        for role, least, most in (("batch", 1, 3), ("state", 0, 3), ("constant", 0, 2)):
            for _ in range(self.random.randint(least, most)):
                shape = [self.random.choice(EXTENTS) for _ in range(self.random.randint(0, 2))]
                batch_dim = self.random.choice([0, 0, 0, len(shape)])
                if role == "batch":
                    shape.insert(batch_dim, self.batch)
                value = self._new(tuple(shape), self.element, INPUT_BOUND)
                self.arguments.append(Argument(value, role, batch_dim))
                self.values.append(value)

    def _pick(self, accept: Callable[[Value], bool] = lambda value: True) -> Value | None:
        """A value, rather a late one, and rather one with a dimension of the batch's extent."""
        values = [value for value in self.values if accept(value)]
        if not values:
            return None
        if self.random.random() < 0.5:
            values = [value for value in values if self.batch in value.type.shape] or values
        return values[max(self.random.randrange(len(values)), self.random.randrange(len(values)))]

    def _pick_number(self, min_rank: int = 0) -> Value | None:
        return self._pick(lambda value: value.type.element != "i1" and len(value.type.shape) >= min_rank)

    # Loop nests

    def _match(self, value: Value, extents: tuple[int, ...]) -> tuple[Walk, ...] | None:
        """Loops of the right extents for the dimensions of `value`, in any order; extent 1 may need none."""
        walks: list[Walk] = []
        free = set(range(len(extents)))
        for extent in value.type.shape:
            loops = [loop for loop in sorted(free) if extents[loop] == extent]
            if not loops and extent != 1:
                return None
            walks.append((self.random.choice(loops),) if loops else ())
            free -= set(walks[-1])
        return tuple(walks)

    def _pick_inputs(
        self, base: Value, extents: tuple[int, ...]
    ) -> tuple[list[Value], list[tuple[Walk, ...]]]:
        """`base`, walked in order, and up to two more values that fit the loops."""
        inputs, maps = [base], [_in_order(base.type)]
        for _ in range(self.random.randint(0, 2)):
            other = self._pick()
            walks = self._match(other, extents) if other else None
            if other and walks is not None:
                inputs.append(other)
                maps.append(walks)
        return inputs, maps

    def _make_number(self, k: int, inputs: list[Value], loops: int) -> ex.Expression:
        """A number made of input `k`, and perhaps of constants or indices."""
        leaf: ex.Expression = ("in", k)
        if inputs[k].type.element == "i1":
            leaf = ("count", leaf)
        roll = self.random.random()
        if roll < 0.1 and loops:
            return ("add", leaf, ("index", self.random.randrange(loops)))
        if roll < 0.3:
            return (
                self.random.choice(["add", "sub", "mul", "max", "min"]),
                leaf,
                ("const", self.random.randint(-3, 3)),
            )
        return ("abs", leaf) if roll < 0.35 else leaf

    def _make_body(self, inputs: list[Value], loops: int) -> ex.Expression:
        """A number made of all inputs."""
        body = self._make_number(0, inputs, loops)
        for k in range(1, len(inputs)):
            other = self._make_number(k, inputs, loops)
            head = self.random.choice(["add", "sub", "mul", "mul", "max", "min", "select"])
            if head != "select":
                body = (head, body, other)
            elif inputs[k].type.element == "i1":
                body = ("select", ("in", k), body, ("const", self.random.randint(0, 2)))
            else:
                body = ("select", (self.random.choice(["lt", "eq"]), body, other), body, other)
        return body

    def _finish(self, nest: LoopNest) -> Generic | None:
        """The op of a loop nest, if it is not too large and its numbers are not."""
        if math.prod(nest.extents) > MAX_ITERATIONS or len(nest.extents) > MAX_RANK + 1:
            return None
        elements = [value.type.element for value in nest.inputs]
        if self._get_bound(nest) is None:
            nest = dataclasses.replace(nest, body=ex.clamp(nest.body, elements))
        bound = self._get_bound(nest)
        if bound is None:
            return None
        shape = tuple(nest.extents[loop] for loop in nest.result_map)
        element = "i1" if ex.is_bool(nest.body, elements) else self.element
        starts = [nest.init] if isinstance(nest.init, Value) else []
        return Generic(
            self._new(shape, element, bound),
            (*nest.inputs, *starts),
            nest.extents,
            tuple(nest.maps),
            nest.result_map,
            nest.body,
            nest.reduction,
            None if isinstance(nest.init, Value) else nest.init,
        )

    def _get_bound(self, nest: LoopNest) -> int | None:
        bound = ex.bound(nest.body, [value.bound for value in nest.inputs], nest.extents, self.limit)
        if bound is None or nest.reduction in (None, "any", "all"):
            return bound
        start = nest.init.bound if isinstance(nest.init, Value) else abs(nest.init)
        if nest.reduction == "sum":
            kept = math.prod(nest.extents[loop] for loop in nest.result_map)
            bound = bound * (math.prod(nest.extents) // kept) + start
        elif start < NEUTRAL:
            bound = max(bound, start)
        return bound if bound <= min(self.limit, NEUTRAL) else None

    # Ops

    def _make_pointwise(self, base: Value | None = None) -> Op | None:
        base = base or self._pick()
        if base is None:
            return None
        extents = base.type.shape
        if self.random.random() < 0.15 and len(extents) < MAX_RANK:
            extents = (*extents, self.random.choice([*EXTENTS, self.batch]))
        inputs, maps = self._pick_inputs(base, extents)
        body = self._make_body(inputs, len(extents))
        if self.random.random() < 0.15:
            body = (self.random.choice(["lt", "eq"]), body, ("const", self.random.randint(-2, 2)))
        result_map = list(range(len(extents)))
        if self.random.random() < 0.2:
            self.random.shuffle(result_map)
        return self._finish(LoopNest(inputs, maps, extents, tuple(result_map), body))

    def _make_reduction(self) -> Op | None:
        base = self._pick(lambda value: len(value.type.shape) > 0)
        if base is None:
            return None
        extents = base.type.shape
        kept = [loop for loop in range(len(extents)) if self.random.random() < 0.5]
        if len(kept) == len(extents):
            kept.pop()
        if base.type.element == "i1":
            kind = self.random.choice(["any", "all"])
            init = REDUCTIONS[kind][2]
            maps = [_in_order(base.type)]
            return self._finish(LoopNest([base], maps, extents, tuple(kept), ("in", 0), kind, init))
        kind = self.random.choice(["sum", "sum", "sum", "max", "min"])
        inputs, maps = self._pick_inputs(base, extents)
        body = self._make_body(inputs, len(extents))
        start = self._pick_init(tuple(extents[loop] for loop in kept), kind)
        return self._finish(LoopNest(inputs, maps, extents, tuple(kept), body, kind, start))

    def _pick_init(self, shape: tuple[int, ...], kind: str) -> int | Value:
        """What a reduction starts from: mostly what is neutral."""
        roll = self.random.random()
        if roll < 0.1:
            return self._pick(lambda value: value.type == Type(shape, self.element)) or 0
        return 5 if roll < 0.15 else REDUCTIONS[kind][2]

    def _make_contraction(self) -> Op | None:
        a, b = self._pick_number(1), self._pick_number(1)
        if a is None or b is None:
            return None
        extents, walks = list(a.type.shape), []
        shared: list[int] = []
        for extent in b.type.shape:
            loops = [i for i in range(len(a.type.shape)) if extents[i] == extent and i not in shared]
            if loops and self.random.random() < 0.8:
                shared.append(self.random.choice(loops))
                walks.append((shared[-1],))
            else:
                walks.append((len(extents),))
                extents.append(extent)
        reduced = {loop for loop in shared if self.random.random() < 0.8}
        if not reduced:
            return None
        kept = [loop for loop in range(len(extents)) if loop not in reduced]
        if self.random.random() < 0.3:
            self.random.shuffle(kept)
        maps = [_in_order(a.type), tuple(walks)]
        body = ("mul", ("in", 0), ("in", 1))
        return self._finish(LoopNest([a, b], maps, tuple(extents), tuple(kept), body, "sum"))

    def _make_window(self) -> Op | None:
        """A convolution along one dimension."""
        base = self._pick_number(1)
        if base is None:
            return None
        dim, size = self.random.randrange(len(base.type.shape)), self.random.choice([2, 3])
        if base.type.shape[dim] < size:
            return None
        weights = tuple(self.random.randint(-1, 2) for _ in range(size))
        self._add(Constant(self._new((size,), self.element, 2), (), weights))
        extents = [*base.type.shape, size]
        extents[dim] -= size - 1
        window = len(extents) - 1
        walks: tuple[Walk, ...] = tuple((loop, window) if loop == dim else (loop,) for loop in range(window))
        kind = self.random.choice(["sum", "max"])
        body = ("mul", ("in", 0), ("in", 1))
        inputs, maps = [base, self.values[-1]], [walks, ((window,),)]
        result_map = tuple(range(window))
        return self._finish(
            LoopNest(inputs, maps, tuple(extents), result_map, body, kind, REDUCTIONS[kind][2])
        )

    def _make_collapse(self) -> Op | None:
        source = self._pick(lambda value: len(value.type.shape) > 1)
        if source is None:
            return None
        dim = self.random.randrange(len(source.type.shape) - 1)
        groups = (
            [(d,) for d in range(dim)]
            + [(dim, dim + 1)]
            + [(d,) for d in range(dim + 2, len(source.type.shape))]
        )
        shape = tuple(math.prod(source.type.shape[d] for d in group) for group in groups)
        return Reshape(self._new(shape, source.type.element, source.bound), (source,), tuple(groups))

    def _make_expand(self) -> Op | None:
        source = self._pick(lambda value: 0 < len(value.type.shape) < MAX_RANK)
        if source is None:
            return None
        rank = len(source.type.shape)
        dim = self.random.randrange(rank)
        extent = source.type.shape[dim]
        factor = self.random.choice([f for f in range(1, extent + 1) if extent % f == 0])
        shape = (*source.type.shape[:dim], factor, extent // factor, *source.type.shape[dim + 1 :])
        groups = [(d,) for d in range(dim)] + [(dim, dim + 1)] + [(d + 1,) for d in range(dim + 1, rank)]
        return Reshape(self._new(shape, source.type.element, source.bound), (source,), tuple(groups))

    def _make_place(self, whole: tuple[int, ...], part: tuple[int, ...] | None) -> list[tuple[int, int, int]]:
        """Offset, size and stride for each dimension of a slice."""
        place = []
        for dim, extent in enumerate(whole):
            if part is None and self.random.random() < 0.6:
                place.append((0, extent, 1))
                continue
            size = part[dim] if part else self.random.randint(1, extent)
            stride = 2 if (size - 1) * 2 < extent and self.random.random() < 0.3 else 1
            place.append((self.random.randint(0, extent - 1 - (size - 1) * stride), size, stride))
        return place

    def _make_extract_slice(self) -> Op | None:
        source = self._pick(lambda value: len(value.type.shape) > 0)
        if source is None:
            return None
        offsets, sizes, strides = zip(*self._make_place(source.type.shape, None), strict=True)
        return ExtractSlice(
            self._new(sizes, source.type.element, source.bound), (source,), offsets, sizes, strides
        )

    def _make_insert_slice(self) -> Op | None:
        whole = self._pick(lambda value: len(value.type.shape) > 0)
        part = whole and self._pick(lambda value: _fits(value.type, whole.type))
        if whole is None or part is None:
            return None
        offsets, sizes, strides = zip(*self._make_place(whole.type.shape, part.type.shape), strict=True)
        result = self._new(whole.type.shape, whole.type.element, max(whole.bound, part.bound))
        return InsertSlice(result, (part, whole), offsets, sizes, strides)

    def _make_pad(self) -> Op | None:
        source = self._pick_number(1)
        if source is None:
            return None
        low, high = (tuple(self.random.choice([0, 0, 1, 2]) for _ in source.type.shape) for _ in range(2))
        padding = self.random.choice([0, 0, 2])
        shape = tuple(a + extent + b for a, extent, b in zip(low, source.type.shape, high, strict=True))
        result = self._new(shape, source.type.element, max(source.bound, padding))
        return Pad(result, (source,), low, high, padding)

    def _make_concatenate(self) -> Op | None:
        first = self._pick(lambda value: len(value.type.shape) > 0)
        if first is None:
            return None
        dim = self.random.randrange(len(first.type.shape))
        second = self._pick(lambda value: _without(value.type, dim) == _without(first.type, dim)) or first
        shape = list(first.type.shape)
        shape[dim] += second.type.shape[dim]
        result = self._new(tuple(shape), first.type.element, max(first.bound, second.bound))
        return Concatenate(result, (first, second), dim)

    def _make_constant(self) -> Op | None:
        shape = tuple(self.random.choice([*EXTENTS, self.batch]) for _ in range(self.random.randint(0, 2)))
        count = 1 if self.random.random() < 0.5 else math.prod(shape)
        numbers = tuple(self.random.randint(-2, 2) for _ in range(count))
        return Constant(self._new(shape, self.element, 2), (), numbers)

    # Results

    def _make_results(self) -> list[tuple[Value, int | None]]:
        """The next value of every state, and values that nothing reads yet."""
        results: list[tuple[Value, int | None]] = []
        for index, argument in enumerate(self.arguments):
            if argument.role == "state":
                results.append((self._make_update(argument.value), index))
        read = {operand.id for op in self.ops for operand in op.operands}
        unread = [
            op.result
            for op in self.ops
            if op.result.id not in read and all(op.result != v for v, _ in results)
        ]
        results += [(value, None) for value in unread[-4:]]
        return results or [(self.values[-1], None)]

    def _make_update(self, state: Value) -> Value:
        candidates = [op.result for op in self.ops if op.result.type == state.type]
        if candidates:
            return self.random.choice(candidates)
        maps = [_in_order(state.type)]
        loops = tuple(range(len(state.type.shape)))
        op = self._finish(LoopNest([state], maps, state.type.shape, loops, ("sub", ("const", 1), ("in", 0))))
        if op is None or self.random.random() < 0.1:
            return state  # comes back as it was
        self._add(op)
        return op.result


def _in_order(type_: Type) -> tuple[Walk, ...]:
    """A loop for each dimension."""
    return tuple((loop,) for loop in range(len(type_.shape)))


def _fits(part: Type, whole: Type) -> bool:
    return (
        part.element == whole.element
        and len(part.shape) == len(whole.shape)
        and all(a <= b for a, b in zip(part.shape, whole.shape, strict=True))
    )


def _without(type_: Type, dim: int) -> tuple[str, tuple[int, ...]] | None:
    """What types that can be joined along `dim` have in common."""
    if len(type_.shape) <= dim:
        return None
    return type_.element, (*type_.shape[:dim], 0, *type_.shape[dim + 1 :])
