"""The training steps that are measured: each a step for one device, its first state and one batch."""

import functools
import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gpt_data
import jax
import jax.numpy as jnp
import numpy as np
import optax

import epl


@dataclass(frozen=True)
class Model:
    """A training step `step(*state, x, y) -> (*state, loss)` with what it is called on."""

    step: Callable[..., Any]
    state: list[Any]
    batch: tuple[Any, Any]


def cast(tree: Any, dtype: Any) -> Any:
    """The arrays that a step computes with, of what it stores in f32."""
    return jax.tree.map(lambda leaf: leaf.astype(dtype), tree)


def mlp(
    sizes: list[int], batch: int, optimizer: optax.GradientTransformation, dtype: Any = jnp.float32
) -> Model:
    """A perceptron with relu and mean cross entropy on one-hot labels, on random data."""
    rng = np.random.default_rng(0)
    params = [
        {"w": jnp.asarray(rng.normal(0, np.sqrt(2 / n), (n, m)), jnp.float32), "b": jnp.zeros(m)}
        for n, m in itertools.pairwise(sizes)
    ]

    def step(params: Any, opt_state: Any, x: jax.Array, y: jax.Array) -> Any:
        def loss_fn(params: Any) -> jax.Array:
            with epl.replicate():
                h = x.astype(dtype)
                *layers, last = cast(params, dtype)
                for layer in layers:
                    h = jax.nn.relu(h @ layer["w"] + layer["b"])
                logits = (h @ last["w"] + last["b"]).astype(jnp.float32)
                return optax.softmax_cross_entropy(logits, jax.nn.one_hot(y, sizes[-1])).mean()

        loss, grads = jax.value_and_grad(loss_fn)(params)
        updates, opt_state = optimizer.update(grads, opt_state, params)
        return optax.apply_updates(params, updates), opt_state, loss

    x = rng.normal(size=(batch, sizes[0])).astype(np.float32)
    y = rng.integers(0, sizes[-1], batch).astype(np.int32)
    return Model(step, [params, optimizer.init(params)], (x, y))


def transformer(
    layers: int,
    width: int,
    heads: int,
    length: int,
    batch: int,
    optimizer: optax.GradientTransformation,
    dtype: Any = jnp.float32,
    scanned: bool = False,
) -> Model:
    """Pre-norm blocks of attention and gelu, mean square error against random targets.

    scanned: the layers are stacked and one loop of JAX, not one of Python.
    """
    rng = np.random.default_rng(0)

    def weight(*shape: int) -> jax.Array:
        return jnp.asarray(rng.normal(0, shape[0] ** -0.5, shape), jnp.float32)

    params = [
        {
            "qkv": weight(width, 3 * width),
            "out": weight(width, width),
            "up": weight(width, 4 * width),
            "down": weight(4 * width, width),
            "gains": jnp.ones((2, width)),
        }
        for _ in range(layers)
    ]
    if scanned:
        params = jax.tree.map(lambda *parts: jnp.stack(parts), *params)

    def norm(x: jax.Array, gain: jax.Array) -> jax.Array:
        x = x - x.mean(-1, keepdims=True)
        return gain * x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-5)

    def block(layer: Any, x: jax.Array) -> jax.Array:
        b, t, d = x.shape
        qkv = norm(x, layer["gains"][0]) @ layer["qkv"]
        q, k, v = (part.reshape(b, t, heads, d // heads) for part in jnp.split(qkv, 3, axis=-1))
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) * (d // heads) ** -0.5
        x = x + jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), v).reshape(b, t, d) @ layer["out"]
        return x + jax.nn.gelu(norm(x, layer["gains"][1]) @ layer["up"]) @ layer["down"]

    def step(params: Any, opt_state: Any, x: jax.Array, y: jax.Array) -> Any:
        def loss_fn(params: Any) -> jax.Array:
            with epl.replicate():
                h = x.astype(dtype)
                if scanned:
                    h, _ = jax.lax.scan(lambda h, layer: (block(layer, h), None), h, cast(params, dtype))
                else:
                    h = functools.reduce(lambda h, layer: block(layer, h), cast(params, dtype), h)
                return ((h.astype(jnp.float32) - y) ** 2).mean()

        loss, grads = jax.value_and_grad(loss_fn)(params)
        updates, opt_state = optimizer.update(grads, opt_state, params)
        return optax.apply_updates(params, updates), opt_state, loss

    x, y = rng.normal(size=(2, batch, length, width)).astype(np.float32)
    return Model(step, [params, optimizer.init(params)], (x, y))


