"""The arguments and results of a step: which are state, batch or constant, and what their leaves are."""

from __future__ import annotations

import functools
import inspect
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from epl.adapters import nnx
from epl.adapters.jax import trace as adapter
from epl.environment import Settings
from epl.errors import ArgumentError, StateError, UnsupportedError
from epl.parameters import ParameterNames, Parameters, as_sequence
from epl.statics import StaticValue
from epl.values import as_integer

Batch = Parameters | Mapping[str | int, Any]
Static = tuple[tuple[str, StaticValue], ...]

_INTEGERS = frozenset(f"{kind}int{bits}" for kind in ("", "u") for bits in (8, 16, 32, 64))
DTYPES = _INTEGERS | {"bool", "float16", "bfloat16", "float32", "float64"}


@dataclass(frozen=True)
class Spec:
    """What a plan is made for: trees, shapes, dtypes and static values of a call, without its arrays.

    trees: of the parameters that hold arrays, by name. kinds: shape and dtype of every leaf. weak_types:
    whether a leaf takes the dtype of what it meets, as Python scalars do; it changes what JAX traces, not
    what a plan takes. numbers: leaves of states that come as Python scalars; their types are not weak.
    """

    trees: tuple[tuple[str, Any], ...]
    kinds: tuple[tuple[tuple[int, ...], Any], ...]
    static: Static
    weak_types: tuple[bool, ...] = field(compare=False)
    numbers: tuple[int, ...] = field(compare=False)

    @property
    def leaves(self) -> list[jax.ShapeDtypeStruct]:
        """The leaves as JAX describes them."""
        pairs = zip(self.kinds, self.weak_types, strict=True)
        return [jax.ShapeDtypeStruct(*kind, weak_type=weak) for kind, weak in pairs]

    @property
    def owners(self) -> list[str]:
        """The parameter that each leaf is of."""
        return [name for name, tree in self.trees for _ in range(tree.num_leaves)]

    def by_parameter(self, leaves: Sequence[Any]) -> dict[str, Any]:
        """The trees of the parameters, with these leaves."""
        rest = iter(leaves)
        return {
            name: jax.tree.unflatten(tree, itertools.islice(rest, tree.num_leaves))
            for name, tree in self.trees
        }


