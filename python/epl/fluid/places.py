"""Places: the devices of programs. They are CPU devices, as many as the environment says.

    environment           | says
    ----------------------+------------------------------------------------------------------------------------
    CPU_NUM               | how many CPU devices there are; unset: 1, which is written to it, with a warning
    CUDA_VISIBLE_DEVICES  | which cards there are, by number; their numbers in a program count from 0
    FLAGS_selected_gpus   | which of these a process has

EPL has no CUDA devices yet: CPU devices stand in for cards, which are told apart by number as cards are.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

from epl.errors import ArgumentError, ConfigError


@dataclass(frozen=True)
class CPUPlace:
    """A CPU device."""

    def __str__(self) -> str:
        return "CPUPlace"


@dataclass(frozen=True)
class CUDAPlace:
    """A card, by its number among those that are visible."""

    id: int = 0

    def __str__(self) -> str:
        return f"CUDAPlace({self.id})"


Place = CPUPlace | CUDAPlace


def is_compiled_with_cuda() -> bool:
    """Whether there are CUDA devices: CPU devices stand in for them."""
    return False


def cpu_places(device_count: int | None = None) -> list[CPUPlace]:
    """So many CPU devices; None: as many as CPU_NUM says.

    Raises:
      ArgumentError, ConfigError: for a count below 1, of the argument or of CPU_NUM.
    """
    if device_count is None:
        return [CPUPlace()] * _cpu_num()
    if not isinstance(device_count, int) or device_count < 1:
        raise ArgumentError(f"device_count must be a number of devices, 1 or more, found {device_count!r}")
    return [CPUPlace()] * device_count


def _cpu_num() -> int:
    text = os.environ.get("CPU_NUM")
    if text is None:
        warnings.warn(
            "CPU_NUM is not set, so that there is 1 CPU device: set it to the number of devices to train on, "
            "export CPU_NUM=2 say",
            stacklevel=3,
        )
        os.environ["CPU_NUM"] = text = "1"
    if not text.isascii() or not text.isdecimal() or int(text) < 1:
        raise ConfigError(f'CPU_NUM="{text}" in the environment, expected a number of devices, 1 or more')
    return int(text)


def local_devices() -> int:
    """How many devices this process has, as the environment says; 1 if it says nothing."""
    if "CPU_NUM" in os.environ:
        return _cpu_num()
    cards = {"FLAGS_selected_gpus", "CUDA_VISIBLE_DEVICES"} & os.environ.keys()
    return len(cuda_places()) if cards else 1


def cuda_places(device_ids: int | Sequence[int] | None = None) -> list[CUDAPlace]:
    """Cards by number; None: those of FLAGS_selected_gpus, else all that are visible.

    Raises:
      ArgumentError, ConfigError: for numbers that are none, and where no card is named.
    """
    if device_ids is not None:
        ids = [device_ids] if isinstance(device_ids, int) else list(device_ids)
        if not ids or not all(isinstance(each, int) and each >= 0 for each in ids):
            raise ArgumentError(f"device_ids must be numbers of cards, found {device_ids!r}")
        return [CUDAPlace(each) for each in ids]
    if "FLAGS_selected_gpus" in os.environ:
        return [CUDAPlace(each) for each in _numbers("FLAGS_selected_gpus")]
    if "CUDA_VISIBLE_DEVICES" in os.environ:
        return [CUDAPlace(each) for each in range(len(_numbers("CUDA_VISIBLE_DEVICES")))]
    raise ConfigError(
        "no card is named, and EPL has no CUDA devices yet: name cards in CUDA_VISIBLE_DEVICES, and CPU "
        "devices stand in for them, or use CPU devices (use_cuda=False), as many as CPU_NUM says"
    )


def _numbers(name: str) -> list[int]:
    text = os.environ[name]
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdecimal() for part in parts) or len(set(parts)) < len(parts):
        raise ConfigError(
            f'{name}="{text}" in the environment, expected numbers of cards with commas between'
        )
    return [int(part) for part in parts]
