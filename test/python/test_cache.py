"""The disk cache of plans: what is a hit, what is not, and folders and files that are not in order.

The compiler is a shell script that counts its calls and copies a small plan.
"""

from __future__ import annotations

import contextlib
import os
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import epl
from caching import Compiler, compile_step, parse, runtime
from epl import cache
from epl.cache import PlanCache, plan_cache, plan_key

KEY = "ab" * 32


@pytest.fixture
def compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Compiler:
    made = Compiler(tmp_path)
    monkeypatch.setenv("EPL_COMPILE", str(made.program))
    return made


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the cache, which does not exist yet; warnings of other tests are forgotten."""
    monkeypatch.setenv("EPL_CACHE_DIR", str(tmp_path / "nested" / "cache"))
    monkeypatch.setattr(cache, "_warned", set())
    return tmp_path / "nested" / "cache"


Mount = Callable[[Path, str], None]


@pytest.fixture
def mount() -> Iterator[Mount]:
    """Mounts a file system in memory with the given options, until the end of the test."""
    with contextlib.ExitStack() as stack:

        def run(path: Path, options: str) -> None:
            command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(path)]
            if os.geteuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode:
                pytest.skip("this process may not mount file systems")
            stack.callback(subprocess.run, ["umount", str(path)], check=True)

        yield run


def entries(folder: Path) -> list[Path]:
    return sorted(folder.iterdir())


def test_compiles_once(compiler: Compiler, folder: Path) -> None:
    assert compile_step() == compile_step() == compiler.plan.read_bytes()
    assert compiler.calls == 1
    (entry,) = entries(folder)
    assert entry.read_bytes().endswith(compiler.plan.read_bytes())
    assert folder.stat().st_mode & 0o777 == 0o700


def test_whatever_the_plan_depends_on_is_in_the_key(
    compiler: Compiler, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compile_step()
    compile_step('module {} loc("train.py":3:1)')
    compile_step(devices="cpu:1")
    compile_step(devices="cpu:1", more=("--reference",))
    assert compiler.calls == 4
    compiler.install("another build")
    compile_step()
    assert compiler.calls == 5
    monkeypatch.setattr(runtime, "host_cpu", lambda: "another CPU")
    compile_step()
    assert compiler.calls == 6
    assert len(entries(folder)) == 6


@pytest.mark.parametrize("option", ["machine", "schedule"])
def test_what_a_named_file_holds_is_in_the_key(
    option: str, compiler: Compiler, folder: Path, tmp_path: Path
) -> None:
    file = tmp_path / "file.txt"
    for text in ("one", "two", "one"):
        file.write_text(text)
        compile_step(more=(f"--{option}={file}",))
    assert compiler.calls == 2


def test_options_and_text_are_kept_apart(compiler: Compiler) -> None:
    keys = {plan_key("ab", []), plan_key("b", ["a"]), plan_key("", ["a", "b"]), plan_key("", ["ab"])}
    assert len(keys) == 4


def test_an_empty_name_switches_it_off(
    compiler: Compiler, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("EPL_CACHE_DIR", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    compile_step()
    compile_step()
    assert compiler.calls == 2
    assert not (tmp_path / "xdg").exists()


def test_the_default_folder_follows_the_standard(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("EPL_CACHE_DIR")
    monkeypatch.setenv("HOME", str(tmp_path))
    for value, expected in [
        (None, tmp_path / ".cache" / "epl"),
        ("", tmp_path / ".cache" / "epl"),
        ("relative", tmp_path / ".cache" / "epl"),
        ("/var/tmp/x", Path("/var/tmp/x/epl")),
    ]:
        if value is None:
            monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
        else:
            monkeypatch.setenv("XDG_CACHE_HOME", value)
        found = plan_cache()
        assert found is not None
        assert found.folder == expected


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda content: b"", id="empty"),
        pytest.param(lambda content: content[:16], id="short"),
        pytest.param(lambda content: content[:-1], id="truncated"),
        pytest.param(lambda content: content + b"x", id="longer"),
        pytest.param(lambda content: b"x" * len(content), id="foreign"),
        pytest.param(lambda content: content[:200] + bytes([content[200] ^ 1]) + content[201:], id="flipped"),
        pytest.param(lambda content: bytes(32) + content[32:], id="another key"),
        pytest.param(lambda content: content[32:], id="no key"),
    ],
)
def test_a_bad_entry_is_compiled_anew(
    compiler: Compiler, folder: Path, damage: Callable[[bytes], bytes]
) -> None:
    expected = compile_step()
    (entry,) = entries(folder)
    good = entry.read_bytes()
    entry.write_bytes(damage(good))
    assert compile_step() == expected
    assert compiler.calls == 2
    assert entry.read_bytes() == good
    assert compile_step() == expected
    assert compiler.calls == 2


def test_every_changed_byte_is_noticed(compiler: Compiler, folder: Path) -> None:
    compile_step()
    (entry,) = entries(folder)
    good, key, store = entry.read_bytes(), entry.name.removesuffix(".plan"), PlanCache(folder)
    for position in range(0, len(good), 7):
        entry.write_bytes(good[:position] + bytes([good[position] ^ 0x10]) + good[position + 1 :])
        assert store.load(key, parse) is None
        assert not entry.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_code_of_other_users_is_not_run(compiler: Compiler, folder: Path) -> None:
    compile_step()
    (entry,) = entries(folder)
    os.chown(entry, 12345, 12345)
    compile_step()
    assert compiler.calls == 2
    assert entry.stat().st_uid == 0


def test_the_oldest_entries_go_first(compiler: Compiler, folder: Path) -> None:
    plan = compiler.plan.read_bytes()
    store = PlanCache(folder, limit=3 * (len(plan) + 32))
    keys = [f"{index:064x}" for index in range(5)]
    for age, key in enumerate(keys[:3]):
        store.store(key, plan)
        os.utime(folder / f"{key}.plan", (age, age))
    assert store.load(keys[0], parse) is not None  # now the youngest
    store.store(keys[3], plan)
    assert [entry.name for entry in entries(folder)] == [f"{keys[index]}.plan" for index in (0, 2, 3)]
    for key in keys[:4]:
        with contextlib.suppress(FileNotFoundError):
            os.utime(folder / f"{key}.plan", (int(key, 16), int(key, 16)))
    store.store(keys[4], plan)
    assert [entry.name for entry in entries(folder)] == [f"{keys[index]}.plan" for index in (2, 3, 4)]


def test_only_files_of_the_cache_are_removed(compiler: Compiler, folder: Path) -> None:
    folder.mkdir(parents=True)
    mine = [folder / "notes.txt", folder / ".hidden", folder / f"{KEY}.plan.bak"]
    left = [folder / f".{KEY}.plan.abc", folder / f".{KEY}.plan.new"]
    for path in [*mine, *left]:
        path.write_bytes(b"x" * 1000)
    for path in [*mine, left[0]]:
        os.utime(path, (0, 0))
    PlanCache(folder, limit=0).store(KEY, b"plan")
    assert entries(folder) == sorted([*mine, left[1]])


def check_compiles_with_one_warning(compiler: Compiler, folder: Path, reason: str) -> None:
    with pytest.warns(RuntimeWarning) as warned:
        plans = [compile_step() for _ in range(3)]
    assert plans == [compiler.plan.read_bytes()] * 3
    assert compiler.calls == 3
    message = f'the plan cache "{folder}" cannot be used: {reason}; steps are compiled anew (EPL_CACHE_DIR)'
    assert [str(warning.message) for warning in warned] == [message]


def test_a_folder_that_is_a_file(compiler: Compiler, folder: Path) -> None:
    folder.parent.mkdir()
    folder.write_text("mine")
    check_compiles_with_one_warning(compiler, folder, "Not a directory")
    assert folder.read_text() == "mine"


def test_a_folder_that_cannot_be_made(
    compiler: Compiler, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EPL_CACHE_DIR", "/proc/epl")
    check_compiles_with_one_warning(compiler, Path("/proc/epl"), "No such file or directory")


def test_a_folder_that_is_removed_while_in_use(compiler: Compiler, folder: Path) -> None:
    compile_step()
    for entry in entries(folder):
        entry.unlink()
    folder.rmdir()
    compile_step()
    compile_step()
    assert compiler.calls == 2


def test_a_read_only_folder_still_gives_what_it_has(compiler: Compiler, folder: Path, mount: Mount) -> None:
    folder.mkdir(parents=True)
    mount(folder, "size=1m")
    compile_step("module @cached {}")
    subprocess.run(["mount", "-o", "remount,ro", str(folder)], check=True)
    compile_step("module @cached {}")  # silently: warnings are errors here
    assert compiler.calls == 1
    with pytest.warns(RuntimeWarning, match="Read-only file system"):
        compile_step()
    compile_step()
    assert compiler.calls == 3


def test_a_full_disk(compiler: Compiler, folder: Path, mount: Mount) -> None:
    folder.mkdir(parents=True)
    mount(folder, "size=4k")
    (folder / "other").write_bytes(bytes(4096))
    check_compiles_with_one_warning(compiler, folder, "No space left on device")
    assert [entry.name for entry in entries(folder)] == ["other"]


def test_a_limit_on_the_size_of_files(compiler: Compiler, folder: Path) -> None:
    plan = compiler.plan.read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(plan) // 2, limits[1]))
    try:
        with pytest.warns(RuntimeWarning, match="File too large"):
            PlanCache(folder).store(KEY, plan)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert entries(folder) == []


def test_a_step_is_traced_and_found(
    compiler: Compiler, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("EPL_COMPILE")

    def step(w: Any, x: Any) -> Any:
        with epl.replicate():
            return w + x.sum(), (w * x).sum()

    w, x = np.ones(3, np.float32), np.ones((4, 3), np.float32)
    texts = []
    for _ in range(2):
        traced = epl.parallelize(step, state=("w",), batch=("x",), devices="cpu:2").lower(w, x)
        texts.append(traced.as_text())
        _, result = traced.compile()(w, x)
        assert float(result) == 12
    assert texts[0] == texts[1]
    assert len(entries(folder)) == 1


def test_who_calls_a_step_is_not_in_the_key(
    compiler: Compiler, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("EPL_COMPILE")

    @jax.jit
    def inner(x: Any) -> Any:
        return jax.nn.relu(x)

    def step(w: Any, x: Any) -> Any:
        return w + jax.grad(lambda w: inner(w * x).sum())(w)

    def parallelized() -> epl.Parallelized:
        return epl.parallelize(step, state=("w",), devices="cpu:1")

    w, x = np.ones(3, np.float32), np.ones((4, 3), np.float32)
    text = parallelized().lower(w, x).as_text()
    assert __file__ in text
    assert f'"{__file__}":{sys._getframe().f_lineno - 2}:' not in text
    parallelized()(w, x)
    (lambda: parallelized()(w, x))()
    parallelized().lower(w, x).compile()
    assert len(entries(folder)) == 1


def test_where_a_step_stands_is_in_the_key() -> None:
    source, texts = "def step(x):\n  return x + 1\n", set()
    for code in (source, f"\n{source}"):
        names: dict[str, Any] = {}
        exec(compile(code, "train.py", "exec"), names)
        texts.add(epl.parallelize(names["step"], devices=1).lower(1.0).as_text())
    assert len(texts) == 2
