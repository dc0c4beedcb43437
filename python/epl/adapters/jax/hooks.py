"""Everything private that EPL uses of JAX, and nothing else: when the pinned JAX moves, this file moves.

`jax.jit`, `jnp` and `device_put` take only types that JAX knows. A foreign array type needs five entries:
how to see it abstractly, how to put it on devices, that it is canonical already, how to write it as a
constant, and how to add two of them as cotangents (docs of JAX offer no public way).
"""

from __future__ import annotations

import contextlib
import functools
import threading
import traceback
import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import jax
import jax.lax.linalg  # which registers what a step lowers otherwise
import numpy as np
from jax._src import ad_util, array, config, core, debugging, dtypes, source_info_util
from jax._src.interpreters import batching, mlir, partial_eval, pxla
from jax._src.lax import linalg, parallel
from jax._src.lib import guard_lib, xla_client
from jax._src.random import prng

from epl.errors import Error, Place

VERSION = "0.10.2"

ARRAY_TYPE = array.ArrayImpl
"""The type of concrete arrays."""

SHARD_TYPE = array.Shard
"""The type of the shards of arrays: `device`, `index`, `replica_id`, `data`."""

KEY_TYPE = prng.PRNGKeyArray
"""The type of typed random keys: a generator (`_impl`) and an array of its numbers (`_base_array`)."""

if jax.__version__ != VERSION:
    raise Error(
        f"epl works with jax {VERSION}, found jax {jax.__version__}: install jax=={VERSION} jaxlib=={VERSION}"
    )


def set_user_context(context: Any, value: Any) -> None:
    """Changes the value of a user context in the `with` that has set it; its end restores the one before."""
    context._obj.set_local(value)


def trace_state_clean() -> bool:
    """Whether no JAX transformation (jit, grad, vmap, ...) is tracing on this thread."""
    return bool(core.trace_state_clean())


def register_array(array_type: type, to_jax: Callable[[Any], jax.Array]) -> None:
    """Makes JAX take `array_type`, which has `shape` and `dtype`, wherever it takes an array.

    Args:
      to_jax: converts a value when its contents are needed.
    """

    def shard(values: Sequence[Any], shardings: Any, layouts: Any, copies: Any) -> Any:
        return pxla.shard_args(shardings, layouts, copies, [to_jax(value) for value in values])

    core.pytype_aval_mappings[array_type] = lambda value: core.ShapedArray(value.shape, value.dtype)
    pxla.shard_arg_handlers[array_type] = shard
    dtypes.canonicalize_value_handlers[array_type] = lambda value: value
    # Constants of a program: a typed key asks for those of the exact type of its numbers.
    mlir.register_constant_handler(array_type, lambda value, _: mlir.ir_constant(to_jax(value)))
    # Sums of cotangents that the user hands over.
    ad_util.raw_jaxval_adders[array_type] = ad_util.raw_jaxval_adders[ARRAY_TYPE]


_NOT_FORWARDED = frozenset(
    (
        *("__annotations__", "__class__", "__del__", "__dict__", "__getattribute__", "__getstate__"),
        *("__hash__", "__init__", "__init_subclass__", "__module__", "__new__", "__numpy_dtype__"),
        *("__reduce_ex__", "__setattr__", "__sizeof__", "__slots__", "__subclasshook__", "__weakref__"),
        *("_npy_value", "_replace_with", "_rewrap_with_aval_and_sharding"),
    )
)


def array_attributes(own: set[str]) -> Iterator[tuple[str, bool]]:
    """What a `jax.Array` has that an array type of EPL with attributes `own` does not define.

    Yields:
      The name, and whether it is a property.
    """
    for name in dir(ARRAY_TYPE):
        value = getattr(ARRAY_TYPE, name)
        if name not in own | _NOT_FORWARDED and value is not getattr(object, name, None):
            yield name, not callable(value) or name == "at"


def shaped_array(shape: tuple[int, ...], dtype: Any) -> Any:
    """An array as JAX sees it when it traces."""
    return core.ShapedArray(shape, dtype)


