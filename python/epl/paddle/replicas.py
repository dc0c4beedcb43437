"""A program on several devices, each of which runs it on its part of the batch: Paddle's ParallelExecutor.

Problem: a program says what one device does; its optimizer's ops are to see the sums of all devices'
gradients. Method: it is a step of one device (`epl.parallelize(.., per_device=..)`) that sums gradients where
Paddle's multi-device graph has its all-reduce, and begins the gradient of the loss with the weight of the
device. Persistable variables are the step's state, and stay on the devices between runs:

    variable                                   | on the devices
    -------------------------------------------+-----------------------------------------
    written by an op of the forward pass, as   | a value for each (`Local`)
    BatchNorm's statistics are                 |
    any other                                  | one value, equal on all
"""

from __future__ import annotations

import enum
import functools
import itertools
from collections.abc import Collection, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from epl.adapters.jax.padded_rows import Batch, Padded, Rows
from epl.config import Config
from epl.errors import ArgumentError, Error, UnsupportedError
from epl.paddle.description import OPTIMIZE, SCHEDULE
from epl.paddle.device_values import Fetched, Local, of_devices, one_of
from epl.paddle.feeds import Fed, Layout
from epl.paddle.leaves import leaf, with_leaves
from epl.paddle.owners import deal_out
from epl.paddle.program import Program
from epl.paddle.row_updates import GivenTables, RowsOfRun
from epl.paddle.running import Device, Run
from epl.parallelize import parallelize
from epl.processes.parts import from_local
from epl.servers.buffers import is_served
from epl.servers.strategy import ParameterServer
from epl.values import did_you_mean

_AXIS = "device"


class Weight(enum.Enum):
    """What the gradient of a device's loss begins with.

    MEAN: 1 / devices, so that devices count alike, whatever their parts are. ROWS: the share of all rows that
    the device has, so that rows count alike, as on one device. ONE: 1. FED: what is fed for it.
    """

    MEAN = "mean"
    ROWS = "rows"
    ONE = "one"
    FED = "fed"


@dataclass
class _Step:
    run: Any
    rows: dict[Any, dict[str, Rows]] = field(default_factory=dict)  # of what is fetched, by shapes of feeds


