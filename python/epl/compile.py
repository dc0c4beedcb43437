"""Runs `epl-compile` as a child process: MLIR text in, a plan out, diagnostics as a `CompileError`."""

from __future__ import annotations

import contextlib
import re
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from epl import crash, dump, progress, runtime
from epl.advice import warn
from epl.cache import plan_cache, plan_key
from epl.config import Config
from epl.config_keys import KEYS
from epl.errors import CompileError, CompileWarning, Place
from epl.places import is_library
from epl.processes import group
from epl.processes.compiling import compile_together

_Parsed = TypeVar("_Parsed")

_ERROR = re.compile(r"^(?:.*?: )?error: (?P<message>.*)$", re.M)
_PLACE = re.compile(r"^(?P<file>[^:\n]+):(?P<line>\d+):\d+: ", re.M)
_WARNING = re.compile(r"^(?P<place>.*?: )?warning: (?P<message>.*)$", re.M)
_REMARK = re.compile(r"^(?P<text>.*remark: .*(?:\n\| .*)*)$", re.M)  # a table's lines begin with "| "
_USAGE = re.compile(r"^(?P<option>--[a-z-]+): (?P<message>.*?)(\nRun with --help .*)?\s*\Z", re.S)
_NOTE = re.compile(r"^.*: note: (?!called from).*$", re.M)


# Settings whose values the compiler checks, by the option that says them to it.
_SETTINGS = {
    "--schedule": "pipeline.schedule",
    "--micro-batches": "pipeline.num_micro_batch",
    "--communicators": "communication.num_communicators",
    "--max-splits": "communication.max_splits",
    "--gradient-scale": "communication.fp16_scale",
}


def options_of(config: Config) -> tuple[str, ...]:
    """What a configuration says to the compiler of how a step is parallelized."""
    level = config["zero.level"]
    zero = (f"--zero={'v1' if level == 'v0' else level}",) if level else ()
    owners = ("--owners",) if config["zero.owner"] else ()
    colocate = ("--colocate",) if config["cluster.colocate_split_and_replicate"] else ()
    across = () if config["cluster.device_place_prefer_intra_node"] else ("--across-nodes",)
    offload = ("--offload",) if config["offload.level"] else ()
    sequence = ("--sequence-parallel",) if config["split.sequence_parallel"] else ()
    machine = config["cluster.machine"]
    order = ("--sequential",) if config["cluster.sequential"] else ()
    choices = () if machine == KEYS["cluster.machine"].default else (f"--machine={machine}",)
    count = config["pipeline.num_micro_batch"]
    schedule = config["pipeline.schedule"] or config["pipeline.strategy"]
    micro = (f"--micro-batches={count}", f"--schedule={schedule}") if count != 1 else ()
    meshes = int(config["pipeline.num_stages"])
    stages = (f"--num-stages={meshes}",) if meshes > 0 else ()
    found = ("--auto-parallel",) if config["auto.auto_parallel"] else ()
    mode, last = config["gradient_checkpoint.type"], config["gradient_checkpoint.end_taskgraph"]
    end = (f"--recompute-end={last}",) if last != -1 else ()
    recompute = (f"--recompute={mode}", *end) if mode else ()
    return (
        *micro,
        *found,
        *stages,
        *recompute,
        *zero,
        *owners,
        *offload,
        *colocate,
        *across,
        *sequence,
        *_communication_of(config),
        *order,
        *choices,
    )


def _communication_of(config: Config) -> tuple[str, ...]:
    """What it says of how devices exchange values."""
    single = () if config["communication.fuse"] else ("--no-fuse-collectives",)
    apart = () if config["communication.fuse_broadcasts"] else ("--no-fuse-broadcasts",)
    splits = config["communication.max_splits"]
    groups = (f"--max-splits={splits}",) if splits else ()
    lanes = config["communication.num_communicators"]
    communicators = () if lanes == 1 else (f"--communicators={lanes}",)
    narrow, scale = config["communication.fp16"], config["communication.fp16_scale"]
    f16 = ("--gradient-type=f16", f"--gradient-scale={scale}")
    gradients = f16 if narrow is True else (f"--gradient-type={narrow}",) if narrow else ()
    dense = ("--sparse-as-dense",) if config["communication.sparse_as_dense"] else ()
    return (*single, *apart, *groups, *communicators, *gradients, *dense)


def plain_options_of(config: Config) -> tuple[str, ...] | None:
    """The same but for what is computed again, if that is to be compared with the step without; else None."""
    if not (config["gradient_checkpoint.type"] and config["gradient_checkpoint.check_gradients"]):
        return None
    return tuple(option for option in options_of(config) if not option.startswith("--recompute"))


def load_or_compile(text: str, devices: str, name: str, more: Sequence[str] = ()) -> Any:
    """The verified plan of a step: from the cache if it is there, which starts no process, else compiled.

    Args:
      text: the step as MLIR text.
      devices: `cpu:N`.
      name: of the step, for progress and errors.
      more: options of the compiler, for example `--reference`.

    Raises:
      CompileError: with the user's source line, if the step does not compile.
    """
    options = [f"--devices={devices}", *more]
    members = group.current()
    if members is None:
        return _load_or_compile(text, options, name)
    return compile_together(members, text, options, name, lambda: _load_or_compile(text, options, name))


def _load_or_compile(text: str, options: Sequence[str], name: str) -> Any:
    from_bytes = runtime.module().Plan.from_bytes
    return _cached(text, options, name, from_bytes, lambda content: _load(content, text, name))


