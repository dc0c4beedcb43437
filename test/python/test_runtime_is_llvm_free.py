"""The runtime needs neither LLVM nor MLIR: not to build, not to run."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BUILT = [*(ROOT / "build" / "python").glob("_epl_runtime*.so"), ROOT / "build" / "bin" / "epl-run"]


def test_no_source_includes_a_header_of_llvm() -> None:
    sources = [path for path in (ROOT / "runtime").rglob("*") if path.suffix in {".h", ".cpp"}]
    assert len(sources) > 50
    for path in sources:
        found = re.findall(r'^\s*#\s*include\s*[<"](?:mlir|llvm|dialect|passes)\b.*', path.read_text(), re.M)
        assert not found, f"{path} includes {found}"


@pytest.mark.parametrize("path", BUILT, ids=lambda path: path.name)
def test_nothing_links_llvm(path: Path) -> None:
    if not path.exists():
        pytest.skip(f"{path.name} is not built")
    libraries = subprocess.run(["ldd", path], check=True, capture_output=True, text=True).stdout
    assert "libc.so" in libraries
    assert not re.search("llvm|mlir|clang", libraries, re.I), libraries
