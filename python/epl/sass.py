"""The machine code of a kernel of a GPU beside the source lines that it is of: `python -m epl.sass`.

A plan has its kernels as PTX (`epl-plan ptx`), with lines if it was compiled by `epl-compile --line-info`.
NVIDIA's ptxas compiles that for an architecture, as a driver does where the plan is loaded, and nvdisasm
shows what it has made.
"""

from __future__ import annotations

import argparse
import importlib.util
import itertools
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from epl import runtime
from epl.errors import Error

_PACKAGES = {"ptxas": "nvidia-cuda-nvcc", "nvdisasm": "nvidia-cuda-nvdisasm"}
_FOLDERS = ("cu13/bin", "cuda_nvcc/bin")  # of the packages of pip, below `nvidia`
_LINE = re.compile(r'//## File "(?P<file>.*)", line (?P<line>\d+)')
_INSTRUCTION = re.compile(r"/\*(?P<offset>[0-9a-f]{4,})\*/\s+(?P<text>.*;)")
_NOTHING = re.compile(r"\bNOP *;$")
_ENTRY = re.compile(r"\.text\.(?P<name>[^\s:]+):")
_LABEL = re.compile(r"\.L_\w+:")


def tool(name: str) -> Path:
    """A program of CUDA's toolkit, where pip has put it, else on the path.

    Raises:
      Error: if it is nowhere, with what to install.
    """
    package = importlib.util.find_spec("nvidia")
    parents = package.submodule_search_locations if package else None
    for parent, folder in itertools.product(parents or (), _FOLDERS):
        if (path := Path(parent) / folder / name).exists():
            return path
    if found := shutil.which(name):
        return Path(found)
    raise Error(
        f"{name}, which NVIDIA's toolkit has, is neither among the packages of this Python nor on PATH: "
        f"pip install {_PACKAGES[name]}"
    )


@dataclass(frozen=True)
class Group:
    """Instructions that follow one another and are of one line.

    Attributes:
      entry: the kernel that they are in: one for each of its phases, and for lists of launches.
      source: the line, as `file:line`; empty if the code does not say it.
      instructions: with their offsets, as nvdisasm writes them, and labels that are jumped to.
    """

    entry: str
    source: str
    instructions: tuple[str, ...]


def disassemble(plan: Path, kernel: str = "", architecture: str = "sm_90") -> list[Group]:
    """The machine code of the kernels of a plan, or of one of them, for an architecture.

    Raises:
      Error: if the plan has no such code, a tool is missing, or ptxas does not take the code.
    """
    chosen = [f"--kernel={kernel}"] if kernel else []
    assembler, disassembler = tool("ptxas"), tool("nvdisasm")
    with tempfile.TemporaryDirectory(prefix="epl-") as folder:
        ptx, cubin = Path(folder) / "kernels.ptx", Path(folder) / "kernels.cubin"
        _run([runtime.program("epl-plan"), "ptx", plan, "-o", ptx, *chosen])
        _run([assembler, "-lineinfo", f"-arch={architecture}", ptx, "-o", cubin])
        return list(groups(_run([disassembler, "--print-line-info", "--print-code", cubin])))


def _run(command: list[str | Path]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        reason = (done.stderr.strip() or done.stdout.strip()).removeprefix("error: ")
        name = Path(command[0]).name
        raise Error(reason if name == "epl-plan" else f"{name}: {reason}")
    return done.stdout


def groups(text: str) -> Iterator[Group]:
    """What nvdisasm has written, by entries and lines, without what only fills the end of an entry."""
    for (entry, source), records in itertools.groupby(_records(text), lambda record: record[:2]):
        instructions = [instruction for _, _, instruction in records]
        filling = itertools.takewhile(lambda i: _NOTHING.search(i) or _LABEL.fullmatch(i), instructions[::-1])
        if (count := sum(1 for _ in filling)) and any(map(_NOTHING.search, instructions[-count:])):
            del instructions[-count:]
        if instructions:
            yield Group(entry, source, tuple(instructions))


def _records(text: str) -> Iterator[tuple[str, str, str]]:
    """Of each instruction and label the entry, the source line and what it is."""
    entry, source = "", ""
    for line in map(str.strip, text.splitlines()):
        if match := _ENTRY.fullmatch(line):
            entry, source = match["name"], ""
        elif match := _LINE.search(line):
            source = f"{match['file']}:{match['line']}" if match["line"] != "0" else ""
        elif match := _INSTRUCTION.search(line):
            yield entry, source, f"/*{match['offset']}*/  {match['text']}"
        elif entry and _LABEL.fullmatch(line):
            yield entry, source, line


def source_text(source: str) -> str:
    """What stands in a source line, if it can be read."""
    file, _, number = source.rpartition(":")
    try:
        return Path(file).read_text(errors="replace").splitlines()[int(number) - 1].strip()
    except (OSError, ValueError, IndexError):
        return ""


def report(found: list[Group]) -> str:
    """Kernels, below each the source lines, and below these their instructions."""
    lines: list[str] = []
    entry = ""
    for group in found:
        if group.entry != entry:
            entry = group.entry
            count = sum(i.startswith("/*") for g in found if g.entry == entry for i in g.instructions)
            lines += ["", f"{entry}: {count} instructions"] if lines else [f"{entry}: {count} instructions"]
        lines.append(f"  {group.source or 'of no source line'}  {source_text(group.source)}".rstrip())
        lines += [f"    {instruction}" for instruction in group.instructions]
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> None:
    """The command line; ends the process with an error if there is one."""
    parser = argparse.ArgumentParser(
        prog="python -m epl.sass",
        description="Shows the machine code of a plan's kernels for GPUs, each group of instructions below "
        "the source line that it is of, if the plan was compiled with epl-compile --line-info.",
    )
    parser.add_argument("plan", type=Path, help="the plan file (.eplan)")
    parser.add_argument("--kernel", default="", help="only of this name, as epl-plan explain has it")
    parser.add_argument("--arch", default="sm_90", help="the architecture, from the plan's own on (sm_90)")
    given = parser.parse_args(arguments)
    try:
        print(report(disassemble(given.plan, given.kernel, given.arch)))
    except Error as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
