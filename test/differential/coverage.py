"""What the programs of a run were made of, so that a reader sees that nothing is missing."""

from __future__ import annotations

import re
from collections import Counter

from check import AnyCase, Case, Verdict
from derivatives import Derivatives
from loop import Loop

# Ops as the compiler reads them: in bodies too.
OP = re.compile(r"\b(?:arith|epl|linalg|math|tensor)\.[a-z_0-9]+")
ATTRIBUTES = {"epl.role", "epl.batch_dim", "epl.updates", "epl.strategy", "epl.name"}
ELEMENT = re.compile(r"[<x](bf16|f16|f32|f64|i1|i8|i16|i32|i64)>")


class Coverage:
    """Counts programs by the ops, types, roles and layouts in them, and by how they were compiled."""

    def __init__(self) -> None:
        self.programs = 0
        self.counts: dict[str, Counter[str]] = {
            kind: Counter()
            for kind in ("ops", "types", "arguments", "layouts", "faults", "ZeRO", "sequence", "kernels")
        }
        self.counts |= {
            kind: Counter()
            for kind in (
                "machines",
                "micro-batches",
                "ops in epl.per_micro_batch",
                "schedules",
                "recomputation",
                "states in the host",
                "names",
                "floats",
                "elements of floats",
                "derivatives",
                "derivatives on",
                "updates",
            )
        }

    def add(self, case: AnyCase, verdict: Verdict) -> None:
        """A case, and the elements of its results by how closely they were compared, if it is on floats."""
        self.programs += 1
        self.counts["elements of floats"].update(verdict.tolerances)
        if isinstance(case, Derivatives):
            self._add_derivatives(case)
        else:
            self._add_program(case)
            self.counts["recomputation"][case.recompute] += 1
            self.counts["states in the host"][str(case.offload)] += 1
            mixes = case.micro_batches > 1 and verdict.outcome == "passed" and bool(verdict.text)
            self.counts["micro-batches"][verdict.text if mixes else str(case.micro_batches)] += 1
            if case.micro_batches > 1 and not mixes:
                self.counts["schedules"][_describe_schedule(case)] += 1

    def _add_derivatives(self, step: Derivatives) -> None:
        self.counts["derivatives"].update(" of ".join((*reversed(t.operators), "u")) for t in step.terms)
        self.counts["derivatives on"][" ".join(step.options)] += 1
        self.counts["updates"][step.update] += 1

    def _add_program(self, case: Case) -> None:
        text = case.text()
        self.counts["ops"].update(set(OP.findall(text)) - ATTRIBUTES)
        self.counts["types"].update(set(ELEMENT.findall(text)))
        self.counts["arguments"].update({_describe(a.role, a.batch_dim) for a in case.program.arguments})
        self.counts["floats"][case.program.floats or "integers"] += 1
        self.counts["ops in epl.per_micro_batch"][_describe_scope(case)] += 1
        self.counts["names"][str(case.program.named)] += 1
        self.counts["layouts"][str(case.program.layout)] += 1
        self.counts["faults"][str(bool(case.find_faults()))] += 1
        self.counts["ZeRO"][case.zero] += 1
        self.counts["sequence"][str(case.sequence)] += 1
        self.counts["machines"][case.machine] += 1
        self.counts["kernels"][f"{case.kernels} for {case.cpu}"] += 1

    def __str__(self) -> str:
        return "\n".join(f"{kind}: {_write(counter)}" for kind, counter in self.counts.items())


def _describe_scope(case: Case) -> str:
    """How many there are, and whether some are in loops."""
    found = case.program.find_scoped()
    loops = any(isinstance(case.program.ops[position], Loop) for position in found)
    return f"{min(len(found), 5)}{' or more' if len(found) > 4 else ''}{' and loops' if loops else ''}"


def _describe_schedule(case: Case) -> str:
    layout = case.program.layout
    meshes = f" on {layout.meshes} meshes" if layout.meshes else ""
    return f"{case.get_schedule()} of {layout.stages} stages{meshes}"


def _describe(role: str, batch_dim: int) -> str:
    return role if role != "batch" else f"batch in dimension {batch_dim}"


def _write(counter: Counter[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(counter.items()))
