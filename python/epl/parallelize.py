"""`epl.parallelize`: a step that is written for one device becomes one that runs on all of them."""

from __future__ import annotations

import functools
import logging
import re
import threading
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, overload

import jax

from epl import calling, debugging, padding
from epl.adapters.jax import hooks
from epl.advice import Recompilations, check_scope_outside
from epl.config import Config
from epl.config_keys import Value
from epl.devices import Devices, check_offload, count_devices, parse_devices
from epl.differences import difference
from epl.environment import Settings, as_config, settings
from epl.errors import ArgumentError, Error, StepError
from epl.lowering import Options, lower
from epl.padding import MaskedSignature, Padded
from epl.parameters import Parameters, as_owners, check_owners
from epl.per_device import PerDevice, signature_of
from epl.processes import group
from epl.processes.parts import as_whole
from epl.scope_table import Strategy
from epl.scopes import default_strategy
from epl.servers.strategy import ParameterServer
from epl.signature import Batch, Signature, Spec, Static
from epl.stages import Compiled, Lowered

_LOG = logging.getLogger("epl")

Function = TypeVar("Function", bound=Callable[..., Any])


class Parallelized:
    """A parallelized step. A call with new shapes, dtypes or static values compiles it.

    The logger "epl" says at level INFO why it is compiled anew; the third time for one reason is a
    `RecompileWarning`. With `jax_debug_nans` or `jax_debug_infs` set, a call donates nothing, and one whose
    results hold what is sought runs in JAX too, which names your line.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        signature: Signature,
        devices: str | None,
        config: Config | None,
        donate: bool,
        debug: bool = False,
        owners: Mapping[str, int] | None = None,
        strategy: ParameterServer | None = None,
    ) -> None:
        self._signature = signature
        self._strategy = strategy
        self._debug = debug
        self._devices = devices
        self._config = config
        self._donate = donate
        self._owners = dict(owners or {})
        self._lowered: dict[Any, Lowered] = {}
        self._recompilations = Recompilations()
        # The plans by what is quick to see of a call; several entries may share one.
        self._compiled: dict[Any, Compiled | Padded] = {}
        self._tracing = threading.Lock()
        functools.update_wrapper(self, function)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs a step on the devices; arguments and results as in the function itself.

        Raises:
          CompileError, StateError, DonatedError: as the names say.
          StepError: for a check that failed (`epl.check`), and a loop that did not end within its bound.
          FloatingPointError: for a result that is not a number, if `jax_debug_nans` is set.
        """
        self._check_outermost()
        values, static = self._signature.match(args, kwargs)
        leaves, tree = jax.tree_util.default_registry.flatten(tuple(values.values()))
        key = (tuple(values), tree, calling.leaves().describe(leaves), static, self._context())
        compiled = self._compiled.get(key) or self._compile(key, values, static)
        try:
            result = debugging.call(compiled, leaves) if debugging.is_on() else compiled.call(leaves)
        except StepError as error:
            error.results = self._signature.returned(values, error.results)
            raise
        return self._signature.returned(values, result)

    def call_leaves(self, tree: Any, leaves: list[Any]) -> list[Any]:
        """A call for front ends that keep the leaves of arguments and results by themselves.

        It takes no trees apart, builds none, and what it returns comes to the host without JAX.

        Args:
          tree: the structure of the tuple of all arguments, in the order of the parameters; none is static.
          leaves: of that structure.

        Returns:
          The leaves of the results: states as `epl.Array`, others as arrays of NumPy, or as of a call where
          results are looked at for NaNs or cut.

        Raises:
          As a call.
        """
        self._check_outermost()
        names = self._signature.positional
        key = (names, tree, calling.leaves().describe(leaves), (), self._context())
        compiled = self._compiled.get(key)
        if compiled is None:
            compiled = self._compile(key, dict(zip(names, tree.unflatten(leaves), strict=True)), ())
        if debugging.is_on() or isinstance(compiled, Padded):
            found: list[Any] = jax.tree.leaves(self(*tree.unflatten(leaves)))
            return found
        return compiled.call_leaves(leaves)

    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """Traces the step for such arguments (arrays or `jax.ShapeDtypeStruct`s) without compiling it."""
        self._check_outermost()
        spec, leaves = self._signature.bind(args, kwargs)
        return self._lower(spec, leaves, is_call=False)

    @property
    def newest(self) -> Lowered | None:
        """The step as it was traced last; None if it was not traced yet."""
        return next(reversed(self._lowered.values()), None)

    def release(self) -> None:
        """Gives back the memory that steps need for themselves, once all have ended; the next takes it again.

        States stay as they are.
        """
        for lowered in self._lowered.values():
            lowered.release()

    def __get__(self, owner: Any, kind: type | None = None) -> Any:
        """As the method of a class; `self` is a state, or a Python value if static_argnames has it."""
        return self if owner is None else types.MethodType(self, owner)

    def __reduce__(self) -> str:
        """Copied and pickled like a function: by its name."""
        return str(getattr(self, "__qualname__", self._signature.name))

    def _check_outermost(self) -> None:
        if not hooks.trace_state_clean():
            raise Error(
                f"{self._signature.name} is parallelized and cannot be called under jax.jit, grad, vmap or "
                "another step: put the transformation inside the step"
            )
        check_scope_outside(self._signature.name)

    def _compile(self, key: Any, values: Mapping[str, Any], static: Static) -> Compiled | Padded:
        """What runs calls with such arguments, which `key` describes."""
        spec, plain = self._signature.describe(as_whole(values, self._known()), static)
        compiled = self._compiled[key] = self._lower(spec, plain).compile().fit(spec)
        return compiled

    def _known(self) -> list[Lowered]:
        """The steps that were lowered for the devices and settings of now."""
        context = self._context()
        return [lowered for (*_, other), lowered in self._lowered.items() if other == context]

    def _context(self) -> tuple[Settings, Strategy | None, bool]:
        """What a plan depends on besides the arguments."""
        x64: bool = jax.config.jax_enable_x64
        return settings(self._devices, self._config), default_strategy(), x64

    def _lower(self, spec: Spec, leaves: Sequence[Any], *, is_call: bool = True) -> Lowered:
        """The step for such arguments; traced at the first call, whose states' shardings it takes over.

        By one thread at a time: those that come with the same arguments find what the first one has traced.
        """
        with self._tracing:
            return self._find_or_trace(spec, leaves, is_call)

    def _find_or_trace(self, spec: Spec, leaves: Sequence[Any], is_call: bool) -> Lowered:
        chosen, default, _ = context = self._context()
        given = spec
        if isinstance(self._signature, MaskedSignature):
            known = [lowered.spec for lowered in self._known()]
            parts = count_devices(chosen.devices) * int(chosen.config["pipeline.num_micro_batch"])
            spec = padding.padded(self._signature, spec, known, parts)
        key = (spec, spec.weak_types, context)
        if key not in self._lowered:
            if is_call:
                self._log_compilation(spec)
            with padding.noting_sizes(self._signature, given, spec):
                self._lowered[key] = self._trace(spec, leaves, chosen, default)
        return self._lowered[key]

    def _log_compilation(self, spec: Spec) -> None:
        last = next(reversed(self._lowered.values()), None)
        if last is None:
            _LOG.debug("%s: first call", self._signature.name)
        else:
            self._recompilations.add(self._signature.name, difference(last, spec))

    def _trace(
        self, spec: Spec, leaves: Sequence[Any], chosen: Settings, default: Strategy | None
    ) -> Lowered:
        check_owners(self._owners, self._signature.arguments(spec), self._signature.name)
        owners = self._owners if chosen.config["zero.owner"] else {}
        options = Options(default, owners, self._strategy, self._donate, self._debug)
        return lower(self._signature.on(chosen), spec, leaves, chosen, options)

    def __repr__(self) -> str:
        return f"epl.parallelize({self._signature.name})"


