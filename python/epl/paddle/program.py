"""A program of Paddle: read from protobuf, run as a function of JAX.

Problem: a ProgramDesc is a list of ops on named variables, which ops read and write in turn; JAX has
functions of values. Method: the ops of the one block are called in their order, each a function of the table
(`epl/paddle/operators`), on an environment of values by name, so that a name that is written twice stands for
the last value. What the program reads and nothing has written is fed, or is a parameter.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from epl.errors import ArgumentError, Error, UnsupportedError
from epl.paddle import operators, schema
from epl.paddle.description import Variable, has_block, read_op, read_variable
from epl.paddle.parameters import read_stream
from epl.paddle.running import Run
from epl.values import did_you_mean

_MOVES = frozenset({"feed", "fetch"})  # between the caller and the program

PathLike = str | os.PathLike[str]


class Program:
    """A program: a function of its parameters and of what it is fed.

    feeds, fetches: the names of what is fed and returned. parameters: the persistable variables that are read
    before they are written, by name. updated: those that ops write, in a program that trains, or that begins
    one.
    """

    def __init__(self, content: bytes, where: str) -> None:
        """Reads a ProgramDesc; `where` it comes from, for errors.

        Raises:
          Error: for bytes that are no program.
          UnsupportedError: for ops that are not in the table, all of them in one error; for several blocks.
        """
        description = schema.parsed("ProgramDesc", content, where)
        if len(description.blocks) != 1:
            kinds = [op.type for block in description.blocks[:1] for op in block.ops if has_block(op)]
            raise UnsupportedError(
                f"{where} has {len(description.blocks)} blocks, expected 1: control flow "
                f"({', '.join(kinds) or 'none'}) is not supported yet"
            )
        (block,) = description.blocks
        self.variables = {found.name: found for found in map(read_variable, block.vars) if found is not None}
        every = [read_op(op) for op in block.ops]
        self.ops = [op for op in every if op.kind not in _MOVES]
        self._check_table(where)
        columns: dict[str, dict[int, str]] = {kind: {} for kind in _MOVES}  # names by column
        for op in every:
            if op.kind in _MOVES:
                names = op.outputs["Out"] if op.kind == "feed" else op.inputs["X"]
                columns[op.kind][op.attributes["col"]] = names[0]
        unwritten = self._read_first()
        self.parameters = {name: self.variables[name] for name in unwritten if self._is_persistable(name)}
        written = dict.fromkeys(name for op in self.ops for names in op.outputs.values() for name in names)
        self.updated = tuple(name for name in written if self._is_persistable(name))
        fed = [name for name in unwritten if not self._is_persistable(name)]
        self.feeds = tuple(name for _, name in sorted(columns["feed"].items())) or tuple(fed)
        self.fetches = tuple(name for _, name in sorted(columns["fetch"].items()))

    def _check_table(self, where: str) -> None:
        missing = [op for op in self.ops if operators.find(op.kind) is None]
        if missing:
            raise UnsupportedError(
                f"{where} has ops that are not supported yet: {', '.join(dict.fromkeys(map(str, missing)))}"
            )

    def _is_persistable(self, name: str) -> bool:
        return name in self.variables and self.variables[name].persistable

    def _read_first(self) -> list[str]:
        """The names that are read before they are written, in that order."""
        written: set[str] = set()
        found: dict[str, None] = {}
        for op in self.ops:
            found.update(
                dict.fromkeys(name for names in op.inputs.values() for name in names if name not in written)
            )
            written.update(name for names in op.outputs.values() for name in names)
        return list(found)

    def read_parameters(self, file: PathLike) -> dict[str, np.ndarray[Any, Any]]:
        """The parameters in a file of tensors, one behind the other in the order of names (`.pdiparams`).

        Raises:
          Error: for a file of other tensors: names the first that differs.
        """
        path = Path(os.fspath(file))
        names = sorted(self.parameters)
        found = read_stream(path.read_bytes(), names, f'"{path}"')
        for name, value in found.items():
            _check(f'parameter "{name}" in "{path}"', value, self.parameters[name], Error)
        return found

    def __call__(
        self,
        parameters: Mapping[str, Any],
        feed: Mapping[str, Any],
        fetches: Sequence[str] | None = None,
        *,
        key: Any = None,
    ) -> list[Any]:
        """What the program makes, as Paddle's executor does: every op runs, be its result fetched or not.

        Args:
          parameters, feed: arrays by name; integers of 64 bits have to fit 32 unless `jax_enable_x64` is set.
          fetches: names of variables; default those that the program was saved with.
          key: a key of `jax.random`, for a program that draws.

        Raises:
          ArgumentError: for names that are missing or too many, and for other shapes and dtypes.
        """
        return self.run(parameters, feed, fetches, key=key)[1]

    def run(
        self,
        parameters: Mapping[str, Any],
        feed: Mapping[str, Any],
        fetches: Sequence[str] | None = None,
        *,
        key: Any = None,
    ) -> tuple[dict[str, Any], list[Any]]:
        """The persistable variables after a run, those of `parameters` and `updated`, and what is fetched.

        Arguments and errors as of a call. Of a startup program `parameters` and `feed` are empty.
        """
        values = {
            **self._given("parameters", parameters, self.parameters),
            **self._given("feed", feed, {name: self.variables[name] for name in self.feeds}),
        }
        wanted = self.fetches if fetches is None else tuple(fetches)
        run = Run(values, key)
        for number, op in enumerate(self.ops):
            run.do(number, op)
        after = {name: values[name] for name in (*self.parameters, *self.updated)}
        return after, [self._fetched(name, values) for name in wanted]

    @staticmethod
    def _given(what: str, given: Mapping[str, Any], expected: Mapping[str, Variable]) -> dict[str, Any]:
        if missing := [name for name in expected if name not in given]:
            raise ArgumentError(f"{what} has no {_list(missing)}, found {_list(given)}")
        if unknown := [name for name in given if name not in expected]:
            raise ArgumentError(f"{what} has {_list(unknown)}, expected {_list(expected)}")
        for name, variable in expected.items():
            _check(f'"{name}" in {what}', given[name], variable, ArgumentError)
            _check_range(f'"{name}" in {what}', given[name])
        return {name: jnp.asarray(given[name]) for name in expected}

    def _fetched(self, name: str, values: Mapping[str, Any]) -> Any:
        if name not in values:
            raise ArgumentError(f'no variable "{name}" to fetch{did_you_mean(name, list(values))}')
        return values[name]


def load(source: PathLike | bytes | Any) -> Program:
    """A program of a file (`model.pdmodel`, or `model` as Paddle's functions take it), of bytes, of Paddle.

    Raises:
      Error, UnsupportedError: as of `Program`.
      ArgumentError: for what is none of these.
    """
    if isinstance(source, bytes):
        return Program(source, "the program")
    if isinstance(source, (str, os.PathLike)):
        path = Path(os.fspath(source))
        path = path if path.exists() else path.with_name(f"{path.name}.pdmodel")
        try:
            return Program(path.read_bytes(), f'"{path}"')
        except OSError as error:
            raise Error(f'"{path}" cannot be read: {error.strerror}') from None
    serialize = getattr(getattr(source, "desc", None), "serialize_to_string", None)
    if serialize is None:
        raise ArgumentError(f"load takes a path, bytes or a program of Paddle, found {type(source).__name__}")
    return Program(serialize(), "the program")


def _check(what: str, value: Any, variable: Variable, kind: type[Error]) -> None:
    """Whether a value fits a variable; of 64 bits the value may have 32, as JAX does."""
    shape, dtype = np.shape(value), jnp.result_type(value) if np.ndim(value) == 0 else np.dtype(value.dtype)
    fits = len(shape) == len(variable.shape) and all(
        expected in (-1, found) for found, expected in zip(shape, variable.shape, strict=True)
    )
    computed = jax.dtypes.canonicalize_dtype(variable.dtype)
    if not fits or jax.dtypes.canonicalize_dtype(dtype) != computed:
        found = f"{dtype.name}{list(shape)}"
        raise kind(f"{what}: expected {variable.dtype.name}{list(variable.shape)}, found {found}")


def _check_range(what: str, value: Any) -> None:
    """Whether the numbers of 64 bits of the host fit those that JAX has."""
    if not isinstance(value, np.ndarray) or value.dtype != np.int64 or jax.config.jax_enable_x64:
        return
    limits = np.iinfo(np.int32)
    if value.size and not limits.min <= value.min() <= value.max() <= limits.max:
        raise ArgumentError(
            f"{what} has numbers from {value.min()} to {value.max()}, which are no int32: set jax_enable_x64"
        )


def _list(names: Iterable[str]) -> str:
    return ", ".join(f'"{name}"' for name in names) or "nothing"
