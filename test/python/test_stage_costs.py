"""What is said of stages that are found is what is done: the bytes are those that the plan sends, and the cut
of layers that are a scan over stacked parameters is that of a list of them, whatever the optimizer reads."""

from __future__ import annotations

import re
from collections.abc import Callable
from math import prod
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from jax import lax

import epl
from test_stacked_stages import dump_of

LAYERS, WIDTH, SAMPLES = 8, 64, 64
BYTES = {"f32": 4, "bf16": 2, "i32": 4, "i1": 1}
Tree = Any
Loss = Callable[[Tree, jax.Array], jax.Array]


def parameters() -> Tree:
    """Of layers in a list."""
    random = np.random.default_rng(0)
    return {
        "layers": [
            {"b": np.zeros(WIDTH, "f"), "w": 0.1 * random.normal(size=(WIDTH, WIDTH)).astype("f")}
            for _ in range(LAYERS)
        ],
        "head": random.normal(size=(WIDTH, 4)).astype("f"),
    }


def stacked(p: Tree) -> Tree:
    return {**p, "layers": jax.tree.map(lambda *rows: np.stack(rows), *p["layers"])}


def layer(h: jax.Array, p: Tree) -> tuple[jax.Array, None]:
    return h + jnp.tanh(h @ p["w"] + p["b"]), None


def plain(p: Tree, x: jax.Array) -> jax.Array:
    if isinstance(p["layers"], list):
        for rows in p["layers"]:
            x, _ = layer(x, rows)
    else:
        x, _ = lax.scan(layer, x, p["layers"])
    return ((x @ p["head"]) ** 2).mean()


def of_layers(p: Tree, function: Callable[[Tree], Tree]) -> Tree:
    """Each layer, or all of them as a stack, in another form."""
    rows = p["layers"]
    return {**p, "layers": [function(row) for row in rows] if isinstance(rows, list) else function(rows)}


def rounded(p: Tree, x: jax.Array) -> jax.Array:
    p = of_layers(p, lambda rows: jax.tree.map(lambda w: w.astype(jnp.bfloat16), rows))
    return plain(p, x.astype(jnp.bfloat16)).astype(jnp.float32)


def normalized(p: Tree, x: jax.Array) -> jax.Array:
    """Weights of norm one."""

    def normalize(w: jax.Array) -> jax.Array:
        return w / jnp.sqrt((w**2).sum((-2, -1), keepdims=True) + 1e-6)

    return plain(of_layers(p, lambda rows: {**rows, "w": normalize(rows["w"])}), x)


def penalized(p: Tree, x: jax.Array) -> jax.Array:
    """The norm of all parameters is a part of the loss."""
    return plain(p, x) + 1e-4 * sum((w**2).sum() for w in jax.tree.leaves(p))


Init, Update = Callable[[Tree], Tree], Callable[[Tree, Tree, Tree], tuple[Tree, Tree]]


def by(optimizer: optax.GradientTransformation, loss: Loss = plain) -> tuple[Init, Update, Loss]:
    def update(g: Tree, s: Tree, p: Tree) -> tuple[Tree, Tree]:
        u, s = optimizer.update(g, s, p)
        return optax.apply_updates(p, u), s

    return optimizer.init, update, loss


def averaged() -> tuple[Init, Update, Loss]:
    """An average of parameters before the step, which no gradient is in."""
    init, update, loss = by(optax.adamw(1e-2))

    def follow(g: Tree, s: tuple[Tree, Tree], p: Tree) -> tuple[Tree, Tree]:
        average = jax.tree.map(lambda a, b: 0.9 * a + 0.1 * b, s[1], p)
        p, s = update(g, s[0], p)
        return p, (s, average)

    return lambda p: (init(p), p), follow, loss


CASES: dict[str, tuple[Init, Update, Loss]] = {
    "adamw": by(optax.adamw(1e-2)),
    "decay": by(optax.chain(optax.add_decayed_weights(1e-4), optax.sgd(0.1))),
    "masked": by(optax.adamw(1e-2, mask=lambda p: jax.tree.map(lambda w: w.ndim > 1, p))),
    "clipped": by(optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(0.1))),
    "lion": by(optax.lion(1e-3)),
    "trusted": by(optax.lamb(1e-3)),
    "factored": by(optax.adafactor(1e-3, min_dim_size_to_factor=16)),
    "averaged": averaged(),
    "rounded": by(optax.adam(1e-2), rounded),
    "normalized": by(optax.adam(1e-2), normalized),
    "penalized": by(optax.adamw(1e-2), penalized),
}


def compiled(case: str, *, is_stacked: bool) -> tuple[Any, tuple[Tree, ...]]:
    init, update, loss = CASES[case]

    def step(p: Tree, s: Tree, x: jax.Array) -> Any:
        value, g = jax.value_and_grad(loss)(p, x)
        return *update(g, s, p), value

    config = {"auto.auto_parallel": True, "pipeline.num_stages": 2, "pipeline.num_micro_batch": 4}
    made = epl.parallelize(step, devices=2, config=config, state=("p", "s"), batch="x", donate=False)
    p = stacked(parameters()) if is_stacked else parameters()
    return made, (p, init(p), np.ones((SAMPLES, WIDTH), "f"))


def get_sent(dump: str) -> int:
    """The bytes that a plan sends in a step."""
    sent = re.findall(r" send .*? ((?:\d+x)*)(f32|bf16|i32|i1) sharding ", dump)
    assert len(sent) == dump.count(" send b")
    return sum(prod(int(size) for size in shape.split("x")[:-1]) * BYTES[element] for shape, element in sent)


@pytest.mark.parametrize("case", CASES)
def test_the_plan_sends_what_is_said(case: str, tmp_path: Path) -> None:
    """But for numbers of the optimizer, such as a norm of all gradients."""
    cuts = []
    for is_stacked in (True, False):
        made, arguments = compiled(case, is_stacked=is_stacked)
        text = made.lower(*arguments).explain()
        said = int(re.search(r" blocks in .*, (\d+) bytes are sent", text)[1])  # type: ignore[index]
        assert said <= get_sent(dump_of(made, tmp_path, *arguments)) < said + 100
        cuts.append(re.findall(r"^\| +\d+ \| (\d+(?: to \d+)?) ", text, re.M))
    stacked_cut, cut = cuts
    assert stacked_cut == cut
    assert cut == ["0 to 3", "4 to 8"] or case == "penalized"  # each number is a message of its stage
