"""Scopes that share devices: `cluster.colocate_split_and_replicate`, beside `jax.jit`.

A body that replicates shards its batch over all devices, a head that is split shards it over the others than
those that share its parameters: between the two, features are gathered and their gradients scattered.
"""

from __future__ import annotations

import re
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import epl
from steps import assert_trains_as_jax, exchanged

BATCH, WIDTH, FEATURES, CLASSES = 48, 12, 8, 24
COLOCATED: dict[str, Any] = {"cluster.colocate_split_and_replicate": True}
OPTIMIZER = optax.adamw(1e-2, eps=1e-2)
Random = np.random.Generator


def weights(random: Random, *shape: int) -> jax.Array:
    return jnp.asarray(random.normal(0, shape[-2] ** -0.5, shape), jnp.float32)


def trained(loss: Any, params: Any) -> tuple[Any, Any]:
    """A step of an optimizer that clips by the norm of all gradients, and its state."""
    optimizer = optax.chain(optax.clip_by_global_norm(0.5), OPTIMIZER)

    def step(state: Any, x: jax.Array, y: jax.Array) -> tuple[Any, jax.Array]:
        value, gradients = jax.value_and_grad(loss)(state[0], x, y)
        updates, opt = optimizer.update(gradients, state[1], state[0])
        return (optax.apply_updates(state[0], updates), opt), value

    return step, (params, optimizer.init(params))


def classifier(body: Any, head: Any) -> tuple[Any, Any]:
    """EPL's large classifier: a body under one scope, logits and loss under another."""
    random = np.random.default_rng(0)
    params = {
        "body": [weights(random, WIDTH, FEATURES), weights(random, FEATURES, FEATURES)],
        "bias": jnp.zeros(FEATURES),
        "head": weights(random, FEATURES, CLASSES),
        "offset": jnp.zeros(CLASSES),
    }

    def loss(params: Any, x: jax.Array, y: jax.Array) -> jax.Array:
        with body:
            h = jax.nn.relu(x @ params["body"][0] + params["bias"]) @ params["body"][1]
        with head:
            logits = h @ params["head"] + params["offset"]
            return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()

    return trained(loss, params)


def experts(gate: Any, inside: Any) -> tuple[Any, Any]:
    """A mixture of experts with places for all samples: dispatch and combine replicate, experts are split."""
    random = np.random.default_rng(0)
    params = {"gate": weights(random, WIDTH, 4)}
    params |= {"up": weights(random, 4, WIDTH, 16), "down": weights(random, 4, 16, WIDTH)}

    def loss(params: Any, x: jax.Array, y: jax.Array) -> jax.Array:
        with gate:
            shares = jax.nn.softmax(x @ params["gate"])
            chosen = jnp.where(shares == shares.max(-1, keepdims=True), shares, 0)
            sent = jnp.einsum("be,bw->ebw", (chosen > 0).astype(x.dtype), x)
        with inside:
            h = jax.nn.gelu(jnp.einsum("ebw,ewh->ebh", sent, params["up"]))
            made = jnp.einsum("ebh,ehw->ebw", h, params["down"])
        with gate:
            return jnp.mean((jnp.einsum("be,ebw->bw", chosen, made) - jax.nn.one_hot(y, WIDTH)) ** 2)

    return trained(loss, params)


def data(classes: int = CLASSES) -> tuple[jax.Array, jax.Array]:
    random = np.random.default_rng(1)
    return (
        jnp.asarray(random.normal(size=(BATCH, WIDTH)), jnp.float32),
        jnp.asarray(random.integers(0, classes, BATCH), jnp.int32),
    )


def parallelized(step: Any, devices: int, **config: Any) -> epl.Parallelized:
    return epl.parallelize(step, state="state", batch=("x", "y"), devices=devices, config=COLOCATED | config)


def check(step: Any, state: Any, devices: int, classes: int = CLASSES, **config: Any) -> Any:
    """Three steps as `jax.jit` takes them; the lowered step."""
    x, y = data(classes)
    parallel = parallelized(step, devices, **config)
    lowered = parallel.lower(state, x, y)
    assert_trains_as_jax(parallel, step, state, x, y)
    return lowered


def collectives(lowered: Any) -> dict[str, list[str]]:
    """The tensors that each kind of collective takes; not those of rank 0 and 1: losses, biases."""
    found = {
        kind: [tensor.removesuffix("xf32") for tensor in tensors if re.fullmatch(r"\w+x\w+xf32", tensor)]
        for kind, tensors in exchanged(lowered.as_text("local")).items()
    }
    return {kind: tensors for kind, tensors in found.items() if tensors}


BODY, HEAD = "body", "head"


