"""From a step, and what its arguments are, to its program: found tables, traced, lowered."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax

from epl import micro_results, padding
from epl.adapters.jax import lookups
from epl.adapters.jax import trace as adapter
from epl.compile import options_of, plain_options_of
from epl.devices import count_devices
from epl.environment import Settings
from epl.errors import ConfigError
from epl.padding import MaskedSignature
from epl.places import definition
from epl.precision import Precision
from epl.scope_table import Strategy
from epl.servers.step import ServedLowered
from epl.servers.strategy import ParameterServer
from epl.sharding import Sharding, arrivals
from epl.signature import Signature, Spec
from epl.stages import Lowered
from epl.tables import steps as tables
from epl.tables.signature import TableSignature
from epl.tables.steps import StepTables
from epl.tables.traces import returned


@dataclass(frozen=True)
class Options:
    """What the user has said of a step beside its parameters.

    default: strategy of what stands in no scope. owners: devices of states. strategy: of servers. donate,
    debug: as `epl.parallelize` has them.
    """

    default: Strategy | None
    owners: Mapping[str, int]
    strategy: ParameterServer | None
    donate: bool
    debug: bool


def lower(
    signature: Signature, spec: Spec, leaves: Sequence[Any], chosen: Settings, options: Options
) -> Lowered:
    """Traces and lowers a step.

    Args:
      signature: of the step, on the devices that are chosen.
      spec: what the arguments are.
      leaves: the arguments, whose shardings the step takes over.

    Raises:
      Error: for what a step may not be, as `epl.parallelize` says.
    """
    if options.strategy is not None:
        _check_settings(signature, chosen)
    found = tables.find(signature, spec, options.strategy)
    whole, all_of = signature, spec
    if found is not None:
        whole = extended = TableSignature(signature, spec, found)
        all_of = extended.extended
    arguments = _arguments(whole, all_of, leaves, chosen, options.owners)

    @functools.wraps(signature.function)
    def step(*leaves: Any) -> Any:
        return whole.call(all_of, leaves)

    names = [argument.name for argument in arguments]
    finds = bool(chosen.config["auto.auto_parallel"])
    traced = adapter.trace(step, all_of.leaves, signature.name, names, finds)
    if found is not None:
        lookups.check_none(traced.stage.jaxpr)
        tables.check_gradients(found, traced.stage.jaxpr)
    results = tuple(whole.results(all_of, traced.out))
    dims: tuple[padding.SampleDims, ...] = ()
    if isinstance(signature, MaskedSignature):
        own = results if found is None else results[: -len(found.results) or None]
        call = signature.call if found is None else functools.partial(returned, signature)
        dims = padding.sample_dims(signature, spec, traced, own, call)
    count = int(chosen.config["pipeline.num_micro_batch"])
    traced = micro_results.combined(step, whole, all_of, traced, count, dims)
    program = adapter.lower(
        traced,
        arguments,
        results,
        name=signature.name,
        place=definition(signature.function),
        default=options.default,
        debug=options.debug,
    )
    return _lowered(signature, spec, found, traced, program, arguments, results, dims, chosen, options)


def _check_settings(signature: Signature, chosen: Settings) -> None:
    """Raises ConfigError for settings that deal out among devices what servers hold."""
    for key in ("zero.level", "zero.owner"):
        if value := chosen.config[key]:
            raise ConfigError(
                f"{key} is {value!r}, which deals the states of a step out among devices, and servers hold "
                f"those of {signature.name} (strategy): expected it not to be set"
            )


def _arguments(
    signature: Signature,
    spec: Spec,
    leaves: Sequence[Any],
    chosen: Settings,
    owners: Mapping[str, int],
) -> tuple[adapter.Argument, ...]:
    """Those of a step, as they arrive, with the devices that own them."""
    arguments = [replace(each, owner=owners.get(each.name)) for each in signature.arguments(spec)]
    shardings: list[Sharding | None] = arrivals(leaves, count_devices(chosen.devices))
    shardings += [None] * (len(arguments) - len(shardings))  # rows
    return tuple(
        argument if argument.role == "batch" or argument.arrives else replace(argument, arrives=sharding)
        for argument, sharding in zip(arguments, shardings, strict=True)
    )


def _lowered(
    signature: Signature,
    spec: Spec,
    found: StepTables | None,
    traced: adapter.Traced,
    program: adapter.Program,
    arguments: Sequence[adapter.Argument],
    results: Sequence[adapter.Result],
    dims: tuple[padding.SampleDims, ...],
    chosen: Settings,
    options: Options,
) -> Lowered:
    """What runs the step: of arguments and results the user's."""
    out_leaves, tree = jax.tree.flatten(traced.out if found is None else traced.out[0])
    make: Callable[..., Lowered] = Lowered
    if options.strategy is not None:
        make = functools.partial(ServedLowered, strategy=options.strategy, tables=found)
    return make(
        signature,
        spec,
        program,
        tuple(arguments[: len(spec.kinds)]),
        tuple(results[: len(out_leaves)]),
        tuple(out_leaves),
        tree,
        chosen.devices,
        options.donate,
        dims,
        options_of(chosen.config),
        plain_options_of(chosen.config),
        Precision.of(chosen.config),
        int(chosen.config["cluster.num_threads"]),
    )
