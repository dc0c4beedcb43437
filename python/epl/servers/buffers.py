"""The memory of an `epl.Array` that servers hold: nothing here, until somebody reads it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from epl.errors import DonatedError, UnsupportedError
from epl.servers.connection import Connection
from epl.servers.job import Held


@dataclass(frozen=True)
class ServedBuffer:
    """A parameter, or a state of one, as a step has left it: what `epl.Array` asks of a `StateBuffer`.

    It is read by fetching it from the servers, until the next step: then it is donated.
    """

    connection: Connection
    held: Held
    name: str
    step: int

    sharding = None
    is_divided = False
    is_here = True
    is_ready = True

    @property
    def is_donated(self) -> bool:
        """Whether a later step has updated it."""
        return self.connection.step != self.step

    is_deleted = is_donated

    def holders(self) -> list[tuple[int, None]]:
        """No card."""
        return [(0, None)]

    def numpy(self) -> Any:
        """The value, fetched.

        Raises:
          DonatedError: if a later step has updated it.
          ProcessError: if a server is lost.
        """
        if self.is_donated:
            raise DonatedError(
                f'state "{self.name}" was donated by step {self.step}, and servers hold what that has made: '
                "use what it returned"
            )
        return self.connection.fetch(self.held.parameter, self.held.state)

    def wait(self) -> None:
        """Nothing: the servers wait for the step."""

    def delete(self) -> None:
        """Nothing: it has no memory here."""

    def copy(self) -> Any:
        """Not supported yet: `np.array(x)` is a copy."""
        raise UnsupportedError(f'servers hold "{self.name}": np.array() of it is a copy')

    snapshot = view = shards = blocks = copy
