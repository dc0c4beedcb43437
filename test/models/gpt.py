"""A character-level GPT in flax: dropout, warm-up and cosine schedule, clipping by the global norm."""

from __future__ import annotations

from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import optax

import epl
from models.model import Model, integers

LENGTH, WIDTH, HEADS, LAYERS, VOCABULARY = 12, 16, 2, 2, 31


class Block(nn.Module):
    """Attention over what came before, and a perceptron, each round a residual."""

    @nn.compact
    def __call__(self, x: jax.Array, train: bool) -> jax.Array:
        mask = nn.make_causal_mask(jnp.ones(x.shape[:2]))
        attention = nn.MultiHeadDotProductAttention(num_heads=HEADS, dropout_rate=0.1)
        x = x + attention(nn.LayerNorm()(x), mask=mask, deterministic=not train)
        h = nn.Dense(WIDTH)(nn.gelu(nn.Dense(4 * WIDTH)(nn.LayerNorm()(x))))
        return x + nn.Dropout(0.1, deterministic=not train)(h)


class GPT(nn.Module):
    """Logits of the next token at every position."""

    @nn.compact
    def __call__(self, tokens: jax.Array, train: bool) -> jax.Array:
        x = nn.Embed(VOCABULARY, WIDTH)(tokens) + nn.Embed(LENGTH, WIDTH)(jnp.arange(tokens.shape[1]))
        for _ in range(LAYERS):
            x = Block()(x, train)
        return nn.Dense(VOCABULARY)(nn.LayerNorm()(x))


def build() -> Model:
    model = GPT()
    params = model.init(jax.random.key(0), jnp.zeros((1, LENGTH), jnp.int32), train=False)
    schedule = optax.warmup_cosine_decay_schedule(0, 1e-2, 3, 20)
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(schedule, eps=1e-2))

    def step(state: Any, tokens: Any) -> tuple[Any, Any]:
        key, dropout = jax.random.split(state["key"])

        def loss(params: Any) -> jax.Array:
            with epl.replicate():
                logits = model.apply(params, tokens[:, :-1], train=True, rngs={"dropout": dropout})
                return optax.softmax_cross_entropy_with_integer_labels(logits, tokens[:, 1:]).mean()

        value, gradients = jax.value_and_grad(loss)(state["params"])
        updates, opt = optimizer.update(gradients, state["opt"], state["params"])
        return {"params": optax.apply_updates(state["params"], updates), "opt": opt, "key": key}, value

    state = {"params": params, "opt": optimizer.init(params), "key": jax.random.key(1)}
    return Model((step,), state, lambda r: integers(r, VOCABULARY, 8, LENGTH + 1))
