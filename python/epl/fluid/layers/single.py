"""Layers that are one op each, by tables: what is given, what the op is told, and its defaults."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from epl.errors import ArgumentError
from epl.fluid.layers.builder import Builder, one_dimension
from epl.fluid.layers.registry import layer

_NAME = {"name": None}
Build = Callable[[dict[str, Any]], Any]


def enter(name: str, given: Sequence[str], defaults: Mapping[str, Any], build: Build, doc: str) -> None:
    """Enters a layer.

    Args:
      given: its arguments without defaults, which come first.
      defaults: its other arguments, in their order.
      build: makes the result of the arguments by name.
    """
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [inspect.Parameter(each, kind) for each in given]
    parameters += [inspect.Parameter(each, kind, default=value) for each, value in defaults.items()]
    signature = inspect.Signature(parameters)

    def call(*positional: Any, **named: Any) -> Any:
        try:
            bound = signature.bind(*positional, **named)
        except TypeError as error:
            raise ArgumentError(f"layers.{name}{signature}: {error}") from None
        bound.apply_defaults()
        return build(dict(bound.arguments))

    call.__name__ = call.__qualname__ = name
    call.__doc__ = doc
    call.__signature__ = signature  # type: ignore[attr-defined]
    layer(call)


def _enter_function(name: str, numbers: Mapping[str, Any], kind: str, renamed: Mapping[str, str]) -> None:
    def build(arguments: dict[str, Any]) -> Any:
        told = {renamed.get(each, each): arguments[each] for each in numbers}
        return Builder(name, arguments["name"]).op(kind, {"X": arguments["x"]}, told)

    enter(name, ["x"], {**numbers, **_NAME}, build, f'The op "{kind}", element by element.')


_FUNCTIONS: dict[str, dict[str, Any]] = {
    "abs": {},
    "acos": {},
    "asin": {},
    "atan": {},
    "brelu": {"t_min": 0.0, "t_max": 24.0},
    "ceil": {},
    "cos": {},
    "elu": {"alpha": 1.0},
    "erf": {},
    "exp": {},
    "floor": {},
    "gelu": {"approximate": False},
    "hard_shrink": {"threshold": 0.5},
    "hard_sigmoid": {"slope": 0.2, "offset": 0.5},
    "hard_swish": {"threshold": 6.0, "scale": 6.0, "offset": 3.0},
    "leaky_relu": {"alpha": 0.02},
    "log": {},
    "log1p": {},
    "logsigmoid": {},
    "pow": {"factor": 1.0},
    "reciprocal": {},
    "relu": {},
    "relu6": {"threshold": 6.0},
    "round": {},
    "rsqrt": {},
    "selu": {"scale": 1.0507009873554804934193349852946, "alpha": 1.6732632423543772848170429916717},
    "sigmoid": {},
    "sign": {},
    "sin": {},
    "soft_relu": {"threshold": 40.0},
    "softplus": {},
    "softshrink": {"alpha": 0.5},
    "softsign": {},
    "sqrt": {},
    "square": {},
    "stanh": {"scale_a": 0.67, "scale_b": 1.7159},
    "swish": {"beta": 1.0},
    "tanh": {},
    "tanh_shrink": {},
    "thresholded_relu": {"threshold": 1.0},
}
_RENAMED = {"softshrink": {"alpha": "lambda"}}

for _name, _numbers in _FUNCTIONS.items():
    _enter_function(_name, _numbers, _name, _RENAMED.get(_name, {}))


def _enter_elementwise(name: str) -> None:
    def build(arguments: dict[str, Any]) -> Any:
        builder = Builder(name, arguments["name"], act=arguments["act"])
        inputs = {"X": arguments["x"], "Y": arguments["y"]}
        return builder.activation(builder.op(name, inputs, {"axis": arguments["axis"]}))

    doc = f'The op "{name}": `y` has dimensions of `x` from `axis` on, or the last ones.'
    enter(name, ["x", "y"], {"axis": -1, "act": None, **_NAME}, build, doc)


for _name in ("add", "div", "floordiv", "max", "min", "mod", "mul", "pow", "sub"):
    _enter_elementwise(f"elementwise_{_name}")


def _enter_comparison(name: str, defaults: Mapping[str, Any], into: str, given: Sequence[str]) -> None:
    def build(arguments: dict[str, Any]) -> Any:
        inputs = {each.upper(): arguments[each] for each in given}
        builder = Builder(name, arguments.get("name"))
        made = builder.op(name, inputs, dtype="bool", into=arguments[into])
        made.stop_gradient = True
        return made

    doc = f'The op "{name}", element by element; `{into}` is a variable that becomes the result.'
    enter(name, given, defaults, build, doc)


for _name in ("equal", "greater_equal", "greater_than", "less_equal", "not_equal"):
    _enter_comparison(_name, {"cond": None}, "cond", ["x", "y"])
_enter_comparison("less_than", {"force_cpu": None, "cond": None}, "cond", ["x", "y"])
for _name in ("logical_and", "logical_or", "logical_xor"):
    _enter_comparison(_name, {"out": None, **_NAME}, "out", ["x", "y"])
_enter_comparison("logical_not", {"out": None, **_NAME}, "out", ["x"])


def _enter_reduction(name: str) -> None:
    def build(arguments: dict[str, Any]) -> Any:
        x, dim = arguments["input"], arguments["dim"]
        builder = Builder(name, arguments["name"])
        dims = [] if dim is None else builder.numbers("dim", dim)
        told = {
            "dim": dims or [0],
            "keep_dim": arguments["keep_dim"],
            "reduce_all": not dims or len(dims) == len(getattr(x, "shape", ())),
        }
        return one_dimension(builder.op(name, {"X": x}, told))

    doc = f'The op "{name}" over dimensions `dim`, a number or several; None: over all, to one element.'
    enter(name, ["input"], {"dim": None, "keep_dim": False, **_NAME}, build, doc)


for _name in ("all", "any", "max", "mean", "min", "prod", "sum"):
    _enter_reduction(f"reduce_{_name}")
