"""Steps that are traced and refused, scopes, padding, and keys: what the error says to write, works."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import epl
from steps import Mistake, assert_near, assert_what_the_error_says_works

X = np.arange(21, dtype=np.float32).reshape(7, 3)
STATE = jnp.arange(3.0)


def run(function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """A step on two devices, compared with `jax.jit`."""
    found = epl.parallelize(function, devices=2, **{"batch": "x", **options})(*arguments)
    assert_near(found, jax.jit(function)(*arguments), 1e-5)
    return found


def padded(function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """A step whose batch is padded, compared with the step on the batch as it is."""
    found = epl.parallelize(function, devices=2, pad_batch=True, **{"batch": "x", **options})(*arguments)
    masks = {"mask": np.ones(len(arguments[-1]), bool)}
    assert_near(found, jax.jit(function)(*arguments, **masks), 1e-5)
    return found


def nested(x: Any) -> Any:
    with epl.replicate(name="outer"):
        x = x * 2
        with epl.replicate(name="inner"):
            return x.sum()


def one_after_another(x: Any) -> Any:
    with epl.replicate(name="both"):
        x = x * 2
    with epl.replicate(name="both"):
        return x.sum()


def two_kinds(x: Any, second: Any) -> Any:
    with epl.replicate(name="a"):
        x = x * 2
    with second:
        return x.sum()


def with_a_default(x: Any) -> Any:
    epl.set_default_strategy(epl.replicate())
    return x.sum()


def within(x: Any) -> Any:
    with epl.replicate():
        return x.sum()


def gradient_of_a_step(state: Any) -> Any:
    step = epl.parallelize(lambda state, x: (x * state).sum(), batch="x", devices=2)
    return jax.grad(lambda state: step(state, X))(state)


def step_of_a_gradient(state: Any, x: Any) -> Any:
    return jax.grad(lambda state: (x * state).sum())(state)


def constrained_keys(x: Any) -> Any:
    keys = epl.constrain(jax.random.split(jax.random.key(0), len(x)), {0: "data"})
    return jax.vmap(jax.random.normal)(keys) + x.sum(1)


def constrained_numbers(x: Any) -> Any:
    keys = jax.random.split(jax.random.key(0), len(x))
    return epl.constrain(jax.vmap(jax.random.normal)(keys), {0: "data"}) + x.sum(1)


def per_sample(last: Any, x: Any, mask: Any) -> Any:
    return x * mask[:, None], jnp.sum((x - last[0]).sum(1) * mask)


def of_the_batch(last: Any, x: Any, mask: Any) -> Any:
    return jnp.sum((x - last).sum(1) * mask)


def run_unpadded() -> Any:
    return padded(lambda x, mask: x - x.mean(0), X[:6])


CASES: list[Mistake] = [
    (
        "scopes that nest",
        lambda: run(nested, X[:6]),
        "scopes do not nest, leave the outer one first",
        lambda: run(one_after_another, X[:6]),
    ),
    (
        "one name for two kinds",
        lambda: run(lambda x: two_kinds(x, epl.split(name="a")), X[:6]),
        'scope "a" is .*: one name means one kind, one device count',
        lambda: run(lambda x: two_kinds(x, epl.replicate(name="a")), X[:6]),
    ),
    (
        "a default inside of a step",
        lambda: run(with_a_default, X[:6]),
        r"no end inside a traced step: write `with epl.replicate\(.*\):` round the code",
        lambda: run(within, X[:6]),
    ),
    (
        "a step under grad",
        lambda: gradient_of_a_step(STATE),
        "cannot be called under jax.jit, .*: put the transformation inside the step",
        lambda: run(step_of_a_gradient, STATE, X[:6]),
    ),
    (
        "a constraint on keys",
        lambda: run(constrained_keys, X[:6]),
        "constrain takes numbers, found key<fry>.*: constrain what is drawn with the key",
        lambda: run(constrained_numbers, X[:6]),
    ),
    (
        "no mask",
        lambda: padded(lambda x: x.sum(), X),
        r'has no parameter "mask": add it, .*, for example jnp.sum\(loss \* mask\) / jnp.sum\(mask\)',
        lambda: padded(lambda x, mask: jnp.sum(x.sum(1) * mask) / jnp.sum(mask), X),
    ),
    (
        "a mask that is left unused",
        lambda: padded(lambda x, mask: x.sum(), X),
        'does not use its "mask", and what it makes of all samples would depend on those that',
        lambda: padded(lambda x, mask: jnp.sum(x.sum(1) * mask), X),
    ),
    (
        "a mask in front",
        lambda: padded(lambda mask, x: jnp.sum(x.sum(1) * mask), X),
        'a call may leave out "mask" of .*: put it behind the parameters that have no default',
        lambda: padded(lambda x, mask: jnp.sum(x.sum(1) * mask), X),
    ),
    (
        "no batch",
        lambda: padded(lambda x, mask: jnp.sum(x.sum(1) * mask), X, batch=()),
        "has no batch, name its parameters in batch",
        lambda: padded(lambda x, mask: jnp.sum(x.sum(1) * mask), X, batch="x"),
    ),
    (
        "the size as a number",
        lambda: padded(lambda x, mask: jnp.sum(x.reshape(8, 3, 1).sum((1, 2)) * mask), X),
        "takes no batch of 16 samples .*: write the size of the batch, not a number",
        lambda: padded(lambda x, mask: jnp.sum(x.reshape(len(x), 3, 1).sum((1, 2)) * mask), X),
    ),
    (
        "samples and their features in one dimension",
        lambda: padded(lambda x, mask: (x * mask[:, None]).ravel(), X),
        r"has the shape \[24\] for 8 samples and .*: return what is per sample in a dimension of its own",
        lambda: padded(lambda x, mask: x * mask[:, None], X),
    ),
    (
        "statistics of the batch",
        lambda: padded(lambda x, mask: x - x.mean(0), X),
        r'"result\[0\]" of _lambda_ depends on what a batch is padded with: weigh with "mask" what is',
        lambda: [padded(lambda x, mask: x - (x * mask[:, None]).sum(0) / mask.sum(), X), run_unpadded()],
    ),
    (
        "statistics in a loss",
        lambda: padded(lambda x, mask: (x * x.mean(0) * mask[:, None]).sum(), X),
        "depends on what a batch is padded with: weigh with",
        lambda: padded(lambda x, mask: ((x * mask[:, None]).sum(0) ** 2 / mask.sum()).sum(), X),
    ),
    (
        "a state per sample",
        lambda: padded(per_sample, X[:6], X[:6], state="last"),
        "is a state per sample, which cannot be padded: make it a batch",
        lambda: padded(of_the_batch, X, X, batch=("last", "x")),
    ),
]


@pytest.mark.parametrize("case", CASES, ids=[name for name, *_ in CASES])
def test_what_the_error_says_works(case: Mistake) -> None:
    assert_what_the_error_says_works(case)


def test_a_size_as_a_number_that_jax_refuses() -> None:
    def step(x: Any, mask: Any) -> Any:
        return jnp.sum(x.reshape(7, 3, 1).sum((1, 2)) * mask)

    with pytest.raises(TypeError, match="cannot reshape") as caught:
        padded(step, X)
    assert caught.value.__notes__[-1] == (
        "pad_batch: step is traced with a batch of 8 samples for one of 7: write the size of the batch, not "
        "a number, and make what is per sample a batch"
    )
    padded(lambda x, mask: jnp.sum(x.reshape(len(x), 3, 1).sum((1, 2)) * mask), X)