@pytest.mark.parametrize(
    ("devices", "layout"), [(2, "model 2"), (4, "data 2, model 2"), (8, "data 4, model 2")]
)
def test_a_large_classifier_gathers_features_and_splits_classes(devices: int, layout: str) -> None:
    """Forward a gather of the features, backward a scatter of their gradients; nothing of the size of the
    logits or of the head moves but the head's gradient over the replicas, if there are any."""
    step, state = classifier(epl.replicate(name=BODY), epl.split(device_count=2, name=HEAD))
    lowered = check(step, state, devices)
    assert lowered.compile().layout == f"cpu:{devices} = {layout}"
    found = collectives(lowered)
    head = [f"{FEATURES}x{CLASSES}"] if devices > 2 else []
    bodies = [f"{FEATURES}x{FEATURES}", f"{WIDTH}x{FEATURES}"]
    assert sorted(found.pop("all_reduce")) == sorted([f"{BATCH}x1", *head, *bodies])  # and the loss's rows
    assert found == {"all_gather": [f"{BATCH}x{FEATURES}"], "reduce_scatter": [f"{BATCH}x{FEATURES}"]}


@pytest.mark.parametrize("devices", [2, 4])
def test_experts_get_what_is_sent_to_them_by_exchange(devices: int) -> None:
    """To the experts and back, and backward what is sent back."""
    step, state = experts(epl.replicate(name="model"), epl.split(device_count=2))
    found = collectives(check(step, state, devices, WIDTH))
    assert found["all_to_all"] == [f"4x{BATCH}x{WIDTH}"] * 3
    assert set(found) == {"all_to_all", "all_reduce"}


@pytest.mark.parametrize(
    ("body", "head", "devices", "layout"),
    [
        (epl.replicate(2, BODY), epl.split(2, HEAD), 4, "data 2, model 2"),
        (epl.replicate(4, BODY), epl.split(2, HEAD), 4, "data 2, model 2"),
        (epl.replicate(1, BODY), epl.split(4, HEAD), 4, "model 4"),
        (epl.split(2, BODY), epl.split(4, HEAD), 8, "data 2, model 2, model2 2"),
        (epl.split(4, BODY), epl.split(2, HEAD), 4, "model 2, model2 2"),
        (epl.split(2, BODY), epl.split(3, HEAD), 6, "model 2, model2 3"),
        (epl.split(2, BODY), epl.replicate(1, HEAD), 4, "data 2, model 2"),
        (epl.split(2, BODY), epl.split(2, HEAD), 4, "data 2, model 2"),
        (epl.split(1, BODY), epl.split(2, HEAD), 2, "model 2"),
        (epl.replicate(1, BODY), epl.replicate(1, HEAD), 4, "data 4"),
        (epl.replicate(2, BODY), epl.replicate(4, HEAD), 4, "data 4"),
    ],
)
def test_any_two_strategies_share_their_devices(body: Any, head: Any, devices: int, layout: str) -> None:
    step, state = classifier(body, head)
    assert check(step, state, devices).compile().layout == f"cpu:{devices} = {layout}"


@pytest.mark.parametrize("level", ["v1", "v3"])
@pytest.mark.parametrize("devices", [2, 4])
def test_levels_of_zero_share_state_among_all_that_copy_it(devices: int, level: str) -> None:
    """The body's among all devices, also where the head has one replica; the head's among its replicas."""
    step, (params, opt) = classifier(epl.replicate(name=BODY), epl.split(device_count=2, name=HEAD))
    plan = check(step, (params, opt), devices, **{"zero.level": level}).compile().plan

    def size(*leaves: Any) -> int:
        return sum(leaf.nbytes for leaf in jax.tree.leaves(leaves))

    body, head, offset = size(params["body"], params["bias"]), size(params["head"]), size(params["offset"])
    counters = size(opt) - 2 * (body + head + offset)
    shared = (body + head) / devices + offset / 2  # one dimension, which the split takes
    kept = body + (head + offset) / 2 if level == "v1" else shared
    assert plan.state_bytes == kept + 2 * shared + counters


def test_what_is_returned_for_each_sample_is_whole() -> None:
    def step(params: Any, x: jax.Array) -> Any:
        with epl.replicate(name=BODY):
            h = jnp.tanh(x @ params["body"][0])
        with epl.split(device_count=2, name=HEAD):
            logits = h @ params["head"]
            return h, logits, jnp.argmax(logits, axis=1)

    _, (params, _) = classifier(epl.replicate(), epl.replicate())
    x, _ = data()
    found = epl.parallelize(step, batch="x", devices=4, config=COLOCATED)(params, x)
    for mine, theirs in zip(found, jax.jit(step)(params, x), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-5, atol=1e-6)


def test_scopes_entered_twice_are_one_on_the_same_devices() -> None:
    """A body, a head, and a body again on what the head says of each class."""

    def loss(params: Any, x: jax.Array, y: jax.Array) -> jax.Array:
        with epl.replicate(name=BODY):
            h = jnp.tanh(x @ params["in"])
        with epl.split(device_count=2, name=HEAD):
            wide = jax.nn.gelu(h @ params["up"])
        with epl.replicate(name=BODY):
            again = jax.nn.softmax(wide) @ params["out"]
            return jnp.mean((again - jax.nn.one_hot(y, FEATURES)) ** 2)

    random = np.random.default_rng(0)
    shapes = {"in": (WIDTH, FEATURES), "up": (FEATURES, CLASSES), "out": (CLASSES, FEATURES)}
    step, state = trained(loss, {name: weights(random, *shape) for name, shape in shapes.items()})
    found = collectives(check(step, state, 4, FEATURES))
    assert found["all_to_all"] == [f"{BATCH}x{CLASSES}"] * 2  # forward to samples, backward to classes


