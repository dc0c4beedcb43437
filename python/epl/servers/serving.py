"""What a process does that is a parameter server."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

from epl import runtime
from epl.servers.roles import Role


def serve(role: Role) -> NoReturn:
    """Becomes the program `epl-server`.

    Raises:
      Error: if this installation has none.
    """
    program = runtime.program("epl-server")
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(program, [str(program), "--listen", role.address, "--number", str(role.number)])
