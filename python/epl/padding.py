"""`pad_batch=True`: a batch that a plan does not take as it is becomes one that it takes.

Problem: the last batch of a pass over the data is smaller than the others. It would cost a plan of its own,
or not divide among the devices and micro-batches. Method: it is padded to the size of a plan that is there,
else to the next multiple of these, by repeating its last sample; the parameter `mask` of the step, filled
here, is True for the samples that are real. What a step returns per sample is cut to these. Which results
those are is not guessed from their sizes: the step is traced a second time, for twice the batch.
Batches may differ in length, such as nodes and edges of a graph: an argument `edges` that has a parameter
`mask_edges` beside it is padded by itself. So the step says which lengths there are, not the data, where two
may be equal by chance. Each is doubled by itself.
Before a step's first padded call, `padding_check.py` compares what it gives for two ways to pad.
Invariant out: all others see a call with a batch of the compiled size.
"""

from __future__ import annotations

import contextlib
import functools
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from epl.adapters.jax import hooks
from epl.adapters.jax.trace import Argument, Result, Traced
from epl.errors import ArgumentError, Error, StepError
from epl.padding_check import Runnable, check_padding
from epl.processes.gathering import gather
from epl.processes.local_part import LocalPart
from epl.signature import Signature, Spec, Static, is_key

_LOG = logging.getLogger("epl")

MASK = "mask"
Shape = tuple[int, ...]
Sizes = Mapping[str, int]  # of what each mask says which samples are real, by the mask's name
SampleDims = tuple[tuple[int, str], ...]  # of a result: dimensions, each with its mask


