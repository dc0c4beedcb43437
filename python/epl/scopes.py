"""Parallel scopes: `with epl.replicate():`, `with epl.split(device_count=2):`, `with epl.auto_stages(4):`.

While no step is being parallelized (eager code, the user's own `jax.jit`, no `epl.init`) a scope is a plain
`jax.named_scope` and changes nothing. How a scope reaches the compiler: `scope_table.py`.

Identity: every unnamed entry is a new task graph, entries with the same `name=` are the same one.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import re
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Generic, NoReturn, ParamSpec, Self, TypeVar

from epl.adapters.jax import hooks
from epl.errors import ScopeError
from epl.places import calling_place
from epl.scope_table import Kind, Strategy, entered_per_micro_batch, open_step, outside_of_steps
from epl.values import as_integer

_NAME = re.compile(r"[A-Za-z0-9_.-]+")
_default: Strategy | None = None


class _Block(contextlib.AbstractContextManager[Any], contextlib.ContextDecorator):
    """What enters with `with`, or at each call of a function that it decorates.

    It may be entered several times, each time as if it were written anew.
    """

    def __init__(self) -> None:
        self._open: list[contextlib.AbstractContextManager[None]] = []

    def _make(self) -> contextlib.AbstractContextManager[None]:
        """What one entry enters."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        block = self._make()
        block.__enter__()
        self._open.append(block)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._open.pop().__exit__(kind, error, traceback)


class Scope(_Block):
    """A scope to enter with `with`, or to decorate a function with, each call of which enters it.

    It may be entered several times, each time as if it were written anew.
    """

    def __init__(self, strategy: Strategy) -> None:
        super().__init__()
        self.strategy = strategy

    def _make(self) -> contextlib.AbstractContextManager[None]:
        table = open_step()
        strategy = dataclasses.replace(self.strategy, place=calling_place())
        return table.entered(strategy) if table else outside_of_steps(strategy)

    def __repr__(self) -> str:
        return str(self.strategy)


def _scope(
    kind: Kind, device_count: int, name: str | None, dims: Mapping[str, int | None] | None = None
) -> Scope:
    count = _count(kind.value, "device_count", device_count)
    return Scope(Strategy(kind, count, _checked_name(kind.value, name), _constraints(dims)))


def _count(maker: str, parameter: str, given: int) -> int:
    """A number of devices or stages; `maker` is the function that makes the scope."""
    count = as_integer(given)
    if count is None:
        raise ScopeError(
            f"{parameter} of epl.{maker} must be an integer, found {given!r}{_meant(maker, given)}"
        )
    if count < 1:
        raise ScopeError(f"{parameter} of epl.{maker} must be at least 1, found {count}")
    return count


def _checked_name(maker: str, name: str | None) -> str:
    if name is not None and not (isinstance(name, str) and _NAME.fullmatch(name)):
        raise ScopeError(f"name of epl.{maker} may hold letters, digits and _ . - only, found {name!r}")
    return name or ""


def _meant(maker: str, given: object) -> str:
    """What to write instead of what was given as a count."""
    count = "2" if maker == "auto_stages" else ""
    if isinstance(given, str) and given.strip().isdigit():
        return f": write epl.{maker}({int(given)})"
    if isinstance(given, str):
        return f': write epl.{maker}({count and count + ", "}name="{given}")'
    return f": decorate with @epl.{maker}({count})" if callable(given) else ""


def _constraints(dims: Mapping[str, int | None] | None) -> tuple[tuple[str, int | None], ...]:
    if not isinstance(dims, Mapping | None):
        raise ScopeError(f'dims of epl.split must be a dict such as {{"wq": 1}}, found {dims!r}')
    for pattern, dim in (dims or {}).items():
        if not isinstance(pattern, str) or not pattern:
            raise ScopeError(f"dims of epl.split names parameters by strings, found {pattern!r}")
        if dim is not None and as_integer(dim) is None:
            raise ScopeError(f'dims of epl.split: "{pattern}" must be a dimension or None, found {dim!r}')
    return tuple((pattern, as_integer(dim)) for pattern, dim in (dims or {}).items())


_Parameters = ParamSpec("_Parameters")
_Made = TypeVar("_Made")


