"""The errors that EPL raises; each names the thing and the place, what was expected and what was found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


class Error(RuntimeError):
    """Base of all errors of EPL."""


class ConfigError(Error, ValueError):
    """A configuration key or value, a device string or a launcher's variable that EPL does not take."""


class ArgumentError(Error, TypeError, ValueError):
    """An argument that a function of EPL, or a parallelized step, does not take: its type, value or name."""


class ScopeError(Error):
    """A `replicate` or `split` scope that is not allowed where it stands."""


class StateError(Error, TypeError):
    """A step does not return its state as it got it: another tree, shape or dtype."""


class DonatedError(Error):
    """An `epl.Array` is used after a step has taken its memory for the updated state."""


class CheckError(Error, AssertionError):
    """A plan and its reference plan differ by more than the tolerance."""


class ProcessError(Error):
    """Another process of the run failed, was lost, or ended."""


class NotParallelWarning(UserWarning):
    """Devices do work that they could share; the step is right, and no quicker for them."""


class RecompileWarning(UserWarning):
    """A step is compiled again and again for calls that differ in the same way."""


class CompileWarning(UserWarning):
    """The compiler takes a step, and finds that something in it has no effect."""


class CopyWarning(UserWarning):
    """Two steps of one module train copies of its tensors, which know nothing of one another."""


@dataclass(frozen=True)
class Place:
    """A line of the user's source: `file`, `line` (1-based, 0 if unknown)."""

    file: str
    line: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.line else self.file


class StepError(Error):
    """A step has run to its end, but a check of it failed (`epl.check`), or a loop had iterations left to do.

    `place` is the user's source line. `results` is what the step has made, as it would have returned it.
    Arrays that it was given to donate are its new states by now, and so are objects of flax.nnx.
    """

    def __init__(self, message: str, place: Place | None = None) -> None:
        super().__init__(message)
        self.place = place
        self.results: Any = None


class CompileError(Error):
    """A step that does not compile.

    `place` is the user's source line if it is known; `diagnostics` is all that the compiler printed.
    """

    def __init__(self, message: str, place: Place | None = None, diagnostics: str = "") -> None:
        super().__init__(f"{place}: {message}" if place else message)
        self.message = message
        self.place = place
        self.diagnostics = diagnostics


class UnsupportedError(CompileError):
    """A step uses something that EPL does not support yet."""


def reason(error: BaseException) -> str:
    """The first line of an error, of a group that of its first one; its type if it says nothing."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return next(iter(str(error).splitlines()), type(error).__name__)
