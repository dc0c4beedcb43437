"""A program of Paddle: read from protobuf, run as a function of JAX.

Problem: a ProgramDesc is a list of ops on named variables, which ops read and write in turn; JAX has
functions of values. Method: the ops of the one block are called in their order, each a function of the table
(`epl/paddle/operators`), on an environment of values by name, so that a name that is written twice stands for
the last value. What the program reads and nothing has written is fed, or is a parameter.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np

from epl.errors import ArgumentError, Error
from epl.paddle import checks, formats, support
from epl.paddle.description import BACKWARD, Op, has_rows, is_saved, read_op, read_variable, text
from epl.paddle.parameters import read_file, read_variables
from epl.paddle.running import Run
from epl.values import did_you_mean

_MOVES = frozenset({"feed", "fetch"})  # between the caller and the program

PathLike = str | os.PathLike[str]


class Program:
    """A program: a function of its parameters and of what it is fed.

    feeds, fetches: the names of what is fed and returned. parameters: the persistable variables that are read
    before they are written, by name. updated: those that ops write, in a program that trains, or that begins
    one. takes: all that an executor may be fed: also parameters, and the gradient of a loss.
    """

    def __init__(self, content: bytes, where: str) -> None:
        """Reads a ProgramDesc; `where` it comes from, for errors.

        Raises:
          Error: for bytes that are no program.
          UnsupportedError: for ops that are not in the table, all of them in one error; for several blocks.
        """
        description = formats.read_program(content, where)
        block = description.blocks[0]
        of_rows = frozenset(text(variable.name) for variable in block.vars if has_rows(variable))
        every = [[read_op(op, of_rows) for op in each.ops] for each in description.blocks]
        self.variables = {found.name: found for found in map(read_variable, block.vars) if found is not None}
        self._saved = sorted(text(variable.name) for variable in block.vars if is_saved(variable))
        self.ops = [op for op in every[0] if op.kind not in _MOVES]
        fed, fetched = (_columns(every[0], kind, where) for kind in ("feed", "fetch"))
        unwritten = self._read_first()
        self.parameters = {name: self.variables[name] for name in unwritten if self._is_persistable(name)}
        written = dict.fromkeys(name for op in self.ops for names in op.outputs.values() for name in names)
        self.updated = tuple(name for name in written if self._is_persistable(name))
        self.feeds = fed or tuple(name for name in unwritten if not self._is_persistable(name))
        self.fetches = fetched
        begun = (
            name for op in self.ops if op.begins_backward for name in op.writes if name in self.variables
        )
        self.takes = frozenset((*self.feeds, *self.parameters, *begun))
        variables = [self.variables[name] for name in self.feeds if name in self.variables]
        support.check([self.ops, *every[1:]], variables, formats.changed_ops(description), where)
        if unknown := [name for name in self.feeds if name not in self.variables]:
            raise Error(f'{where} is fed with "{unknown[0]}", expected a tensor of numbers')

    @property
    def trains(self) -> bool:
        """Whether it has a backward pass."""
        return any(op.role & BACKWARD for op in self.ops)

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
        """The parameters in a file of Paddle, or in a folder with a file for each.

        Args:
          file: tensors one behind the other in the order of names (`.pdiparams`, or what is saved with
            `filename`); or a dict that is pickled (`.pdparams`; what it lacks is read in `.pdopt` beside
            it), of which nothing is run, and whatever is no parameter is ignored; or a folder.

        Raises:
          Error: for other content, and other tensors: names the first that differs.
        """
        path = Path(os.fspath(file))
        found = read_variables(path, self.parameters, self._saved)
        for name, value in found.items():
            variable = self.parameters[name]
            if (variable.dtype.name, value.dtype.name) == ("bfloat16", "uint16"):  # as pickles have it
                found[name] = value.view(variable.dtype)
            checks.check(f'parameter "{name}" in "{path}"', found[name], variable, Error)
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
            **checks.given("parameters", parameters, self.parameters),
            **checks.given("feed", feed, {name: self.variables[name] for name in self.feeds}),
        }
        values = {name: jnp.asarray(value) for name, value in values.items()}
        wanted = self.fetches if fetches is None else tuple(fetches)
        run = Run(values, key)
        for number, op in enumerate(self.ops):
            run.do(number, op)
        after = {name: values[name] for name in (*self.parameters, *self.updated)}
        return after, [self._fetched(name, values) for name in wanted]

    def _fetched(self, name: str, values: Mapping[str, Any]) -> Any:
        if name not in values:
            raise ArgumentError(f'no variable "{name}" to fetch{did_you_mean(name, list(values))}')
        return values[name]


def _columns(ops: Sequence[Op], kind: str, where: str) -> tuple[str, ...]:
    """The names of what is fed or fetched, in their order."""
    found: dict[int, str] = {}
    for op in ops:
        if op.kind == kind:
            names = op.outputs.get("Out", ()) if kind == "feed" else op.inputs.get("X", ())
            column = op.attributes.get("col")
            if len(names) != 1 or not isinstance(column, int) or column in found:
                raise Error(f'{where} has a "{kind}" that has no column and variable of its own')
            found[column] = names[0]
    return tuple(found[column] for column in sorted(found))


def load(source: PathLike | bytes | Any) -> Program:
    """A program of a file (`model.pdmodel`, or `model` as Paddle's functions take it), of bytes, of Paddle.

    Raises:
      Error, UnsupportedError: as of `Program`.
      ArgumentError: for what is none of these.
    """
    if isinstance(source, bytes):
        return Program(source, "the program")
    if isinstance(source, (str, os.PathLike)):
        path = _file_of(Path(os.fspath(source)))
        return Program(read_file(path), f'"{path}"')
    serialize = getattr(getattr(source, "desc", None), "serialize_to_string", None)
    if serialize is None:
        raise ArgumentError(f"load takes a path, bytes or a program of Paddle, found {type(source).__name__}")
    return Program(serialize(), "the program")


def _file_of(path: Path) -> Path:
    """The file of a program, of which Paddle's functions take the name without what each version adds."""
    if path.is_dir():
        return path / "__model__"
    names = [path, *(path.with_name(f"{path.name}{suffix}") for suffix in (".pdmodel", ".json"))]
    return next((each for each in names if each.exists()), names[1])
