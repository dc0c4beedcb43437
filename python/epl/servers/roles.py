"""What a process is in a run with parameter servers, as the environment's variables say it.

Three generations of Fluid's scripts have their own names for the same facts:

| fact | to 1.4 | 1.5 | from 1.6 on |
|---|---|---|---|
| role: PSERVER or TRAINER | PADDLE_TRAINING_ROLE | PADDLE_TRAINING_ROLE | TRAINING_ROLE |
| servers | PADDLE_PSERVER_IPS | PADDLE_PSERVERS | PADDLE_PSERVERS_IP_PORT_LIST |
| their port, or one for each, where addresses have none | PADDLE_PSERVER_PORT | PADDLE_PORT | - |
| how many workers | PADDLE_TRAINERS | PADDLE_TRAINERS_NUM | PADDLE_TRAINERS_NUM |
| which worker this is | PADDLE_TRAINER_ID | PADDLE_TRAINER_ID | PADDLE_TRAINER_ID |
| which server this is | PADDLE_CURRENT_IP or POD_IP | POD_IP, PADDLE_PORT | POD_IP, PADDLE_PORT |

`PADDLE_CURRENT_ENDPOINT` says the last one, too. The servers' variable tells which generation it is.
`epl-launch --servers 2 --workers 3` sets the newest. Nothing here knows sockets: the answer depends on the
variables alone.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from epl.errors import ConfigError
from epl.processes.launch_variables import integer_variable

_PORT = "6174"  # Fluid's
_ROLES: dict[str, Literal["server", "worker"]] = {"PSERVER": "server", "TRAINER": "worker"}


@dataclass(frozen=True)
class Role:
    """One process of a run with parameter servers.

    `number` counts servers or workers from 0. `servers` are the addresses of all servers, `host:port`, in the
    order of their numbers; `workers` is how many workers there are.
    """

    kind: Literal["server", "worker"]
    number: int
    servers: tuple[str, ...]
    workers: int

    @property
    def address(self) -> str:
        """Of a server: its own."""
        assert self.kind == "server"
        return self.servers[self.number]


@dataclass(frozen=True)
class _Names:
    """The variables of one generation."""

    servers: str
    port: str | None
    workers: str
    own_host: tuple[str, ...]


_GENERATIONS = (
    _Names("PADDLE_PSERVERS_IP_PORT_LIST", None, "PADDLE_TRAINERS_NUM", ("POD_IP",)),
    _Names("PADDLE_PSERVERS", "PADDLE_PORT", "PADDLE_TRAINERS_NUM", ("POD_IP",)),
    _Names("PADDLE_PSERVER_IPS", "PADDLE_PSERVER_PORT", "PADDLE_TRAINERS", ("PADDLE_CURRENT_IP", "POD_IP")),
)


def read_role(environ: Mapping[str, str] = os.environ) -> Role | None:
    """What the process with these variables is; None if they speak of no servers.

    A variable that is set to nothing counts as not set.

    Raises:
      ConfigError: names the variable: it is missing beside the others, malformed, names a server twice, or
        lacks this one; a role that is neither, a worker's number out of range.
    """
    present = {name: value.strip() for name, value in environ.items() if value.strip()}
    role_name = next((name for name in ("TRAINING_ROLE", "PADDLE_TRAINING_ROLE") if name in present), None)
    names = next((names for names in _GENERATIONS if names.servers in present), None)
    if names is None:
        if role_name is not None and present[role_name] == "PSERVER":
            expected = " or ".join(names.servers for names in _GENERATIONS)
            raise ConfigError(
                f"{role_name}=PSERVER in the environment needs the addresses of all servers: {expected}"
            )
        return None
    if role_name is None:
        raise ConfigError(
            f"{names.servers} in the environment needs TRAINING_ROLE beside it: PSERVER or TRAINER"
        )
    if present[role_name] not in _ROLES:
        raise ConfigError(
            f'{role_name} in the environment must be PSERVER or TRAINER, found "{present[role_name]}"'
        )
    servers = _addresses(names, present)
    workers = _integer(names.workers, present, least=1)
    kind = _ROLES[present[role_name]]
    if kind == "server":
        return Role(kind, _own_number(names, present, servers), servers, workers)
    number = _integer("PADDLE_TRAINER_ID", present, least=0)
    if number >= workers:
        raise ConfigError(
            f"PADDLE_TRAINER_ID in the environment must be below {names.workers}={workers}, found {number}"
        )
    return Role(kind, number, servers, workers)


_assigned: Role | None = None


def assign(role: Role) -> None:
    """Notes what this process is by its script, and not by its environment."""
    global _assigned
    _assigned = role


def own_role(environ: Mapping[str, str] = os.environ) -> Role | None:
    """What this process is, by its script or else its environment; errors as of `read_role`."""
    return _assigned or read_role(environ)


def checked_address(address: str, source: str) -> str:
    """An address of the form `host:port`.

    Args:
      source: where it stands, for the error.

    Raises:
      ConfigError: if it is none.
    """
    host, _, port = address.rpartition(":")
    is_port = re.fullmatch(r"[0-9]{1,5}", port) is not None and 1 <= int(port) <= 65535
    if not is_port or not re.fullmatch(r"\[[0-9A-Fa-f:.]+\]|[^\s:,/\[\]]+", host):
        raise ConfigError(f'{source} must have addresses host:port, found "{address}"')
    return address


def checked_addresses(addresses: list[str], source: str) -> tuple[str, ...]:
    """The addresses of all servers; `source` and errors as in `checked_address`, and for one named twice."""
    checked = tuple(checked_address(address, source) for address in addresses)
    for number, address in enumerate(checked):
        if (first := checked.index(address)) != number:
            raise ConfigError(f'{source} has "{address}" twice: as server {first} and as server {number}')
    return checked


def _addresses(names: _Names, present: Mapping[str, str]) -> tuple[str, ...]:
    found = [each.strip() for each in present[names.servers].split(",")]
    ports = present.get(names.port or "", _PORT).split(",")
    if names.port is not None and len(ports) not in (1, len(found)):
        raise ConfigError(
            f"{names.port} in the environment must be a port, or one for each of the {len(found)} servers in "
            f'{names.servers}, found "{present[names.port]}"'
        )
    whole = [
        each if names.port is None or ":" in each else f"{each}:{ports[number % len(ports)].strip()}"
        for number, each in enumerate(found)
    ]
    return checked_addresses(whole, f"{names.servers} in the environment")


def _own_number(names: _Names, present: Mapping[str, str], servers: tuple[str, ...]) -> int:
    """Which server this process is."""
    own = present.get("PADDLE_CURRENT_ENDPOINT")
    said = "PADDLE_CURRENT_ENDPOINT"
    if own is None:
        said = next((name for name in names.own_host if name in present), names.own_host[0])
        if said not in present:
            raise ConfigError(
                f"PSERVER in the environment needs {said}, the host of this server: which of "
                f"{','.join(servers)} it is"
            )
        port_name = names.port if names.port is not None else "PADDLE_PORT"
        ports = present.get(port_name, _PORT).split(",")
        # A list of ports says those of all servers: then the host alone tells which one this is.
        hosts = [server for server in servers if server.rpartition(":")[0] == present[said]]
        if len(ports) > 1 and len(hosts) == 1:
            return servers.index(hosts[0])
        own = f"{present[said]}:{ports[0].strip()}"
        said = f"{said} and {port_name}"
    if own not in servers:
        raise ConfigError(
            f'by {said} in the environment this server is "{own}", expected one of '
            f"{names.servers}={','.join(servers)}"
        )
    return servers.index(own)


def _integer(name: str, present: Mapping[str, str], least: int) -> int:
    if name not in present:
        raise ConfigError(f"the environment speaks of parameter servers, and lacks {name}")
    return integer_variable(name, present[name], least)
