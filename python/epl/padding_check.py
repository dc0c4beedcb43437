"""Whether results of a padded step depend on what its batch is padded with.

Method: before its first padded call a step runs twice on padding that differs, updating nothing. Each result,
cut to the real samples, must be the same. A step need not say how it mixes samples; one that weighs sums,
means and statistics with its mask passes, and so does one that works on each sample by itself.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable
from typing import Any, Protocol

import jax

from epl.comparison import Rehearsed, compare_rows, compare_runs
from epl.errors import ArgumentError, StepError

# As of Compiled.check: 0 times what is padded is 0, but sums may be formed otherwise.
_RTOL, _ATOL = 1e-5, 1e-6

_checked: weakref.WeakSet[Any] = weakref.WeakSet()


class Runnable(Protocol):
    """What padding uses of a compiled step (`epl.stages.Compiled`)."""

    @property
    def name(self) -> str:
        """Of the step."""

    @property
    def lowered(self) -> Any:
        """The step before it was compiled, an `epl.stages.Lowered`."""

    def call(self, leaves: list[Any], *, donate: bool | None = None, prints: bool = True) -> Any:
        """Runs a step on the leaves of its arguments."""

    def rehearse(self, leaves: list[Any]) -> Rehearsed:
        """What a step gives on the leaves of its arguments, which changes and shows nothing."""


def check_padding(
    compiled: Runnable,
    padded: list[Any],
    otherwise: Callable[[], list[Any]],
    cut: Callable[[Any], Any],
    masks: Iterable[str],
) -> None:
    """Checks a compiled step once.

    Args:
      padded: the arguments of a call.
      otherwise: gives the same, padded in another way.
      cut: from what the step gives to that of the real samples.
      masks: names of the step's masks, for the message.

    Raises:
      ArgumentError: if a result differs.
    """
    if compiled in _checked:
        return
    runs = [_run(compiled, leaves) for leaves in (padded, otherwise())]
    found, other = (jax.tree.leaves(cut(run.results)) for run in runs)
    names = [result.name for result in compiled.lowered.results]
    differences = compare_runs(names, found, other, rtol=_RTOL, atol=_ATOL)
    differences += compare_rows(*(run.rows for run in runs), rtol=_RTOL, atol=_ATOL)
    for difference in differences:
        if not difference.passes:
            by = " and ".join(f'"{mask}"' for mask in masks)
            raise ArgumentError(
                f'pad_batch: "{difference.name}" of {compiled.name} depends on what a batch is padded with: '
                f"weigh with {by} what is computed across samples, or call it with batches that need no "
                "padding"
            )
    _checked.add(compiled)


def _run(compiled: Runnable, leaves: list[Any]) -> Rehearsed:
    """What a step gives; what it checks and shows is for the call itself."""
    try:
        return compiled.rehearse(leaves)
    except StepError as error:
        return Rehearsed(error.results, {})