class _MakesScope(Generic[_Parameters, _Made]):
    """`epl.replicate` and its like: functions that say so if `with` gets them without being called."""

    def __init__(self, function: Callable[_Parameters, _Made]) -> None:
        self._function = function
        functools.update_wrapper(self, function)

    def __call__(self, *args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Made:
        return self._function(*args, **kwargs)

    def __enter__(self) -> NoReturn:
        name = self._function.__name__
        raise ScopeError(f"`with epl.{name}:` enters no scope: call it, `with epl.{name}():`")

    def __exit__(self, *_: object) -> None:
        raise AssertionError("what cannot be entered is not left")

    def __repr__(self) -> str:
        return f"epl.{self._function.__name__}"


@_MakesScope
def replicate(device_count: int = 1, name: str | None = None) -> Scope:
    """Scope whose operations are copied: each copy works on its part of the batch.

    Of several scopes in one step each has devices of its own; see `epl.split`.

    Args:
      device_count: devices that one copy takes, at least 1; they slice its part of the batch among them. It
        must divide the number of devices.
      name: entries with the same name are one task graph; letters, digits, `_`, `.` and `-`.

    Raises:
      ScopeError: for a bad count or name, and on entry inside another scope.
    """
    return _scope(Kind.REPLICATE, device_count, name)


@_MakesScope
def split(
    device_count: int = 1, name: str | None = None, dims: Mapping[str, int | None] | None = None
) -> Scope:
    """Scope whose operations are split over `device_count` devices (tensor parallelism).

    Along which dimension each parameter is split is searched for: the devices compute least, then exchange
    least. `dims` says it for some of them, `epl.split(device_count=2, dims={"wq": 1, "wo": 0})`; the search
    decides about the others. Experts that are split are spread over replicas as well, where that exchanges
    less: every device has some of them, and tokens travel.

    Each scope of a step has devices of its own, in the order in which they are entered; what one reads of
    another is sent. But scopes without a name, of one kind and count, are one scope where the devices are no
    multiple of what all scopes together ask for. With the setting `cluster.colocate_split_and_replicate` all
    run on the same devices: what comes from another scope is gathered or exchanged.

    A loop in no scope runs where most of what it reads is made. A loop over several scopes with devices of
    their own is unrolled, if that makes at most 20,000 operations.

    Args:
      device_count: devices that share one copy of the operations, at least 1. It must divide the number of
        devices; there are as many copies as fit, each with its part of the batch.
      name: entries with the same name are one task graph; letters, digits, `_`, `.` and `-`. Their `dims`
        are put together.
      dims: from patterns to the dimension along which the parameters that they name are split, counted from
        the end if it is negative, or None for parameters that stay whole on every device. A pattern is found
        in the path of a parameter, from the beginning of a step to the end of one: `"wq"`, `"attention/wq"`
        and `"params['layers'][0]"` are in `params['layers'][0]['attention']['wq']`. In it `*` is any text,
        over several steps, too, `?` a character, `[qk]` one of several. A user constraint that cannot be met
        is a `CompileError` with the reason.

    Raises:
      ScopeError: for a bad count, name or `dims`, and on entry inside another scope.
    """
    return _scope(Kind.SPLIT, device_count, name, dims)


@_MakesScope
def auto_stages(num_stages: int, device_count: int = 1, name: str | None = None) -> Scope:
    """Scope that the compiler cuts into stages of a pipeline, each with devices of its own.

    The forward work in it is a chain of blocks, one for each product that samples go through; the work of
    their gradients is with them. It is cut where the largest stage takes least time, by what the setting
    `cluster.machine` says of the devices and by the bytes that stages send; `lowered.explain()` shows the
    cut, what each stage takes, and the next best one. Loops in the scope are unrolled, if that makes at most
    20,000 operations. Then all is as if each stage had been written in `epl.replicate(device_count)`:
    micro-batches (`pipeline.num_micro_batch`) keep all stages at work, what applies gradients is with the
    parameters.

    On one device, and with `cluster.colocate_split_and_replicate`, nothing is cut. To cut a whole step
    without scopes set `auto.auto_parallel` and `pipeline.num_stages`.

    Args:
      num_stages: at least 1, and at most the number of blocks. The devices of all scopes together, of which
        this one has `num_stages * device_count`, divide the number of devices.
      device_count: devices of one copy of each stage, at least 1; they slice its part of the batch.
      name: entries with the same name are one task graph; letters, digits, `_`, `.` and `-`.

    Raises:
      ScopeError: for a bad count or name, and on entry inside another scope.
    """
    stages = _count("auto_stages", "num_stages", num_stages)
    count = _count("auto_stages", "device_count", device_count)
    return Scope(Strategy(Kind.REPLICATE, count, _checked_name("auto_stages", name), stages=stages))


class PerMicroBatch(_Block):
    """What `epl.per_micro_batch()` returns: to enter with `with`, or to decorate a function with."""

    def _make(self) -> contextlib.AbstractContextManager[None]:
        return entered_per_micro_batch()

    def __repr__(self) -> str:
        return "epl.per_micro_batch()"


@_MakesScope
def per_micro_batch() -> PerMicroBatch:
    """Scope whose statistics over samples are those of each micro-batch: for batch normalization.

    It stands inside or outside of other scopes, round a layer or round all forward work, and says something
    where `pipeline.num_micro_batch` is more than 1. Without it a step is that of the whole batch, so that
    what works on samples cannot read a mean over all of them: the last micro-batch is not there yet.

    A sum over samples that is made in the scope, and is read by what works on samples, is then m times that
    of the micro-batch, of m: a mean over the batch is that of the micro-batch. A maximum or minimum is the
    micro-batch's own. The gradients of the step are the mean of those of m steps on a micro-batch each. A
    state that is updated from such statistics is updated by each micro-batch, one after another, as
    PyTorch's running mean and variance are; numbers of the step itself, such as N / (N - 1) of an unbiased
    variance, stay those of the batch. Of anything else that is made of them what is done once, such as what
    the step returns, gets the mean over the micro-batches.

    Samples that are compared with one another are no statistic: sorts, contrastive losses and graphs whose
    nodes read each other need the whole batch, in this scope, too, and so one micro-batch.
    """
    return PerMicroBatch()


def set_default_strategy(scope: Scope | None) -> None:
    """Sets the strategy of all operations that stand in no scope, for every step that is traced from now on.

    Args:
      scope: `epl.replicate(...)`, or None for no default: what no scope covers then follows its neighbours.

    Raises:
      ScopeError: inside a traced step, where it would have no end, and for anything but `epl.replicate`.
    """
    global _default
    if open_step() is not None or not hooks.trace_state_clean():
        raise ScopeError(
            f"set_default_strategy has no end inside a traced step: write `with {scope}:` round the code"
        )
    is_plain = isinstance(scope, Scope) and scope.strategy.stages == 1
    if scope is not None and not (is_plain and scope.strategy.kind is Kind.REPLICATE):
        called = ": call it" if isinstance(scope, _MakesScope) else ""
        raise ScopeError(f"the default strategy must be epl.replicate(...) or None, found {scope!r}{called}")
    _default = scope.strategy if scope else None


def default_strategy() -> Strategy | None:
    """The strategy that `set_default_strategy` has set, or None."""
    return _default
