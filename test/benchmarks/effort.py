"""How long to measure."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Effort:
    """`rounds` of each comparison, `seconds` of one engine in one round; quick: only to see that all runs."""

    rounds: int
    seconds: float
    quick: bool
