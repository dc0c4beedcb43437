"""The ops of a program: what they compute in NumPy, how they print as MLIR."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import expression as ex
import numpy as np

Names = dict[int, str]
Arrays = dict[int, np.ndarray]

# How a loop nest walks one dimension of a tensor: by a loop, by the sum of several (a window), or not at all.
Walk = tuple[int, ...]


@dataclass(frozen=True)
class Type:
    shape: tuple[int, ...]
    element: str

    def __str__(self) -> str:
        return "tensor<" + "".join(f"{extent}x" for extent in self.shape) + self.element + ">"


@dataclass(frozen=True)
class Value:
    """What an op or an argument makes. Ids are unique in a program."""

    id: int
    type: Type
    bound: int


@dataclass(frozen=True)
class Op:
    """An op with one result. Subclasses say what it computes and how it prints."""

    result: Value
    operands: tuple[Value, ...]

    def evaluate(self, arrays: Arrays) -> np.ndarray:
        raise NotImplementedError

    def text(self, names: Names, fresh: Iterator[str]) -> list[str]:
        """Lines that define `names[result.id]`."""
        raise NotImplementedError

    def _types(self) -> str:
        return ", ".join(str(operand.type) for operand in self.operands)


# Larger than what is reduced by max or min.
NEUTRAL = 2**20

# How a reduction is called, the operator of the body, NumPy's function, and the number that it starts from.
REDUCTIONS = {
    "sum": ("add", np.add, 0),
    "max": ("max", np.maximum, -NEUTRAL),
    "min": ("min", np.minimum, NEUTRAL),
    "any": ("or", np.logical_or, 0),
    "all": ("and", np.logical_and, 1),
}


@dataclass(frozen=True)
class Generic(Op):
    """A loop nest: inputs walked by maps, a body, and a reduction over the loops that the result lacks.

    `init` is the number that a reduction starts from; if it is None it starts from the last operand.
    """

    extents: tuple[int, ...]
    maps: tuple[tuple[Walk, ...], ...]
    result_map: tuple[int, ...]
    body: ex.Expression
    reduction: str | None = None
    init: int | None = 0

    @property
    def inputs(self) -> tuple[Value, ...]:
        return self.operands[: len(self.maps)]

    @property
    def element(self) -> str:
        """The numeric type that the body computes in."""
        elements = [value.type.element for value in (*self.inputs, self.result)]
        return next((element for element in elements if element != "i1"), "i32")

    def evaluate(self, arrays: Arrays) -> np.ndarray:
        indices = list(np.indices(self.extents)) if self.extents else []
        inputs = [
            self._walk(arrays[value.id], walks, indices)
            for value, walks in zip(self.inputs, self.maps, strict=True)
        ]
        space = np.broadcast_to(ex.evaluate(self.body, inputs, indices, self.element), self.extents)
        if self.reduction:
            space = self._reduce(space, arrays)
        kept = sorted(self.result_map)
        space = np.transpose(space, [kept.index(loop) for loop in self.result_map])
        return np.array(space, ex.DTYPES[self.result.type.element], order="C")

    def _reduce(self, space: np.ndarray, arrays: Arrays) -> np.ndarray:
        """The reduction over the loops that the result lacks; the others stay in order."""
        combine = REDUCTIONS[self.reduction][1]
        reduced = tuple(loop for loop in range(len(self.extents)) if loop not in self.result_map)
        parts = combine.reduce(space, axis=reduced, dtype=space.dtype)
        if self.init is not None:
            return combine(parts, space.dtype.type(self.init))
        start = arrays[self.operands[-1].id]
        return combine(parts, np.transpose(start, np.argsort(self.result_map)))

    def _walk(self, array: np.ndarray, walks: tuple[Walk, ...], indices: list[np.ndarray]) -> np.ndarray:
        if not walks:
            return array
        positions = (
            sum((indices[loop] for loop in walk), start=np.zeros(self.extents, int)) for walk in walks
        )
        return array[tuple(positions)]

    def text(self, names: Names, fresh: Iterator[str]) -> list[str]:
        init, lines = self._write_init(names, fresh)
        loops = ", ".join(f"d{loop}" for loop in range(len(self.extents)))
        maps = [*self.maps, tuple((loop,) for loop in self.result_map)]
        writer = ex.Writer(self.element, [value.type.element for value in self.inputs], fresh)
        yielded = self._write_body(writer)
        inputs = ", ".join(names[value.id] for value in self.inputs)
        types = ", ".join(str(value.type) for value in self.inputs)
        block = [f"%in{i}: {value.type.element}" for i, value in enumerate(self.inputs)]
        block.append(f"%out: {self.result.type.element}")
        return [
            *lines,
            f"{names[self.result.id]} = linalg.generic {{indexing_maps = ["
            + ", ".join(f"affine_map<({loops}) -> ({', '.join(map(_walk_text, walks))})>" for walks in maps)
            + f"], iterator_types = [{', '.join(map(self._iterator, range(len(self.extents))))}]}}"
            + (f" ins({inputs} : {types})" if inputs else "")
            + f" outs({init} : {self.result.type}) {{",
            f"^bb0({', '.join(block)}):",
            *writer.lines,
            f"linalg.yield {yielded} : {self.result.type.element}",
            f"}} -> {self.result.type}",
        ]

    def _iterator(self, loop: int) -> str:
        return '"parallel"' if loop in self.result_map else '"reduction"'

    def _write_init(self, names: Names, fresh: Iterator[str]) -> tuple[str, list[str]]:
        """What the result starts from: an operand, a fill, or (without a reduction) anything."""
        if self.init is None:
            return names[self.operands[-1].id], []
        empty, element = next(fresh), self.result.type.element
        lines = [f"{empty} = tensor.empty() : {self.result.type}"]
        if not self.reduction:
            return empty, lines
        start, filled = next(fresh), next(fresh)
        lines += [
            f"{start} = {ex.constant(self.init, element)}",
            f"{filled} = linalg.fill ins({start} : {element}) outs({empty} : {self.result.type})"
            f" -> {self.result.type}",
        ]
        return filled, lines

    def _write_body(self, writer: ex.Writer) -> str:
        value = writer.write(self.body)
        if not self.reduction:
            return value
        return writer.apply(REDUCTIONS[self.reduction][0], ["%out", value], self.result.type.element)


def _walk_text(walk: Walk) -> str:
    return " + ".join(f"d{loop}" for loop in walk) or "0"


@dataclass(frozen=True)
class Reshape(Op):
    """tensor.expand_shape or tensor.collapse_shape: `groups` are dimensions of the side with more of them."""

    groups: tuple[tuple[int, ...], ...]

    def evaluate(self, arrays: Arrays) -> np.ndarray:
        return arrays[self.operands[0].id].reshape(self.result.type.shape)

    def text(self, names: Names, fresh: Iterator[str]) -> list[str]:
        source, groups = self.operands[0], [list(group) for group in self.groups]
        expands = len(self.result.type.shape) > len(source.type.shape)
        kind = "expand" if expands else "collapse"
        shape = f" output_shape {list(self.result.type.shape)}" if expands else ""
        return [
            f"{names[self.result.id]} = tensor.{kind}_shape {names[source.id]} {groups}{shape}"
            f" : {source.type} into {self.result.type}"
        ]


@dataclass(frozen=True)
class ExtractSlice(Op):
    offsets: tuple[int, ...]
    sizes: tuple[int, ...]
    strides: tuple[int, ...]

    def evaluate(self, arrays: Arrays) -> np.ndarray:
        return np.array(arrays[self.operands[0].id][_get_slices(self)], order="C")

    def text(self, names: Names, fresh: Iterator[str]) -> list[str]:
        source = self.operands[0]
        return [
            f"{names[self.result.id]} = tensor.extract_slice {names[source.id]}{_get_place(self)}"
            f" : {source.type} to {self.result.type}"
        ]


@dataclass(frozen=True)
class InsertSlice(Op):
    """The first operand written into the second."""

    offsets: tuple[int, ...]
    sizes: tuple[int, ...]
    strides: tuple[int, ...]

    def evaluate(self, arrays: Arrays) -> np.ndarray:
        result = arrays[self.operands[1].id].copy()
        result[_get_slices(self)] = arrays[self.operands[0].id]
        return result

    def text(self, names: Names, fresh: Iterator[str]) -> list[str]:
        part, whole = self.operands
        return [
            f"{names[self.result.id]} = tensor.insert_slice {names[part.id]} into {names[whole.id]}"
            f"{_get_place(self)} : {part.type} into {whole.type}"
        ]


def _get_slices(op: ExtractSlice | InsertSlice) -> tuple[slice, ...]:
    spans = zip(op.offsets, op.sizes, op.strides, strict=True)
    return tuple(slice(offset, offset + (size - 1) * stride + 1, stride) for offset, size, stride in spans)


def _get_place(op: ExtractSlice | InsertSlice) -> str:
    return f"{list(op.offsets)} {list(op.sizes)} {list(op.strides)}"


@dataclass(frozen=True)
class Pad(Op):
    low: tuple[int, ...]
    high: tuple[int, ...]
    padding: int

    def evaluate(self, arrays: Arrays) -> np.ndarray:
        return np.pad(
            arrays[self.operands[0].id],
            list(zip(self.low, self.high, strict=True)),
            constant_values=self.padding,
        )

    def text(self, names: Names, fresh: Iterator[str]) -> list[str]:
        source, constant, element = self.operands[0], next(fresh), self.result.type.element
        indices = ", ".join(f"{next(fresh)}: index" for _ in self.low)
        return [
            f"{constant} = {ex.constant(self.padding, element)}",
            f"{names[self.result.id]} = tensor.pad {names[source.id]}"
            f" low{list(self.low)} high{list(self.high)} {{",
            f"^bb0({indices}):",
            f"tensor.yield {constant} : {element}",
            f"}} : {source.type} to {self.result.type}",
        ]


@dataclass(frozen=True)
class Concatenate(Op):
    dim: int

    def evaluate(self, arrays: Arrays) -> np.ndarray:
        return np.concatenate([arrays[operand.id] for operand in self.operands], axis=self.dim)

    def text(self, names: Names, fresh: Iterator[str]) -> list[str]:
        operands = ", ".join(names[operand.id] for operand in self.operands)
        return [
            f"{names[self.result.id]} = epl.concatenate {operands} dim {self.dim}"
            f" : ({self._types()}) -> {self.result.type}"
        ]


@dataclass(frozen=True)
class Constant(Op):
    numbers: tuple[int, ...]  # in row-major order, or one for all

    def evaluate(self, arrays: Arrays) -> np.ndarray:
        numbers = self.numbers if len(self.numbers) > 1 else self.numbers * math.prod(self.result.type.shape)
        return np.array(numbers, ex.DTYPES[self.result.type.element]).reshape(self.result.type.shape)

    def text(self, names: Names, fresh: Iterator[str]) -> list[str]:
        is_splat = len(self.numbers) == 1
        numbers = (
            ex.number(self.numbers[0], self.result.type.element) if is_splat else self.evaluate({}).tolist()
        )
        return [f"{names[self.result.id]} = arith.constant dense<{numbers}> : {self.result.type}"]
