"""Mixed precision, `amp.level`: products of bf16 that add up in f32, on any devices, and what is said."""

from __future__ import annotations

import functools
import importlib
import re
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import epl
from models import cnn, gpt, mlp
from models.model import Model, integers
from models.model import trained as with_optimizer
from narrow import with_narrow_products
from steps import assert_near, numbers
from test_models import train

NAMES = ("mlp", "gpt", "cnn", "scanned")

# An operand that is rounded to 8 bits is off by 2^-9 at most, a product by 2^-8, and so is a sum of products
# of one sign. A rounding to one side or the other, where sums come in another order, is off by no more.
ROUNDING = 2**-8


def build(name: str) -> Model:
    model: Model = importlib.import_module(f"models.{name}").build()
    return model


def parallelize(step: Any, devices: int = 1, *, level: str = "o1", **more: Any) -> epl.Parallelized:
    config = {"amp.level": level, **more.pop("config", {})}
    return epl.parallelize(step, **{"state": 0, "batch": 1, "devices": devices, "config": config, **more})


def trained(model: Model, devices: int = 1, **more: Any) -> tuple[Any, list[float]]:
    return train(model, [parallelize(step, devices, **more) for step in model.steps])


@pytest.fixture(scope="module")
def on_one_device() -> Callable[[str], tuple[Any, list[float]]]:
    """The state and the losses of a model by its name: trained once, for all tests that compare with it."""
    return functools.cache(lambda name: trained(build(name)))


@pytest.mark.parametrize("name", NAMES)
def test_losses_are_near_those_of_f32_and_not_the_same(
    name: str, on_one_device: Callable[[str], tuple[Any, list[float]]]
) -> None:
    model = build(name)
    _, expected = train(model, [jax.jit(step) for step in model.steps])
    _, losses = on_one_device(name)
    np.testing.assert_allclose(losses, expected, rtol=ROUNDING)
    assert np.abs(np.array(losses) / expected - 1).max() > 1e-6


def gpt_without_clipping() -> Model:
    """A norm of all gradients, by which these are clipped, is added up in the order in which they lie."""
    network = gpt.GPT()
    params = network.init(jax.random.key(0), jnp.zeros((1, gpt.LENGTH), jnp.int32), train=False)

    def loss(params: Any, tokens: Any) -> jax.Array:
        with epl.replicate():
            rngs = {"dropout": jax.random.key(1)}
            logits = network.apply(params, tokens[:, :-1], train=True, rngs=rngs)
            return optax.softmax_cross_entropy_with_integer_labels(logits, tokens[:, 1:]).mean()

    return with_optimizer(
        loss, params, optax.sgd(0.1), lambda r: integers(r, gpt.VOCABULARY, 8, gpt.LENGTH + 1)
    )


@pytest.mark.parametrize("make", [mlp.build, gpt_without_clipping, cnn.build])
def test_bits_are_those_of_products_that_are_written_so(make: Callable[[], Model]) -> None:
    """By plain loops, which add up in one order; what libraries and fused kernels make is near."""
    model = make()
    batch = model.batch(np.random.default_rng(7))
    found = parallelize(model.steps[0]).lower(model.state, batch)
    written = parallelize(with_narrow_products(model.steps[0]), level="").lower(model.state, batch)
    leaves = jax.tree.leaves((model.state, batch))
    expected = written.compile_reference().call(leaves, donate=False)
    results = found.compile_reference().call(leaves, donate=False)
    for a, b in zip(jax.tree.leaves(results), jax.tree.leaves(expected), strict=True):
        np.testing.assert_array_equal(numbers(a), numbers(b))
    assert_near(found.compile()(model.state, batch), written.compile()(model.state, batch), 1e-4)


