"""Layers of torch whose operators have no form in torchax, beside torch: bags of rows, norms of weights."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("torchax")

import torch
from torch import nn
from torch.nn.utils.parametrizations import spectral_norm, weight_norm

import epl
from torch_steps import assert_trains_as_torch

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")


class Bags(nn.Module):
    """Sums, means or maxima of rows, with weights that are trained."""

    def __init__(self, weighed: bool, **options: Any) -> None:
        super().__init__()
        self.rows, self.head = nn.EmbeddingBag(7, 5, **options), nn.Linear(5, 1)
        self.weights = nn.Parameter(torch.rand(13)) if weighed else None

    def forward(self, ids: torch.Tensor, offsets: Any = None) -> torch.Tensor:
        with epl.replicate():
            return self.head(torch.tanh(self.rows(ids, offsets, self.weights)))


def adam(module: nn.Module) -> torch.optim.Optimizer:
    return torch.optim.Adam(module.parameters(), 0.05)


def square(module: nn.Module, *inputs: torch.Tensor) -> torch.Tensor:
    return module(*inputs).square().mean()


@pytest.mark.parametrize("ends", [False, True])
@pytest.mark.parametrize("padding", [None, 2])
@pytest.mark.parametrize(
    ("mode", "weighed"), [("sum", False), ("sum", True), ("mean", False), ("max", False)]
)
def test_bags_of_rows(mode: str, weighed: bool, padding: int | None, ends: bool) -> None:
    torch.manual_seed(0)
    ids, offsets = torch.randint(0, 7, (13,)), torch.tensor([0, 3, 3, 9, *([13] if ends else [])])
    module = Bags(weighed, mode=mode, padding_idx=padding, include_last_offset=ends)
    assert_trains_as_torch(module, square, ids, offsets, make=adam, batch=())


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_bags_of_one_length(mode: str) -> None:
    torch.manual_seed(0)
    assert_trains_as_torch(Bags(False, mode=mode), square, torch.randint(0, 7, (8, 4)), make=adam)


@pytest.mark.parametrize("dim", [0, 1])
def test_norms_of_weights(dim: int) -> None:
    torch.manual_seed(0)
    module = nn.Sequential(
        weight_norm(nn.Linear(4, 6), dim=dim),
        nn.Tanh(),
        spectral_norm(nn.Linear(6, 3)),
        nn.Unflatten(1, (3, 1)),
    )
    module.append(weight_norm(nn.Conv1d(3, 3, 1)))
    assert_trains_as_torch(scoped(module), square, torch.randn(8, 4), make=adam)


class Matrices(nn.Module):
    """Parameters that matrices of a batch are multiplied with, and what is made of these."""

    def __init__(self, function: Any) -> None:
        super().__init__()
        self.w, self.b = nn.Parameter(torch.randn(6, 6)), nn.Parameter(torch.randn(6, 2))
        self.function = function

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        with epl.replicate():
            return self.function(x * self.w + 6 * torch.eye(6), x, self.b)


def normal(a: torch.Tensor, x: torch.Tensor, _: torch.Tensor) -> torch.Tensor:
    """The density of a normal distribution, as a Gaussian process has it."""
    factor = torch.linalg.cholesky(a @ a.mT)
    distribution = torch.distributions.MultivariateNormal(
        torch.zeros(6), scale_tril=factor, validate_args=False
    )
    return distribution.log_prob(x[:, 0])


MATRICES: dict[str, Any] = {
    "solve": lambda a, x, b: torch.linalg.solve(a, x),
    "solve of one right side for all": lambda a, x, b: torch.linalg.solve(a, b),
    "solve of vectors": lambda a, x, b: torch.linalg.solve(a, x[..., 0]),
    "solve from the right": lambda a, x, b: torch.linalg.solve(a, x, left=False),
    "solve of the transpose": lambda a, x, b: torch.linalg.solve(a.mT, x),
    "det": lambda a, x, b: torch.linalg.det(a).log(),
    "det of the transpose": lambda a, x, b: torch.linalg.det(a.mT).log(),
    "slogdet": lambda a, x, b: torch.linalg.slogdet(a)[1],
    "logdet of the transpose": lambda a, x, b: torch.logdet(a.mT),
    "lu": lambda a, x, b: torch.linalg.lu(a)[2],
    "lu_factor, lu_solve": lambda a, x, b: torch.linalg.lu_solve(*torch.linalg.lu_factor(a), x),
    "qr": lambda a, x, b: torch.linalg.qr(a)[1],
    "eigh": lambda a, x, b: torch.linalg.eigh(a @ a.mT)[1].square() * torch.arange(6.0),
    "diagonal": lambda a, x, b: torch.diagonal(a, 1, -2, -1),
    "diagonal of other dimensions": lambda a, x, b: torch.diagonal(a, -2, 2, 0),
    "normal": normal,
}


@pytest.mark.parametrize("name", MATRICES)
def test_matrices(name: str) -> None:
    torch.manual_seed(0)
    sgd = lambda module: torch.optim.SGD(module.parameters(), 0.01)  # noqa: E731
    assert_trains_as_torch(
        Matrices(MATRICES[name]), square, torch.randn(8, 6, 6), make=sgd, tolerance=1e-4, rounds=2
    )


class Conditioned(nn.Module):
    """Its gradient writes a part of a dimension that is counted from the end."""

    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.randn(4, 4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        with epl.replicate():
            return torch.linalg.cond(self.w) + 0 * x.sum()


def test_condition_numbers() -> None:
    torch.manual_seed(1)
    sgd = lambda module: torch.optim.SGD(module.parameters(), 1e-3)  # noqa: E731
    assert_trains_as_torch(Conditioned(), square, torch.randn(8, 4), make=sgd, rounds=1)


def scoped(module: nn.Module) -> nn.Module:
    """The module in one `replicate`."""

    class Scoped(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = module

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            with epl.replicate():
                return self.inner(x)

    return Scoped()
