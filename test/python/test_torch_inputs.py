"""What a call of a torch step passes: tensors, what is part of the program, what is refused."""

from __future__ import annotations

import copy
import dataclasses
import enum
import pickle
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("torchax")

import torch
import torch.nn.functional as F
from torch import nn

import epl
from torch_steps import assert_trains_as_torch, batch, net, sgd

pytestmark = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning"
)


class Data:
    """Tensors in an object, which compares by identity."""

    def __init__(self, x: torch.Tensor, y: torch.Tensor) -> None:
        self.x, self.y = x, y


class Slots:
    """Tensors in slots."""

    __slots__ = ("x", "y")

    def __init__(self, x: torch.Tensor, y: torch.Tensor) -> None:
        self.x, self.y = x, y


@dataclasses.dataclass
class Mutable:
    x: torch.Tensor
    y: torch.Tensor


@dataclasses.dataclass(frozen=True)
class Frozen:
    x: torch.Tensor
    y: torch.Tensor


@dataclasses.dataclass
class Registered:
    x: torch.Tensor
    y: torch.Tensor


@dataclasses.dataclass(frozen=True)
class Settings:
    scale: float


class Settled:
    """Settings that compare by identity."""

    scale = 1.0


class Mode(enum.Enum):
    once = 1
    twice = 2


def of_object(module: nn.Module, data: Any) -> torch.Tensor:
    return F.cross_entropy(module(data.x), data.y)


def of_dict(module: nn.Module, data: Any) -> torch.Tensor:
    return F.cross_entropy(module(data["x"]), data["y"])


def scaled(module: nn.Module, x: torch.Tensor, y: torch.Tensor, by: Any) -> torch.Tensor:
    by = {Mode.once: 1, Mode.twice: 2}.get(by, getattr(by, "scale", by))
    return F.cross_entropy(module(x), y) * (by + isinstance(by, bool) * 4)


def parallel(loss_fn: Callable[..., Any], **options: Any) -> epl.torch.Step:
    module = net()
    return epl.torch.parallelize(module, loss_fn, sgd(module), devices=2, **options)


@pytest.mark.parametrize("kind", [Data, Slots, Mutable, Frozen])
def test_tensors_in_objects_are_not_seen(kind: type) -> None:
    x, y = batch()
    message = (
        f'"data" holds tensors where a call does not see them, found {kind.__name__}: give them in a dict'
    )
    with pytest.raises(epl.ArgumentError, match=message) as error:
        parallel(of_object)(kind(x, y))
    assert ("register_dataclass" in str(error.value)) == dataclasses.is_dataclass(kind)
    expected = of_dict(net(), {"x": x, "y": y}).detach()
    torch.testing.assert_close(parallel(of_dict)({"x": x, "y": y}), expected)


def test_a_registered_dataclass_is_a_tree() -> None:
    torch.export.register_dataclass(Registered)
    x, y = batch()
    step = parallel(of_object)
    for values in (x, 2 * x):
        expected = of_object(net(), Registered(values, y)).detach()
        torch.testing.assert_close(step.evaluate(Registered(values, y)), expected)


def test_what_compares_by_identity_is_no_part_of_a_program() -> None:
    with pytest.raises(
        epl.ArgumentError, match=r'"by" must be .* hashable .* found Settled: give what the step'
    ):
        parallel(scaled)(*batch(), Settled())
    with pytest.raises(
        epl.ArgumentError, match=r'"by" must be a tensor or a hashable Python value, found bytearray'
    ):
        parallel(scaled)(*batch(), bytearray(3))


@pytest.mark.parametrize(
    "values",
    [(1, True, 1.0), (0, 0.0, False), (2, 2.5), (Mode.once, Mode.twice), (Settings(1.0), Settings(2.0))],
)
def test_python_values_are_told_apart_by_their_types(values: tuple[Any, ...]) -> None:
    step = parallel(scaled)
    for by in (*values, *values):
        torch.testing.assert_close(step.evaluate(*batch(), by), scaled(net(), *batch(), by).detach())


def test_signs_of_zero_and_nan() -> None:
    def signed(module: nn.Module, x: torch.Tensor, by: float) -> torch.Tensor:
        return module(x).mean() + (1 if str(by) == "-0.0" else 2 if by == 0 else 3)

    step = parallel(signed)
    x = batch()[0]
    for by in (0.0, -0.0, float("nan"), 0.0):
        torch.testing.assert_close(step.evaluate(x, by), signed(net(), x, by).detach())
    assert len(step._training._programs) == 3


@pytest.mark.parametrize(
    ("make", "message", "instead"),
    [
        (
            lambda x: x.to_sparse(),
            r"found one of layout sparse_coo: convert it, as by .to_dense\(\)",
            "to_dense",
        ),
        (
            lambda x: torch.quantize_per_tensor(x, 0.1, 0, torch.qint8),
            r"found one of torch.qint8: convert it, as by .dequantize\(\)",
            "dequantize",
        ),
        (
            lambda x: x.to(torch.float8_e4m3fn),
            r"found one of torch.float8_e4m3fn: convert it, as by .float\(\)",
            "float",
        ),
    ],
)
def test_tensors_that_are_no_arrays(make: Any, message: str, instead: str) -> None:
    x, y = batch()
    with pytest.raises(
        epl.ArgumentError, match=f'"x" must be a tensor that is an array of numbers, {message}'
    ):
        parallel(scaled)(make(x), y, 1.0)
    parallel(scaled)(getattr(make(x), instead)(), y, 1.0)