class Replicas:
    """A program on devices.

    Args:
      count: of devices, those of other processes too.
      here: the numbers of the devices of this process; default all.
      weight: of the devices' losses.
      loss: the variable that is minimized, of which ROWS makes that of all rows.
      syncs: whether BatchNorm's statistics are those of all devices.
      groups: of neighbouring devices: gradients are summed within each, and then these sums.
      config: settings of EPL for the step.
      strategy: if servers hold the parameters; its `dispatch`, if a function, is given names of variables.
      tables: embeddings that they have as tables, which a program that trains updates, and another one reads.
    """

    def __init__(
        self,
        program: Program,
        count: int,
        *,
        here: range | None = None,
        weight: Weight = Weight.MEAN,
        loss: str | None = None,
        syncs: bool = False,
        groups: int = 1,
        config: Config | dict[str, Any] | None = None,
        strategy: ParameterServer | None = None,
        tables: GivenTables | None = None,
    ) -> None:
        self.program = program
        self._tables = tables or GivenTables.none(program)
        self._evaluates = strategy is not None and not program.trains
        self._strategy = None if strategy is None else with_leaves(strategy)
        self.count = count
        self._here = here or range(count)
        self._weight = weight
        self._loss = loss
        self._syncs = syncs
        self._groups = groups
        self._config = config
        self._exchanges = any(op.kind.startswith("c_") for op in program.ops)
        self._own = frozenset() if count == 1 or self._evaluates else self._find_own()
        needed = self._tables.needed
        self._needed = [name for name in program.parameters if name in needed]
        # Names of what the leaves of a step's arguments and results are, in JAX's order of dicts.
        self._shared_names = sorted(needed - self._own)
        self._own_names = sorted(self._own)
        states = frozenset() if self._evaluates else program.parameters.keys()
        self._made_names = sorted(set(program.updated) - states - self._tables.hidden)
        self._trees: dict[tuple[str, ...], Any] = {}  # of the arguments, by names of feeds
        self._steps: dict[tuple[tuple[str, ...], Layout], _Step] = {}

    def check_variables(self, variables: Mapping[str, Any]) -> None:
        """Whether all persistable variables that it has have values, and no others.

        Arguments and errors as of `run`.
        """
        for name in self._needed:
            if variables.get(name) is None:
                raise ArgumentError(f'variable "{name}" has no value: run the startup program first')
        for name in sorted(self._tables.hidden) if self.is_served else ():
            if variables.get(name) is not None:  # other programs of the scope would read that
                raise ArgumentError(
                    f'"{name}" is of a table, which parameter servers have, and has a value in the scope: '
                    "load models for inference into a scope of their own, and run the startup program "
                    "behind transpile"
                )

    def check_fetches(self, fetches: Sequence[str]) -> None:
        """Whether the program has these variables; errors as of `run`."""
        for name in fetches:
            if name not in self._names:
                raise ArgumentError(f'no variable "{name}" to fetch{did_you_mean(name, sorted(self._names))}')
            if name in self._tables.hidden:
                raise ArgumentError(
                    f'"{name}" in fetch_list is of a table, which parameter servers have by rows: fetch what '
                    "is looked up"
                )

    @functools.cached_property
    def _names(self) -> frozenset[str]:
        """The variables of the program."""
        made = itertools.chain(*(op.writes for op in self.program.ops))
        return frozenset((*self.program.variables, *made))

    def check_fed(self, variables: Collection[str]) -> None:
        """Raises UnsupportedError if persistable variables are fed that servers hold."""
        if variables and self.is_served:
            raise UnsupportedError(
                f'"{next(iter(variables))}" in feed is a persistable variable, which parameter servers hold: '
                "trainers cannot set it"
            )

    @property
    def is_served(self) -> bool:
        """Whether servers hold the parameters, which the program trains."""
        return self._strategy is not None and not self._evaluates

    def is_shared(self, name: str) -> bool:
        """Whether devices have one value of a persistable variable, and not each its own."""
        return name not in self._own

    def run(
        self, variables: MutableMapping[str, Any], fed: Fed, fetches: Sequence[str], seed: int = 0
    ) -> list[Fetched]:
        """Runs the program once.

        Args:
          variables: the persistable ones by name, arrays or `Local`; those that the program changes are
            replaced.
          fed: what each device is fed.
          fetches: names of variables.
          seed: of what is drawn in this run.

        Raises:
          ArgumentError: for a variable that has no value, and for fetches of no variable.
          UnsupportedError: as of `Run.do`, and for parts of different lengths of a program with tables.
        """
        if fed.layout.rows and self._tables.of.tables:
            raise UnsupportedError(
                f'table "{self._tables.of.tables[0].name}" is looked up on devices with parts of different '
                "lengths: feed parts of one length"
            )
        # Servers have these: they are fetched from there, behind the step.
        held = {name for name in fetches if self.is_served and name in self._shared_names}
        wanted = [name for name in fetches if name not in held]
        key = (tuple(wanted), fed.layout)
        step = self._steps.get(key) or self._steps.setdefault(key, self._step(*key))
        names = tuple(sorted(fed.values))
        tree = self._trees.get(names) or self._trees.setdefault(names, self._tree(names))
        kept = self._kept_by_servers(variables)
        leaves = [*self._state(variables), np.array(seed, np.uint32), fed.counts]
        feed = [fed.values[name] for name in names]
        if len(self._here) < self.count:
            feed = self._parts(step, tree, leaves, feed, fed)
        results = iter(step.run.call_leaves(tree, leaves + feed))
        for name in () if self._evaluates else self._shared_names:
            value = next(results)
            if name not in kept:
                variables[name] = value
        for name in self._own_names:
            variables[name] = Local(next(results))
        for name in self._made_names:
            value = self._made(next(results))
            if not (self._evaluates and isinstance(variables.get(name), Local)):
                variables[name] = value
        rows = step.rows[_shapes(fed.values)] if fed.layout.rows else {}
        found = {
            name: Fetched(self._cut(of_devices(value, self._here), rows.get(name), fed))
            for name, value in zip(wanted, results, strict=True)
        }
        found |= {
            name: Fetched(np.repeat(np.asarray(variables[name])[None], len(self._here), 0)) for name in held
        }
        return [found[name] for name in fetches]

    def _tree(self, feeds: Sequence[str]) -> Any:
        """The structure of a step's arguments."""
        names = self._shared_names, self._own_names, feeds
        shared, own, feed = (dict.fromkeys(each, 0) for each in names)
        return jax.tree.structure((shared, own, dict(self._tables.tables), 0, 0, feed))

    def _state(self, variables: MutableMapping[str, Any]) -> list[Any]:
        """The values of the persistable variables that the program reads, as arguments of a step."""
        self.check_variables(variables)
        shared = [one_of(variables[name]) for name in self._shared_names]
        if self._strategy is None or self._evaluates:
            shared = [np.asarray(value) if is_served(value) else value for value in shared]
        return shared + [self._local(variables[name]) for name in self._own_names]

    def _kept_by_servers(self, variables: Mapping[str, Any]) -> frozenset[str]:
        """The variables that another program trains on servers, and this one does not change."""
        if self._strategy is not None:
            return frozenset()
        read = set(self._shared_names).difference(self.program.updated)
        return frozenset(name for name in read if is_served(variables.get(name)))

    def _parts(self, step: _Step, tree: Any, others: list[Any], feed: list[Any], fed: Fed) -> list[Any]:
        """What the devices of this process are fed, as parts of what the step is lowered for."""
        if _shapes(fed.values) not in step.rows:
            whole = [jax.ShapeDtypeStruct((self.count, *value.shape[1:]), value.dtype) for value in feed]
            step.run.lower(*tree.unflatten(others + whole))
        parts: list[Any] = from_local(feed)
        return parts

    def _made(self, value: Any) -> Any:
        """A persistable variable that the program makes: equal on all devices, unless it exchanges itself."""
        if self.count > 1 and self._exchanges:
            return Local(value)
        made = of_devices(value, self._here)[0, ...]
        made.flags.writeable = False  # a run replaces values of scopes, nobody writes them
        return made

    def _find_own(self) -> frozenset[str]:
        """The persistable variables of which each device has a value of its own.

        They are those that ops of the forward pass write; of a program that says what is exchanged, all.
        """
        if self._exchanges:
            return frozenset(self.program.parameters)
        forward = [op for op in self.program.ops if not op.role & (OPTIMIZE | SCHEDULE)]
        written = {name for op in forward for name in op.writes}
        return frozenset(name for name in self.program.parameters if name in written)

    def release(self) -> None:
        """Gives back the memory that steps need for themselves, once those that run have ended."""
        for step in self._steps.values():
            step.run.release()

    def graph(self) -> str:
        """The plan of the step that was made last, in the language of Graphviz.

        Raises:
          Error: if there is none yet.
        """
        compiled = self._newest()
        if compiled is None:
            raise Error("the program never ran, so it has no plan yet")
        return str(compiled.graph())

    def owners(self) -> dict[str, int]:
        """Which device each persistable variable belongs to that has an owner (`zero.owner`), by name."""
        compiled = self._newest()
        found = compiled.owners if compiled else {}
        return {name: found[leaf(name)] for name in self.program.parameters if leaf(name) in found}

    def _newest(self) -> Any:
        """The plan of the step that was made last; None if there is none yet."""
        step = next(reversed(self._steps.values()), None)
        lowered = step.run.newest if step else None
        return lowered.compile() if lowered else None

    def _local(self, value: Any) -> Any:
        if isinstance(value, Local) and len(value.values) == self.count:
            return value.values
        return np.repeat(np.asarray(one_of(value))[None], self.count, 0)

    def _cut(
        self, value: np.ndarray[Any, Any], rows: Rows | None, fed: Fed
    ) -> np.ndarray[Any, Any] | list[np.ndarray[Any, Any]]:
        """The real rows of each device of this process that had a part."""
        if not fed.layout.rows:
            return value
        own = dict(zip(self._here, value, strict=True))
        having = [device for device in self._here if fed.counts[device].any()]
        if rows is None:
            return [own[device] for device in having]
        extent = fed.layout.extents[rows.batch]
        index = np.arange(value.shape[1 + rows.dim]) // rows.inner % extent
        return [
            np.compress(index < fed.counts[device, rows.batch], own[device], rows.dim) for device in having
        ]

    def _step(self, fetches: tuple[str, ...], layout: Layout) -> _Step:
        self.check_fetches(fetches)

        def one_device(shared: Any, own: Any, tables: Any, seed: Any, counts: Any, feed: Any) -> Any:
            # A part has a dimension 0 of one element, the device.
            given = {name: value[0] for name, value in feed.items()}
            run = self._began({**shared, **own, **given}, seed, counts[0], layout)
            looked_up = RowsOfRun(self._tables.of, tables)
            for number, op in enumerate(self.program.ops):
                if not looked_up.do(run, number, op):
                    run.do(number, op)
            step.rows[_shapes(feed)] = {
                name: run.rows[name] for name in fetches if run.rows and name in run.rows
            }
            made = {name: run.values[name] for name in self._made_names}
            values = [self._fetched(run, name, counts[0]) for name in fetches]
            if self.count == 1:  # as results of one of several devices are stacked
                made, values = jax.tree.map(lambda value: value[None], (made, values))
            if self._evaluates:
                return made, values
            states = ({name: run.values[name] for name in kept} for kept in (shared, own))
            return *states, looked_up.updated(), made, values

        step = _Step(None)
        among: dict[str, Any] = {}
        if self.count > 1:
            dealt = deal_out(self.program, self.count).items()
            owners = {leaf(name): owner for name, owner in dealt if name in self._shared_names}
            among = {"per_device": (_AXIS, self._groups), "local": "own", "owners": owners}
        step.run = parallelize(
            one_device,
            state=() if self._evaluates else ("shared", "own", "tables"),
            batch=("counts", "feed"),
            devices=self.count,
            config=self._config,
            name="program",
            strategy=self._strategy,
            **among,
        )
        return step

    def _began(self, values: dict[str, Any], seed: Any, counts: Any, layout: Layout) -> Run:
        number = jax.lax.axis_index(_AXIS) if self.count > 1 else 0
        key = jax.random.fold_in(jax.random.key(seed), number)
        weight, sums = self._share(counts), not self._exchanges
        device = Device(_AXIS, self.count, weight, self._syncs, sums, self._groups)
        if not layout.rows:
            return Run(values, key, device)
        batches = {index: Batch(extent, counts[index]) for index, extent in enumerate(layout.extents)}
        return Run(values, key, device, Padded(batches), dict(layout.rows))

    def _share(self, counts: Any) -> Any:
        """What the gradient of the loss begins with on this device; None if it is fed."""
        if self._weight is Weight.ROWS and counts.shape[0]:
            return counts[0] / jax.lax.psum(counts[0], _AXIS)
        return {Weight.ONE: 1.0, Weight.FED: None}.get(self._weight, 1 / self.count)

    def _fetched(self, run: Run, name: str, counts: Any) -> Any:
        if name not in run.values:
            raise ArgumentError(f'variable "{name}" is not made by the program')
        value = run.values[name]
        if name == self._loss and self._weight is Weight.ROWS:
            return jax.lax.psum(value * self._share(counts), _AXIS)
        return jnp.asarray(value)


def _shapes(feed: Any) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """The shapes of one device's values."""
    return tuple((name, tuple(feed[name].shape[1:])) for name in sorted(feed))
