"""One plan for all processes: process 0 compiles a step, the others take what it has made.

Each process traces the step by itself, from its own script, so that what they have may differ: another
branch taken, another shape of the last batch. Plans of two programs would wait for one another without end.
So all say what they are about to compile, and compare it; what differs is one error in all of them. So are
plans that they load from files.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

from epl import runtime
from epl.errors import Error, ProcessError
from epl.processes.group import Group


def compile_together(
    group: Group, text: str, options: Sequence[str], name: str, compile_here: Callable[[], Any]
) -> Any:
    """The plan of a step in every process; called by all.

    Args:
      text: the step as MLIR text. options: of the compiler. name: of the step.
      compile_here: gives the plan in process 0, or raises what all shall raise.

    Raises:
      ProcessError: if processes have other steps: names them, and the first line that differs.
      Error: what process 0 has raised.
    """
    said = group.share((name, list(options), hashlib.sha256(text.encode()).hexdigest()), "a compilation")
    if any(other != said[0] for other in said):
        raise ProcessError(_difference(group, said, text))
    plan, error = None, None
    if group.process == 0:
        try:
            plan = compile_here()
        except Error as problem:
            error = problem
    content, failure = group.share((plan and plan.to_bytes(), error), f"the plan of step {name}")[0]
    if failure is not None:
        raise error or failure
    return plan or runtime.module().Plan.from_bytes(content)


def compare_plans(group: Group, plan: Any, name: str) -> None:
    """Sees that processes have one plan, which each has from a file; called by all.

    Raises:
      ProcessError: if one has another plan than process 0.
    """
    digests = group.share(hashlib.sha256(plan.to_bytes()).hexdigest(), f"the plan of step {name}")
    for process, digest in enumerate(digests):
        if digest != digests[0]:
            raise ProcessError(
                f"step {name} has another plan in {group.describe(process)} than in process 0; expected the "
                "same of all"
            )


def _difference(group: Group, said: Sequence[tuple[str, list[str], str]], text: str) -> str:
    """How the first process that differs does so from process 0; called by all."""
    texts = group.share(text, "a comparison of steps")
    other = next(process for process, one in enumerate(said) if one != said[0])
    (name, options, _), (other_name, other_options, _) = said[0], said[other]
    begin = f'process 0 compiles step "{name}", {group.describe(other)}'
    if name != other_name:
        return f'{begin} step "{other_name}"; expected the same steps in one order'
    if options != other_options:
        return f"{begin} with {_only(other_options, options)}, expected {_only(options, other_options)}"
    pairs = zip(texts[0].splitlines(), texts[other].splitlines(), strict=False)
    number, lines = next(
        ((i, pair) for i, pair in enumerate(pairs, 1) if pair[0] != pair[1]), (0, ("", "another length"))
    )
    return (
        f"{begin} another program of that name, expected the same; line {number} of its MLIR is\n"
        f"  process 0: {lines[0].strip()}\n  process {other}: {lines[1].strip()}"
    )


def _only(these: Sequence[str], others: Sequence[str]) -> str:
    """What stands in one list of options alone."""
    return " ".join(option for option in these if option not in others) or "no such option"
