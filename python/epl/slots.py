"""Whether a loaded plan is one of a step: its slots beside the arguments and results of the step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from epl.calling import in_memory
from epl.errors import Error

if TYPE_CHECKING:
    from epl.stages import Lowered


GIVEN = ("state", "batch", "constant")
"""The roles of arguments that the caller of a plan passes; others are pulled while it runs."""


def check_slots(plan: Any, lowered: Lowered) -> None:
    """Raises `Error` unless a plan's slots are the step's arguments, what it closes over, and its results."""
    name, program = lowered.signature.name, lowered.program
    arguments = [slot for slot in plan.slots if slot.role != "result"]
    given = [
        (a.name, a.role, *_plain(leaf))
        for a, leaf in zip(lowered.arguments, lowered.spec.leaves, strict=True)
    ]
    hidden = [(f"hidden[{i}]", "constant", *_plain(value)) for i, value in enumerate(program.hidden)]
    results = zip(lowered.results, lowered.out_leaves, strict=True)
    _check_same(name, "arguments", [*given, *hidden], [(s.name, s.role, *_plain(s)) for s in arguments])
    _check_same(
        name,
        "results",
        [(r.name, _result(r.updates), *_plain(leaf)) for r, leaf in results],
        [(s.name, _result(s.updates), *_plain(s)) for s in plan.slots if s.role == "result" and not s.hidden],
    )


def _check_same(step: str, what: str, expected: Sequence[Any], found: Sequence[Any]) -> None:
    """Slots as (name, role, type, shape)."""
    names = [[name for name, *_ in slots] for slots in (expected, found)]
    if names[0] != names[1]:
        raise Error(f"the plan is not one of {step}: expected {what} {names[0]}, found {names[1]}")
    for (name, role, *kind), (_, found_role, *found_kind) in zip(expected, found, strict=True):
        if (role, kind) != (found_role, found_kind):
            texts = [
                f"{of}, {dtype}{list(shape)}"
                for of, (dtype, shape) in ((role, kind), (found_role, found_kind))
            ]
            raise Error(
                f'the plan is not one of {step}: expected "{name}" as {texts[0]}, found {texts[1]}: '
                "lower the step as it was when the plan was saved"
            )


def _result(updates: int | None) -> str:
    return "result" if updates is None or updates < 0 else f"the update of argument {updates}"


def _plain(leaf: Any) -> tuple[str, tuple[int, ...]]:
    """Type and shape as plans have them: signless integers, keys as their data."""
    leaf = in_memory(leaf)
    return str(leaf.dtype).removeprefix("u"), tuple(leaf.shape)
