"""Attention on GPUs, which a library runs as a whole, or else products and a softmax."""

from __future__ import annotations

from pathlib import Path

import pytest

from test_cuda import pytestmark, report_of, run_on  # noqa: F401

CUDNN = Path("/usr/local/cuda/lib64/libcudnn.so.9")
DEVICE = Path(__file__).parents[1] / "cuda" / "libraries" / "cudnn" / "h100.json"

STEP = """
import jax, jax.numpy as jnp, numpy as np, epl

SAMPLES, LENGTH, HEADS, WIDTH = 4, 12, 2, 8

def masked(q, k, v):
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k, preferred_element_type=jnp.float32) / 3
    below = jnp.arange(LENGTH)[:, None] >= jnp.arange(LENGTH)[None, :]
    weights = jax.nn.softmax(jnp.where({mask}, scores, -jnp.inf), axis=-1)
    return jnp.einsum("bhqk,bkhd->bqhd", weights.astype(v.dtype), v)

def attend(q, k, v):
    return {attend}

def model(params, x):
    def layer(x, w):
        q, k, v = ((x @ w[i]).reshape(-1, LENGTH, HEADS, WIDTH) for i in range(3))
        return x + attend(q, k, v).reshape(x.shape) @ w[3]
    for w in params:
        x = layer(x, w)
    return x

def step(params, x):
    return params, model(params, x)

def train(params, x):
    def loss(p):
        return (model(p, x).astype(jnp.float32) ** 2).mean()
    value, gradient = jax.value_and_grad(loss)(params)
    return [p - (0.5 * g).astype(p.dtype) for p, g in zip(params, gradient)], value

random = np.random.default_rng(0)
draw = lambda *shape: jnp.asarray(random.normal(0, 0.5, shape), dtype="{dtype}")
params, x = [draw(4, HEADS * WIDTH, HEADS * WIDTH) for _ in range(2)], draw(SAMPLES, LENGTH, HEADS * WIDTH)
_, expected = jax.jit({step})(params, x)
own = epl.parallelize({step}, devices="cuda:0x2", state="params", batch="x", donate=False)
for _ in range(2):
    _, found = own(params, x)
found, expected = np.asarray(found, dtype="float32"), np.asarray(expected, dtype="float32")
# bf16 has 8 bits; two layers round some times.
assert abs(found - expected).max() <= 2.0 ** -6 * abs(expected).max(), (found, expected)
"""

LIBRARY = {"EPL_CUDNN_REAL": str(CUDNN), "EPL_CUDNN_DEVICE": str(DEVICE)} if CUDNN.exists() else {}


def run_step(tmp_path: Path, attend: str, step: str = "step", **more: str) -> set[str]:
    """The kernels that have run, in which no finding has been."""
    fields = {"dtype": "bfloat16", "mask": "below"}
    given = {name: more.pop(name) for name in tuple(more) if name in fields}
    run_on(2, STEP.format(attend=attend, step=step, **{**fields, **given}), tmp_path, **more)
    return set(report_of(tmp_path)["kernels"])


FORMS = {
    "causal": "jax.nn.dot_product_attention(q, k, v, is_causal=True)",
    "whole": "jax.nn.dot_product_attention(q, k, v, scale=0.25)",
    "written out": "masked(q, k, v)",
}


# JAX's own function has no f16 on CPUs.
@pytest.mark.parametrize(
    ("form", "dtype"), [*((form, "bfloat16") for form in FORMS), ("written out", "float16")]
)
def test_attention_is_the_librarys(form: str, dtype: str, tmp_path: Path) -> None:
    """Nobody makes the scores; the real library, where it is, has plans for it."""
    kernels = run_step(tmp_path, FORMS[form], dtype=dtype, **LIBRARY)
    assert {"float16": "attend_f16", "bfloat16": "attend_bf16"}[dtype] in kernels
    assert not any("exp" in name for name in kernels), kernels


def test_without_a_library_the_plans_code_runs(tmp_path: Path) -> None:
    kernels = run_step(tmp_path, FORMS["causal"], EPL_CUDNN="")
    assert any("exp" in name for name in kernels)


def test_another_mask_is_not_the_librarys(tmp_path: Path) -> None:
    kernels = run_step(tmp_path, FORMS["written out"], mask="~below | below.T")
    assert not any("attend" in name for name in kernels), kernels


def test_what_gradients_read_is_computed(tmp_path: Path) -> None:
    """Gradients read the softmax: then it is there."""
    kernels = run_step(tmp_path, FORMS["causal"], step="train")
    assert not any("attend" in name for name in kernels), kernels
    assert any("exp" in name for name in kernels)
