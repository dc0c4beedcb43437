"""Loop nests: linalg.generic with one or more results, and the named ops that are the same."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import expression as ex
import numpy as np
import range_expressions
from ops import Arrays, Names, Op, join, write_fill, write_list
from range_functions import find_extreme, reduce_range
from ranges import make_exact
from tensors import LIMITS, Value, constant, extreme, is_float


class Walk(NamedTuple):
    """How a nest walks one dimension of a tensor: at the sum of loops times factors, plus an offset."""

    terms: tuple[tuple[int, int], ...] = ()
    offset: int = 0

    def __str__(self) -> str:
        terms = [f"d{loop}" if factor == 1 else f"d{loop} * {factor}" for loop, factor in self.terms]
        return " + ".join([*terms, str(self.offset)] if self.offset or not terms else terms)


Map = tuple[Walk, ...]
Compute = Callable[..., np.ndarray]  # of an output: what its body is in all iterations
Reduce = Callable[..., np.ndarray]  # of an output, its element type, a space, axes, and what it starts from


def along(*loops: int) -> Map:
    """A loop for each dimension."""
    return tuple(Walk(((loop, 1),)) for loop in loops)


class Reduction(NamedTuple):
    """The operator of the body, NumPy's function, and a number that changes nothing (of int64)."""

    operator: str
    combine: np.ufunc
    neutral: int


LARGE = 2**60

REDUCTIONS = {
    "sum": Reduction("add", np.add, 0),
    "prod": Reduction("mul", np.multiply, 1),
    "max": Reduction("max", np.maximum, -LARGE),
    "min": Reduction("min", np.minimum, LARGE),
    "or": Reduction("bitor", np.bitwise_or, 0),
    "and": Reduction("bitand", np.bitwise_and, -1),
    "xor": Reduction("bitxor", np.bitwise_xor, 0),
}


@dataclass(frozen=True)
class Output:
    """A result of a nest: the loops that it keeps, the body, and a reduction over the other loops.

    A reduction starts from `init`, from what changes nothing if that is "neutral" or "extreme" (of max and
    min: the least number of the type, or infinity), or, if it is None, from an operand.
    """

    kept: tuple[int, ...]
    body: ex.Expression
    reduction: str | None = None
    init: int | str | None = "neutral"

    def write_init(self, element: str) -> str:
        if self.init == "extreme" and self.reduction in ("max", "min"):
            return extreme(-1 if self.reduction == "max" else 1, element)
        return constant(self.get_init(element), element)

    def get_init(self, element: str) -> int:
        """The number that it starts from, unless that is an operand, the least one or an infinity."""
        if isinstance(self.init, int):
            return self.init
        if self.reduction in ("max", "min"):
            return -LIMITS[element] if self.reduction == "max" else LIMITS[element]
        return REDUCTIONS[self.reduction or "sum"].neutral


