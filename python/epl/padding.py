"""`pad_batch=True`: a batch that a plan does not take as it is becomes one that it takes.

Problem: the last batch of a pass over the data is smaller than the others. It would cost a plan of its own,
or not divide among the devices. Method: it is padded to the size of a plan that is there, else to the next
multiple of the devices, by repeating its last sample; the parameter `mask` of the step, filled here, is True
for the samples that are real. What a step returns per sample is cut to these. Which results those are is not
guessed from their sizes: the step is traced a second time, for twice the batch.
Invariant out: all others see a call with a batch of the compiled size.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np

from epl.adapters.jax import hooks
from epl.adapters.jax.trace import Argument, Result, Traced
from epl.environment import count_devices
from epl.errors import ArgumentError
from epl.signature import Signature, Spec, Static, is_key

_LOG = logging.getLogger("epl")

MASK = "mask"
Dims = tuple[int, ...]


class MaskedSignature(Signature):
    """The parameters of a step whose `mask`, a batch, says which samples are real; a call may leave it out.

    Raises:
      ArgumentError: for a step without a batch or such a parameter, or with one that a call cannot leave out.
    """

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        if not self.batch:
            raise ArgumentError(f"pad_batch: {self.name} has no batch, name its parameters in batch")
        parameters = dict(self._signature.parameters)
        if MASK not in parameters:
            raise ArgumentError(
                f'pad_batch: {self.name} has no parameter "mask": add it, which EPL sets to True for real '
                "samples [batch], and weigh with it what is summed over the batch, for example "
                "jnp.sum(loss * mask) / jnp.sum(mask)"
            )
        if MASK in (*self.state, *self.static) or self.batch.setdefault(MASK, 0) != 0:
            raise ArgumentError(f'pad_batch: "mask" of {self.name} must be a batch along axis 0')
        parameters[MASK] = parameters[MASK].replace(default=None)
        try:
            self._signature = self._signature.replace(parameters=tuple(parameters.values()))
        except ValueError:
            raise ArgumentError(
                f'pad_batch: a call may leave out "mask" of {self.name}: put it behind the parameters that '
                "have no default"
            ) from None

    def match(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[dict[str, Any], Static]:
        """As in every signature; a mask that is left out, or None, is True for all samples."""
        values, static = super().match(args, kwargs)
        if values[MASK] is None:
            sizes = (size for name in self.batch if name != MASK for size in self._sizes(name, values[name]))
            values[MASK] = np.ones(next(sizes, 0), bool)
        return values, static

    def _sizes(self, name: str, value: Any) -> Iterable[int]:
        """The samples of the leaves of an argument that are a batch."""
        for argument, leaf in zip(self._describe(name, value), jax.tree.leaves(value), strict=True):
            if argument.batch_dim is not None:
                yield np.shape(leaf)[argument.batch_dim]


def samples(signature: Signature, spec: Spec) -> int:
    """The size of the batch.

    Raises:
      ArgumentError: if it is 0, or if parts of it have other sizes.
    """
    arguments = signature.arguments(spec)
    sizes = {
        argument.name: shape[argument.batch_dim]
        for argument, (shape, _) in zip(arguments, spec.kinds, strict=True)
        if argument.batch_dim is not None
    }
    first = next(iter(sizes))
    for name, size in sizes.items():
        if size != sizes[first]:
            raise ArgumentError(
                f'pad_batch: "{name}" is a batch of {size} samples, but "{first}" is one of {sizes[first]}'
            )
    if sizes[first] == 0:
        raise ArgumentError(f"pad_batch: the batch of {signature.name} is empty")
    return sizes[first]


def resized(signature: Signature, spec: Spec, size: int) -> Spec:
    """The same arguments with another number of samples."""

    def kind(argument: Argument, shape: Dims, dtype: Any) -> tuple[Dims, Any]:
        dim = argument.batch_dim
        return shape if dim is None else (*shape[:dim], size, *shape[dim + 1 :]), dtype

    pairs = zip(signature.arguments(spec), spec.kinds, strict=True)
    return replace(spec, kinds=tuple(kind(argument, *old) for argument, old in pairs))


def padded(signature: Signature, spec: Spec, known: Iterable[Spec], devices: str) -> Spec:
    """The smallest of the known specs that such a batch fits into, else the next that the devices share."""
    size = samples(signature, spec)
    fitting = [
        larger
        for other in known
        if (larger := samples(signature, other)) >= size
        if _alike(resized(signature, other, size), spec)
    ]
    count = count_devices(devices)
    return resized(signature, spec, min(fitting, default=-(-size // count) * count))


def _alike(one: Spec, other: Spec) -> bool:
    return one == other and one.weak_types == other.weak_types


def sample_dims(signature: Signature, spec: Spec, traced: Traced) -> tuple[Dims, ...]:
    """The dimensions of every result that have an entry for each sample.

    Raises:
      ArgumentError: if that cannot be seen, or if padding would change what the step returns for sure.
    """
    size = samples(signature, spec)
    leaves = resized(signature, spec, 2 * size).leaves
    try:
        twice = jax.eval_shape(lambda *leaves: signature.call(spec, leaves), *leaves)
    except Exception as error:
        raise ArgumentError(
            f"pad_batch: {signature.name} takes no batch of {2 * size} samples, which shows what it returns "
            "per sample: write the size of the batch, not a number"
        ) from error
    results = signature.results(spec, traced.out)
    pairs = zip(jax.tree.leaves(traced.out), jax.tree.leaves(twice), strict=True)
    dims_of = tuple(
        _dims(signature, result, size, small.shape, large.shape)
        for result, (small, large) in zip(results, pairs, strict=True)
    )
    _check_mask_is_read(signature, spec, traced, [not dims for dims in dims_of])
    return dims_of


def _dims(signature: Signature, result: Result, size: int, small: Dims, large: Dims) -> Dims:
    dims = tuple(dim for dim, pair in enumerate(zip(small, large, strict=True)) if pair == (size, 2 * size))
    if any(a != b for dim, (a, b) in enumerate(zip(small, large, strict=True)) if dim not in dims):
        raise ArgumentError(
            f'pad_batch: result "{result.name}" of {signature.name} has the shape {list(small)} for {size} '
            f"samples and {list(large)} for {2 * size}: return what is per sample in a dimension of its own"
        )
    if dims and result.updates is not None:
        raise ArgumentError(
            f'pad_batch: "{result.name}" of {signature.name} is a state per sample, which cannot be padded: '
            "make it a batch"
        )
    return dims


def _check_mask_is_read(signature: Signature, spec: Spec, traced: Traced, whole: Sequence[bool]) -> None:
    """What is made of all samples (results that are `whole`) depends on the mask, or on the padding."""
    read = hooks.read_arguments(traced.stage, whole)
    names = {owner for owner, is_read in zip(spec.owners, read, strict=True) if is_read}
    if MASK not in names and names & set(signature.batch):
        raise ArgumentError(
            f'pad_batch: {signature.name} does not use its "mask", and what it makes of all samples would '
            "depend on those that a batch is padded with"
        )


class Runnable(Protocol):
    """What padding uses of a compiled step (`epl.stages.Compiled`)."""

    @property
    def name(self) -> str:
        """Of the step."""

    @property
    def lowered(self) -> Any:
        """The step before it was compiled, an `epl.stages.Lowered`."""

    def call(self, leaves: list[Any], *, donate: bool | None = None) -> Any:
        """Runs a step on the leaves of its arguments."""


class Padded:
    """A compiled step that is called with fewer samples than it was compiled for."""

    def __init__(self, compiled: Runnable, count: int) -> None:
        self.lowered = compiled.lowered
        self.name = compiled.name
        self._compiled = compiled
        self._count = count
        size = samples(self.lowered.signature, self.lowered.spec)
        pairs = zip(self.lowered.arguments, self.lowered.spec.owners, strict=True)
        self._leaves = [(argument.batch_dim, owner == MASK) for argument, owner in pairs]
        # The last sample again and again.
        self._rows = np.minimum(np.arange(size), count - 1)
        _LOG.debug("%s: batches of %d are padded to %d", self.name, count, size)

    def call(self, leaves: list[Any], *, donate: bool | None = None) -> Any:
        """Runs a step on the leaves of its arguments; as `Compiled.call`."""
        full = [self._pad(leaf, *kind) for leaf, kind in zip(leaves, self._leaves, strict=True)]
        out, tree = jax.tree.flatten(self._compiled.call(full, donate=donate))
        return tree.unflatten(map(self._cut, out, self.lowered.sample_dims))

    def _pad(self, leaf: Any, dim: int | None, is_mask: bool) -> Any:
        if dim is None:
            return leaf
        if is_key(getattr(leaf, "dtype", None)):
            return jnp.take(leaf, self._rows, axis=dim)
        result = np.take(np.asarray(leaf), self._rows, axis=dim)
        if is_mask:
            result[self._count :] = 0
        return result

    def _cut(self, leaf: Any, dims: Dims) -> Any:
        if not dims:
            return leaf
        index = tuple(slice(self._count) if dim in dims else slice(None) for dim in range(leaf.ndim))
        return leaf[index] if is_key(leaf.dtype) else jnp.array(np.asarray(leaf)[index])


def fit(compiled: Runnable, spec: Spec) -> Padded | None:
    """What runs a smaller batch on a compiled step; None if nothing does."""
    signature, own = compiled.lowered.signature, compiled.lowered.spec
    if not isinstance(signature, MaskedSignature):
        return None
    count, size = samples(signature, spec), samples(signature, own)
    return Padded(compiled, count) if count < size and resized(signature, spec, size) == own else None