def test_a_nested_tensor_is_padded() -> None:
    def masked(module: nn.Module, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return (module(x)[..., 0] * mask).sum() / mask.sum()

    ragged = torch.nested.nested_tensor([torch.ones(2, 16), torch.ones(3, 16)])
    with pytest.raises(
        epl.ArgumentError, match=r'"x" .* found a nested one: pad it, as by .to_padded_tensor'
    ):
        parallel(masked)(ragged, torch.ones(2, 3))
    mask = torch.tensor([[1.0, 1, 0], [1, 1, 1]])
    expected = masked(net(), ragged.to_padded_tensor(0.0), mask).detach()
    torch.testing.assert_close(parallel(masked)(ragged.to_padded_tensor(0.0), mask), expected)


def test_a_tensor_without_elements() -> None:
    with pytest.raises(epl.ArgumentError, match=r'"x" .* found one without elements, on device meta'):
        parallel(scaled)(batch()[0].to("meta"), batch()[1], 1.0)


def with_none(module: nn.Module, x: torch.Tensor, y: torch.Tensor) -> Any:
    return F.cross_entropy(module(x), y), None, {"aux": None, "mean": module(x).mean()}


def test_none_among_what_is_returned_is_returned() -> None:
    step = parallel(with_none)
    for found in (step.evaluate(*batch()), step(*batch())):
        expected = with_none(net(), *batch())
        assert found[1] is None
        assert found[2]["aux"] is None
        torch.testing.assert_close(found[0], expected[0].detach())
        torch.testing.assert_close(found[2]["mean"], expected[2]["mean"].detach())


@pytest.mark.parametrize("second", [0, 0.0, "", False])
def test_other_values_are_not_returned(second: Any) -> None:
    def with_value(module: nn.Module, x: torch.Tensor, y: torch.Tensor) -> Any:
        return F.cross_entropy(module(x), y), second

    with pytest.raises(
        epl.ArgumentError, match=f"must return tensors, found {type(second).__name__}: return"
    ):
        parallel(with_value)(*batch())


def test_the_loss_comes_first() -> None:
    def none_first(module: nn.Module, x: torch.Tensor, y: torch.Tensor) -> Any:
        return None, F.cross_entropy(module(x), y)

    with pytest.raises(
        epl.ArgumentError, match="must return the loss first, found None: return the loss, or"
    ):
        parallel(none_first)(*batch())


@pytest.mark.parametrize("value", [None, torch.float32, "name", Mode.once, len, (None, 1), {"a": None}])
def test_what_is_no_tensor_is_part_of_the_program(value: Any) -> None:
    def told(module: nn.Module, x: torch.Tensor, other: Any = 0) -> torch.Tensor:
        return module(x).mean() * (2 if repr(other) == repr(value) else 1)

    step, x = parallel(told), batch()[0]
    for given in ((), (value,), ()):
        torch.testing.assert_close(step.evaluate(x, *given), told(net(), x, *given).detach())
    assert len(step._training._programs) == 2


def slope(module: nn.Module, x: torch.Tensor) -> torch.Tensor:
    """How far the gradient with respect to the input is from length 1."""
    (gradient,) = torch.autograd.grad(torch.tanh(module(x)).sum(), x, create_graph=True)
    return (gradient.square().sum(-1) - 1).square().mean()


def test_an_input_that_is_differentiated() -> None:
    x = batch()[0].requires_grad_()
    assert_trains_as_torch(net(), slope, x)
    torch.testing.assert_close(parallel(slope).evaluate(x), slope(net(), x).detach())
    with pytest.raises(RuntimeError, match="does not require grad"):
        parallel(slope)(x.detach())


def test_a_step_is_not_copied() -> None:
    step = parallel(with_none)
    for copied in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(epl.Error, match=r"keep its state_dict\(\), and make another step of a copy"):
            copied(step)
    step(*batch())
    module = net()
    other = epl.torch.parallelize(module, with_none, sgd(module), devices=2)
    other.load_state_dict(step.state_dict())
    torch.testing.assert_close(other.evaluate(*batch()), step.evaluate(*batch()))


def test_a_teacher_is_a_part_of_the_module() -> None:
    def taught(module: nn.Module, x: torch.Tensor, teacher: nn.Module) -> torch.Tensor:
        return F.mse_loss(module(x), teacher(x))

    x = batch()[0]
    torch.manual_seed(3)
    teacher = nn.Linear(16, 4)
    with pytest.raises(epl.ArgumentError, match=r'"teacher" .* found the module Linear: make it a part of'):
        parallel(taught)(x, teacher)
    both = nn.ModuleDict({"student": net(), "teacher": teacher})
    step = epl.torch.parallelize(
        both,
        lambda both, x: taught(both["student"], x, both["teacher"]),
        torch.optim.SGD(both["student"].parameters(), 0.1),
        devices=2,
    )
    torch.testing.assert_close(step(x), taught(net(), x, teacher).detach())
    torch.testing.assert_close(step.state_dict()["module"]["teacher.weight"], teacher.weight.detach())
