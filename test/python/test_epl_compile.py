"""The program epl-compile on hostile text: an error with its place, never a crash."""

from __future__ import annotations

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


def compile_text(text: str) -> subprocess.CompletedProcess[str]:
    command = [BIN / "epl-compile", "-", "-o", "/dev/null"]
    return subprocess.run(command, input=text, capture_output=True, text=True)


@pytest.mark.parametrize("nest", NESTS.values(), ids=NESTS)
def test_deep_nesting_is_an_error_with_its_place(nest: object) -> None:
    result = compile_text(nest(MANY))  # type: ignore[operator]
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
