"""Memory of cards for other libraries, say PyTorch and CuPy: `torch.from_dlpack(array)` copies nothing.

Who takes it holds the memory, so that a step that consumes the array leaves that and writes elsewhere. The
protocol is that of the array API, `__dlpack__` and `__dlpack_device__`. What the consumer enqueues behind the
call comes behind the step that makes the value, on whatever stream, since that has ended by then.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from epl.errors import ArgumentError
from epl.values import as_integer

if TYPE_CHECKING:
    from epl.array import Array

CPU, CUDA = 1, 2
"""Of DLDeviceType: where memory is."""

_CODES = {"i": 0, "u": 1, "f": 2, "b": 6}
_BFLOAT = 4
"""Of DLDataTypeCode, by the kind of NumPy's dtype, or bfloat16."""


@dataclass(frozen=True)
class CudaDevice:
    """A device of EPL on a card, with the names that JAX's devices have.

    id: EPL's number of the device, among all of the run. local_hardware_id: the driver's number of its card;
    None if it belongs to another process. Virtual devices of one card (`cuda:0x2`) differ in their `id`.
    process_index: the process that has it. platform: "gpu".
    """

    id: int
    local_hardware_id: int | None
    process_index: int = 0
    platform = "gpu"

    def __str__(self) -> str:
        return repr(self) if self.local_hardware_id is None else f"cuda:{self.local_hardware_id}"


def cards_of(array: Array) -> list[CudaDevice]:
    """The devices that have some of an array; none if they are CPU devices, or it is deleted."""
    if array.is_deleted():
        return []
    found = [CudaDevice(*holder) for holder in array._read(array.buffer.holders)]
    return found if any(device.local_hardware_id is not None for device in found) else []


def card_numbers(array: Array) -> dict[int, int]:
    """The driver's number of the card of each device of this process that has some of an array."""
    cards = ((device.id, device.local_hardware_id) for device in cards_of(array))
    return {device: card for device, card in cards if card is not None}


@dataclass(frozen=True)
class Block:
    """A box of an array in the memory of one card: `index` among those of this process."""

    array: Array
    index: int
    card: int

    @property
    def device(self) -> tuple[int, int]:
        """What `__dlpack_device__` gives."""
        return CUDA, self.card


def export(
    block: Callable[[], Block],
    host: Callable[[], Any],
    *,
    stream: Any = None,
    max_version: Any = None,
    dl_device: Any = None,
    copy: Any = None,
) -> Any:
    """What `__dlpack__` gives: the block, or, for the host as `dl_device`, what `host` has copied there."""
    _check_stream(stream)
    versioned, wanted = _is_versioned(max_version), _pair("dl_device", dl_device)
    if copy not in (None, True, False):
        raise ArgumentError(f"copy must be None, True or False, found {copy!r}")
    if wanted is not None and wanted[0] == CPU:
        if copy is False:
            raise BufferError(
                "copy=False does not go with the host as dl_device: what is on a card is copied there"
            )
        return host().__dlpack__(max_version=max_version)
    found = block()
    if wanted not in (None, found.device):
        raise BufferError(
            f"an array on card {found.card} is asked for on dl_device={wanted}, expected {found.device}, or "
            f"{(CPU, 0)}, which is the host"
        )
    source = found.array.copy() if copy else found.array
    code = _code_of(source.dtype)
    return source._read(lambda: source.buffer.dlpack(found.index, code, versioned, bool(copy)))


def whole_block(array: Array) -> Block:
    """The first block that is all of an array. Raises BufferError if there is none."""
    blocks, numbers = array._read(array.buffer.blocks), card_numbers(array)
    for index, (rank, box, _) in enumerate(blocks):
        if box == tuple((0, extent) for extent in array.shape):
            return Block(array, index, numbers[rank])
    cards = sorted({numbers[rank] for rank, _, _ in blocks})
    raise BufferError(
        f"an array of shape {array.shape} is in {len(blocks)} parts on {_name_cards(cards)}, expected one "
        "block of memory: take its parts, torch.from_dlpack(array.addressable_shards[0]), or a copy in "
        "memory of the host, np.asarray(array) or dl_device=(1, 0)"
    )


def _name_cards(cards: list[int]) -> str:
    return ("card " if len(cards) == 1 else "cards ") + ", ".join(map(str, cards))


def _code_of(dtype: np.dtype[Any]) -> int:
    return _BFLOAT if dtype.name == "bfloat16" else _CODES[dtype.kind]


def _check_stream(stream: Any) -> None:
    """None and 1: the legacy default stream, 2: that of the thread, -1: none, else a handle."""
    number = None if stream is None else as_integer(stream)
    if stream is not None and (number is None or number < -1 or number == 0):
        raise ArgumentError(
            f"stream must be None, -1, 1, 2 or the handle of a stream of CUDA, found {stream!r}"
            + (": 0 could be either default stream" if number == 0 else "")
        )


def _is_versioned(version: Any) -> bool:
    pair = _pair("max_version", version)
    return pair is not None and pair >= (1, 0)


def _pair(name: str, value: Any) -> tuple[int, int] | None:
    if value is None:
        return None
    if not isinstance(value, tuple) or len(value) != 2 or None in map(as_integer, value):
        raise ArgumentError(f"{name} must be None or a tuple of two integers, found {value!r}")
    return int(value[0]), int(value[1])
