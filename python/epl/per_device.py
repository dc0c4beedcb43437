"""Steps that say what one device does, as those of `jax.pmap`.

Problem: such a step has the part of the batch of one device, and exchanges with the others by the name of an
axis (`lax.psum(x, "device")`); a plan is made from a step of the whole batch. Method: `jax.vmap` over an axis
of that name, as long as there are devices. Batches are cut into so many parts, what the devices exchange
becomes sums and gathers over that dimension, and propagation puts one part on each device. What depends on
the device is known where the step has been traced: it has the dimension.

    argument, result       | with the dimension
    -----------------------+---------------------------------------------------
    batch                  | yes, cut out of its batch dimension
    state                  | no: one value for all devices
    state named in `local` | yes: the caller's, one value for each device
    rows of a table        | yes, if devices look up ids of their own
    another argument       | no
    another result         | yes, in the order of the devices

Devices in groups are a mesh of two axes that split this dimension, groups and members of a group. The module
brings it, as that on which batches arrive, and a step can have a sum completed over one axis first.
"""

from __future__ import annotations

import copy
import dataclasses
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from epl.adapters.jax import hooks
from epl.adapters.jax import trace as adapter
from epl.devices import count_devices
from epl.environment import Settings
from epl.errors import ArgumentError, ConfigError, ScopeError, StateError
from epl.padding import MaskedSignature
from epl.parameters import Parameters, as_sequence
from epl.scopes import replicate
from epl.sharding import Sharding
from epl.signature import Batch, Signature, Spec
from epl.tables.table import is_table
from epl.values import as_integer

PerDevice = str | tuple[str, int]

GROUPS, MEMBERS = "data", "data2"
"""The axes of a mesh of devices in groups. Both are for batches, which their names say."""


