"""Mixed precision: what the settings `amp.*` say to the compiler, and what is said of them to the user."""

from __future__ import annotations

from dataclasses import dataclass

from epl.config import Config


@dataclass(frozen=True)
class Precision:
    """The settings `amp.*` of a step.

    level: "o1" or "". scales: whether a loss scale was left to be found out. logs: whether the user wants to
    know which operations take 16 bits.
    """

    level: str = ""
    scales: bool = True
    logs: bool = False

    @classmethod
    def of(cls, config: Config) -> Precision:
        """What a configuration says."""
        return cls(
            str(config["amp.level"]), config["amp.loss_scale"] == "dynamic", bool(config["amp.debug_log"])
        )

    @property
    def options(self) -> tuple[str, ...]:
        """For the compiler, of the reference too: it has the same arithmetic."""
        return (f"--amp={self.level}",) if self.level else ()

    @property
    def explain_options(self) -> tuple[str, ...]:
        """For the compiler: to remark which operations take 16 bits."""
        return ("--explain-precision",) if self.level else ()

    def remark(self) -> str:
        """A line for the user beside the layout; "" if there is nothing to say."""
        if not self.level:
            return "amp.debug_log: without amp.level nothing becomes 16 bits" if self.logs else ""
        scale = '; loss scale "dynamic" scales nothing, as bf16 has the range of f32' if self.scales else ""
        return f"amp {self.level}: contractions take bf16 and add up in f32{scale}"
