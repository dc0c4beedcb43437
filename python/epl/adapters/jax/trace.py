"""Traces a step with JAX and writes it as the MLIR text that the compiler takes (docs/design.md, 4.1)."""

from __future__ import annotations

import functools
import inspect
import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jaxlib.mlir import ir

from epl.adapters.jax import hooks
from epl.adapters.jax.constraints import PLATFORM
from epl.adapters.jax.legalize import legalize, main_function
from epl.adapters.jax.reports import lowering
from epl.adapters.jax.support import EARLY, PRINTS, unsupported
from epl.errors import Place
from epl.places import raising_place
from epl.reports import Report
from epl.scope_table import ScopeTable, Strategy
from epl.sharding import Sharding

MESH = "mesh"

# JAX then names the line of the user who called us, not ours.
hooks.exclude_from_locations(str(Path(__file__).parents[2]))


@dataclass(frozen=True)
class Argument:
    """One argument of the step's entry function.

    name: as the user would write it, `params['w1']`. role: state, batch or constant.
    batch_dim: for a batch, the dimension along which the devices share it.
    arrives: for a state or a constant, how the devices hold it already; on one mesh in all arguments.
    owner: for a state, the device of the data axis that updates it, if states have owners (`zero.owner`).
    """

    name: str
    role: str
    batch_dim: int | None = None
    arrives: Sharding | None = None
    owner: int | None = None


@dataclass(frozen=True)
class Mesh:
    """A mesh of devices that the step brings: axes, major first, and the devices of its ranks.

    strides: devices between neighbours along each axis; none if it has all devices.
    """

    name: str
    axes: tuple[tuple[str, int], ...]
    first: int = 0
    strides: tuple[int, ...] = ()


@dataclass(frozen=True)
class Wanted:
    """How another step wants a result: by which axes of which mesh each dimension of it is split.

    position: of the caller's tensor among the results, of which this is `rows` (first, of how many), or all.
    caller_shape: as the caller sees these; with `caller_parts`, (dimension, extents), in another order.
    """

    mesh: str
    dims: tuple[tuple[str, ...], ...]
    position: int
    rows: tuple[int, int] | None = None
    caller_shape: tuple[int, ...] = ()
    caller_parts: tuple[tuple[int, tuple[int, ...]], ...] = ()


@dataclass(frozen=True)
class Result:
    """One result of the entry function; `updates` is the index of the state argument that it replaces."""

    name: str
    updates: int | None = None
    wanted: Wanted | None = None


@dataclass(frozen=True)
class Traced:
    """A traced step: its result tree (`out`, leaves with shape and dtype) and the scopes it entered."""

    stage: Any
    out: Any
    scopes: tuple[Strategy, ...]


@dataclass(frozen=True)
class Program:
    """A step as MLIR text.

    hidden: values of the arguments that follow the user's. reports: what the results behind the user's say.
    scopes: those that operations stand in, in the order in which the step enters them. place: of the step.
    """

    text: str
    hidden: tuple[np.ndarray, ...]
    reports: tuple[Report, ...] = ()
    scopes: tuple[Strategy, ...] = ()
    place: Place | None = None


def trace(
    step: Callable[..., Any],
    arguments: Sequence[jax.ShapeDtypeStruct],
    name: str,
    argument_names: Sequence[str] = (),
    finds_stages: bool = False,
) -> Traced:
    """Traces `step` for arguments of the given shapes and dtypes; JAX's errors show their names.

    With `finds_stages` the compiler chooses the stages of the step, and a scope is an error.

    The step is wrapped anew each time: JAX keeps traces per function, but a step depends on the scopes'
    Python values.

    Raises:
      UnsupportedError: for a collective over an axis of devices, which a global step does not have.
    """

    # JAX's own errors name what `step` wraps; the leaves are not its parameters.
    @functools.wraps(step)
    def wrapper(*leaves: Any) -> Any:
        return step(*leaves)

    wrapper.__name__ = wrapper.__qualname__ = name
    wrapper.__signature__ = inspect.signature(lambda *leaves: leaves)  # type: ignore[attr-defined]
    table = ScopeTable(finds_stages)
    with table.active(), hooks.tracing_step():
        staged = jax.jit(wrapper, keep_unused=True)
        try:
            stage = staged.trace(*arguments)
        except jax.errors.JAXTypeError as error:
            error.args = tuple(_with_names(arg, argument_names) for arg in error.args)
            raise
        except NameError as error:
            if "unbound axis name" not in str(error):
                raise
            primitive, kinds = hooks.collective(lambda: staged.trace(*arguments))
            raise unsupported(primitive, None, kinds, raising_place(error)) from error
    return Traced(stage, stage.out_info, tuple(table.strategies))


