"""Parallel scopes: `with epl.replicate():` and `with epl.split(device_count=2):`.

A scope is carried into the compiler as a private `jax.named_scope("epl.s<k>")` on every operation that is
traced inside it, backward operations included; kind, device count and the user's name stay in a table
beside the program (`ScopeTable`), so they need no escaping. While no step is being parallelized (eager
code, the user's own `jax.jit`, no `epl.init`) a scope is a plain `jax.named_scope` and changes nothing.

Identity: every unnamed entry is a new task graph, entries with the same `name=` are the same one.
"""

from __future__ import annotations

import contextlib
import dataclasses
import enum
import functools
import itertools
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Generic, NoReturn, ParamSpec

import jax

from epl.adapters.jax import hooks
from epl.errors import Place, ScopeError
from epl.places import calling_place
from epl.values import as_integer

_NAME = re.compile(r"[A-Za-z0-9_.-]+")


class Kind(enum.Enum):
    """What a scope does with its devices: a copy of the operations on each, or a part of each operation."""

    REPLICATE = "replicate"
    SPLIT = "split"


@dataclass(frozen=True)
class Strategy:
    """Kind, number of devices of one copy, and name ("" if none) of a scope.

    `dims`: along which dimension parameters are split, or None, by the pattern that names them. `place`:
    where a step enters the scope.
    """

    kind: Kind
    device_count: int
    name: str = ""
    dims: tuple[tuple[str, int | None], ...] = ()
    place: Place | None = dataclasses.field(default=None, compare=False)

    def __str__(self) -> str:
        name = f', name="{self.name}"' if self.name else ""
        dims = f", dims={dict(self.dims)}" if self.dims else ""
        return f"epl.{self.kind.value}(device_count={self.device_count}{name}{dims})"

    def merged(self, other: Strategy) -> Strategy:
        """The strategy of a scope that is entered with both.

        Raises:
          ScopeError: if they differ in kind or count, or in what they say of one pattern.
        """
        plain = [dataclasses.replace(strategy, dims=()) for strategy in (self, other)]
        if plain[0] != plain[1]:
            raise ScopeError(
                f'scope "{self.name}" is {plain[1]} here and was {plain[0]} before: '
                "one name means one kind and one device count"
            )
        dims = dict(self.dims)
        for pattern, dim in other.dims:
            if dims.setdefault(pattern, dim) != dim:
                raise ScopeError(
                    f'scope "{self.name}" splits "{pattern}" along {dim} here, along {dims[pattern]} before'
                )
        return dataclasses.replace(self, dims=tuple(dims.items()))


Annotation = Callable[[int], contextlib.AbstractContextManager[None]]


def _unannotated(_: int) -> contextlib.AbstractContextManager[None]:
    """JAX itself traces: names of scopes are annotation enough."""
    return contextlib.nullcontext()


class ScopeTable:
    """The scopes that one trace of a step has entered; `strategies[k]` belongs to `epl.s<k>`."""

    def __init__(self) -> None:
        self.strategies: list[Strategy] = []
        self.current: Strategy | None = None
        self.collections: dict[str, list[jax.Array]] = {}
        self.annotation: Annotation = _unannotated
        self.repeats = False  # forward work runs once more, in scopes that it has entered before
        # Distinguishes traces, so that no inner jit of this one reuses a trace that carries ids of another
        # one.
        self._token = next(_tokens)
        self._ids: dict[str, int] = {}

    def scope_id(self, strategy: Strategy) -> int:
        """The id of a new entry: a new one, unless a scope of this name was entered before."""
        known = self._ids.get(strategy.name) if strategy.name else None
        if known is None:
            known = len(self.strategies)
            self.strategies.append(strategy)
            if strategy.name:
                self._ids[strategy.name] = known
        else:
            self.strategies[known] = self.strategies[known].merged(strategy)
        return known

    @contextlib.contextmanager
    def active(self) -> Iterator[None]:
        """Collects the scopes that this thread enters in the block."""
        previous, _state.table = _state.table, self
        try:
            with _retrace(self._outside()):
                yield
        finally:
            _state.table = previous

    def _outside(self) -> tuple[int, int, int]:
        """What JAX keeps a trace for outside of all scopes."""
        return self._token, -1, len(self.strategies)

    @contextlib.contextmanager
    def entered(self, strategy: Strategy) -> Iterator[None]:
        """Runs the block inside the private named scope of `strategy`."""
        if self.repeats:
            yield
            return
        if self.current is not None:
            raise ScopeError(
                f"{strategy} is entered inside {self.current}: scopes do not nest, leave the outer one first"
            )
        scope_id = self.scope_id(strategy)
        self.current = strategy
        try:
            with self.annotation(scope_id), self.named(scope_id, "{}"):
                yield
        finally:
            self.current = None
            hooks.set_user_context(_retrace, self._outside())

    @contextlib.contextmanager
    def named(self, scope_id: int, transform: str) -> Iterator[None]:
        """Runs the block under a scope's private name, in the transforms that `transform` writes round it."""
        name = transform.format(f"epl.s{scope_id}")
        with _retrace((self._token, scope_id)), jax.named_scope(name):
            yield


class _State(threading.local):
    table: ScopeTable | None = None

    def __init__(self) -> None:
        self.outside: list[Strategy] = []  # scopes that are open and in no step


