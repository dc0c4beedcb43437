"""`epl.bounded_while`: how long a loop may be whose length the step computes."""

from __future__ import annotations

import contextlib
from types import TracebackType

import jax

from epl.errors import ArgumentError
from epl.values import as_integer

NAME = "epl.bounded_while."
"""In a name scope: what the number behind it says of."""


class bounded_while(contextlib.AbstractContextManager[None], contextlib.ContextDecorator):  # noqa: N801
    """Bounds the loops inside whose length the step computes: `with epl.bounded_while(16):`.

    Devices keep one schedule, so such a loop (`jax.lax.while_loop`, those in `jax.random.gamma` and `poisson`
    too) has all its iterations in the plan; those that come after its end are skipped. A loop that has not
    ended by then fails the step with a `StepError` that names its line. Where the program shows the bound
    (`(i < 100) & (error > tolerance)`), none need be stated; of both the smaller one holds. Each loop has
    the bound to itself, one inside another included; of several blocks the innermost counts. Inside an
    iteration inner loops are unrolled: keep their bounds small.

    May stand in `epl.replicate` and `epl.split`, or round them, and decorate a function. Outside of a step of
    EPL it has no effect.

    Args:
      max: iterations, at least 1.

    Raises:
      ArgumentError: for another bound.
    """

    def __init__(self, max: int) -> None:  # noqa: A002
        count = as_integer(max)
        if count is None or count < 1:
            raise ArgumentError(f"bounded_while takes a number of iterations, at least 1, found {max!r}")
        self._max = count
        self._open: list[contextlib.AbstractContextManager[None]] = []

    def __enter__(self) -> None:
        block = jax.named_scope(f"{NAME}{self._max}")
        block.__enter__()
        self._open.append(block)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._open.pop().__exit__(kind, error, traceback)
