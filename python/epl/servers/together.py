"""What worker 0 has servers do while the other workers wait."""

from __future__ import annotations

from collections.abc import Callable

from epl.errors import Error, ProcessError
from epl.servers.gathering import gathering_of
from epl.servers.roles import Role


def done_by_worker_0(what: str, role: Role | None, action: Callable[[], None]) -> None:
    """Does something in worker 0; returns in all workers when it is done. All call it, in the same order.

    Args:
      what: it is; all say the same.
      role: of this process; None if it is alone.

    Raises:
      Error: what the action raises; in other workers a ProcessError with that text.
      ProcessError: if worker 0, or server 0, is lost or at something else.
    """
    if role is None or role.workers == 1:
        action()
        return
    gathering, failure = gathering_of(role), None
    if role.number == 0:
        try:
            action()
        except Error as error:
            failure = error
    said = gathering.share(what, str(failure or "").encode(), sender=0)[0]
    if failure is not None:
        raise failure
    if said:
        raise ProcessError(said.decode())
