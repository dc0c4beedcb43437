"""Loop nests that have a name: the named linalg ops and the ops on whole tensors that compute the same."""

from __future__ import annotations

import string

import expression as ex
from nest import REDUCTIONS, Map, Named, Nest, along
from ops import join
from tensors import convert

# Contractions by the loops of inputs and result, which get letters as they appear.
CONTRACTIONS = {
    "ab,bc->ac": "matmul",
    "abc,acd->abd": "batch_matmul",
    "ab,b->a": "matvec",
    "a,ab->b": "vecmat",
    "abc,ac->ab": "batch_matvec",
    "ab,abc->ac": "batch_vecmat",
    "a,a->": "dot",
}

BINARY = {
    "add": "linalg.add",
    "sub": "linalg.sub",
    "mul": "linalg.mul",
    "max": "linalg.max",
    "min": "linalg.min",
}


def find_names(nest: Nest) -> list[Named]:
    """The nest as each of the ops that compute the same."""
    if (
        len(nest.outputs) != 1
        or len(nest.inputs) == 0
        or len(nest.operands) > len(nest.inputs) + _starts(nest)
    ):
        return []
    syntaxes = _get_reductions(nest) if nest.outputs[0].reduction else _get_pointwise(nest)
    fields = (nest.results, nest.operands, nest.extents, nest.maps, nest.outputs)
    return [Named(*fields, syntax=syntax) for syntax in syntaxes]


def _starts(nest: Nest) -> int:
    return nest.outputs[0].init is None


def _get_loops(map_: Map) -> list[int] | None:
    """The loop of each dimension, if there is just one."""
    if any(len(walk.terms) != 1 or walk.terms[0][1] != 1 or walk.offset for walk in map_):
        return None
    return [walk.terms[0][0] for walk in map_]


def _get_reductions(nest: Nest) -> list[str]:
    output, loops = nest.outputs[0], len(nest.extents)
    if (
        nest.maps == (along(*range(loops)),)
        and output.body == ("in", 0)
        and output.kept == tuple(sorted(output.kept))
    ):
        reduced = [loop for loop in range(loops) if loop not in output.kept]
        operator = ex.get_op(REDUCTIONS[output.reduction or ""].operator, nest.result.type.element)
        return [f"linalg.reduce {{{{ {operator} }}}} {{ins}} {{outs}} dimensions = {reduced}"]
    if output.body != ("mul", ("in", 0), ("in", 1)) or output.reduction != "sum":
        return []
    name = CONTRACTIONS.get(_write_contraction(nest))
    return [f"linalg.{name} {{ins}} {{outs}} -> {{type}}"] if name else []


def _write_contraction(nest: Nest) -> str:
    maps = [_get_loops(map_) for map_ in nest.maps]
    letters: dict[int, str] = {}
    for map_ in maps:
        for loop in map_ or []:
            letters.setdefault(loop, string.ascii_letters[len(letters)])
    if None in maps or len(letters) < len(nest.extents):
        return ""
    inputs = ["".join(letters[loop] for loop in map_ or []) for map_ in maps]
    return f"{','.join(inputs)}->{''.join(letters[loop] for loop in nest.outputs[0].kept)}"


def _get_pointwise(nest: Nest) -> list[str]:
    output, loops = nest.outputs[0], tuple(range(len(nest.extents)))
    if output.body == ("in", 0) and len(nest.maps) == 1:
        return _get_moves(nest)
    if output.kept != loops or any(map_ != along(*loops) for map_ in nest.maps):
        return []
    head, *parts = output.body
    if head == "to" and parts[1] == ("in", 0):
        ops = list(convert(nest.inputs[0].type.element, nest.result.type.element))
        return [f"{ops[0][0]} {{operands}} : {{source}} to {{type}}"] if len(ops) == 1 else []
    if head not in ex.OPERATORS or tuple(parts) != tuple(("in", k) for k in range(len(nest.inputs))):
        return []
    return _get_operators(head, nest)


def _get_operators(head: str, nest: Nest) -> list[str]:
    """One operator on elements: arith or math on tensors, or linalg."""
    op = ex.get_op(head, nest.inputs[-1].type.element)
    if head == "select":
        return [f"{op} {{operands}} : {{source}}, {{type}}"]
    syntaxes = [f"{op} {{operands}} : {{source}}"]
    if head in BINARY:
        syntaxes += [
            f"{BINARY[head]} {{ins}} {{outs}} -> {{type}}",
            f"linalg.map {{{{ {op} }}}} {{ins}} {{outs}}",
        ]
    return syntaxes


def _get_moves(nest: Nest) -> list[str]:
    walked, kept = _get_loops(nest.maps[0]), nest.outputs[0].kept
    loops = list(range(len(nest.extents)))
    if walked == loops and list(kept) != loops:
        return [f"linalg.transpose {{ins}} {{outs}} permutation = [{join(*kept)}]"]
    if walked is None or list(kept) != loops or walked != sorted(set(walked)) or walked == loops:
        return []
    missing = [loop for loop in loops if loop not in walked]
    return [f"linalg.broadcast {{ins}} {{outs}} dimensions = {missing}"]
