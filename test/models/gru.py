"""A GRU over a sequence, by flax's scan over time."""

from __future__ import annotations

import flax.linen as nn

from models import lstm
from models.model import Model


def build() -> Model:
    return lstm.build(nn.GRUCell)
