"""A graph network: messages along edges, summed at their targets by segment_sum."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

import epl
from models.model import Model, adam, integers, normal, trained, weights

NODES, EDGES = 10, 24


def loss(params: Any, batch: Any) -> jax.Array:
    """The nodes are whole on every device, the edges are shared by the devices."""
    with epl.replicate():
        nodes = params["nodes"]
        for layer in params["layers"]:
            messages = jax.nn.relu(
                nodes[batch["source"]] @ layer["message"] + batch["features"] @ layer["edge"]
            )
            received = jax.ops.segment_sum(messages, batch["target"], num_segments=NODES)
            nodes = jax.nn.tanh(nodes @ layer["self"] + received)
        scores = (nodes[batch["source"]] * nodes[batch["target"]]).sum(-1)
        return ((scores - batch["score"]) ** 2).mean()


def build() -> Model:
    random = np.random.default_rng(0)
    layers = [
        {"message": weights(random, 6, 6), "edge": weights(random, 3, 6), "self": weights(random, 6, 6)}
        for _ in range(2)
    ]
    params = {"nodes": weights(random, NODES, 6), "layers": layers}

    def batch(random: np.random.Generator) -> Any:
        ends = {"source": integers(random, NODES, EDGES), "target": integers(random, NODES, EDGES)}
        return ends | {"features": normal(random, EDGES, 3), "score": normal(random, EDGES)}

    return trained(loss, params, adam(), batch)
