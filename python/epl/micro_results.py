"""Results in a `LOCAL_` collection: those of each micro-batch, or their mean or sum (`merging.py`).

Method: the step is traced once more, for a micro-batch, and `adapters/jax/micro_values.py` makes of both
traces a step with such results.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NoReturn

import jax
import jax.numpy as jnp

from epl.adapters.jax import collected, micro_values
from epl.adapters.jax import trace as adapter
from epl.adapters.jax.collected import Collected
from epl.adapters.jax.trace import Traced
from epl.errors import ArgumentError, Error, UnsupportedError
from epl.merging import GraphKeys
from epl.padding import SampleDims
from epl.signature import Signature, Spec

_COMBINE: dict[str, Callable[[Any], Any]] = {
    GraphKeys.LOCAL_CONCAT_OBJECTS: lambda values: values,
    GraphKeys.LOCAL_MEAN_OBJECTS: lambda values: jnp.mean(values, axis=0),
    GraphKeys.LOCAL_SUM_OBJECTS: lambda values: jnp.sum(values, axis=0),
}


def combined(
    step: Callable[..., Any],
    signature: Signature,
    spec: Spec,
    traced: Traced,
    count: int,
    padded: Sequence[SampleDims],
) -> Traced:
    """The trace of a step whose results in `LOCAL_` collections are those of its micro-batches.

    Args:
      step: on the leaves of its arguments, for any number of samples.
      traced: the same, for all samples of `spec`.
      count: of micro-batches.
      padded: of each result, the dimensions that are cut when a batch is padded; empty if none is.

    Raises:
      ArgumentError: for a value in two collections, and for a result that must be the whole batch's.
      UnsupportedError: for a step that takes no micro-batch, or enters other scopes for one.
    """
    found = collected.find(traced.stage.jaxpr.jaxpr)
    combine = [None if each is None else _COMBINE.get(each.key) for each in found]
    if not any(combine) or not _divides(signature, spec, count):
        return traced
    _check_results(signature, spec, traced, found, padded)
    first = next(each for each in found if each is not None and each.key in _COMBINE)
    micro = _traced_for_micro_batch(step, signature, spec, count, first)
    if micro.scopes != traced.scopes:
        _refuse(signature, first, count, "it enters other scopes there")
    made = micro_values.rewritten(traced.stage.jaxpr, micro.stage.jaxpr, count, combine)
    tree = jax.tree.structure(traced.out)
    again = adapter.trace(lambda *leaves: tree.unflatten(made(*leaves)), spec.leaves, signature.name)
    return replace(again, scopes=traced.scopes)


def _batch_dims(signature: Signature, spec: Spec) -> list[int | None]:
    return [argument.batch_dim for argument in signature.arguments(spec)]


def _divides(signature: Signature, spec: Spec, count: int) -> bool:
    """Whether there are micro-batches; if not, the compiler says which batch has none."""
    dims = zip(spec.kinds, _batch_dims(signature, spec), strict=True)
    return all(dim is None or shape[dim] % count == 0 for (shape, _), dim in dims)


def _check_results(
    signature: Signature,
    spec: Spec,
    traced: Traced,
    found: Sequence[Collected | None],
    padded: Sequence[SampleDims],
) -> None:
    for index, (result, each) in enumerate(zip(signature.results(spec, traced.out), found, strict=True)):
        if each is None or each.key not in _COMBINE:
            continue
        if result.updates is not None:
            raise ArgumentError(
                f'{each.place}: "{result.name}" is a state, which is that of the whole step: it cannot be '
                f'in "{each.key}"'
            )
        if padded and padded[index]:
            raise ArgumentError(
                f'{each.place}: "{result.name}" has a value for each sample, of which pad_batch cuts those '
                f'that are padding: it cannot be in "{each.key}"'
            )


def _traced_for_micro_batch(
    step: Callable[..., Any], signature: Signature, spec: Spec, count: int, first: Collected
) -> Traced:
    leaves = [
        kind if dim is None else kind.update(shape=_smaller(kind.shape, dim, count))
        for kind, dim in zip(spec.leaves, _batch_dims(signature, spec), strict=True)
    ]
    try:
        return adapter.trace(step, leaves, signature.name)
    except Error:
        raise
    except Exception as error:
        _refuse(signature, first, count, f"it takes none, {error}", error)


def _smaller(shape: Sequence[int], dim: int, count: int) -> tuple[int, ...]:
    return (*shape[:dim], shape[dim] // count, *shape[dim + 1 :])


def _refuse(
    signature: Signature, first: Collected, count: int, what: str, error: Exception | None = None
) -> NoReturn:
    raise UnsupportedError(
        f'"{first.key}" has results of each of {count} micro-batches: {signature.name} is traced for one, '
        f"and {what}; expected the same for any number of samples: write the size of the batch, not a number",
        first.place,
    ) from error