@dataclass(frozen=True)
class Nest(Op):
    """linalg.generic. The operands: inputs (one for each map), captured tensors, what results start from."""

    extents: tuple[int, ...]
    maps: tuple[Map, ...]
    outputs: tuple[Output, ...]

    @property
    def inputs(self) -> tuple[Value, ...]:
        return self.operands[: len(self.maps)]

    def evaluate(self, arrays: Arrays) -> list[np.ndarray]:
        return self._evaluate(arrays, lambda output, *rest: ex.evaluate(output.body, *rest), self._reduce)

    def evaluate_ranges(self, arrays: Arrays) -> list[np.ndarray]:
        def compute(output: Output, *rest: list[np.ndarray]) -> np.ndarray:
            adds = output.reduction == "sum"
            evaluate = range_expressions.evaluate_products if adds else range_expressions.evaluate
            return evaluate(output.body, self.operands, *rest)

        return self._evaluate(arrays, compute, _reduce_ranges)

    def _evaluate(self, arrays: Arrays, compute: Compute, reduce: Reduce) -> list[np.ndarray]:
        indices = list(np.indices(self.extents)) if self.extents else []
        operands = [arrays[value.id] for value in self.operands]
        inputs = [
            _walk(array, map_, indices, self.extents)
            for array, map_ in zip(operands, self.maps, strict=False)
        ]
        starts = iter(
            [operands[len(operands) - self._count_starts() + k] for k in range(self._count_starts())]
        )
        return [
            self._evaluate_output(
                result,
                output,
                np.broadcast_to(compute(output, inputs, operands, indices), self.extents),
                next(starts) if output.init is None else None,
                reduce,
            )
            for result, output in zip(self.results, self.outputs, strict=True)
        ]

    def trim(self) -> Nest:
        """Without the captured tensors of which nothing is loaded."""
        loaded = set().union(*(ex.get_loaded(output.body) for output in self.outputs))
        captured = range(len(self.maps), len(self.operands) - self._count_starts())
        kept = [k for k in range(len(self.operands)) if k not in captured or k in loaded]
        places = {k: place for place, k in enumerate(kept)}
        outputs = (
            dataclasses.replace(output, body=ex.renumber(output.body, places)) for output in self.outputs
        )
        return dataclasses.replace(
            self, operands=tuple(self.operands[k] for k in kept), outputs=tuple(outputs)
        )

    def _count_starts(self) -> int:
        return sum(output.init is None for output in self.outputs)

    def _evaluate_output(
        self, result: Value, output: Output, space: np.ndarray, start: np.ndarray | None, reduce: Reduce
    ) -> np.ndarray:
        in_order = sorted(output.kept)
        if output.reduction:
            reduced = tuple(loop for loop in range(len(self.extents)) if loop not in output.kept)
            if start is not None:
                start = np.transpose(start, np.argsort(output.kept))
            space = reduce(output, result.type.element, space, reduced, start)
        return np.transpose(space, [in_order.index(loop) for loop in output.kept])

    @staticmethod
    def _reduce(
        output: Output, element: str, space: np.ndarray, axes: tuple[int, ...], start: np.ndarray | None
    ) -> np.ndarray:
        _, combine, neutral = REDUCTIONS[output.reduction or ""]
        neutral = neutral & 1 if element == "i1" else neutral  # seen where nothing is reduced
        space = combine.reduce(space, axis=axes, initial=neutral)
        if start is not None:
            return np.asarray(combine(space, start))
        return np.asarray(combine(space, output.init) if isinstance(output.init, int) else space)

    def text(self, names: Names, fresh: Iterator[str]) -> list[str]:
        operand_names = [names[value.id] for value in self.operands]
        writer = ex.Writer(self.operands, operand_names, fresh)
        inits, lines = self._write_inits(names, fresh)
        yielded = self._write_block(writer)
        types = join(*(value.type for value in self.results))
        block = [f"%in{i}: {value.type.element}" for i, value in enumerate(self.inputs)]
        block += [f"%out{i}: {value.type.element}" for i, value in enumerate(self.results)]
        return [
            *lines,
            *writer.outside,
            f"{join(*(names[value.id] for value in self.results))} = linalg.generic {{indexing_maps = ["
            + join(*map(self._write_map, [*self.maps, *(along(*output.kept) for output in self.outputs)]))
            + f"], iterator_types = [{join(*map(self._get_iterator, range(len(self.extents))))}]}}"
            + (f" ins({write_list(self.inputs, names)})" if self.inputs else "")
            + f" outs({join(*inits)} : {types}) {{",
            f"^bb0({join(*block)}):",
            *writer.lines,
            f"linalg.yield {join(*yielded)} : {join(*(value.type.element for value in self.results))}",
            f"}} -> {types}" if len(self.results) == 1 else f"}} -> ({types})",
        ]

    def _write_map(self, map_: Map) -> str:
        return f"affine_map<({join(*(f'd{loop}' for loop in range(len(self.extents))))}) -> ({join(*map_)})>"

    def _get_iterator(self, loop: int) -> str:
        return '"parallel"' if loop in self.outputs[0].kept else '"reduction"'

    def _write_inits(self, names: Names, fresh: Iterator[str]) -> tuple[list[str], list[str]]:
        """What the results start from: operands, fills, or (without a reduction) anything."""
        starts = iter(self.operands[len(self.operands) - self._count_starts() :])
        inits, lines = [], []
        for result, output in zip(self.results, self.outputs, strict=True):
            if output.init is None:
                inits.append(names[next(starts).id])
                continue
            inits.append(next(fresh))
            lines.append(f"{inits[-1]} = tensor.empty() : {result.type}")
            if output.reduction:
                start, empty, element = next(fresh), inits[-1], result.type.element
                inits[-1] = next(fresh)
                lines.append(f"{start} = {output.write_init(element)}")
                lines.append(write_fill(inits[-1], start, empty, result.type))
        return inits, lines

    def _write_block(self, writer: ex.Writer) -> list[str]:
        """Writes the body; returns the names of what it yields."""
        yielded = []
        for k, (result, output) in enumerate(zip(self.results, self.outputs, strict=True)):
            yielded.append(writer.write(output.body))
            if output.reduction:
                operator = REDUCTIONS[output.reduction].operator
                yielded[k] = writer.apply(operator, [f"%out{k}", yielded[k]], result.type.element)
        return yielded


