"""A model of test/models, split over 2 devices with data parallelism round it: its traffic by EPL and by JAX.

Prints {"ours": bytes that a device receives in all steps, "our collectives": ..., "jax": ..., ...}.
JAX gets the shardings of state and batch that EPL chose, as NamedShardings, and compiles the step (GSPMD or
Shardy); its traffic is read in the program that XLA has optimized, loops counted by their iterations.

    XLA_FLAGS=--xla_force_host_platform_device_count=4 python traffic_worker.py MODEL
"""

import importlib
import json
import math
import re
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import jax
import numpy as np
from shardings import named_shardings, split_scopes

import epl

sys.path.insert(0, str(Path(__file__).parents[1]))

BITS = {"pred": 8, "s4": 4, "u4": 4, "s8": 8, "u8": 8, "bf16": 16, "f16": 16, "s16": 16, "u16": 16}
BITS |= {"f32": 32, "s32": 32, "u32": 32, "f64": 64, "s64": 64, "u64": 64}
KINDS = "all-reduce|all-gather|reduce-scatter|all-to-all|collective-permute"
COLLECTIVE = re.compile(rf"= (?P<types>.*?) (?P<kind>{KINDS})(-start)?\(")
CALL = re.compile(r"(?:body|condition|to_apply|calls)=%?([\w.-]+)|branch_computations=\{([^}]*)\}")

Traffic = tuple[float, int]  # bytes, collectives


def received(line: str, types: str, kind: str) -> float:
    """Bytes that a member gets: others' parts of what it holds in the end; for a sum these twice."""
    size = sum(
        BITS[element] / 8 * np.prod([int(n) for n in shape.split(",") if n], dtype=float)
        for element, shape in re.findall(r"(\w+)\[([\d,]*)\]", types)
        if element in BITS
    )
    if kind == "collective-permute":
        return float(size)
    members = group_size(line)
    others = (members - 1) / members
    factor = {"all-reduce": 2 * others, "reduce-scatter": members - 1.0}.get(kind, others)
    return float(factor * size)


def group_size(line: str) -> int:
    """Members: replica_groups={{0,1},{2,3}} or =[2,2]<=[4] or =mesh['a'=2,'b'=2] {'b'}."""
    if listed := re.search(r"replica_groups=\{\{([\d,]+)\}", line):
        return len(listed[1].split(","))
    if iota := re.search(r"replica_groups=\[\d+,(\d+)\]", line):
        return int(iota[1])
    if mesh := re.search(r"replica_groups=mesh\[([^\]]*)\].*? \{([^}]*)\}", line):
        sizes = dict(re.findall(r"'(\w+)'=(\d+)", mesh[1]))
        return math.prod(int(sizes[axis]) for axis in re.findall(r"'(\w+)'", mesh[2]))
    raise ValueError(f"no members in {line}")


def traffic(text: str) -> Traffic:
    """Of a module of optimized HLO, all branches taken."""
    bodies: dict[str, list[str]] = defaultdict(list)
    name = entry = ""
    for line in text.splitlines():
        if head := re.match(r"(ENTRY )?%?([\w.-]+) \(.*\{$", line):
            name = head[2]
            entry = name if head[1] else entry
        bodies[name].append(line)

    def total(body: str) -> Traffic:
        size, count = 0.0, 0
        for line in bodies[body]:
            if found := COLLECTIVE.search(line):
                size += received(line, found["types"], found["kind"])
                count += 1
            trip_count = re.search(r'"known_trip_count":\{"n":"(\d+)"\}', line)
            for one, many in CALL.findall(line):
                for callee in [one] if one else re.findall(r"[\w.-]+", many):
                    inner = total(callee) if callee in bodies else (0.0, 0)
                    size += inner[0] * (int(trip_count[1]) if trip_count else 1)
                    count += inner[1] * (int(trip_count[1]) if trip_count else 1)
        return size, count

    return total(entry)


def of_jax(step: Any, plan: Any, state: Any, batch: Any) -> Traffic:
    """With the shardings of the plan's arguments."""
    states, batches = named_shardings(plan, (state, batch), (2, 2))
    jitted = jax.jit(step, in_shardings=(states, batches), out_shardings=(states, None))
    return traffic(jitted.lower(state, batch).compile().as_text())


def main() -> None:
    """The command line."""
    split_scopes(2)
    model = importlib.import_module(f"models.{sys.argv[1]}").build()
    batch = model.batch(np.random.default_rng(0))
    found = {"ours": 0, "our collectives": 0, "jax": 0.0, "jax collectives": 0}
    for step in model.steps:
        plan = (
            epl.parallelize(step, state=0, batch=1, devices="cpu:4").lower(model.state, batch).compile().plan
        )
        size, count = of_jax(step, plan, model.state, batch)
        found["ours"] += plan.received_bytes
        found["our collectives"] += plan.num_collectives
        found["jax"] += size
        found["jax collectives"] += count
    print(json.dumps(found))


main()
