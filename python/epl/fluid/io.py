"""Variables and programs in files, as Fluid 1.x writes and reads them. See Paddle's `fluid.io`.

    functions                             | files
    --------------------------------------+-------------------------------------------------------------------
    save_vars, _params, _persistables     | a folder with a file for each variable, or one file (`filename`)
    save_inference_model                  | the program (`__model__`) and its parameters, likewise
    save                                  | `.pdparams`, `.pdopt` and `.pdmodel` beside each other

Of several devices the first one's statistics are written. Executors make no difference: their place is taken
for what it was, since values are in the scope. Tables of rows, which parameter servers have, are not: servers
write these beside the folder's files, but for inference a trainer writes them as parameters (table_files.py).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from epl.errors import ArgumentError, Error
from epl.files import write_file
from epl.fluid import table_files, tables
from epl.fluid.installed import load as _paddle
from epl.fluid.loader import DataLoader, GeneratorLoader
from epl.fluid.scope import global_scope
from epl.paddle import parameters
from epl.values import did_you_mean

__all__ = [
    "DataLoader",
    "GeneratorLoader",
    "is_parameter",
    "is_persistable",
    "load",
    "load_inference_model",
    "load_params",
    "load_persistables",
    "load_vars",
    "save",
    "save_inference_model",
    "save_params",
    "save_persistables",
    "save_vars",
]

PathLike = str | os.PathLike[str]
_PROGRAM = "__model__"


def is_parameter(variable: Any) -> bool:
    """Whether a variable is a parameter, which is trained."""
    return isinstance(variable, _paddle().base.framework.Parameter)


def is_persistable(variable: Any) -> bool:
    """Whether a variable keeps its value from run to run, and has numbers."""
    return bool(_paddle().static.io.is_persistable(variable))


def save_vars(
    executor: Any,
    dirname: PathLike,
    main_program: Any = None,
    vars: Iterable[Any] | None = None,
    predicate: Callable[[Any], bool] | None = None,
    filename: str | None = None,
) -> None:
    """Writes variables of the global scope.

    Distributed embeddings parameter servers write, when trainer 0 calls this: server i to the folder
    `<dirname>/<name>_<i>`, with what their optimizer keeps of rows, once all runs so far are applied.

    Args:
      executor: makes no difference.
      dirname: the folder.
      main_program: that has the variables; default `default_main_program()`.
      vars: them or their names; None: those of the program that `predicate` holds for.
      predicate: whether a variable is written; default all that are persistable.
      filename: one file for all of them, in the order of their names; else a file for each.

    Raises:
      ArgumentError: for a variable that has no value.
      Error: if a file cannot be written.
      ProcessError: if a server cannot write rows, or is lost.
    """
    del executor
    names = _names(main_program, vars, predicate)
    own, of_rows = tables.among(names, global_scope().values)
    values = {name: _value(name) for name in names if name not in of_rows}
    for table in own:
        table_files.save(table, dirname)
    _write(dirname, values, filename)


def _write(dirname: PathLike, values: dict[str, np.ndarray[Any, Any]], filename: str | None) -> None:
    """A file for each variable, or one."""
    if filename is None:
        parameters.write_folder(dirname, values)
        return
    folder = Path(os.fspath(dirname))
    _make(folder)
    write_file(folder / filename, parameters.write_stream([values[name] for name in sorted(values)]))


def save_params(
    executor: Any, dirname: PathLike, main_program: Any = None, filename: str | None = None
) -> None:
    """Writes all parameters; arguments and errors as of `save_vars`."""
    save_vars(executor, dirname, main_program, None, is_parameter, filename)


def save_persistables(
    executor: Any, dirname: PathLike, main_program: Any = None, filename: str | None = None
) -> None:
    """Writes all persistable variables, the optimizer's too; arguments and errors as of `save_vars`."""
    save_vars(executor, dirname, main_program, None, is_persistable, filename)


def load_vars(
    executor: Any,
    dirname: PathLike,
    main_program: Any = None,
    vars: Iterable[Any] | None = None,
    predicate: Callable[[Any], bool] | None = None,
    filename: str | None = None,
) -> None:
    """Reads variables into the global scope; arguments as of `save_vars`.

    Servers read distributed embeddings, as many of them as there are; before the first run of a trainer's
    program, in that run. All trainers call this alike, behind the startup program. Another process has them
    as parameters, for a program that does not train.

    Raises:
      Error: for files that are missing or damaged, and for values of another shape or dtype.
      ProcessError: for files of a table that do not fit it.
    """
    del executor
    every = sorted(_names(main_program, vars, predicate))
    own, of_rows = tables.among(every, global_scope().values)
    names = [name for name in every if name not in of_rows]
    _set(_read(dirname, names, names, filename), main_program)
    for table in own:
        table_files.load(table, dirname)


