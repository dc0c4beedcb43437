"""What a ProgramDesc of Paddle says: variables, and ops with the lines of the user that made them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from epl.errors import Place
from epl.paddle import dtypes
from epl.places import is_library

_FIELDS = {
    "INT": "i",
    "FLOAT": "f",
    "STRING": "s",
    "INTS": "ints",
    "FLOATS": "floats",
    "STRINGS": "strings",
    "BOOLEAN": "b",
    "BOOLEANS": "bools",
    "BLOCK": "block_idx",
    "LONG": "l",
    "LONGS": "longs",
    "FLOAT64S": "float64s",
    "FLOAT64": "float64",
    "SCALAR": "scalar",
    "SCALARS": "scalars",
    "BLOCKS": "blocks_idx",
    "VAR": "var_name",
    "VARS": "vars_name",
}
_LIST = frozenset({"INTS", "FLOATS", "STRINGS", "BOOLEANS", "LONGS", "FLOAT64S", "SCALARS", "BLOCKS", "VARS"})
_TEXTS = frozenset({"STRING", "STRINGS", "VAR", "VARS"})
_SCALARS = {1: "b", 2: "i", 3: "r"}  # by the number of its type; 4: complex
_LINE = re.compile(r'\s*File "(?P<file>[^"]+)", line (?P<line>\d+)')
_LOD_TENSOR, _SELECTED_ROWS = 7, 8  # types of variables
_UNSAVED = frozenset({9, 10, 15, 17})  # types: what is fed, what is fetched, readers, raw ones

OF_ROWS = "epl_of_rows"
"""The attribute of an op that names its inputs that Paddle has as some rows of a table: sparse gradients."""

FORWARD, BACKWARD, OPTIMIZE, RPC, DIST, SCHEDULE, LOSS = 0, 1, 2, 4, 8, 16, 256
"""What ops are for, by Paddle's `op_role`; SCHEDULE: of the learning rate."""


@dataclass(frozen=True)
class Variable:
    """A variable of a program: its shape, in which -1 stands for any extent, and its dtype in Paddle.

    lod_level: how many levels of sequences of different lengths its rows have in Paddle; 0 if none.
    """

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    persistable: bool
    lod_level: int = 0


@dataclass(frozen=True)
class Computed:
    """An attribute whose value is that of variables."""

    variables: tuple[str, ...]


@dataclass(frozen=True)
class Blocks:
    """An attribute that is blocks of the program, by number."""

    numbers: tuple[int, ...]


@dataclass(frozen=True)
class Op:
    """An op: the variables that it reads and writes, by the names that its kind has for them."""

    kind: str
    inputs: Mapping[str, tuple[str, ...]]
    outputs: Mapping[str, tuple[str, ...]]
    attributes: Mapping[str, Any]
    place: Place | None = field(compare=False)

    def __str__(self) -> str:
        return f'"{self.kind}" ({self.place})' if self.place else f'"{self.kind}"'

    @property
    def reads(self) -> Iterator[str]:
        """The variables that it reads."""
        return (name for names in self.inputs.values() for name in names)

    @property
    def writes(self) -> Iterator[str]:
        """The variables that it writes."""
        return (name for names in self.outputs.values() for name in names)

    @property
    def has_blocks(self) -> bool:
        """Whether it runs blocks of others."""
        return any(isinstance(value, Blocks) for value in self.attributes.values())

    @property
    def role(self) -> int:
        """What it is for, `BACKWARD` and the like or several of these."""
        return int(self.attributes.get("op_role", FORWARD))

    @property
    def begins_backward(self) -> bool:
        """Whether it makes the gradient of the loss that the others are made from."""
        return self.role & (BACKWARD | LOSS) == BACKWARD | LOSS

    @property
    def gradients(self) -> tuple[str, ...]:
        """The gradients of parameters that are complete behind this op of the backward pass."""
        return tuple(gradient for _, gradient in self.completed)

    @property
    def completed(self) -> tuple[tuple[str, str], ...]:
        """The same, each behind its parameter."""
        names = self.attributes.get("op_role_var", ()) if self.role & BACKWARD else ()
        return tuple(zip(names[::2], names[1::2], strict=True))


def read_variable(description: Any) -> Variable | None:
    """A variable of numbers; None for another one."""
    kind = description.type
    if kind.type != _LOD_TENSOR or not kind.HasField("lod_tensor"):
        return None
    tensor = kind.lod_tensor.tensor
    dtype = dtypes.stored(tensor.data_type)
    if dtype is None:
        return None
    shape, lod_level = tuple(tensor.dims), kind.lod_tensor.lod_level
    return Variable(text(description.name), shape, dtype, description.persistable, lod_level)


def text(content: str | bytes) -> str:
    """A text of a message, which is bytes if it is not UTF-8."""
    return content if isinstance(content, str) else content.decode("utf-8", "backslashreplace")


def is_saved(description: Any) -> bool:
    """Whether a variable stands in files of all persistable ones."""
    return bool(description.persistable) and description.type.type not in _UNSAVED


def has_rows(description: Any) -> bool:
    """Whether a variable is some rows of a table, as the sparse gradient of one is."""
    return bool(description.type.type == _SELECTED_ROWS)


def read_op(description: Any, of_rows: frozenset[str] = frozenset()) -> Op:
    """An op.

    Args:
      of_rows: the variables that are some rows of a table.
    """
    attributes = {text(attribute.name): _value(attribute) for attribute in description.attrs}
    stack = attributes.pop("op_callstack", ())
    place = _place(stack) if isinstance(stack, tuple) else None
    inputs = _names(description.inputs)
    if sparse := tuple(name for name, own in inputs.items() if of_rows.intersection(own)):
        attributes[OF_ROWS] = sparse
    return Op(text(description.type), inputs, _names(description.outputs), attributes, place)


def _names(variables: Iterable[Any]) -> dict[str, tuple[str, ...]]:
    return {text(each.parameter): tuple(map(text, each.arguments)) for each in variables if each.arguments}


def _kind(attribute: Any) -> str:
    return str(attribute.DESCRIPTOR.fields_by_name["type"].enum_type.values_by_number[attribute.type].name)


def _value(attribute: Any) -> Any:
    kind = _kind(attribute)
    found = getattr(attribute, _FIELDS[kind])
    if kind in _TEXTS:
        found = tuple(map(text, found)) if kind in _LIST else text(found)
    found = tuple(found) if kind in _LIST else found
    if kind.startswith("SCALAR"):
        return tuple(map(_scalar, found)) if kind in _LIST else _scalar(found)
    if kind.startswith("BLOCK"):
        return Blocks(found if kind in _LIST else (found,))
    if kind.startswith("VAR"):
        return Computed(found if kind in _LIST else (found,))
    return found


def _scalar(scalar: Any) -> Any:
    name = _SCALARS.get(scalar.type)
    return complex(scalar.c.r, scalar.c.i) if name is None else getattr(scalar, name)


def _place(stack: Iterable[Any]) -> Place | None:
    """The innermost line of the user in what Paddle keeps of the stack, outermost first."""
    lines = [found for found in map(_LINE.match, map(str, stack)) if found]
    own = [line for line in lines if not is_library(line["file"]) and "site-packages" not in line["file"]]
    return Place(own[-1]["file"], int(own[-1]["line"])) if own else None