@functools.lru_cache(maxsize=4096)
def adopter(
    shape: tuple[int, ...], dtype: Any, weak_type: bool = False, local: int = 0
) -> Callable[[Any], jax.Array]:
    """A quick `jnp.asarray` for numpy arrays of one kind, which nobody writes afterwards.

    The array comes to JAX's CPU device number `local` of this process, not committed to it. Elements of
    another type of that size are taken for `dtype`. To `jax.transfer_guard` it is an explicit transfer.
    """
    device = jax.local_devices(backend="cpu")[local]
    aval = core.ShapedArray(shape, dtype, weak_type=weak_type)
    sharding = jax.sharding.SingleDeviceSharding(device)

    def adopt(value: Any) -> jax.Array:
        viewed = value if value.dtype == dtype else value.view(dtype)
        guard = guard_lib.thread_local_state()
        outside, guard.explicit_device_put = guard.explicit_device_put, True
        try:
            array: jax.Array = xla_client.batched_device_put(aval, sharding, [viewed], [device], False)
        finally:
            guard.explicit_device_put = outside
        return array

    return adopt


def key_wrapper(dtype: Any) -> Callable[[jax.Array], jax.Array]:
    """Makes typed keys of that dtype of arrays of their numbers, which are not checked."""
    generator = dtype._impl

    def wrap(numbers: jax.Array) -> jax.Array:
        key: jax.Array = KEY_TYPE.__new__(KEY_TYPE)
        key._impl, key._consumed, key._base_array = generator, False, numbers  # type: ignore[attr-defined]
        return key

    return wrap


DEBUG_EFFECT = debugging.debug_effect
"""Of what is there for its effect, has no results, and stays where it stands under every transformation."""

Emit = Callable[[Any, Sequence[Any], Callable[..., Any]], None]
"""Writes what stands for a print: from the lowering rule's context, its operands, and what shows values."""


class _Step(threading.local):
    is_traced = False
    is_lowered = False
    emit: Emit | None = None


_step = _Step()


@contextlib.contextmanager
def tracing_step() -> Iterator[None]:
    """Within, `jax.debug.print(..., ordered=True)` is like any other: a step is shown in its order anyway.

    JAX threads tokens through a program for what is ordered.
    """
    previous, _step.is_traced = _step.is_traced, True
    try:
        yield
    finally:
        _step.is_traced = previous


@contextlib.contextmanager
def printing_by(emit: Emit) -> Iterator[None]:
    """Within, `jax.debug.print` and `jax.debug.callback` are lowered to what `emit` writes."""
    previous, _step.emit = _step.emit, emit
    try:
        yield
    finally:
        _step.emit = previous


def kept_in_recomputation(primitive: Any) -> None:
    """Lets `jax.checkpoint` do with a primitive of the debug effect what it does with prints."""
    rule = partial_eval.partial_eval_jaxpr_custom_rules[debugging.debug_print_p]
    rule = functools.partial(rule.func, **{**rule.keywords, "primitive": primitive})
    partial_eval.partial_eval_jaxpr_custom_rules[primitive] = rule


def _teach_prints(primitive: Any, abstract: Callable[..., Any], lowering: Callable[..., Any]) -> None:
    """Adds to a primitive of `jax.debug` what it is in a step; everywhere else it is what it was."""

    def abstract_eval(*avals: Any, **params: Any) -> Any:
        results, effects = abstract(*avals, **params)
        return results, {DEBUG_EFFECT} if _step.is_traced else effects

    def lower_print(context: Any, *operands: Any, **params: Any) -> Any:
        if _step.emit is None:
            return lowering(context, *operands, **params)
        _step.emit(context, operands, functools.partial(primitive.impl, **params))
        return []

    primitive.def_effectful_abstract_eval(abstract_eval)
    mlir.register_lowering(primitive, lower_print, platform="tpu", cacheable=False)


_teach_prints(
    debugging.debug_print_p, debugging.debug_print_abstract_eval, debugging.debug_print_lowering_rule
)
_teach_prints(
    debugging.debug_callback_p, debugging.debug_callback_abstract_eval, debugging.debug_callback_lowering
)