def test_a_loop_of_layers_runs_beside_a_split_head() -> None:
    def loss(params: Any, x: jax.Array, y: jax.Array) -> jax.Array:
        with epl.replicate(name=BODY):
            h, _ = jax.lax.scan(lambda h, w: (jnp.tanh(h @ w), None), x, params["layers"])
        with epl.split(device_count=2, name=HEAD):
            return optax.softmax_cross_entropy_with_integer_labels(h @ params["head"], y).mean()

    random = np.random.default_rng(0)
    layers = weights(random, 12, WIDTH, WIDTH)
    step, state = trained(loss, {"layers": layers, "head": weights(random, WIDTH, CLASSES)})
    check(step, state, 4)


@pytest.mark.parametrize("scanned", [False, True])
def test_a_transformer_replicates_attention_and_splits_perceptrons(scanned: bool) -> None:
    """Two scopes in every block: all who share a perceptron get what attention makes, and the reverse."""
    random = np.random.default_rng(0)
    length, layers = 6, 2
    shapes = {"q": (WIDTH, WIDTH), "v": (WIDTH, WIDTH), "up": (WIDTH, 32), "down": (32, WIDTH)}
    blocks = {name: weights(random, layers, *shape) for name, shape in shapes.items()}
    params = {"blocks": blocks, "out": weights(random, WIDTH, CLASSES), "gain": jnp.ones((layers, WIDTH))}

    def block(h: jax.Array, params: Any) -> tuple[jax.Array, None]:
        with epl.replicate():
            normal = h * jax.lax.rsqrt((h**2).mean(-1, keepdims=True) + 1e-5)
            scores = jax.nn.softmax((normal @ params["q"]) @ normal.swapaxes(1, 2))
            h = h + scores @ (normal @ params["v"])
        with epl.split(device_count=2):
            return h + jax.nn.gelu(h @ params["up"]) @ params["down"], None

    def loss(params: Any, x: jax.Array, y: jax.Array) -> jax.Array:
        h = jnp.broadcast_to(x[:, None], (BATCH, length, WIDTH)) * jnp.arange(length)[:, None]
        if scanned:
            h, _ = jax.lax.scan(block, h, params["blocks"])
        else:
            for layer in range(layers):
                h, _ = block(h, jax.tree.map(lambda leaf, layer=layer: leaf[layer], params["blocks"]))
        with epl.replicate():
            logits = (h * params["gain"][0]).mean(1) @ params["out"]
            return optax.softmax_cross_entropy_with_integer_labels(logits, y).mean()

    step, state = trained(loss, params)
    found = collectives(check(step, state, 4))
    activations = [f"{BATCH}x{length}x{WIDTH}"] * layers * 2  # forward and backward
    assert found["all_gather"] == found["reduce_scatter"] == activations
    assert "all_to_all" not in found


def test_a_batch_of_any_size_is_padded_for_all_devices() -> None:
    @epl.parallelize(batch=("x", "y"), devices=4, config=COLOCATED, pad_batch=True)
    def right(params: Any, x: jax.Array, y: jax.Array, mask: jax.Array) -> Any:
        with epl.replicate(name=BODY):
            h = jnp.tanh(x @ params["body"][0])
        with epl.split(device_count=2, name=HEAD):
            found = jnp.argmax(h @ params["head"], axis=1)
            return jnp.sum((found == y) * mask), found

    _, (params, _) = classifier(epl.replicate(), epl.replicate())
    x, y = data()
    count, found = right(params, x[:7], y[:7])
    expected = jnp.argmax(jnp.tanh(x[:7] @ params["body"][0]) @ params["head"], axis=1)
    np.testing.assert_array_equal(found, expected)
    assert count == (expected == y[:7]).sum()


def test_a_batch_must_divide_among_all_devices_that_take_it() -> None:
    step, state = classifier(epl.replicate(name=BODY), epl.split(device_count=2, name=HEAD))
    x, y = data()
    with pytest.raises(
        epl.CompileError, match=r'"x" of size 6 is not divisible by axes "data", "model" of size 4'
    ):
        parallelized(step, 4)(state, x[:6], y[:6])


@pytest.mark.parametrize("head", [epl.split(3, HEAD), epl.replicate(3, HEAD)])
def test_every_count_must_divide_the_devices(head: Any) -> None:
    step, state = classifier(epl.replicate(name=BODY), head)
    with pytest.raises(epl.CompileError, match="over 3 devices on 4, expected a number of devices"):
        parallelized(step, 4)(state, *data())


def test_without_the_setting_each_has_devices_of_its_own() -> None:
    step, state = classifier(epl.replicate(name=BODY), epl.split(device_count=2, name=HEAD))
    parallel = epl.parallelize(step, state="state", batch=("x", "y"), devices=4)
    with pytest.raises(epl.CompileError, match="2 task graphs over 3 devices on 4"):
        parallel(state, *data())