def _with_names(message: Any, names: Sequence[str]) -> Any:
    """Puts the names of arguments where JAX knows them by their number only."""

    def name(match: re.Match[str]) -> str:
        index = int(match[1])
        return names[index] if index < len(names) else match[0]

    return re.sub(r"\bleaves\[(\d+)\]", name, message) if isinstance(message, str) else message


def lower(
    traced: Traced,
    arguments: Sequence[Argument],
    results: Sequence[Result],
    *,
    name: str,
    place: Place,
    default: Strategy | None = None,
    debug: bool = False,
    meshes: Sequence[Mesh] = (),
) -> Program:
    """Lowers a traced step to linalg and annotates its entry function.

    Args:
      arguments: of the step, in the order of the traced leaves.
      results: of the step, in the order of the leaves of `traced.out`.
      place: where the step is defined; what the compiler finds wrong with an argument is reported there.
      default: strategy of what stands in no scope.
      debug: whether what the step prints is among its hidden results; it is left out otherwise, with a
        warning.
      meshes: on which results are wanted; with several, each has a scope of its name.

    Raises:
      UnsupportedError: for an operation that the compiler has no input form of.
    """
    _refuse_early(traced.stage)
    if not debug:
        _warn_of_prints(traced.stage, name)
    with lowering(prints=debug) as sites:
        module = hooks.lower(traced.stage, PLATFORM, place)
    module.context.allow_unregistered_dialects = True
    with module.context, ir.Location.unknown():
        _name_arguments(main_function(module), arguments, place)
        hidden = legalize(module, sites)
        reported = [report.name for report in hidden.reports for _ in report.kinds]
        _annotate(main_function(module), arguments, results, len(hidden.arguments), reported)
        _annotate_scopes(main_function(module), traced.scopes, default)
        _add_meshes(module, meshes or _arrival_meshes(arguments))
        for attribute in list(module.operation.attributes):
            del module.operation.attributes[attribute]
        module.operation.attributes["sym_name"] = ir.StringAttr.get(name)
        text = module.operation.get_asm(enable_debug_info=True, assume_verified=True)  # as the compiler does
        used = {int(index) for index in re.findall(r"\bepl\.s(\d+)\b", text)}
        scopes = (scope for index, scope in enumerate(traced.scopes) if index in used)
        return Program(text, tuple(hidden.arguments), tuple(hidden.reports), tuple(scopes), place)


def _refuse_early(stage: Any) -> None:
    """Refuses primitives that JAX would not lower, or to something else than what they mean here."""
    for primitive, kinds, place in hooks.equations(stage.jaxpr.jaxpr):
        if primitive in EARLY:
            raise unsupported(primitive, None, kinds, place)


def _warn_of_prints(stage: Any, name: str) -> None:
    """Says, once for a step, that what it prints is left out."""
    places = [place for primitive, _, place in hooks.equations(stage.jaxpr.jaxpr) if primitive in PRINTS]
    if not places:
        return
    first = places[0] or Place("<step>")
    more = f" and {len(places) - 1} more" if len(places) > 1 else ""
    message = f"{first}: {name} leaves out what it prints here{more}: give debug=True to epl.parallelize"
    warnings.warn_explicit(message, UserWarning, first.file, first.line)


def _name_arguments(function: ir.Operation, arguments: Sequence[Argument], place: Place) -> None:
    """Locates the entry function and, under their names, its arguments where the step is defined."""
    entry = function.regions[0].blocks[0]  # its arguments keep their locations: new ones replace them
    source = ir.Location.file(place.file, place.line, 1)
    function.location = source
    for argument, old in zip(arguments, list(entry.arguments), strict=True):
        new = entry.add_argument(old.type, ir.Location.name(argument.name, source))
        old.replace_all_uses_with(new)
        entry.erase_argument(0)


def _annotate(
    function: ir.Operation,
    arguments: Sequence[Argument],
    results: Sequence[Result],
    hidden: int,
    reported: Sequence[str],
) -> None:
    attributes = [_argument_attributes(argument) for argument in arguments]
    attributes += [
        {**_argument_attributes(Argument(f"hidden[{index}]", "constant")), "epl.hidden": ir.UnitAttr.get()}
        for index in range(hidden)
    ]
    function.attributes["arg_attrs"] = ir.ArrayAttr.get([ir.DictAttr.get(a) for a in attributes])
    attributes = [_result_attributes(result) for result in results]
    attributes += [{**_result_attributes(Result(name)), "epl.hidden": ir.UnitAttr.get()} for name in reported]
    function.attributes["res_attrs"] = ir.ArrayAttr.get([ir.DictAttr.get(a) for a in attributes])