def _read(
    dirname: PathLike, wanted: Sequence[str], saved: Sequence[str], filename: str | None
) -> dict[str, np.ndarray[Any, Any]]:
    """What `_write` has written; `saved`: the variables of the one file. Errors as of `load_vars`."""
    folder = Path(os.fspath(dirname))
    path = folder if filename is None else folder / filename
    by_rows = table_files.saved(folder, wanted)
    names, others = ([name for name in each if name not in by_rows] for each in (wanted, saved))
    try:
        found = parameters.read_variables(path, names, others)
    except Error:
        if filename is None or not by_rows:
            raise
        return parameters.read_variables(path, wanted, saved)  # one of a model for inference has them
    return found | {name: table_files.read_whole(name, parts) for name, parts in by_rows.items()}


def load_params(
    executor: Any, dirname: PathLike, main_program: Any = None, filename: str | None = None
) -> None:
    """Reads all parameters; arguments and errors as of `load_vars`."""
    load_vars(executor, dirname, main_program, None, is_parameter, filename)


def load_persistables(
    executor: Any, dirname: PathLike, main_program: Any = None, filename: str | None = None
) -> None:
    """Reads all persistable variables; arguments and errors as of `load_vars`."""
    load_vars(executor, dirname, main_program, None, is_persistable, filename)


def save_inference_model(
    dirname: PathLike,
    feeded_var_names: Sequence[str],
    target_vars: Sequence[Any],
    executor: Any,
    main_program: Any = None,
    model_filename: str | None = None,
    params_filename: str | None = None,
    export_for_deployment: bool = True,
    program_only: bool = False,
) -> list[str]:
    """Writes what of a program makes some variables, and its parameters. `epl.paddle.load` reads it, too.

    Distributed embeddings of a trainer are parameters there: it fetches their rows from the servers, those
    that no trainer has looked up as they would begin, and needs memory for all. One trainer calls this.

    Args:
      dirname: the folder.
      feeded_var_names: of what is fed then.
      target_vars: what is fetched then.
      executor, export_for_deployment: make no difference.
      main_program: default `default_main_program()`.
      model_filename: of the program; default `__model__`.
      params_filename: of all parameters in one file; else a file for each.
      program_only: whether parameters are left out.

    Returns:
      The names of the targets.

    Raises:
      ArgumentError: for names that are no variables of the program, and before the first run of a program
        that trains distributed embeddings.
      Error: if a file cannot be written.
      ProcessError: if a server is lost.
    """
    del executor, export_for_deployment
    static, program = _paddle().static, _program(main_program)
    block = program.global_block()
    if unknown := [name for name in feeded_var_names if name not in block.vars]:
        raise ArgumentError(
            f'feeded_var_names has "{unknown[0]}", which is no variable of the program'
            f"{did_you_mean(unknown[0], list(block.vars))}"
        )
    fed = [block.var(name) for name in feeded_var_names]
    inference = static.normalize_program(program.clone(for_test=True), fed, list(target_vars))
    folder = Path(os.fspath(dirname))
    _make(folder)
    write_file(folder / (model_filename or _PROGRAM), inference.desc.serialize_to_string())
    if not program_only:
        names = list(_persistables(inference))
        own, of_rows = tables.among(names, global_scope().values)
        values = {name: _value(name) for name in names if name not in of_rows}
        _write(folder, {**values, **{table.name: table_files.whole(table) for table in own}}, params_filename)
    return [variable.name for variable in target_vars]


