"""The runtime's own figures: the executor and the collectives, in C++ programs beside their peers."""

import itertools
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

from effort import Effort
from programs import BUILD
from table import Row

PROGRAMS = BUILD / "bin/benchmarks"

KIB, MIB = 1024, 1024 * 1024
SIZES = {"4 KiB": 4 * KIB, "1 MiB": MIB, "64 MiB": 64 * MIB}


def environment(**more: str) -> dict[str, str]:
    """In which mpirun starts programs for root, too."""
    allowed = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return {**os.environ, **allowed, **more}


def lines(*command: str, **more: str) -> list[dict[str, Any]]:
    """What a program prints, one JSON object a line; with `more` in its environment."""
    result = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environment(**more))
    return [json.loads(text) for text in result.stdout.splitlines() if text.startswith("{")]


def executor(effort: Effort) -> Iterator[Row]:
    """Empty commands: what each costs, and the whole graph beside peers."""
    size = 1000 if effort.quick else 10000
    for found in lines(
        str(PROGRAMS / "executor"), str(size), str(3 * effort.rounds), "1" if effort.quick else "5"
    ):
        ours = found["seconds"].pop("ours")
        what = f"executor, {size} empty commands, {found['what']}"
        yield Row(f"{what}: each", [time / size for time in ours], goal=100e-9)
        for peer, theirs in found["seconds"].items():
            yield Row(f"{what} / {peer}", ours, theirs, goal=0.5)


def growth(effort: Effort) -> Iterator[Row]:
    """Large plans: what twice the commands cost, and 64 ways of data parallelism instead of 2, by stage."""
    sizes = ["12800", "25600"] if effort.quick else ["51200", "102400", "204800"]
    rounds = str(effort.rounds)
    program = str(PROGRAMS / "plan_growth")
    narrow = {found["what"]: found["seconds"] for found in lines(program, rounds, "2", *sizes)}
    for stage, seconds in narrow.items():
        goal = 2.2 if stage in ("build", "verify") else None  # the others are parts, or small beside these
        for half, full in itertools.pairwise(sizes):
            yield Row(f"plan, {stage}: {full} commands / {half}", seconds[full], seconds[half], goal=goal)
    wide = {found["what"]: found["seconds"] for found in lines(program, rounds, "64", sizes[0])}
    for stage in ("verify", "read"):
        what = f"plan, {stage}: {sizes[0]} commands, 64 ways of data parallelism / 2"
        yield Row(what, wide[stage][sizes[0]], narrow[stage][sizes[0]])


COLLECTIVES = ("all-reduce", "reduce-scatter", "all-to-all")


def collective(effort: Effort, kind: str, size: str) -> Iterator[Row]:
    """Between two devices of a process; Open MPI between two processes that share memory."""
    ours: dict[str, list[float]] = {}
    mpi: list[float] = []
    runs = "1" if effort.quick else str(max(3, 8 * MIB // SIZES[size]))
    arguments = [kind.replace("-", "_"), str(SIZES[size]), "1", runs]
    peer = PROGRAMS / "collective_mpi"
    for _ in range(effort.rounds):
        # A process for each round: its peers would spin on the cores meanwhile, and memory lies elsewhere.
        for name, seconds in lines(str(PROGRAMS / "collective"), *arguments)[0]["seconds"].items():
            ours.setdefault(name, []).extend(seconds)
        if peer.exists() and shutil.which("mpirun"):
            found = lines("mpirun", "--oversubscribe", "-n", "2", str(peer), *arguments)
            mpi.extend(found[0]["seconds"]["Open MPI"])
    what = f"{kind} of {size}, two devices"
    goal = 1.0 if (kind, size) == ("all-reduce", "64 MiB") else None
    yield Row(f"{what} / memcpy", ours["ours"], ours["memcpy"], goal=goal)
    if mpi:
        yield Row(f"{what} / Open MPI", ours["ours"], mpi, goal=0.2)


def _over_grpc(name: str, effort: Effort, *sizes: int) -> Iterator[dict[str, Any]]:
    """What a program finds that needs gRPC; nothing where this was built without."""
    program = PROGRAMS / name
    if not program.exists():
        print(f"built without gRPC: {name} are not measured", file=sys.stderr)
        return
    arguments = [*map(str, sizes), str(effort.rounds), "1" if effort.quick else "3"]
    yield from lines(str(program), *arguments, EPL_GRPC=str(BUILD / "lib/libepl_grpc.so"))


def servers(effort: Effort) -> Iterator[Row]:
    """What a worker and its server exchange in a step, and the server's update; rows of a large table."""
    for found in _over_grpc("servers", effort, 16 * MIB):
        seconds = found["seconds"]
        if found["what"] == "update":
            yield Row(
                "a server's update of 64 MiB / memcpy", seconds["update"], seconds["memcpy"], goal=1 / 0.8
            )
            continue
        one, bare = seconds["one block"], seconds["bare"]
        yield Row("push and pull of 64 MiB / bare gRPC", one, bare, goal=1 / 0.8)
        yield Row("the same in 40 blocks / in one", seconds["40 blocks"], one, goal=1.3)
    rows, batch = (1_000_000, 100_000) if effort.quick else (10_000_000, 1_000_000)
    for found in _over_grpc("tables", effort, rows, batch):
        what = f"pull and push of {batch} of {rows} rows / bare gRPC"
        yield Row(what, found["seconds"]["table"], found["seconds"]["bare"], goal=1 / 0.5)


def bare_exchanges(size: int, effort: Effort) -> list[float]:
    """Seconds of bare exchanges of vectors of so many floats over gRPC; none where this is missing."""
    found = (each for each in _over_grpc("servers", effort, size) if each["what"] == "push and pull")
    return [second for each in found for second in each["seconds"]["bare"]]


def streams(effort: Effort) -> Iterator[Row]:
    """What workers and servers exchange, beside a bare stream of gRPC that lands in tensors as well."""
    for found in _over_grpc("streams", effort, 64 * MIB):
        ours, bare = found["seconds"]["ours"], found["seconds"]["bare"]
        yield Row(f"64 MiB {found['what']} in 1 MiB frames / bare gRPC", ours, bare, goal=1 / 0.8)