def plain_format(show: Callable[..., Any]) -> tuple[str, tuple[str, ...]] | None:
    """The format of a print and the names of its values, "" for positional ones.

    None if it is more than that: a function of the user's, a tree, a value that is no array, a log.
    """
    params = show.keywords if isinstance(show, functools.partial) else {}
    if "fmt" not in params or params["static_args"] or params["logging_record"]:
        return None
    leaves = [object() for _ in range(params["in_tree"].num_leaves)]
    args, kwargs = jax.tree.unflatten(params["in_tree"], leaves)
    if [*args, *kwargs.values()] != leaves:
        return None
    return params["fmt"], ("",) * len(args) + tuple(kwargs)


def is_mapped(value: Any) -> bool:
    """Whether a value of a function that `jax.vmap` traces has the dimension over which it is mapped."""
    return isinstance(value, batching.BatchTracer) and value.batch_dim is not None


def map_by(primitive: Any, rule: Callable[[Any, Sequence[Any], Sequence[int | None]], Any]) -> None:
    """Has `jax.vmap` map a primitive by a rule that is told the name of its axis, if it has one, too."""

    def mapped(axis: Any, operands: Sequence[Any], dims: Sequence[int | None], **params: Any) -> Any:
        return rule(axis.name if isinstance(axis.name, str) else None, operands, dims, **params)

    batching.fancy_primitive_batchers[primitive] = mapped


def place(equation: Any) -> Place | None:
    """The user's innermost line of an equation of a jaxpr."""
    frame = source_info_util.user_frame(equation.source_info.traceback)
    return Place(frame.file_name, frame.start_line) if frame else None


def equations(jaxpr: Any, caller: Place | None = None) -> Iterator[tuple[str, list[str], Place | None]]:
    """The primitives of a jaxpr, inner ones too, with types of operands, and the user's innermost line."""
    for equation in jaxpr.eqns:
        line = place(equation) or caller
        yield equation.primitive.name, _kinds([value.aval for value in equation.invars]), line
        for inner in core.jaxprs_in_params(equation.params):
            yield from equations(inner, line)


def numbers(constant: Any) -> np.ndarray[Any, Any]:
    """A constant of a jaxpr in memory; of typed keys their numbers."""
    return np.asarray(constant._base_array if isinstance(constant, KEY_TYPE) else constant)


def inner_jaxprs(equation: Any) -> Iterator[Any]:
    """The jaxprs among the parameters of an equation."""
    yield from core.jaxprs_in_params(equation.params)


def bind(equation: Any, values: Sequence[Any]) -> list[Any]:
    """Does what an equation of a jaxpr does, with other operands."""
    primitive = equation.primitive
    results = primitive.bind(*values, **primitive.get_bind_params(equation.params))
    return list(results) if primitive.multiple_results else [results]


@contextlib.contextmanager
def standing_at(equation: Any) -> Iterator[None]:
    """Within, what is traced has the line, the scopes and the settings of an equation."""
    info = equation.source_info
    names = source_info_util.current_name_stack() + info.name_stack
    with source_info_util.user_context(info.traceback, name_stack=names), equation.ctx.manager:
        yield


def is_elementwise(primitive: Any) -> bool:
    """Whether an element of a primitive's result is made of those in its place of its operands."""
    rule = getattr(batching.fancy_primitive_batchers.get(primitive), "func", None)
    return rule in (batching.vectorized_batcher, batching.broadcast_batcher)


def is_reduction(primitive: Any) -> bool:
    """Whether a primitive reduces its operand over the dimensions `axes`."""
    rule = getattr(batching.fancy_primitive_batchers.get(primitive), "func", None)
    return rule is batching.reducer_batcher


