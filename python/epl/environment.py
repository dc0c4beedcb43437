"""`epl.init`: the devices and settings of a program."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from typing import NamedTuple

from epl.config import Config
from epl.config_keys import Value
from epl.devices import Devices, check_offload, parse_devices, visible
from epl.errors import Error
from epl.processes import group
from epl.scopes import set_default_strategy


class Settings(NamedTuple):
    """Devices in their full form, `cpu:4`, and the configuration."""

    devices: str
    config: Config


_settings: Settings | None = None
_named = ""  # the devices of epl.init, before the configuration chooses among the cards


def init(devices: Devices | None = None, config: Config | Mapping[str, Value] | None = None) -> None:
    """Sets the devices and settings of steps that are parallelized without their own; drops earlier ones.

    Args:
      devices: `"cpu:N"` for N virtual devices in this process (N may exceed the cores), a count, or None
        for one device per core that this process may use. `"cpu:WxG"` are W nodes of G devices each,
        numbered node after node; see the setting `cluster.device_place_prefer_intra_node`.
        `"cuda:CARDS"` is a device on each of some GPUs, by the driver's numbers: `"cuda:0"`, `"cuda:0-3"`,
        `"cuda:0,2"`; `"cuda:0x4"` are four virtual devices on one, with memory and streams of their own.
        `"cuda:*"` is a device for each process of a run: the processes of a host take its cards in turn.
        So each has its own, unless there are more processes than cards. `"cuda:*[2-3]"` takes those cards
        alone. The setting `cluster.run_visible_devices` chooses among the cards.
      config: an `epl.Config` or its dict.

    Raises:
      ConfigError: for a bad device string, no devices, or a bad configuration.
    """
    global _named, _settings
    count = len(os.sched_getaffinity(0)) if devices is None else devices
    own_config = as_config(config)
    named = parse_devices(count)
    _settings_of(named, own_config)  # before processes join
    named = group.join_with(named)
    _named, _settings = named, _settings_of(named, own_config)
    set_default_strategy(None)


def settings(devices: str | None, config: Config | None) -> Settings:
    """What a step uses: its own devices and configuration, else those of `epl.init`."""
    if _settings is None and devices is None:
        raise Error('no devices: call epl.init("cpu:2") first, or give devices= to epl.parallelize')
    if _settings is not None and devices is None and config is None:
        return _settings
    chosen = config or current_config()
    return _settings_of(devices or _named, chosen)


def _settings_of(devices: str, config: Config) -> Settings:
    """Raises ConfigError if these devices cannot do what the configuration says."""
    check_offload(devices, config)
    return Settings(visible(devices, config), config)


@functools.cache
def _default_config() -> Config:
    """The configuration of the environment, which is read once."""
    return Config()


def current_devices() -> str | None:
    """The devices of `epl.init`, or None before it."""
    return _settings.devices if _settings else None


def current_config() -> Config:
    """The configuration of `epl.init`, or that of the environment before it."""
    return _settings.config if _settings else _default_config()


def as_config(config: Config | Mapping[str, Value] | None) -> Config:
    """The configuration itself, or one made from a dict."""
    return config if isinstance(config, Config) else Config(config)
