"""The program epl-compile on hostile text: an error with its place, never a crash."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

import epl
from epl.compile import compile_plan

BIN = Path(__file__).parents[2] / "build" / "bin"
MANY = 100_000
STEP = """func.func @main(%x: tensor<8xf32> {epl.role = "batch", epl.batch_dim = 0 : i64}) -> tensor<8xf32> {
  return %x : tensor<8xf32>
}
"""

# How something nests, from the number of levels.
NESTS = {
    "modules": lambda n: "module {" * n + "}" * n,
    "modules on lines": lambda n: "module {\n" * n + "}\n" * n,
    "arrays": lambda n: f"module attributes {{a.b = {'[' * n}{']' * n}}} {{}}",
    "dictionaries": lambda n: f"module attributes {{a.b = {'{a = ' * n}1{'}' * n}}} {{}}",
    "types": lambda n: f"module attributes {{a.b = {'tuple<' * n}{'>' * n}}} {{}}",
    "functions": lambda n: f"module attributes {{a.b = {'(' * n}{') -> ()' * n}}} {{}}",
    "locations": lambda n: f"module {{}} loc({'fused[' * n}{']' * n})",
    "parentheses": lambda n: f"module attributes {{a.b = affine_map<(i) -> ({'(' * n}i{')' * n})>}} {{}}",
    "left open": lambda n: "module attributes {a.b = " + "[<" * (n // 2),
}
CHAINS = {
    "signs": lambda n: f"module attributes {{a.b = affine_map<(i) -> ({'-' * n}i)>}} {{}}",
    "sums": lambda n: f"module attributes {{a.b = affine_map<(i) -> (i{' + i' * n})>}} {{}}",
    "remainders": lambda n: f"module attributes {{a.b = affine_map<(i) -> (i{' mod 3' * n})>}} {{}}",
}
# Aliases that each name the one before so many times.
ALIASES = {
    "locations": ("#l", 'loc("f")', "callsite({0} at {1})", "loc({})"),
    "fused locations": ("#l", 'loc("f")', "fused[{0}, {1}]", "loc({})"),
    "types": ("!t", "tuple<>", "tuple<{0}, {1}>", "{}"),
    "attributes": ("#a", "[]", "[{0}, {1}]", "{}"),
}


def aliased(kind: str, levels: int, twice: bool) -> str:
    """A step whose argument has, or whose location is, the last one of a chain of aliases."""
    sigil, first, pair, whole = ALIASES[kind]
    other = "unknown" if sigil == "#l" else "i32" if sigil == "!t" else "1 : i32"
    lines = [f"{sigil}0 = {first}"]
    for level in range(1, levels):
        name = f"{sigil}{level - 1}"
        lines.append(f"{sigil}{level} = " + whole.format(pair.format(name, name if twice else other)))
    last = f"{sigil}{levels - 1}"
    if sigil == "!t":
        return "\n".join(lines) + "\n" + STEP.replace("tensor<8xf32> {", f"{last} {{", 1)
    if sigil == "#a":
        return "\n".join(lines) + "\n" + STEP.replace("epl.batch_dim = 0 : i64", f"epl.batch_dim = {last}")
    return "\n".join(lines) + "\n" + STEP.replace("%x : tensor<8xf32>\n", f"%x : tensor<8xf32> loc({last})\n")


def compile_text(text: str) -> subprocess.CompletedProcess[str]:
    command = [BIN / "epl-compile", "-", "-o", "/dev/null"]
    return subprocess.run(command, input=text, capture_output=True, text=True)


@pytest.mark.parametrize("tool", ["epl-compile", "epl-opt"])
@pytest.mark.parametrize("nest", NESTS.values(), ids=NESTS)
def test_deep_nesting_is_an_error_with_its_place(nest: object, tool: str) -> None:
    text = nest(MANY)  # type: ignore[operator]
    command = [BIN / tool, "-", "-o", "/dev/null"]
    result = subprocess.run(command, input=text, capture_output=True, text=True)
    assert result.returncode == 1
    assert result.stderr.startswith("<stdin>:")
    assert " deep, expected at most 1000\n" in result.stderr


@pytest.mark.parametrize("nest", [*NESTS.values(), *CHAINS.values()], ids=[*NESTS, *CHAINS])
def test_what_is_below_the_limits_does_not_overflow_the_stack(nest: object) -> None:
    limit = 990 if nest in NESTS.values() else 4990
    result = compile_text(nest(limit))  # type: ignore[operator]
    assert result.returncode == 1  # none is a step
    assert "expected at most" not in result.stderr
    assert ": error: " in result.stderr


@pytest.mark.parametrize("chain", CHAINS.values(), ids=CHAINS)
def test_long_expressions_are_errors(chain: object) -> None:
    result = compile_text(chain(MANY))  # type: ignore[operator]
    assert result.returncode == 1
    assert " words and operators, expected at most 10000\n" in result.stderr


@pytest.mark.parametrize("kind", ALIASES)
def test_aliases_that_grow_without_end_are_errors(kind: str) -> None:
    result = compile_text(aliased(kind, 60, twice=True))
    assert result.returncode == 1
    assert re.fullmatch(
        r"<stdin>:\d+:\d+: error: an alias stands for \d+ words, \d+ deep, expected at most 100000 and \d+\n",
        result.stderr,
    )


@pytest.mark.parametrize("kind", ALIASES)
def test_long_chains_of_aliases(kind: str) -> None:
    assert "expected at most 100000 and 4000" in compile_text(aliased(kind, 50_000, twice=False)).stderr
    result = compile_text(aliased(kind, 1_900, twice=False))
    assert "expected at most" not in result.stderr
    assert result.returncode == (0 if kind.endswith("locations") else 1)


def test_an_alias_ends_where_its_value_does() -> None:
    values = [
        "dense<1> : tensor<2xi32>",
        "affine_map<(i) -> (i)>",
        '"text"',
        "@main",
        "-5 : i32",
        "loc(unknown)",
    ]
    lines = ["!a = i32", "!b = (i32) -> i32", *(f"#c{i} = {value}" for i, value in enumerate(values))]
    lines += [f"#d{i} = [{', '.join(['!a'] * 900)}]" for i in range(200)]
    for last in lines[:10]:
        others = [line for line in lines if line != last]
        result = compile_text("\n".join(others if last == "!a = i32" else [*others, last]) + "\n" + STEP)
        assert "expected at most" not in result.stderr


def test_the_first_bracket_too_deep_is_named() -> None:
    result = compile_text(
        '// [[[[\nmodule attributes {a.b = "[[\\"[[", a.c = \n' + "[" * 999 + "\n  [[]]" + "]" * 999
    )
    assert result.stderr == "<stdin>:4:3: error: brackets nest 1002 deep, expected at most 1000\n"


def test_long_constants_and_arrows_are_no_nesting() -> None:
    numbers = ", ".join("-1" for _ in range(20_000))
    pair = "  %{} = arith.constant dense<-1> : tensor<2xi32>\n"
    constants = "".join(pair.format(f"c{i}") for i in range(20_000))
    text = STEP.replace(
        "  return", f"  %d = arith.constant dense<[{numbers}]> : tensor<20000xi32>\n{constants}  return"
    )
    text = (
        text.replace(
            "func.func",
            "module attributes {a.b = "
            + "() -> " * 500
            + "(), a.c = affine_set<(i) : (i >= 0)>} {\nfunc.func",
        )
        + "}"
    )
    result = compile_text(text)
    assert "expected at most" not in result.stderr


def test_python_gives_the_place() -> None:
    with pytest.raises(epl.CompileError, match="brackets nest 100000 deep, expected at most 1000"):
        compile_plan(NESTS["modules"](MANY), ["--devices=cpu:1"], "step")
