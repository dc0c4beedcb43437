"""What is installed: versions, and what the runtime finds on this machine."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import subprocess
from collections.abc import Iterator

from epl import runtime
from epl.errors import Error


def version() -> str:
    """The version of the package, as CMakeLists.txt names it and the runtime was built with."""
    return str(runtime.module().version)


def report() -> str:
    """What `python -m epl --version` prints: the version, then a line "name: what" for each part."""
    return "\n".join([f"epl {version()}", *(f"{name}: {what}" for name, what in _parts())])


def _parts() -> Iterator[tuple[str, str]]:
    module = runtime.module()
    yield "Python", f"{platform.python_version()} on {platform.platform()}"
    for name in ("jax", "jaxlib", "numpy"):
        yield name, importlib.metadata.version(name)
    limit = f", kept to EPL_CPU={os.environ['EPL_CPU']}" if os.environ.get("EPL_CPU") else ""
    yield "CPU", f"{module.cpu_level()}{limit}, {len(os.sched_getaffinity(0))} cores"
    yield "runtime", str(module.__file__)
    yield "compiler", _compiler()
    yield from module.libraries()


def _compiler() -> str:
    try:
        program = runtime.compiler()
        printed = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    except Error as error:
        return f"not found: {error}"
    except (OSError, subprocess.CalledProcessError) as error:
        return f"does not run: {error}"
    return f"{program} ({printed.strip()})"
