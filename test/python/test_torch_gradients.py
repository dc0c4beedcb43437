"""Operators of torch whose gradients are operators of a graph: resizing, pooling, padding, distances."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("torchax")

import torch
import torch.nn.functional as F
from torch import nn

import epl
from torch_steps import assert_trains_as_torch

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")

torch.manual_seed(0)
GRID = torch.rand(4, 5, 5, 2) * 2 - 1
SHAPES = {1: (4, 3, 9), 2: (4, 3, 8, 8), 3: (4, 2, 5, 6, 7)}
SIZES = {1: 13, 2: (11, 5), 3: (7, 7, 7)}

Operator = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


def resized(mode: str, rank: int) -> Operator:
    return lambda x, w: F.interpolate(x * w, size=SIZES[rank], mode=mode)


def sampled(mode: str, padding: str) -> Operator:
    return lambda x, w: F.grid_sample(x * w, GRID * w * 0.9, mode, padding, align_corners=False)


def padded(mode: str, rank: int) -> Operator:
    return lambda x, w: F.pad(x * w, (1, 2, 1, 0, 1, 1)[: 2 * rank], mode=mode)


def turned(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    places = F.affine_grid(torch.eye(2, 3).repeat(4, 1, 1) * w, [4, 3, 8, 8], align_corners=False)
    return F.grid_sample(x, places, align_corners=False)


CASES: dict[str, tuple[Operator, int]] = {
    **{
        f"{mode}, {rank}": (resized(mode, rank), rank)
        for rank in (1, 2, 3)
        for mode in ("nearest", "nearest-exact")
    },
    "linear": (resized("linear", 1), 1),
    "bilinear": (resized("bilinear", 2), 2),
    "bicubic": (resized("bicubic", 2), 2),
    "trilinear": (resized("trilinear", 3), 3),
    **{
        f"sample {mode}, {padding}": (sampled(mode, padding), 2)
        for mode in ("bilinear", "nearest", "bicubic")
        for padding in ("zeros", "border", "reflection")
    },
    "affine grid": (turned, 2),
    "max_pool1d": (lambda x, w: F.max_pool1d(x * w, 3, 2, 1), 1),
    "max_pool3d": (lambda x, w: F.max_pool3d(x * w, 2), 3),
    "max_pool3d that overlaps": (lambda x, w: F.max_pool3d(x * w, 3, 1, 1, ceil_mode=True), 3),
    "avg_pool3d": (lambda x, w: F.avg_pool3d(x * w, 2), 3),
    "adaptive_avg_pool3d": (lambda x, w: F.adaptive_avg_pool3d(x * w, (2, 3, 3)), 3),
    **{
        f"{mode} pad, {rank}": (padded(mode, rank), rank)
        for rank in (1, 2, 3)
        for mode in ("replicate", "reflect")
    },
    "distances": (lambda x, w: torch.cdist(x[..., 0] * w, x[..., 1]), 1),
    "distances to itself": (lambda x, w: torch.cdist(x[..., 0] * w, x[..., 0] * w), 1),
    "distances in one norm": (lambda x, w: torch.cdist(x[..., 0] * w, x[..., 1], p=1), 1),
    "shrinking": (lambda x, w: F.softshrink(x * w) + F.hardshrink(x * w), 1),
}


class Applied(nn.Module):
    """An operator of the input and a number that is trained."""

    def __init__(self, operator: Operator) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.tensor(1.1))
        self.operator = operator

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        with epl.replicate():
            return self.operator(x, self.w)


def square(module: nn.Module, x: torch.Tensor) -> torch.Tensor:
    return module(x).square().mean()


@pytest.mark.parametrize("name", CASES)
def test_gradients_are_those_of_torch(name: str) -> None:
    operator, rank = CASES[name]
    torch.manual_seed(1)
    options: Any = {"batch": ()} if "sample" in name or "grid" in name or "distances" in name else {}
    assert_trains_as_torch(Applied(operator), square, torch.randn(SHAPES[rank]), rounds=2, **options)
