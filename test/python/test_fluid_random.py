"""Random programs: splits, scales and fetches are those of Paddle's ParallelExecutor.

Two hundred in scripts/nightly, a part of them in each run of the tests.
"""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np
import pytest

pytest.importorskip("paddle")

from epl import fluid
from paddle_modules import FOLDER, module

ANSWERS = json.loads((FOLDER / "random_programs.json").read_text())
programs = module("random_programs")
SEEDS = range(programs.COUNT if "EPL_NIGHTLY" in os.environ else 40)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_random_program(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    case = programs.Case(seed)
    main, startup, loss, fetches = case.build()
    values, parts = case.values(main)
    monkeypatch.setenv("CPU_NUM", str(case.places))
    monkeypatch.setenv("EPL_FLUID_SPLIT", "ceil")
    build = fluid.BuildStrategy()
    build.reduce_strategy = getattr(build.ReduceStrategy, case.mode)
    build.gradient_scale_strategy = getattr(build.GradientScaleStrategy, case.scale)
    with fluid.scope_guard(fluid.Scope()):
        fluid.Executor().run(startup)
        for name, value in values.items():
            fluid.global_scope().var(name).get_tensor().set(value)
        program = fluid.CompiledProgram(main).with_data_parallel(loss, build_strategy=build)
        feed: Any = [
            {**part, **({f"{loss}@GRAD": scale} if case.scale == "Customized" else {})}
            for part, scale in zip(parts, case.scales(), strict=True)
        ]
        if case.is_cut:
            feed = {"x": np.concatenate([part["x"] for part in parts])}
        first, second = ANSWERS[str(seed)]["fetched"]
        unmerged = fluid.Executor().run(program, feed, fetches, return_merged=False)
        for devices, expected in zip(unmerged, first, strict=True):
            for found, each in zip(devices, expected, strict=False):
                np.testing.assert_allclose(found.ravel(), each, rtol=2e-5, atol=2e-6)
        owned = ANSWERS[str(seed)]["owners"]
        found_owners = program.owners()
        assert {name: found_owners.get(name) for name in owned} == owned
        merged = fluid.Executor().run(program, feed, fetches)
        for found, expected in zip(merged[:2], second[:2], strict=True):
            np.testing.assert_allclose(found.ravel(), np.concatenate(expected), rtol=2e-5, atol=2e-6)
