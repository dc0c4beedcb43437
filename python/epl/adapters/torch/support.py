"""What a step of a torch module may not do, and what to write instead.

The rows are what errors and docs/reference/operations.md are made of; a test runs both forms of each.
"""

from __future__ import annotations

from dataclasses import dataclass

from epl.errors import Place, UnsupportedError


@dataclass(frozen=True)
class Refused:
    """Something that is an error: in words, an example of it, and what the user writes instead."""

    what: str
    example: str
    instead: str
    rewritten: str


BRANCH = Refused(
    "decisions of Python on the values of tensors",
    "x * 2 if x.sum() > 0 else x",
    "devices keep one schedule; select with torch.where, or compute the number outside of the step",
    "torch.where(x.sum() > 0, x * 2, x)",
)
MASK = Refused(
    "shapes that depend on the values of tensors",
    "x[x > 0].sum()",
    "devices keep one schedule; keep the shape, and weigh with the mask or select with torch.where",
    "torch.where(x > 0, x, 0).sum()",
)
OPERATOR = Refused(
    "operators that torchax does not have",
    "F.adaptive_max_pool2d(x[None, None], 2)",
    "write it with other operators",
    "F.max_pool2d(x[None, None], (4, 2))",
)
BACKWARD_INSIDE = Refused(
    "calls of backward() in the loss function",
    "(lambda y: (y.mean().backward(), y)[1])(x)",
    "return the loss, which the step differentiates; gradients within it are those of torch.autograd.grad",
    "x",
)
GENERATOR = Refused(
    "generators of random numbers",
    "x + torch.rand(4, generator=torch.Generator())",
    "leave the generator out: a step has a key of its own, which seed= begins",
    "x + 0 * torch.rand(4)",
)
ROWS = (BRANCH, MASK, OPERATOR, BACKWARD_INSIDE, GENERATOR)


def explained(row: Refused, place: Place | None, detail: str = "") -> UnsupportedError:
    """The error about a row, with the user's line; `detail` names the operator."""
    subject = f'"{detail}": ' if detail else ""
    return UnsupportedError(f"{subject}{row.what} are not supported: {row.instead}", place)
