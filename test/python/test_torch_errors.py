"""What a step of a torch module refuses, and that what each error says to do works."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

import numpy as np
import optax
import pytest

pytest.importorskip("torch")
pytest.importorskip("torchax")

import torch
import torch.nn.functional as F
from torch import nn

import epl
from epl.adapters.torch import hooks
from epl.adapters.torch.support import ROWS, Refused

HERE = __file__.rpartition("/")[2]
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")


class Scaled(nn.Module):
    """A function of what it gets, times a parameter."""

    def __init__(self, function: Callable[..., Any], size: int = 1) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.full((size,), 2.0))
        self.function = function

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        with epl.replicate():
            return self.function(x * self.w)


def mean(module: nn.Module, x: torch.Tensor) -> torch.Tensor:
    return module(x).float().mean()


def samples(count: int = 8) -> torch.Tensor:
    torch.manual_seed(0)
    return torch.randn(count, 4)


def parallel(module: nn.Module, loss: Callable[..., Any] = mean, **options: Any) -> epl.torch.Step:
    return epl.torch.parallelize(
        module, loss, torch.optim.SGD(module.parameters(), 0.1), devices=2, **options
    )


def assert_runs(module: nn.Module, loss: Callable[..., Any], *batch: Any) -> None:
    with torch.no_grad():
        expected = loss(module, *batch)
    np.testing.assert_allclose(parallel(module, loss)(*batch), expected, rtol=1e-5)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.example)
def test_what_is_refused_names_the_line_and_what_it_says_works(row: Refused) -> None:
    def written(text: str) -> Callable[[torch.Tensor], torch.Tensor]:
        code = compile(f"lambda x: {text}", "model.py", "eval")
        return eval(code, {"torch": torch, "F": F})

    with pytest.raises(epl.UnsupportedError) as caught:
        parallel(Scaled(written(row.example)))(samples())
    assert str(caught.value).startswith("model.py:1: ")
    assert row.what in str(caught.value)
    assert row.instead in str(caught.value)
    assert_runs(Scaled(written(row.rewritten)), mean, samples())


def test_an_operator_without_shapes() -> None:
    library = torch.library.Library("epl_test", "DEF")
    library.define("twice(Tensor x) -> Tensor")
    library.impl("twice", lambda x: 2 * x, "CPU")
    with pytest.raises(epl.UnsupportedError, match=f"{HERE}:.*write it with other operators"):
        parallel(Scaled(lambda x: torch.ops.epl_test.twice(x.detach())))(samples())
    library._destroy()


def test_what_jax_adapter_refuses_names_the_line_too() -> None:
    with pytest.raises(epl.UnsupportedError, match=f"{HERE}:.*complex"):
        parallel(Scaled(lambda x: torch.fft.fft(x).abs()))(samples())


def test_a_tensor_that_is_kept_as_an_attribute() -> None:
    class Keeping(Scaled):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.last = super().forward(x)
            return self.last

    module = Keeping(torch.tanh)
    with pytest.raises(epl.UnsupportedError, match=f'{HERE}:.*"last" is assigned a tensor of the step'):
        parallel(module)(samples())
    with torch.no_grad():
        expected = module.function(samples() * 2)
    registered = Keeping(torch.tanh)
    registered.register_buffer("last", torch.zeros(8, 4))
    step = parallel(registered)
    step(samples())
    torch.testing.assert_close(step.state_dict()["module"]["last"], expected)
    returning = lambda module, x: (lambda y: (y.mean(), y))(module(x))  # noqa: E731
    _, returned = parallel(Scaled(torch.tanh), returning)(samples())
    torch.testing.assert_close(returned, expected)


def test_a_parameter_that_is_read_past_the_module() -> None:
    module = Scaled(torch.tanh)
    held = list(module.parameters())
    with pytest.raises(epl.UnsupportedError, match=rf'{HERE}:.*\("w"\) is read past the module'):
        parallel(module, lambda m, x: m(x).mean() + held[0].square().sum())(samples())
    assert_runs(module, lambda m, x: m(x).mean() + m.w.square().sum(), samples())
    critic = nn.Linear(4, 1)
    with pytest.raises(epl.UnsupportedError, match=r"or freeze it by requires_grad_\(False\)"):
        parallel(module, lambda m, x: critic(m(x)).mean())(samples())
    both = nn.ModuleDict({"maker": module, "critic": critic})
    assert_runs(both, lambda m, x: m["critic"](m["maker"](x)).mean(), samples())
    critic.requires_grad_(False)
    assert_runs(Scaled(torch.tanh), lambda m, x: critic(m(x)).mean(), samples())


def test_losses_that_are_none() -> None:
    module = Scaled(torch.tanh)
    with pytest.raises(epl.ArgumentError, match=r"float32 of shape \(8, 4\): reduce it, as by .mean\(\)"):
        parallel(module, lambda module, x: module(x))(samples())
    assert_runs(module, lambda module, x: module(x).mean(), samples())
    with pytest.raises(epl.ArgumentError, match="must return tensors, found float"):
        parallel(module, lambda module, x: (module(x).mean(), 1.0))(samples())
    with pytest.raises(epl.ArgumentError, match="does not depend on parameters"):
        parallel(module, lambda module, x: module(x).mean().detach())(samples())


def test_hooks_that_are_not_called() -> None:
    module = Scaled(torch.tanh)
    module.w.register_post_accumulate_grad_hook(lambda parameter: None)
    with pytest.raises(epl.UnsupportedError, match=r'"w" has a hook by register_post_accumulate_grad_hook'):
        parallel(module)(samples())
    changed = Scaled(torch.tanh)
    changed.w.register_hook(torch.zeros_like)
    step = parallel(changed)
    step(samples())
    assert step.state_dict()["module"]["w"] == 2
    step.write_back()
    optimizer = torch.optim.SGD(changed.parameters(), 0.1)
    handle = optimizer.register_step_pre_hook(lambda *_: None)
    with pytest.raises(epl.ArgumentError, match=r"hooks of its steps, .*: change gradients by register_hook"):
        epl.torch.parallelize(changed, mean, optimizer, devices=2)
    handle.remove()
    epl.torch.parallelize(changed, mean, optimizer, devices=2)(samples())


@pytest.mark.parametrize(
    "asking", [lambda x: f"{x.sum():.3f}", lambda x: x.detach().numpy(), lambda x: int(x.sum())]
)
def test_what_asks_for_a_value_names_the_line(asking: Callable[..., Any]) -> None:
    with pytest.raises(epl.UnsupportedError, match=f"{HERE}:.*decisions of Python on the values of tensors"):
        parallel(Scaled(lambda x: (asking(x), x)[1]))(samples())


def test_a_frozen_module_and_one_that_was_scripted() -> None:
    frozen = Scaled(torch.tanh).requires_grad_(False)
    optimizer = torch.optim.SGD(frozen.parameters(), 0.1)
    step = epl.torch.parallelize(frozen, mean, optimizer, devices=2)
    with pytest.raises(epl.ArgumentError, match=r"no parameter of the optimizer .*requires_grad_\(\)"):
        step(samples())
    frozen.requires_grad_()
    step(samples())
    linear = nn.Linear(4, 1)
    with pytest.raises(epl.ArgumentError, match="found RecursiveScriptModule: give the module"):
        parallel(torch.jit.script(linear))
    parallel(linear)(samples())


def test_weight_norm_of_the_older_kind() -> None:
    module = nn.utils.weight_norm(nn.Linear(4, 1))
    with pytest.raises(epl.UnsupportedError, match=r"use that of torch\.nn\.utils\.parametrizations"):
        parallel(module)(samples())
    parallel(nn.utils.parametrizations.weight_norm(nn.Linear(4, 1)))(samples())


def test_no_grad_round_a_call_changes_nothing() -> None:
    module = Scaled(torch.tanh)
    step = parallel(module)
    with torch.no_grad():
        step(samples())
    assert step.state_dict()["module"]["w"] != 2


@pytest.mark.parametrize("name", ["Adagrad", "RMSprop", "NAdam", "Adamax", "LBFGS"])
def test_optimizers_that_are_not_supported(name: str) -> None:
    module = Scaled(torch.tanh)
    optimizer = getattr(torch.optim, name)(module.parameters())
    expected = (
        f'"{name}" of torch is not supported: use torch.optim\'s SGD, Adam, AdamW, or an optimizer of optax'
    )
    with pytest.raises(epl.ArgumentError, match=expected):
        epl.torch.parallelize(module, mean, optimizer, devices=2)
    rmsprop = optax.rmsprop(0.01)
    np.testing.assert_allclose(
        epl.torch.parallelize(module, mean, rmsprop, devices=2)(samples()),
        mean(module, samples()).item(),
        rtol=1e-5,
    )


def test_other_things_than_optimizers_modules_and_losses() -> None:
    module = Scaled(torch.tanh)
    with pytest.raises(epl.ArgumentError, match=r"optimizer must be torch.optim's SGD, Adam or AdamW"):
        epl.torch.parallelize(module, mean, 0.1, devices=2)
    with pytest.raises(epl.ArgumentError, match=r"module must be a torch.nn.Module, found function"):
        epl.torch.parallelize(mean, mean, optax.sgd(0.1), devices=2)
    with pytest.raises(epl.ArgumentError, match="loss_fn must be a function"):
        epl.torch.parallelize(module, 3, optax.sgd(0.1), devices=2)


def test_an_optimizer_of_another_module() -> None:
    module = Scaled(torch.tanh)
    others = torch.optim.SGD(Scaled(torch.tanh).parameters(), 0.1)
    with pytest.raises(epl.ArgumentError, match=r"make it of module.parameters\(\)"):
        epl.torch.parallelize(module, mean, others, devices=2)


def test_a_group_that_is_added_later() -> None:
    module = Scaled(torch.tanh)
    module.extra = nn.Parameter(torch.ones(1))
    optimizer = torch.optim.SGD([module.w], 0.1)
    step = epl.torch.parallelize(module, lambda m, x: (m(x) * m.extra).mean(), optimizer, devices=2)
    step(samples())
    optimizer.add_param_group({"params": [module.extra]})
    with pytest.raises(epl.ArgumentError, match=r"have changed: call epl.torch.parallelize again"):
        step(samples())
    step.write_back()
    again = epl.torch.parallelize(module, lambda m, x: (m(x) * m.extra).mean(), optimizer, devices=2)
    again(samples())
    assert again.state_dict()["module"]["extra"] != 1


def test_modules_without_shapes_or_elsewhere() -> None:
    lazy = nn.LazyLinear(4)
    with pytest.raises(epl.ArgumentError, match='"weight" has no shape yet: call the module once'):
        epl.torch.parallelize(lazy, mean, optax.sgd(0.1), devices=2)
    lazy(samples())
    assert_runs(lazy, mean, samples())
    with pytest.raises(epl.ArgumentError, match='"weight" is on device meta'):
        epl.torch.parallelize(nn.Linear(4, 4, device="meta"), mean, optax.sgd(0.1), devices=2)


def test_arguments_that_do_not_match() -> None:
    module = Scaled(torch.tanh)
    with pytest.raises(epl.ArgumentError, match=r"'z', but mean has, after the module, the parameters \(x\)"):
        parallel(module, batch="z")
    with pytest.raises(epl.ArgumentError, match="mean: missing a required argument: 'x'"):
        parallel(module)()
    with pytest.raises(epl.ArgumentError, match='"x" must be a tensor or a hashable Python value, found set'):
        parallel(module)({1, 2})
    with pytest.raises(epl.ArgumentError, match="must have the module as its first parameter"):
        parallel(module, lambda: None)


def test_a_batch_that_does_not_divide() -> None:
    with pytest.raises(epl.CompileError, match=r"batch\['x'\]"):
        parallel(Scaled(torch.tanh))(samples(7))


def test_without_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def missing(name: str, *args: Any, **options: Any) -> Any:
        if name.startswith("epl.adapters.torch"):
            raise ModuleNotFoundError("No module named 'torch'", name="torch")
        return real(name, *args, **options)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(epl.Error, match=r'needs "torch", which is not installed: pip install "epl\[torch\]"'):
        parallel(Scaled(torch.tanh))


def test_other_versions() -> None:
    with pytest.raises(
        epl.Error, match=r'works with torch 2.12.1, found 2.15.0: pip install "torch==2.12.1"'
    ):
        hooks.check_version("torch", "2.15.0")
    hooks.check_version("torch", "2.12.1+cpu")
