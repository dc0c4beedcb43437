"""bf16 and f16 bit for bit, at each level of x86-64: with instructions for them, with some, with none."""

from __future__ import annotations

import subprocess
from pathlib import Path
from string import Template

import ml_dtypes
import numpy as np
import pytest

from epl import runtime
from test_cpu_levels import BIN, NEEDS

SIZES = (1, 2, 3, 4, 8, 16, 1000)
DTYPES = {"bf16": np.dtype(ml_dtypes.bfloat16), "f16": np.dtype(np.float16)}
PROGRAM = Template("""
!e = $T
!s = tensor<$T>
!v = tensor<${N}x$T>
!vf32 = tensor<${N}xf32>
!vf64 = tensor<${N}xf64>
!vi32 = tensor<${N}xi32>
#v = affine_map<(d0) -> (d0)>
#s = affine_map<(d0) -> ()>
func.func @main(%x: !vf32 {epl.role = "batch", epl.batch_dim = 0 : i64},
                %d: !vf64 {epl.role = "batch", epl.batch_dim = 0 : i64},
                %n: !vi32 {epl.role = "batch", epl.batch_dim = 0 : i64},
                %s: !s {epl.role = "constant"})
    -> (!v, !v, !v, !v, !v, !v, !vf64, !vi32, !s) {
  %t = tensor.empty() : !v
  %tf = tensor.empty() : !vf64
  %ti = tensor.empty() : !vi32
  %0:8 = linalg.generic {indexing_maps = [#v, #v, #v, #s, #v, #v, #v, #v, #v, #v, #v, #v],
                         iterator_types = ["parallel"]}
      ins(%x, %d, %n, %s : !vf32, !vf64, !vi32, !s)
      outs(%t, %t, %t, %t, %t, %t, %tf, %ti : !v, !v, !v, !v, !v, !v, !vf64, !vi32) {
  ^bb0(%xe: f32, %de: f64, %ne: i32, %se: !e, %o0: !e, %o1: !e, %o2: !e, %o3: !e, %o4: !e, %o5: !e, %o6: f64,
       %o7: i32):
    %one = arith.constant 1.0 : !e
    %narrow = arith.truncf %xe : f32 to !e
    %fromDouble = arith.truncf %de : f64 to !e
    %fromInteger = arith.sitofp %ne : i32 to !e
    %largest = arith.maximumf %narrow, %se : !e
    %isLess = arith.cmpf olt, %narrow, %one : !e
    %picked = arith.select %isLess, %se, %narrow : !e
    %sum = arith.addf %picked, %one : !e
    %double = arith.extf %narrow : !e to f64
    %integer = arith.fptosi %fromInteger : !e to i32
    linalg.yield %narrow, %fromDouble, %fromInteger, %largest, %picked, %sum, %double, %integer
        : !e, !e, !e, !e, !e, !e, f64, i32
  } -> (!v, !v, !v, !v, !v, !v, !vf64, !vi32)
  %least = arith.constant $LEAST : !e
  %e = tensor.empty() : !s
  %f = linalg.fill ins(%least : !e) outs(%e : !s) -> !s
  %1 = linalg.generic {indexing_maps = [#v, #s], iterator_types = ["reduction"]}
      ins(%0#2 : !v) outs(%f : !s) {
  ^bb0(%in: !e, %out: !e):
    %largest = arith.maximumf %in, %out : !e
    linalg.yield %largest : !e
  } -> !s
  return %0#0, %0#1, %0#2, %0#3, %0#4, %0#5, %0#6, %0#7, %1
      : !v, !v, !v, !v, !v, !v, !vf64, !vi32, !s
}
""")
LEAST = {"bf16": "0xFF80", "f16": "0xFC00"}  # minus infinity


def make_inputs(size: int, scalar: np.dtype) -> list[np.ndarray]:
    """Numbers of every magnitude, ties, infinities and NaN, but denormals of f32, which kernels may flush."""
    random = np.random.default_rng(size)
    bits = random.integers(1 << 23, 255 << 23, size, np.uint32)  # exponent and mantissa
    bits[::3] &= 0xFFFFF000  # halfway between two narrow numbers, often
    x = (bits | random.integers(0, 2, size, np.uint32) << 31).view(np.float32)
    x[1::5] = random.uniform(-4, 4, x[1::5].size)
    x[11::20] = np.inf
    x[12::20] = np.nan
    x[13::20] *= np.float32(0)  # of either sign
    n = random.integers(-(1 << 15), 1 << 15, size, np.int32)
    return [x, random.normal(0, 1e3, size), n, np.array(1.5, scalar)]


def expect(x: np.ndarray, d: np.ndarray, n: np.ndarray, s: np.ndarray) -> list[np.ndarray]:
    with np.errstate(all="ignore"):
        narrow, from_integer = x.astype(s.dtype), n.astype(np.float32).astype(s.dtype)
        picked = np.where(narrow.astype(np.float32) < 1, s, narrow)
        return [
            narrow,
            d.astype(np.float32).astype(s.dtype),
            from_integer,
            np.maximum(narrow.astype(np.float32), np.float32(s)).astype(s.dtype),
            picked,
            (picked.astype(np.float32) + 1).astype(s.dtype),
            narrow.astype(np.float32).astype(np.float64),
            from_integer.astype(np.float32).astype(np.int32),
            from_integer.astype(np.float32).max().astype(s.dtype),
        ]


def get_bits(numbers: np.ndarray) -> np.ndarray:
    """The bits of numbers; every NaN is one."""
    bits = numbers.view(f"i{numbers.itemsize}")
    return np.where(np.isnan(numbers.astype(np.float64)), -1, bits)


@pytest.mark.parametrize(
    ("level", "kernels"),
    [*((level, "vectorized") for level in [*NEEDS, "host"]), ("x86-64", "loops"), ("host", "loops")],
)
@pytest.mark.parametrize("element", DTYPES)
def test_narrow_floats_are_numpys(tmp_path: Path, element: str, level: str, kernels: str) -> None:
    if not NEEDS.get(level, set()) <= set(runtime.module().host_cpu().split()):
        pytest.skip(f"this machine cannot execute {level}")
    for size in SIZES:
        text = PROGRAM.substitute(N=size, T=element, LEAST=LEAST[element])
        (tmp_path / f"{size}.mlir").write_text(text)
    command = [BIN / "epl-compile", *tmp_path.glob("*.mlir"), f"--cpu={level}", f"--kernels={kernels}"]
    done = subprocess.run([*command, "-o", tmp_path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for size in SIZES:
        inputs = make_inputs(size, DTYPES[element])
        plan = runtime.module().Plan.load(str(tmp_path / f"{size}.eplan"))
        results, call = runtime.module().Session(plan, "cpu:1").call(inputs, [False] * len(inputs), "step")
        call.wait()
        for index, (result, number) in enumerate(zip(results, expect(*inputs), strict=True)):
            found = np.array(result.numpy()).view(number.dtype)
            np.testing.assert_array_equal(get_bits(found), get_bits(number), f"result {index} of {size}")
