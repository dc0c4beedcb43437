"""First weights and one batch of the GPT that is measured, for every engine: numpy alone.

Weights are stored as they multiply a row: [inputs, outputs].
"""

from typing import Any

import numpy as np

LAYERS, WIDTH, HEADS, LENGTH, VOCABULARY, BATCH = 2, 256, 4, 128, 1024, 16
LEARNING_RATE, WEIGHT_DECAY, EPSILON = 1e-3, 1e-4, 1e-5


def weights() -> dict[str, Any]:
    """Nested dictionaries and lists of f32 arrays."""
    rng = np.random.default_rng(0)

    def table(*shape: int) -> np.ndarray:
        return rng.normal(0, 0.02, shape).astype(np.float32)

    def dense(inputs: int, outputs: int) -> dict[str, np.ndarray]:
        return {"w": table(inputs, outputs), "b": np.zeros(outputs, np.float32)}

    def norm() -> dict[str, np.ndarray]:
        return {"scale": np.ones(WIDTH, np.float32), "bias": np.zeros(WIDTH, np.float32)}

    blocks = [
        {
            "norm1": norm(),
            "qkv": dense(WIDTH, 3 * WIDTH),
            "out": dense(WIDTH, WIDTH),
            "norm2": norm(),
            "up": dense(WIDTH, 4 * WIDTH),
            "down": dense(4 * WIDTH, WIDTH),
        }
        for _ in range(LAYERS)
    ]
    return {
        "tokens": table(VOCABULARY, WIDTH),
        "positions": table(LENGTH, WIDTH),
        "blocks": blocks,
        "norm": norm(),
        "head": dense(WIDTH, VOCABULARY),
    }


def batch() -> tuple[np.ndarray, np.ndarray]:
    """Tokens and the token that follows each."""
    text = np.random.default_rng(1).integers(0, VOCABULARY, (BATCH, LENGTH + 1)).astype(np.int32)
    return text[:, :-1].copy(), text[:, 1:].copy()
