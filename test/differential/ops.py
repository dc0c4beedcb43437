"""The ops of a program that move elements: what they compute in NumPy, how they print as MLIR."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from layout import Layout, Sharding, find_constraint_fault, write_axes
from ranges import make_exact
from tensors import Type, Value, constant, number

Names = dict[int, str]
Arrays = dict[int, np.ndarray]  # of int64, whatever the element type; of ranges in programs on floats


@dataclass(frozen=True)
class Op:
    """An op. Subclasses say what it computes and how it prints."""

    results: tuple[Value, ...]
    operands: tuple[Value, ...]

    def evaluate(self, arrays: Arrays) -> list[np.ndarray]:
        """The results."""
        raise NotImplementedError

    def evaluate_ranges(self, arrays: Arrays) -> list[np.ndarray]:
        """The results where arrays are ranges (ranges.py). What only moves elements moves these."""
        return self.evaluate(arrays)

    def text(self, names: Names, fresh: Iterator[str]) -> list[str]:
        """Lines that define the names of the results."""
        raise NotImplementedError

    def find_fault(self, layout: Layout) -> str | None:
        """What the compiler has to say of the op if the devices of the layout cannot have it so."""
        return None

    def trim(self) -> Op:
        """The op without operands that it does not read."""
        return self

    def keep(self, needed: set[int]) -> Op:
        """The op as far as these values depend on it, some of its results among them."""
        return self

    @property
    def result(self) -> Value:
        """The first result, of most ops the only one."""
        return self.results[0]


def join(*parts: object) -> str:
    return ", ".join(map(str, parts))


def write_list(values: tuple[Value, ...], names: Names) -> str:
    """Values with their types: "%a, %b : tensor<f32>, tensor<i1>"."""
    return f"{join(*(names[value.id] for value in values))} : {join(*(value.type for value in values))}"


@dataclass(frozen=True)
class Reshape(Op):
    """tensor.expand_shape or tensor.collapse_shape: `groups` are dimensions of the side with more of them."""

    groups: tuple[tuple[int, ...], ...]

    def evaluate(self, arrays: Arrays) -> list[np.ndarray]:
        return [arrays[self.operands[0].id].reshape(self.result.type.shape)]

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
class Place:
    """Where a slice lies in a larger tensor; it may lack dimensions of size 1."""

    offsets: tuple[int, ...]
    sizes: tuple[int, ...]
    strides: tuple[int, ...]

    def get_slices(self) -> tuple[slice, ...]:
        spans = zip(self.offsets, self.sizes, self.strides, strict=True)
        return tuple(
            slice(offset, offset + (size - 1) * stride + 1, stride) for offset, size, stride in spans
        )

    def __str__(self) -> str:
        return f"{list(self.offsets)} {list(self.sizes)} {list(self.strides)}"


@dataclass(frozen=True)
class ExtractSlice(Op):
    place: Place

    def evaluate(self, arrays: Arrays) -> list[np.ndarray]:
        part = arrays[self.operands[0].id][self.place.get_slices()]
        return [part.reshape(self.result.type.shape)]

    def text(self, names: Names, fresh: Iterator[str]) -> list[str]:
        source = self.operands[0]
        return [
            f"{names[self.result.id]} = tensor.extract_slice {names[source.id]}{self.place}"
            f" : {source.type} to {self.result.type}"
        ]


@dataclass(frozen=True)
class InsertSlice(Op):
    """The first operand written into the second."""

    place: Place

    def evaluate(self, arrays: Arrays) -> list[np.ndarray]:
        result = arrays[self.operands[1].id].copy()
        result[self.place.get_slices()] = arrays[self.operands[0].id].reshape(self.place.sizes)
        return [result]

    def text(self, names: Names, fresh: Iterator[str]) -> list[str]:
        part, whole = self.operands
        return [
            f"{names[self.result.id]} = tensor.insert_slice {names[part.id]} into {names[whole.id]}"
            f"{self.place} : {part.type} into {whole.type}"
        ]


@dataclass(frozen=True)
class Pad(Op):
    low: tuple[int, ...]
    high: tuple[int, ...]
    padding: int

    def evaluate(self, arrays: Arrays) -> list[np.ndarray]:
        return [self._pad(arrays[self.operands[0].id], np.array(self.padding))]

    def evaluate_ranges(self, arrays: Arrays) -> list[np.ndarray]:
        return [self._pad(arrays[self.operands[0].id], make_exact(np.array(self.padding)))]

    def _pad(self, array: np.ndarray, padding: np.ndarray) -> np.ndarray:
        result = np.full(self.result.type.shape, padding, array.dtype)
        spans = zip(self.low, array.shape, strict=True)
        result[tuple(slice(low, low + extent) for low, extent in spans)] = array
        return result

    def text(self, names: Names, fresh: Iterator[str]) -> list[str]:
        source, padding, element = self.operands[0], next(fresh), self.result.type.element
        indices = join(*(f"{next(fresh)}: index" for _ in self.low))
        return [
            f"{padding} = {constant(self.padding, element)}",
            f"{names[self.result.id]} = tensor.pad {names[source.id]}"
            f" low{list(self.low)} high{list(self.high)} {{",
            f"^bb0({indices}):",
            f"tensor.yield {padding} : {element}",
            f"}} : {source.type} to {self.result.type}",
        ]


@dataclass(frozen=True)
class Constrain(Op):
    """The identity, with the axes that split each dimension and those that split none."""

    sharding: Sharding
    whole: tuple[str, ...]

    def evaluate(self, arrays: Arrays) -> list[np.ndarray]:
        return [arrays[self.operands[0].id]]

    def find_fault(self, layout: Layout) -> str | None:
        return find_constraint_fault(layout, self.result.type.shape, self.sharding, self.whole)

    def text(self, names: Names, fresh: Iterator[str]) -> list[str]:
        whole = f", whole = {write_axes(self.whole)}" if self.whole else ""
        said = f"<[{join(*map(write_axes, self.sharding))}]{whole}>"
        source = names[self.operands[0].id]
        return [f"{names[self.result.id]} = epl.constrain {source} to {said} : {self.result.type}"]


@dataclass(frozen=True)
class Concatenate(Op):
    """epl.concatenate, or tensor.concat."""

    dim: int
    op: str

    def evaluate(self, arrays: Arrays) -> list[np.ndarray]:
        return [np.concatenate([arrays[operand.id] for operand in self.operands], axis=self.dim)]

    def text(self, names: Names, fresh: Iterator[str]) -> list[str]:
        dim = f"dim {self.dim}" if self.op == "epl.concatenate" else f"dim({self.dim})"
        operands = join(*(names[operand.id] for operand in self.operands))
        types = f"({join(*(operand.type for operand in self.operands))}) -> {self.result.type}"
        before, after = (operands, dim) if self.op == "epl.concatenate" else (dim, operands)
        return [f"{names[self.result.id]} = {self.op} {before} {after} : {types}"]


@dataclass(frozen=True)
class Constant(Op):
    numbers: tuple[int, ...]  # in row-major order, or one for all

    def evaluate(self, arrays: Arrays) -> list[np.ndarray]:
        shape = self.result.type.shape
        numbers = self.numbers if len(self.numbers) != 1 else self.numbers * math.prod(shape)
        return [np.array(numbers, np.int64).reshape(shape)]

    def evaluate_ranges(self, arrays: Arrays) -> list[np.ndarray]:
        return list(map(make_exact, self.evaluate(arrays)))

    def text(self, names: Names, fresh: Iterator[str]) -> list[str]:
        element = self.result.type.element
        if len(self.numbers) == 1:
            numbers = number(self.numbers[0], element)
        else:
            numbers = _write_elements(self.evaluate({})[0], element)
        return [f"{names[self.result.id]} = arith.constant dense<{numbers}> : {self.result.type}"]


@dataclass(frozen=True)
class Empty(Op):
    """A tensor of which only the shape counts."""

    def evaluate(self, arrays: Arrays) -> list[np.ndarray]:
        return [np.zeros(self.result.type.shape, np.int64)]

    def evaluate_ranges(self, arrays: Arrays) -> list[np.ndarray]:
        return list(map(make_exact, self.evaluate(arrays)))

    def text(self, names: Names, fresh: Iterator[str]) -> list[str]:
        return [f"{names[self.result.id]} = tensor.empty() : {self.result.type}"]


def _write_elements(array: np.ndarray, element: str) -> str:
    if array.size == 0:
        return ""
    if not array.shape:
        return number(int(array), element)
    return f"[{join(*(_write_elements(part, element) for part in array))}]"


@dataclass(frozen=True)
class Spread(Op):
    """A scalar of the operand at `indices`, in all elements of the result: by tensor.splat or linalg.fill."""

    indices: tuple[int, ...]
    op: str

    def evaluate(self, arrays: Arrays) -> list[np.ndarray]:
        return [np.full(self.result.type.shape, arrays[self.operands[0].id][self.indices])]

    def text(self, names: Names, fresh: Iterator[str]) -> list[str]:
        source, type_, scalar = self.operands[0], self.result.type, next(fresh)
        indices = [next(fresh) for _ in self.indices]
        lines = [
            f"{name} = {constant(index, 'index')}" for name, index in zip(indices, self.indices, strict=True)
        ]
        lines.append(f"{scalar} = tensor.extract {names[source.id]}[{join(*indices)}] : {source.type}")
        name = names[self.result.id]
        if self.op == "tensor.splat":
            return [*lines, f"{name} = tensor.splat {scalar} : {type_}"]
        empty = next(fresh)
        lines.append(f"{empty} = tensor.empty() : {type_}")
        return [*lines, write_fill(name, scalar, empty, type_)]


def write_fill(name: str, scalar: str, empty: str, type_: Type) -> str:
    return f"{name} = linalg.fill ins({scalar} : {type_.element}) outs({empty} : {type_}) -> {type_}"