class MaskedSignature(Signature):
    """The parameters of a step whose masks, batches, say which samples are real; a call may leave them out.

    `masks` are, by the name of a mask, the batch arguments that it is for: `mask_x` for `x`, `mask` for those
    without a mask of their own.

    Raises:
      ArgumentError: for a step without a batch or such parameters, or with one that a call cannot leave out.
    """

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        if not self.batch:
            raise ArgumentError(f"pad_batch: {self.name} has no batch, name its parameters in batch")
        parameters = dict(self._signature.parameters)
        self.masks = self._find_masks(parameters)
        for mask in self.masks:
            if mask in (*self.state, *self.static) or self.batch.setdefault(mask, 0) != 0:
                raise ArgumentError(f'pad_batch: "{mask}" of {self.name} must be a batch along axis 0')
            parameters[mask] = parameters[mask].replace(default=None)
        try:
            self._signature = self._signature.replace(parameters=tuple(parameters.values()))
        except ValueError:
            masks = ", ".join(f'"{mask}"' for mask in self.masks)
            raise ArgumentError(
                f"pad_batch: a call may leave out {masks} of {self.name}: put it behind the parameters that "
                "have no default"
            ) from None

    def _find_masks(self, parameters: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
        """The batch arguments by their masks; what the step itself names in batch is data, except `mask`."""
        taken = {*self.state, *self.batch, *self.static}
        arguments = [name for name in self.batch if name != MASK]
        own = {f"{MASK}_{name}": (name,) for name in arguments}
        own = {mask: names for mask, names in own.items() if mask in parameters and mask not in taken}
        rest = tuple(name for name in arguments if (name,) not in own.values())
        if rest and MASK not in parameters:
            raise ArgumentError(
                f'pad_batch: {self.name} has no parameter "mask": add it, which EPL sets to True for real '
                "samples [batch], and weigh with it what is summed over the batch, for example "
                "jnp.sum(loss * mask) / jnp.sum(mask); what has a length of its own has a mask of its own, "
                f'"{MASK}_{rest[-1]}" for "{rest[-1]}"'
            )
        if not rest and MASK in parameters:
            raise ArgumentError(
                f'pad_batch: each batch argument of {self.name} has a mask of its own, "mask" is for none: '
                "leave it out"
            )
        return {**({MASK: rest} if rest else {}), **own}

    def mask_of(self, name: str) -> str:
        """The mask of a batch argument; a mask is its own."""
        return next(mask for mask, names in self.masks.items() if name in (mask, *names))

    def match(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[dict[str, Any], Static]:
        """As in every signature; a mask that is left out, or None, is True for all samples."""
        values, static = super().match(args, kwargs)
        for mask, names in self.masks.items():
            if values[mask] is None:
                self._check_whole(mask, values)
                sizes = (size for name in names for size in self._sizes(name, values[name]))
                values[mask] = np.ones(next(sizes, 0), bool)
        return values, static

    def _check_whole(self, mask: str, values: Mapping[str, Any]) -> None:
        """Of a part nobody can tell how many samples the batch has, which a mask would have to say."""
        for name in self.masks[mask]:
            if any(isinstance(leaf, LocalPart) for leaf in jax.tree.leaves(values[name])):
                raise ArgumentError(
                    f'pad_batch: "{name}" of {self.name} is a part of a batch (epl.from_local): pass whole '
                    f'batches, or a part of "{mask}", too, and as many samples as the step was lowered for'
                )

    def _sizes(self, name: str, value: Any) -> Iterable[int]:
        """The samples of the leaves of an argument that are a batch."""
        for argument, leaf in zip(self._describe(name, value), jax.tree.leaves(value), strict=True):
            if argument.batch_dim is not None:
                yield np.shape(leaf)[argument.batch_dim]


def samples(signature: MaskedSignature, spec: Spec) -> dict[str, int]:
    """The sizes of the batch, by mask.

    Raises:
      ArgumentError: if one is 0, or if what has one mask has several sizes.
    """
    found: dict[str, tuple[str, int]] = {}
    leaves = zip(signature.arguments(spec), spec.kinds, spec.owners, strict=True)
    for argument, (shape, _), owner in leaves:
        if argument.batch_dim is None:
            continue
        size = shape[argument.batch_dim]
        first, expected = found.setdefault(signature.mask_of(owner), (argument.name, size))
        if size != expected:
            raise ArgumentError(
                f'pad_batch: "{argument.name}" is a batch of {size} samples, but "{first}" is one of '
                f"{expected}: {_remedy(signature, argument.name, owner)}"
            )
        if size == 0:
            raise ArgumentError(f'pad_batch: the batch of {signature.name} is empty: "{argument.name}"')
    return {mask: size for mask, (_, size) in found.items()}


def _remedy(signature: MaskedSignature, leaf: str, owner: str) -> str:
    """What to do with a leaf of another length than others that have its mask."""
    if owner in signature.masks:
        return "a mask has a value for each of the samples"
    if leaf != owner:
        return "what has a length of its own must be an argument of its own, with a mask of its own"
    return f'what has a length of its own must have a mask of its own, the parameter "{MASK}_{owner}"'


def resized(signature: MaskedSignature, spec: Spec, sizes: Sizes) -> Spec:
    """The same arguments with other numbers of samples; masks that `sizes` has not keep theirs."""

    def kind(argument: Argument, owner: str, shape: Shape, dtype: Any) -> tuple[Shape, Any]:
        dim = argument.batch_dim
        size = None if dim is None else sizes.get(signature.mask_of(owner))
        return shape if dim is None or size is None else (*shape[:dim], size, *shape[dim + 1 :]), dtype

    leaves = zip(signature.arguments(spec), spec.owners, spec.kinds, strict=True)
    return replace(spec, kinds=tuple(kind(argument, owner, *old) for argument, owner, old in leaves))


def padded(signature: MaskedSignature, spec: Spec, known: Iterable[Spec], parts: int) -> Spec:
    """The smallest known spec that such a batch fits into, else the next size that divides into `parts`."""
    sizes = samples(signature, spec)
    fitting = [
        larger
        for other in known
        if _alike(resized(signature, other, sizes), spec)
        if _fits(sizes, larger := samples(signature, other))
    ]
    multiples = {mask: -(-size // parts) * parts for mask, size in sizes.items()}
    return resized(signature, spec, min(fitting, key=lambda larger: sum(larger.values()), default=multiples))


@contextlib.contextmanager
def noting_sizes(signature: Signature, given: Spec, spec: Spec) -> Iterator[None]:
    """What a step raises when it is traced for a larger batch than the given one says so."""
    try:
        yield
    except Error:
        raise
    except Exception as error:
        if given != spec and isinstance(signature, MaskedSignature):
            larger, sizes = (_text(samples(signature, each)) for each in (spec, given))
            error.add_note(
                f"pad_batch: {signature.name} is traced with a batch of {larger} samples for one of "
                f"{sizes}: write the size of the batch, not a number, and make what is per sample a "
                "batch"
            )
        raise


def _fits(sizes: Sizes, larger: Sizes) -> bool:
    return all(size <= larger[mask] for mask, size in sizes.items())


def _alike(one: Spec, other: Spec) -> bool:
    return one == other and one.weak_types == other.weak_types


def sample_dims(
    signature: MaskedSignature,
    spec: Spec,
    traced: Traced,
    results: Sequence[Result],
    call: Callable[[Spec, Sequence[Any]], Any],
) -> tuple[SampleDims, ...]:
    """The dimensions of every result that have an entry for each sample, and of which samples.

    Args:
      traced: the step. What it is given behind its arguments, and gives behind its results, is for each
        sample, and computed by a mask.
      results: of the step.
      call: the step, as `Signature.call`.

    Raises:
      ArgumentError: if that cannot be seen, or if padding would change what the step returns for sure.
    """
    found = jax.tree.leaves(traced.out)
    dims_of: list[SampleDims] = [()] * len(results)
    for mask, size in samples(signature, spec).items():
        twice = _traced_twice(signature, spec, mask, size, call)
        pairs = zip(found[: len(results)], jax.tree.leaves(twice), strict=True)
        for index, (small, large) in enumerate(pairs):
            dims = _dims(signature, results[index], size, small.shape, large.shape)
            dims_of[index] += tuple((dim, mask) for dim in dims)
        whole = [all(other != mask for _, other in dims) for dims in dims_of]
        whole += [True] * (len(found) - len(results))
        _check_mask_is_read(signature, spec, traced, mask, whole)
    return tuple(dims_of)


def _traced_twice(
    signature: MaskedSignature,
    spec: Spec,
    mask: str,
    size: int,
    call: Callable[[Spec, Sequence[Any]], Any],
) -> Any:
    """What the step returns, as JAX describes it, for twice the samples of a mask."""
    leaves = resized(signature, spec, {mask: 2 * size}).leaves
    try:
        return jax.eval_shape(lambda *leaves: call(spec, leaves), *leaves)
    except Exception as error:
        names = ", ".join(f'"{name}"' for name in signature.masks[mask])
        several = (
            "; arguments that must be as long as one another have one mask, as parts of one argument"
            if len(signature.masks) > 1
            else ""
        )
        raise ArgumentError(
            f"pad_batch: {signature.name} takes no batch of {2 * size} samples ({names}), which shows what "
            f"it returns per sample: write the size of the batch, not a number{several}"
        ) from error


def _dims(signature: Signature, result: Result, size: int, small: Shape, large: Shape) -> tuple[int, ...]:
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


def _check_mask_is_read(
    signature: MaskedSignature, spec: Spec, traced: Traced, mask: str, whole: Sequence[bool]
) -> None:
    """What is made of all samples (results that are `whole`) depends on the mask, or on the padding."""
    read = hooks.read_arguments(traced.stage, whole)
    names = {owner for owner, is_read in zip(spec.owners, read, strict=False) if is_read}
    if mask not in names and names & set(signature.masks[mask]):
        raise ArgumentError(
            f'pad_batch: {signature.name} does not use its "{mask}", and what it makes of all samples would '
            "depend on those that a batch is padded with"
        )


class Padded:
    """A compiled step that is called with fewer samples than it was compiled for."""

    def __init__(self, compiled: Runnable, signature: MaskedSignature, counts: Sizes) -> None:
        self.lowered = compiled.lowered
        self.name = compiled.name
        self._compiled = compiled
        self._counts = counts
        sizes = samples(signature, self.lowered.spec)
        pairs = zip(self.lowered.arguments, self.lowered.spec.owners, strict=True)
        self._leaves = [
            (dim, signature.mask_of(owner), owner in signature.masks)
            if dim is not None
            else (None, "", False)
            for dim, owner in ((argument.batch_dim, owner) for argument, owner in pairs)
        ]
        # The last sample again and again.
        self._rows = {mask: np.minimum(np.arange(size), counts[mask] - 1) for mask, size in sizes.items()}
        # All samples again, for comparison.
        self._others = {mask: np.arange(size) % counts[mask] for mask, size in sizes.items()}
        self._differ = any((rows != self._others[mask]).any() for mask, rows in self._rows.items())
        _LOG.debug("%s: batches of %s are padded to %s", self.name, _text(counts), _text(sizes))

    def call(self, leaves: list[Any], *, donate: bool | None = None) -> Any:
        """Runs a step on the leaves of its arguments; as `Compiled.call`."""
        full = self._padded(leaves, self._rows)
        if self._differ:
            others = functools.partial(self._padded, leaves, self._others)
            check_padding(self._compiled, full, others, self._cut_all, self._rows)
        try:
            return self._cut_all(self._compiled.call(full, donate=donate))
        except StepError as error:
            error.results = self._cut_all(error.results)
            raise

    def _cut_all(self, results: Any) -> Any:
        leaves, tree = jax.tree.flatten(results)
        pairs = zip(leaves, self.lowered.sample_dims, strict=True)
        return tree.unflatten([self._cut(gather(leaf), dims) if dims else leaf for leaf, dims in pairs])

    def _padded(self, leaves: list[Any], rows: Mapping[str, Any]) -> list[Any]:
        return [self._pad(leaf, rows, *kind) for leaf, kind in zip(leaves, self._leaves, strict=True)]

    def _pad(self, leaf: Any, rows: Mapping[str, Any], dim: int | None, mask: str, is_mask: bool) -> Any:
        if dim is None:
            return leaf
        if is_key(getattr(leaf, "dtype", None)):
            return jnp.take(leaf, rows[mask], axis=dim)
        result = np.take(np.asarray(leaf), rows[mask], axis=dim)
        if is_mask:
            result[self._counts[mask] :] = 0
        return result

    def _cut(self, leaf: Any, dims: SampleDims) -> Any:
        index = [slice(None)] * leaf.ndim
        for dim, mask in dims:
            index[dim] = slice(self._counts[mask])
        return leaf[tuple(index)] if is_key(leaf.dtype) else jnp.array(np.asarray(leaf)[tuple(index)])


def _text(sizes: Sizes) -> str:
    return " and ".join(map(str, sizes.values()))


def fit(compiled: Runnable, spec: Spec) -> Padded | None:
    """What runs a smaller batch on a compiled step; None if nothing does."""
    signature, own = compiled.lowered.signature, compiled.lowered.spec
    if not isinstance(signature, MaskedSignature):
        return None
    counts, sizes = samples(signature, spec), samples(signature, own)
    if counts.keys() != sizes.keys() or resized(signature, spec, sizes) != own or not _fits(counts, sizes):
        return None
    return Padded(compiled, signature, counts)
