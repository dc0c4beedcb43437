"""What is no pipeline: each mistake is an error that names the numbers and the user's line."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import epl
from pipeline_steps import stages
from steps import assert_near

Step = Callable[..., Any]


def line_of(step: Step, text: str) -> str:
    """The place of the line of a step that has this text, as errors begin with it."""
    lines, first = inspect.getsourcelines(step)
    (number,) = (number for number, line in enumerate(lines, first) if text in line)
    return f"{inspect.getsourcefile(step)}:{number}: "


def message_of(step: Step, arguments: list[Any], devices: int = 1, batch: Any = "x", **config: Any) -> str:
    """What compiling a step says."""
    config = {f"pipeline.{key}": value for key, value in config.items()}
    made = epl.parallelize(step, batch=batch, devices=devices, config=config)
    with pytest.raises(epl.Error) as error:
        made.lower(*arguments).compile()
    return str(error.value)


def ones(*shape: int) -> jax.Array:
    return jnp.ones(shape)


def mean(w: jax.Array, x: jax.Array) -> jax.Array:
    with epl.replicate():
        return jnp.tanh(x @ w).mean()


REMEDIES = (
    ': drop what is over, pad it ("pad_batch" of epl.parallelize), or give it whole to each micro-batch '
    '(None as its axis in "batch")'
)


def test_a_batch_that_does_not_divide() -> None:
    found = message_of(mean, [ones(5, 5), ones(10, 5)], devices=3, num_micro_batch=4)
    assert found.startswith(line_of(mean, "def mean"))
    assert f'10 samples of argument "x" are not divisible by 4 micro-batches of 3 replicas{REMEDIES}' in found
    found = message_of(mean, [ones(5, 5), ones(10, 5)], num_micro_batch=4)
    assert f'10 samples of argument "x" are not divisible by 4 micro-batches{REMEDIES}' in found


def test_a_padded_batch_divides() -> None:
    def masked(w: jax.Array, x: jax.Array, mask: Any = None) -> jax.Array:
        with epl.replicate():
            return (jnp.tanh(x @ w).sum(axis=1) * mask).sum() / mask.sum()

    config = {"pipeline.num_micro_batch": 4}
    made = epl.parallelize(masked, batch="x", devices=3, config=config, pad_batch=True)
    x = jax.random.normal(jax.random.key(0), (10, 5))
    np.testing.assert_allclose(made(ones(5, 5), x), jnp.tanh(x @ ones(5, 5)).sum(axis=1).mean(), rtol=1e-5)


def normalized(w: jax.Array, x: jax.Array) -> jax.Array:
    h = x @ w
    h = (h - h.mean(axis=0)) * jax.lax.rsqrt(h.var(axis=0) + 1e-5)
    return (jnp.tanh(h) @ w).mean()


def contrastive(w: jax.Array, x: jax.Array) -> jax.Array:
    h = x @ w
    similar = h @ h.T
    return jax.nn.logsumexp(similar, axis=1).mean()


def ordered(w: jax.Array, x: jax.Array) -> jax.Array:
    scores = jnp.tanh(x @ w).sum(axis=1)
    best = jnp.sort(scores)
    return (best * jnp.arange(best.shape[0])).sum()


def graph(w: jax.Array, x: jax.Array, edges: jax.Array) -> jax.Array:
    h = jnp.tanh(x @ w)
    return h[edges].sum()


STATISTIC = (
    " of every sample; expected statistics of each micro-batch (made in `with epl.per_micro_batch():`), or "
    'one micro-batch ("pipeline.num_micro_batch")'
)
COMPARED = (
    'one micro-batch ("pipeline.num_micro_batch"): where samples are compared with one another '
    "`epl.per_micro_batch()` is of no help, as it is for statistics, such as means and maxima"
)


@pytest.mark.parametrize(
    ("step", "samples", "reader", "expected"),
    [
        (normalized, 8, "h.mean(axis=0)", STATISTIC),
        (contrastive, 8, "h @ h.T", COMPARED),
        (contrastive, 512, "h @ h.T", COMPARED),  # most work is not what makes the samples
        (ordered, 8, "jnp.sort(scores)", COMPARED),
    ],
)
def test_ops_that_mix_samples(step: Step, samples: int, reader: str, expected: str) -> None:
    found = message_of(jax.value_and_grad(step), [ones(64, 64), ones(samples, 64)], num_micro_batch=2)
    assert found.startswith(line_of(step, reader))
    assert "mixes samples across micro-batches: it reads a value of the whole batch, which takes " in found
    assert expected in found


@pytest.mark.parametrize(
    ("step", "reader"), [(contrastive, "h @ h.T"), (ordered, "jnp.sort(scores)"), (graph, "h[edges]")]
)
def test_samples_that_are_compared_are_no_statistics(step: Step, reader: str) -> None:
    """The scope that is said to help elsewhere is not said in it."""
    scoped = jax.value_and_grad(epl.per_micro_batch()(step))
    of_graph = [ones(8, 64), jnp.zeros(12, "i")]
    arguments = [ones(64, 64), *(of_graph if step is graph else [ones(8, 64)])]
    batch = ("x", "edges") if step is graph else "x"
    found = message_of(scoped, arguments, batch=batch, num_micro_batch=2)
    assert found.startswith(line_of(step, reader))
    assert "mixes samples across micro-batches" in found
    assert COMPARED in found
    assert "with epl.per_micro_batch" not in found


def gated(layers: list[jax.Array], gate: jax.Array, x: jax.Array) -> tuple[list[jax.Array], jax.Array]:
    """A mean weighted by a product with `gate`: each gradient reads the sum of all weights."""

    def loss(layers: list[jax.Array]) -> jax.Array:
        weights = jax.nn.sigmoid(x @ gate).sum(axis=1)
        h = x
        for w in layers:
            h = jnp.tanh(h @ w)
        return (h.sum(axis=1) * weights).sum() / weights.sum()

    value, gradients = jax.value_and_grad(loss)(layers)
    return [w - 0.1 * g for w, g in zip(layers, gradients, strict=True)], value


WIDTH, LAYERS = 32, 4
# An iteration does three products of each layer, but none for the gradient of the batch, and the gate's.
MOST = WIDTH * (3 * LAYERS - 1) // (16 - 1)


def gated_arguments(columns: int) -> list[Any]:
    random = np.random.default_rng(0)
    layers = [random.normal(size=(WIDTH, WIDTH)).astype("f") * 0.2 for _ in range(LAYERS)]
    return [layers, *(random.normal(size=shape).astype("f") for shape in ((WIDTH, columns), (16, WIDTH)))]


def test_a_sum_of_a_sixteenth_of_the_multiply_adds_is_made_before() -> None:
    config = {"pipeline.num_micro_batch": 4}
    made = epl.parallelize(gated, state="layers", batch="x", devices=1, config=config)
    arguments = gated_arguments(MOST)
    assert_near(made(*arguments), jax.jit(gated)(*arguments), 1e-5)


def test_a_sum_of_more_multiply_adds_is_an_error() -> None:
    found = message_of(gated, gated_arguments(MOST + 1), num_micro_batch=4)
    assert found.startswith(line_of(gated, "/ weights.sum()"))
    assert (
        "mixes samples across micro-batches: it reads a value of the whole batch, which takes dot_general"
        in found
    )


def test_a_step_without_a_batch() -> None:
    found = message_of(mean, [ones(5, 5), ones(8, 5)], batch=(), num_micro_batch=4)
    assert found.startswith(line_of(mean, "def mean"))
    assert "4 micro-batches, but the step has no batch: nothing to cut" in found


def test_indices_into_another_batch() -> None:
    arguments = [ones(64, 64), ones(8, 64), jnp.zeros(12, "i")]
    found = message_of(graph, arguments, batch=("x", "edges"), num_micro_batch=2)
    assert found.startswith(line_of(graph, "h[edges]"))
    assert "mixes samples across micro-batches" in found
    assert COMPARED in found


def of_stages(count: int, devices: int = 2, **config: Any) -> str:
    """What compiling a pipeline of so many scopes says."""
    return message_of(stages, [[ones(5, 5)] * count, ones(12, 5)], devices=devices, **config)


def test_an_unknown_schedule(tmp_path: Path) -> None:
    with pytest.raises(epl.ConfigError, match=r"found '1f2b', did you mean \"1f1b\"\?"):
        epl.Config({"pipeline.strategy": "1f2b"})
    found = of_stages(2, num_micro_batch=2, schedule="1f1bb")
    assert 'unknown schedule "1f1bb", did you mean "1f1b": schedules are gpipe, 1f1b, interleaved' in found
    missing = tmp_path / "mine.txt"
    found = of_stages(2, num_micro_batch=2, schedule=str(missing))
    assert f'cannot read "{missing}": No such file or directory' in found
    found = of_stages(2, num_micro_batch=10**9)
    assert found == '"pipeline.num_micro_batch": Value 1000000000 not in range 1 to 1048576'


TWO = "s1.F.m0 s1.B.m0 s1.F.m1 s1.B.m1"


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["s0.F.m0 s0.F.x"], '1: word 2 is "s0.F.x", expected a unit like s0.F.m0, of kind F, B, I or W'),
        (
            ["# one", "s0.F.m0 s0.F.m1 s0.B.m0 s0.B.m1", "", "s1.F.m0 s1.B.m0 s1.F.m1"],
            "4: s1.B.m1 is missing: stage 1 has B of 1 micro-batches, expected 2",
        ),
        (
            ["s0.F.m0 s0.F.m1 s0.B.m0 s0.F.m0 s0.B.m1", TWO],
            "1: word 4: s0.F.m0 is at line 1, word 1 already, expected it once",
        ),
        (
            ["s0.F.m0 s0.F.m1 s0.B.m0 s0.B.m1 s0.F.m2", TWO],
            "1: word 5: s0.F.m2 is of no micro-batch: expected 2 micro-batches",
        ),
        (
            ["s0.F.m0 s0.F.m1 s0.B.m1 s0.B.m0", TWO],
            "1: word 4: s0.B.m0 stands behind s0.B.m1: sums out of order, expected the micro-batches of a "
            "kind to ascend",
        ),
        (
            ["s0.F.m0 s0.B.m0 s0.F.m1 s0.B.m1", "s1.F.m0 s1.F.m1 s1.B.m0 s1.B.m1"],
            " the step never ends: units wait for each other, each for the next, which it needs or stands "
            "behind: s0.B.m0 -> s1.B.m0 -> s1.F.m1 -> s0.F.m1 -> s0.B.m0",
        ),
        (
            ["s0.F.m0 s0.F.m1 s0.B.m0 s0.B.m1", TWO + " s1.W.m0"],
            "2: stage 1 has kinds FBW (s1.F.m0, s1.B.m0, s1.W.m0), expected F and B, or F, I and W",
        ),
    ],
)
def test_tables(lines: list[str], said: str, tmp_path: Path) -> None:
    table = tmp_path / "mine.txt"
    table.write_text("\n".join(lines))
    found = of_stages(2, num_micro_batch=2, schedule=str(table))
    assert found.startswith(f'"pipeline.schedule": {table}:{said}')
    assert "--" not in found  # the setting is the user's, the compiler's option is not


def test_a_unit_of_no_stage(tmp_path: Path) -> None:
    """A table of three stages, a step of two scopes."""
    table = tmp_path / "mine.txt"
    table.write_text("s0.F.m0 s0.F.m1 s0.B.m0 s0.B.m1\n" + TWO + "\n" + TWO.replace("s1", "s2"))
    found = of_stages(2, devices=6, num_micro_batch=2, schedule=str(table))
    assert found.startswith(line_of(stages, "with epl.replicate(name"))
    assert "2 scopes, but the schedule has 3 stages, expected one for each" in found


V = str(Path(__file__).parents[2] / "examples" / "schedules" / "zb-v-p2-m4.txt")


def test_a_v_has_two_stages_on_each_mesh() -> None:
    found = of_stages(2, num_micro_batch=4, schedule=V)
    assert found.startswith(line_of(stages, "with epl.replicate(name"))
    assert "2 scopes, but the schedule has 4 stages, expected one for each" in found


def test_a_table_says_on_how_many_meshes_stages_are() -> None:
    found = of_stages(4, devices=4, num_micro_batch=4, num_stages=4, schedule=V)
    assert found.startswith(line_of(stages, "with epl.replicate(name"))
    assert (
        "4 scopes on 4 meshes (pipeline.num_stages), but the schedule has 2, expected as many, or none said "
        "beside a table" in found
    )
    config = {"pipeline.num_micro_batch": 4, "pipeline.num_stages": 2, "pipeline.schedule": V}
    made = epl.parallelize(stages, batch="x", devices=2, config=config)
    assert "4 stages, 4 micro-batches by zb-v" in made.lower([ones(5, 5)] * 4, ones(12, 5)).compile().layout


FOUND = (
    "found stages, but the schedule has 4 stages, expected one for each; epl.auto_stages says how many are "
    "found, or pipeline.num_stages with auto.auto_parallel"
)


def layers(ws: list[jax.Array], x: jax.Array) -> jax.Array:
    for w in ws:
        x = jnp.tanh(x @ w)
    return (x * x).sum()


def test_a_table_of_more_stages_than_are_found() -> None:
    arguments = [[ones(5, 5)] * 5, ones(12, 5)]
    config = {
        "auto.auto_parallel": True,
        "pipeline.num_stages": 2,
        "pipeline.num_micro_batch": 4,
        "pipeline.schedule": V,
    }
    with pytest.raises(epl.CompileError, match=f"2 {FOUND}") as error:
        epl.parallelize(layers, batch="x", devices=2, config=config).lower(*arguments).compile()
    assert error.value.place is not None
    config["pipeline.num_stages"] = 4
    made = epl.parallelize(layers, batch="x", devices=2, config=config)
    assert "4 stages, 4 micro-batches by zb-v" in made.lower(*arguments).compile().layout

    def in_scope(ws: list[jax.Array], x: jax.Array) -> jax.Array:
        with epl.auto_stages(3):
            return layers(ws, x)

    found = message_of(in_scope, arguments, devices=2, num_micro_batch=4, schedule=V)
    assert found.startswith(line_of(in_scope, "with epl.auto_stages"))
    assert f"3 {FOUND}" in found


def test_interleaved_stages() -> None:
    found = of_stages(4, num_micro_batch=3, num_stages=2, strategy="interleaved")
    assert found.startswith(line_of(stages, "with epl.replicate(name"))
    assert 'schedule "interleaved" on 2 meshes needs a multiple of 2 micro-batches, found 3' in found
    found = of_stages(2, num_micro_batch=4, strategy="interleaved")
    assert 'schedule "interleaved" has 2 or more stages on each mesh, found 1' in found
    found = of_stages(4, num_micro_batch=4, num_stages=2)
    assert 'schedule "preferbackward" has 1 stage on each mesh, found 2' in found
    found = of_stages(3, num_micro_batch=4, num_stages=2, strategy="interleaved")
    assert "3 scopes on 2 meshes (pipeline.num_stages), expected a multiple" in found
