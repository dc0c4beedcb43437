"""`epl.init_state`: the first states of a step, made where and as the step holds them.

Method: the function that makes the states is a step of its own, without scopes of the user's, which brings
the meshes of the other step's plan. Each mesh has a scope in which all that it holds is computed from the
key; the sharding that each state has there is wanted of the result (`epl.wanted` in MLIR). Results stay on
the devices.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from epl.adapters import nnx
from epl.adapters.jax import hooks
from epl.adapters.jax import trace as adapter
from epl.arrangement import arranged
from epl.calling import to_host
from epl.checkpoints.paths import differences
from epl.compile import load_or_compile
from epl.errors import ArgumentError, Place, StateError
from epl.executable import Executable
from epl.parallelize import Parallelized
from epl.places import definition
from epl.processes import group
from epl.processes.agreement import check_same
from epl.scope_table import Kind, Strategy, open_step
from epl.signature import Signature, Spec, is_key
from epl.stages import Compiled, Lowered


def init_state(init_fn: Callable[[Any], Any], key: Any, *, like: Lowered | Compiled | Parallelized) -> Any:
    """Makes the first states of a step on its devices, each part where the step wants it.

    No device holds a state of which the step gives it a part as a whole, not even for a while, so that a
    model may start that is larger than the memory of one device::

        shapes = jax.eval_shape(init_fn, key)
        lowered = train_step.lower(*shapes, x, y)
        params, opt_state = epl.init_state(init_fn, key, like=lowered)
        params, opt_state, loss = train_step(params, opt_state, x, y)  # copies nothing

    What initializers draw from a key are the same random bits as in `jax.jit(init_fn)(key)`, in any layout;
    what is computed of these may differ in the last places, as in all steps. Scopes in `init_fn` say nothing:
    the layout is that of the step. Factorizations, as orthogonal initializers have them, are of whole
    matrices. Several processes call it alike; each makes what its devices hold. Where parameter servers hold
    the states (`epl.ParameterServer`), they are JAX's arrays until the first call, whose worker 0 sends them.

    Args:
      init_fn: gives the states from the key, as `jax.jit` takes it: the tree that the step has as its state
        argument, or a tuple of these if it has several, in the order of `state`. Objects of flax.nnx are made
        in it, too.
      key: a random key, or any tree of arrays; the same in all processes.
      like: the step: lowered (`train_step.lower(...)` takes `jax.ShapeDtypeStruct`s), compiled, or a
        parallelized one that was lowered or called before, of which it is the newest.

    Returns:
      The states, trees of `epl.Array`s with the `device_sharding` that the step's own have.

    Raises:
      ArgumentError: if `init_fn` is no function, or `like` is no step with states, or was never lowered.
      StateError: if `init_fn` gives another tree than the step takes, or other shapes or dtypes: the path in
        the tree, what was expected and found.
      CompileError: with the line, if something in `init_fn` does not compile.
      ProcessError: if processes have other keys or functions: which, and how they differ.
    """
    if not callable(init_fn):
        raise ArgumentError(f"init_fn must be a function that makes states of a key, found {init_fn!r}")
    step = _compiled(like)
    states = _States.of(step)
    name = re.sub(r"\W", "_", getattr(init_fn, "__name__", type(init_fn).__name__))
    spec, leaves = Signature(_taking_key(init_fn), (), (), ()).bind((key,), {})
    made = _trace(init_fn, spec)
    states.check(name, made.trees)
    if not step.holds_states:
        return states.unflatten(jax.jit(lambda *own: hooks.evaluate(made.closed, own))(*leaves))
    program = _lower(made.closed, states, spec, name, definition(init_fn))
    offload = ("--offload", "--offload-results") if "--offload" in step.lowered.options else ()
    plan = load_or_compile(program.text, step.lowered.devices, name, offload)
    _check_key(plan, spec, leaves, name)
    run = Executable(
        plan, step.lowered.devices, name, program.hidden, states.leaves, program.reports, keeps_results=True
    )
    return states.unflatten(run.run(leaves, donate=False))


def _check_key(plan: Any, spec: Spec, leaves: Sequence[Any], name: str) -> None:
    """Has processes compare the keys that they give, but for arrays in parts, which no call takes."""
    members = group.current()
    if members is None or plan.devices == 1:
        return
    named = [
        (f'"{path}"', to_host(leaf).view(np.uint32 if is_key(kind.dtype) else kind.dtype))
        for path, kind, leaf in zip(_key_names(spec), spec.leaves, leaves, strict=True)
        if getattr(leaf, "is_fully_addressable", True)
    ]
    check_same(members, named, f"init_state({name})")


def _compiled(like: Any) -> Compiled:
    if isinstance(like, Compiled):
        return like
    lowered = like.newest if isinstance(like, Parallelized) else like
    if isinstance(lowered, Lowered):
        return lowered.compile()
    if isinstance(like, Parallelized):
        raise ArgumentError(
            f"like is {like!r}, which was never lowered, so that it has no layout yet: give "
            "like=step.lower(...), which takes jax.ShapeDtypeStructs in the place of arrays"
        )
    raise ArgumentError(f"like must be a lowered, compiled or parallelized step, found {like!r}")


def _taking_key(init_fn: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A function of one parameter, whatever parameters with defaults `init_fn` has besides."""

    def initial(key: Any) -> Any:
        return init_fn(key)

    return initial


@dataclass(frozen=True)
class _Made:
    """What `init_fn` gives: traced, and its result."""

    closed: Any
    trees: Any


