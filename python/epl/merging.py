"""EPL's collections of results that replicas merge, for steps that were written for EPL.

A step here means the whole batch: a mean over it is over all samples, a sum too, and what has samples holds
all of them, on any number of devices. So what EPL merges is merged already, and these names only remember.
Source: EPL (Alibaba), `epl/ir/graph.py`, collections of `GraphKeys`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import jax

from epl.errors import ArgumentError
from epl.scope_table import current_collections


class GraphKeys:
    """The names of the collections, as EPL has them.

    `GLOBAL_` (over all replicas) or `LOCAL_` (over micro-batches), then `CONCAT_OBJECTS`, `MEAN_OBJECTS` or
    `SUM_OBJECTS`; all six: `ALL_COLLECTION_KEYS`.
    """

    GLOBAL_CONCAT_OBJECTS = "global_concat_objects"
    GLOBAL_MEAN_OBJECTS = "global_mean_objects"
    GLOBAL_SUM_OBJECTS = "global_sum_objects"
    LOCAL_CONCAT_OBJECTS = "local_concat_objects"
    LOCAL_MEAN_OBJECTS = "local_mean_objects"
    LOCAL_SUM_OBJECTS = "local_sum_objects"
    ALL_COLLECTION_KEYS: ClassVar = (
        GLOBAL_CONCAT_OBJECTS,
        GLOBAL_MEAN_OBJECTS,
        GLOBAL_SUM_OBJECTS,
        LOCAL_CONCAT_OBJECTS,
        LOCAL_MEAN_OBJECTS,
        LOCAL_SUM_OBJECTS,
    )


def add_to_collection(tensors: jax.Array | Sequence[jax.Array], key: str) -> None:
    """Remembers arrays of the step that is being traced under a collection's name; else nothing happens.

    What the step returns is the value of the whole batch, with or without this.

    Args:
      tensors: an array, or a list or tuple of them.
      key: one of `GraphKeys.ALL_COLLECTION_KEYS`.

    Raises:
      KeyError: for another key.
      ArgumentError: for anything but arrays.
    """
    _require(key)
    collection = current_collections().setdefault(key, [])
    for tensor in tensors if isinstance(tensors, list | tuple) else [tensors]:
        if not isinstance(tensor, jax.Array):
            raise ArgumentError(f'collection "{key}" takes arrays, found {tensor!r}')
        collection.append(tensor)


def get_collection(key: str) -> list[Any]:
    """The arrays that the step which is being traced has added under the name so far.

    Raises:
      KeyError: for a key that is not in `GraphKeys.ALL_COLLECTION_KEYS`.
    """
    _require(key)
    return list(current_collections().get(key, []))


def get_all_collections() -> dict[str, list[Any]]:
    """The arrays under every name of `GraphKeys.ALL_COLLECTION_KEYS`, in their order."""
    return {key: get_collection(key) for key in GraphKeys.ALL_COLLECTION_KEYS}


def _require(key: str) -> None:
    if key not in GraphKeys.ALL_COLLECTION_KEYS:
        raise KeyError(
            f'"{key}" is no collection, expected one of {", ".join(GraphKeys.ALL_COLLECTION_KEYS)}'
        )
