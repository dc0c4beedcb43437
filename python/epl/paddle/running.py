"""Runs the ops of a program, one after the other, on values by name.

A program is what one device does. Of several devices each runs it on its part of the batch, and an op's role,
which Paddle's optimizers write on it, says what is between them (`Device`):

    role                                     | what happens
    -----------------------------------------+------------------------------------------------------------
    forward, optimizer                       | each device runs the op
    begins the gradient of the loss          | the gradient is the device's weight, not the op's number
    backward, the last op on some gradients  | each device runs it; these gradients are summed then

Of a program that has ops for what is exchanged (`c_allreduce_sum` and the like) these say it instead. Where
parts differ in length, they are padded to the longest, and ops leave the padding out (`padding`).
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from epl.adapters.jax.padded_rows import Padded, Rows
from epl.adapters.jax.sample_rules import MixedError
from epl.constraints import constrain
from epl.errors import ArgumentError, UnsupportedError
from epl.paddle import operators
from epl.paddle.description import BACKWARD, Op
from epl.per_device import GROUPS, MEMBERS
from epl.places import standing_at

_GRAD = operators.gradients.GRAD


@dataclass(frozen=True)
class Device:
    """One of several devices that run a program.

    axis: over which they exchange, as in `jax.vmap`. count: of them. weight: of the device's loss in what is
    minimized; None: the gradient of the loss is fed. syncs: whether statistics of batches are those of all
    devices. sums: whether gradients are summed where they are complete; else the program says what is summed.
    groups: of neighbouring devices, within which gradients are summed first.
    """

    axis: str
    count: int
    weight: Any = None
    syncs: bool = False
    sums: bool = True
    groups: int = 1

    def sum(self, value: Any) -> Any:
        """The sum over the devices."""
        return lax.psum(value, self.axis) if self.count > 1 else value

    def sum_gradient(self, value: Any) -> Any:
        """The sum over the devices, within each group first."""
        value = self.sum(value)
        for axis in (MEMBERS, GROUPS) if self.groups > 1 else ():
            value = constrain(value, {None: axis})
        return value

    def pick(self, value: Any, number: int) -> Any:
        """The value of the device of a number."""
        if self.count == 1:
            return value
        return lax.psum(jnp.where(lax.axis_index(self.axis) == number, value, 0), self.axis)


@dataclass
class Run:
    """The values of a program while it runs.

    values: by name; first those that are given. key: of `jax.random`, None for a program that does not draw.
    padding, rows: of batches that are padded, and which values have their rows.
    """

    values: dict[str, Any]
    key: Any = None
    device: Device | None = None
    padding: Padded | None = None
    rows: dict[str, Rows] | None = None

    def do(self, number: int, op: Op) -> None:
        """Computes the outputs of an op.

        Args:
          number: of the op in the program; each draws random numbers of its own.

        Raises:
          UnsupportedError: for an op that reads what EPL does not make, or mixes rows of padded batches.
        """
        if self.device is not None and self.device.sums and op.begins_backward:
            self._begin_backward(op, self.device)
        else:
            standing_at(op.place, functools.partial(self._compute, number, op))
        if self.device is not None and self.device.sums:
            for name in op.gradients:
                self.values[name] = at_op(op, functools.partial(self.device.sum_gradient, self.values[name]))

    def _begin_backward(self, op: Op, device: Device) -> None:
        (name,) = op.outputs["Out"]
        if device.weight is not None:
            shape, dtype = op.attributes["shape"], operators.dtype_of(op.attributes)
            with _named(op):
                self.values[name] = jnp.full(shape, device.weight, dtype)
        elif name not in self.values:
            raise ArgumentError(
                f'feed has no "{name}": with GradientScaleStrategy.Customized it is fed, one for each device'
            )

    def _compute(self, number: int, op: Op) -> None:
        for name in op.reads:
            if name not in self.values:
                raise UnsupportedError(f'{op} reads "{name}", which is an output that EPL does not make')
        function = operators.find(op.kind)
        assert function is not None, "the program was read"
        given = {name: [self.values[each] for each in names] for name, names in op.inputs.items()}
        key = functools.partial(_own_key, op, self.key, number)
        device = self.device if self._exchanges(op) else None
        with _named(op):
            if self.rows and any(name in self.rows for name in op.reads):
                made = self._padded(op, function, given, key, device)
            else:
                made = function(operators.Inputs(given, key, device=device), op.attributes)
                self._note(op, {})
        for name, names in op.outputs.items():
            self.values.update(zip(names, made.get(name, ()), strict=False))

    def _exchanges(self, op: Op) -> bool:
        """Whether an op is one of all devices, and not of its own alone."""
        is_of_all = op.kind.startswith(("sync_", "c_"))
        return is_of_all or (self.device is not None and self.device.syncs)

    def _padded(
        self,
        op: Op,
        function: operators.Operator,
        given: Mapping[str, list[Any]],
        key: Callable[[], Any],
        device: Device | None,
    ) -> Mapping[str, list[Any]]:
        """What an op makes of values that have padding."""
        assert self.padding is not None
        assert self.rows is not None
        places = [(name, at) for name, names in op.inputs.items() for at in range(len(names))]
        rows = [self.rows.get(op.inputs[name][at]) for name, at in places]
        real = {
            name: (where.dim, self.padding.real(where))
            for (name, at), where in zip(places, rows, strict=True)
            if where is not None and at == 0
        }
        padded = [index for index, where in enumerate(rows) if where is not None]

        def compute(*values: Any) -> Mapping[str, list[Any]]:
            all_values = {name: list(each) for name, each in given.items()}
            for index, value in zip(padded, values, strict=True):
                name, at = places[index]
                all_values[name][at] = value
            return function(operators.Inputs(all_values, key, real, device), op.attributes)

        values = [given[name][at] for name, at in (places[index] for index in padded)]
        try:
            made, found = self.padding.evaluate(compute, values, [rows[index] for index in padded])
        except MixedError:
            raise UnsupportedError(
                f"{op} mixes the rows of a batch, in a way that EPL does not know for parts of different "
                "lengths: feed parts of one length"
            ) from None
        self._note(op, found)
        return dict(made)

    def _note(self, op: Op, found: Mapping[str, Sequence[Rows | None]]) -> None:
        """Which outputs have rows; a gradient has those of the input that it is of."""
        if self.rows is None:
            return
        for output, names in op.outputs.items():
            of = op.inputs.get(output.removesuffix(_GRAD), op.inputs.get("XShape", ()))
            inputs = of if output.endswith(_GRAD) else ()
            made = found.get(output, ())
            for at, name in enumerate(names):
                of_input = self.rows.get(inputs[at]) if at < len(inputs) else None
                known = (made[at] if at < len(made) else None) or of_input
                if known is None:
                    self.rows.pop(name, None)
                else:
                    self.rows[name] = known


def at_op(op: Op, action: Callable[[], Any]) -> Any:
    """What an action gives, which is traced as what an op does: at its place, under its name."""

    def named() -> Any:
        with _named(op):
            return action()

    return standing_at(op.place, named)


def _named(op: Op) -> contextlib.AbstractContextManager[Any]:
    """Where what an op does is traced: under its name, as JAX names what belongs to the backward pass."""
    name = f"transpose(jvp({op.kind}))" if op.role & BACKWARD else op.kind
    named: contextlib.AbstractContextManager[Any] = jax.named_scope(name)
    return named


def _own_key(op: Op, key: Any, number: int) -> Any:
    if key is None:
        raise ArgumentError(f"{op} draws random numbers, but the program was given no key")
    return jax.random.fold_in(key, number)
