"""Attention on GPUs, which a library runs as a whole, or else products and a softmax."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from test_cuda import cards, drop_waits, pytestmark, report_of, run_on  # noqa: F401

CUDNN = Path("/usr/local/cuda/lib64/libcudnn.so.9")
DEVICE = Path(__file__).parents[1] / "cuda" / "libraries" / "cudnn" / "h100.json"

STEP = """
from contextlib import nullcontext
import jax, jax.numpy as jnp, numpy as np, epl

SAMPLES, LENGTH, HEADS, WIDTH = {extents}
SHARED = {shared}  # so many heads of q have one of k and v

def masked(q, k, v):
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k, preferred_element_type=jnp.float32) / 3
    below = jnp.arange(LENGTH)[:, None] >= jnp.arange(LENGTH)[None, :]
    weights = jax.nn.softmax(jnp.where({mask}, scores, -jnp.inf), axis=-1)
    return jnp.einsum("bhqk,bkhd->bqhd", weights.astype(v.dtype), v)

def narrow(q, k, v):
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / np.sqrt(WIDTH).astype(q.dtype)
    below = jnp.tril(jnp.ones((LENGTH, LENGTH), bool))
    weights = jax.nn.softmax(jnp.where(below, scores, -jnp.inf), axis=-1)
    return jnp.einsum("bhqk,bkhd->bqhd", weights, v)

def outside(q, k, v):
    q, k, v = (jnp.swapaxes(each, 1, 2) for each in (q, k, v))
    scores = jnp.einsum("bhqd,bhkd->bhqk", q, k, preferred_element_type=jnp.float32) / 3
    weights = jax.nn.softmax(scores, axis=-1).astype(v.dtype)
    return jnp.swapaxes(jnp.einsum("bhqk,bhkd->bhqd", weights, v), 1, 2)

def watched(q, k, v):
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k, preferred_element_type=jnp.float32) / 3
    weights = jax.nn.softmax(scores, axis=-1)
    return jnp.einsum("bhqk,bkhd->bqhd", weights.astype(v.dtype), v) + (weights**2).mean().astype(v.dtype)

def grouped(q, k, v):
    q = q.reshape(*q.shape[:2], -1, SHARED, WIDTH)
    scores = jnp.einsum("bqhgd,bkhd->bhgqk", q, k, preferred_element_type=jnp.float32) / 3
    below = jnp.tril(jnp.ones((LENGTH, LENGTH), bool))
    weights = jax.nn.softmax(jnp.where(below, scores, -jnp.inf), axis=-1).astype(v.dtype)
    return jnp.einsum("bhgqk,bkhd->bqhgd", weights, v)

def repeated(q, k, v):
    k, v = (jnp.repeat(each, SHARED, axis=2) for each in (k, v))
    return jax.nn.dot_product_attention(q, k, v, is_causal=True)

def turned(q, k, v, turn=True):
    q, k, v = (jnp.swapaxes(each, 1, 2) for each in (q, k, v))
    if turn:
        angles = jnp.arange(LENGTH)[:, None] / (1 + jnp.arange(WIDTH))
        q, k = (each * jnp.cos(angles).astype(q.dtype) for each in (q, k))
    k, v = (jnp.repeat(each, SHARED, axis=1) for each in (k, v))
    scores = jnp.einsum("bhqd,bhkd->bhqk", q, k, preferred_element_type=jnp.float32) / 3
    below = jnp.tril(jnp.ones((LENGTH, LENGTH), bool))
    weights = jax.nn.softmax(jnp.where(below, scores, -jnp.inf), axis=-1).astype(v.dtype)
    return jnp.swapaxes(jnp.einsum("bhqk,bhkd->bhqd", weights, v), 1, 2)

def dealt(q, k, v):
    q = jnp.swapaxes(q.reshape(*q.shape[:2], SHARED, -1, WIDTH), 2, 3)
    return jnp.swapaxes(grouped(q, k, v), 2, 3)

def attend(q, k, v):
    return {attend}

