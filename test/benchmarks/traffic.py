"""What devices receive from one another in a step of a split model, beside JAX with the same shardings."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from effort import Effort
from table import Row

WORKER = Path(__file__).parent / "traffic_worker.py"
FOLDER = WORKER.parents[1] / "models"
MODELS = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem not in ("__init__", "model"))


def traffic(effort: Effort, model: str) -> Iterator[Row]:
    """Bytes and collectives of the model's steps on 2 x 2 devices, in a process of its own."""
    if effort.quick and model != MODELS[0]:
        return  # one shows that it runs
    environment = {**os.environ, "XLA_FLAGS": "--xla_force_host_platform_device_count=4"}
    done = subprocess.run(
        [sys.executable, str(WORKER), model], env=environment, stdout=subprocess.PIPE, text=True, check=True
    )
    found = json.loads(done.stdout.splitlines()[-1])
    what = f"{model} on 2 x 2 devices / JAX, shardings as ours"
    yield Row(f"bytes of {what}", [found["ours"]], [found["jax"]], 1.0, unit="B")
    yield Row(f"collectives of {what}", [found["our collectives"]], [found["jax collectives"]], unit="")
