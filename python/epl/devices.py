"""How devices are written: `cpu:4`, `cuda:0-3`."""

from __future__ import annotations

from collections.abc import Mapping

from epl import runtime
from epl.config import Config, restricted
from epl.errors import ConfigError
from epl.values import as_integer

Devices = str | int


def count_devices(devices: str) -> int:
    """How many devices a string in full form names: `cpu:4` as `cpu:2x2`, two nodes of two, or `cuda:0x4`."""
    return int(runtime.module().count_devices(devices))


def in_processes(devices: str, processes: int) -> str:
    """The devices; `"cuda:*"`, a card for each process, in the form that has their number: `"cuda:4*"`."""
    kind = "cuda:*"
    if processes == 1 or not devices.startswith(kind):
        return devices
    return f"cuda:{processes}*{devices[len(kind) :]}"


def visible(devices: str, config: Config) -> str:
    """The devices, on the cards of `cluster.run_visible_devices`, in which they count from 0.

    Raises:
      ConfigError: if these are too few, or if the devices are no cards.
    """
    cards = str(config["cluster.run_visible_devices"])
    if not cards:
        return devices
    if not devices.startswith("cuda:"):
        raise ConfigError(
            f'"cluster.run_visible_devices" = "{cards}" chooses among cards, found devices "{devices}", '
            'which are CPUs: leave it out, and say how many are used, as in epl.init(devices="cpu:2")'
        )
    return restricted(devices, cards)


def check_offload(devices: str, config: Config) -> None:
    """That states can be kept in memory of the host, if `offload.level` asks for it.

    Raises:
      ConfigError: if they are there anyway.
    """
    level = config["offload.level"]
    if level and not devices.startswith("cuda:"):
        raise ConfigError(
            f'"offload.level" = "{level}" keeps states in the memory of the host, found devices "{devices}", '
            "which are CPUs, whose memory that is: leave it out; to have each device keep less, share states "
            'among them with "zero.level"'
        )


def parse_devices(devices: Devices) -> str:
    """The full form of `"cpu:N"` (or `"CPU: N"`), `"cuda:CARDS"` or a count N; the runtime decides."""
    if isinstance(devices, (Config, Mapping)):
        raise ConfigError(
            f'devices must be "cpu:N", "cuda:CARDS" or a count, found {devices!r}: write config={devices!r}'
        )
    count = as_integer(devices)
    if count is None and not isinstance(devices, str):
        raise ConfigError(f'devices must be "cpu:N", "cuda:CARDS" or a count, found {devices!r}')
    text = (
        str(devices if count is None else count).encode(errors="backslashreplace").decode()
    )  # C++ takes no lone surrogates
    try:
        return str(runtime.module().parse_devices(text))
    except runtime.module().Error as error:
        raise ConfigError(str(error)) from None