@overload
def parallelize(
    function: Callable[..., Any],
    *,
    state: Parameters = ...,
    batch: Batch = ...,
    devices: Devices | None = ...,
    config: Config | Mapping[str, Value] | None = ...,
    static_argnames: str | Sequence[str] = ...,
    donate: bool = ...,
    pad_batch: bool = ...,
    debug: bool = ...,
    name: str | None = ...,
    per_device: PerDevice | None = ...,
    local: Parameters = ...,
    owners: Mapping[str, int] | None = ...,
    strategy: ParameterServer | None = ...,
) -> Parallelized: ...


@overload
def parallelize(
    function: None = ...,
    *,
    state: Parameters = ...,
    batch: Batch = ...,
    devices: Devices | None = ...,
    config: Config | Mapping[str, Value] | None = ...,
    static_argnames: str | Sequence[str] = ...,
    donate: bool = ...,
    pad_batch: bool = ...,
    debug: bool = ...,
    name: str | None = ...,
    per_device: PerDevice | None = ...,
    local: Parameters = ...,
    owners: Mapping[str, int] | None = ...,
    strategy: ParameterServer | None = ...,
) -> Callable[[Callable[..., Any]], Parallelized]: ...


def parallelize(
    function: Callable[..., Any] | None = None,
    *,
    state: Parameters = (),
    batch: Batch = (),
    devices: Devices | None = None,
    config: Config | Mapping[str, Value] | None = None,
    static_argnames: str | Sequence[str] = (),
    donate: bool = True,
    pad_batch: bool = False,
    debug: bool = False,
    name: str | None = None,
    per_device: PerDevice | None = None,
    local: Parameters = (),
    owners: Mapping[str, int] | None = None,
    strategy: ParameterServer | None = None,
) -> Parallelized | Callable[[Callable[..., Any]], Parallelized]:
    """Parallelizes a step, as a decorator (with or without arguments) or as a function.

    Args:
      function: the step, written for one device and the whole batch; its scopes say how it is parallelized.
      state: parameters (names or positions, those in `*args` and `**kwargs` too) that the step returns
        updated, in this order, as its first results, with the same tree, shapes and dtypes. A lone result
        and no state are fine. Objects of flax.nnx (modules, optimizers, metrics, `Rngs`, variables) are
        updated in place instead, and not returned.
      batch: parameters whose leaves the devices share along dimension 0, or a dict from parameters to
        prefixes of axes as in `jax.vmap` (None: not shared). They may differ in length, as nodes and edges of
        a graph; each length must divide. All other parameters are constants, whole on every device.
      devices: `"cpu:N"`, `"cuda:CARDS"` or a count; default those of `epl.init`.
      config: an `epl.Config` or its dict; default that of `epl.init`.
      static_argnames: parameters that are Python values, part of the program.
      donate: whether a step may write the new state over the old one's memory; an `epl.Array` that was
        passed as state cannot be used afterwards. What the user made (`jax.Array`, numpy) is copied and
        stays as it is.
      pad_batch: a batch that is smaller than one that the step is compiled for is padded to that, and any
        other to a multiple of the devices, by repeating its last sample. The step has a parameter `mask`,
        which a call leaves out: bool [batch], False for what is padding. What the step sums over the batch
        it weighs with the mask (a mask of the call's own is padded with zeros). Results per sample are cut
        to the real ones: those dimensions that grow when the step is traced for twice the batch. Statistics
        of the batch, such as BatchNorm's, need the mask too; its size is `mask.sum()`, where `x.shape[0]` is
        that of the padded one. A result that depends on what is padded is an error of the first such call.
        Where batches differ in length, the argument `edges` has a mask of its own, the parameter
        `mask_edges`, by which it is padded and cut; `mask` is that of all arguments without one. Of
        micro-batches the last ones may be padding alone: what is of each micro-batch (results in `LOCAL_`
        collections, statistics in `epl.per_micro_batch()`) divides by `jnp.maximum(mask.sum(), 1)`, or it is
        NaN there.
      debug: whether the step shows what `jax.debug.print` and `jax.debug.callback` in it show: whole values,
        in the order of the program, when the step has ended; a call waits for that. They are further results
        of the plan. Otherwise they are left out, with one warning.
      name: of the step, in messages and timelines; default the function's.
      per_device: says that the function is what one device does with its part of the batch, as for
        `jax.pmap`, and names the axis over which devices exchange: `lax.psum(x, "device")`, `pmean`, `pmax`,
        `all_gather`, `ppermute`, `axis_index` and the like. It has no scopes. There is one value of a state
        for all devices, which must be equal on them; other results come stacked in the order of the devices.
        Gradients of an `epl.Table` are each device's own, of the rows that it has looked up.
        `("device", 2)` has the devices in two groups of neighbours, the axes "data" (groups) and "data2"
        (members) to `epl.constrain`: `epl.constrain(lax.psum(x, "device"), {None: "data2"})` sums within each
        group first.
      local: those of `state` of which each device has a value of its own, such as BatchNorm's statistics:
        with a dimension 0 of as many as there are devices.
      owners: with the setting `zero.owner`: the device of the data axis that updates a state, by the names
        that messages have (`params['w']`); what is updated with it goes with it. Others go by size.
      strategy: an `epl.ParameterServer`, if servers hold the parameters and apply gradients; a step with an
        `epl.Table` among its arguments has one.

    Returns:
      The step: called, it returns what the function returns, states as `epl.Array`, all else as `jax.Array`.

    Raises:
      ArgumentError: for parameters that the function does not have or that have two roles.
      ConfigError: for bad devices or settings.
      StateError: at a call, for a state of a step of one device that depends on the device.
    """
    if function is None:
        options: dict[str, Any] = {"devices": devices, "config": config, "donate": donate, "name": name}
        options |= {"pad_batch": pad_batch, "debug": debug, "per_device": per_device, "local": local}
        options |= {"owners": owners, "strategy": strategy}
        return functools.partial(
            parallelize, state=state, batch=batch, static_argnames=static_argnames, **options
        )
    for option, value in {"donate": donate, "pad_batch": pad_batch, "debug": debug}.items():
        if not isinstance(value, bool):
            raise ArgumentError(f"{option} must be True or False, found {value!r}")
    if name is not None and not isinstance(name, str):
        raise ArgumentError(f"name must be a string, found {name!r}")
    signature = signature_of(function, state, batch, static_argnames, pad_batch, per_device, local)
    signature.name = re.sub(r"\W", "_", name or signature.name)
    own_devices = None if devices is None else group.join_with(parse_devices(devices))
    own_config = None if config is None else as_config(config)
    if own_devices is not None and own_config is not None:
        check_offload(own_devices, own_config)
    if strategy is not None and not isinstance(strategy, ParameterServer):
        raise ArgumentError(f"strategy must be an epl.ParameterServer or None, found {strategy!r}")
    owned = as_owners(owners)
    return Parallelized(function, signature, own_devices, own_config, donate, debug, owned, strategy)
