"""Figures beside those of peers, as a table with the goals.

Machines are noisy and their speed drifts, so that only ratios of neighbours in time are worth something: ours
and the peer run in turn, round by round, and the ratio is taken in each round; the table shows its median.
"""

import argparse
import dataclasses
import functools
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import gpu_compile
import micro_batches
import native
import served_steps
import several_processes
import sharding
import table
import traffic
import training
from effort import Effort
from programs import BUILD, ROOT

from models import DEEP, MODELS

Group = Callable[[Effort], Iterator[table.Row]]


def call_overhead(effort: Effort) -> Iterator[table.Row]:
    """What a call costs, in a process of its own."""
    program = Path(__file__).parent / "call_overhead.py"
    bursts = "2" if effort.quick else "50"
    arguments = ["--rounds", str(effort.rounds), "--bursts", bursts]
    for found in native.lines(sys.executable, str(program), *arguments):
        yield table.Row(**found)


def checkpoints(effort: Effort) -> Iterator[table.Row]:
    """Saves and restores, in a process of its own."""
    program = Path(__file__).parent / "checkpoints.py"
    arguments = ["--rounds", str(effort.rounds)] + (["--megabytes=16"] if effort.quick else [])
    for found in native.lines(sys.executable, str(program), *arguments):
        yield table.Row(**found)


def gpu_calls(effort: Effort) -> Iterator[table.Row]:
    """The host's part of a step on a GPU, in a process of its own, with a driver that does nothing."""
    driver = BUILD / "cuda"
    if not driver.exists():
        print("built without CUDA's headers: nothing for GPUs is measured", file=sys.stderr)
        return
    program = Path(__file__).parent / "gpu_calls.py"
    arguments = ["--rounds", str(effort.rounds)] + (["--calls=2"] if effort.quick else [])
    idle = {
        "EPL_CUDA_IDLE": "1",
        "LD_LIBRARY_PATH": str(driver),
        "EPL_CUBLAS": str(driver / "libcublas.so.13"),
        "EPL_CUBLASLT": str(driver / "libcublasLt.so.13"),
        "EPL_CUDNN": str(driver / "libcudnn.so.9"),
        "EPL_CUSOLVER": str(driver / "libcusolver.so.12"),
        "EPL_NCCL": str(driver / "libnccl.so.2"),
    }
    for found in native.lines(sys.executable, str(program), *arguments, **idle):
        yield table.Row(**found)


def factorizations(effort: Effort) -> Iterator[table.Row]:
    """Factorizations of a matrix on one core, in a process of its own."""
    program = Path(__file__).parent / "factorizations.py"
    calls = "1" if effort.quick else "5"
    for found in native.lines(sys.executable, str(program), "--rounds", str(effort.rounds), "--calls", calls):
        yield table.Row(**found)


def simulation(effort: Effort) -> Iterator[table.Row]:
    """Steps of pipelines beside what their simulation says, in a process of its own."""
    program = Path(__file__).parent / "simulation.py"
    arguments = ["--rounds", str(effort.rounds)] + (["--steps=2", "--width=64"] if effort.quick else [])
    for found in native.lines(sys.executable, str(program), *arguments):
        yield table.Row(**found)


def paddle_steps(effort: Effort) -> Iterator[table.Row]:
    """Programs of Paddle beside Paddle, in an environment that has it; without one it says so."""
    python = ROOT / ".venv-paddle/bin/python"
    if not python.exists():
        print("Paddle is missing: scripts/setup --paddle", file=sys.stderr)
        return
    program = Path(__file__).parent / "paddle_steps.py"
    arguments = ["--rounds", str(effort.rounds), "--seconds", str(effort.seconds)]
    for found in native.lines(str(python), str(program), *arguments):
        yield table.Row(**found)


def groups() -> dict[str, Group]:
    """What can be measured, by name."""
    result: dict[str, Group] = {}
    for name, measure in (
        ("step", training.speed),
        ("compile", training.compile_time),
        ("memory", training.memory),
    ):
        result |= {f"{name} {model}": functools.partial(measure, model=model) for model in MODELS}
    result |= {f"compile {model}": functools.partial(training.compile_time, model=model) for model in DEEP}
    result |= {
        f"{kind} {size}": functools.partial(native.collective, kind=kind, size=size)
        for kind in native.COLLECTIVES
        for size in native.SIZES
    }
    result |= {
        f"traffic {model}": functools.partial(traffic.traffic, model=model) for model in traffic.MODELS
    }
    result["split step GPT"] = training.split_speed
    result["micro-batches"] = training.accumulation
    result["mixed precision"] = training.mixed_precision
    result["simulation"] = simulation
    result["compile micro-batches"] = micro_batches.compilation
    result["sharding"] = sharding.sharding
    result["executor"] = native.executor
    result["streams"] = native.streams
    result["servers"] = native.servers
    result["served steps"] = served_steps.served_steps
    result["stopped worker"] = served_steps.stopped_worker
    result["plan growth"] = native.growth
    result["call"] = call_overhead
    result["GPU calls"] = gpu_calls
    result["GPU compile"] = gpu_compile.compilation
    result["checkpoints"] = checkpoints
    result["processes"] = several_processes.processes
    result["factorizations"] = factorizations
    result["Paddle"] = paddle_steps
    return result


def build() -> None:
    """Build the C++ programs; say which packages of peers are missing."""
    packages = [name for name in (ROOT / "test/benchmarks/packages.txt").read_text().split("\n") if name]
    names = [name for name in packages if not name.startswith("#")]
    if missing := [name for name in names if not table.package_version(name)]:
        print(f"peers are missing: apt-get install {' '.join(missing)}", file=sys.stderr)
    targets = ["runtime/all", "tools/all", "test/cuda/all", "benchmarks"]
    for command in (["cmake", str(BUILD)], ["ninja", "-C", str(BUILD), *targets]):
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)


def main() -> None:
    """The command line."""
    names = groups()
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0], epilog=f"Groups: {', '.join(names)}."
    )
    parser.add_argument(
        "--only", action="append", help="only groups whose name contains this; may be repeated"
    )
    parser.add_argument(
        "--quick", action="store_true", help="one short round of everything: to see that it runs"
    )
    parser.add_argument("--rounds", type=int, default=7, help="rounds of each comparison (default 7)")
    parser.add_argument("--seconds", type=float, default=0.5, help="of an engine in a round (default 0.5)")
    parser.add_argument("--best", action="store_true", help="compare best rounds: for busy machines")
    parser.add_argument("--json", type=Path, default=ROOT / "build/benchmarks.json", help="where figures go")
    parser.add_argument("--no-build", action="store_true", help="the C++ programs are up to date")
    args = parser.parse_args()
    effort = Effort(1, 0.01, True) if args.quick else Effort(args.rounds, args.seconds, False)
    chosen = [name for name in names if not args.only or any(only in name for only in args.only)]
    if not chosen:
        parser.error(f"no group is named {args.only}, expected a part of: {', '.join(names)}")
    if not args.no_build:
        build()
    print(table.line(table.HEADINGS))
    rows = []
    for name in chosen:
        for row in names[name](effort):
            goal = None if args.quick else row.goal  # one short round says nothing
            rows.append(dataclasses.replace(row, goal=goal, best=args.best))
            print(table.line(rows[-1].cells()), flush=True)
    table.write(args.json, rows)


if __name__ == "__main__":
    main()
