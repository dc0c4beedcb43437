"""Reads the locations that JAX records: name stacks round the Python frames of an operation's creation.

`loc("jit(step)/jvp(epl.s0)/add"(callsite("loss"("model.py":8:4) at "<module>"("train.py":20:0))))`: the outer
name is the name stack and ends with the primitive; below it stand the frames, innermost first.
"""

from __future__ import annotations

from collections.abc import Iterator

from jaxlib.mlir import ir

from epl.adapters.jax.support import unsupported
from epl.errors import Place, UnsupportedError
from epl.places import is_library


def places(location: ir.Location) -> Iterator[Place]:
    """The source lines of a location, innermost frame first."""
    match location:
        case ir.CallSiteLoc() as site_of:
            yield from places(site_of.callee)
            yield from places(site_of.caller)
        case ir.NameLoc() as named:
            yield from places(named.child_loc)
        case ir.FusedLoc() as fused:
            for part in fused.locations:
                yield from places(part)
        case ir.FileLineColLoc() as line:
            yield Place(line.filename, line.start_line)


def user_place(location: ir.Location) -> Place | None:
    """The innermost line that is the user's own, else the innermost line, else None."""
    found = list(places(location))
    return next((place for place in found if not is_library(place.file)), found[0] if found else None)


def primitive(location: ir.Location) -> str | None:
    """The name of the JAX primitive or function that an operation came from: the end of its name stack."""
    match location:
        case ir.NameLoc() as named:
            return named.name_str.rstrip(":").rpartition("/")[2] or None
        case ir.CallSiteLoc() as site_of:
            return primitive(site_of.callee)
    return None


def unsupported_operation(op: ir.Operation, location: ir.Location) -> UnsupportedError:
    """The error about an operation: its name in JAX, the types it works on, the user's line of a location."""
    name = op.name.removeprefix("stablehlo.")
    kinds = dict.fromkeys(_kind(value.type) for value in (*op.operands, *op.results))
    return unsupported(primitive(op.location) or name, name, kinds, user_place(location))


def _kind(type_: ir.Type) -> str:
    """A type as JAX writes it: f32[8,4]."""
    if not isinstance(type_, ir.RankedTensorType):
        return str(type_)
    element = (
        str(type_.element_type).replace("complex<f32>", "complex64").replace("complex<f64>", "complex128")
    )
    return f"{element}[{','.join(map(str, type_.shape))}]"
