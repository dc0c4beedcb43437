"""The arguments and results of a step: which are state, batch or constant, and what their leaves are."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from epl.adapters.jax import trace as adapter
from epl.errors import StateError, UnsupportedError

Parameters = str | int | Sequence[str | int]
Batch = Parameters | Mapping[str | int, Any]

_INTEGERS = frozenset(f"{kind}int{bits}" for kind in ("", "u") for bits in (8, 16, 32, 64))
_DTYPES = _INTEGERS | {"bool", "float16", "bfloat16", "float32", "float64"}


@dataclass(frozen=True)
class Bound:
    """One call's arguments: dynamic leaves with their tree, and static values.

    `key` is equal for calls that one plan serves: same tree, shapes, dtypes, static values; what JAX makes of
    it depends on `weak_types` too.
    """

    values: tuple[Any, ...]
    leaves: tuple[jax.ShapeDtypeStruct, ...]
    arguments: tuple[adapter.Argument, ...]
    tree: Any
    static: tuple[tuple[str, Any], ...]
    counts: Mapping[str, int]  # leaves of each parameter, in the order of the leaves

    @property
    def key(self) -> tuple[Any, ...]:
        """Identifies the plan that serves the call."""
        shapes = tuple((leaf.shape, leaf.dtype) for leaf in self.leaves)
        return tuple(self.counts), self.tree, shapes, self.static

    @property
    def weak_types(self) -> tuple[bool, ...]:
        """Whether each leaf takes the dtype of what it meets, as Python scalars do."""
        return tuple(leaf.weak_type for leaf in self.leaves)

    def indices(self, parameter: str) -> range:
        """The leaves that belong to a parameter."""
        start = 0
        for name, count in self.counts.items():
            if name == parameter:
                return range(start, start + count)
            start += count
        return range(0)


class Signature:
    """The parameters of a step and their roles.

    Args:
      function: the step.
      state: parameters that the step returns updated, in this order, as its first results.
      batch: parameters whose leaves the devices share along dimension 0, or a dict from parameters to
        prefixes of axes as in `jax.vmap` (None: not shared).
      static: names of parameters that are Python values, part of the program.

    Raises:
      TypeError: for parameters that the step does not have, or that have two roles.
    """

    def __init__(
        self, function: Callable[..., Any], state: Parameters, batch: Batch, static: str | Sequence[str]
    ) -> None:
        self.function = function
        self.name = getattr(function, "__name__", type(function).__name__)
        self._signature = inspect.signature(function)
        self.state = tuple(self._names(state, "state"))
        axes = batch if isinstance(batch, Mapping) else dict.fromkeys(_sequence(batch), 0)
        self.batch = dict(zip(self._names(tuple(axes), "batch"), axes.values(), strict=True))
        self.static = tuple(self._names(static, "static_argnames"))
        roles = [*self.state, *self.batch, *self.static]
        if twice := next((name for name in roles if roles.count(name) > 1), None):
            raise TypeError(
                f'parameter "{twice}" of {self.name} is named twice in state, batch and static_argnames'
            )

    def _names(self, given: Parameters, what: str) -> list[str]:
        names = list(self._signature.parameters)
        found = []
        for item in _sequence(given):
            if isinstance(item, int) and not isinstance(item, bool) and -len(names) <= item < len(names):
                found.append(names[item])
            elif item in names:
                found.append(str(item))
            else:
                raise TypeError(
                    f"{what} names {item!r}, but {self.name} has the parameters ({', '.join(names)})"
                )
        return found

    def bind(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Bound:
        """Matches a call's arguments with the parameters; arrays or `jax.ShapeDtypeStruct` leaves.

        As in `jax.jit`, a parameter that the call leaves to its default is that Python value, part of the
        program, unless it has a role.

        Raises:
          TypeError: if they do not match, or a leaf is no array.
        """
        bound = self._signature.bind(*args, **kwargs)
        given = set(bound.arguments)
        bound.apply_defaults()
        for name in self._signature.parameters:
            if name not in given and name not in (*self.state, *self.batch, *self.static):
                del bound.arguments[name]
        static = tuple((name, bound.arguments.pop(name)) for name in self.static)
        for name, value in static:
            _check_hashable(name, value)
        dynamic = dict(bound.arguments)
        # A tuple: a dict would be flattened in the order of its keys.
        leaves, tree = jax.tree.flatten(tuple(dynamic.values()), is_leaf=_is_mutable_module)
        described = [self._describe(name, value) for name, value in dynamic.items()]
        return Bound(
            values=tuple(leaves),
            leaves=tuple(_abstract(leaf, a) for leaf, a in zip(leaves, _chain(described), strict=True)),
            arguments=tuple(_chain(described)),
            tree=tree,
            static=static,
            counts=dict(zip(dynamic, map(len, described), strict=True)),
        )

    def _describe(self, name: str, value: Any) -> list[adapter.Argument]:
        """Names and roles of the leaves of one argument."""
        paths = [path for path, _ in jax.tree.flatten_with_path(value, is_leaf=_is_mutable_module)[0]]
        names = [name + jax.tree_util.keystr(path) for path in paths]
        if name in self.state:
            return [adapter.Argument(leaf, "state") for leaf in names]
        if name not in self.batch:
            return [adapter.Argument(leaf, "constant") for leaf in names]
        axes = _broadcast_axes(name, self.batch[name], value)
        leaves = jax.tree.leaves(value)
        return [_batch_argument(*item) for item in zip(names, axes, leaves, strict=True)]

    def call(self, bound: Bound, leaves: Sequence[Any]) -> Any:
        """Calls the step with other leaves (tracers) in place of the bound ones."""
        dynamic = zip(bound.counts, jax.tree.unflatten(bound.tree, leaves), strict=True)
        arguments = {**dict(dynamic), **dict(bound.static)}
        ordered = {name: arguments[name] for name in self._signature.parameters if name in arguments}
        rebuilt = inspect.BoundArguments(self._signature, ordered)
        return self.function(*rebuilt.args, **rebuilt.kwargs)

    def results(self, bound: Bound, out: Any) -> list[adapter.Result]:
        """Names the leaves of the result tree and ties those of states to their arguments.

        Raises:
          StateError: if a state does not come back with the same tree, shapes and dtypes.
        """
        arguments = dict(zip(bound.counts, jax.tree.unflatten(bound.tree, bound.leaves), strict=True))
        states = {name: arguments[name] for name in self.state}
        lone = len(states) == 1 and jax.tree.structure(out) == jax.tree.structure(*states.values())
        parts = [out] if lone else list(out) if isinstance(out, (tuple, list)) else [out]
        if len(parts) < len(states):
            raise StateError(
                f"{self.name} must return its state ({', '.join(states)}) first: "
                f"expected at least {len(states)} results, found {len(parts)}"
            )
        results: list[adapter.Result] = []
        for (name, expected), part in zip(states.items(), parts, strict=False):
            _check_state(self.name, name, expected, part)
            results += [adapter.Result(bound.arguments[i].name, i) for i in bound.indices(name)]
        rest = [(f"result[{i}]", part) for i, part in enumerate(parts)][len(states) :]
        for name, part in rest:
            results += [
                adapter.Result(name + jax.tree_util.keystr(path))
                for path, _ in jax.tree.flatten_with_path(part)[0]
            ]
        return results


def _sequence(given: Any) -> Sequence[Any]:
    return (given,) if isinstance(given, (str, int)) else tuple(given)


def _chain(lists: Sequence[Sequence[adapter.Argument]]) -> list[adapter.Argument]:
    return [item for items in lists for item in items]


def _broadcast_axes(name: str, axes: Any, value: Any) -> list[int | None]:
    """One axis (or None) for each leaf of a batch argument, from a prefix of its tree."""
    full: list[int | None] = []

    def add(axis: Any, part: Any) -> None:
        full.extend([axis] * len(jax.tree.leaves(part)))

    try:
        jax.tree.map(add, axes, value, is_leaf=lambda axis: axis is None)
    except ValueError as error:
        raise TypeError(f'the axes of batch argument "{name}" are no prefix of its tree: {error}') from None
    return full


def _batch_argument(name: str, axis: Any, leaf: Any) -> adapter.Argument:
    if axis is None:
        return adapter.Argument(name, "constant")
    rank = np.ndim(leaf)
    if isinstance(axis, bool) or not isinstance(axis, int):
        raise TypeError(f'the batch axis of "{name}" must be an integer or None, found {axis!r}')
    if not -rank <= axis < rank:
        raise TypeError(f'"{name}" is a batch along axis {axis}, but has only {rank} dimensions')
    return adapter.Argument(name, "batch", axis % rank)


def _abstract(leaf: Any, argument: adapter.Argument) -> jax.ShapeDtypeStruct:
    """Shape and dtype; Python scalars get JAX's default dtype.

    Weak types stay as in `jax.jit` (bfloat16 times 0.1 is bfloat16), but not those of states: a step count
    that starts as a Python int would need a second plan for what comes back.
    """
    name = argument.name
    if _is_mutable_module(leaf):
        raise UnsupportedError(
            f'"{name}" is a flax.nnx module, which the step would change in place: not supported yet; pass '
            "nnx.split's graph and state, merge inside the step, return the new state"
        )
    if isinstance(leaf, (bool, int, float, complex, np.generic, np.ndarray)):
        dtype: Any = jax.dtypes.canonicalize_dtype(jax.dtypes.result_type(leaf))
        shape = np.shape(leaf)
    elif hasattr(leaf, "shape") and hasattr(leaf, "dtype"):
        shape, dtype = tuple(leaf.shape), leaf.dtype
    else:
        raise TypeError(
            f'"{name}" must be an array, found {type(leaf).__name__}: '
            "name it in static_argnames if it is part of the program"
        )
    if not is_key(dtype) and np.dtype(dtype).name not in _DTYPES:
        raise UnsupportedError(f'dtype {np.dtype(dtype).name} of "{name}" is not supported yet')
    weak = isinstance(leaf, (bool, int, float)) or bool(getattr(leaf, "weak_type", False))
    return jax.ShapeDtypeStruct(shape, dtype, weak_type=weak and argument.role != "state")


def is_key(dtype: Any) -> bool:
    """Whether a dtype is that of typed random keys."""
    return bool(jnp.issubdtype(dtype, jax.dtypes.prng_key))


def _is_mutable_module(value: Any) -> bool:
    """Whether a value is a flax.nnx module; flax is asked only if the program has imported it."""
    nnx = sys.modules.get("flax.nnx")
    return nnx is not None and isinstance(value, nnx.Module)


def _check_hashable(name: str, value: Any) -> None:
    try:
        hash(value)
    except TypeError:
        raise TypeError(f'static argument "{name}" must be hashable, found {type(value).__name__}') from None


def _check_state(step: str, name: str, expected: Any, found: Any) -> None:
    if (tree := jax.tree.structure(expected)) != jax.tree.structure(found):
        raise StateError(
            f'{step} must return its state "{name}" with the same tree: expected {tree}, '
            f"found {jax.tree.structure(found)}"
        )
    pairs = zip(jax.tree.flatten_with_path(expected)[0], jax.tree.leaves(found), strict=True)
    wrong = [
        f"{name}{jax.tree_util.keystr(path)}: expected {_text(old)}, found {_text(new)}"
        for (path, old), new in pairs
        if (old.shape, old.dtype) != (new.shape, new.dtype)
    ]
    if wrong:
        more = f" (and {len(wrong) - 3} more)" if len(wrong) > 3 else ""
        changed = "; ".join(wrong[:3])
        raise StateError(
            f'{step} must return its state "{name}" with the same shapes and dtypes: {changed}{more}'
        )


def _text(leaf: Any) -> str:
    return f"{leaf.dtype}[{','.join(map(str, leaf.shape))}]"
