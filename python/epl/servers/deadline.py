"""How long workers and servers wait for one another: Fluid's variable `FLAGS_rpc_deadline`."""

from __future__ import annotations

import re
from collections.abc import Mapping

from epl.errors import ConfigError

_DEADLINE, _DEFAULT_DEADLINE = "FLAGS_rpc_deadline", "180000"  # Fluid's


def deadline(environ: Mapping[str, str]) -> int:
    """The milliseconds that who has not come yet is given, and a request until its answer.

    Raises:
      ConfigError: for what is no such number.
    """
    text = environ.get(_DEADLINE, "") or _DEFAULT_DEADLINE
    if not re.fullmatch(r"[0-9]{1,9}", text) or int(text) < 1:
        raise ConfigError(
            f'{_DEADLINE} in the environment must be an integer of at least 1, milliseconds, found "{text}"'
        )
    return int(text)