def _arrival_meshes(arguments: Sequence[Argument]) -> list[Mesh]:
    """The mesh on which arguments arrive."""
    arrives = next((argument.arrives for argument in arguments if argument.arrives), None)
    return [Mesh(MESH, arrives.axes)] if arrives else []


def _add_meshes(module: ir.Module, meshes: Sequence[Mesh]) -> None:
    with ir.InsertionPoint.at_block_begin(module.body):
        for mesh in meshes:
            axes = [ir.Attribute.parse(f'#epl.axis<"{name}" = {size}>') for name, size in mesh.axes]
            attributes = {"sym_name": ir.StringAttr.get(mesh.name), "axes": ir.ArrayAttr.get(axes)}
            if mesh.strides:
                attributes |= {"first": _i64(mesh.first), "strides": _i64_array(mesh.strides)}
            ir.Operation.create("epl.mesh", attributes=attributes)


def _argument_attributes(argument: Argument) -> dict[str, ir.Attribute]:
    attributes: dict[str, ir.Attribute] = {
        "epl.name": ir.StringAttr.get(argument.name),
        "epl.role": ir.StringAttr.get(argument.role),
    }
    if argument.batch_dim is not None:
        attributes["epl.batch_dim"] = _i64(argument.batch_dim)
    if argument.arrives is not None:
        attributes["epl.arrives"] = _sharding(MESH, argument.arrives.dims)
    if argument.owner is not None:
        attributes["epl.owner"] = _i64(argument.owner)
    return attributes


def _sharding(mesh: str, dims: Sequence[Sequence[str]]) -> ir.Attribute:
    text = ", ".join("{" + ", ".join(f'"{axis}"' for axis in dim) + "}" for dim in dims)
    return ir.Attribute.parse(f"#epl.sharding<@{mesh}, [{text} ]>")


def _result_attributes(result: Result) -> dict[str, ir.Attribute]:
    attributes: dict[str, ir.Attribute] = {"epl.name": ir.StringAttr.get(result.name)}
    if result.updates is not None:
        attributes["epl.updates"] = _i64(result.updates)
    return attributes | (_wanted_attributes(result.wanted) if result.wanted else {})


def _wanted_attributes(wanted: Wanted) -> dict[str, ir.Attribute]:
    attributes: dict[str, ir.Attribute] = {
        "epl.wanted": _sharding(wanted.mesh, wanted.dims),
        "epl.position": _i64(wanted.position),
    }
    if wanted.rows is not None:
        attributes["epl.caller_rows"] = _i64_array(wanted.rows)
    if wanted.caller_shape:
        attributes["epl.caller_shape"] = _i64_array(wanted.caller_shape)
    if wanted.caller_parts:
        extents = dict(wanted.caller_parts)
        parts = [_i64_array(extents.get(dim, ())) for dim in range(len(wanted.dims))]
        attributes["epl.caller_parts"] = ir.ArrayAttr.get(parts)
    return attributes


def _annotate_scopes(function: ir.Operation, scopes: Sequence[Strategy], default: Strategy | None) -> None:
    if scopes:
        table = {
            f"s{index}": ir.Attribute.parse(f"#epl.scope<{_scope(strategy)}>")
            for index, strategy in enumerate(scopes)
        }
        function.attributes["epl.scopes"] = ir.DictAttr.get(table)
    if stages := {f"s{index}": _i64(s.stages) for index, s in enumerate(scopes) if s.stages > 1}:
        function.attributes["epl.stages"] = ir.DictAttr.get(stages)
    if default:
        strategy = f"#epl.strategy<{default.kind.value}, {default.device_count}>"
        function.attributes["epl.default_strategy"] = ir.Attribute.parse(strategy)


def _scope(strategy: Strategy) -> str:
    """A scope as its attribute shows it: `split, 2, "", dims = [<"wq" = 1>] at loc("train.py":7:1)`."""
    text = f'{strategy.kind.value}, {strategy.device_count}, "{strategy.name}"'
    if strategy.dims:
        constraints = (
            f"<{ir.StringAttr.get(pattern)} {'whole' if dim is None else f'= {dim}'}>"
            for pattern, dim in strategy.dims
        )
        text += f", dims = [{', '.join(constraints)}]"
    if strategy.place is None:
        return text
    return f"{text} at {ir.Location.file(strategy.place.file, strategy.place.line, 1)}"


def _i64(value: int) -> ir.IntegerAttr:
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), value)


def _i64_array(values: Sequence[int]) -> ir.Attribute:
    return ir.DenseI64ArrayAttr.get(list(values))
