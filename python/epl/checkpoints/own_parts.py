"""What this process writes of an `epl.Array`, from where it lies."""

from __future__ import annotations

from typing import Any

from epl.array import Array
from epl.checkpoints.parts import Box, contains, part_of, written_parts
from epl.processes import gathering, group


def own_parts(array: Array, parts: list[tuple[int, Box]] | None = None) -> list[tuple[Box, Any]]:
    """Boxes of this process, and their elements: views, while which live no step works in that memory.

    Waits for the step that makes the array. Of an array that each process has by itself process 0 writes all.

    Args:
      parts: what all processes write, if the caller has asked `written_parts` already.
    """
    present = group.current()
    process = 0 if present is None else present.process
    memory = dict(gathering.own_parts(array))
    own = []
    for writer, part in parts or written_parts(array.buffer.all_shards()):
        if writer == process:
            box = next(box for box in memory if contains(box, part))
            own.append((part, part_of(memory[box], box, part)))
    return own