def _reduce_ranges(
    output: Output, element: str, space: np.ndarray, axes: tuple[int, ...], start: np.ndarray | None
) -> np.ndarray:
    kind = output.reduction or ""
    if start is None and is_float(element) and not (output.init == "extreme" and kind in ("max", "min")):
        start = make_exact(np.array(output.get_init(element)))
    elif start is None and isinstance(output.init, int):
        start = make_exact(np.array(output.init))
    return reduce_range(kind, space, axes, element, start)


def _walk(array: np.ndarray, map_: Map, indices: list[np.ndarray], extents: tuple[int, ...]) -> np.ndarray:
    """The elements that the iterations read."""
    if not map_:
        return array
    start = np.zeros(extents, int)
    positions = tuple(
        sum((indices[loop] * factor for loop, factor in walk.terms), start + walk.offset) for walk in map_
    )
    return np.asarray(array[positions])


@dataclass(frozen=True)
class Named(Nest):
    """The same as a named op or an op on whole tensors: `syntax` has {fields} for what differs."""

    syntax: str = ""

    def text(self, names: Names, fresh: Iterator[str]) -> list[str]:
        inits, lines = self._write_inits(names, fresh)
        outs = f"outs({join(*inits)} : {self.result.type})"
        if "{outs}" not in self.syntax:
            lines = []
        ins = f"ins({write_list(self.inputs, names)})"
        fields = {
            "ins": ins,
            "outs": outs,
            "type": self.result.type,
            "operands": join(*(names[value.id] for value in self.inputs)),
            "types": join(*(value.type for value in self.inputs)),
            "source": self.inputs[0].type,
        }
        return [*lines, f"{names[self.result.id]} = {self.syntax.format(**fields)}"]


@dataclass(frozen=True)
class ArgReduce(Nest):
    """The extreme along a dimension and where it is: of equals, the first. Two results of one nest."""

    dim: int = 0
    kind: str = "max"  # or min

    def evaluate(self, arrays: Arrays) -> list[np.ndarray]:
        array = arrays[self.operands[0].id]
        if self.kind == "max":
            return [array.max(self.dim), array.argmax(self.dim)]
        return [array.min(self.dim), array.argmin(self.dim)]

    def evaluate_ranges(self, arrays: Arrays) -> list[np.ndarray]:
        source = self.operands[0]
        return find_extreme(self.kind, arrays[source.id], self.dim, source.type.element)

    def _write_block(self, writer: ex.Writer) -> list[str]:
        element, index = (result.type.element for result in self.results)
        position = writer.write(("to", index, ("index", self.dim)))
        better = writer.apply("gt" if self.kind == "max" else "lt", ["%in0", "%out0"], element)
        equal = writer.apply("eq", ["%in0", "%out0"], element)
        first = writer.apply("lt", [position, "%out1"], index)
        tied = writer.apply("and", [equal, first], "i1")
        takes = writer.apply("or", [better, tied], "i1")
        value = writer.apply("select", [takes, "%in0", "%out0"], element)
        return [value, writer.apply("select", [takes, position, "%out1"], index)]
