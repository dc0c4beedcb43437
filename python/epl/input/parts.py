"""Which part of the input this process reads: rows of each global batch, or files of a list.

Both are of data that all processes of a run share evenly, as data parallelism does: each has equally many
devices, and so as many copies of the model. A process that has joined a run knows its place there. Before,
they ask the launcher's variables and no other process, so that they are right at any time, and in a test
that sets the variables. Some launchers say who a process is and not of how many: nobody knows that before
`epl.init`.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import TypeVar

from epl import environment
from epl.config import Config
from epl.config_keys import Value
from epl.errors import ArgumentError, ConfigError, NotParallelWarning
from epl.processes import group
from epl.processes.launch_variables import read_launch
from epl.values import as_integer

File = TypeVar("File", bound=str | PurePath)


def local_slice(batch_size: int) -> slice:
    """The rows of each global batch that this process reads: of 128 in 4 processes, 32 to 63 in the second.

    In one process these are all. The parts of all processes, in their order, are the global batch; so who
    shuffles by a seed, cuts global batches, and takes this slice of each reads the same batches in any number
    of processes.

    Call it in the script, and hand the slice to workers of a data loader: these are no processes of the run,
    and would each read the whole.

    Args:
      batch_size: how many rows a global batch has, of all processes together.

    Raises:
      ArgumentError: for a size that is no positive multiple of the number of processes.
      ConfigError: if a variable that a launcher leaves in the environment is wrong, and before `epl.init` if
        none says how many processes there are.
    """
    rows = as_integer(batch_size)
    if rows is None or rows < 1:
        raise ArgumentError(f"batch_size must be an integer of at least 1, found {batch_size!r}")
    process, processes = _place()
    part, left = divmod(rows, processes)
    if left:
        near = " or ".join(str(size) for size in (rows - left, rows - left + processes) if size)
        raise ArgumentError(
            f"batch_size must be a multiple of the number of processes, {processes}, which read equally many "
            f"rows each, found {rows}: make it {near}"
        )
    return slice(part * process, part * (process + 1))


def local_files(files: Sequence[File], config: Config | Mapping[str, Value] | None = None) -> list[File]:
    """The files of a list that this process reads, by the settings `io.*`: all, unless `io.slicing` is set.

    With `io.slicing` the file at position i is for process i modulo the number of processes. Files that do
    not divide evenly are left over: with `io.drop_last_files` nobody reads them, with
    `io.unbalanced_io_slicing` some processes have one file more. Without either, and wherever there are fewer
    files than processes, every process reads all files, and a warning says so; it takes `epl.local_slice` of
    each batch then.

    Args:
      files: names or paths, the same ones in the same order in every process: `sorted(glob.glob("*.csv"))`,
        as a folder lists its files in any order.
      config: an `epl.Config` or its dict; None: that of `epl.init`, or of the environment.

    Raises:
      ArgumentError: if `files` is no list of names, or empty.
      ConfigError: for a bad configuration, a launcher's variable that is wrong, and before `epl.init` if none
        says how many processes there are.
    """
    if isinstance(files, (str, bytes)) or not isinstance(files, Sequence):
        raise ArgumentError(
            f"files must be a list of names in an order that all processes agree on, found {files!r}"
        )
    if not files:
        raise ArgumentError(
            "files must name at least one file, found an empty list: does the pattern find any on this host?"
        )
    settings = environment.current_config() if config is None else environment.as_config(config)
    process, processes = _place()
    if not settings["io.slicing"] or processes == 1:
        return list(files)
    left = len(files) % processes
    is_even = not left or settings["io.drop_last_files"] or settings["io.unbalanced_io_slicing"]
    if len(files) < processes or not is_even:
        warnings.warn(_not_sliced(len(files), processes), NotParallelWarning, stacklevel=2)
        return list(files)
    end = len(files) - left if settings["io.drop_last_files"] else len(files)
    return list(files[process:end:processes])


def _not_sliced(files: int, processes: int) -> str:
    """Why every process reads all files, and what changes it."""
    if files < processes:
        return (
            f"every process reads all files, as there are {files} for {processes} processes: make more files"
        )
    return (
        f"every process reads all files, as {files} do not divide evenly over {processes} processes: set "
        '"io.drop_last_files" to leave some out, or "io.unbalanced_io_slicing" to give some one more'
    )


def _place() -> tuple[int, int]:
    """The number of this process, and how many there are."""
    if (joined := group.current()) is not None:
        return joined.process, joined.processes
    launch = read_launch(os.environ)
    if launch.processes is not None:
        return launch.process, launch.processes
    if group.is_alone():  # as MPI has said
        return 0, 1
    raise ConfigError(
        f"{launch.variables[0]} in the environment says which process this is, and no variable says how many "
        "there are: call epl.init first, which asks MPI"
    )