def plan_bytes(text: str, options: Sequence[str], name: str) -> bytes:
    """The bytes of the plan file of a step: from the cache, else compiled; errors as in `load_or_compile`."""
    return _cached(text, options, name, bytes, bytes)


def _cached(
    text: str,
    options: Sequence[str],
    name: str,
    parse: Callable[[bytes], _Parsed],
    load: Callable[[bytes], _Parsed],
) -> _Parsed:
    """What is made of a plan file: by `parse` of one in the cache, else by `load` of one that is compiled."""
    cache = plan_cache()
    if cache is None:
        return load(compile_plan(text, options, name))
    key = plan_key(text, [*options, *_contents(options)])
    found: _Parsed | None = cache.load(key, parse)
    if found is None:
        content = compile_plan(text, options, name)
        found = load(content)
        cache.store(key, content)
    return found


def _contents(options: Sequence[str]) -> list[str]:
    """What the files hold that options name, which may change under their names; unreadable ones nothing."""
    contents = []
    for option in options:
        name, _, files = option.partition("=")
        for file in files.split(",") if name in ("--machine", "--schedule") else ():
            with contextlib.suppress(OSError):  # a name, or a file that the compiler complains of
                contents.append(Path(file).read_bytes().decode("latin-1"))
    return contents


def _load(content: bytes, text: str, name: str) -> Any:
    """The verified plan of a file that the compiler has just written."""
    try:
        return runtime.module().Plan.from_bytes(content)
    except Exception as error:  # whatever it is, the module says how it came to be
        message = f'the plan of step "{name}" cannot be loaded, which is a bug of EPL: {error}'
        raise CompileError(f"{message}\n{dump.note_of_bug(text, name)}") from error


def compile_plan(text: str, options: Sequence[str], name: str) -> bytes:
    """Compiles a step to the bytes of a plan file; arguments and errors as in `load_or_compile`.

    Warns of what the compiler warns of (`CompileWarning`).
    """
    with tempfile.TemporaryDirectory(prefix="epl-") as folder:
        plan = Path(folder) / "step.eplan"
        _, diagnostics = _run(text, [*options, "-o", str(plan)], name)
        for match in _WARNING.finditer(diagnostics):
            warn(CompileWarning, f"{name}: {match['message']}", _user_place(match["place"] or ""))
        return plan.read_bytes()


def compile_to_folder(text: str, options: Sequence[str], name: str, folder: Path) -> None:
    """Has the compiler write several plans of one step into a folder; errors as in `load_or_compile`."""
    _run(text, [*options, "-o", str(folder)], name)


def emit(text: str, devices: str, name: str, stage: str, more: Sequence[str] = ()) -> str:
    """The program after a stage of the compiler, as MLIR text; errors as in `load_or_compile`."""
    return _run(text, [f"--devices={devices}", f"--emit={stage}", *more], name)[0]


def explain(text: str, devices: str, name: str, more: Sequence[str] = ()) -> list[str]:
    """What the compiler remarks on the program; errors as in `load_or_compile`.

    `more` are its options, with those that say what to remark on: `--explain-sharding`.
    """
    stage = "local" if "--owners" in more else "global"  # owners are found of what devices compute
    options = [f"--devices={devices}", f"--emit={stage}", *more]
    _, diagnostics = _run(text, options, name)
    return [match["text"] for match in _REMARK.finditer(diagnostics)]


def _run(text: str, options: Sequence[str], name: str) -> tuple[str, str]:
    """What the compiler writes to standard output, and its diagnostics."""
    command = [str(runtime.compiler()), "-", *options, *(["--progress"] if progress.is_shown() else [])]
    with tempfile.TemporaryFile() as errors:
        # In a session of its own: Ctrl-C reaches this process only, which then ends the child.
        child = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            start_new_session=True,
        )
        try:
            output = progress.wait(child, text, errors, name)
        except BaseException:
            child.kill()
            child.communicate()
            raise
        _, diagnostics = progress.split_diagnostics(progress.read_all(errors))
        if child.returncode < 0:
            message = crash.describe(-child.returncode, diagnostics, name, text, command)
            raise CompileError(message, None, diagnostics)
        if child.returncode != 0:
            raise _error(child.returncode, diagnostics, name, text)
    return output, diagnostics


def _error(code: int, diagnostics: str, name: str, text: str) -> CompileError:
    usage = _USAGE.search(diagnostics)
    if usage is not None and usage["option"] in _SETTINGS:
        return CompileError(f'"{_SETTINGS[usage["option"]]}": {usage["message"]}', None, diagnostics)
    first = _ERROR.search(diagnostics)
    if first is None:
        message = f'epl-compile failed on step "{name}" with exit code {code}\n{diagnostics}'
        return CompileError(f"{message.rstrip()}\n{dump.note_of_bug(text, name)}", None, diagnostics)
    notes = [*_NOTE.findall(diagnostics), dump.note(text, name)]
    message = "\n".join(filter(None, [first["message"], *notes]))
    return CompileError(message, _user_place(diagnostics), diagnostics)


def _user_place(diagnostics: str) -> Place | None:
    """The first line of the user's own among the places that the diagnostics show, else the first one."""
    places = [Place(match["file"], int(match["line"])) for match in _PLACE.finditer(diagnostics)]
    return next((place for place in places if not is_library(place.file)), places[0] if places else None)
