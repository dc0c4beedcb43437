"""Ops that may stand in `epl.per_micro_batch`, so that NumPy's results of the whole batch are right.

A statistic there is that of each micro-batch. Where all micro-batches have the same samples (`repeat`), that
is the statistic of the batch, if it is made of samples alike: none by its place in the batch. So every value
has a kind:

    FREE        depends on no batch
    0, 1, ...   has samples along that dimension, the same in each micro-batch
    WHOLE       is made of samples, and is the same in each micro-batch and in the batch
    UNLIKE      all others: a position along samples is in it, or sums are rounded

In the scope are ops that make no UNLIKE value, and nothing WHOLE of which one is made: it could be added to a
sum that is pending. Nor is a state's next value made of what is WHOLE there: NumPy has updated a state once,
m micro-batches update it m times.
"""

from __future__ import annotations

import random
from collections.abc import Iterable

import expression as ex
import numpy as np
from loop import Loop
from nest import ArgReduce, Nest, Output
from ops import Op
from tensors import LIMITS, Value, is_float

Kind = int
FREE, WHOLE, UNLIKE = -1, -2, -3
Kinds = dict[int, Kind]  # by the value's id
EXACT = ("f32", "f64")  # floats that are summed over micro-batches without rounding
IDEMPOTENT = ("max", "min", "or", "and")


def repeat(array: np.ndarray, dim: int, count: int) -> np.ndarray:
    """The first of `count` parts of a batch, as all of them."""
    return np.concatenate([np.split(array, count, dim)[0]] * count, dim)


def find_scoped(
    batches: dict[int, int], ops: tuple[Op, ...], updates: Iterable[Value], count: int, seed: int
) -> set[int]:
    """The positions of ops that stand in the scope, of a program in `count` micro-batches. `batches` says the
    dimensions of batches. An op stays in the scope, or out of it, when others are gone."""
    kinds: Kinds = dict(batches)
    for op in ops:
        kinds |= _get_kinds(op, kinds, count)
    banned = {value.id for value in updates}
    for op in reversed(ops):
        results = {value.id for value in op.results}
        if results & banned or any(kinds[each] == UNLIKE for each in results):
            banned |= results | {value.id for value in op.operands if kinds.get(value.id, FREE) < 0}
    found = set()
    for position, op in enumerate(ops):
        results = {value.id for value in op.results}
        is_drawn = random.Random(f"scope of {op.result.id} of {seed}").random() < 0.8
        if is_drawn and not results & banned and all(kinds[each] != FREE for each in results):
            found.add(position)
    return found


def _get_kinds(op: Op, kinds: Kinds, count: int) -> Kinds:
    found = {kinds.get(value.id, FREE) for value in op.operands}
    results = [value.id for value in op.results]
    if UNLIKE in found:
        return dict.fromkeys(results, UNLIKE)
    if found <= {FREE}:
        return dict.fromkeys(results, FREE)
    if isinstance(op, Loop):
        return _get_loop_kinds(op, kinds, count)
    if found <= {FREE, WHOLE}:
        return {value.id: _bounded(value, WHOLE, count) for value in op.results}
    if not isinstance(op, Nest) or isinstance(op, ArgReduce):
        return dict.fromkeys(results, UNLIKE)
    loop = _find_loop(op, kinds)
    return {
        value.id: UNLIKE if loop is None else _bounded(value, _get_kind(output, loop), count)
        for value, output in zip(op.results, op.outputs, strict=True)
    }


def _bounded(value: Value, kind: Kind, count: int) -> Kind:
    """The kind of a value, if a mean over micro-batches of it is exact."""
    element = value.type.element
    rounds = is_float(element) and (element not in EXACT or value.bound * count * count > LIMITS[element])
    return UNLIKE if kind == WHOLE and rounds else kind


def _find_loop(nest: Nest, kinds: Kinds) -> int | None:
    """The one loop that is along samples, and along nothing else; None if there is none."""
    loops, others = set(), set()
    for value, map_ in zip(nest.inputs, nest.maps, strict=True):
        dim = kinds.get(value.id, FREE)
        for place, walk in enumerate(map_):
            is_plain = len(walk.terms) == 1 and walk.terms[0][1] == 1 and walk.offset == 0
            (loops if place == dim and is_plain else others).update(loop for loop, _ in walk.terms)
            if place == dim and not is_plain:
                return None
    captured = nest.operands[len(nest.maps) :]
    if len(loops) != 1 or loops & others or any(kinds.get(value.id, FREE) >= 0 for value in captured):
        return None
    (loop,) = loops
    return None if any(_reads_index(output.body, loop) for output in nest.outputs) else loop


def _reads_index(body: ex.Expression, loop: int) -> bool:
    is_index = body[0] == "index" and body[1] == loop
    return is_index or any(_reads_index(part, loop) for part in ex.get_parts(body))


def _get_kind(output: Output, loop: int) -> Kind:
    if loop in output.kept:
        return output.kept.index(loop)
    is_neutral = output.init in ("neutral", "extreme")
    return WHOLE if is_neutral and output.reduction in ("sum", *IDEMPOTENT) else UNLIKE


def _get_loop_kinds(loop: Loop, kinds: Kinds, count: int) -> Kinds:
    """Of a loop all results are unlike if one value of an iteration is."""
    inner = dict(kinds)
    for each in loop.sliced:
        kind = kinds.get(each.stack.id, FREE)
        inner[each.part.id] = kind if kind < 0 else kind - 1 if kind > 0 else UNLIKE
    first = {each.first.id: kinds.get(each.begin.id, FREE) for each in loop.carried}
    before = None
    while first != before:
        before = dict(first)
        inner |= first
        for op in loop.ops:
            inner |= _get_kinds(op, inner, count)
        for each in loop.carried:
            first[each.first.id] = _join(first[each.first.id], inner.get(each.last.id, FREE))
    made = [value.id for op in loop.ops for value in op.results]
    if any(inner[each] == UNLIKE for each in (*made, *first, *(s.part.id for s in loop.sliced))):
        return {value.id: UNLIKE for value in loop.results}
    found = {each.result.id: inner.get(each.last.id, FREE) for each in loop.carried}
    for stack in loop.stacked:
        kind = inner.get(stack.part.id, FREE)
        found[stack.stack.id] = kind + 1 if kind >= 0 else kind
    return found


def _join(one: Kind, other: Kind) -> Kind:
    """What is one in the first iteration and the other one behind it."""
    if one == other:
        return one
    return WHOLE if {one, other} == {FREE, WHOLE} else UNLIKE
