"""Draws the README's pipeline: four stages of one cost, eight micro-batches, 1F1B. Prints the SVG.

python scripts/picture.py
"""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

import jax
import jax.numpy as jnp

import epl

ROOT = Path(__file__).parents[1]
STAGES, MICRO_BATCHES = 4, 8


def step(ws: list[jax.Array], x: jax.Array) -> tuple[list[jax.Array], jax.Array]:
    """A product in each stage."""

    def loss(ws: list[jax.Array]) -> jax.Array:
        h, total = x, jnp.zeros(())
        for index, w in enumerate(ws):
            with epl.replicate(name=f"stage{index}"):
                h = jnp.tanh(h @ w)
                total = (h * h).sum()  # the last one is the loss
        return total

    value, gradients = jax.value_and_grad(loss)(ws)
    return [w - 0.1 * g for w, g in zip(ws, gradients, strict=True)], value


def main() -> None:
    """Compiles the step and draws its units."""
    config = {"pipeline.num_micro_batch": MICRO_BATCHES, "pipeline.strategy": "1f1b"}
    parallel = epl.parallelize(step, state="ws", batch="x", devices=STAGES, config=config)
    lowered = parallel.lower([jnp.eye(4) for _ in range(STAGES)], jnp.ones((2 * MICRO_BATCHES, 4)))
    with tempfile.TemporaryDirectory() as folder:
        plan = Path(folder) / "step.eplan"
        lowered.compile().save(plan)
        draw = [ROOT / "build" / "bin" / "epl-plan", "render", plan, "--units", "--times=1,1,1"]
        print(subprocess.run(draw, capture_output=True, text=True, check=True).stdout, end="")


if __name__ == "__main__":
    main()
