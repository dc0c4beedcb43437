"""Learning rates that ops compute from the number of the run.

The number is a persistable variable that all schedules of a program count up together, once for each run.
Fluid has blocks for what differs from step to step; here both values are computed, and one is chosen.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from epl.errors import ArgumentError
from epl.fluid.layers.builder import Builder, Variable, paddle
from epl.fluid.layers.registry import LAYERS, layer

COUNTER = "@LR_DECAY_COUNTER@"


@layer
def autoincreased_step_counter(counter_name: str | None = None, begin: int = 1, step: int = 1) -> Any:
    """The number of the run, an integer of 64 bits: `begin` in the first one, `step` more in each next."""
    name = "@STEP_COUNTER@" if counter_name is None else counter_name
    program = paddle.static.default_main_program()
    if program.global_block().has_var(name):
        return program.global_block().var(name)
    helper = paddle.base.layer_helper.LayerHelper("global_step_counter")
    counter, _ = helper.create_or_get_global_variable(
        name=name, dtype="int64", shape=[1], persistable=True, belong_to_optimizer=True
    )
    helper.set_variable_initializer(counter, paddle.nn.initializer.Constant(float(begin - step)))
    program.global_block()._prepend_op(
        type="increment", inputs={"X": [counter]}, outputs={"Out": [counter]}, attrs={"step": float(step)}
    )
    counter.stop_gradient = True
    return counter


@contextlib.contextmanager
def _schedule() -> Iterator[None]:
    """Ops are of the learning rate: they run once, not on each device's part of the batch."""
    with paddle.static.default_main_program()._lr_schedule_guard():
        yield


def _scheduled(compute: Callable[[], Any]) -> Any:
    with _schedule():
        return compute()


def _run(begin: int = 0) -> Any:
    return LAYERS["cast"](autoincreased_step_counter(COUNTER, begin), "float32")


def _number(value: float) -> Any:
    return LAYERS["fill_constant"]([1], "float32", float(value))


def _choice(condition: Any, yes: Any, no: Any) -> Any:
    return Builder("where").op("where", {"Condition": condition, "X": yes, "Y": no})


def _decays(decay_steps: int, staircase: bool) -> Any:
    """How often a rate has decayed, with a fraction if it is no staircase."""
    count = _run() / float(decay_steps)
    return LAYERS["floor"](count) if staircase else count


@layer
def noam_decay(d_model: float, warmup_steps: float, learning_rate: Any = 1.0) -> Any:
    """Grows for some runs, and falls with the root of the run then; scaled by a model's width."""

    def compute() -> Any:
        run = _run(1)
        least = LAYERS["elementwise_min"](run**-0.5, run * float(warmup_steps) ** -1.5)
        return least * float(d_model) ** -0.5 * learning_rate

    return _scheduled(compute)


@layer
def exponential_decay(
    learning_rate: float, decay_steps: int, decay_rate: float, staircase: bool = False
) -> Any:
    """learning_rate * decay_rate ** (run / decay_steps)."""

    def compute() -> Any:
        power = LAYERS["elementwise_pow"](_number(decay_rate), _decays(decay_steps, staircase))
        return power * float(learning_rate)

    return _scheduled(compute)


@layer
def natural_exp_decay(
    learning_rate: float, decay_steps: int, decay_rate: float, staircase: bool = False
) -> Any:
    """learning_rate * exp(-decay_rate * run / decay_steps)."""

    def compute() -> Any:
        return LAYERS["exp"](_decays(decay_steps, staircase) * -float(decay_rate)) * float(learning_rate)

    return _scheduled(compute)


@layer
def inverse_time_decay(
    learning_rate: float, decay_steps: int, decay_rate: float, staircase: bool = False
) -> Any:
    """learning_rate / (1 + decay_rate * run / decay_steps)."""

    def compute() -> Any:
        below = LAYERS["scale"](_decays(decay_steps, staircase), decay_rate, 1.0)
        return _number(learning_rate) / below

    return _scheduled(compute)


@layer
def polynomial_decay(
    learning_rate: float,
    decay_steps: int,
    end_learning_rate: float = 0.0001,
    power: float = 1.0,
    cycle: bool = False,
) -> Any:
    """Falls to an end in so many runs, along a power of what is left of them.

    Args:
      cycle: whether it begins anew then, in twice, three times as many runs.
    """

    def compute() -> Any:
        run, steps = _run(), _number(decay_steps)
        if cycle:
            begun = LAYERS["elementwise_max"](LAYERS["ceil"](run / float(decay_steps)), _number(1))
            steps = steps * begun
        else:
            run = LAYERS["elementwise_min"](run, steps)
        left = LAYERS["pow"](LAYERS["scale"](run / steps, -1.0, 1.0), float(power))
        return LAYERS["scale"](left, learning_rate - end_learning_rate, end_learning_rate)

    return _scheduled(compute)


@layer
def piecewise_decay(boundaries: Sequence[int], values: Sequence[float]) -> Any:
    """One rate before each of some runs, and the last one from the last of these on."""
    if len(values) != len(boundaries) + 1:
        raise ArgumentError(
            f"layers.piecewise_decay: expected one value more than the {len(boundaries)} boundaries, found "
            f"{len(values)}"
        )

    def compute() -> Any:
        run, rate = _run(), _number(values[-1])
        for end, value in zip(reversed(boundaries), reversed(values[:-1]), strict=True):
            rate = _choice(LAYERS["less_than"](run, _number(end)), _number(value), rate)
        return rate

    return _scheduled(compute)


@layer
def cosine_decay(learning_rate: float, step_each_epoch: int, epochs: int) -> Any:
    """Falls to zero in so many epochs along half a cosine, epoch by epoch."""

    def compute() -> Any:
        epoch = LAYERS["floor"](_run() / float(step_each_epoch))
        cosine = LAYERS["cos"](epoch * (math.pi / epochs))
        return LAYERS["scale"](cosine, 0.5 * learning_rate, 0.5 * learning_rate)

    return _scheduled(compute)


@layer
def linear_lr_warmup(learning_rate: Any, warmup_steps: int, start_lr: float, end_lr: float) -> Any:
    """A line for some runs, then a number or another schedule."""

    def compute() -> Any:
        run = _run()
        line = LAYERS["scale"](run, (end_lr - start_lr) / warmup_steps, start_lr)
        rate = learning_rate if isinstance(learning_rate, Variable) else _number(learning_rate)
        return _choice(LAYERS["less_than"](run, _number(warmup_steps)), line, rate)

    return _scheduled(compute)
