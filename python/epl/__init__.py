"""EPL parallelizes a training step that is written for one device by a few `with` lines."""

from epl.errors import (
    CheckError,
    CompileError,
    ConfigError,
    DonatedError,
    Error,
    ScopeError,
    StateError,
    UnsupportedError,
)
from epl.scopes import replicate, set_default_strategy, split

__all__ = [
    "CheckError",
    "CompileError",
    "ConfigError",
    "DonatedError",
    "Error",
    "ScopeError",
    "StateError",
    "UnsupportedError",
    "replicate",
    "set_default_strategy",
    "split",
]
