"""Values of variables on devices: where each has one of its own, and what is fetched."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from epl.array import Array


@dataclass
class Local:
    """A persistable variable of which each device has a value of its own, along dimension 0."""

    values: Any

    @property
    def first(self) -> Any:
        """That of the first device of this process, which is the one that is saved."""
        return of_devices(self.values, None)[0]


@dataclass(frozen=True)
class Fetched:
    """A fetched variable: its value on each device that had a part, by device.

    parts: along dimension 0 of one array, or a list if the devices had parts of several lengths.
    """

    parts: np.ndarray[Any, Any] | list[np.ndarray[Any, Any]]

    @property
    def values(self) -> list[np.ndarray[Any, Any]]:
        """The values, one by one."""
        return list(self.parts)


def of_devices(value: Any, here: range | None) -> np.ndarray[Any, Any]:
    """The rows of an array that are of devices of this process; `here`: their numbers, None for all."""
    if isinstance(value, Array) and not value.is_whole_everywhere:
        shards = {shard.index[0].start or 0: np.asarray(shard.data) for shard in value.addressable_shards}
        return np.concatenate([shards[begin] for begin in sorted(shards)])
    whole = np.asarray(value)
    return whole if here is None else whole[here.start : here.stop]


def one_of(value: Any) -> Any:
    """The one value of a variable: the first device's if each has its own."""
    return value.first if isinstance(value, Local) else value
