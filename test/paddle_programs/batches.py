"""Batches for programs on several places, the same wherever they are made."""

import numpy as np

STEPS = 50
SIZES = {
    1: {"equal": [8]},
    2: {"equal": [4, 4], "unequal": [3, 6]},
    4: {"equal": [2, 2, 2, 2], "unequal": [1, 5, 2, 4]},
}
"""How many rows each place has, by how many places there are."""

FEEDS = {
    "mlp": {"x": ([20], None), "label": ([1], 10)},
    "cnn": {"image": ([1, 12, 12], None), "label": ([1], 5)},
    "ctr": {"ids": ([6], 50), "y": ([1], 2)},
    "guide": {"x": ([1], None)},
}
"""Of each program: what a row is, numbers from 0 to 1 or integers below a bound; `y` as float32."""


def batches(name, sizes):
    """For each step what each place is fed."""
    random = np.random.default_rng(sum(sizes) + len(name))
    return [[_part(name, rows, random) for rows in sizes] for _ in range(STEPS)]


def _part(name, rows, random):
    part = {}
    for key, (shape, bound) in FEEDS[name].items():
        if bound is None:
            part[key] = random.random((rows, *shape), dtype=np.float32)
        else:
            part[key] = random.integers(0, bound, (rows, *shape))
    if name == "ctr":
        part["y"] = part["y"].astype(np.float32)
    return part
