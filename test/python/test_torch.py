"""What a step of a torch module means: modes, states, arguments, dropout, scopes, lines."""

from __future__ import annotations

import copy
import io
import logging
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("torchax")

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

import epl
from torch_models import Convolutional, Encoder, assert_same_state, eager, labels
from torch_steps import Net, assert_trains_as_torch, batch, loss, net, plain, sgd

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")


def test_tied_weights_are_one_state() -> None:
    torch.manual_seed(0)
    module = Encoder()
    ids = torch.randint(0, 64, (8, 16))
    language = lambda module, ids: F.cross_entropy(module(ids).flatten(0, 1), ids.flatten())  # noqa: E731
    step = assert_trains_as_torch(module, language, ids)
    state = step.state_dict()["module"]
    assert torch.equal(state["head.weight"], state["tokens.weight"])
    assert "params['head']['weight']" not in step.lower(ids).as_text()


def test_batch_norm_trains_and_evaluates_as_torch() -> None:
    torch.manual_seed(0)
    ours = Convolutional()
    theirs = copy.deepcopy(ours)
    data = torch.randn(8, 3, 16, 16), labels()
    step = epl.torch.parallelize(ours, loss, sgd(ours), devices=2)
    optimizer = sgd(theirs)
    for _ in range(2):
        step(*data)
        eager(theirs, loss, optimizer, *data)
    assert_same_state(step.state_dict()["module"], theirs.state_dict())
    before = step.state_dict()["module"]
    found = step.evaluate(*data)
    assert ours.training
    assert_same_state(step.state_dict()["module"], before, 0)
    with torch.no_grad():
        np.testing.assert_allclose(found, loss(theirs.eval(), *data), rtol=1e-5)


def test_batch_norm_of_micro_batches() -> None:
    torch.manual_seed(0)
    ours = nn.Sequential(nn.Linear(5, 6), nn.BatchNorm1d(6), nn.Tanh(), nn.Linear(6, 3))
    theirs = copy.deepcopy(ours)
    x, y = torch.randn(16, 5), torch.randn(16, 3)

    def distance(module: Any, x: Any, y: Any) -> Any:
        with epl.per_micro_batch():
            return ((module(x) - y) ** 2).mean()

    config = {"pipeline.num_micro_batch": 4}
    step = epl.torch.parallelize(ours, distance, sgd(ours), devices=2, config=config)
    found = step(x, y)
    optimizer = sgd(theirs)
    losses = [distance(theirs, *part) / 4 for part in zip(x.split(4), y.split(4), strict=True)]
    total = torch.stack(losses).sum()
    total.backward()
    optimizer.step()
    np.testing.assert_allclose(found, total.detach(), rtol=1e-5)
    # What the step knows of its batch stays: one step, and N / (N - 1) of all its samples.
    theirs[1].num_batches_tracked.fill_(1)
    kept = 0.9**4
    theirs[1].running_var.sub_(kept).mul_((16 / 15) / (4 / 3)).add_(kept)
    assert_same_state(step.state_dict()["module"], theirs.state_dict())


def test_the_mode_of_every_submodule_counts() -> None:
    torch.manual_seed(0)
    ours = Convolutional()
    ours.norm.eval()
    step = assert_trains_as_torch(ours, loss, torch.randn(8, 3, 16, 16), labels())
    state = step.state_dict()["module"]
    assert state["norm.num_batches_tracked"] == 0
    assert state["norm2.num_batches_tracked"] == 3


def test_a_buffer_that_is_assigned_anew() -> None:
    class Counting(Net):
        def __init__(self) -> None:
            super().__init__(plain)
            self.register_buffer("average", torch.zeros(16))
            self.register_buffer("calls", torch.zeros((), dtype=torch.int64))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.average = 0.9 * self.average + 0.1 * x.mean(0)
            self.calls += 1
            return super().forward(x + self.average)

    torch.manual_seed(0)
    step = assert_trains_as_torch(Counting(), loss, *batch())
    assert step.state_dict()["module"]["calls"] == 3


def test_parameters_that_are_frozen_unused_or_not_given_stay() -> None:
    module = net(lambda net, x: net.b(x))
    module.b.bias.requires_grad_(False)
    step = assert_trains_as_torch(
        module, loss, *batch(), make=lambda m: torch.optim.AdamW(m.parameters(), 0.1, weight_decay=0.1)
    )
    assert list(step.state_dict()["optimizer"]["state"]) == [2]
    module = net()
    given = assert_trains_as_torch(
        module, loss, *batch(), make=lambda m: torch.optim.SGD(m.b.parameters(), 0.1)
    )
    assert "transpose" in given.lower(*batch()).as_text()
    assert torch.equal(given.state_dict()["module"]["a.weight"], module.a.weight)


