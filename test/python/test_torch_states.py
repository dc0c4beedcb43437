"""What a step of a torch module holds: tensors of its own, or of several steps, of a module that stays."""

from __future__ import annotations

import copy
import threading
import warnings
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
from torch_models import assert_same_state, eager
from torch_steps import batch, loss, net, plain, sgd

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")


class Adversaries(nn.Module):
    """A generator and its critic."""

    def __init__(self) -> None:
        super().__init__()
        self.maker, self.norm = nn.Linear(4, 4, bias=False), nn.BatchNorm1d(4)
        self.critic = nn.Linear(4, 1)

    def made(self, z: torch.Tensor) -> torch.Tensor:
        return self.norm(self.maker(z))


def critic_loss(module: Adversaries, z: torch.Tensor, real: torch.Tensor) -> torch.Tensor:
    with epl.replicate():
        made = module.made(z).detach()
        return F.softplus(-module.critic(real)).mean() + F.softplus(module.critic(made)).mean()


def maker_loss(module: Adversaries, z: torch.Tensor) -> torch.Tensor:
    with epl.replicate():
        return F.softplus(-module.critic(module.made(z))).mean()


def adversaries() -> tuple[Adversaries, list[torch.optim.Optimizer]]:
    torch.manual_seed(0)
    module = Adversaries()
    makers = [*module.maker.parameters(), *module.norm.parameters()]
    return module, [torch.optim.Adam(module.critic.parameters(), 0.05), torch.optim.Adam(makers, 0.05)]


@pytest.mark.parametrize("devices", [1, 2])
def test_a_generator_and_its_critic_train_the_same_tensors(devices: int) -> None:
    (ours, mine), (theirs, others) = adversaries(), adversaries()
    critic = epl.torch.parallelize(ours, critic_loss, mine[0], devices=devices)
    maker = epl.torch.parallelize(ours, maker_loss, mine[1], share=critic, devices=devices)
    torch.manual_seed(1)
    with warnings.catch_warnings():
        warnings.simplefilter("error", epl.CopyWarning)
        for _ in range(4):
            z, real = torch.randn(8, 4), torch.randn(8, 4) + 2
            expected = eager(theirs, critic_loss, others[0], z, real)
            np.testing.assert_allclose(critic(z, real), expected, rtol=1e-5)
            theirs.zero_grad()
            np.testing.assert_allclose(maker(z), eager(theirs, maker_loss, others[1], z), rtol=1e-5)
            theirs.zero_grad()
    assert_same_state(critic.state_dict()["module"], theirs.state_dict(), 1e-5)
    assert_same_state(maker.state_dict()["module"], theirs.state_dict(), 1e-5)
    maker.write_back()
    critic.write_back()
    assert_same_state(ours.state_dict(), theirs.state_dict(), 1e-5)


def test_steps_that_train_copies_say_so_and_the_remedies_work() -> None:
    module, optimizers = adversaries()
    critic = epl.torch.parallelize(module, critic_loss, optimizers[0], devices=2)
    maker = epl.torch.parallelize(module, maker_loss, optimizers[1], devices=2)
    z, real = torch.randn(8, 4), torch.randn(8, 4)
    critic(z, real)
    with pytest.warns(epl.CopyWarning, match=r"give share=, that step, .* or call its write_back\(\) before"):
        maker(z)
    maker.write_back()
    critic.write_back()
    again = epl.torch.parallelize(module, maker_loss, optimizers[1], devices=2)
    with warnings.catch_warnings():
        warnings.simplefilter("error", epl.CopyWarning)
        again(z)
        again.write_back()
        epl.torch.parallelize(module, maker_loss, optimizers[1], share=critic, devices=2)(z)


