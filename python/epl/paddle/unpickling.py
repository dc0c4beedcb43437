"""Pickles of dicts from names to arrays, read without running anything that they ask for.

Problem: a pickle is a program for a stack machine that may call any function. `pickle.Unpickler` with a
`find_class` of one's own does not call it, but hashes tuples of any depth (1 MB of nested ones as a key end
the process) and makes its memo as large as an index says (4 GB for 12 bytes). Method: the machine is here,
with the opcodes that dicts of arrays need in protocols 2 to 4; `pickletools` decodes their arguments. A
global is a name on the stack, never looked up (`epl/paddle/pickled_arrays.py`). Keys are texts, each once. An
opcode makes one object, of constant size or of the bytes that stand in the file, so that memory is in
proportion to the file.
"""

from __future__ import annotations

import io
import pickletools
from collections.abc import Callable
from typing import Any

from epl.errors import Error
from epl.paddle.pickled_arrays import GLOBALS, Array, Calls, expect, fill


class _Machine:
    """The machine; it raises ValueError for pickles that make no sense."""

    def __init__(self, content: bytes, where: str) -> None:
        self._stream = io.BytesIO(content)
        self._where = where
        self._calls = Calls(len(content), where)
        self._stack: list[Any] = []
        self._marks: list[int] = []
        self._memo: dict[int, Any] = {}
        self.at = 0

    def run(self) -> Any:
        """What the pickle makes.

        Raises:
          Error: for another global than those of arrays.
        """
        while True:
            self.at = self._stream.tell()
            opcode = _OPCODES.get(self._stream.read(1))
            if opcode is None:
                raise ValueError("no opcode that dicts of arrays need")
            if opcode.name == "STOP":
                break
            _METHODS[opcode.name](self, _argument(opcode, self._stream))
        if self._stream.read(1):
            raise ValueError("an end with more behind it")
        return self._pop()

    @property
    def _top(self) -> Any:
        if not self._stack:
            raise ValueError("nothing, expected a value")
        return self._stack[-1]

    def _pop(self) -> Any:
        if len(self._stack) <= (self._marks[-1] if self._marks else 0):
            raise ValueError("nothing, expected a value")
        return self._stack.pop()

    def pop_last(self, count: int) -> list[Any]:
        """The last values, the last one last."""
        return [self._pop() for _ in range(count)][::-1]

    def pop_mark(self) -> list[Any]:
        """The values behind the last mark."""
        if not self._marks:
            raise ValueError("no mark")
        mark = self._marks.pop()
        values = self._stack[mark:]
        del self._stack[mark:]
        return values

    def ignore(self, _: Any) -> None:
        """Passes over a protocol or a frame, on which nothing here depends."""

    def mark(self, _: Any) -> None:
        self._marks.append(len(self._stack))

    def push(self, value: Any) -> None:
        self._stack.append(value)

    def set_items(self, values: list[Any]) -> None:
        fill(expect(self._top, dict), values[::2], values[1::2])

    def append(self, values: list[Any]) -> None:
        expect(self._top, list).extend(values)

    def put(self, index: int | None) -> None:
        self._memo[len(self._memo) if index is None else index] = self._top

    def get(self, index: int) -> None:
        if index not in self._memo:
            raise ValueError(f"no value {index}")
        self.push(self._memo[index])

    def name_global(self, names: tuple[str, str] | None) -> None:
        module, name = names or (expect(each, str) for each in self.pop_last(2))
        found = GLOBALS.get((module, name))
        if found is None:
            raise Error(
                f'{self._where} asks for "{module[:100]}.{name[:100]}" at byte {self.at}, expected arrays of '
                "NumPy by name: nothing of it was run"
            )
        self.push(found)

    def reduce(self, _: Any) -> None:
        self.push(self._calls.call(*self.pop_last(2)))

    def build(self, _: Any) -> None:
        state = self._pop()
        self._calls.build(self._top, state)


def _argument(opcode: pickletools.OpcodeInfo, stream: io.BytesIO) -> Any:
    """The argument of an opcode: None if it has none."""
    if opcode.name == "GLOBAL":  # pickletools would warn of backslashes
        lines = (stream.readline().decode("ascii") for _ in range(2))
        return tuple(line.removesuffix("\n") for line in lines)
    return None if opcode.arg is None else opcode.arg.reader(stream)


_Method = Callable[[_Machine, Any], None]


def _constant(make: Callable[[], Any]) -> _Method:
    return lambda machine, _: machine.push(make())


def _tuple(count: int) -> _Method:
    return lambda machine, _: machine.push(tuple(machine.pop_last(count)))


_LITERALS = (
    *("BININT", "BININT1", "BININT2", "LONG1", "BINFLOAT", "BINSTRING", "SHORT_BINSTRING", "BINUNICODE"),
    *("SHORT_BINUNICODE", "BINUNICODE8", "BINBYTES", "SHORT_BINBYTES", "BINBYTES8"),
)
_METHODS: dict[str, _Method] = {
    **dict.fromkeys(_LITERALS, _Machine.push),
    **dict.fromkeys(("PROTO", "FRAME", "STOP"), _Machine.ignore),
    **dict.fromkeys(("BINPUT", "LONG_BINPUT", "MEMOIZE"), _Machine.put),
    **dict.fromkeys(("BINGET", "LONG_BINGET"), _Machine.get),
    **dict.fromkeys(("GLOBAL", "STACK_GLOBAL"), _Machine.name_global),
    **{f"TUPLE{count}": _tuple(count) for count in (1, 2, 3)},
    "TUPLE": lambda machine, _: machine.push(tuple(machine.pop_mark())),
    "NONE": _constant(lambda: None),
    "NEWTRUE": _constant(lambda: True),
    "NEWFALSE": _constant(lambda: False),
    "EMPTY_DICT": _constant(dict),
    "EMPTY_LIST": _constant(list),
    "EMPTY_TUPLE": _constant(tuple),
    "MARK": _Machine.mark,
    "SETITEM": lambda machine, _: machine.set_items(machine.pop_last(2)),
    "SETITEMS": lambda machine, _: machine.set_items(machine.pop_mark()),
    "APPEND": lambda machine, _: machine.append(machine.pop_last(1)),
    "APPENDS": lambda machine, _: machine.append(machine.pop_mark()),
    "REDUCE": _Machine.reduce,
    "BUILD": _Machine.build,
}
_OPCODES = {each.code.encode("latin1"): each for each in pickletools.opcodes if each.name in _METHODS}


def read(content: bytes, where: str) -> dict[str, Any]:
    """What a pickle of a dict has by name: arrays, also those that are saved with a name, and plain values.

    Args:
      where: the content comes from, for errors.

    Raises:
      Error: for another pickle: says where it differs, and names what else than arrays it asks for.
    """
    machine = _Machine(content, where)
    try:
        found = expect(machine.run(), dict)
    except ValueError as error:
        raise Error(f"{where} is no pickle of arrays by name: at byte {machine.at} {error}") from None
    return {name: _read_value(f'"{name[:100]}" in {where}', value) for name, value in found.items()}


def _read_value(what: str, value: Any) -> Any:
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[1], Array):
        value = value[1]
    if isinstance(value, Array) and value.value is None:
        raise Error(f"{what} is an array without content")
    return value.value if isinstance(value, Array) else value
