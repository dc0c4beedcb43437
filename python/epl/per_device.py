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
    another argument       | no
    another result         | yes, in the order of the devices
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from epl.adapters.jax import hooks
from epl.adapters.jax import trace as adapter
from epl.devices import count_devices
from epl.environment import Settings
from epl.errors import ArgumentError, ConfigError, ScopeError, StateError
from epl.parameters import Parameters
from epl.scopes import replicate
from epl.sharding import Sharding
from epl.signature import Batch, Signature, Spec


class PerDeviceSignature(Signature):
    """The parameters of a step of one device.

    Args:
      axis: the name of the axis over which devices exchange.
      local: those of `state` of which each device has a value of its own.

    Raises:
      ArgumentError: as `Signature` does, for an axis that is no name, and for `local` that is no state.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        state: Parameters,
        batch: Batch,
        static: str | Sequence[str],
        axis: str,
        local: Parameters,
    ) -> None:
        super().__init__(function, state, batch, static)
        if not isinstance(axis, str) or not axis:
            raise ArgumentError(f"per_device must be the name of an axis, found {axis!r}")
        self._axis = axis
        self._local = frozenset(self._names.resolve(local, "local"))
        if none := sorted(self._local - set(self.state)):
            raise ArgumentError(f'local names "{none[0]}", which is no state of {self.name}')
        self._count = 1

    def on(self, chosen: Settings) -> PerDeviceSignature:
        """The same for the devices that are chosen.

        Raises:
          ConfigError: for settings that cut a step of the whole batch.
        """
        for key, plain in (("pipeline.num_micro_batch", 1), ("auto.auto_parallel", False)):
            if chosen.config[key] != plain:
                raise ConfigError(
                    f"{key} is {chosen.config[key]}, but {self.name} says what one device does (per_device): "
                    f"expected {plain}"
                )
        bound = copy.copy(self)
        bound._count = count_devices(chosen.devices)
        return bound

    def arguments(self, spec: Spec) -> list[adapter.Argument]:
        """Names and roles of the leaves; each device has its part of states that are local."""
        arguments = super().arguments(spec)
        if self._count == 1:
            return arguments
        return [
            dataclasses.replace(argument, arrives=self._parts(leaf)) if owner in self._local else argument
            for argument, owner, leaf in zip(arguments, spec.owners, spec.leaves, strict=True)
        ]

    def _parts(self, leaf: Any) -> Sharding:
        axes = (("data", self._count),)
        return Sharding(axes, leaf.shape, tuple(("data",) if dim == 0 else () for dim in range(leaf.ndim)))

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

        arguments = super().arguments(spec)
        parts = [self._cut(*each) for each in zip(arguments, spec.owners, leaves, strict=True)]
        axes = tuple(axis for _, axis in parts)
        over_devices = jax.vmap(one_device, axes, (None, 0), axis_name=self._axis, axis_size=self._count)
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

    def _updated(self, spec: Spec) -> list[tuple[str, str]]:
        """The leaves of states that the first results are: of which state, and their names."""
        arguments = list(zip(spec.owners, super().arguments(spec), strict=True))
        return [
            (owner, argument.name)
            for names in self._states(spec)
            for state in names
            for owner, argument in arguments
            if owner == state
        ]

    def _is_shared(self, spec: Spec, count: int) -> list[bool]:
        """Of each of the results whether it is a state of which there is one value."""
        states = [owner not in self._local for owner, _ in self._updated(spec)[:count]]
        return states + [False] * (count - len(states))

    def _check_shared(self, spec: Spec, out: Sequence[Any]) -> None:
        for (owner, name), value in zip(self._updated(spec), out, strict=False):
            if owner not in self._local and hooks.is_mapped(value):
                raise StateError(
                    f'state "{name}" of {self.name} depends on the device, and all devices have one value of '
                    f'it: average what it is made of, by lax.pmean(.., "{self._axis}"), or name "{owner}" in '
                    "local, and each device has its own"
                )


def _split(out: Sequence[Any], shared: Sequence[bool]) -> tuple[list[Any], list[Any]]:
    pairs = list(zip(out, shared, strict=True))
    return [value for value, one in pairs if one], [value for value, one in pairs if not one]


def _merged(shared: Sequence[Any], others: Sequence[Any], is_shared: Sequence[bool]) -> list[Any]:
    """The inverse of `_split`."""
    one, many = iter(shared), iter(others)
    return [next(one if is_one else many) for is_one in is_shared]