def model(params, x):
    def layer(x, w):
        few = HEADS // SHARED * WIDTH
        q, k, v = ((x @ own).reshape(-1, LENGTH, own.shape[1] // WIDTH, WIDTH)
                   for own in (w[0], w[1, :, :few], w[2, :, :few]))
        return x + attend(q, k, v).reshape(x.shape) @ w[3]
    with {around}:
        for number, w in enumerate(params):
            with {scope}:
                x = {again}(layer)(x, w)
    return x

def step(params, x):
    return params, model(params, x)

def train(params, x):
    def loss(p):
        return (model(p, x).astype(jnp.float32) ** 2).mean()
    value, gradient = jax.value_and_grad(loss)(params)
    return [p - (0.5 * g).astype(p.dtype) for p, g in zip(params, gradient)], [value, *gradient]

random = np.random.default_rng(0)
draw = lambda *shape: jnp.asarray(random.normal(0, 0.5, shape), dtype="{dtype}")
params, x = [draw(4, HEADS * WIDTH, HEADS * WIDTH) for _ in range(2)], draw(SAMPLES, LENGTH, HEADS * WIDTH)
_, expected = jax.jit({step})(params, x)
config = {config}
own = epl.parallelize({step}, devices="{devices}", state="params", batch="x", donate=False, config=config)
for _ in range(2):
    _, found = own(params, x)
for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
    a, b = np.asarray(a, dtype="float32"), np.asarray(b, dtype="float32")
    # bf16 has 8 bits; two layers round some times, and their gradients some times more.
    assert abs(a - b).max() <= 2.0 ** {bits} * abs(b).max(), (a, b, abs(a - b).max() / abs(b).max())
"""

LIBRARY = {"EPL_CUDNN_REAL": str(CUDNN), "EPL_CUDNN_DEVICE": str(DEVICE)} if CUDNN.exists() else {}


FIELDS = {
    "dtype": "bfloat16",
    "extents": "4, 12, 2, 8",
    "shared": "1",
    "mask": "below",
    "devices": "cuda:0x2",
    "config": "{}",
    "around": "nullcontext()",
    "scope": "nullcontext()",
    "again": "",
    "bits": "-6",
}


def run_step(tmp_path: Path, attend: str, step: str = "step", **more: str) -> dict[str, int]:
    """How often each kernel has run, in which no finding has been."""
    given = {name: more.pop(name) for name in tuple(more) if name in FIELDS}
    run_on(2, STEP.format(attend=attend, step=step, **{**FIELDS, **given}), tmp_path, **more)
    return {name: kernel["launches"] for name, kernel in report_of(tmp_path)["kernels"].items()}


FORMS = {
    "causal": "jax.nn.dot_product_attention(q, k, v, is_causal=True)",
    "whole": "jax.nn.dot_product_attention(q, k, v, scale=0.25)",
    "written out": "masked(q, k, v)",
    "in 16 bits": "narrow(q, k, v)",
    "with heads outside": "outside(q, k, v)",
}


KINDS = {"float16": "f16", "bfloat16": "bf16"}


# JAX's own function has no f16 on CPUs.
@pytest.mark.parametrize(
    ("form", "dtype"), [*((form, "bfloat16") for form in FORMS), ("written out", "float16")]
)
def test_attention_is_the_librarys(form: str, dtype: str, tmp_path: Path) -> None:
    """Nobody makes the scores; the real library, where it is, has plans for it."""
    kernels = run_step(tmp_path, FORMS[form], dtype=dtype, **LIBRARY)
    assert f"attend_{KINDS[dtype]}" in kernels
    assert not any("exp" in name for name in kernels), kernels


# How heads of q share those of k and v, of whose gradients each is a sum then.
GROUPS = {
    "as JAX has them": "jax.nn.dot_product_attention(q, k, v, is_causal=True)",
    "whole": "jax.nn.dot_product_attention(q, k, v)",
    "written out": "grouped(q, k, v)",
    "repeated": "repeated(q, k, v)",
    "repeated, with heads outside": "turned(q, k, v, turn=False)",
    "turned by positions": "turned(q, k, v)",
}


SHARES = [
    ("as JAX has them", "2", "bfloat16"),
    ("as JAX has them", "4", "bfloat16"),
    ("whole", "2", "bfloat16"),
    ("repeated", "2", "bfloat16"),
    ("written out", "2", "float16"),
    ("written out", "4", "float16"),
    ("repeated, with heads outside", "2", "float16"),
]
# In training the gradient of what is turned is in 16 bits nowhere: a launch rounds it and turns it back.
TURNED = ("turned by positions", "2", "float16")


@pytest.mark.parametrize(
    ("step", "form", "shared", "dtype"),
    [*(("step", *each) for each in (*SHARES, TURNED)), *(("train", *each) for each in SHARES)],
)
def test_heads_of_q_share_those_of_k_and_v(
    step: str, form: str, shared: str, dtype: str, tmp_path: Path
) -> None:
    """One of four has no stride, that of the only head. Nobody makes a copy of k and v for each head of q."""
    # Gradients of k and v add up those of some heads, each of which the library rounds: to 8 bits, or to 11.
    bits = "-5" if (step, dtype) == ("train", "bfloat16") else "-6"
    heads = {"extents": "4, 12, 4, 8", "shared": shared, "bits": bits}
    kernels = run_step(tmp_path, GROUPS[form], step=step, dtype=dtype, **heads, **LIBRARY)
    calls = 2 * 2 * 2
    assert kernels[f"attend_{KINDS[dtype]}"] == calls
    assert step == "step" or kernels[f"attend_back_{KINDS[dtype]}"] == calls
    assert not any("exp_" in name for name in kernels), kernels
    # Nor does anybody copy q, k and v in another order, but where the gradient's own commands read these.
    copies = [name for name in kernels if re.fullmatch(r"k\d+_copy", name)]
    assert not copies or (step == "train" and "outside" in form), kernels


def test_heads_that_are_dealt_out_are_not_the_librarys(tmp_path: Path) -> None:
    """Heads of q that share one of k and v stand apart from one another."""
    kernels = run_step(tmp_path, "dealt(q, k, v)", extents="4, 12, 4, 8", shared="2")
    assert not any("attend" in name for name in kernels), kernels


def test_without_a_library_the_plans_code_runs(tmp_path: Path) -> None:
    kernels = run_step(tmp_path, FORMS["causal"], EPL_CUDNN="")
    assert any("exp" in name for name in kernels)


def test_another_mask_is_not_the_librarys(tmp_path: Path) -> None:
    kernels = run_step(tmp_path, FORMS["written out"], mask="~below | below.T")
    assert not any("attend" in name for name in kernels), kernels


@pytest.mark.parametrize(
    ("form", "dtype"), [*((form, "bfloat16") for form in FORMS), ("written out", "float16")]
)
def test_gradients_are_the_librarys(form: str, dtype: str, tmp_path: Path) -> None:
    """Of two layers, on two devices, in two steps: nothing that has an element for a pair of positions."""
    # Where the program rounds scores and weights, too, JAX and the library are further apart.
    bits = "-5" if form == "in 16 bits" else "-6"
    kernels = run_step(tmp_path, FORMS[form], step="train", dtype=dtype, bits=bits, **LIBRARY)
    assert kernels[f"attend_{KINDS[dtype]}"] == kernels[f"attend_back_{KINDS[dtype]}"] == 2 * 2 * 2
    assert not any("exp_" in name or "_trunc" in name for name in kernels), kernels
    assert f"matmul_{KINDS[dtype]}_f32" not in kernels


# How they are done, and how many calls that is.
LAYOUTS = {
    "of several cards": ({"devices": "cuda:0-1"}, 8),
    "of heads": ({"around": "epl.split()"}, 8),
    "in micro-batches": ({"config": '{"pipeline.num_micro_batch": 2}'}, 16),
    "in stages": (
        {"scope": 'epl.replicate(name="s" + str(number))', "config": '{"pipeline.num_micro_batch": 2}'},
        8,
    ),
    "done twice": ({"again": "jax.checkpoint"}, 8),
    "with states on the host": ({"config": '{"offload.level": "v0"}', "devices": "cuda:0"}, 4),
    "one by one": ({"EPL_CUDA_BLOCKING": "1"}, 8),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_gradients_are_those_of_any_layout(layout: str, tmp_path: Path) -> None:
    more, calls = LAYOUTS[layout]
    kernels = run_step(tmp_path, FORMS["causal"], step="train", **more)
    assert kernels["attend_back_bf16"] == calls, kernels
    assert not any("exp_" in name or name == "matmul_bf16_f32" for name in kernels), kernels


def test_without_a_library_the_plans_code_makes_gradients(tmp_path: Path) -> None:
    kernels = run_step(tmp_path, FORMS["causal"], step="train", EPL_CUDNN="")
    assert any("exp_" in name for name in kernels), kernels
    assert "matmul_bf16_f32" in kernels


def test_the_library_has_both_or_neither(tmp_path: Path) -> None:
    """It takes attention of such heads, but no gradient, which reads what only the plan's code makes."""
    wide = {"extents": "1, 3, 1, 264", "devices": "cuda:0"}
    assert run_step(tmp_path, FORMS["causal"], **wide)["attend_bf16"] > 0
    kernels = run_step(tmp_path, FORMS["causal"], step="train", **wide)
    assert not any("attend" in name for name in kernels), kernels


def test_weights_that_are_a_result_are_made(tmp_path: Path) -> None:
    """What the loss reads of the softmax, too, is made: then so are gradients."""
    kernels = run_step(tmp_path, "watched(q, k, v)", step="train", devices="cuda:0")
    assert not any("attend" in name for name in kernels), kernels


@pytest.mark.parametrize("library", [True, False])
def test_a_wait_that_is_missing_is_found(
    library: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a training step, whether the library's calls do the work or the plan's code."""
    plan = tmp_path / "step.eplan"
    given = {**FIELDS, "around": "epl.split()"}
    program = STEP.format(attend=FORMS["causal"], step="train", **given)
    run_on(2, f"{program}\nown.lower(params, x).compile().save({str(plan)!r})", tmp_path)
    if library:
        monkeypatch.setenv("EPL_CUDNN", cards.environment()["EPL_CUDNN"])
    said = drop_waits(plan)
    assert ", missed 0" in said
    assert ", found 0" not in said
