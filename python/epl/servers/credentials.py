"""How workers and servers prove who they are: by variables of the environment that all of them have.

| variable | what |
|---|---|
| EPL_SERVERS_TOKEN_FILE | a file whose first line is the secret of the job |
| EPL_SERVERS_TLS_CA | a file, PEM: who signs the certificates of the other end |
| EPL_SERVERS_TLS_CERTIFICATE, EPL_SERVERS_TLS_KEY | files, PEM: the own one; a worker may have none |
| EPL_SERVERS_INSECURE=1 | neither is needed, though other machines can reach a server |

`epl-server` reads the same ones. Beyond the loopback a token and TLS are needed, since what workers send is
code.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from epl import runtime
from epl.errors import ConfigError

_FILES = {
    "ca": "EPL_SERVERS_TLS_CA",
    "certificate": "EPL_SERVERS_TLS_CERTIFICATE",
    "key": "EPL_SERVERS_TLS_KEY",
}
_TOKEN = "EPL_SERVERS_TOKEN_FILE"
_INSECURE = "EPL_SERVERS_INSECURE"


def stream_options(environ: Mapping[str, str]) -> Any:
    """The runtime's `StreamOptions` that these variables say.

    Raises:
      ConfigError: for a token's file that cannot be read, or is empty, and a switch that is none.
    """
    options = runtime.module().StreamOptions()
    for name, variable in _FILES.items():
        setattr(options, name, environ.get(variable, ""))
    if file := environ.get(_TOKEN):
        options.token = _first_line(file)
    switch = environ.get(_INSECURE, "")
    if switch not in ("", "0", "1"):
        raise ConfigError(f'{_INSECURE} in the environment must be 0 or 1, found "{switch}"')
    options.insecure = switch == "1"
    return options


def _first_line(file: str) -> str:
    try:
        lines = Path(file).read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{_TOKEN} in the environment: {error}") from None
    if not lines or not lines[0]:
        raise ConfigError(f'{_TOKEN} in the environment: "{file}" has no token in its first line')
    return lines[0]
