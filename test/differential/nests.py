"""Random loop nests: pointwise ops, reductions, contractions, convolutions."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass

import expression as ex
from ops import NEUTRAL, REDUCTIONS, Constant, Generic, Op, Type, Value, Walk
from values import EXTENTS, MAX_RANK, Values

MAX_ITERATIONS = 2**16


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


class LoopNests(Values):
    """Makers of `Generic`s; they give None if they find no operands that fit."""

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
        inputs, maps = [base], [in_order(base.type)]
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
            maps = [in_order(base.type)]
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
        maps = [in_order(a.type), tuple(walks)]
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


def in_order(type_: Type) -> tuple[Walk, ...]:
    """A loop for each dimension."""
    return tuple((loop,) for loop in range(len(type_.shape)))
