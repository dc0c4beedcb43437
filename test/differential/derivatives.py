"""Random steps of JAX whose losses are made of derivatives of derivatives, as those of physics are.

A network gives a field u(z) at a point z. Each term of the loss derives fields of it one upon the other, by
forward and reverse mode in any order, maps that over points and sums squares, in a scope or outside of all.
The step derives the loss by the network's parameters, once or twice more. So a few layers become hundreds of
small ops that read each other crosswise, as no program of `generate.py` does.
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

LAYERS = ["dense", "dense", "residual", "gate", "norm", "waves"]
ACTIVATIONS = ["tanh", "sin", "softplus", "bell", "square"]
# Fields made of a field: derivatives along a direction, of one coordinate, sums of second ones, and products.
OPERATORS = [
    "jvp",
    "jvp",
    "grad",
    "grad",
    "vjp",
    "jacfwd",
    "laplacian",
    "mixed",
    "square",
    "times_u",
    "remat",
]
UPDATES = ["descent", "descent", "momentum", "curvature", "lookahead"]


@dataclass(frozen=True)
class Layer:
    """One of LAYERS; `wide` doubles the width where the kind allows it."""

    kind: str
    activation: str
    bias: bool = True
    wide: bool = False


@dataclass(frozen=True)
class Term:
    """A mean of squares over points of what operators make of the field, in a scope or none.

    `points` names the points: the batch, another one of the same length, or a constant; `nested` says that
    they are mapped over within another map, of two shifts.
    """

    operators: tuple[str, ...]
    scope: str = "replicate"  # split | none
    points: str = "batch"  # other | constant
    nested: bool = False


@dataclass(frozen=True)
class Derivatives:
    """A step and the devices that it runs on."""

    seed: int
    layers: tuple[Layer, ...]
    terms: tuple[Term, ...]
    width: int
    coordinates: int
    update: str
    devices: int
    apart: bool  # whether scopes have devices of their own
    dtype: str  # float32 | float64
    zero: str = "off"

    @property
    def options(self) -> tuple[str, ...]:
        """What the step is compiled for, in words."""
        sharing = "" if len(self.scopes) < 2 else ", apart" if self.apart else ", colocated"
        return (f"cpu:{self.devices}{sharing}", f"zero={self.zero}", self.dtype)

    @property
    def scopes(self) -> set[str]:
        """The kinds of scopes that terms stand in."""
        return {term.scope for term in self.terms} - {"none"}

    @property
    def size(self) -> int:
        """How much there is to understand."""
        return len(self.layers) + sum(1 + len(term.operators) for term in self.terms)

    def text(self) -> str:
        """The step in words; `derivative_steps.build` makes it of them."""
        return repr(self)

    def edits(self) -> Iterator[Callable[[Any], Iterator[Any]]]:
        """What may make the step smaller: each gives smaller ones of any step."""
        yield from (_drop_terms, _drop_layers, _drop_operators, _simplify_terms, _simplify_layers, _simplify)


def make_derivatives(seed: int) -> Derivatives:
    """The step of a seed."""
    choices = random.Random(seed)
    devices = choices.choice([1, 2, 2, 4])
    scopes = choices.choice([["replicate"], ["replicate", "split"], ["replicate", "split", "none"], ["none"]])
    terms = tuple(_make_term(choices, scopes) for _ in range(choices.choice([1, 2, 2])))
    return Derivatives(
        seed=seed,
        layers=tuple(_make_layer(choices) for _ in range(choices.randint(1, 2))),
        terms=terms,
        width=choices.choice([4, 8]),
        coordinates=choices.randint(1, 3),
        update=choices.choice(UPDATES),
        devices=devices,
        apart=choices.random() < 0.2,
        dtype=choices.choice(["float32", "float32", "float64"]),
        zero=_choose_zero(seed, choices.choice(["off", "off", "off", "v1", "v2", "v3"])),
    )


def _choose_zero(seed: int, level: str) -> str:
    """Owners in the place of no level, now and then."""
    owns = random.Random(f"owners of {seed}").random() < 0.3
    return "owners" if level == "off" and owns else level


def _make_layer(choices: random.Random) -> Layer:
    wide, bias = choices.random() < 0.3, choices.random() < 0.7
    return Layer(choices.choice(LAYERS), _choose_activation(choices), bias, wide)


def _choose_activation(choices: random.Random) -> str:
    """Mostly one whose derivatives do not end."""
    return choices.choices(ACTIVATIONS, [4, 3, 2, 2, 1])[0]


def _make_term(choices: random.Random, scopes: list[str]) -> Term:
    operators = tuple(
        choices.choices(OPERATORS, k=choices.choice([0, 1, 2, 2, 2, 3] if len(scopes) < 2 else [0, 1, 2, 2]))
    )
    points = choices.choice(["batch", "batch", "other", "constant"])
    return Term(operators, choices.choice(scopes), points, choices.random() < 0.15)


# Smaller steps


def _without(items: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    """All but one."""
    yield from (items[:i] + items[i + 1 :] for i in range(len(items)))


def _with(items: tuple[Any, ...], index: int, item: Any) -> tuple[Any, ...]:
    return (*items[:index], item, *items[index + 1 :])


def _drop_terms(step: Derivatives) -> Iterator[Derivatives]:
    for terms in _without(step.terms) if len(step.terms) > 1 else ():
        yield dataclasses.replace(step, terms=terms)


def _drop_layers(step: Derivatives) -> Iterator[Derivatives]:
    for layers in _without(step.layers):
        yield dataclasses.replace(step, layers=layers)


def _drop_operators(step: Derivatives) -> Iterator[Derivatives]:
    for index, term in enumerate(step.terms):
        for operators in _without(term.operators):
            changed = dataclasses.replace(term, operators=operators)
            yield dataclasses.replace(step, terms=_with(step.terms, index, changed))


def _simplify_terms(step: Derivatives) -> Iterator[Derivatives]:
    for index, term in enumerate(step.terms):
        for change in ({"nested": False}, {"points": "batch"}, {"scope": "none"}, {"scope": "replicate"}):
            changed = dataclasses.replace(term, **change)  # type: ignore[arg-type]
            if changed != term and (change.get("scope") != "replicate" or term.scope == "split"):
                yield dataclasses.replace(step, terms=_with(step.terms, index, changed))


def _simplify_layers(step: Derivatives) -> Iterator[Derivatives]:
    for index, layer in enumerate(step.layers):
        for simple in (Layer("dense", "tanh", bias=False), Layer("dense", layer.activation, layer.bias)):
            if simple != layer and layer != Layer("dense", "tanh", bias=False):
                yield dataclasses.replace(step, layers=_with(step.layers, index, simple))


def _simplify(step: Derivatives) -> Iterator[Derivatives]:
    smaller = ("width", 4), ("coordinates", 1), ("devices", 1), ("devices", 2)
    for name, number in smaller:
        if getattr(step, name) > number:
            yield dataclasses.replace(step, **{name: number})
    for name, plain in (("update", "descent"), ("zero", "off"), ("apart", False)):
        if getattr(step, name) != plain:
            yield dataclasses.replace(step, **{name: plain})
