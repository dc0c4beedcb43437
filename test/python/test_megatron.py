"""What one more block of a transformer exchanges, beside Megatron's formula; the compiler chose the split.

A block of b samples, s positions and h features sums b s h elements twice forward and twice backward, a
decoder's three times each; of a sum each of two devices receives as much as the tensor has. Source: Shoeybi
et al., "Megatron-LM", 2019, section 3. `test_split.py` has the counts of a language model as a whole.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import epl
from steps import assert_trains_as_jax, exchanged

WIDTH, HEADS, BATCH, SOURCE, TARGET, EXPERTS = 32, 4, 4, 8, 6, 4


class Perceptron(nn.Module):
    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        return nn.Dense(WIDTH)(nn.gelu(nn.Dense(4 * WIDTH)(x)))


class Experts(nn.Module):
    """Every expert sees every token, and the gate weighs them."""

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        gate = jax.nn.softmax(nn.Dense(EXPERTS)(x))
        up = self.param("up", nn.initializers.normal(0.1), (EXPERTS, WIDTH, 2 * WIDTH))
        down = self.param("down", nn.initializers.normal(0.1), (EXPERTS, 2 * WIDTH, WIDTH))
        hidden = nn.gelu(jnp.einsum("bsd,edh->besh", x, up))
        return jnp.einsum("besh,ehd,bse->bsd", hidden, down, gate)


class Block(nn.Module):
    inner: type[nn.Module] = Perceptron

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        x = x + nn.MultiHeadDotProductAttention(HEADS)(nn.LayerNorm()(x))
        return x + self.inner()(nn.LayerNorm()(x))


class DecoderBlock(nn.Module):
    @nn.compact
    def __call__(self, x: jax.Array, encoded: jax.Array) -> jax.Array:
        causal = nn.make_causal_mask(x[..., 0])
        x = x + nn.MultiHeadDotProductAttention(HEADS)(nn.LayerNorm()(x), mask=causal)
        x = x + nn.MultiHeadDotProductAttention(HEADS)(nn.LayerNorm()(x), encoded)
        return x + Perceptron()(nn.LayerNorm()(x))


class ViT(nn.Module):
    """Patches in, classes out: small products at both ends, which must not decide the rest."""

    blocks: int
    inner: type[nn.Module] = Perceptron

    @nn.compact
    def __call__(self, patches: jax.Array) -> jax.Array:
        x = nn.Dense(WIDTH)(patches) + self.param("pos", nn.initializers.normal(0.1), (1, SOURCE, WIDTH))
        for _ in range(self.blocks):
            x = Block(self.inner)(x)
        return nn.Dense(10)(nn.LayerNorm()(x)[:, 0])


class T5(nn.Module):
    encoders: int
    decoders: int

    @nn.compact
    def __call__(self, source: jax.Array, target: jax.Array) -> jax.Array:
        words = nn.Embed(64, WIDTH)
        encoded = words(source)
        for _ in range(self.encoders):
            encoded = Block()(encoded)
        encoded, x = nn.LayerNorm()(encoded), words(target)
        for _ in range(self.decoders):
            x = DecoderBlock()(x, encoded)
        return words.attend(nn.LayerNorm()(x))


def compiled(model: nn.Module, *inputs: np.ndarray) -> tuple[Counter[str], int]:
    """The collectives of a step on two devices by kind and tensor, and the bytes that a device receives."""
    params = model.init(jax.random.key(0), *inputs)
    labels = np.zeros(jax.eval_shape(model.apply, params, *inputs).shape[:-1], np.int32)

    def step(params: Any, x: Any, y: jax.Array) -> tuple[Any, jax.Array]:
        def loss(params: Any) -> jax.Array:
            with epl.split(device_count=2):
                logits = model.apply(params, *x)
                return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()

        value, gradients = jax.value_and_grad(loss)(params)
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, gradients), value

    parallel = epl.parallelize(step, state="params", batch=("x", "y"), devices=2)
    lowered = parallel.lower(params, inputs, labels)
    tensors = exchanged(lowered.as_text("local"))
    assert_trains_as_jax(parallel, step, params, inputs, labels)
    counts = Counter(f"{kind} {each}" for kind, all_of_it in tensors.items() for each in all_of_it)
    return counts, lowered.compile().plan.received_bytes


def images() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(BATCH, SOURCE, 12)).astype(np.float32)


def tokens(length: int) -> np.ndarray:
    return np.random.default_rng(length).integers(0, 64, (BATCH, length)).astype(np.int32)


def added(more: tuple[Counter[str], int], less: tuple[Counter[str], int]) -> tuple[Counter[str], int]:
    return more[0] - less[0], more[1] - less[1]


def sums(count: int, positions: int) -> tuple[Counter[str], int]:
    """So many sums of features, and their bytes."""
    shape = (BATCH, positions, WIDTH)
    kind = f"all_reduce {'x'.join(map(str, shape))}xf32"
    return Counter({kind: count}), 4 * count * int(np.prod(shape))


def test_a_block_of_a_vision_transformer() -> None:
    found = [compiled(ViT(blocks), images()) for blocks in (1, 2, 3)]
    assert added(found[1], found[0]) == added(found[2], found[1]) == sums(4, SOURCE)


def test_blocks_of_an_encoder_and_a_decoder() -> None:
    """The gradient of what was encoded is one sum, however many decoder blocks read it."""
    source, target = tokens(SOURCE), tokens(TARGET)
    base = compiled(T5(1, 1), source, target)
    assert added(compiled(T5(2, 1), source, target), base) == sums(4, SOURCE)
    assert added(compiled(T5(1, 2), source, target), base) == sums(6, TARGET)


@pytest.mark.parametrize("blocks", [1, 2])
def test_a_block_of_experts(blocks: int) -> None:
    """Experts stay apart: the sums of a perceptron, and those of the gate, which are small."""
    more = added(compiled(ViT(blocks + 1, Experts), images()), compiled(ViT(blocks, Experts), images()))
    large, received = sums(4, SOURCE)
    assert {kind: count for kind, count in more[0].items() if kind in large} == large
    assert {kind.split()[0] for kind in more[0]} == {"all_reduce"}
    assert received < more[1] < 1.05 * received