@pytest.mark.parametrize(
    "config",
    [
        {},
        {"zero.level": "v1"},
        {"zero.level": "v3"},
        {"pipeline.num_micro_batch": 4},
        {"pipeline.num_micro_batch": 2, "zero.level": "v2"},
    ],
)
@pytest.mark.parametrize("name", ["mlp", "gpt"])
def test_several_devices_compute_what_one_does(
    name: str, config: dict[str, Any], on_one_device: Callable[[str], tuple[Any, list[float]]]
) -> None:
    expected, expected_losses = on_one_device(name)
    found, losses = trained(build(name), 2, config=config)
    np.testing.assert_allclose(losses, expected_losses, rtol=ROUNDING)
    assert_near(found, expected, ROUNDING)


def stages(split: bool, count: int, devices: int, level: str) -> Any:
    """A perceptron in two scopes, with devices of their own or the second one split."""

    def step(ws: list[jax.Array], x: jax.Array) -> tuple[list[jax.Array], jax.Array]:
        def loss(ws: list[jax.Array]) -> jax.Array:
            with epl.replicate(name="body"):
                h = jax.nn.relu(x @ ws[0])
            with epl.split(2, name="head") if split else epl.replicate(name="head"):
                return ((jax.nn.tanh(h @ ws[1]) @ ws[2]) ** 2).mean()

        value, gradients = jax.value_and_grad(loss)(ws)
        return [w - 0.1 * g for w, g in zip(ws, gradients, strict=True)], value

    config = {"pipeline.num_micro_batch": count}
    return parallelize(step, devices, level=level, config=config)


def perceptron() -> tuple[list[jax.Array], jax.Array]:
    random = np.random.default_rng(0)
    shapes = ((16, 32), (32, 32), (32, 8))
    return [jnp.asarray(random.normal(0, 0.3, shape), "f") for shape in shapes], random.normal(
        size=(16, 16)
    ).astype("f")


@pytest.mark.parametrize(
    ("split", "count", "devices"), [(False, 1, 2), (False, 4, 2), (True, 1, 3), (True, 4, 6)]
)
def test_scopes_on_devices_of_their_own(split: bool, count: int, devices: int) -> None:
    ws, x = perceptron()
    step = stages(split, count, devices, "o1")
    found = step(ws, x)
    step.lower(ws, x).compile().check(ws, x, rtol=ROUNDING)
    expected = stages(split, 1, devices, "")(ws, x)
    assert_near(found, expected, ROUNDING)
    with pytest.raises(AssertionError):
        assert_near(found, expected, 1e-6)


def test_what_the_next_stage_multiplies_is_sent_in_16_bits() -> None:
    ws, x = perceptron()
    text = stages(False, 1, 2, "o1").lower(ws, x).as_text("local")
    sent = re.findall(r"epl\.channel = \d+ : i64.*?$", text, re.M)
    assert "tensor<16x32xbf16>" in "".join(re.findall(r"func\.func .*?\{$", text, re.M)), sent


@pytest.mark.parametrize(("name", "level", "count"), [("mlp", "o1", 3), ("mixed_precision", "", 2)])
def test_parameters_are_gathered_in_16_bits(name: str, level: str, count: int) -> None:
    """ZeRO v3: what is rounded of each is gathered, whoever rounds it."""
    model = build(name)
    step = parallelize(model.steps[0], 2, level=level, config={"zero.level": "v3"})
    text = step.lower(model.state, model.batch(np.random.default_rng(0))).as_text("local")
    causes = re.findall(r"epl\.all_gather.*?cause = \"([^\"]*)\"", text)
    moved = {part for cause in causes for part in cause.split(" + ")}
    assert len(moved) == count
    assert all(part.startswith("bf16[") for part in moved)


def test_the_reference_has_the_same_precision() -> None:
    model = build("gpt")
    batch = model.batch(np.random.default_rng(7))
    step = parallelize(model.steps[0], 2)
    step.lower(model.state, batch).compile().check(model.state, batch, rtol=ROUNDING)
    with pytest.raises(epl.CheckError):
        step.lower(model.state, batch).compile().check(model.state, batch, rtol=1e-12, atol=0)


def test_the_optimizer_stays_what_it_is() -> None:
    model = build("shampoo")
    text = parallelize(model.steps[0]).lower(model.state, model.batch(np.random.default_rng(0))).explain()
    assert "takes operands of bf16" in text
    assert "stays f32, as it applies gradients" in text