class PerDeviceSignature(Signature):
    """The parameters of a step of one device.

    Args:
      per_device: the name of the axis over which devices exchange, or that and the number of groups.
      local: those of `state` of which each device has a value of its own.

    Raises:
      ArgumentError: as `Signature` does, for an axis that is no name, for groups that are no number, and for
        `local` that is no state.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        state: Parameters,
        batch: Batch,
        static: str | Sequence[str],
        per_device: PerDevice,
        local: Parameters,
    ) -> None:
        super().__init__(function, state, batch, static)
        self.device_axis, self._groups = _checked(per_device)
        self._local = frozenset(self._names.resolve(local, "local"))
        if none := sorted(self._local - set(self.state)):
            raise ArgumentError(f'local names "{none[0]}", which is no state of {self.name}')
        self._count = 1

    def on(self, chosen: Settings) -> PerDeviceSignature:
        """The same for the devices that are chosen.

        Raises:
          ConfigError: for settings that cut a step of the whole batch, and for another number of groups.
        """
        for key, plain in (("pipeline.num_micro_batch", 1), ("auto.auto_parallel", False)):
            if chosen.config[key] != plain:
                raise ConfigError(
                    f"{key} is {chosen.config[key]}, but {self.name} says what one device does (per_device): "
                    f"expected {plain}"
                )
        bound = copy.copy(self)
        bound._count = count_devices(chosen.devices)
        if bound._count % self._groups != 0:
            raise ConfigError(
                f"per_device of {self.name} has {self._groups} groups, expected a number that divides the "
                f"{bound._count} devices"
            )
        return bound

    def arguments(self, spec: Spec) -> list[adapter.Argument]:
        """Names and roles of the leaves; each device has its part of states that are local."""
        return self.arriving(super().arguments(spec), spec.owners, spec.leaves)

    def arriving(
        self, arguments: Sequence[adapter.Argument], owners: Sequence[str], leaves: Sequence[Any]
    ) -> list[adapter.Argument]:
        """As the base class."""
        if self._count == 1:
            return list(arguments)
        return [
            dataclasses.replace(argument, arrives=self._arrives(argument, owner, leaf))
            for argument, owner, leaf in zip(arguments, owners, leaves, strict=True)
        ]

    def _arrives(self, argument: adapter.Argument, owner: str, leaf: Any) -> Sharding | None:
        """How devices hold an argument of which each has a part; of a batch where the mesh is to be said."""
        if owner not in self._local and not (argument.role == "batch" and self._groups > 1):
            return argument.arrives
        axes = ((GROUPS, self._groups), (MEMBERS, self._count // self._groups))
        mesh = axes if self._groups > 1 else ((GROUPS, self._count),)
        split = 0 if owner in self._local else argument.batch_dim
        names = tuple(name for name, _ in mesh)
        return Sharding(mesh, leaf.shape, tuple(names if dim == split else () for dim in range(leaf.ndim)))

    def call(self, spec: Spec, leaves: Sequence[Any]) -> Any:
        """Calls the step for all devices at once.

        Raises:
          ArgumentError: for a batch that the devices can't share.
          ScopeError: for a scope.
          StateError: for a state that depends on the device, and for a local one without a value for each.
        """
        structure = None

        def one_device(*own: Any) -> tuple[list[Any], list[Any]]:
            nonlocal structure
            out, structure = jax.tree.flatten(super(PerDeviceSignature, self).call(spec, own))
            self._check_shared(spec, out)
            return _split(out, self._is_shared(spec, len(out)))

        arguments, rows = super().arguments(spec), _rows(spec)
        parts = [
            (leaf, 0 if rows[i] else None) if i in rows else self._cut(argument, owner, leaf)
            for i, (argument, owner, leaf) in enumerate(zip(arguments, spec.owners, leaves, strict=True))
        ]
        axes = tuple(axis for _, axis in parts)
        over_devices = jax.vmap(
            one_device, axes, (None, 0), axis_name=self.device_axis, axis_size=self._count
        )
        try:
            with replicate():
                shared, others = over_devices(*(part for part, _ in parts))
        except ScopeError as error:
            raise ScopeError(
                f"{self.name} says what one device does (per_device), and has no scopes: {error}"
            ) from None
        assert structure is not None
        merged = _merged(shared, others, self._is_shared(spec, structure.num_leaves))
        return jax.tree.unflatten(structure, merged)

    def _cut(self, argument: adapter.Argument, owner: str, leaf: Any) -> tuple[Any, int | None]:
        """A leaf with the dimension of devices, and where that is; None if it has none."""
        if owner in self._local:
            if leaf.shape[:1] != (self._count,):
                raise StateError(
                    f'"{argument.name}" of {self.name} is local: expected a value for each of {self._count} '
                    f"devices along dimension 0, found {leaf.dtype}{list(leaf.shape)}"
                )
            return leaf, 0
        if argument.role != "batch":
            return leaf, None
        dim = argument.batch_dim
        assert dim is not None, "a batch has one"
        if leaf.shape[dim] % self._count != 0:
            raise ArgumentError(
                f'batch "{argument.name}" of {self.name} has {leaf.shape[dim]} samples along dimension '
                f"{dim}, expected a multiple of the {self._count} devices"
            )
        shape = (*leaf.shape[:dim], self._count, leaf.shape[dim] // self._count, *leaf.shape[dim + 1 :])
        return jnp.reshape(leaf, shape), dim

    def _updated(self, spec: Spec) -> list[_Updated]:
        """The leaves of states that the first results are."""
        rows = _rows(spec)
        arguments = list(enumerate(zip(spec.owners, super().arguments(spec), strict=True)))
        return [
            _Updated(owner, argument.name, not rows.get(i, owner in self._local), i in rows)
            for names in self._states(spec)
            for state in names
            for i, (owner, argument) in arguments
            if owner == state
        ]

    def _is_shared(self, spec: Spec, count: int) -> list[bool]:
        """Of each of the results whether it is a state of which there is one value."""
        states = [state.is_shared for state in self._updated(spec)[:count]]
        return states + [False] * (count - len(states))

    def _check_shared(self, spec: Spec, out: Sequence[Any]) -> None:
        for state, value in zip(self._updated(spec), out, strict=False):
            if state.is_shared and hooks.is_mapped(value):
                raise StateError(
                    f'state "{state.name}" of {self.name} depends on the device, and all devices have one '
                    "value of it: average what it is made of, by lax.pmean(.., "
                    f'"{self.device_axis}"){self._or_local(state)}'
                )
            if state.is_rows and not state.is_shared and not hooks.is_mapped(value):
                raise StateError(
                    f'the gradient "{state.name}" of {self.name} is the same on all devices, and each has '
                    "looked up rows of its own: expected the gradient of these, not averaged over devices, "
                    f'but divided by lax.axis_size("{self.device_axis}") where the loss is a mean'
                )

    @staticmethod
    def _or_local(state: _Updated) -> str:
        return "" if state.is_rows else f', or name "{state.owner}" in local, and each device has its own'


@dataclasses.dataclass(frozen=True)
class _Updated:
    """A leaf of a state that a result is.

    owner: the state. is_shared: whether all devices have one value. is_rows: whether it is the gradient of a
    lookup.
    """

    owner: str
    name: str
    is_shared: bool
    is_rows: bool


def _rows(spec: Spec) -> dict[int, bool]:
    """The leaves that are rows of tables, by number: whether each device has its own."""
    trees = spec.by_parameter(range(len(spec.kinds)))
    tables = [leaf for tree in trees.values() for leaf in jax.tree.leaves(tree, is_leaf=is_table)]
    pairs = [zip(table.rows, table.rows_by_device, strict=True) for table in tables if is_table(table)]
    return dict(itertools.chain.from_iterable(pairs))


def _checked(per_device: PerDevice) -> tuple[str, int]:
    """The name of the axis, and the number of groups."""
    name, groups = per_device if isinstance(per_device, tuple) and len(per_device) == 2 else (per_device, 1)
    if not isinstance(name, str) or not name:
        raise ArgumentError(f"per_device must be the name of an axis, found {per_device!r}")
    number = as_integer(groups)
    if number is None or number < 1:
        raise ArgumentError(f"per_device must have a number of groups, found {groups!r}")
    return name, number


def _split(out: Sequence[Any], shared: Sequence[bool]) -> tuple[list[Any], list[Any]]:
    pairs = list(zip(out, shared, strict=True))
    return [value for value, one in pairs if one], [value for value, one in pairs if not one]


def _merged(shared: Sequence[Any], others: Sequence[Any], is_shared: Sequence[bool]) -> list[Any]:
    """The inverse of `_split`."""
    one, many = iter(shared), iter(others)
    return [next(one if is_one else many) for is_one in is_shared]


def signature_of(
    function: Callable[..., Any],
    state: Parameters,
    batch: Batch,
    static: str | Sequence[str],
    pads: bool,
    axis: PerDevice | None,
    local: Parameters,
) -> Signature:
    """The parameters of a step, by what `epl.parallelize` is told of it; `axis` is its `per_device`.

    Raises:
      ArgumentError: as the signatures do, and for what does not go together.
    """
    if axis is not None and pads:
        raise ArgumentError("pad_batch is for steps of the whole batch, found per_device, too")
    if axis is not None:
        return PerDeviceSignature(function, state, batch, static, axis, local)
    if as_sequence(local, "local"):
        raise ArgumentError(f"local is for steps of one device, found {local!r} without per_device")
    return (MaskedSignature if pads else Signature)(function, state, batch, static)
