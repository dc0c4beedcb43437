"""What a step reports beside what it returns: values that it prints, and whether its checks hold.

Problem: a plan runs without Python, and `jax.debug.print` in a step is Python. A step that fails a check has
still to say so, in the user's words.
Method: what is printed, whether a check holds and what its message shows are further results of the step,
hidden ones: whole values, complete like any result. After the step they are shown in the order of the
program: all of an iteration of a loop before the next iteration (the results of a loop are stacks), and
nothing of a branch that was not taken (a flag says so). Of the checks that failed the first one is the error,
behind all that is printed.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from epl.errors import Error, Place, StepError

Show = Callable[..., None]
Parts = Sequence[Any]


@dataclass(frozen=True)
class Print:
    """Values to show.

    show: takes one array for each. saved: a format with the names of its values, "" for positional ones, if
    that is all of it, so that a file can hold it.
    """

    show: Show
    saved: tuple[str, tuple[str, ...]] | None = None
    what: str = "print"


@dataclass(frozen=True)
class Check:
    """A condition that must hold, and the values of its message.

    names: of the values in the message, "" for positional ones. dims: how many leading dimensions `jax.vmap`
    has given to the condition and to the values.
    """

    message: str
    names: tuple[str, ...] = ()
    dims: int = 0
    what: str = "check"

    def problem(self, held: Parts) -> str | None:
        """The message about the first element that fails; None if none does.

        held: whether any fails; where there are dimensions, the condition itself; the values.
        """
        if not held[0].any():
            return None
        values = [np.asarray(value) for value in held[1:]]
        if not self.dims:
            return self._format(values)
        condition, *values = values
        index = tuple(int(i) for i in np.argwhere(~condition)[0])
        where = index[0] if len(index) == 1 else index
        return f"{self._format([value[index] for value in values])}, in element {where} of jax.vmap"

    def _format(self, values: Sequence[Any]) -> str:
        pairs = list(zip(self.names, map(jnp.asarray, values), strict=True))
        positional = [value for name, value in pairs if not name]
        return self.message.format(*positional, **{name: value for name, value in pairs if name})


@dataclass(frozen=True)
class Report:
    """What some hidden results of a step mean.

    kinds: of these results, shape and dtype. loop: the number of the loop that stacks them, and its
    iterations.
    flagged: whether the last of them says if this was reached at all.
    """

    what: Print | Check
    place: Place | None
    kinds: tuple[jax.ShapeDtypeStruct, ...]
    loop: int | None = None
    trip_count: int = 1
    flagged: bool = False

    @property
    def name(self) -> str:
        """For listings: `print at train.py:7`."""
        return f"{self.what.what} at {self.place}" if self.place else self.what.what

    def show(self, held: Parts) -> str | None:
        """Shows what was printed, or gives the message of a check that failed."""
        if self.flagged:
            *held, reached = held
            if not reached:
                return None
        if isinstance(self.what, Print):
            self.what.show(*held)
            return None
        problem = self.what.problem(held)
        return problem if problem is None or self.place is None else f"{self.place}: {problem}"


def without_prints(reports: Sequence[Report]) -> tuple[Report, ...]:
    """The same, where prints show nothing."""
    return tuple(
        replace(report, what=Print(lambda *_: None)) if isinstance(report.what, Print) else report
        for report in reports
    )


def show(reports: Sequence[Report], results: Sequence[Any], step: str) -> StepError | None:
    """Prints what a step has printed; gives the error about its first check that failed.

    Args:
      results: the hidden ones, in the order of the reports.
      step: its name.
    """
    rest = iter(results)
    parts = [(report, [next(rest) for _ in report.kinds]) for report in reports]
    problems = [
        (problem, report.place)
        for _, group in itertools.groupby(parts, key=lambda part: part[0].loop)
        for report, held in _in_order(list(group))
        if (problem := report.show(held)) is not None
    ]
    if not problems:
        return None
    problem, place = problems[0]
    return StepError(f"{problem} ({step})", place)


def _in_order(group: list[tuple[Report, Parts]]) -> Iterator[tuple[Report, Parts]]:
    """The reports of one loop iteration by iteration, or as they are where there is none."""
    if group[0][0].loop is None:
        yield from group
    elif any(isinstance(report.what, Print) or held[0].any() for report, held in group):
        for iteration in range(group[0][0].trip_count):
            yield from ((report, [_iteration(value, iteration) for value in held]) for report, held in group)


def _iteration(stack: Any, iteration: int) -> Any:
    return stack[iteration]


# In a file beside the plan.


def to_text(reports: Sequence[Report]) -> str:
    """What a file beside the plan says of its hidden results."""
    return json.dumps([_record(report) for report in reports])


def _record(report: Report) -> dict[str, Any]:
    what, place = report.what, report.place
    record: dict[str, Any] = {
        "place": [place.file, place.line] if place else None,
        "dtypes": [_dtype_name(kind.dtype) for kind in report.kinds],
        "loop": report.loop,
        "trip_count": report.trip_count,
        "flagged": report.flagged,
    }
    if isinstance(what, Check):
        return {**record, "check": [what.message, what.names, what.dims]}
    plain = all(record["dtypes"])
    return {**record, "print": what.saved if plain else None}


def _dtype_name(dtype: Any) -> str:
    return "" if jnp.issubdtype(dtype, jax.dtypes.extended) else str(np.dtype(dtype).name)


def from_text(text: str, shapes: Sequence[tuple[int, ...]]) -> tuple[Report, ...]:
    """The reports of a plan that is loaded without its step.

    Args:
      shapes: of the plan's hidden results.

    Raises:
      Error: for a print that is more than a format of arrays: it needs the step's Python.
    """
    rest = iter(shapes)
    return tuple(_report(record, rest) for record in json.loads(text))


def _report(record: dict[str, Any], shapes: Iterator[tuple[int, ...]]) -> Report:
    place = Place(*record["place"]) if record["place"] else None
    what: Print | Check
    if "check" in record:
        message, names, dims = record["check"]
        what = Check(message, tuple(names), dims)
    elif record["print"] is None:
        raise Error(
            f"{place}: what the step prints here takes the step's Python, which a plan does not hold: load "
            "it with like=, the lowered step, or compile it without debug=True"
        )
    else:
        what = _print(*record["print"])
    kinds = tuple(jax.ShapeDtypeStruct(next(shapes), jnp.dtype(name)) for name in record["dtypes"])
    return Report(what, place, kinds, record["loop"], record["trip_count"], record["flagged"])


def _print(format_: str, names: Sequence[str]) -> Print:
    def show(*values: Any) -> None:
        pairs = list(zip(names, values, strict=True))
        positional = [value for name, value in pairs if not name]
        jax.debug.print(format_, *positional, **{name: value for name, value in pairs if name})

    return Print(show, (format_, tuple(names)))
