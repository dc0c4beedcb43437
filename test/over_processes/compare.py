"""Runs plans over the processes that mpirun has started, beside each plan in one process: equal bits of all.

    mpirun -n 2 python compare.py FOLDER [one | each]

Each process runs every plan of the folder whose devices the processes divide, twice: with all devices here,
and with its own part of them. After each of a few steps, what it has of every state and result is compared
byte by byte. Inputs are random, the same in all processes; states are consumed. Plans for GPUs have all
devices on one card, or each on a card of its own, of the stand-in of a GPU, which must find nothing.
"""

from __future__ import annotations

import sys
import traceback
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[2]
sys.path += [str(ROOT / "build" / "python"), str(ROOT / "test" / "differential")]

import _epl_mpi  # noqa: E402
import _epl_runtime  # noqa: E402
import cards  # noqa: E402

STEPS = 3


def make_input(slot: Any, number: int) -> np.ndarray[Any, Any]:
    """Random elements, of any type that a slot has."""
    numbers = np.random.default_rng((number, *slot.shape))
    if slot.dtype == "bfloat16":
        return (numbers.normal(size=slot.shape).astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    dtype = np.dtype(slot.dtype)
    if dtype.kind == "f":
        return numbers.normal(size=slot.shape).astype(dtype)
    return numbers.integers(0, 2 if dtype.kind == "b" else 5, slot.shape).astype(dtype)


def find_difference(whole: Any, own: Any) -> str | None:
    """How what this process has of a value differs from the value in one process."""
    if not hasattr(own, "shards"):
        return None if own.numpy().tobytes() == whole.numpy().tobytes() else "result"
    if not hasattr(whole, "shards"):
        array = whole.numpy()
        expected = {box: array[tuple(slice(*bounds) for bounds in box)] for _, box, _, _ in own.shards()}
        pairs = [(data, expected[box], box) for _, box, data, _ in own.shards()]
    else:
        held = {(device, box): data for device, box, data, _ in whole.shards()}
        pairs = [(data, held[device, box], (device, box)) for device, box, data, _ in own.shards()]
    wrong = [where for data, expected, where in pairs if data.tobytes() != expected.tobytes()]
    return f"shards {wrong}" if wrong else None


def devices_of(plan: Any) -> str:
    """Where a plan runs."""
    has_each = sys.argv[2:] == ["each"]
    return f"cuda:0-{plan.devices - 1}" if has_each else str(plan.device_string)


def compare(plan: Any, group: Any) -> str | None:
    """What differs in one of a few steps, if anything does."""
    inputs = [slot for slot in plan.slots if slot.role != "result"]
    sessions = [_epl_runtime.Session(plan, devices_of(plan), members) for members in (None, group)]
    arguments = [[make_input(slot, i) for i, slot in enumerate(inputs)] for _ in sessions]
    results = [slot for slot in plan.slots if slot.role == "result"]
    for step in range(STEPS):
        outcomes = [
            session.call(values, [True] * len(values), "step")
            for session, values in zip(sessions, arguments, strict=True)
        ]
        for _, call in outcomes:
            call.wait()
        (whole, _), (own, _) = outcomes
        for slot, expected, found in zip(results, whole, own, strict=True):
            if difference := find_difference(expected, found):
                return f"step {step}, {slot.name}: {difference}"
        for values, (made, _) in zip(arguments, outcomes, strict=True):
            for slot, value in zip(results, made, strict=True):
                if slot.updates >= 0:
                    values[slot.updates] = value
    return take_findings() if sys.argv[2:] else None


def take_findings() -> str | None:
    """What the stand-in has found, which it forgets then."""
    findings = cards.findings()
    cards.restart(1)
    return "; ".join(findings) or None


def main() -> int:
    """Compares all plans of a folder; the number of those that differ."""
    group = _epl_mpi.open_group()
    wrong = count = refused = 0
    for path in sorted(Path(sys.argv[1]).glob("*.eplan")):
        try:
            plan = _epl_runtime.Plan.load(str(path))
        except _epl_runtime.Error:  # tests of the front end have compilers that write anything
            refused += 1
            continue
        is_of_worker = any(slot.role in ("pulled", "pushed") for slot in plan.slots)  # of one process
        if plan.devices == 1 or plan.devices % group.num_processes or is_of_worker:
            continue
        count += 1
        if difference := compare(plan, group):
            wrong += 1
            print(f"{path.name} ({plan.layout}), process {group.process}: {difference}", flush=True)
    if group.process == 0:
        print(f"{count} plans over {group.num_processes} processes, {refused} files are none", flush=True)
    _epl_mpi.finalize()
    return min(wrong, 1)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Exception:  # the others wait for this process: the launcher ends them
        traceback.print_exc()
        sys.exit(1)