def test_a_step_without_a_batch_is_lowered() -> None:
    def step(w: Any, x: Any) -> Any:
        return w - jax.grad(lambda w: ((x @ w) ** 2).mean())(w)

    text = parallelize(step, batch=()).lower(jnp.ones((3, 2)), jnp.ones((4, 3))).explain()
    assert "takes operands of bf16 and adds up in f32; 2 like this" in text


def test_a_step_of_f64_is_not_changed() -> None:
    def step(w: Any, x: Any) -> Any:
        return w - jax.grad(lambda w: ((x @ w) ** 2).mean())(w)

    with jax.enable_x64(True):
        w, x = np.ones((3, 2)), np.random.default_rng(0).normal(size=(4, 3))
        np.testing.assert_array_equal(parallelize(step)(w, x), parallelize(step, level="")(w, x))


def lines_of(capsys: pytest.CaptureFixture[str], **config: Any) -> list[str]:
    model = build("mlp")
    options = {"state": 0, "batch": 1, "devices": 2, "config": config}
    epl.parallelize(model.steps[0], **options).lower(
        model.state, model.batch(np.random.default_rng(0))
    ).compile()
    return capsys.readouterr().err.splitlines()


def test_what_is_said_beside_the_layout(capsys: pytest.CaptureFixture[str]) -> None:
    said = "  amp o1: contractions take bf16 and add up in f32"
    reason = '; loss scale "dynamic" scales nothing, as bf16 has the range of f32'
    assert lines_of(capsys, **{"amp.level": "O1"}) == ["step: cpu:2 = data 2", said + reason]
    assert lines_of(capsys, **{"amp.level": "o1", "amp.loss_scale": 1}) == ["step: cpu:2 = data 2", said]
    assert lines_of(capsys) == ["step: cpu:2 = data 2"]
    assert lines_of(capsys, **{"amp.debug_log": True}) == [
        "step: cpu:2 = data 2",
        "  amp.debug_log: without amp.level nothing becomes 16 bits",
    ]


def test_debug_log_says_what_becomes_16_bits_and_what_stays(capsys: pytest.CaptureFixture[str]) -> None:
    _, _, *lines = lines_of(capsys, **{"amp.level": "o1", "amp.debug_log": True})
    place = re.compile(r"  .*test/models/mlp\.py:\d+: dot_general takes operands of bf16 and adds up in f32")
    assert sum(bool(place.match(line)) for line in lines) >= 2
    assert any(re.search(r"what is no contraction stays f32: .*\bexp 1\b", line) for line in lines)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        (
            "amp.loss_scale",
            128,
            '"amp.loss_scale" must be "dynamic" or 1, which both scale nothing, found 128: 16 bits are bf16 '
            "here, which has the range of f32, so that no gradient becomes zero; to scale all the same, "
            "multiply the loss in the step and divide its gradients",
        ),
        (
            "optimizer.num_apply_group",
            4,
            'EPL\'s, not here: "optimizer.num_apply_group" must be 1, found 4: updates of parameters share '
            "their work memory already: leave it out",
        ),
        ("amp.level", "o2", '"amp.level" must be one of "", "o1", found \'o2\''),
    ],
)
def test_settings_that_are_errors(key: str, value: Any, message: str) -> None:
    with pytest.raises(epl.ConfigError) as error:
        epl.Config({"amp.level": "o1", key: value})
    assert str(error.value) == message


def test_the_environment_sets_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EPL_AMP_LEVEL", "O1")
    monkeypatch.setenv("EPL_AMP_LOSS_SCALE", "Dynamic")
    assert epl.Config() == epl.Config({"amp.level": "o1"})
    monkeypatch.setenv("EPL_AMP_LOSS_SCALE", "128")
    with pytest.raises(epl.ConfigError, match=r'EPL_AMP_LOSS_SCALE in the environment must be "dynamic"'):
        epl.Config()