def _trace(init_fn: Callable[[Any], Any], spec: Spec) -> _Made:
    """Traces outside of all steps, where scopes are names: the layout is that of the other step."""
    ((_, tree),) = spec.trees

    def initial(*leaves: Any) -> Any:
        out = init_fn(jax.tree.unflatten(tree, leaves))
        return jax.tree.map(nnx.split, out, is_leaf=nnx.is_object)

    with hooks.tracing_step():
        closed, trees = jax.make_jaxpr(initial, return_shape=True)(*spec.leaves)
    return _Made(closed, trees)


@dataclass(frozen=True)
class _States:
    """The states of a step: their trees by name, their leaves (shape, dtype) and its slots for these."""

    step: str
    trees: dict[str, Any]
    leaves: list[Any]
    slots: list[int]
    names: list[str]
    meshes: list[Any]

    @staticmethod
    def of(step: Compiled) -> _States:
        """Those of a compiled step.

        Raises:
          ArgumentError: if it has none.
        """
        lowered = step.lowered
        spec, states = lowered.spec, lowered.signature.state
        known = dict(spec.trees)
        trees = {name: known[name] for name in states}
        slots = [slot for name in states for slot, owner in enumerate(spec.owners) if owner == name]
        if not slots:
            raise ArgumentError(
                f"like is {step.name}, which has no states: name them in state= of epl.parallelize"
            )
        leaves = [spec.leaves[slot] for slot in slots]
        names = [lowered.arguments[slot].name for slot in slots]
        return _States(step.name, trees, leaves, slots, names, list(step.plan.meshes))

    def unflatten(self, leaves: Sequence[Any]) -> Any:
        """The states as `init_fn` gives them, with these leaves."""
        rest = iter(leaves)
        trees = [
            jax.tree.unflatten(tree, [next(rest) for _ in range(tree.num_leaves)])
            for tree in self.trees.values()
        ]
        whole = [tree.merge() if isinstance(tree, nnx.Split) else tree for tree in trees]
        return whole[0] if len(whole) == 1 else tuple(whole)

    def check(self, init: str, found: Any) -> None:
        """Raises StateError unless `found`, a tree of shapes and dtypes, is that of the states."""
        states = list(self.trees)
        values = [found] if len(states) == 1 else found
        if not isinstance(values, (tuple, list)) or len(values) != len(states):
            number = (
                f", found {len(values)} values" if isinstance(values, (tuple, list)) else f", found {values}"
            )
            raise StateError(
                f"{init} must give the {len(states)} states of {self.step} ({', '.join(states)}) as a tuple"
                f"{number}"
            )
        rest = iter(self.leaves)
        for (name, tree), value in zip(self.trees.items(), values, strict=True):
            expected = jax.tree.unflatten(tree, [next(rest) for _ in range(tree.num_leaves)])
            self._check(init, name, expected, value)

    def _check(self, init: str, name: str, expected: Any, found: Any) -> None:
        problem = differences(name, expected, found)
        if not problem and (tree := jax.tree.structure(expected)) != (other := jax.tree.structure(found)):
            problem = f"{name}: expected {tree}, found {other}"
        if problem:
            raise StateError(f"{init} does not give the states of {self.step}: {problem}")


def _leaves(name: str, tree: Any) -> dict[str, Any]:
    return {name + jax.tree_util.keystr(path): leaf for path, leaf in jax.tree.flatten_with_path(tree)[0]}


def _lower(closed: Any, states: _States, spec: Spec, name: str, place: Place) -> adapter.Program:
    """The step that computes on each mesh what it holds of the states."""
    positions = {slot: position for position, slot in enumerate(states.slots)}
    held = [
        sorted((slot for slot in mesh.slots if slot.slot in positions), key=lambda one: positions[one.slot])
        for mesh in states.meshes
    ]
    meshes = [
        adapter.Mesh(f"mesh{index}", tuple(mesh.axes), mesh.first, tuple(mesh.strides))
        for index, mesh in enumerate(states.meshes)
    ]

    def step(*leaves: Any) -> list[Any]:
        results: list[Any] = []
        for mesh, slots in zip(meshes, held, strict=True):
            own = [positions[slot.slot] for slot in slots]
            part = hooks.pruned(closed, [position in own for position in range(len(states.slots))])
            with _scope(mesh.name, place):
                values = dict(zip(sorted(set(own)), hooks.evaluate(part, leaves), strict=True))
                results += [arranged(_numbers(values[positions[slot.slot]]), slot) for slot in slots]
        return results

    arguments = [adapter.Argument(argument, "constant") for argument in _key_names(spec)]
    traced = adapter.trace(step, spec.leaves, name, [argument.name for argument in arguments])
    results = [
        adapter.Result(states.names[positions[slot.slot]], wanted=_wanted(mesh.name, slot, positions))
        for mesh, slots in zip(meshes, held, strict=True)
        for slot in slots
    ]
    return adapter.lower(traced, arguments, results, name=name, place=place, meshes=meshes)


def _scope(name: str, place: Place) -> contextlib.AbstractContextManager[None]:
    """The scope of a mesh, in the step that is traced."""
    table = open_step()
    assert table is not None, "a step is traced"
    return table.entered(Strategy(Kind.REPLICATE, 1, name, place=place))


def _key_names(spec: Spec) -> list[str]:
    trees = spec.by_parameter(spec.leaves)
    return [path for name, tree in trees.items() for path in _leaves(name, tree)]


def _numbers(value: Any) -> Any:
    return jax.random.key_data(value) if is_key(value.dtype) else value


def _wanted(mesh: str, slot: Any, positions: dict[int, int]) -> adapter.Wanted:
    return adapter.Wanted(
        mesh,
        tuple(tuple(axes) for axes in slot.sharding),
        positions[slot.slot],
        slot.caller_rows,
        tuple(slot.caller_shape),
        tuple((dim, tuple(extents)) for dim, extents in slot.caller_parts),
    )
