"""What an installed package needs: one version, its commands, and paths of parts that are there or named."""

from __future__ import annotations

import importlib
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import epl
from epl import runtime

ROOT = Path(__file__).parents[2]
BIN = ROOT / "build" / "bin"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
VERSION = re.compile(PROJECT["tool"]["scikit-build"]["metadata"]["version"]["regex"])


def run(*command: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs a command that finds the tree's package and module."""
    paths = [str(ROOT / "python"), str(ROOT / "build" / "python")]
    merged = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), **environment}
    return subprocess.run(command, capture_output=True, text=True, env=merged)


def report(**environment: str) -> dict[str, str]:
    """The lines of `python -m epl --version` by what they are about."""
    result = run(sys.executable, "-m", "epl", "--version", **environment)
    assert result.returncode == 0, result.stderr
    first, *lines = result.stdout.splitlines()
    assert first == f"epl {epl.__version__}"
    return dict(line.split(": ", 1) for line in lines)


def version_line(program: str) -> str:
    """What --version of a program prints, as a pattern: the compiler names LLVM and the CPU, too."""
    version = re.escape(epl.__version__)
    return rf"EPL {version}, LLVM 22\.\d+\.\d+, \S+" if program == "epl-compile" else f"{program} {version}"


def test_the_version_is_that_of_cmake_everywhere() -> None:
    found = VERSION.search((ROOT / "CMakeLists.txt").read_text())
    assert found
    assert found["value"] == epl.__version__ == runtime.module().version
    for name in ("epl-compile", "epl-run", "epl-plan", "epl-server"):
        assert re.fullmatch(version_line(name) + "\n", run(BIN / name, "--version").stdout)


def test_nothing_else_is_an_attribute() -> None:
    with pytest.raises(AttributeError, match='"epl" has no attribute "__versions__"'):
        _ = epl.__versions__  # type: ignore[attr-defined]


def test_every_command_is_a_function_and_its_program_is_installed() -> None:
    installed = "".join((ROOT / "tools" / "CMakeLists.txt").read_text().split("install(TARGETS ")[1:])
    for command, place in PROJECT["project"]["scripts"].items():
        module, _, function = place.partition(":")
        assert callable(getattr(importlib.import_module(module), function))
        if command != "epl":
            assert re.search(rf"\b{command}\b", installed), f"{command} is not installed"
            call = f"import {module} as m; m.{function}()"
            printed = run(sys.executable, "-c", call, "--version").stdout
            assert re.fullmatch(version_line(command) + "\n", printed)


def test_the_wheel_is_built_with_what_the_environment_is() -> None:
    locked = (ROOT / "requirements.txt").read_text()
    nanobind = next(line for line in PROJECT["build-system"]["requires"] if line.startswith("nanobind"))
    assert nanobind in locked
    for pinned in (line for line in PROJECT["project"]["dependencies"] if "==" in line):
        assert pinned in locked


def test_the_report_names_versions_paths_and_the_cpu() -> None:
    parts = report()
    assert re.fullmatch(
        rf"{re.escape(str(runtime.compiler()))} \({version_line('epl-compile')}\)", parts["compiler"]
    )
    assert parts["runtime"] == runtime.module().__file__
    assert re.match(r"x86-64(-v[234])?, \d+ cores$", parts["CPU"])
    assert re.match(r"/.*openblas.* \(OpenBLAS ", parts["OpenBLAS"])
    assert report(EPL_CPU="x86-64-v2")["CPU"].startswith("x86-64-v2, kept to EPL_CPU=x86-64-v2, ")


def test_the_report_says_what_is_missing() -> None:
    parts = report(EPL_OPENBLAS="", EPL_ONEDNN="/nowhere/libdnnl.so", EPL_COMPILE="/nowhere/epl-compile")
    assert parts["OpenBLAS"].startswith(
        "not found: the plan's products or factorizations need OpenBLAS: install the whole wheel"
    )
    assert "/nowhere/libdnnl.so" in parts["oneDNN"]
    assert parts["compiler"] == 'not found: EPL_COMPILE names "/nowhere/epl-compile", which is not a program'
    assert 'Debian\'s package "libdnnl2"' in report(EPL_ONEDNN="")["oneDNN"]
    assert report(EPL_COMPILE="/bin/false")["compiler"].startswith("does not run: ")


def test_without_an_option_the_command_says_how_it_is_used() -> None:
    result = run(sys.executable, "-m", "epl")
    assert result.returncode == 0
    assert result.stdout.startswith("usage: epl ")


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """The package and its module as they are installed, far from the repository, without programs."""
    folder = tmp_path / "site-packages"
    shutil.copytree(ROOT / "python" / "epl", folder / "epl", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(runtime.module().__file__, folder)
    return folder


def in_site(site: Path, code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs code with the installed package alone, epl.pth of the repository's environment aside."""
    isolated = f"import sys; sys.path.insert(0, {str(site)!r})\n{code}"
    merged = {**os.environ, "PYTHONPATH": str(site), **environment}
    return subprocess.run([sys.executable, "-c", isolated], capture_output=True, text=True, env=merged)


COMPILE = """
import epl, numpy as np
step = epl.parallelize(lambda w, x: w + x.sum(), state=("w",), devices="cpu:1")
print(float(np.asarray(step(np.float32(1), np.ones(3, np.float32)))))
"""


def test_an_installation_without_the_compiler_says_so_and_takes_another(site: Path) -> None:
    environment = {"EPL_CACHE_DIR": ""}
    result = in_site(site, COMPILE, **environment)
    assert (
        f'epl-compile is not part of this installation in "{site / "epl"}": install the whole'
        in result.stderr
    )
    assert "or name it in EPL_COMPILE" in result.stderr
    named = in_site(site, COMPILE, EPL_COMPILE=str(BIN / "epl-compile"), **environment)
    assert named.stdout == "4.0\n", named.stderr


def test_an_installed_package_finds_its_programs(site: Path) -> None:
    (site / "epl" / "bin").mkdir()
    for name in ("epl-compile", "epl-run"):
        (site / "epl" / "bin" / name).symlink_to(BIN / name)
    assert in_site(site, COMPILE, EPL_CACHE_DIR="").stdout == "4.0\n"
    command = "from epl import programs; sys.argv[1:] = ['--version']; programs.{}()"
    assert in_site(site, command.format("epl_run")).stdout == f"epl-run {epl.__version__}\n"
    missing = in_site(site, command.format("epl_plan"))
    assert missing.returncode == 1
    assert missing.stderr.startswith("error: epl-plan is not part of this installation")


def test_the_library_of_the_installation_goes_before_the_systems(site: Path) -> None:
    path = runtime.module().libraries()[0][1].split(" (")[0]
    bundled = site / "epl" / "lib" / "libepl_openblas.so"
    bundled.parent.mkdir()
    code = "from epl import runtime; print(runtime.module().libraries()[0][1])"
    assert in_site(site, code).stdout.startswith(f"{path} (OpenBLAS")
    bundled.symlink_to(path)
    assert in_site(site, code).stdout.startswith(f"{bundled} (OpenBLAS")
    assert in_site(site, code, EPL_OPENBLAS=path).stdout.startswith(f"{path} (OpenBLAS")
