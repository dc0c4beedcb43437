"""The scopes that the trace of a step has entered: what an operation belongs to is part of its name.

A scope is carried into the compiler as a private `jax.named_scope("epl.s<k>")` on every operation that is
traced inside it, backward operations included; kind, device count and the user's name stay in a table
beside the program (`ScopeTable`), so they need no escaping. `epl.per_micro_batch` is such a name, too, of
which there is one. A foreign tracer (torch) marks what it records, and its names are written when JAX traces
that (`replayed`).
"""

from __future__ import annotations

import contextlib
import dataclasses
import enum
import itertools
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import jax

from epl.adapters.jax import hooks
from epl.errors import Place, ScopeError

PER_MICRO_BATCH = "epl.per_micro_batch"
"""The name under which the compiler finds what is of each micro-batch (`dialect/EplDialect.td`)."""


class Kind(enum.Enum):
    """What a scope does with its devices: a copy of the operations on each, or a part of each operation."""

    REPLICATE = "replicate"
    SPLIT = "split"


@dataclass(frozen=True)
class Strategy:
    """Kind, number of devices of one copy, and name ("" if none) of a scope.

    `dims`: along which dimension parameters are split, or None, by the pattern that names them. `place`:
    where a step enters the scope. `stages`: into how many stages of a pipeline the compiler cuts it.
    """

    kind: Kind
    device_count: int
    name: str = ""
    dims: tuple[tuple[str, int | None], ...] = ()
    place: Place | None = dataclasses.field(default=None, compare=False)
    stages: int = 1

    def __str__(self) -> str:
        name = f', name="{self.name}"' if self.name else ""
        dims = f", dims={dict(self.dims)}" if self.dims else ""
        if self.stages > 1:
            return f"epl.auto_stages({self.stages}, device_count={self.device_count}{name})"
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
                "one name means one kind, one device count and one number of stages"
            )
        dims = dict(self.dims)
        for pattern, dim in other.dims:
            if dims.setdefault(pattern, dim) != dim:
                raise ScopeError(
                    f'scope "{self.name}" splits "{pattern}" along {dim} here, along {dims[pattern]} before'
                )
        return dataclasses.replace(self, dims=tuple(dims.items()))


Annotation = Callable[[int | None], contextlib.AbstractContextManager[None]]
"""Of a scope by its id, of `epl.per_micro_batch` by None."""


def _unannotated(_: int | None) -> contextlib.AbstractContextManager[None]:
    """JAX itself traces: names of scopes are annotation enough."""
    return contextlib.nullcontext()


class ScopeTable:
    """The scopes that one trace of a step has entered; `strategies[k]` belongs to `epl.s<k>`.

    Args:
      finds_stages: the compiler chooses the stages of the step, so that scopes are an error.
    """

    def __init__(self, finds_stages: bool = False) -> None:
        self.finds_stages = finds_stages
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
        if self.finds_stages:
            raise ScopeError(
                f"{strategy} is entered in a step whose stages are chosen (auto.auto_parallel): leave the "
                "scope out, or the setting, and write `with epl.auto_stages(...):` round what is to be cut"
            )
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
_retrace_per_micro_batch = jax.make_user_context(default_value=False)


@contextlib.contextmanager
def outside_of_steps(strategy: Strategy) -> Iterator[None]:
    """A scope that no step enters is a name only."""
    _state.outside.append(strategy)
    try:
        with jax.named_scope(strategy.name or strategy.kind.value):
            yield
    finally:
        _state.outside.pop()


@contextlib.contextmanager
def entered_per_micro_batch() -> Iterator[None]:
    """Runs the block inside the private name of `epl.per_micro_batch`, if a step is traced."""
    table = _state.table
    if table is None or table.repeats:
        yield
        return
    with table.annotation(None), replayed_per_micro_batch(True):
        yield


@contextlib.contextmanager
def replayed_per_micro_batch(marked: bool) -> Iterator[None]:
    """Where JAX traces what is of each micro-batch, if it is `marked` so."""
    if not marked:
        yield
        return
    with _retrace_per_micro_batch(True), jax.named_scope(PER_MICRO_BATCH):
        yield


def scope_outside() -> Strategy | None:
    """The scope in which this thread runs and which no step has entered: it says nothing to a step's call."""
    return _state.outside[-1] if _state.outside else None


@contextlib.contextmanager
def annotating(annotation: Annotation) -> Iterator[None]:
    """A foreign tracer runs in the block: it annotates what it records in a scope with what that is."""
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


def open_step() -> ScopeTable | None:
    """The table of the step that this thread traces."""
    return _state.table


def is_traced() -> bool:
    """Whether this thread traces a step."""
    return _state.table is not None


def current_collections() -> dict[str, list[jax.Array]]:
    """What the trace of a step has collected, by name (`merging.py`); outside of one nothing is kept."""
    return _state.table.collections if _state.table else {}