def load_inference_model(
    dirname: PathLike,
    executor: Any,
    model_filename: str | None = None,
    params_filename: str | None = None,
    pserver_endpoints: Sequence[str] | None = None,
) -> list[Any]:
    """Reads what `save_inference_model` wrote, parameters into the global scope.

    A trainer of parameter servers, which has its variables from these, loads into a scope of its own.

    Args:
      dirname, model_filename, params_filename: as there.
      executor: makes no difference.
      pserver_endpoints: the parameter servers, for distributed embeddings that this process trains: the
        program reads the rows that these have in each run, and not those of the folder. Servers answer their
        trainers alone: another process has the rows of the folder.

    Returns:
      The program, the names of what is fed, and the variables to fetch.

    Raises:
      ArgumentError: if the embeddings are on other servers.
      Error: for files that are missing or damaged.
    """
    del executor
    folder = Path(os.fspath(dirname))
    content = parameters.read_file(folder / (model_filename or _PROGRAM))
    try:
        program = _paddle().static.Program.parse_from_string(content)
    except (RuntimeError, ValueError) as error:
        raise Error(f'"{folder / (model_filename or _PROGRAM)}" is no program of Paddle: {error}') from None
    names = sorted(_persistables(program))
    held = tables.at_servers(names, pserver_endpoints) if pserver_endpoints else frozenset()
    for name in held:
        global_scope().values.pop(name, None)
    _set(_read(folder, [name for name in names if name not in held], names, params_filename), program)
    block = program.global_block()
    fed = {op.attr("col"): op.output("Out")[0] for op in block.ops if op.type == "feed"}
    fetched = {op.attr("col"): op.input("X")[0] for op in block.ops if op.type == "fetch"}
    targets = [block.var(name) for _, name in sorted(fetched.items())]
    return [program, [name for _, name in sorted(fed.items())], targets]


def save(program: Any, model_path: PathLike) -> None:
    """Writes a program and its variables: `.pdparams`, `.pdopt`, `.pdmodel`.

    Raises:
      ArgumentError: for a variable that has no value, and for a path without a name.
      Error: if a file cannot be written.
    """
    path = _base(model_path)
    own = _persistables(program)
    _make(path.parent)
    for suffix, wanted in ((".pdparams", True), (".pdopt", False)):
        names = [name for name, variable in own.items() if is_parameter(variable) == wanted]
        parameters.write_state(_with(path, suffix), {name: _value(name) for name in names})
    write_file(_with(path, ".pdmodel"), program.desc.serialize_to_string())


def load(
    program: Any, model_path: PathLike, executor: Any = None, var_list: Iterable[Any] | None = None
) -> None:
    """Reads the variables of a program that `save` wrote, or `paddle.static.save`, into the global scope.

    Args:
      executor: makes no difference.
      var_list: those alone.

    Raises:
      Error: for files that are missing or damaged, and for values of another shape or dtype.
    """
    del executor
    wanted = list(_persistables(program)) if var_list is None else [variable.name for variable in var_list]
    _set(parameters.read_variables(_with(_base(model_path), ".pdparams"), wanted, ()), program)


def _base(path: PathLike) -> Path:
    base = Path(os.fspath(path))
    if not base.name:
        raise ArgumentError(f'model_path is "{os.fspath(path)}", expected a path that ends in a name')
    return base


def _with(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Error(f'cannot make the folder "{folder}": {error.strerror}') from None


def _program(program: Any) -> Any:
    return _paddle().static.default_main_program() if program is None else program


def _persistables(program: Any) -> dict[str, Any]:
    return {each.name: each for each in _program(program).list_vars() if is_persistable(each)}


def _names(
    program: Any, variables: Iterable[Any] | None, predicate: Callable[[Any], bool] | None
) -> list[str]:
    if variables is not None:
        return [each if isinstance(each, str) else each.name for each in variables]
    return [name for name, each in _persistables(program).items() if predicate is None or predicate(each)]


def _value(name: str) -> np.ndarray[Any, Any]:
    if tables.among([name], global_scope().values)[1]:
        raise ArgumentError(
            f'"{name}" is of a table, which parameter servers have by rows: fluid.io.save_persistables has '
            "them write it"
        )
    return global_scope().var(name).get_tensor().numpy()


def _set(values: dict[str, np.ndarray[Any, Any]], program: Any) -> None:
    """Puts values into the scope, all or none."""
    known, dtypes = _persistables(program), _paddle().base.data_feeder
    for name, value in values.items():
        if name not in known:
            continue
        shape, dtype = tuple(known[name].shape), dtypes.convert_dtype(known[name].dtype)
        if value.shape != shape or value.dtype.name != dtype:
            raise Error(
                f'"{name}" in the file is {value.dtype.name}{list(value.shape)}, expected {dtype}'
                f"{list(shape)}"
            )
    for name, value in values.items():
        global_scope().var(name).get_tensor().set(value)
