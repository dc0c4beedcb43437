"""Convolutions on GPUs, which a library runs, or else the plan's code."""

from __future__ import annotations

from pathlib import Path

import pytest

from test_cuda import pytestmark, report_of, run_on  # noqa: F401

CUDNN = Path("/usr/local/cuda/lib64/libcudnn.so.9")
DEVICE = Path(__file__).parents[1] / "cuda" / "libraries" / "cudnn" / "h100.json"

STEP = """
import jax, jax.numpy as jnp, numpy as np, epl
from jax import lax

def convolve(x, w, strides=1, padding=0, dilation=1, spread=1, groups=1, form="nhwc"):
    axes = x.ndim - 2
    letters = "dhw"[3 - axes:]
    image = ("n" + letters + "c" if form == "nhwc" else "nc" + letters).upper()
    # Filters lie in the order that this form has, or that of JAX's layers.
    filters = (letters + "io" if form == "nhwc" else "oi" + letters).upper()
    return lax.conv_general_dilated(
        x, w, (strides,) * axes, [(padding, padding + strides - 1)] * axes, (spread,) * axes,
        (dilation,) * axes, (image, filters, image), feature_group_count=groups,
    )

def step(params, x):
    def loss(p):
        return (convolve(x, p, {options}) * {scale}).sum()
    value, gradient = jax.value_and_grad(loss)(params)
    by_image = jax.grad(lambda x: (convolve(x, params, {options}) ** 2).sum())(x)
    return params - gradient, value, by_image

random = np.random.default_rng(0)
draw = lambda *shape: jnp.asarray(random.integers(-2, 3, shape), dtype="{dtype}")
params, x = draw(*{filter}), draw(*{image})
expected = jax.jit(step)(params, x)
own = epl.parallelize(step, devices="{devices}", state="params", batch="x", donate=False, config={config})
for _ in range(2):
    found = own(params, x)
for a, b in zip(found, expected):
    assert (np.asarray(a) == np.asarray(b)).all(), (np.asarray(a), b)
"""

SHAPES = {
    "plain": ((8, 9, 7, 3), (3, 2, 3, 4), ""),
    "strided": ((4, 9, 8, 2), (3, 3, 2, 3), "strides=2, padding=1"),
    "dilated": ((4, 9, 8, 2), (3, 2, 2, 3), "dilation=2, padding=2"),
    "spread": ((4, 5, 4, 2), (3, 3, 2, 3), "spread=2, padding=2"),
    "grouped": ((4, 6, 6, 4), (3, 3, 2, 6), "groups=2, padding=1"),
    "depthwise": ((4, 6, 6, 3), (3, 3, 1, 3), "groups=3, padding=1"),
    "one axis": ((4, 12, 3), (4, 3, 2), "strides=2, padding=1"),
    "three axes": ((4, 4, 5, 3, 2), (2, 3, 2, 2, 3), "padding=1"),
    "channels first": ((4, 3, 6, 7), (4, 3, 3, 2), "padding=1, form='nchw'"),
}


FIELDS = {"scale": 1, "dtype": "float32", "devices": "cuda:0x2", "config": None}


def code_of(shape: str, **fields: str) -> str:
    """A step that convolves; with others than `FIELDS`."""
    image, filter_, options = SHAPES[shape]
    return STEP.format(**{**FIELDS, "image": image, "filter": filter_, "options": options, **fields})


def kernels_of(tmp_path: Path) -> set[str]:
    """Those that have computed products in the last program."""
    kernels = report_of(tmp_path)["kernels"]
    return {name for name in kernels if name.startswith("convolve_") or "_matmul" in name}


@pytest.mark.parametrize("shape", SHAPES)
def test_convolutions_and_their_gradients_are_the_librarys(shape: str, tmp_path: Path) -> None:
    """With the bits of JAX, as all numbers are whole; the real library, where it is, has plans for them."""
    more = {"EPL_CUDNN_REAL": str(CUDNN), "EPL_CUDNN_DEVICE": str(DEVICE)} if CUDNN.exists() else {}
    run_on(2, code_of(shape), tmp_path, **more)
    assert kernels_of(tmp_path) == {"convolve_f32_f32"}


@pytest.mark.parametrize("shape", ["strided", "grouped"])
def test_without_a_library_the_plans_code_runs(shape: str, tmp_path: Path) -> None:
    run_on(2, code_of(shape), tmp_path, EPL_CUDNN="")
    kernels = kernels_of(tmp_path)
    assert kernels
    assert all("_matmul" in name for name in kernels), kernels


def test_it_is_said_once_what_to_install(tmp_path: Path) -> None:
    code = "import os\nos.dup2(1, 2)\n" + code_of("plain", devices="cuda:0-1")
    said = run_on(2, code, tmp_path, EPL_CUDNN="")
    lines = [line for line in said.splitlines() if "convolutions and attention on GPUs take code" in line]
    assert len(lines) == 1
    assert "pip install nvidia-cudnn-cu13, or name it in EPL_CUDNN" in lines[0]


def test_gradients_of_micro_batches_add_up(tmp_path: Path) -> None:
    run_on(2, code_of("plain", config='{"pipeline.num_micro_batch": 4}'), tmp_path)
    assert kernels_of(tmp_path) == {"convolve_f32_f32"}


def test_sums_in_f32_of_16_bits_are_the_librarys(tmp_path: Path) -> None:
    """As f32 of as many bits as TF32 has."""
    run_on(2, code_of("strided", config='{"amp.level": "o1"}'), tmp_path)
    kernels = report_of(tmp_path)["kernels"]
    assert {"convolve_tf32_f32", "epl_widen_bf16"} <= set(kernels)
    assert not any("_matmul" in name for name in kernels)


def test_bf16_is_the_librarys(tmp_path: Path) -> None:
    run_on(2, code_of("plain", dtype="bfloat16", scale="1 / 64"), tmp_path)
    assert "convolve_bf16_bf16" in kernels_of(tmp_path)