def test_what_the_loss_function_returns_comes_back() -> None:
    def verbose(module: nn.Module, x: torch.Tensor, y: torch.Tensor) -> Any:
        logits = module(x)
        return F.cross_entropy(logits, y), {"logits": logits, "right": (logits.argmax(1) == y).sum()}

    module, data = net(), batch()
    with torch.no_grad():
        _, expected = verbose(module, *data)
    step = epl.torch.parallelize(module, verbose, sgd(module), devices=2)
    for value, found in (step.evaluate(*data), step(*data)):
        assert value.shape == ()
        torch.testing.assert_close(found["logits"], expected["logits"])
        assert found["right"].dtype is torch.int64
        assert found["right"] == expected["right"]


def test_arguments_of_all_kinds() -> None:
    def weighed(
        module: nn.Module, data: Any, scale: torch.Tensor, *, power: int = 1, **more: Any
    ) -> torch.Tensor:
        x, y = data["x"], data["labels"][0]
        return (loss(module, x, y) * scale.sum() + more["extra"].mean()) ** power

    x, y = batch()
    data = {"x": x.numpy(), "labels": [jnp.asarray(y.numpy())]}
    module = net()
    step = epl.torch.parallelize(module, weighed, sgd(module), batch=("data", "extra"), devices=2)
    scale, extra = torch.ones(3), torch.ones(8)
    with torch.no_grad():
        expected = weighed(module, {"x": x, "labels": [y]}, scale, power=2, extra=extra)
    np.testing.assert_allclose(step(data, scale, power=2, extra=extra), expected, rtol=1e-5)
    text = step.lower(data, scale, power=2, extra=extra).as_text()
    assert "batch['data.labels.0']" in text
    assert "batch['extra']" in text
    assert "constant['scale']" in text


def test_another_batch_dimension() -> None:
    turned = lambda module, x, y: loss(module, x.T, y)  # noqa: E731
    x, y = batch()
    module = net()
    step = epl.torch.parallelize(module, turned, sgd(module), batch={"x": 1, "y": 0}, devices=2)
    with torch.no_grad():
        expected = loss(module, x, y)
    np.testing.assert_allclose(step(x.T, y), expected, rtol=1e-5)
    assert "f32[16, 8/data]" in step.lower(x.T, y).as_text("global")


