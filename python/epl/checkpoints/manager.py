"""`epl.Checkpoints`: the states of a training run in a folder, saved while training goes on."""

from __future__ import annotations

import functools
import importlib
import os
import shutil
import warnings
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

from epl.adapters import orbax
from epl.checkpoints import ending, tables
from epl.checkpoints.agreement import count, open_folder, together
from epl.checkpoints.behind import await_behind, behind
from epl.errors import ArgumentError, Error, reason
from epl.executable import PathLike
from epl.processes import group
from epl.servers.roles import read_role
from epl.values import as_integer


class Checkpoints:
    """The checkpoints in a folder, one for each number of a step that was saved.

    They are orbax's, with the names of the tree that was saved: orbax reads them without EPL, and EPL those
    of orbax. All processes of a run make one and call its methods alike; each writes and reads its parts.

        with epl.Checkpoints("run7", keep=3) as checkpoints:
            if checkpoints.latest is not None:
                state = checkpoints.restore(epl.layout_of(step.lower(*state, x, y), state))
            ...
            checkpoints.save(count, state)

    An `epl.Table` in the tree is saved with its rows and what its optimizer keeps of them, which servers
    write and read in the folder "tables" beside the checkpoints; orbax finds in its place how many rows it
    has.
    """

    def __init__(
        self,
        folder: PathLike,
        *,
        keep: int | None = None,
        best: str | None = None,
        mode: Literal["min", "max"] = "min",
    ) -> None:
        """Opens a folder, which is made if it is not there.

        Args:
          keep: how many of the last checkpoints stay; default all.
          best: a name in the `metrics` of `save`: the checkpoint in which that is best stays, too.
          mode: whether the smallest ("min") or the largest ("max") is best.

        A save that did not finish is skipped, with a warning that names it.

        Raises:
          ArgumentError: for values that are none of these.
          Error: if orbax is not installed, or JAX does not know of the run's other processes.
        """
        if keep is not None and (as_integer(keep) or 0) < 1:
            raise ArgumentError(f"keep must be an integer of at least 1 or None, found {keep!r}")
        if mode not in ("min", "max"):
            raise ArgumentError(f'mode must be "min" or "max", found {mode!r}')
        self.folder = Path(os.fspath(folder)).absolute()
        self._best = best
        self._saving: int | None = None  # the number of the save that may still run
        self._has_saved = False  # whether this process has, so nobody else saves in this folder
        self._begun: Future[None] | None = None  # whether that has begun
        open_folder(self.folder, f"keep={keep!r}, best={best!r}, mode={mode!r}")
        self._warn_of_unfinished()
        self._manager, self._saves = _open(self.folder, keep, best, mode)
        ending.add(self)

    def _unfinished(self, number: str = "[0-9]*") -> list[Path]:
        """The folders of saves that were cut off."""
        return sorted(self.folder.glob(f"{number}.orbax-checkpoint-tmp*"))

    def _warn_of_unfinished(self) -> None:
        for path in self._unfinished() if group.speaks() else ():
            warnings.warn(
                f'"{path}" is of a save that did not finish: it is skipped',
                RuntimeWarning,
                stacklevel=3,
            )

    @property
    def steps(self) -> list[int]:
        """The numbers of the checkpoints, ascending; a save that runs is not among them."""
        return sorted(self._guarded("cannot be read", self._manager.all_steps))

    @property
    def latest(self) -> int | None:
        """The number of the last one; None if there is none."""
        return max(self.steps, default=None)

    @property
    def best(self) -> int | None:
        """The number of that with the best metric; None if there is none."""
        if self._best is None:
            raise ArgumentError("Checkpoints was not told by best= which metric is best")
        found: int | None = self._guarded("cannot be read", self._manager.best_step)
        return found

    def save(self, step: int, tree: Any, *, metrics: Mapping[str, float] | None = None) -> None:
        """Saves a tree behind the program, as it is now: later steps change nothing of it.

        `epl.Array`s are written from where they are, each process its part; the next step copies what is
        being saved instead of writing in place, and the memory of that copy is kept for the next save. What
        else is in the tree (arrays of JAX and NumPy, numbers) is copied now and written by process 0. Waits
        for the save before, if it still runs, and for no other process. The end of the program waits for it;
        but where one of several processes fails meanwhile it is lost, and the one before is the last. A
        program that uses orbax itself, too, calls `wait` before it does. Of workers with parameter servers
        worker 0 alone saves: it fetches the states that servers hold, and waits until they have written the
        rows of tables, after all steps that it has called; the checkpoint is there once all is.

        Args:
          step: the number, above that of all before.
          tree: arrays, numbers and tables.
          metrics: numbers to be saved with it.

        Raises:
          ArgumentError: for a number that is not above the last one, or metrics without that named `best`.
          ArgumentError: for an `epl.Table` before the first call of a step that trains it.
          Error: if the save before has failed, say for a full disk; or an array was donated or is lost.
          ProcessError: if a server cannot write the rows of a table, or is lost: there is no such checkpoint.
        """
        number = as_integer(step)
        if number is None or number < 0:
            raise ArgumentError(f"step must be an integer of at least 0, found {step!r}")
        tables.check_kept(tree)
        self._wait_for_last()
        if (latest := self.latest) is not None and number <= latest:
            raise ArgumentError(f'step must be above {latest}, the last in "{self.folder}", found {number}')
        if self._best is not None and self._best not in (metrics or {}):
            found = ", ".join(metrics or {}) or "none"
            raise ArgumentError(f'metrics must have "{self._best}", which says the best, found {found}')
        if (role := read_role()) is not None and role.number > 0:
            return  # worker 0 saves what servers hold
        plain = None if metrics is None else {name: float(value) for name, value in metrics.items()}
        self._saving, self._has_saved = number, True
        save = self._guarded("was not saved", self._taken, number, tree, plain)
        count(f'a save of step {number} in "{self.folder}"')
        self._begun = behind(save)

    def _taken(self, number: int, tree: Any, metrics: dict[str, float] | None) -> Callable[[], None]:
        """What begins to save a tree, as it is now, whose tables are saved."""
        counted = tables.save(tree, self.folder, number)
        try:
            save: Callable[[], None] = saving().taken(self._manager, self._saves, number, counted, metrics)
        except BaseException:
            tables.remove(self.folder, number)
            raise
        return save

    def restore(
        self,
        layout: Any,
        step: int | None = None,
        *,
        only: str | list[str] | tuple[str, ...] | None = None,
        rename: Mapping[str, str] | None = None,
    ) -> Any:
        """A tree like `layout` with what was saved.

        Leaves of `epl.layout_of` become `epl.Array`s as the step holds them: each process reads what its
        devices have of them, and nothing is ever whole. An `epl.Array` stands for the layout that it has,
        a `jax.Array` or `jax.ShapeDtypeStruct` for its sharding (default: JAX's first device), NumPy arrays
        and Python numbers for such ones. A table stands for itself: its rows are loaded as by `Table.load`,
        which all workers of a job call alike.

        Args:
          layout: the tree, as it was saved; containers of other types but the same names are fine.
          step: which checkpoint; default the last.
          only: paths ("params", "params.layer0"): what is not below them is not read, and stays in the
            result as it is in `layout`. The checkpoint may have more than `layout` then.
          rename: from paths in `layout` to those in the checkpoint, of arrays or of whole parts.

        Raises:
          ArgumentError: if there is no such checkpoint, or a path of `only` or `rename` is none of `layout`.
          StateError: if the checkpoint has other paths, shapes or dtypes: names them.
          ProcessError: if processes restore other things, and as `Table.load`.
        """
        self._wait_for_last()
        leaves = tables.as_leaves(layout)

        def prepare() -> tuple[list[str], tuple[int, Callable[[], Any]]]:
            number = self._number(step)
            place = f'"{self.folder / str(number)}"'
            found = tables.saved_in(self.folder, number)
            arguments = (self._manager, number, place, leaves, only, rename, found)
            paths, read = self._guarded(f"cannot be restored at step {number}", saving().matched, *arguments)
            return [place, *paths], (number, read)

        number, read = together("a restore", prepare)
        tree = self._guarded(f"cannot be restored at step {number}", read)
        return tables.load(tree, leaves, self.folder, number)

    def _number(self, step: int | None) -> int:
        steps = self.steps
        number = self.latest if step is None else as_integer(step)
        if number is None or number not in steps:
            present = ", ".join(map(str, steps)) or "none"
            asked = "one" if step is None else f"step {step!r}"
            raise ArgumentError(f'"{self.folder}" must have a checkpoint of {asked}, found {present}')
        return number

    def wait(self) -> None:
        """Waits until all is on disk.

        Raises:
          Error: if a save has failed.
        """
        self._wait_for_last()

    def _wait_for_last(self) -> None:
        begun, self._begun = self._begun, None
        try:
            if begun is not None:
                self._guarded("was not saved", begun.result)
            self._guarded("was not saved", behind(self._manager.wait_until_finished).result)
        except Error:
            behind(functools.partial(saving().await_descriptions, self._manager))
            await_behind()
            self._remove_failed()
            raise
        finally:
            self._saving = None
        if self._has_saved:
            tables.keep_only(self.folder, self.steps)

    def _remove_failed(self) -> None:
        """What a save has written that has failed: a full disk would stay full."""
        if self._saving is not None and group.speaks():
            tables.remove(self.folder, self._saving)
        for path in self._unfinished(str(self._saving)) if group.speaks() else ():
            shutil.rmtree(path, ignore_errors=True)

    def close(self) -> None:
        """Waits, and lets go of the folder, as the end of the program does; raises what `wait` raises."""
        ending.remove(self)
        count(f'the close of "{self.folder}"')
        try:
            self._wait_for_last()
        finally:
            closed = behind(self._manager.close)
            await_behind()
            closed.result()

    def __enter__(self) -> Checkpoints:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _guarded(self, what: str, action: Callable[..., Any], *args: Any) -> Any:
        """Does something with orbax, whose errors are told as EPL's."""
        await_behind()
        try:
            return action(*args)
        except Error:
            raise
        except Exception as error:
            which = self.folder if self._saving is None else self.folder / str(self._saving)
            raise Error(f'"{which}" {what}: {reason(error)}') from error


def _open(folder: Path, keep: int | None, best: str | None, mode: str) -> tuple[Any, Any]:
    present = group.current()
    if present is not None and not present.jax_knows:
        raise Error(
            "JAX does not have the run's processes and their devices, which checkpoints need: call epl.init "
            "before anything of JAX is computed in any process"
        )
    await_behind()
    opened: tuple[Any, Any] = saving().open_manager(folder, keep, best, mode)
    return opened


def saving() -> Any:
    """The adapter of orbax, which is loaded when it is needed."""
    try:
        module = importlib.import_module("orbax.checkpoint")
    except ImportError as error:
        raise Error(
            f"checkpoints need orbax ({error}): pip install orbax-checkpoint=={orbax.VERSION}"
        ) from None
    if problem := orbax.wrong_version(module):
        raise Error(problem)
    return importlib.import_module("epl.adapters.orbax.saving")
