"""Whether a loaded plan is one of a step: its slots beside the arguments and results of the step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from epl.calling import in_memory
from epl.errors import Error

if TYPE_CHECKING:
    from epl.stages import Lowered


Slot = tuple[str, str, str, list[int]]
"""Name, role, type and shape."""

GIVEN = ("state", "batch", "constant")
"""The roles of arguments that the caller of a plan passes; others are pulled while it runs."""


def check_slots(plan: Any, lowered: Lowered) -> None:
    """Raises `Error` unless a plan's slots are the step's arguments, what it closes over, and its results."""
    arguments = [slot(s.name, s.role, s) for s in plan.slots if s.role != "result"]
    results = [s for s in plan.slots if s.role == "result" and not s.hidden]
    check_same(
        lowered.signature.name,
        (arguments_of(lowered), results_of(lowered)),
        (arguments, [slot(s.name, _result(s.updates), s) for s in results]),
    )


def arguments_of(lowered: Lowered) -> list[Slot]:
    """The arguments of a step, and what it closes over."""
    given = zip(lowered.arguments, lowered.spec.leaves, strict=True)
    hidden = enumerate(lowered.program.hidden)
    return [
        *(slot(argument.name, argument.role, leaf) for argument, leaf in given),
        *(slot(f"hidden[{i}]", "constant", value) for i, value in hidden),
    ]


def results_of(lowered: Lowered) -> list[Slot]:
    """The results of a step."""
    results = zip(lowered.results, lowered.out_leaves, strict=True)
    return [slot(result.name, _result(result.updates), leaf) for result, leaf in results]


def slot(name: str, role: str, leaf: Any) -> Slot:
    """What a plan says of a leaf: signless integers, keys as their data."""
    leaf = in_memory(leaf)
    return name, role, str(leaf.dtype).removeprefix("u"), list(leaf.shape)


def check_same(
    step: str, expected: tuple[list[Slot], list[Slot]], found: tuple[Sequence[Any], Sequence[Any]]
) -> None:
    """Raises `Error` unless arguments and results of a saved step, `found`, are those of this one."""
    for what, own, saved in zip(("arguments", "results"), expected, found, strict=True):
        _check_same(step, what, own, saved)


def _check_same(step: str, what: str, expected: Sequence[Slot], found: Sequence[Any]) -> None:
    names = [[name for name, *_ in slots] for slots in (expected, found)]
    if names[0] != names[1]:
        raise Error(f"the plan is not one of {step}: expected {what} {names[0]}, found {names[1]}")
    for (name, role, *kind), (_, found_role, *found_kind) in zip(expected, found, strict=True):
        if (role, kind) != (found_role, found_kind):
            texts = [
                f"{of}, {dtype}{shape}" for of, (dtype, shape) in ((role, kind), (found_role, found_kind))
            ]
            raise Error(
                f'the plan is not one of {step}: expected "{name}" as {texts[0]}, found {texts[1]}: '
                "lower the step as it was when the plan was saved"
            )


def _result(updates: int | None) -> str:
    return "result" if updates is None or updates < 0 else f"the update of argument {updates}"
