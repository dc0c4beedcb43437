"""Pipelines by random tables: every legal order of a step's units gives what one device gives.

Tables of a fixed seed, then of a fresh one, or of a hundred with EPL_NIGHTLY set; seeds are printed.
"""

from __future__ import annotations

import functools
import os
import random
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import epl
from differential.tables import draw_kinds, draw_meshes, draw_table
from pipeline_steps import staged
from steps import assert_near

FRESH = 100 if os.environ.get("EPL_NIGHTLY") else 1
TABLES = 5  # of a program


STEPS = {True: functools.partial(staged, whole=True), False: functools.partial(staged, whole=False)}


class Drawn:
    """A step of random numbers of stages, micro-batches, replicas, and where its stages are."""

    def __init__(self, seed: int) -> None:
        self.choices = random.Random(seed)
        stages = self.choices.randint(2, 4)
        self.count = self.choices.randint(2, 8)
        meshes = stages if self.choices.random() < 0.7 else self.choices.randint(1, stages)
        self.meshes = draw_meshes(self.choices, stages, meshes)
        self.replicas = self.choices.choice([1, 1, 2])
        numbers = np.random.default_rng(seed)
        samples = self.count * self.replicas * self.choices.randint(1, 3)
        self.ws = [numbers.integers(-1, 2, (5, 5)).astype("f") for _ in range(stages)]
        self.x = numbers.integers(-2, 3, (samples, 5)).astype("f")
        self.key = jax.random.key(seed)

    def draw(self) -> tuple[str, str]:
        """The kinds of the stages, and a table."""
        kinds = draw_kinds(self.choices, len(self.ws))
        return ",".join(kinds), draw_table(self.choices, self.meshes, kinds, self.count)

    def run(self, table: Path, whole: bool) -> list[Any]:
        """The results by the order of a table."""
        config = {"pipeline.num_micro_batch": self.count, "pipeline.schedule": str(table)}
        devices = (max(self.meshes) + 1) * self.replicas
        made = epl.parallelize(STEPS[whole], state="ws", batch="x", devices=devices, config=config)
        return jax.tree.leaves(made(self.ws, self.x, self.key))

    def expect(self, whole: bool) -> list[Any]:
        """What one device gives."""
        return jax.tree.leaves(jax.jit(STEPS[whole])(self.ws, self.x, self.key))


def check(seed: int, whole: bool, folder: Path) -> None:
    """Whole numbers are bit-equal to one device's, others between tables of the same kinds."""
    drawn = Drawn(seed)
    expected = drawn.expect(whole)
    first: dict[str, list[Any]] = {}  # by kinds
    for number in range(TABLES):
        kinds, text = drawn.draw()
        table = folder / f"{number}.txt"
        table.write_text(text)
        print(f"seed {seed}, stages on meshes {drawn.meshes}, {drawn.count} micro-batches:\n{text}")
        found = drawn.run(table, whole)
        for ours, theirs in zip(found, expected if whole else first.get(kinds, found), strict=True):
            np.testing.assert_array_equal(ours, theirs)
        first.setdefault(kinds, found)
    for others in first.values():
        assert_near(others, next(iter(first.values())), 1e-6)
        assert_near(others, expected, 1e-5)


@pytest.mark.parametrize("whole", [True, False], ids=["whole", "floats"])
def test_all_tables_give_the_same(whole: bool, tmp_path: Path) -> None:
    check(0, whole, tmp_path)


def test_fresh_tables_give_the_same(tmp_path: Path) -> None:
    first = random.SystemRandom().randrange(10**9)
    for seed in range(first, first + FRESH):
        check(seed, bool(seed % 2), tmp_path)
