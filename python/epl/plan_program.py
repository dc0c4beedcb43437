"""What the program `epl-plan` says of a plan in memory."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path
from typing import Any

from epl import runtime
from epl.errors import Error

_ERROR = "error: "


def ask(plan: Any, command: str, *options: str) -> str:
    """The standard output of a command of `epl-plan`.

    Raises:
      Error: what the program says.
    """
    with tempfile.TemporaryDirectory(prefix="epl-") as folder:
        path = Path(folder) / "step.eplan"
        path.write_bytes(plan.to_bytes())
        program = [str(runtime.program("epl-plan")), command, str(path), *options]
        done = subprocess.run(program, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Error(done.stderr.strip().removeprefix(_ERROR))
    return done.stdout
