"""Optimizers of epl.fluid: their steps, learning rates, penalties and clips, by Fluid's formulas."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

pytest.importorskip("paddle")

import epl
from epl.fluid import clip, initializer, layers, optimizer, regularizer
from epl.fluid.param_attr import ParamAttr
from fluid_programs import Built, X, building, close, static
from paddle_modules import module

SCHEDULES = module("fluid_schedules").SCHEDULES
# Paddle says so of each operator whose second operand has a batch.
pytestmark = pytest.mark.filterwarnings("ignore:(?s).*has been unified with:DeprecationWarning")


@pytest.fixture
def built() -> Iterator[Built]:
    with building() as found:
        yield found


def weights(name: str, value: float = 1.0, **attributes: Any) -> Any:
    attr = ParamAttr(name, initializer.Constant(value), **attributes)
    return layers.create_parameter([3], "float32", attr=attr)


def slope(*parameters: Any) -> Any:
    """A loss whose gradient of each parameter is X."""
    given = layers.data("x", [3])
    return layers.reduce_sum(layers.sums([given * each for each in parameters]))


def step(built: Built, runs: int = 1) -> dict[str, Any]:
    """The variables after some runs by EPL, which are those that Paddle has."""
    state = built.begin()
    for _ in range(runs):
        built.by_paddle({"x": X}, [])
        after, _ = built.by_epl(state, {"x": X}, [])
        state = {**state, **after}
    for name, value in built.values().items():
        close(np.reshape(state[name], value.shape), value, name)
    return state


def test_a_step_of_sgd_with_all_that_parameters_say(built: Built) -> None:
    plain, slow, cut = weights("plain"), weights("slow", learning_rate=0.5), weights("cut")
    small = weights("small", regularizer=regularizer.L1Decay(0.25))
    fixed = weights("fixed", trainable=False)
    clip.set_gradient_clip(clip.GradientClipByValue(0.5), ["cut"])
    made, pairs = optimizer.SGD(0.1, regularization=regularizer.L2Decay(0.5)).minimize(
        slope(plain, slow, cut, small, fixed)
    )
    assert [op.type for op in made].count("sgd") == 4
    assert sorted(parameter.name for parameter, _ in pairs) == ["cut", "plain", "slow", "small"]
    after = step(built)
    close(after["plain"], 1 - 0.1 * (X[0] + 0.5))
    close(after["slow"], 1 - 0.05 * (X[0] + 0.5))
    close(after["cut"], 1 - 0.1 * (np.clip(X[0], -0.5, 0.5) + 0.5))
    close(after["small"], 1 - 0.1 * (X[0] + 0.25))
    assert after["learning_rate_0"].shape == (1,)


def test_parameters_are_chosen(built: Built) -> None:
    a, b, c = (weights(name) for name in "abc")
    optimizer.SGD(0.1).minimize(slope(a, b, c), parameter_list=["a", b], no_grad_set={"b"})
    assert [op.attr("op_role_var")[0] for op in built.main.global_block().ops if op.type == "sgd"] == ["a"]


CLIPS: dict[str, tuple[Callable[[], Any], Any]] = {
    "value": (lambda: clip.GradientClipByValue(2.0, -1.0), [np.clip(X[0], -1, 2)] * 2),
    "norm": (lambda: clip.GradientClipByNorm(2.0), [X[0] * 2 / 14**0.5] * 2),
    "global": (lambda: clip.GradientClipByGlobalNorm(2.0), [X[0] * 2 / 28**0.5] * 2),
    "small": (lambda: clip.GradientClipByGlobalNorm(9.0), [X[0]] * 2),
    "chosen": (
        lambda: clip.GradientClipByGlobalNorm(2.0, need_clip=lambda parameter: parameter.name == "b"),
        [X[0], X[0] * 2 / 14**0.5],
    ),
}


@pytest.mark.parametrize("how", ["optimizer", "set_gradient_clip", "param_attr"])
@pytest.mark.parametrize("kind", CLIPS)
def test_gradients_are_cut(built: Built, kind: str, how: str) -> None:
    make, expected = CLIPS[kind]
    cut = make()
    attributes = {"gradient_clip": cut} if how == "param_attr" else {}
    loss = slope(weights("a", **attributes), weights("b", **attributes))
    if how == "set_gradient_clip":
        clip.set_gradient_clip(cut)
    optimizer.SGD(1.0, grad_clip=cut if how == "optimizer" else None).minimize(loss)
    after = step(built)
    close(after["a"], 1 - expected[0])
    close(after["b"], 1 - expected[1])


def test_a_learning_rate_that_is_computed(built: Built) -> None:
    rate = layers.piecewise_decay([1, 2], [0.5, 0.25, 0.125])
    a, b = weights("a"), weights("b", learning_rate=2.0)
    loss = slope(a, b)
    optimizer.SGD(rate).minimize(loss)
    after = step(built, runs=3)
    close(after["a"], 1 - (0.5 + 0.25 + 0.125) * X[0])
    close(after["b"], 1 - 2 * (0.5 + 0.25 + 0.125) * X[0])
    assert int(after["@LR_DECAY_COUNTER@"][0]) == 2
    with static.program_guard(static.Program(), static.Program()):
        other = slope(weights("c"))
        with pytest.raises(
            epl.ArgumentError, match=r'the learning_rate ".*" is of another program than the loss'
        ):
            optimizer.SGD(rate).minimize(other)


def adam(beta: float = 0.9, other: float = 0.999) -> Any:
    return 0.1 * X[0] * (1 - beta) / (1 - beta) / np.abs(X[0]) / (1 - other) ** 0.5 * (1 - other) ** 0.5


FIRST_STEPS: dict[str, tuple[Callable[[], Any], Any]] = {
    "SGD": (lambda: optimizer.SGDOptimizer(0.1), 0.1 * X[0]),
    "Momentum": (lambda: optimizer.MomentumOptimizer(0.1, 0.9), 0.1 * X[0]),
    "Nesterov": (lambda: optimizer.Momentum(0.1, 0.9, use_nesterov=True), 0.1 * 1.9 * X[0]),
    "Adagrad": (
        lambda: optimizer.AdagradOptimizer(0.1, initial_accumulator_value=1.0),
        0.1 * X[0] / (1 + X[0] ** 2) ** 0.5,
    ),
    "Adam": (lambda: optimizer.AdamOptimizer(0.1), 0.1 * np.sign(X[0])),
    "Adamax": (lambda: optimizer.AdamaxOptimizer(0.1), 0.1 * np.sign(X[0])),
    "DecayedAdagrad": (
        lambda: optimizer.DecayedAdagradOptimizer(0.1, 0.75),
        0.1 * X[0] / (0.25 * X[0] ** 2) ** 0.5,
    ),
    "Adadelta": (
        lambda: optimizer.AdadeltaOptimizer(0.1, 1e-2, 0.75),
        0.1 * X[0] * (1e-2 / (0.25 * X[0] ** 2 + 1e-2)) ** 0.5,
    ),
    "RMSProp": (lambda: optimizer.RMSPropOptimizer(0.1, 0.75), 0.1 * X[0] / (0.25 * X[0] ** 2) ** 0.5),
    "Ftrl": (lambda: optimizer.FtrlOptimizer(0.1), 1 - (np.abs(X[0]) / 0.1 - X[0]) / (np.abs(X[0]) / 0.1)),
    "LarsMomentum": (
        lambda: optimizer.LarsMomentumOptimizer(0.1, 0.9, 0.01, 0.5),
        0.1 * 0.01 * 3**0.5 / (14**0.5 + 0.5 * 3**0.5) * (X[0] + 0.5),
    ),
    "Lamb": (
        lambda: optimizer.LambOptimizer(0.1, 0.5),
        0.1 * 3**0.5 / np.linalg.norm(np.sign(X[0]) + 0.5) * (np.sign(X[0]) + 0.5),
    ),
}


@pytest.mark.parametrize("kind", FIRST_STEPS)
def test_the_first_step_of_an_optimizer(built: Built, kind: str) -> None:
    make, expected = FIRST_STEPS[kind]
    make().minimize(slope(weights("w")))
    np.testing.assert_allclose(step(built)["w"], 1 - expected, rtol=1e-4)
    assert kind == "Nesterov" or getattr(optimizer, kind) is getattr(optimizer, f"{kind}Optimizer")


def test_rows_that_a_run_does_not_use(built: Built) -> None:
    """Adam in lazy mode leaves them, and the moments that they have, as they are."""
    ids = layers.data("ids", [1], dtype="int64")
    rows = layers.embedding(
        ids, [4, 2], is_sparse=True, param_attr=ParamAttr("table", initializer.Constant(1.0))
    )
    optimizer.Adam(0.1, lazy_mode=True).minimize(layers.mean(rows))
    state = built.begin()
    for numbers in ([0, 1], [1, 2]):
        feed = {"ids": np.int64(numbers)[:, None]}
        built.by_paddle(feed, [])
        after, _ = built.by_epl(state, feed, [])
        state = {**state, **after}
    close(state["table"], built.values()["table"])
    assert state["table"][0, 0] > state["table"][1, 0]
    assert state["table"][3, 0] == 1


def schedule(name: str, run: int) -> float:
    """The learning rate of a run, by the formulas of Fluid's documents."""
    left = {
        "noam": lambda: 2.0 * 64**-0.5 * min((run + 1) ** -0.5, (run + 1) * 3**-1.5),
        "exponential": lambda: 0.5 * 0.7 ** (run / 3),
        "staircase": lambda: 0.5 * 0.7 ** (run // 3),
        "natural": lambda: 0.5 * np.exp(-0.7 * run / 3),
        "inverse": lambda: 0.5 / (1 + 0.7 * run / 3),
        "polynomial": lambda: 0.4 * (1 - min(run, 2) / 2) ** 2 + 0.1,
        "cycle": lambda: 0.4 * (1 - run / (2 * max(np.ceil(run / 2), 1))) ** 2 + 0.1,
        "piecewise": lambda: 0.5 if run < 1 else 0.2 if run < 3 else 0.1,
        "cosine": lambda: 0.25 * (np.cos(run // 2 * np.pi / 3) + 1),
        "warmup": lambda: 0.1 + 0.2 * run if run < 2 else 0.5 * 0.7 ** (run / 3),
        "warmup_to_a_number": lambda: 0.1 + 0.06 * run if run < 5 else 0.5,
    }
    return float(left[name]())


@pytest.mark.parametrize("name", SCHEDULES)
def test_a_schedule(built: Built, name: str) -> None:
    rate = SCHEDULES[name]()
    state, found, expected = built.begin(), [], []
    for run in range(6):
        (by_paddle,) = built.by_paddle({}, [rate])
        state, (value,) = built.by_epl(state, {}, [rate])
        assert value.shape == by_paddle.shape == (1,)
        np.testing.assert_allclose(value, by_paddle, rtol=1e-5)
        found.append(float(value[0]))
        # Fluid counts runs of noam_decay from 1, where it is the only schedule; so it is here.
        expected.append(schedule(name, run))
    np.testing.assert_allclose(found, expected, rtol=1e-5)
