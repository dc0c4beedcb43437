"""Random schedules of pipelines that are legal, as the text that `pipeline.schedule` takes."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

Unit = tuple[int, str, int]  # stage, kind, micro-batch


def needs(unit: Unit, kinds: Sequence[str]) -> Iterator[Unit]:
    """What must have ended before a unit begins, `kinds` being those of each stage: "FB" or "FIW".

    By data flow, and as sums add micro-batches in ascending order.
    """
    stage, kind, count = unit
    if count > 0:
        yield (stage, kind, count - 1)
    if kind == "F" and stage > 0:
        yield (stage - 1, "F", count)
    if kind in "BI":
        yield (stage, "F", count)
        if stage + 1 < len(kinds):
            yield (stage + 1, "B" if "B" in kinds[stage + 1] else "I", count)
    if kind == "W":
        yield (stage, "I", count)


def draw_table(choices: random.Random, meshes: Sequence[int], kinds: Sequence[str], count: int) -> str:
    """A table of `count` micro-batches, `meshes` and `kinds` being those of each stage.

    Units are done in a random order in which each stands behind what it needs, so that no circle is among
    them. Each mesh likes some kinds better than others: lanes run ahead of each other, or hardly at all.
    """
    left = {(s, kind, m) for s, own in enumerate(kinds) for kind in own for m in range(count)}
    lanes: list[list[Unit]] = [[] for _ in range(max(meshes) + 1)]
    liked = [{kind: choices.choice([0.05, 1, 20]) for kind in "FBIW"} for _ in lanes]
    while left:
        ready = sorted(unit for unit in left if not any(need in left for need in needs(unit, kinds)))
        weights = [liked[meshes[stage]][kind] for stage, kind, _ in ready]
        (unit,) = choices.choices(ready, weights)
        lanes[meshes[unit[0]]].append(unit)
        left.remove(unit)
    return "\n".join(" ".join(f"s{s}.{kind}.m{m}" for s, kind, m in lane) for lane in lanes) + "\n"


def draw_kinds(choices: random.Random, stages: int) -> list[str]:
    """The kinds of each stage: mostly the same, so that tables of one program can be compared."""
    return choices.choice([["FB"] * stages, ["FIW"] * stages, choices.choices(["FB", "FIW"], k=stages)])


def draw_meshes(choices: random.Random, stages: int, count: int) -> list[int]:
    """The mesh of each stage, at random, none of `count` meshes without a stage."""
    meshes = [*range(count), *(choices.randrange(count) for _ in range(stages - count))]
    choices.shuffle(meshes)
    return meshes
