"""The adapter of orbax: checkpoints of `epl.Array`s, written and read part by part.

Orbax takes an `epl.Array` for an array of JAX's, and would write one that is in other boxes than JAX has
words for as it seems to be. So it is taught as soon as a program imports both, whichever comes first; EPL
itself does not load it.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
import warnings
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

VERSION = "0.12.8"
"""The orbax-checkpoint whose private parts hooks.py uses."""

_MODULE = "orbax.checkpoint"


def teach_orbax() -> None:
    """Makes orbax write and read `epl.Array`s as EPL does: now, or once it is imported."""
    module = sys.modules.get(_MODULE)
    if module is not None:
        _register(module)
    else:
        sys.meta_path.insert(0, _WhenImported())


def wrong_version(module: Any) -> str | None:
    """What is wrong with an orbax of another version; None if it is the right one."""
    if module.__version__ == VERSION:
        return None
    return (
        f"epl saves and restores with orbax-checkpoint {VERSION}, found {module.__version__}: install "
        f"orbax-checkpoint=={VERSION}"
    )


def _register(module: ModuleType) -> None:
    if problem := wrong_version(module):
        warnings.warn(f"{problem}, or do not save an epl.Array", RuntimeWarning, stacklevel=2)
    else:
        importlib.import_module("epl.adapters.orbax.handler").register()


class _WhenImported(MetaPathFinder):
    """Finds orbax as others do, once, and lets its import end with `_register`."""

    def find_spec(
        self, name: str, _path: Sequence[str] | None, _target: ModuleType | None = None, /
    ) -> ModuleSpec | None:
        if name != _MODULE:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            spec.loader = _Registering(spec.loader)
        return spec


class _Registering(Loader):
    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        _register(module)
