"""The names of a step's parameters: which one a role means, also in `*args` and `**kwargs`.

Problem: as in `jax.jit`, a role names a parameter, a position, or one of several arguments that one parameter
takes: position 1 of a wrapper `def step(*args)`, the name "x" of `def step(**named)`. Method: where a role
names one of them, all arguments of that parameter count as parameters of their own, `args[1]`, `named['x']`,
from the call (`expand`) until the step itself is called (`collapse`).
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Mapping, Sequence
from typing import Any

from epl.errors import ArgumentError
from epl.values import as_integer, did_you_mean

Parameters = str | int | Sequence[str | int]


class ParameterNames:
    """The parameters of a step by name and position.

    Positions in `*args` count from the end of the call's if they are negative, as in `jax.jit`.
    """

    def __init__(self, signature: inspect.Signature, step: str) -> None:
        self._step = step
        self._names = list(signature.parameters)
        kinds = {parameter.kind: name for name, parameter in signature.parameters.items()}
        self._args = kinds.get(inspect.Parameter.VAR_POSITIONAL)
        self._named = kinds.get(inspect.Parameter.VAR_KEYWORD)
        self._elements: list[str] = []  # of the two, that roles name

    def resolve(self, given: Any, what: str) -> list[str]:
        """The parameters that names and positions mean; `what`: the option that gives them.

        Raises:
          ArgumentError: for what the step does not have.
        """
        return [self._resolve(item, what) for item in as_sequence(given, what)]

    def _resolve(self, item: Any, what: str) -> str:
        position = as_integer(item)
        fixed = self._names.index(self._args) if self._args else len(self._names)
        if position is not None and self._args and not 0 <= position < fixed:
            return self._element(f"{self._args}[{position - fixed if position >= 0 else position}]")
        if position is not None and -len(self._names) <= position < len(self._names):
            return self._names[position]
        if isinstance(item, str) and item in self._names:
            return item
        if isinstance(item, str) and item.isidentifier() and self._named:
            return self._element(f"{self._named}[{item!r}]")
        raise ArgumentError(
            f"{what} names {item!r}, but {self._step} has the parameters ({', '.join(self._names)})"
            f"{self._meant(item)}"
        )

    def _element(self, name: str) -> str:
        self._elements.append(name)
        return name

    def _meant(self, item: Any) -> str:
        """What to write instead of a name that there is not."""
        parts = item.replace(",", " ").split() if isinstance(item, str) else []
        if len(parts) > 1 and set(parts) <= set(self._names):
            return f": write {tuple(parts)}"
        return did_you_mean(item, self._names) if parts else ""

    def expand(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments of a call, by parameter; those of `*args` and `**kwargs` one by one if roles do so.

        Raises:
          ArgumentError: if the call does not give one that a role names.
        """
        if not self._elements:
            return dict(arguments)
        expanded: dict[str, Any] = {}
        for name, value in arguments.items():
            expanded |= self._elements_of(name, value) or {name: value}
        for name in self._elements:
            if name not in expanded:
                raise ArgumentError(
                    f'{self._step} is called without "{name}", which state, batch or static_argnames names'
                )
        return expanded

    def _elements_of(self, name: str, value: Any) -> dict[str, Any]:
        if not any(element.startswith(f"{name}[") for element in self._elements):
            return {}
        if name == self._named:
            return {f"{name}[{key!r}]": each for key, each in value.items()}
        elements = {}
        for index, each in enumerate(value):
            first, last = f"{name}[{index}]", f"{name}[{index - len(value)}]"
            if first in self._elements and last in self._elements:
                raise ArgumentError(
                    f'argument "{first}" of {self._step} is named twice in state, batch and static_argnames: '
                    f"it is {last}"
                )
            elements[last if last in self._elements else first] = each
        return elements

    def collapse(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The inverse of `expand`."""
        if not self._elements:
            return dict(arguments)
        collapsed = {name: value for name, value in arguments.items() if "[" not in name}
        args, named = self._inside(self._args, arguments), self._inside(self._named, arguments)
        if args:
            collapsed[str(self._args)] = tuple(args[key] for key in sorted(args, key=lambda i: i % len(args)))
        if named:
            collapsed[str(self._named)] = named
        return collapsed

    @staticmethod
    def _inside(name: str | None, arguments: Mapping[str, Any]) -> dict[Any, Any]:
        """The arguments that are elements of a parameter, by index or key."""
        prefix = f"{name}["
        return {
            ast.literal_eval(key[len(prefix) : -1]): value
            for key, value in arguments.items()
            if key.startswith(prefix)
        }


def as_sequence(given: Any, what: str) -> Sequence[Any]:
    """One name or position, or several, as a sequence.

    Raises:
      ArgumentError: for all else.
    """
    if isinstance(given, str) or as_integer(given) is not None:
        return (given,)
    if not isinstance(given, (list, tuple, set, frozenset)):
        raise ArgumentError(f"{what} must be names or positions of parameters, found {given!r}")
    return tuple(given)


def as_owners(owners: Any) -> Mapping[str, int]:
    """Devices by names of states.

    Raises:
      ArgumentError: for anything else.
    """
    if owners is None:
        return {}
    if not isinstance(owners, Mapping) or not all(
        isinstance(name, str) and type(device) is int and device >= 0 for name, device in owners.items()
    ):
        raise ArgumentError(
            f"owners must be a dict from names of states to devices from 0 on, found {owners!r}"
        )
    return owners


def check_owners(owners: Mapping[str, int], arguments: Sequence[Any], step: str) -> None:
    """Raises ArgumentError if `owners` names something that is no state among the arguments of a step."""
    states = [argument.name for argument in arguments if argument.role == "state"]
    for name in owners:
        if name not in states:
            raise ArgumentError(
                f'owners names "{name}", which is no state of {step}{did_you_mean(name, states)}'
            )