def test_what_is_written_back_is_what_was_trained() -> None:
    """A step does not overwrite what another one trains with what that was before."""
    module, optimizers = adversaries()
    critic = epl.torch.parallelize(module, critic_loss, optimizers[0], devices=2)
    maker = epl.torch.parallelize(module, maker_loss, optimizers[1], devices=2)
    critic(torch.randn(8, 4), torch.randn(8, 4))
    critic.write_back()
    trained = copy.deepcopy(module.critic.state_dict())
    maker(torch.randn(8, 4))
    maker.write_back()
    assert_same_state(module.critic.state_dict(), trained, 0)


def test_steps_that_are_gone_have_no_copies() -> None:
    module = net()
    with warnings.catch_warnings():
        warnings.simplefilter("error", epl.CopyWarning)
        for devices in (1, 2):
            step = epl.torch.parallelize(module, loss, sgd(module), devices=devices)
            step(*batch())


def test_share_is_a_step() -> None:
    module = net()
    with pytest.raises(epl.ArgumentError, match=r"share must be a step of epl\.torch\.parallelize or None"):
        epl.torch.parallelize(module, loss, sgd(module), share=module, devices=2)  # type: ignore[arg-type]


@pytest.mark.parametrize("loaded", [False, True])
def test_states_are_no_memory_of_the_module(loaded: bool) -> None:
    module = net()
    step = epl.torch.parallelize(module, loss, sgd(module), devices=2)
    if loaded:
        step(*batch())
        step.load_state_dict(step.state_dict())
    before = step.evaluate(*batch())
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.zero_()
    torch.testing.assert_close(step.evaluate(*batch()), before, rtol=0, atol=0)
    step.read_module()
    assert step.evaluate(*batch()) != before


def test_an_optimizer_of_optax_goes_on_where_the_module_is_read() -> None:
    modules = net(), net()
    steps = [epl.torch.parallelize(module, loss, optax.adam(0.01), devices=2) for module in modules]
    for _ in range(3):
        for step in steps:
            step(*batch())
        steps[0].write_back()
        steps[0].read_module()
    first, second = (step.state_dict()["optimizer"][0] for step in steps)
    assert first.count == second.count == 3
    assert_same_state(steps[0].state_dict()["module"], steps[1].state_dict()["module"], 0)


def replaced(module: nn.Module) -> None:
    module.b = nn.Linear(16, 3)


def appended(module: nn.Module) -> None:
    module.c = nn.Linear(3, 3)


def another_parameter(module: nn.Module) -> None:
    module.a.weight = nn.Parameter(torch.zeros(16, 16))


def another_buffer(module: nn.Module) -> None:
    module.a.register_buffer("count", torch.zeros(()))


@pytest.mark.parametrize(
    ("change", "part"),
    [
        (replaced, r"the module \(Net\)"),
        (appended, r"the module \(Net\)"),
        (another_parameter, '"a"'),
        (another_buffer, '"a"'),
    ],
)
def test_a_module_that_is_not_as_it_was(change: Callable[[nn.Module], None], part: str) -> None:
    module = net()
    step = epl.torch.parallelize(module, loss, sgd(module), devices=2)
    step(*batch())
    change(module)
    message = f"{part} has other submodules, parameters or buffers than .*: write back .* and call it again"
    for call in (step, step.evaluate):
        with pytest.raises(epl.ArgumentError, match=message):
            call(*batch())
    step.write_back()
    x, y = batch()
    again = epl.torch.parallelize(module, loss, sgd(module), devices=2)
    again(x, y % 3)


def test_threads_trace_one_after_another() -> None:
    modules = [net() for _ in range(3)]
    steps = [epl.torch.parallelize(module, loss, sgd(module), devices=2) for module in modules]
    found: list[Any] = []

    def work(step: epl.torch.Step) -> None:
        try:
            found.append((step(*batch()), step.evaluate(*batch())))
        except Exception as error:
            found.append(error)

    threads = [threading.Thread(target=work, args=(step,)) for step in (*steps, steps[0])]
    for thread in threads[:3]:
        thread.start()
    for thread in threads[:3]:
        thread.join()
    np.testing.assert_array_equal(found, [found[0]] * 3)
    assert torch.backends.mkldnn.is_available() == torch._C._get_mkldnn_enabled()
    assert all(part.training for module in modules for part in module.modules())


