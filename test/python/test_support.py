"""The tables of supported and refused operations are true, and complete."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.experimental import io_callback
from jax.experimental import pallas as pl
from jaxlib.mlir.dialects import _stablehlo_ops_gen

import epl
import test_operations
from conftest import Lower
from epl.adapters.jax import flatten, hooks, loops, support
from epl.adapters.jax.legalize import expand
from epl.adapters.jax.simplify import operations
from epl.errors import Place

X = np.random.default_rng(0).normal(size=(8, 6)).astype(np.float32)
MESH = jax.sharding.Mesh(np.array(jax.devices()[:1]), ("data",))
SPEC = jax.sharding.PartitionSpec("data")


def double(inputs: Any, outputs: Any) -> None:
    outputs[...] = inputs[...] * 2


# By primitive: a step that uses it, and the types that the error shows.
REFUSED: dict[str, tuple[Callable[[jax.Array], Any], str]] = {
    "pure_callback": (lambda x: jax.pure_callback(lambda v: v, x, x), "f32[8,6]"),
    "io_callback": (lambda x: io_callback(lambda v: v, x, x), "f32[8,6]"),
    "while": (lambda x: lax.while_loop(lambda v: v[0, 0] < 3, lambda v: v + 1, x), "f32[8,6]"),
    "psum": (lambda x: lax.psum(x, "data"), "f32[8,6]"),
    "pmean": (lambda x: lax.pmean({"x": x, "n": x[0]}, "data"), "f32[6], f32[8,6]"),
    "pmax": (lambda x: lax.pmax(x, "data"), "f32[8,6]"),
    "pmin": (lambda x: lax.pmin(x, "data"), "f32[8,6]"),
    "all_gather": (lambda x: lax.all_gather(x, "data"), "f32[8,6]"),
    "psum_scatter": (lambda x: lax.psum_scatter(x, "data"), "f32[8,6]"),
    "all_to_all": (lambda x: lax.all_to_all(x, "data", 0, 0), "f32[8,6]"),
    "ppermute": (lambda x: lax.ppermute(x, "data", [(0, 0)]), "f32[8,6]"),
    "axis_index": (lambda x: x * lax.axis_index("data"), ""),
    "shard_map": (lambda x: jax.shard_map(jnp.sin, mesh=MESH, in_specs=SPEC, out_specs=SPEC)(x), "f32[8,6]"),
    "pallas_call": (lambda x: pl.pallas_call(double, out_shape=x)(x), "f32[8,6]"),
    "ffi_call": (lambda x: jax.ffi.ffi_call("f", x)(x), "f32[8,6]"),
    "eig": (lambda x: jnp.abs(jnp.linalg.eigvals(x[:6])), "f32[6,6]"),
    "schur": (lambda x: jax.scipy.linalg.schur(x[:6])[0], "f32[6,6]"),
    "geqp3": (lambda x: jax.scipy.linalg.qr(x, pivoting=True)[1], "f32[8,6], i32[6], f32[6]"),
    "approx_top_k": (lambda x: lax.approx_max_k(x, 2), "f32[8,6]"),
    "fft": (lambda x: jnp.abs(jnp.fft.rfft(x)), "f32[8,6], complex64[8,4]"),
    "rng_bit_generator": (lambda x: jax.random.bits(jax.random.key(0, impl="rbg"), (8,)), "ui64[2], ui32[8]"),
    "device_put": (lambda x: jax.device_put(x, jax.memory.Space.Host) * 2, "f32[8,6]"),
}
ELEMENTS: dict[str, tuple[Callable[[jax.Array], Any], str]] = {
    "complex": (lambda x: jnp.abs(x + 1j), "f32[8,6], complex64[8,6]"),
    "float8": (lambda x: x.astype(jnp.float8_e4m3fn).astype(jnp.float32), "f32[8,6], f8E4M3FN[8,6]"),
    "int4": (lambda x: x.astype(jnp.int4).astype(jnp.float32), "f32[8,6], i4[8,6]"),
}


def error_of(lower: Lower, step: Callable[[jax.Array], Any]) -> epl.UnsupportedError:
    with pytest.raises(epl.UnsupportedError) as error:
        lower(step, X)
    assert error.value.place == Place(__file__, step.__code__.co_firstlineno)
    return error.value


@pytest.mark.parametrize("name", REFUSED)
def test_an_error_names_operation_types_line_and_what_to_do(lower: Lower, name: str) -> None:
    step, kinds = REFUSED[name]
    [instead] = {row.instead for row in support.REFUSED if name in row.primitives}
    message = error_of(lower, step).message
    assert message.startswith(f'"{name}"')
    assert message.endswith((f" of {kinds}" if kinds else "") + f" is not supported: {instead}")


@pytest.mark.parametrize("name", ELEMENTS)
def test_elements_that_no_plan_holds(lower: Lower, name: str) -> None:
    step, kinds = ELEMENTS[name]
    message = error_of(lower, step).message
    assert message.startswith(f'"convert_element_type" (convert) of {kinds} is not supported: c')


def test_scatters_of_another_function_than_the_known_ones(lower: Lower) -> None:
    message = error_of(lower, lambda x: x.at[jnp.array([0, 2])].apply(jnp.sin)).message
    assert message.startswith('"scatter" of f32[8,6]')
    assert "is not supported" in message


def test_long_loops(lower: Lower, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flatten, "MAX_OPERATIONS", 1000)
    monkeypatch.setattr(loops, "MOST_OPERATIONS", 1000)
    assert lower(lambda x: lax.fori_loop(0, 20, lambda i, v: v * 2, x), X)
    message = error_of(lower, lambda x: lax.fori_loop(0, 1001, lambda i, v: v * 2, x)).message
    assert message == "loops of more than 1000 operations in all are not supported yet"


def test_long_lists_of_types_are_cut(lower: Lower) -> None:
    def step(x: jax.Array) -> Any:
        return lax.while_loop(lambda v: v[0][0] > 0, lambda v: v, tuple(x[0, : i + 1] for i in range(6)))

    with pytest.raises(
        epl.UnsupportedError, match=r"of f32\[2\], f32\[3\], f32\[4\], f32\[5\] and 2 more is"
    ):
        lower(step, X)


def test_every_refused_primitive_has_a_step() -> None:
    assert sorted(name for row in support.REFUSED for name in row.primitives) == sorted(REFUSED)


def supported() -> set[str]:
    return {name for names in support.SUPPORTED.values() for name in names}


def test_every_operation_of_stablehlo_is_in_one_table() -> None:
    kinds = [getattr(kind, "OPERATION_NAME", "") for kind in vars(_stablehlo_ops_gen).values()]
    dialect = {name.removeprefix("stablehlo.") for name in kinds if name}
    refused = {name for row in support.REFUSED for name in row.operations}
    assert supported() | refused | set(support.UNSEEN) == dialect
    assert not supported() & refused
    assert not (supported() | refused) & set(support.UNSEEN)


def test_every_supported_operation_is_tested() -> None:
    seen = set()
    for group in test_operations.GROUPS.values():
        traced = jax.jit(lambda x, group=group: {name: f(x) for name, f in group.items()}).trace(X)
        module = hooks.lower(traced, "tpu", Place(__file__, 1))
        seen |= {op.name for op in operations(module)}
        with module.context:
            expand(module)
            seen |= {op.name for op in operations(module)}
    assert supported() - {name.removeprefix("stablehlo.") for name in seen} == set()