_state = _State()
_tokens = itertools.count()
# jax.jit keeps a trace per value of a user context: an inner jitted function is traced once for every scope,
# and outside of them anew once there are more: it may enter one itself, and each call then has its own.
_retrace = jax.make_user_context(default_value=None)
_default: Strategy | None = None


class Scope(contextlib.AbstractContextManager["Scope"], contextlib.ContextDecorator):
    """A scope to enter with `with`, or to decorate a function with, each call of which enters it.

    It may be entered several times, each time as if it were written anew.
    """

    def __init__(self, strategy: Strategy) -> None:
        self.strategy = strategy
        self._open: list[contextlib.AbstractContextManager[None]] = []

    def __enter__(self) -> Scope:
        table = _state.table
        strategy = dataclasses.replace(self.strategy, place=calling_place())
        block = table.entered(strategy) if table else _outside(strategy)
        block.__enter__()
        self._open.append(block)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._open.pop().__exit__(kind, error, traceback)

    def __repr__(self) -> str:
        return str(self.strategy)


@contextlib.contextmanager
def _outside(strategy: Strategy) -> Iterator[None]:
    """A scope that no step enters is a name only."""
    _state.outside.append(strategy)
    try:
        with jax.named_scope(strategy.name or strategy.kind.value):
            yield
    finally:
        _state.outside.pop()


def scope_outside() -> Strategy | None:
    """The scope in which this thread runs and which no step has entered: it says nothing to a step's call."""
    return _state.outside[-1] if _state.outside else None


@contextlib.contextmanager
def annotating(annotation: Annotation) -> Iterator[None]:
    """A foreign tracer runs in the block: it annotates what it records in a scope with the scope's id."""
    table = _state.table
    if table is None:
        yield
        return
    table.annotation = annotation
    try:
        yield
    finally:
        table.annotation = _unannotated


@contextlib.contextmanager
def repeating() -> Iterator[None]:
    """A foreign tracer runs forward work again in the block, whose scopes are known from the first time."""
    table = _state.table
    if table is None:
        yield
        return
    table.repeats = True
    try:
        yield
    finally:
        table.repeats = False


def replayed(scope_id: int | None, transform: str) -> contextlib.AbstractContextManager[None]:
    """Where what a foreign tracer has recorded in a scope is traced by JAX.

    Args:
      scope_id: that it was annotated with; None: it stood in no scope.
      transform: of differentiation, round the scope's name: `"transpose(jvp({}))"` for backward work.
    """
    table = _state.table
    if table is None or scope_id is None:
        name = transform.format("")
        return jax.named_scope(name) if name else contextlib.nullcontext()
    return table.named(scope_id, transform)


def is_traced() -> bool:
    """Whether this thread traces a step."""
    return _state.table is not None


def _scope(
    kind: Kind, device_count: int, name: str | None, dims: Mapping[str, int | None] | None = None
) -> Scope:
    count = as_integer(device_count)
    if count is None:
        raise ScopeError(
            f"device_count of epl.{kind.value} must be an integer, found {device_count!r}"
            f"{_meant(kind, device_count)}"
        )
    if count < 1:
        raise ScopeError(f"device_count of epl.{kind.value} must be at least 1, found {count}")
    if name is not None and not (isinstance(name, str) and _NAME.fullmatch(name)):
        raise ScopeError(f"name of epl.{kind.value} may hold letters, digits and _ . - only, found {name!r}")
    return Scope(Strategy(kind, count, name or "", _constraints(dims)))


def _meant(kind: Kind, given: object) -> str:
    """What to write instead of what was given as device_count."""
    if isinstance(given, str) and given.strip().isdigit():
        return f": write epl.{kind.value}({int(given)})"
    if isinstance(given, str):
        return f': write epl.{kind.value}(name="{given}")'
    return f": decorate with @epl.{kind.value}()" if callable(given) else ""


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


class _MakesScope(Generic[_Parameters]):
    """`epl.replicate` and `epl.split`: functions that say so if `with` gets them without being called."""

    def __init__(self, function: Callable[_Parameters, Scope]) -> None:
        self._function = function
        functools.update_wrapper(self, function)

    def __call__(self, *args: _Parameters.args, **kwargs: _Parameters.kwargs) -> Scope:
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


def set_default_strategy(scope: Scope | None) -> None:
    """Sets the strategy of all operations that stand in no scope, for every step that is traced from now on.

    Args:
      scope: `epl.replicate(...)`, or None for no default: what no scope covers then follows its neighbours.

    Raises:
      ScopeError: inside a traced step, where it would have no end, and for anything but `epl.replicate`.
    """
    global _default
    if _state.table is not None or not hooks.trace_state_clean():
        raise ScopeError(
            f"set_default_strategy has no end inside a traced step: write `with {scope}:` round the code"
        )
    if scope is not None and not (isinstance(scope, Scope) and scope.strategy.kind is Kind.REPLICATE):
        called = ": call it" if isinstance(scope, _MakesScope) else ""
        raise ScopeError(f"the default strategy must be epl.replicate(...) or None, found {scope!r}{called}")
    _default = scope.strategy if scope else None


def current_collections() -> dict[str, list[jax.Array]]:
    """What the trace of a step has collected, by name (`merging.py`); outside of one nothing is kept."""
    return _state.table.collections if _state.table else {}


def default_strategy() -> Strategy | None:
    """The strategy that `set_default_strategy` has set, or None."""
    return _default
