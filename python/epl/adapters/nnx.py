"""Objects of flax.nnx that a step changes in place: modules, optimizers, metrics, random streams, variables.

Method: as `nnx.jit` does. Such an argument is split into a graph (its structure, part of the program) and the
tree of its variables (arrays). The step gets a new object merged from both, with tracers as variables; what
it leaves in them are further results, which the caller's object takes over after the call.
Invariant out: to all else an argument is a tree of arrays, and the state it may be comes back as one.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import jax

from epl.array import Array
from epl.errors import ArgumentError, StateError


class _NoKey:
    """What the variables add to the path of a leaf: nothing, it is `model['kernel']`."""

    def __str__(self) -> str:
        return ""


@jax.tree_util.register_pytree_with_keys_class
class Split:
    """An object as its graph and its variables; `object` is the caller's own, None once a tree is rebuilt."""

    def __init__(self, graph: Any, variables: Any, owner: Any = None) -> None:
        self.graph = graph
        self.variables = variables
        self.object = owner

    def tree_flatten_with_keys(self) -> tuple[tuple[tuple[Any, Any]], Any]:
        """The variables are arrays of the step, the graph is part of the program."""
        return ((_NoKey(), self.variables),), self.graph

    @classmethod
    def tree_unflatten(cls, graph: Any, children: tuple[Any]) -> Split:
        """The other way."""
        return cls(graph, *children)

    def merge(self) -> Any:
        """A new object with these variables; it changes its own tree of them, not this one."""
        return sys.modules["flax.nnx"].merge(self.graph, jax.tree.map(lambda leaf: leaf, self.variables))


class InPlace(NamedTuple):
    """What a step gives: its objects' variables after it, in the order of the states, and what it returns."""

    updates: tuple[Split, ...]
    returned: Any


def is_object(value: Any) -> bool:
    """Whether a value is an object of flax.nnx that holds variables; does not load flax."""
    nnx = sys.modules.get("flax.nnx")
    return nnx is not None and isinstance(value, nnx.Pytree)


def _is_variable(value: Any) -> bool:
    nnx = sys.modules.get("flax.nnx")
    return nnx is not None and isinstance(value, nnx.Variable)


def split(value: Any) -> Any:
    """An object of flax.nnx or a variable by itself as its `Split`, any other value as it is."""
    if not (is_object(value) or _is_variable(value)):
        return value
    graph, variables = sys.modules["flax.nnx"].split(value)
    return Split(graph, variables, value)


def split_all(values: Sequence[Any]) -> Sequence[Any]:
    """All of some values as `split` gives them."""
    return [split(value) for value in values] if "flax.nnx" in sys.modules else values


def check_unshared(step: str, values: Mapping[str, Any]) -> None:
    """Raises `ArgumentError` if two arguments hold the same variable: each would get an update of its own."""
    nnx = sys.modules.get("flax.nnx")
    owners: dict[int, str] = {}
    for name, value in values.items():
        if nnx is None or not isinstance(value, Split):
            continue
        for path, node in nnx.iter_graph(value.object):
            if isinstance(node, nnx.Variable) and owners.setdefault(id(node), name) != name:
                raise ArgumentError(
                    f'{step}: "{owners[id(node)]}" and "{name}" share the variable '
                    f'"{".".join(map(str, path))}": pass one object that holds both'
                )


def updated(
    step: str, before: Mapping[str, Split], after: Mapping[str, Any], out: Any, state: Any
) -> InPlace:
    """What a step has made of its objects.

    Args:
      before: the objects as the step got them, by parameter.
      after: the objects that the step had, by parameter.
      out: what it returned.
      state: the parameters that it may change.

    Raises:
      StateError: for an object that is changed but is no state, that is made of other variables or has other
        attributes than before, or that the step returns.
    """
    if any(map(is_object, jax.tree.leaves(out, is_leaf=is_object))):
        raise StateError(
            f"{step} returns an object of flax.nnx: states of that kind are updated in place, "
            "return the other results only"
        )
    splits = {name: split(value) for name, value in after.items()}
    for name, old in before.items():
        _check_variables(step, name, old, splits[name], name in state)
    return InPlace(tuple(splits[name] for name in state if name in splits), out)


def _check_variables(step: str, name: str, old: Split, new: Split, may_change: bool) -> None:
    paths = [_paths(item) for item in (old, new)]
    if paths[0] != paths[1]:
        changed = ", ".join(sorted(name + path for path in paths[0] ^ paths[1])[:3])
        raise StateError(f'{step} must not add variables to "{name}" or remove them, found {changed}')
    if old.graph != new.graph:
        raise StateError(
            f'{step} must not change attributes of "{name}" that are no variables: '
            "call train(), eval() and their like before the step"
        )
    pairs = zip(jax.tree.leaves(old), jax.tree.leaves(new), strict=True)
    if not may_change and any(a is not b for a, b in pairs):
        raise StateError(f'{step} changes "{name}" in place: name it in state, or its updates are lost')


def _paths(item: Split) -> set[str]:
    return {jax.tree_util.keystr(path) for path, _ in jax.tree.flatten_with_path(item)[0]}


def written(values: Mapping[str, Any], state: Any, result: InPlace) -> Any:
    """Writes updated variables into the caller's objects; gives what the step returns."""
    _let_variables_be_set()
    owners = [values[name].object for name in state if isinstance(values[name], Split)]
    for owner, update in zip(owners, result.updates, strict=True):
        sys.modules["flax.nnx"].update(owner, update.variables)
    return result.returned


@functools.cache
def _let_variables_be_set() -> None:
    """Lets `variable[...] = value` (a metric's `reset`, say) find an array of JAX where an `epl.Array` is.

    flax takes what is no `jax.Array` for a container that changes in place.
    """
    variable = sys.modules["flax.nnx"].Variable
    set_value = variable.set_value

    @functools.wraps(set_value)
    def set_any_value(self: Any, value: Any, **options: Any) -> None:
        if options and isinstance(self.get_raw_value(), Array):
            self.set_raw_value(self.get_raw_value().to_jax())
        set_value(self, value, **options)

    variable.set_value = set_any_value