class Dropping(nn.Module):
    """Half of what it gets, doubled."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        with epl.replicate():
            return F.dropout(x, 0.5, self.training) * self.scale


def dropped(module: nn.Module, x: torch.Tensor) -> Any:
    kept = module(x)
    return kept.mean(), kept


def test_dropout_is_seeded_and_drawn_anew() -> None:
    x = torch.ones(64, 64)

    def masks(seed: int, devices: int) -> list[torch.Tensor]:
        module = Dropping()
        step = epl.torch.parallelize(module, dropped, sgd(module), seed=seed, devices=devices)
        return [step(x)[1] for _ in range(2)]

    first, second = masks(0, 2)
    assert set((first != 0).flatten().tolist()) == {True, False}
    assert 0.45 < (first != 0).float().mean() < 0.55
    assert first[first != 0].unique().numel() == 1
    assert not torch.equal(first != 0, second != 0)
    again = masks(0, 1)
    assert torch.equal(first != 0, again[0] != 0)
    assert torch.equal(second != 0, again[1] != 0)
    assert not torch.equal(first != 0, masks(1, 2)[0] != 0)


def test_evaluation_drops_nothing() -> None:
    module = Dropping()
    step = epl.torch.parallelize(module, dropped, sgd(module), devices=2)
    assert torch.equal(step.evaluate(torch.ones(8, 8))[1], torch.ones(8, 8))


def test_a_checkpoint_goes_on_where_it_was_written() -> None:
    def begin() -> tuple[Net, torch.optim.Optimizer, epl.torch.Step]:
        module = net(lambda net, x: net.b(F.dropout(net.a(x), 0.5, net.training)))
        optimizer = torch.optim.Adam(module.parameters(), 0.01)
        return module, optimizer, epl.torch.parallelize(module, loss, optimizer, devices=2)

    _, _, step = begin()
    data = batch()
    step(*data)
    file = io.BytesIO()
    torch.save(step.state_dict(), file)
    expected = [step(*data) for _ in range(3)]
    file.seek(0)
    module, optimizer, other = begin()
    other.load_state_dict(torch.load(file))
    assert optimizer.state_dict()["state"][0]["step"] == 1
    assert torch.equal(module.a.weight, other.state_dict()["module"]["a.weight"])
    assert [other(*data) for _ in range(3)] == expected
    assert_same_state(other.state_dict()["module"], step.state_dict()["module"], 0)


def test_a_state_goes_to_torch_and_back() -> None:
    ours, data = net(), batch()
    theirs = copy.deepcopy(ours)
    make = lambda module: torch.optim.Adam(module.parameters(), 0.01, amsgrad=True)  # noqa: E731
    optimizers = make(ours), make(theirs)
    step = epl.torch.parallelize(ours, loss, optimizers[0], devices=2)
    for _ in range(2):
        step(*data)
        eager(theirs, loss, optimizers[1], *data)
    step.write_back()
    assert_same_state(ours.state_dict(), theirs.state_dict())
    for module, optimizer in zip((ours, theirs), optimizers, strict=True):
        eager(module, loss, optimizer, *data)  # torch goes on
    step.read_module()
    for _ in range(2):
        step(*data)
        eager(theirs, loss, optimizers[1], *data)
    assert_same_state(step.state_dict()["module"], theirs.state_dict())


def test_split_devices_share_parameters() -> None:
    module = net(scope=lambda: epl.split(device_count=2, dims={"a/weight": 0}))
    step = epl.torch.parallelize(module, loss, sgd(module), devices=2)
    step(*batch())
    lowered = step.lower(*batch())
    assert "f32[16/model, 16]" in lowered.as_text("global")
    assert "a" in lowered.explain()
    step.check(*batch())


def test_the_same_program_serves_all_calls(caplog: pytest.LogCaptureFixture) -> None:
    module = net()
    step = epl.torch.parallelize(module, loss, sgd(module), devices=2)
    with caplog.at_level(logging.DEBUG, "epl"):
        for _ in range(3):
            step(*batch())
    assert [record.message for record in caplog.records if record.name == "epl"] == ["Net: first call"]


def test_a_scope_inside_a_checkpoint_is_entered_once() -> None:
    class Recomputed(Net):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return checkpoint(super().forward, x, use_reentrant=False)

    torch.manual_seed(0)
    step = assert_trains_as_torch(Recomputed(plain), loss, *batch())
    listing = step.lower(*batch()).as_text("global")
    assert "devices: data 2" in listing
    assert listing.count("scope tg") == 1


def test_scopes_of_two_halves_have_devices_of_their_own() -> None:
    class Halves(Net):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            with epl.replicate(name="first"):
                h = F.relu(self.a(x))
            with epl.replicate(name="second"):
                return self.b(h)

    torch.manual_seed(0)
    step = assert_trains_as_torch(Halves(plain), loss, *batch())
    local = step.lower(*batch()).as_text("local")
    assert "@mesh1" in local


def test_scopes_do_not_nest() -> None:
    def inner(net: Net, x: torch.Tensor) -> torch.Tensor:
        with epl.split(device_count=2):
            return plain(net, x)

    module = net(inner)
    with pytest.raises(epl.ScopeError, match="scopes do not nest, leave the outer one first"):
        epl.torch.parallelize(module, loss, sgd(module), devices=2)(*batch())


def test_lines_are_those_of_the_model() -> None:
    module = net()
    step = epl.torch.parallelize(module, loss, sgd(module), devices=2)
    listing = step.lower(*batch()).as_text("global")
    line = plain.__code__.co_firstlineno + 1
    forward, _, backward = listing.partition("tg0.backward")
    assert f"torch_steps.py:{line}" in forward
    assert f"torch_steps.py:{line}" in backward
    assert "site-packages/torch" not in listing


@pytest.mark.parametrize("scope", [epl.replicate, lambda: epl.split(device_count=2)])
def test_what_is_made_at_compile_time_is_correct(scope: Any) -> None:
    module = net(scope=scope)
    step = epl.torch.parallelize(module, loss, torch.optim.AdamW(module.parameters(), 0.01), devices=2)
    step.check(*batch())
