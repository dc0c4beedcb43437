"""The stand-in of a GPU (docs/design.md, section 10), in a process that the loader gives it as the driver."""

from __future__ import annotations

import ctypes
import functools
import os
from pathlib import Path

DRIVER = Path(__file__).parents[2] / "build" / "cuda"


def environment() -> dict[str, str]:
    """That of a process whose driver is the stand-in."""
    libraries = {"EPL_CUBLASLT": "libcublasLt.so.13", "EPL_NCCL": "libnccl.so.2"}
    named = {name: str(DRIVER / file) for name, file in libraries.items()}
    return {**os.environ, "LD_LIBRARY_PATH": str(DRIVER), **named}


@functools.cache
def _driver() -> ctypes.CDLL:
    driver = ctypes.CDLL("libcuda.so.1")
    driver.eplCudaCountFindings.restype = ctypes.c_size_t
    driver.eplCudaGetFinding.restype = ctypes.c_char_p
    return driver


def restart(seed: int) -> None:
    """Forgets what was found, and chooses another order."""
    _driver().eplCudaRestart(ctypes.c_uint64(seed))


def findings() -> list[str]:
    """What was found since then."""
    return [
        _driver().eplCudaGetFinding(ctypes.c_size_t(number)).decode()
        for number in range(_driver().eplCudaCountFindings())
    ]