class Signature:
    """The parameters of a step and their roles.

    positional: the parameters, if a call that gives as many positional arguments gives all of them in this
    order; else none. device_axis: over which devices exchange, of a step of one device.

    Args:
      function: the step.
      state: parameters that the step returns updated, in this order, as its first results.
      batch: parameters whose leaves the devices share along dimension 0, or a dict from parameters to
        prefixes of axes as in `jax.vmap` (None: not shared).
      static: names of parameters that are Python values, part of the program.

    Raises:
      ArgumentError: for parameters that the step does not have, or that have two roles.
    """

    device_axis: str | None = None

    def __init__(
        self, function: Callable[..., Any], state: Parameters, batch: Batch, static: str | Sequence[str]
    ) -> None:
        self.function = function
        self.name = getattr(function, "__name__", type(function).__name__)
        self._signature = _signature(function)
        self._names = ParameterNames(self._signature, self.name)
        self.state = tuple(self._names.resolve(state, "state"))
        axes = batch.items() if isinstance(batch, Mapping) else [(x, 0) for x in as_sequence(batch, "batch")]
        found = self._names.resolve(tuple(name for name, _ in axes), "batch")
        self.static = tuple(self._names.resolve(static, "static_argnames"))
        self._check_distinct(found)
        self.batch = {name: axis for name, (_, axis) in zip(found, axes, strict=True)}
        self.positional = () if self.static else _positional(self._signature)

    def _check_distinct(self, batch: Sequence[str]) -> None:
        roles = [*self.state, *batch, *self.static]
        owners = {name.partition("[")[0] for name in roles if "[" in name}
        if twice := next((name for name in roles if roles.count(name) > 1 or name in owners), None):
            raise ArgumentError(
                f'parameter "{twice}" of {self.name} is named twice in state, batch and static_argnames'
            )

    def on(self, chosen: Settings) -> Signature:  # noqa: ARG002  (a step of one device asks)
        """The same for a step on the devices that are chosen."""
        return self

    def bind(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Spec, list[Any]]:
        """Matches a call's arguments with the parameters: what they are, and their leaves.

        Raises:
          ArgumentError: if they do not match, or a leaf is no array.
        """
        return self.describe(*self.match(args, kwargs))

    def match(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[dict[str, Any], Static]:
        """The arguments that hold arrays, by parameter, in the order of the parameters; the static ones.

        As in `jax.jit`, a parameter that the call leaves to its default is that Python value, part of the
        program, unless it has a role. Objects of flax.nnx are split.

        Raises:
          ArgumentError: if they do not match.
        """
        if not kwargs and len(args) == len(self.positional):
            return dict(zip(self.positional, nnx.split_all(args), strict=True)), ()
        try:
            bound = self._signature.bind(*args, **kwargs)
        except TypeError as error:
            raise ArgumentError(f"{self.name}: {error}") from None
        left = set(self._signature.parameters) - set(bound.arguments) - {*self.state, *self.batch}
        bound.apply_defaults()
        arguments = self._names.expand(bound.arguments)
        static = tuple((name, _static(name, arguments.pop(name))) for name in self.static)
        return {name: nnx.split(value) for name, value in arguments.items() if name not in left}, static

    def describe(self, values: Mapping[str, Any], static: Static) -> tuple[Spec, list[Any]]:
        """What such arguments are, and their leaves: arrays, Python numbers, `jax.ShapeDtypeStruct`s.

        Raises:
          ArgumentError: if a leaf is no array.
        """
        nnx.check_unshared(self.name, values)
        flat = {name: jax.tree.flatten(value, is_leaf=nnx.is_object) for name, value in values.items()}
        leaves = [leaf for part, _ in flat.values() for leaf in part]
        try:
            kinds = tuple(map(_kind, leaves))
        except (ArgumentError, UnsupportedError) as error:
            raise type(error)(_about_leaf(values, str(error))) from None
        weak = list(map(_is_weak, leaves))
        in_state = [name in self.state for name, (part, _) in flat.items() for _ in part]
        numbers = tuple(i for i, pair in enumerate(zip(weak, in_state, strict=True)) if all(pair))
        kept = tuple(is_weak and not state for is_weak, state in zip(weak, in_state, strict=True))
        trees = tuple((name, tree) for name, (_, tree) in flat.items())
        return Spec(trees, kinds, static, kept, numbers), leaves

    def arguments(self, spec: Spec) -> list[adapter.Argument]:
        """Names and roles of the leaves."""
        trees = spec.by_parameter(spec.leaves)
        return [argument for name, value in trees.items() for argument in self._describe(name, value)]

    def arriving(
        self,
        arguments: Sequence[adapter.Argument],
        owners: Sequence[str],  # noqa: ARG002
        leaves: Sequence[Any],  # noqa: ARG002
    ) -> list[adapter.Argument]:
        """Arguments as devices hold them before the step, if it says that; `owners`: their parameters."""
        return list(arguments)

    def _describe(self, name: str, value: Any) -> list[adapter.Argument]:
        """Names and roles of the leaves of one argument."""
        names = [name + jax.tree_util.keystr(path) for path, _ in jax.tree.flatten_with_path(value)[0]]
        if name in self.state:
            return [adapter.Argument(leaf, "state") for leaf in names]
        if name not in self.batch:
            return [adapter.Argument(leaf, "constant") for leaf in names]
        axes = _broadcast_axes(name, self.batch[name], value)
        leaves = jax.tree.leaves(value)
        return [_batch_argument(*item) for item in zip(names, axes, leaves, strict=True)]

    def call(self, spec: Spec, leaves: Sequence[Any]) -> Any:
        """Calls the step with other leaves (tracers) in place of the bound ones.

        Gives what it returns; `nnx.InPlace` if it has objects of flax.nnx as arguments.

        Raises:
          StateError: if it changes such an object that is no state.
        """
        static = {name: constant.value for name, constant in spec.static}
        arguments = {**spec.by_parameter(leaves), **static}
        splits = {name: value for name, value in arguments.items() if isinstance(value, nnx.Split)}
        objects = {name: value.merge() for name, value in splits.items()}
        arguments = self._names.collapse(arguments | objects)
        ordered = {name: arguments[name] for name in self._signature.parameters if name in arguments}
        rebuilt = inspect.BoundArguments(self._signature, ordered)
        out = self.function(*rebuilt.args, **rebuilt.kwargs)
        return nnx.updated(self.name, splits, objects, out, self.state) if objects else out

    def _states(self, spec: Spec) -> tuple[list[str], list[str]]:
        """The states that are updated in place, and those that the step returns."""
        trees = spec.by_parameter(spec.leaves)
        in_place = [name for name in self.state if isinstance(trees[name], nnx.Split)]
        return in_place, [name for name in self.state if name not in in_place]

    def returned(self, values: Mapping[str, Any], result: Any) -> Any:
        """What a call returns, from what the step gives; the caller's objects of flax.nnx are updated."""
        return nnx.written(values, self.state, result) if type(result) is nnx.InPlace else result

    def results(self, spec: Spec, out: Any) -> list[adapter.Result]:
        """Names the leaves of the result tree and ties those of states to their arguments.

        Raises:
          StateError: if a state does not come back with the same tree, shapes and dtypes.
        """
        trees = spec.by_parameter(spec.leaves)
        updates, out = out if isinstance(out, nnx.InPlace) else ((), out)
        in_place, states = ({name: trees[name] for name in names} for names in self._states(spec))
        lone = len(states) == 1 and jax.tree.structure(out) == jax.tree.structure(*states.values())
        parts = [out] if lone else list(out) if isinstance(out, (tuple, list)) else [out]
        if len(parts) < len(states):
            raise StateError(
                f"{self.name} must return its state ({', '.join(states)}) first: "
                f"expected at least {len(states)} results, found {len(parts)}"
            )
        checked = [*zip(in_place.items(), updates, strict=True), *zip(states.items(), parts, strict=False)]
        arguments = self.arguments(spec)
        numbers = [arguments[i].name for i in spec.numbers]
        for (name, expected), part in checked:
            _check_state(self.name, name, expected, part, numbers)
        owners = [name for name, tree in trees.items() for _ in jax.tree.leaves(tree)]
        owned = list(enumerate(zip(owners, arguments, strict=True)))
        results = [
            adapter.Result(argument.name, i)
            for name in (*in_place, *states)
            for i, (owner, argument) in owned
            if owner == name
        ]
        for index, part in list(enumerate(parts))[len(states) :]:
            paths = jax.tree.flatten_with_path(part)[0]
            results += [adapter.Result(f"result[{index}]{jax.tree_util.keystr(path)}") for path, _ in paths]
        return results


def _signature(function: Any) -> inspect.Signature:
    try:
        return inspect.signature(function)
    except (TypeError, ValueError) as error:
        raise ArgumentError(f"function must be a step, a Python function, found {function!r}") from error


def _positional(signature: inspect.Signature) -> tuple[str, ...]:
    """The parameters, if a call that gives as many positional arguments gives all of them in this order."""
    kinds = {parameter.kind for parameter in signature.parameters.values()}
    plain = {inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD}
    return tuple(signature.parameters) if kinds <= plain else ()


def _broadcast_axes(name: str, axes: Any, value: Any) -> list[int | None]:
    """One axis (or None) for each leaf of a batch argument, from a prefix of its tree."""
    full: list[int | None] = []

    def add(axis: Any, part: Any) -> None:
        full.extend([axis] * len(jax.tree.leaves(part)))

    try:
        jax.tree.map(add, axes, value, is_leaf=lambda axis: axis is None)
    except ValueError:
        raise ArgumentError(
            f'the axes of batch argument "{name}" are no prefix of its tree: expected an axis, or axes as in '
            f"{jax.tree.structure(value)}, found {axes!r}"
        ) from None
    return full


def _batch_argument(name: str, axis: Any, leaf: Any) -> adapter.Argument:
    if axis is None:
        return adapter.Argument(name, "constant")
    rank, dim = np.ndim(leaf), as_integer(axis)
    if dim is None:
        raise ArgumentError(f'the batch axis of "{name}" must be an integer or None, found {axis!r}')
    if not -rank <= dim < rank:
        raise ArgumentError(
            f'"{name}" is a batch along axis {dim}, but has only {rank} dimensions: make lists arrays with '
            "np.asarray; what all devices have whole gets None as its axis, or is no batch"
        )
    return adapter.Argument(name, "batch", dim % rank)


def _kind(leaf: Any) -> tuple[tuple[int, ...], Any]:
    """Shape and dtype; Python numbers get JAX's default dtype."""
    if isinstance(leaf, np.ma.MaskedArray):
        raise ArgumentError("is a masked array: call filled(), a step sees no masks")
    if isinstance(leaf, (bool, int, float, complex, np.generic, np.ndarray)):
        try:
            kind = np.shape(leaf), jax.dtypes.canonicalize_dtype(jax.dtypes.result_type(leaf))
        except (TypeError, OverflowError):
            found = f"an array of {leaf.dtype}" if isinstance(leaf, np.ndarray) else repr(leaf)
            raise ArgumentError(f"must hold numbers that JAX has, found {found}") from None
    elif hasattr(leaf, "shape") and hasattr(leaf, "dtype"):
        kind = tuple(leaf.shape), leaf.dtype
    elif nnx.is_object(leaf):
        raise ArgumentError(
            "is an object of flax.nnx inside a tree, which the step would change in place: "
            "make it an argument of its own"
        )
    else:
        raise ArgumentError(
            f"must be an array, found {type(leaf).__name__}: name it in static_argnames if it is part of the "
            "program; out of a tree of arrays take it, and let the step close over it"
        )
    if not _is_supported(kind[1]):
        raise UnsupportedError(f"has dtype {np.dtype(kind[1]).name}, which is not supported yet")
    return kind


@functools.cache
def _is_supported(dtype: Any) -> bool:
    return is_key(dtype) or np.dtype(dtype).name in DTYPES


def _is_weak(leaf: Any) -> bool:
    """Weak types stay as in `jax.jit` (bfloat16 times 0.1 is bfloat16), but for states.

    A step count that starts as a Python int would need a second plan for what comes back.
    """
    is_python = isinstance(leaf, (int, float)) and not isinstance(leaf, (bool, np.generic))
    return is_python or bool(getattr(leaf, "weak_type", False))


def check_leaf(leaf: Any, name: str) -> None:
    """Raises `ArgumentError` or `UnsupportedError`, with the name, unless a leaf is an array of a plan's."""
    try:
        _kind(leaf)
    except (ArgumentError, UnsupportedError) as error:
        raise type(error)(f'"{name}" {error}') from None


def _about_leaf(values: Mapping[str, Any], problem: str) -> str:
    """Puts the name of the first leaf that has a problem before its description."""
    for name, value in values.items():
        for path, leaf in jax.tree.flatten_with_path(value, is_leaf=nnx.is_object)[0]:
            try:
                _kind(leaf)
            except (ArgumentError, UnsupportedError):
                return f'"{name}{jax.tree_util.keystr(path)}" {problem}'
    return problem


def is_key(dtype: Any) -> bool:
    """Whether a dtype is that of typed random keys."""
    return bool(jnp.issubdtype(dtype, jax.dtypes.prng_key))


def _static(name: str, value: Any) -> StaticValue:
    try:
        hash(value)
        return StaticValue(value)
    except TypeError:
        instead = "no static argument" if hasattr(value, "dtype") else "a tuple, or another value with a hash"
        raise ArgumentError(
            f'static argument "{name}" must be hashable, found {type(value).__name__}: make it {instead}'
        ) from None


def _check_state(step: str, name: str, expected: Any, found: Any, numbers: Sequence[str]) -> None:
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
            f"{_about_numbers(numbers)}"
        )


def _about_numbers(numbers: Sequence[str]) -> str:
    if not numbers:
        return ""
    names = ", ".join(f'"{name}"' for name in numbers)
    return (
        f"; a Python number is an array of its own dtype once it is a state ({names}): give it in the dtype "
        "that the step computes in, as by jnp.asarray(0.1, jnp.bfloat16)"
    )


def _text(leaf: Any) -> str:
    return f"{leaf.dtype}[{','.join(map(str, leaf.shape))}]"