def cnn(
    channels: list[int],
    size: int,
    batch: int,
    optimizer: optax.GradientTransformation,
    dtype: Any = jnp.float32,
    *,
    pooled: bool = True,
) -> Model:
    """Convolutions of 3 x 3 with relu, mean cross entropy of 10 classes.

    All but the last one are pooled, or have a stride of 2 instead.
    """
    rng = np.random.default_rng(0)

    def weight(*shape: int) -> jax.Array:
        return jnp.asarray(rng.normal(0, np.prod(shape[:-1]) ** -0.5, shape), jnp.float32)

    kernels = [weight(3, 3, n, m) for n, m in itertools.pairwise([1, *channels])]
    last = size // 2 ** (len(channels) - 1)
    params = {
        "kernels": kernels,
        "biases": [jnp.zeros(m) for m in channels],
        "out": weight(last * last * channels[-1], 10),
    }

    def layer(x: jax.Array, kernel: jax.Array, bias: jax.Array, stride: int = 1) -> jax.Array:
        layout, strides = ("NHWC", "HWIO", "NHWC"), (stride, stride)
        return jax.nn.relu(
            jax.lax.conv_general_dilated(x, kernel, strides, "SAME", dimension_numbers=layout) + bias
        )

    def halve(x: jax.Array, kernel: jax.Array, bias: jax.Array) -> jax.Array:
        if not pooled:
            return layer(x, kernel, bias, stride=2)
        window = (1, 2, 2, 1)
        return jax.lax.reduce_window(layer(x, kernel, bias), -jnp.inf, jax.lax.max, window, window, "VALID")

    def step(params: Any, opt_state: Any, x: jax.Array, y: jax.Array) -> Any:
        def loss_fn(params: Any) -> jax.Array:
            with epl.replicate():
                narrow = cast(params, dtype)
                layers = list(zip(narrow["kernels"], narrow["biases"], strict=True))
                h = x.astype(dtype)
                for kernel, bias in layers[:-1]:
                    h = halve(h, kernel, bias)
                logits = (layer(h, *layers[-1]).reshape(batch, -1) @ narrow["out"]).astype(jnp.float32)
                return optax.softmax_cross_entropy(logits, jax.nn.one_hot(y, 10)).mean()

        loss, grads = jax.value_and_grad(loss_fn)(params)
        updates, opt_state = optimizer.update(grads, opt_state, params)
        return optax.apply_updates(params, updates), opt_state, loss

    x = rng.normal(size=(batch, size, size, 1)).astype(np.float32)
    y = rng.integers(0, 10, batch).astype(np.int32)
    return Model(step, [params, optimizer.init(params)], (x, y))


def gpt(optimizer: optax.GradientTransformation, stages: int = 1) -> Model:
    """A GPT as gpt_data has it: causal attention, layer norms, gelu, mean cross entropy, f32.

    stages: scopes, each with as many layers.
    """

    def stage(layer: int) -> Any:
        return epl.replicate(name=f"stage{layer * stages // gpt_data.LAYERS}")

    def norm(p: Any, x: jax.Array) -> jax.Array:
        x = x - x.mean(-1, keepdims=True)
        return x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + gpt_data.EPSILON) * p["scale"] + p["bias"]

    def dense(p: Any, x: jax.Array) -> jax.Array:
        return x @ p["w"] + p["b"]

    def attention(p: Any, x: jax.Array) -> jax.Array:
        b, t, d = x.shape
        heads = gpt_data.HEADS
        q, k, v = (
            part.reshape(b, t, heads, d // heads) for part in jnp.split(dense(p["qkv"], x), 3, axis=-1)
        )
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) * (d // heads) ** -0.5
        scores = jnp.where(jnp.tril(jnp.ones((t, t), bool)), scores, -jnp.inf)
        return dense(p["out"], jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), v).reshape(b, t, d))

    def step(params: Any, opt_state: Any, x: jax.Array, y: jax.Array) -> Any:
        def loss_fn(params: Any) -> jax.Array:
            with stage(0):
                h = params["tokens"][x] + params["positions"]
            for layer, block in enumerate(params["blocks"]):
                with stage(layer):
                    h = h + attention(block, norm(block["norm1"], h))
                    h = h + dense(block["down"], jax.nn.gelu(dense(block["up"], norm(block["norm2"], h))))
            with stage(gpt_data.LAYERS - 1):
                logits = dense(params["head"], norm(params["norm"], h))
                return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()

        loss, grads = jax.value_and_grad(loss_fn)(params)
        updates, opt_state = optimizer.update(grads, opt_state, params)
        return optax.apply_updates(params, updates), opt_state, loss

    params = jax.tree.map(jnp.asarray, gpt_data.weights())
    return Model(step, [params, optimizer.init(params)], gpt_data.batch())


MODELS = {
    "digits": functools.partial(mlp, [64, 512, 512, 10], 128, optax.adam(1e-3)),
    "MLP 1024": functools.partial(mlp, [784, 1024, 1024, 10], 256, optax.sgd(1e-2)),
    "MLP 2048": functools.partial(mlp, [784, 2048, 2048, 10], 1024, optax.sgd(1e-2)),
    "transformer": functools.partial(transformer, 2, 256, 4, 128, 16, optax.adamw(1e-3)),
    "GPT": functools.partial(gpt, optax.adamw(gpt_data.LEARNING_RATE, weight_decay=gpt_data.WEIGHT_DECAY)),
    "CNN": functools.partial(cnn, [32, 64, 64], 28, 64, optax.sgd(1e-2)),
    "strided CNN": functools.partial(cnn, [32, 64, 128, 128], 32, 64, optax.sgd(1e-2), pooled=False),
}
# Computed in bf16, with parameters in f32.
NARROW = {f"{name} bf16": name for name in ("MLP 2048", "transformer", "CNN")}
MODELS |= {name: functools.partial(MODELS[wide], dtype=jnp.bfloat16) for name, wide in NARROW.items()}
# Compiled only: what more layers cost, as a loop of Python and as one of JAX.
DEEP = {
    f"{layers} layers{' by scan' * scanned}": functools.partial(
        transformer, layers, 128, 4, 64, 8, optax.adamw(1e-3), scanned=scanned
    )
    for scanned in (False, True)
    for layers in (6, 24)
}
