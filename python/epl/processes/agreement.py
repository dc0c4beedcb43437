"""Values that must be the same in all processes, and what must go well in all of them.

Each process has them from its own script: a random key, arrays that a step closed over. What is made of other
ones is no error of any device, only wrong: copies of one parameter that differ. So processes tell one another
digests, before anything is computed of the values, and what differs is one error in all of them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from epl.errors import Error, ProcessError
from epl.processes.group import Group, current

_SHOWN = 8  # elements of a value that an error shows


class _Said(NamedTuple):
    """What a process says of a value: its name, what an error shows of it, and a digest of its bytes."""

    name: str
    text: str
    digest: str


def check_same(group: Group, values: Iterable[tuple[str, np.ndarray[Any, Any]]], what: str) -> None:
    """Compares values in all processes; called by all, with as many of the same names.

    Args:
      what: they are for, in errors: "step f".

    Raises:
      ProcessError: in all processes, for the first one that has another value than process 0.
    """
    own = [_said(name, value) for name, value in values]
    said = group.share(own, f"a comparison of values of {what}")
    for process, others in enumerate(said):
        for one, other in zip(said[0], others, strict=True):
            if one != other:
                raise ProcessError(
                    f"{what}: {one.name} is {one.text} in process 0, {other.text} in "
                    f"{group.describe(process)}; expected the same in all processes"
                )


def in_all(what: str, action: Callable[[], Any]) -> None:
    """Does something in all processes, which wait for one another; what one of them raises, all raise.

    Args:
      what: it is, for errors.
      action: may be another one in each process; alone it is done, too.

    Raises:
      Error: what `action` has raised, in the first process in which it has.
    """
    problem: str | None = None
    try:
        action()
    except Error as error:
        problem = str(error)
    present = current()
    said = [problem] if present is None else present.share(problem, what)
    if found := next((each for each in said if each is not None), None):
        raise Error(found)


def _said(name: str, value: np.ndarray[Any, Any]) -> _Said:
    content = np.ascontiguousarray(value).reshape(-1)
    digest = hashlib.sha256(content.view(np.uint8).data).hexdigest()
    shown = f"{content.tolist()}" if content.size <= _SHOWN else f"with the digest {digest[:8]}"
    return _Said(name, f"{content.dtype.name}{list(value.shape)} {shown}", digest)
