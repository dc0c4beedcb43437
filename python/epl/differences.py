"""What a call has that a step was not compiled for: why it is an error, or why the step is compiled anew."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from epl.signature import Spec

if TYPE_CHECKING:
    from epl.stages import Lowered

_WEAK = "give it one type, np.float32(x) for a Python number, or Python numbers only"


@dataclass(frozen=True)
class Difference:
    """The first thing that differs: `kind` and `name` say what, `text` how, `remedy` how to keep it one."""

    kind: str
    name: str
    text: str
    remedy: str


def mismatch(lowered: Lowered, found: Spec) -> str:
    """What a call has that a step was not compiled for."""
    return f"{lowered.signature.name} was compiled for {difference(lowered, found).text}"


def difference(lowered: Lowered, found: Spec) -> Difference:
    """The first difference between what a step was compiled for and another call."""
    expected = lowered.spec
    if expected.trees != found.trees:
        return _of_trees(expected, found)
    if expected.static != found.static:
        return _of_static(expected, found)
    if expected.kinds != found.kinds:
        return _of_kinds(lowered, found)
    weak = zip(lowered.arguments, expected.weak_types, found.weak_types, strict=True)
    if argument := next((argument for argument, old, new in weak if old != new), None):
        text = f'"{argument.name}" with another weak type, as Python numbers have'
        return Difference("type", argument.name, text, _WEAK)
    text = "other settings: devices, configuration, default strategy or jax_enable_x64"
    return Difference("settings", "", text, "set them once, or give devices= and config= to epl.parallelize")


def _of_trees(expected: Spec, found: Spec) -> Difference:
    old, new = dict(expected.trees), dict(found.trees)
    both = old.keys() & new.keys()  # a tree cannot be compared with None
    name = next((name for name in (*old, *new) if name not in both or old[name] != new[name]), "")
    if not name:
        text = f"arguments in the order ({', '.join(old)}), found ({', '.join(new)})"
        return Difference("tree", "", text, "give the arguments in one order")
    texts = [str(trees.get(name, "nothing")) for trees in (old, new)]
    if texts[0] == texts[1]:  # such as tables with other optimizers
        texts[1] = "another one of that text"
    text = f'arguments with "{name}" as {texts[0]}, found {texts[1]}'
    return Difference("tree", name, text, "give it the same tree in each call")


def _of_static(expected: Spec, found: Spec) -> Difference:
    before, now = dict(expected.static), dict(found.static)
    both = before.keys() & now.keys()
    names = (*before, *now)
    name = next((name for name in names if name not in both or before[name] != now[name]), "")
    old, new = (values.get(name, "nothing") for values in (before, now))
    remedy = "each value is a program of its own: pass numbers as arrays, not in static_argnames"
    return Difference("static", name, f'"{name}" = {old!r}, found {new!r}', remedy)


def _of_kinds(lowered: Lowered, found: Spec) -> Difference:
    changed = zip(lowered.arguments, lowered.spec.kinds, found.kinds, strict=True)
    argument, old, new = next(item for item in changed if item[1] != item[2])
    texts = [f"{dtype}{list(shape)}" for shape, dtype in (old, new)]
    text = f'"{argument.name}" as {texts[0]}, found {texts[1]}'
    if old[0] == new[0]:
        return Difference("type", argument.name, text, "give it one type, x.astype(...)")
    if argument.batch_dim is None:
        return Difference("shape", argument.name, text, "pad it to one shape")
    return Difference("shape", argument.name, text, "give it batches of one size, or set pad_batch=True")
