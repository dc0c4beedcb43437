"""`epl.Table`: rows by id, which parameter servers hold, and how new ones begin."""

from __future__ import annotations

import operator
import os
import threading
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, Protocol

import jax
import jax.numpy as jnp
import numpy as np

from epl.errors import ArgumentError, Error, StateError, UnsupportedError
from epl.executable import user_path
from epl.servers.roles import own_role
from epl.tables import saves
from epl.tables.checking import check_fits, check_optimizer, checked_dtype, checked_integer
from epl.tables.inits import Init
from epl.tables.keeping import KEEPING, Keeper, Load, TableSpec

_MOST_SEED = 2**64 - 1


class LookupTrace(Protocol):
    """The trace of a step, in which its tables are looked up."""

    def rows(self, table: Table, ids: Any) -> Any:
        """The rows of a lookup."""

    def rows_by_device(self, table: Table) -> tuple[bool, ...]:
        """As `Table.rows_by_device`."""


class _Active(threading.local):
    trace: LookupTrace | None = None


ACTIVE = _Active()
"""`trace`: of the step that this thread traces."""


class _Structure(NamedTuple):
    """What JAX has of a table beside its leaves."""

    spec: TableSpec
    trace: LookupTrace | None
    is_updated: bool


class Table:
    """Rows by id that parameter servers hold: an embedding that may be larger than a device, or a machine.

    Ids are integers from 0 to 2^63 - 1 (or `rows` - 1), of which none need be known: a row is made when a
    step that trains the table first looks it up. An id's row is on server id mod servers. It has `dim`
    elements, and what the optimizer keeps of it::

        user = epl.Table("user", dim=16, optimizer=optax.adagrad(0.05), init=epl.uniform(0.01))


        @epl.parallelize(
            state=("params", "opt_state", "user"), batch=("ids", "y"), strategy=epl.ParameterServer()
        )
        def train_step(params, opt_state, user, ids, y):
            def loss_fn(params, user):
                return jnp.mean((user.lookup(ids) @ params["w"] - y) ** 2)

            loss, (grads, rows) = jax.value_and_grad(loss_fn, argnums=(0, 1))(params, user)
            ...
            return params, opt_state, user.update(rows), loss

    In the step a table is a tree whose leaves are the rows that lookups give, so `jax.grad` gives a table
    of their gradients if the table is an argument of the function that is differentiated (not if that closes
    over it). Outside it is a name: a step returns it as it was.

    The optimizer is that of one row, an array [dim], and each row has its own state: a row that a step does
    not look up is left as it is, without decay, and a count, as Adam has it, counts the updates of the row
    (other libraries call that lazy). Gradients of an id that occurs several times are added up.

    A step with such a table in `state` trains it. Another one reads it and makes no rows: ids without a row
    have the values with which theirs would begin.

    Args:
      name: of the table, on the servers and in messages; one name is one table.
      dim: the elements of a row.
      optimizer: of optax, or another with `init(row)` and `update(gradient, state, row)`.
      init: how a new row begins: `epl.uniform`, `normal`, `constant` or `zeros`. It depends on the seed, the
        id and the place in the row alone, not on the number of servers or the order of ids.
      dtype: of the rows: float32, float64 (with jax_enable_x64), float16 or bfloat16.
      padding: the id that stands for none: its rows are zeros, and get no gradient. It may be negative.
      seed: of new rows.
      admit: in how many steps an id must have been looked up before it gets a row; until then it has the
        values with which that begins, and its gradients are dropped.
      rows: how many ids there are, which are 0 to rows - 1 then; None: all that have 63 bits.

    Raises:
      ArgumentError: for values that are none of these.
    """

    def __init__(
        self,
        name: str,
        *,
        dim: int,
        optimizer: Any,
        init: Init,
        dtype: Any = "float32",
        padding: int | None = None,
        seed: int = 0,
        admit: int = 1,
        rows: int | None = None,
    ) -> None:
        if not isinstance(name, str) or not name or "\0" in name:
            raise ArgumentError(f"name of epl.Table must be a string, not empty, found {name!r}")
        about = f'of table "{name}"'
        check_optimizer(optimizer, about)
        if not isinstance(init, Init):
            raise ArgumentError(
                f"init {about} must be epl.uniform(...), normal(...), constant(...) or zeros(), found "
                f"{init!r}"
            )
        if padding is not None:
            checked_integer(f"padding {about}", padding, -(2**63), 2**63 - 1)
        self._spec = TableSpec(
            name,
            checked_integer(f"dim {about}", dim, 1, 2**31 - 1),
            optimizer,
            init,
            checked_dtype(dtype, about),
            padding,
            checked_integer(f"seed {about}", seed, 0, _MOST_SEED),
            checked_integer(f"admit {about}", admit, 1, 2**32 - 1),
            None if rows is None else checked_integer(f"rows {about}", rows, 1, 2**63),
        )
        self._rows: tuple[Any, ...] = ()
        self._trace: LookupTrace | None = None
        self._is_updated = False

    @property
    def spec(self) -> TableSpec:
        """What the table is."""
        return self._spec

    @property
    def name(self) -> str:
        """Of the table."""
        return self._spec.name

    @property
    def dim(self) -> int:
        """The elements of a row."""
        return self._spec.dim

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of the elements."""
        return self._spec.dtype

    @property
    def rows(self) -> tuple[Any, ...]:
        """In a step: what its lookups give, or the gradients of that, in the order of the lookups."""
        return self._rows

    @property
    def rows_by_device(self) -> tuple[bool, ...]:
        """Of a step that says what one device does: of each of `rows` whether devices have their own."""
        return self._trace.rows_by_device(self) if self._trace is not None else ()

    @property
    def is_updated(self) -> bool:
        """Whether `update` has given this."""
        return self._is_updated

    def lookup(self, ids: Any) -> jax.Array:
        """The rows of ids, in a step that has the table as an argument.

        Args:
          ids: integers of any shape: a batch of the step, or made of batches alone.

        Returns:
          An array (*ids.shape, dim) of the table's dtype; zeros where an id is `padding`.

        Raises:
          ArgumentError: for ids that are no integers, a table that the step closes over, and outside a step.
          UnsupportedError: at the line, for a lookup in a loop or a branch, for ids that are made of states
            or rows, and for a gradient that is taken within jax.vmap.
        """
        trace = self._own_trace("lookup")
        if all(isinstance(each, int) for each in jax.tree.leaves(ids)):
            ids = np.asarray(ids)  # numbers, however large, in lists or not
        found = ids if hasattr(ids, "dtype") else jnp.asarray(ids)
        if not jnp.issubdtype(found.dtype, jnp.integer):
            raise ArgumentError(
                f'ids of table "{self.name}" must be integers, found {found.dtype}{list(found.shape)}'
            )
        check_fits(found, f'ids of table "{self.name}" that are no batch')
        rows: jax.Array = trace.rows(self, jnp.asarray(found))
        return rows

    def update(self, rows: Table) -> Table:
        """The table with its optimizer's updates by the gradients of its lookups; what the step returns.

        Args:
          rows: what `jax.grad` has given for the table.

        Raises:
          StateError: if that is something else, or the table was updated before.
          ArgumentError: as `lookup`.
        """
        self._own_trace("update")
        is_other = not isinstance(rows, Table) or rows.spec != self._spec or rows._trace is not self._trace
        if is_other or any(map(operator.is_, rows.rows, self._rows)):
            raise StateError(
                f'table "{self.name}" must be updated by the gradient that jax.grad gives for it, found '
                f"{rows!r}"
            )
        if self._is_updated or rows.is_updated:
            raise StateError(f'table "{self.name}" is updated twice in a step, expected once')
        return unflatten(_Structure(self._spec, self._trace, is_updated=True), rows.rows)

    def export(self, folder: str | os.PathLike[str], *, changed_only: bool = False) -> int:
        """Has the servers write the rows to files of a folder, in the layout of safetensors.

        Worker 0 has that done, once all steps that have been called are applied; for others it is nothing.

        Args:
          folder: one that all servers see; it is made if it is not there. Each thread of a server writes a
            file of its rows there.
          changed_only: only rows that have changed since the last export.

        Returns:
          How many rows; 0 for other workers.

        Raises:
          ArgumentError: before the first call of a step that trains the table, and for no path.
          Error: if the folder cannot be made.
          ProcessError: if a server cannot write, with its reason, or is lost.
        """
        path, keeper = self._path(folder, "export", "a folder"), self._keeper("export")
        if not keeper.is_first:
            return 0
        return saves.export(keeper, self._spec, path, changed_only=bool(changed_only))

    def evict(self, *, unseen: int) -> int:
        """Has the servers drop rows that have not changed in their last `unseen` updates of the table.

        If such an id comes again, its row begins anew. Worker 0 has that done; for others it is nothing.

        Returns:
          How many rows; 0 for other workers.

        Raises:
          ArgumentError: before the first call of a step that trains the table, and for no positive integer.
          ProcessError: if a server is lost.
        """
        number = checked_integer(f'unseen of table "{self.name}"', unseen, 1, 2**63 - 1)
        return KEEPING.keeper_for("evict", self._spec).evict_table(self._spec, number)

    def save(self, folder: str | os.PathLike[str]) -> int:
        """Has the servers save all rows, with what the optimizer keeps of them, for `load`.

        Worker 0 has that done, once all steps that have been called are applied, and waits for it; for others
        it is nothing. In mode "sync" the save is of the step at which worker 0 calls it. The folder has this
        save when all of it is there, and the save before until then. How often ids without a row have been
        seen (`admit`) is not saved.

        Args:
          folder: one that all servers see; it is made if it is not there.

        Returns:
          How many rows; 0 for other workers.

        Raises:
          ArgumentError: before the first call of a step that trains the table, and for no path.
          Error: if the folder or its manifest cannot be written.
          ProcessError: if a server cannot write, with its reason, or is lost.
        """
        path, keeper = self._path(folder, "save", "a folder"), self._keeper("save")
        return saves.save(keeper, self._spec, path) if keeper.is_first else 0

    def load(self, place: str | os.PathLike[str], *, values_only: bool = False) -> None:
        """Gives the table the rows of a save or an export, in the place of those that it has.

        All workers call it alike. Worker 0's call has the servers load, however many servers have saved; the
        others wait for that, so all of them see the loaded rows from there on. Before the first call of a
        step that trains the table the rows are loaded in that call. In modes without sync gradients that
        other workers have pushed just before may be applied to the loaded rows.

        Args:
          place: a folder of `save` or `export`, or a file of safetensors with tensors "ids" (int64) and
            "value" [ids, dim], which all servers see. Of an export with `changed_only` the table has those
            rows alone.
          values_only: the values of rows alone, whatever optimizer they were trained by: the table's own
            begins anew with each of them.

        Raises:
          ArgumentError: for no path.
          Error: if there is no whole save in `place`; in all workers, as what follows.
          ProcessError: for rows of another dim, dtype or optimizer, ids that the table cannot have (by `rows`
            and `padding`), missing and damaged files, with the file. The table has its rows as before then,
            but for an id that is there twice, which is found as rows are read. What the first call could
            not load, the next one tries to.
        """
        path = self._path(place, "load", "a folder or a file")
        load = Load(self._spec, str(path), values_only=bool(values_only))
        if (role := own_role(os.environ)) is None or role.workers == 1:
            saves.find(load)  # nobody else waits for it
        KEEPING.load(load)

    def bound(self, trace: LookupTrace | None, rows: tuple[Any, ...]) -> Table:
        """The table in the trace of a step, whose lookups give these rows; with None, outside."""
        return unflatten(_Structure(self._spec, trace, is_updated=False), rows)

    def _path(self, path: Any, call: str, kind: str) -> Path:
        """Where a call writes or reads; raises ArgumentError for what is no path."""
        return user_path(path, f'path given to {call} of table "{self.name}"', kind).resolve()

    def _keeper(self, call: str) -> Keeper:
        """Who does what a call says; raises ArgumentError if nobody keeps such a table."""
        keeper = KEEPING.keeper_for(call, self._spec)
        keeper.check_table(self._spec)
        return keeper

    def _own_trace(self, what: str) -> LookupTrace:
        trace = ACTIVE.trace
        if self._trace is not None and self._trace is trace:
            return trace
        if trace is None:
            raise ArgumentError(
                f'{what} of table "{self.name}" is called outside a step: a step that is given to '
                "epl.parallelize does so"
            )
        raise ArgumentError(
            f'table "{self.name}" is closed over by the step: make it an argument, among `state` if it is '
            "trained"
        )

    def __repr__(self) -> str:
        return f"epl.Table({self._spec!r})"

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        raise Error(f'table "{self.name}" is no array: the rows of ids are `lookup(ids)` in a step')


def is_table(value: Any) -> bool:
    """Whether that is a table, which is a tree to JAX."""
    return isinstance(value, Table)


def check_none(tree: Any, what: str, instead: str) -> None:
    """Raises UnsupportedError if a tree has a table, whose rows are elsewhere.

    Args:
      what: is done with the tree; `instead`: how tables are.
    """
    for leaf in jax.tree.leaves(tree, is_leaf=is_table):
        if is_table(leaf):
            raise UnsupportedError(
                f'table "{leaf.name}" is not {what}: its rows are on servers; {instead}, and give the tree '
                "without it"
            )


def unflatten(structure: _Structure, rows: Any) -> Table:
    """A table of JAX's structure and leaves."""
    made = Table.__new__(Table)
    made._spec, made._trace, made._is_updated = structure
    made._rows = tuple(rows)
    return made


def _flatten(table: Table) -> tuple[tuple[Any, ...], _Structure]:
    return table.rows, _Structure(table.spec, table._trace, table.is_updated)


def _flatten_with_keys(table: Table) -> tuple[list[Any], _Structure]:
    rows, structure = _flatten(table)
    return [(jax.tree_util.GetAttrKey(f"lookup{i}"), row) for i, row in enumerate(rows)], structure


jax.tree_util.register_pytree_with_keys(Table, _flatten_with_keys, unflatten, _flatten)
