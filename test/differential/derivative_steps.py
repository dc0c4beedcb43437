"""Builds the steps of `derivatives.py` and compares what EPL computes with `jax.jit` in f64.

A step may be off by what rounding does, however its sums are ordered: as much as the exact result changes
where each parameter and each point changes by a unit in the last place of the step's own type, times a
factor, and some units of the largest element. A wrong read is off by digits. XLA compiles without its
expensive passes, which would take most of the time.
"""

from __future__ import annotations

import contextlib
import functools
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from derivatives import Derivatives, Layer, Term

ROOT = Path(__file__).parents[2]
os.environ["EPL_CACHE_DIR"] = ""
os.environ["XLA_FLAGS"] = "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"
sys.path.insert(0, str(ROOT / "python"))

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402

import epl  # noqa: E402

Field = Callable[[Any], Any]  # of a point: a scalar
POINTS, ROUNDS, RATE = 8, 2, 0.05
CHANGES = 3  # of the last place, at random, to see what rounding does
FACTOR = 64  # how much more all roundings of a step may do than one change of each number that it begins with
UNITS = 256  # of the last place of a tensor's largest element

ACTIVATIONS: dict[str, Callable[[Any], Any]] = {
    "tanh": jnp.tanh,
    "sin": jnp.sin,
    "softplus": jax.nn.softplus,
    "bell": lambda x: jnp.exp(-x * x),
    "square": lambda x: 0.25 * x * x,
}


# The network


def _apply(layer: Layer, p: list[Any], x: Any) -> Any:
    activate = ACTIVATIONS[layer.activation]
    if layer.kind == "norm":
        centered = x - x.mean()
        return centered / jnp.sqrt((centered * centered).mean() + 0.5) * p[0]
    h = x @ p[0] + (p[-1] if layer.bias else 0)
    if layer.kind == "gate":
        return activate(h) * jax.nn.sigmoid(x @ p[1])
    if layer.kind == "waves":
        return jnp.concatenate([jnp.sin(h), jnp.cos(h)])
    return x + activate(h) if layer.kind == "residual" else activate(h)


def _make_parameters(layer: Layer, width: int, numbers: np.random.Generator) -> tuple[list[Any], int]:
    """Of a layer behind one of a width, and its own width."""
    if layer.kind == "norm":
        return [1 + 0.1 * numbers.normal(size=width)], width
    made = width if layer.kind == "residual" or not layer.wide else 2 * width
    weights = [numbers.normal(0, width**-0.5, (width, made)) for _ in range(1 + (layer.kind == "gate"))]
    bias = [0.3 * numbers.normal(size=made)] if layer.bias else []
    return [*weights, *bias], 2 * made if layer.kind == "waves" else made


def make_state(step: Derivatives) -> dict[str, Any]:
    """Parameters and what the update keeps, in f64."""
    numbers = np.random.default_rng(step.seed)
    layers = [[numbers.normal(0, 0.7, (step.coordinates, step.width))]]
    width = step.width
    for layer in step.layers:
        parameters, width = _make_parameters(layer, width, numbers)
        layers.append(parameters)
    params = {"layers": layers, "out": numbers.normal(0, width**-0.5, (width, 1))}
    return {"params": params, "momentum": jax.tree.map(np.zeros_like, params)}


def make_points(step: Derivatives) -> dict[str, Any]:
    """Three sets of points, in f64."""
    numbers = np.random.default_rng(step.seed + 1)
    return {name: numbers.normal(size=(POINTS, step.coordinates)) for name in ("batch", "other", "constant")}


def _network(step: Derivatives, params: Any, z: Any) -> Any:
    x = z @ params["layers"][0][0]
    for layer, parameters in zip(step.layers, params["layers"][1:], strict=True):
        x = _apply(layer, parameters, x)
    return (x @ params["out"])[0]


# Fields of fields


def _derive(operator: str, field: Field, u: Field, z: Any) -> Any:
    """The value at `z` of what an operator makes of a field."""
    direction = jnp.asarray([1.0, -0.5, 0.25], z.dtype)[: z.size]
    made: dict[str, Callable[[], Any]] = {
        "jvp": lambda: jax.jvp(field, (z,), (direction,))[1],
        "grad": lambda: jax.grad(field)(z)[-1],
        "vjp": lambda: jax.vjp(field, z)[1](jnp.ones((), z.dtype))[0] @ direction,
        "jacfwd": lambda: jax.jacfwd(field)(z)[0],
        "laplacian": lambda: jnp.trace(jax.hessian(field)(z)),
        "mixed": lambda: jax.jacrev(jax.jacfwd(field))(z)[0, -1],
        "square": lambda: field(z) ** 2,
        "times_u": lambda: field(z) * u(z),
        "remat": lambda: jax.checkpoint(field)(z),
    }
    return made[operator]()


def _mean_of_squares(step: Derivatives, term: Term, params: Any, points: Any) -> Any:
    u = functools.partial(_network, step, params)
    field: Field = u
    for operator in term.operators:
        field = functools.partial(_derive, operator, field, u)
    values = jax.vmap(field)
    if term.nested:
        shifts = jnp.asarray([0.0, 0.5], points.dtype)
        return (jax.vmap(lambda shift: values(points + shift))(shifts) ** 2).mean()
    return (values(points) ** 2).mean()


