"""`epl.from_local`: batches of which each process has read the part that it needs.

A step is lowered for the whole batch, whose size the parts alone do not tell: where processes share a split
they have the same rows. So a call with parts is one of a step that was lowered before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp

from epl.errors import ArgumentError
from epl.processes.group import current
from epl.processes.local_part import LocalPart

if TYPE_CHECKING:
    from epl.stages import Lowered

Values = Mapping[str, Any]


def from_local(tree: Any) -> Any:
    """Batches of which this process has what `lowered.local_batch` says, as arguments of a step.

    In a process that is alone they are the whole batches. A step that takes them must have been lowered for
    the whole batch: `step.lower(state, jax.ShapeDtypeStruct((64, 10), np.float32))`.

    Args:
      tree: of arrays, each the rows that this process reads of a global batch, in their order.

    Raises:
      ArgumentError: by the step, if an array is not what this process reads.
    """
    if current() is None:
        return tree
    return jax.tree.map(LocalPart, tree)


def as_whole(values: Values, steps: Sequence[Lowered]) -> Values:
    """The arguments with the whole batches of one of the steps, abstract, in the place of parts.

    Raises:
      ArgumentError: if there is no such step, or a part is not what this process reads.
    """
    leaves, tree = jax.tree.flatten(tuple(values.values()))  # of a dict, JAX sorts the names
    if not any(isinstance(leaf, LocalPart) for leaf in leaves):
        return values
    problem = "no step was lowered for a batch of which it can be a part: call lower() for the whole batch"
    for step in steps:
        if len(step.spec.kinds) != len(leaves):
            continue
        trees = tree.unflatten(
            [
                jax.ShapeDtypeStruct(*kind) if isinstance(leaf, LocalPart) else leaf
                for leaf, kind in zip(leaves, step.spec.kinds, strict=True)
            ]
        )
        whole = dict(zip(values, trees, strict=True))
        if step.signature.describe(whole, step.spec.static)[0] != step.spec:
            continue
        found = _problem(leaves, step)
        if found is None:
            return whole
        problem = found
    raise ArgumentError(f"from_local: {problem}")


def _problem(leaves: Sequence[Any], step: Lowered) -> str | None:
    """Which part is not what this process reads of the step's arguments; None if all are."""
    group = current()
    for index, (leaf, argument) in enumerate(zip(leaves, step.arguments, strict=True)):
        if not isinstance(leaf, LocalPart):
            continue
        shape, dtype = step.spec.kinds[index]
        if argument.batch_dim is None:
            return f'"{argument.name}" is no batch: all devices have it whole'
        rows = step.compile().local_rows(index)
        expected = list(shape)
        expected[argument.batch_dim] = rows.stop - rows.start
        if (list(leaf.shape), leaf.dtype) != (expected, dtype):
            number = 0 if group is None else group.process
            return (
                f'"{argument.name}" is {leaf.dtype.name}{list(leaf.shape)} in process {number}, expected '
                f"{jnp.dtype(dtype).name}{expected}: {rows.start} to {rows.stop} along dimension "
                f"{argument.batch_dim} of {list(shape)}"
            )
    return None
