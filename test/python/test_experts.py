"""Experts that are spread over the replicas of a split: what is exchanged, beside `jax.jit`."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import epl
from steps import assert_trains_as_jax, exchanged
from test_dims import shardings

WIDTH, HIDDEN, CHOSEN = 8, 16, 2
CLIPPED = optax.chain(optax.clip_by_global_norm(0.1), optax.adam(1e-2, eps=1e-2))
EVERYWHERE, OF_A_REPLICA = '[{"data", "model"}, {}, {}]', '[{"model"}, {}, {}]'


def normal(*shape: int) -> jax.Array:
    return jnp.asarray(np.random.default_rng(len(shape)).normal(0, 0.3, shape), jnp.float32)


def mixture(p: Any, x: jax.Array) -> jax.Array:
    """Each token goes to two experts, which have room for all."""
    tokens, experts = x.shape[0], p["up"].shape[0]
    scores, chosen = jax.lax.top_k(jax.nn.softmax(x @ p["gate"]), CHOSEN)
    index = jnp.broadcast_to(jnp.arange(tokens)[:, None], chosen.shape)
    slots = jnp.zeros((experts, tokens, WIDTH)).at[chosen, index].add(x[:, None, :] * scores[..., None])
    hidden = jnp.tanh(jnp.einsum("etd,edh->eth", slots, p["up"]))
    return jnp.einsum("eth,ehd->etd", hidden, p["down"])[chosen, index].sum(axis=1)


def stacked(p: Any, x: jax.Array) -> jax.Array:
    return jax.lax.scan(lambda x, layer: (x + mixture(layer, x), None), x, p)[0]


def parameters(experts: int, *layers: int) -> dict[str, jax.Array]:
    return {
        "gate": normal(*layers, WIDTH, experts),
        "up": normal(*layers, experts, WIDTH, HIDDEN),
        "down": normal(*layers, experts, HIDDEN, WIDTH),
    }


def trained(model: Any, scope: Any) -> Any:
    def step(state: Any, x: jax.Array, y: jax.Array) -> tuple[Any, jax.Array]:
        def loss(p: Any) -> jax.Array:
            with scope():
                return ((model(p, x) - y) ** 2).mean()

        value, gradients = jax.value_and_grad(loss)(state[0])
        updates, opt = CLIPPED.update(gradients, state[1], state[0])
        return (optax.apply_updates(state[0], updates), opt), value

    return step


def split(dims: Any = None) -> Any:
    return lambda: epl.split(device_count=2, name="all", dims=dims)


def parallelized(step: Any, devices: int, level: str = "") -> Any:
    return epl.parallelize(
        step, state="state", batch=("x", "y"), devices=devices, config={"zero.level": level}
    )


def check(
    model: Any, state: Any, tokens: int, devices: int, level: str = "", scope: Any = None
) -> tuple[Any, Any]:
    """Three steps as `jax.jit` takes them; where states are, and what each collective takes."""
    step = trained(model, scope or split())
    x, y = normal(tokens, WIDTH), normal(tokens, WIDTH) ** 2
    parallel = parallelized(step, devices, level)
    lowered = parallel.lower(state, x, y)
    assert_trains_as_jax(parallel, step, state, x, y)
    local = lowered.as_text("local")
    return shardings(local), exchanged(local)


def fresh(params: Any) -> Any:
    return params, CLIPPED.init(params)


def of_experts(states: dict[str, str]) -> set[str]:
    """Where the experts and what the optimizer keeps of them are."""
    return {where for name, where in states.items() if name.endswith(("['up']", "['down']"))}


@pytest.mark.parametrize("level", ["", "v1", "v2", "v3"])
@pytest.mark.parametrize(("devices", "experts"), [(4, 4), (8, 8)])
def test_few_tokens_go_to_experts_on_all_devices(devices: int, experts: int, level: str) -> None:
    """Slots are exchanged to experts and back, forwards and backwards; no gradient of theirs is summed."""
    states, found = check(mixture, fresh(parameters(experts)), 8, devices, level)
    assert of_experts(states) == {EVERYWHERE}
    slots = f"{experts}x8x{WIDTH}xf32"
    assert [each for each in found["all_to_all"] if each == slots] == [slots] * 4
    sums = [*found["all_reduce"], *found.get("reduce_scatter", [])]
    assert not [each for each in sums if f"{WIDTH}x{HIDDEN}" in each or f"{HIDDEN}x{WIDTH}" in each]


def test_many_tokens_stay_with_their_replica() -> None:
    states, found = check(mixture, fresh(parameters(4)), 64, 4)
    assert of_experts(states) == {OF_A_REPLICA}
    assert "all_to_all" not in found
    assert {f"4x{WIDTH}x{HIDDEN}xf32", f"4x{HIDDEN}x{WIDTH}xf32"} <= set(found["all_reduce"])


def test_experts_that_the_devices_do_not_divide_stay_with_their_replica() -> None:
    states, _ = check(mixture, fresh(parameters(2)), 8, 4)
    assert of_experts(states) == {OF_A_REPLICA}


def test_experts_that_the_user_splits_within_stay_with_their_replica() -> None:
    states, _ = check(mixture, fresh(parameters(4)), 8, 4, scope=split({"up": 2, "down": 1}))
    assert of_experts(states) == {'[{}, {}, {"model"}]', '[{}, {"model"}, {}]'}


def test_experts_of_data_parallelism_alone_stay_whole() -> None:
    states, found = check(mixture, fresh(parameters(4)), 8, 4, scope=epl.replicate)
    assert of_experts(states) == {"[{}, {}, {}]"}
    assert "all_to_all" not in found


@pytest.mark.parametrize("devices", [4, 8])
def test_experts_of_layers_in_a_loop(devices: int) -> None:
    states, _ = check(stacked, fresh(parameters(devices, 3)), 8, devices)
    assert of_experts(states) == {'[{}, {"data", "model"}, {}, {}]'}


@pytest.mark.parametrize(("first", "then", "where"), [(64, 8, OF_A_REPLICA), (8, 64, EVERYWHERE)])
def test_experts_stay_where_an_earlier_step_left_them(first: int, then: int, where: str) -> None:
    step = parallelized(trained(mixture, split()), 4)
    state, _ = step(fresh(parameters(4)), normal(first, WIDTH), normal(first, WIDTH))
    lowered = step.lower(state, normal(then, WIDTH), normal(then, WIDTH))
    assert of_experts(shardings(lowered.as_text("local"))) == {where}
