"""EPL's collections: of results that replicas and micro-batches merge, and of values kept for the gradient.

A step here means the whole batch: a mean over it is over all samples, a sum too, and what has samples holds
all of them, on any number of devices. So what EPL merges over replicas is merged already. Results in a
`LOCAL_` collection are those of micro-batches (`micro_results.py`). The collection "checkpoints" tells the
compiler what not to compute again (`gradient_checkpoint.type`).
Source: EPL (Alibaba), `epl/ir/graph.py`, collections of `GraphKeys`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import jax

from epl.adapters.jax import checkpoints, collected
from epl.errors import ArgumentError
from epl.scope_table import current_collections, is_traced

CHECKPOINTS = "checkpoints"
"""The collection of values that are kept for the gradient, a name without a key in EPL, too."""


class GraphKeys:
    """The names of the collections, as EPL has them.

    `GLOBAL_` (of the whole batch) or `LOCAL_` (of each micro-batch), then `CONCAT_OBJECTS`, `MEAN_OBJECTS` or
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
    """Puts arrays of the step that is being traced into a collection; outside of steps nothing happens.

    What the step returns of an array in a `GLOBAL_` collection is the value of the whole batch, as of any
    other. Of one in `LOCAL_CONCAT_OBJECTS` it is what the step returns for each of m micro-batches alone
    (`pipeline.num_micro_batch`), of all replicas together, along a new first dimension of m. In
    `LOCAL_MEAN_OBJECTS` and `LOCAL_SUM_OBJECTS` these are averaged and summed. So mean, sum and maximum over
    samples are those of each micro-batch; random numbers are those that its samples have in the batch. To
    see which these are, the step is traced for a micro-batch, too. Where it works on what it has made of
    several samples, as behind batch normalization, that work is done once more for the micro-batches. An
    array that the step does not return stays a name.

    All micro-batches count alike, also those that `pad_batch` has padded. Of padding alone a mean over real
    samples is NaN, and so is a mean of it in `LOCAL_MEAN_OBJECTS`. Put the sum over real samples and their
    number, `mask.sum()`, into `LOCAL_SUM_OBJECTS` and divide them, or leave the mean out of collections: then
    it is that of the batch.

    Arrays of "checkpoints" are kept for the gradient where the setting `gradient_checkpoint.type` is
    "collection": what lies between them is computed again. Under `jax.vmap` the arrays of all elements are.

    Args:
      tensors: an array, or a list or tuple of them.
      key: one of `GraphKeys.ALL_COLLECTION_KEYS`, or "checkpoints".

    Raises:
      KeyError: for another key.
      ArgumentError: for anything but arrays. When the step is compiled, for an array in two collections,
        and for a state.
      UnsupportedError: when the step is compiled, if it takes no micro-batch or enters other scopes for one.
    """
    _require(key)
    collection = current_collections().setdefault(key, [])
    for tensor in tensors if isinstance(tensors, list | tuple) else [tensors]:
        if not isinstance(tensor, jax.Array):
            raise ArgumentError(f'collection "{key}" takes arrays, found {tensor!r}')
        collection.append(tensor)
        if not is_traced():
            continue
        if key == CHECKPOINTS:
            checkpoints.bind(tensor)
        else:
            collected.mark(tensor, key)


def get_collection(key: str) -> list[Any]:
    """The arrays that the step which is being traced has added under the name so far.

    Raises:
      KeyError: for a key that is neither in `GraphKeys.ALL_COLLECTION_KEYS` nor "checkpoints".
    """
    _require(key)
    return list(current_collections().get(key, []))


def get_all_collections() -> dict[str, list[Any]]:
    """The arrays under every name of `GraphKeys.ALL_COLLECTION_KEYS`, in their order."""
    return {key: get_collection(key) for key in GraphKeys.ALL_COLLECTION_KEYS}


def _require(key: str) -> None:
    known = (*GraphKeys.ALL_COLLECTION_KEYS, CHECKPOINTS)
    if key not in known:
        raise KeyError(f'"{key}" is no collection, expected one of {", ".join(known)}')
