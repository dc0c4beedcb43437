"""The stand-in of a GPU (docs/design.md, section 10), in a process that the loader gives it as the driver.

Where EPL_TEST_ON_DRIVER is set (scripts/test-gpu), tests run on the GPUs of this machine instead, and nothing
is found.
"""

from __future__ import annotations

import ctypes
import functools
import os
from pathlib import Path

DRIVER = Path(__file__).parents[2] / "build" / "cuda"


LIBRARIES = {
    "EPL_CUBLAS": "libcublas.so.13",
    "EPL_CUBLASLT": "libcublasLt.so.13",
    "EPL_CUDNN": "libcudnn.so.9",
    "EPL_CUSOLVER": "libcusolver.so.12",
    "EPL_NCCL": "libnccl.so.2",
}
"""What names a library of a GPU, and its stand-in."""

ON_DRIVER = bool(os.environ.get("EPL_TEST_ON_DRIVER"))


def environment() -> dict[str, str]:
    """That of a process whose driver is the stand-in."""
    if ON_DRIVER:
        return dict(os.environ)
    named = {name: str(DRIVER / file) for name, file in LIBRARIES.items()}
    return {**os.environ, "LD_LIBRARY_PATH": str(DRIVER), "EPL_NCCL_CONNECTS": "1", **named}


@functools.cache
def _driver() -> ctypes.CDLL:
    driver = ctypes.CDLL("libcuda.so.1")
    if ON_DRIVER:
        return driver
    driver.eplCudaCountFindings.restype = ctypes.c_size_t
    driver.eplCudaGetFinding.restype = ctypes.c_char_p
    return driver


def count() -> int:
    """How many GPUs this machine has."""
    number = ctypes.c_int()
    failed = _driver().cuInit(0) or _driver().cuDeviceGetCount(ctypes.byref(number))
    return 0 if failed else number.value


def restart(seed: int) -> None:
    """Forgets what was found, and chooses another order."""
    if ON_DRIVER:
        return
    _driver().eplCudaRestart(ctypes.c_uint64(seed))


def findings() -> list[str]:
    """What was found since then."""
    if ON_DRIVER:
        return []
    return [
        _driver().eplCudaGetFinding(ctypes.c_size_t(number)).decode()
        for number in range(_driver().eplCudaCountFindings())
    ]
