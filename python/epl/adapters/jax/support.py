"""Which operations of JAX and StableHLO a step may use, and what to do instead of the others.

The tables are what errors and docs/reference/operations.md are made of; the tests run an operation of every
row.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from epl.errors import Place, UnsupportedError


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


SUPPORTED: dict[str, tuple[str, ...]] = {
    "Elementwise": _words(
        """abs add and atan2 bitcast_convert cbrt ceil clamp compare convert cosine count_leading_zeros divide
        exponential exponential_minus_one floor is_finite log log_plus_one maximum minimum multiply
        negate not or popcnt power reduce_precision remainder round_nearest_afz round_nearest_even rsqrt
        select shift_left shift_right_arithmetic shift_right_logical sign sine sqrt subtract tan tanh xor"""
    ),
    "Shapes": _words("broadcast_in_dim concatenate iota constant pad reshape reverse slice transpose"),
    "Reductions and windows": ("reduce", "reduce_window", "select_and_scatter"),
    "Contractions": ("dot_general", "convolution"),
    "Indexing and sorting": ("gather", "scatter", "dynamic_slice", "dynamic_update_slice", "sort"),
    "Structure": ("while", "case", "composite", "optimization_barrier", "return"),
}
"""Operations of StableHLO that compile; loops if their length is known or bounded, all branches."""

FACTORIZATIONS = _words("cholesky eigh geqrf householder_product lu svd triangular_solve")
"""Primitives of JAX that compile to calls of LAPACK, before they are operations of StableHLO."""


@dataclass(frozen=True)
class Refused:
    """A row of operations that are errors.

    what: in words. primitives: of JAX. operations: of StableHLO. instead: what the user does. early: whether
    they are refused as the step is traced, also where nothing uses their result: JAX does not lower them, or
    to something that works otherwise.
    """

    what: str
    primitives: tuple[str, ...]
    operations: tuple[str, ...]
    instead: str
    early: bool = False


REFUSED: tuple[Refused, ...] = (
    Refused(
        "callbacks into Python",
        ("pure_callback", "io_callback"),
        (),
        "a plan runs without Python; return the value and use it after the step, or look at it with "
        "jax.debug.callback and debug=True",
        early=True,
    ),
    Refused(
        "loops whose length the step computes and nothing bounds, in jax.random.gamma and gammainc too",
        ("while",),
        (),
        "devices keep one schedule; write `with epl.bounded_while(16):` round it, with the most iterations "
        "that it may take",
    ),
    Refused(
        "collectives and axes of devices",
        (
            "psum",
            "pmean",
            "pmax",
            "pmin",
            "all_gather",
            "psum_scatter",
            "all_to_all",
            "ppermute",
            "axis_index",
        ),
        (
            *("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "collective_permute"),
            *("collective_broadcast", "partition_id", "replica_id", "cross-replica-sum"),
        ),
        "remove it: the step is global; or name its axis in per_device=, if the step is what one device does",
    ),
    Refused(
        "code for each device",
        ("shard_map",),
        (),
        "call what it maps on the whole arrays: the step is global",
        early=True,
    ),
    Refused(
        "kernels and functions from outside of JAX",
        ("pallas_call", "ffi_call"),
        ("custom_call",),
        "write it with jax.numpy: kernels are made by EPL",
    ),
    Refused(
        "decompositions that JAX has for some platforms",
        ("eig", "schur"),
        (),
        "compute it outside of the step",
        early=True,
    ),
    Refused("QR decompositions with pivots", ("geqp3",), (), "use jnp.linalg.qr, or svd for the rank"),
    Refused("approximate top-k", ("approx_top_k",), (), "use jax.lax.top_k", early=True),
    Refused(
        "complex numbers and Fourier transforms",
        ("fft",),
        ("fft", "complex", "real", "imag"),
        "compute on real and imaginary parts",
    ),
    Refused(
        "random bits of other generators than threefry",
        ("rng_bit_generator",),
        ("rng", "rng_bit_generator"),
        'make the key with impl="threefry2x32", which is JAX\'s default',
    ),
    Refused(
        "memories of other kinds",
        ("device_put",),
        (),
        "remove it: the plan decides where values are",
    ),
)
"""Operations that are errors, with what to do instead."""

PRINTS = ("debug_print", "debug_callback")
"""What a step shows with `debug=True` and leaves out otherwise."""

ELEMENTS_INSTEAD = "convert to a type of 8 bits or more that NumPy has, or bfloat16"
"""What to do about element types that no plan holds: complex numbers apart, those of float8 and int4."""

UNSEEN: tuple[str, ...] = _words(
    """after_all async_done async_start batch_norm_grad batch_norm_inference batch_norm_training broadcast
    cholesky create_token dot dynamic_broadcast_in_dim dynamic_conv dynamic_gather dynamic_iota dynamic_pad
    dynamic_reshape einsum get_dimension_size get_tuple_element if infeed logistic map outfeed
    real_dynamic_slice recv send set_dimension_size torch_index_select triangular_solve tuple unary_einsum
    uniform_dequantize uniform_quantize"""
)
"""Operations that JAX does not make of a step with static shapes; errors if it does."""

_INSTEAD = {name: row.instead for row in REFUSED for name in (*row.operations, *row.primitives)}
EARLY = frozenset(name for row in REFUSED if row.early for name in row.primitives)
_MOST_KINDS = 4


def unsupported(
    primitive: str, operation: str | None, kinds: Iterable[str], place: Place | None
) -> UnsupportedError:
    """The error about an operation.

    Args:
      primitive: of JAX. operation: of StableHLO, without its prefix, if it has become one.
      kinds: types and shapes that it works on, `f32[8,4]`.
      place: the user's line.
    """
    shown = list(kinds)
    more = f" and {len(shown) - _MOST_KINDS} more" if len(shown) > _MOST_KINDS else ""
    known = "" if operation in (None, primitive) else f" ({operation})"
    of = f" of {', '.join(shown[:_MOST_KINDS])}{more}" if shown else ""
    instead = _INSTEAD.get(primitive) or _INSTEAD.get(operation or "")
    instead = instead or _about_elements(shown)
    advice = f": {instead}" if instead else ""
    return UnsupportedError(f'"{primitive}"{known}{of} is not supported{advice}', place)


def _about_elements(kinds: Iterable[str]) -> str:
    if any(kind.startswith("complex") for kind in kinds):
        return _INSTEAD["complex"]
    return (
        ELEMENTS_INSTEAD if any(kind.startswith(("f8", "i4", "ui4", "i2", "ui2")) for kind in kinds) else ""
    )
