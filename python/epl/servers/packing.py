"""Several contents as one: a header in JSON, then these, one behind the other."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

_LENGTH_BYTES = 8
_SIZES = "sizes"


def packed(header: Mapping[str, Any], contents: Sequence[bytes]) -> bytes:
    """All that as bytes; the header must not have a "sizes"."""
    text = json.dumps({**header, _SIZES: [len(each) for each in contents]}).encode()
    return b"".join((len(text).to_bytes(_LENGTH_BYTES, "little"), text, *contents))


def unpacked(content: bytes) -> tuple[dict[str, Any], list[bytes]]:
    """The header, and the contents, of bytes that `packed` has made."""
    begin = _LENGTH_BYTES + int.from_bytes(content[:_LENGTH_BYTES], "little")
    header = json.loads(content[_LENGTH_BYTES:begin])
    contents = []
    for size in header.pop(_SIZES):
        contents.append(content[begin : begin + size])
        begin += size
    return header, contents