def read_arguments(stage: Any, results: Sequence[bool]) -> list[bool]:
    """Which arguments of a traced step those of its results read that are marked; prints read nothing."""
    jaxpr = stage.jaxpr.jaxpr
    silent = [equation for equation in jaxpr.eqns if DEBUG_EFFECT not in equation.effects or equation.outvars]
    _, used = partial_eval.dce_jaxpr(jaxpr.replace(eqns=silent), list(results))
    return list(used)


def collective(trace: Callable[[], Any]) -> tuple[str, list[str]]:
    """The function of jax.lax that gets an axis name without a meaning in a trace, and types of its operands.

    The step is traced once more: JAX takes its own frames, which have both, out of its errors.
    """
    try:
        with config.traceback_filtering("off"):
            trace()
    except NameError as error:
        frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
        called = next(frame for frame in frames if frame.f_code.co_filename == parallel.__file__)
        return called.f_code.co_name, _kinds(map(jax.typeof, jax.tree.leaves(called.f_locals.get("x"))))
    return "axis name", []  # a step that is not the same twice


def _kinds(avals: Iterable[Any]) -> list[str]:
    return [aval.str_short(short_dtypes=True) for aval in avals]


def exclude_from_locations(path: str) -> None:
    """Keeps frames of files below `path` out of the source locations that JAX records."""
    source_info_util.register_exclusion(path)


MATRIX_PRIMITIVES = {
    primitive.name: primitive
    for primitive in (
        linalg.cholesky_p,
        linalg.eigh_p,
        linalg.geqp3_p,
        linalg.geqrf_p,
        linalg.householder_product_p,
        linalg.lu_p,
        linalg.svd_p,
        linalg.triangular_solve_p,
    )
}
"""What LAPACK does on whole matrices, by name."""


def result_types(context: Any) -> list[Any]:
    """The types of StableHLO that a primitive's results have."""
    return [mlir.aval_to_ir_type(context.module_context, aval) for aval in context.avals_out]


lower_function = mlir.lower_fun
"""Makes a lowering rule of a function that calls JAX."""


def lower_in_steps(primitive: Any, platform: str, rule: Callable[..., Any]) -> None:
    """Lowers a primitive by `rule` in steps, which are lowered for that platform; others as before."""
    before = mlir._platform_specific_lowerings[platform].get(primitive) or mlir._lowerings.get(primitive)

    def lower_either(context: Any, *operands: Any, **params: Any) -> Any:
        if _step.is_lowered:
            return rule(context, *operands, **params)
        if before is None:
            raise NotImplementedError(f"{primitive} has no lowering for platform {platform}")
        return before.rule(context, *operands, **params)

    mlir.register_lowering(primitive, lower_either, platform=platform)


@contextlib.contextmanager
def _lowering_step() -> Iterator[None]:
    previous, _step.is_lowered = _step.is_lowered, True
    try:
        yield
    finally:
        _step.is_lowered = previous


def lower(stage: Any, platform: str, definition: Place) -> Any:
    """A traced step as a StableHLO module whose locations end at the line of the step's definition.

    JAX roots them at the frames that lower it: the first call of the step and its callers up to the program's
    entry. Those are no part of the step; with them, one that is called from another line is another program
    to the cache of plans.
    """
    call = lambda: stage.lower(lowering_platforms=(platform,))  # noqa: E731
    where = {"co_filename": definition.file, "co_firstlineno": definition.line, "co_qualname": stage.fun_name}
    caller = types.FunctionType(call.__code__.replace(**where), {}, closure=call.__closure__)
    with partial_eval.TracebackScope(), _lowering_step():
        return caller().compiler_ir("stablehlo")


def pruned(closed: Any, used: Sequence[bool]) -> Any:
    """A traced function that computes only those of its results that are used, of the same arguments."""
    jaxpr, _ = partial_eval.dce_jaxpr(closed.jaxpr, list(used), instantiate=True)
    return core.ClosedJaxpr(jaxpr, closed.consts)


def evaluate(closed: Any, leaves: Sequence[Any]) -> list[Any]:
    """The results of a traced function, whose operations stand in the scopes that are open."""
    results: list[Any] = core.eval_jaxpr(closed.jaxpr, closed.consts, *leaves)
    return results