# The step

SCOPES: dict[str, Callable[[int], Any]] = {
    "replicate": lambda devices: epl.replicate(),
    "split": lambda devices: epl.split(device_count=devices),
    "none": lambda devices: contextlib.nullcontext(),
}


def build(step: Derivatives) -> Callable[..., Any]:
    """The step: (state, batch, other, constant) -> (state, loss)."""
    split = 1 if step.apart and len(step.scopes) > 1 else step.devices

    def loss(params: Any, points: Any) -> Any:
        total = 0.0
        for term in step.terms:
            with SCOPES[term.scope](split):
                total = total + _mean_of_squares(step, term, params, points[term.points])
        return total

    def run(state: Any, batch: Any, other: Any, constant: Any) -> Any:
        points = {"batch": batch, "other": other, "constant": constant}
        value, direction = _get_direction(step.update, functools.partial(loss, points=points), state)
        direction = _bound(direction)
        params = jax.tree.map(lambda p, d: p - RATE * d, state["params"], direction)
        return {"params": params, "momentum": direction}, value

    return run


def _bound(direction: Any) -> Any:
    """At most of length one, as gradients of high derivatives are clipped."""
    length = jnp.sqrt(sum((leaf * leaf).sum() for leaf in jax.tree.leaves(direction)) + 1)
    return jax.tree.map(lambda leaf: leaf / length, direction)


def _get_direction(update: str, loss: Callable[[Any], Any], state: Any) -> tuple[Any, Any]:
    """The loss, and where the parameters go."""
    params = state["params"]
    value, gradient = jax.value_and_grad(loss)(params)
    if update == "momentum":
        return value, jax.tree.map(lambda m, g: 0.5 * m + g, state["momentum"], gradient)
    if update == "curvature":  # along the gradient
        along = jax.jvp(jax.grad(loss), (params,), (_bound(gradient),))[1]
        return value, jax.tree.map(lambda g, c: g + 0.1 * c, gradient, along)
    if update == "lookahead":  # the gradient behind a step, by the parameters before it
        ahead = lambda p: loss(jax.tree.map(lambda a, b: a - RATE * b, p, _bound(jax.grad(loss)(p))))  # noqa: E731
        return value, jax.grad(ahead)(params)
    return value, gradient


# The comparison


def find_difference(step: Derivatives) -> str | None:
    """What EPL computes otherwise than `jax.jit`, if anything."""
    config = {
        "zero.level": "" if step.zero in ("off", "owners") else step.zero,
        "zero.owner": "parameter" if step.zero == "owners" else "",
        "cluster.colocate_split_and_replicate": not step.apart,
    }
    parallel = epl.parallelize(
        build(step), state="state", batch=("batch", "other"), devices=step.devices, config=config
    )
    with jax.enable_x64(True):
        jitted = jax.jit(build(step))
        inputs = jax.tree.map(lambda leaf: leaf.astype(step.dtype), (make_state(step), make_points(step)))
        found = _train(parallel, inputs)
        exact = _train(jitted, _widen(inputs))
        changed = [_train(jitted, _change(inputs, step.dtype, seed)) for seed in range(CHANGES)]
    for index, (a, b, *c) in enumerate(zip(found, exact, *changed, strict=True)):
        if difference := _compare(a, b, np.asarray(c), step.dtype):
            return f"leaf {index} of state and losses: {difference}"
    return None


def _widen(inputs: Any) -> Any:
    return jax.tree.map(lambda leaf: leaf.astype("float64"), inputs)


def _change(inputs: Any, dtype: str, seed: int) -> Any:
    """Each number a unit in the last place of `dtype` larger or smaller, in f64."""
    numbers, unit = np.random.default_rng(seed), np.finfo(dtype).eps
    return jax.tree.map(lambda leaf: leaf * (1 + unit * numbers.choice([-1, 1], leaf.shape)), _widen(inputs))


def _train(run: Callable[..., Any], inputs: tuple[Any, Any]) -> list[np.ndarray[Any, Any]]:
    """State and losses of some rounds, as one list."""
    state, points = inputs
    losses = []
    for _ in range(ROUNDS):
        state, loss = run(state, *points.values())
        losses.append(loss)
    return [np.asarray(leaf) for leaf in jax.tree.leaves((state, losses))]


def _compare(found: Any, exact: Any, changed: Any, dtype: str) -> str | None:
    if (str(found.dtype), found.shape) != (dtype, exact.shape):
        return f"expected {dtype} {exact.shape}, found {found.dtype} {found.shape}"
    if not np.isfinite(changed).all():  # such steps are no measure
        return None
    units = UNITS * float(np.finfo(dtype).eps) * max(float(np.abs(exact).max()), 1e-2)
    allowed = FACTOR * float(np.abs(changed - exact).max()) + units
    error = np.abs(found - exact).max()
    if not error <= allowed:
        return f"expected within {allowed:.3g} of\n{exact}\nfound off by {error:.3g}:\n{found}"
    return None