class OnlyLong(nn.Module):
    """A layer that only long inputs go through."""

    def __init__(self) -> None:
        super().__init__()
        self.all, self.long = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
        with epl.replicate():
            x = self.all(x)
            return {"long": self.long(x).square().mean()} if len(x) > 4 else {"short": x.square().mean()}


def value(module: nn.Module, x: torch.Tensor) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    named = module(x)
    return next(iter(named.values())), named


def test_each_shape_has_a_trace_of_its_own() -> None:
    torch.manual_seed(0)
    module = OnlyLong()
    theirs = copy.deepcopy(module)
    adam = lambda of: torch.optim.Adam(of.parameters(), 0.05)  # noqa: E731
    step, optimizer = epl.torch.parallelize(module, value, adam(module), devices=2), adam(theirs)
    for size in (8, 2, 8, 2, 2, 8):
        x = torch.randn(size, 4)
        found, named = step(x)
        optimizer.zero_grad()
        expected, kept = value(theirs, x)
        expected.backward()
        optimizer.step()
        np.testing.assert_allclose(found, expected.detach(), rtol=1e-5)
        assert named.keys() == kept.keys()
        assert step.evaluate(x)[1].keys() == kept.keys()
    assert_same_state(step.state_dict()["module"], theirs.state_dict(), 1e-5)
    counts = [entry["step"] for entry in step.state_dict()["optimizer"]["state"].values()]
    assert counts == [6, 6, 3, 3]


@pytest.mark.parametrize("values", [(0.0, 0.9), (0.9, 0.0), (0.9, 0.0, 0.9), (0.0, 0.9, 0.5)])
@pytest.mark.parametrize("dampening", [0.0, 0.3])
def test_momentum_that_is_set_between_steps(values: tuple[float, ...], dampening: float) -> None:
    ours, theirs = net(), net()
    make = lambda of: torch.optim.SGD(of.parameters(), 0.1, momentum=values[0], dampening=dampening)  # noqa: E731
    optimizer, other = make(ours), make(theirs)
    step = epl.torch.parallelize(ours, loss, optimizer, devices=2)
    for momentum in values:
        optimizer.param_groups[0]["momentum"] = other.param_groups[0]["momentum"] = momentum
        for _ in range(2):
            np.testing.assert_allclose(step(*batch()), eager(theirs, loss, other, *batch()), rtol=1e-5)
    assert_same_state(step.state_dict()["module"], theirs.state_dict(), 1e-5)
    kept, expected = step.state_dict()["optimizer"]["state"], other.state_dict()["state"]
    for index, entry in expected.items():
        if entry.get("momentum_buffer") is not None:
            torch.testing.assert_close(kept[index]["momentum_buffer"], entry["momentum_buffer"])


def test_what_is_compiled_by_torch_is_traced_as_it_is_written() -> None:
    compiled, expected = net(), net()
    step = epl.torch.parallelize(torch.compile(compiled), loss, sgd(compiled), devices=2)
    np.testing.assert_allclose(step(*batch()), eager(expected, loss, sgd(expected), *batch()), rtol=1e-5)


def test_data_parallel_modules_are_parallel_already() -> None:
    module = net()
    wrapped = nn.DataParallel(module)
    with pytest.raises(epl.ArgumentError, match=r"found DataParallel: give its \.module"):
        epl.torch.parallelize(wrapped, loss, sgd(module), devices=2)
    epl.torch.parallelize(wrapped.module, loss, sgd(module), devices=2)(*batch())


def test_in_inference_mode_a_step_is_a_step() -> None:
    module, expected = net(plain), net(plain)
    step = epl.torch.parallelize(module, loss, sgd(module), devices=2)
    with torch.inference_mode():
        found = step(*batch())
    np.testing.assert_allclose(found, eager(expected, loss, sgd(expected), *batch()), rtol=1e-5)
