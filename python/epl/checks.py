"""`epl.check`: a condition that must hold in every step."""

from __future__ import annotations

import string
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp

from epl.adapters.jax import reports as adapter
from epl.errors import ArgumentError


def check(
    condition: jax.typing.ArrayLike,
    message: str,
    *values: jax.typing.ArrayLike,
    **named: jax.typing.ArrayLike,
) -> None:
    """Fails the step with a `StepError` that names this line, unless the condition holds.

    `epl.check(jnp.isfinite(loss), "loss is {}", loss)`. The step runs to its end, on whole values: what the
    devices share is put together. Of several checks that fail, the first one in the order of the program is
    the error; in a scan that of the first iteration, under `jax.vmap` that of the first element. In a branch
    of `lax.cond` that is not taken nothing is checked. A check costs one bool; its values are put together
    only if it fails. Outside of a step a value that is known is checked at once, and under another `jax.jit`
    nothing is.

    Args:
      condition: of bool, of any shape: all of it must hold.
      message: a format for the values, as `str.format` takes it.
      values, named: arrays to show in the message.

    Raises:
      ArgumentError: for a condition that is not of bool, and a format that names other values.
      StepError: where the values are known and the condition does not hold.
    """
    if jnp.asarray(condition).dtype != bool:
        raise ArgumentError(
            f"check takes a condition of bool, found {jnp.asarray(condition).dtype}: compare it, as in x > 0"
        )
    _check_format(message, len(values), named)
    names = ("",) * len(values) + tuple(named)
    adapter.bind(jnp.all(condition), [*values, *named.values()], message, names)


def _check_format(message: object, count: int, named: Mapping[str, Any]) -> None:
    if not isinstance(message, str):
        raise ArgumentError(f"check takes a message, found {message!r}")
    try:
        _Names().vformat(message, [0] * count, named)
    except (LookupError, ValueError) as error:
        raise ArgumentError(
            f"check cannot format its message {message!r} with {count} values: {error}; "
            "write {{ and }} for braces"
        ) from None


class _Names(string.Formatter):
    """Looks up the values of a format without formatting any."""

    def format_field(self, *_: Any) -> str:
        return ""

    def convert_field(self, value: Any, *_: Any) -> Any:
        return value
