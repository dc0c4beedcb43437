"""Layers of epl.fluid: what Paddle makes of the programs that they build, and what EPL does."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import jax
import numpy as np
import pytest

pytest.importorskip("paddle")

import epl
import epl.paddle
from epl.fluid import backward, initializer, layers, nets, optimizer
from epl.fluid import input as fluid_input
from epl.fluid.param_attr import ParamAttr
from fluid_programs import Built, X, building, close, feeds_of, paddle, static
from paddle_modules import FOLDER, module

_modules = [module("fluid_cases"), module("fluid_layer_cases")]
FEEDS = {family: feeds for each in _modules for family, feeds in each.FEEDS.items()}
CASES = {
    (family, name): case
    for each in _modules
    for family, cases in each.CASES.items()
    for name, case in cases.items()
}
UNTRAINED = _modules[1].UNTRAINED
NETS = module("fluid_nets").NETS
# Paddle says so of each operator whose second operand has a batch.
pytestmark = pytest.mark.filterwarnings("ignore:(?s).*has been unified with:DeprecationWarning")


@pytest.fixture
def built() -> Iterator[Built]:
    with building() as found:
        yield found


@pytest.mark.parametrize(("family", "name"), CASES)
def test_a_layer_gives_what_paddle_gives(built: Built, family: str, name: str) -> None:
    """Results and gradients, and parameters after a step."""
    feed, variables = feeds_of(FEEDS[family])
    case = CASES[family, name]
    made = case(*(variables[each] for each in inspect.signature(case).parameters))
    results = list(made) if isinstance(made, (list, tuple)) else [made]
    fetches = list(results)
    floats = [each for each in results if each.dtype == paddle.float32 and not each.stop_gradient]
    if floats and family not in UNTRAINED:
        loss = layers.sums([layers.reduce_mean(layers.square(layers.sigmoid(each))) for each in floats])
        optimizer.SGD(0.5).minimize(loss)
        names = [f"{variable}@GRAD" for variable in variables]
        fetches += [loss, *(built.main.global_block().var(each) for each in names if has(built, each))]
    state = built.begin()
    expected = built.by_paddle(feed, fetches)
    after, found = built.by_epl(state, feed, fetches)
    for variable, one, other in zip(fetches, found, expected, strict=True):
        close(one, other, variable.name)
        fits = zip(variable.shape, other.shape, strict=True)
        assert all(declared in (-1, extent) for declared, extent in fits), variable.name
    kept = built.values()
    for each, value in after.items():
        close(np.reshape(value, kept[each].shape), kept[each], each)


def has(built: Built, name: str) -> bool:
    return bool(built.main.global_block().has_var(name))


@pytest.mark.parametrize("name", NETS)
def test_a_stored_net_is_what_is_built(built: Built, name: str) -> None:
    make, make_optimizer, feeds = NETS[name]
    variables = []
    for key, shape in feeds.items():
        is_integer = isinstance(shape[-1], tuple)
        extents, dtype = (shape[:-1], shape[-1][0]) if is_integer else (shape, "float32")
        variables.append(fluid_input.data(key, [None, *extents[1:]], dtype))
    loss = make(*variables)
    make_optimizer().minimize(loss)
    stored = epl.paddle.load(FOLDER / "training" / f"fluid_{name}.program")
    program = epl.paddle.load(built.main)
    assert [op.kind for op in program.ops] == [op.kind for op in stored.ops]
    assert program.variables == stored.variables


def test_an_op_has_the_line_of_the_user(built: Built) -> None:
    x = layers.data("x", [3])
    line = inspect.currentframe().f_lineno + 1  # type: ignore[union-attr]
    h = layers.fc(x, 2, act="relu")
    loss = layers.mean(nets.glu(h))
    optimizer.Ftrl(0.1).minimize(loss)
    ops = epl.paddle.load(built.main).ops
    lines = {
        op.kind: op.place for op in ops if op.kind in ("mul", "relu", "split", "mean", "mul_grad", "ftrl")
    }
    assert {kind: place.line - line for kind, place in lines.items() if place} == {
        "mul": 0,
        "relu": 0,
        "split": 1,
        "mean": 1,
        "mul_grad": 0,
        "ftrl": 2,
    }
    assert {place.file for place in lines.values() if place} == {__file__}


def test_what_parameters_begin_with(built: Built) -> None:
    kinds = {
        "constant": initializer.Constant(0.5),
        "uniform": initializer.Uniform(-2.0, 1.0),
        "normal": initializer.NormalInitializer(1.0, 2.0),
        "truncated": initializer.TruncatedNormal(1.0, 2.0),
        "xavier": initializer.Xavier(),
        "msra": initializer.MSRA(uniform=False),
        "numbers": initializer.NumpyArrayInitializer(np.arange(3000, dtype="float32").reshape(30, 100)),
    }
    for name, kind in kinds.items():
        layers.create_parameter([30, 100], "float32", attr=ParamAttr(name, kind))
    startup = epl.paddle.load(built.startup)
    state, _ = startup.run({}, {}, (), key=jax.random.key(0))
    mine, theirs = ({name: np.asarray(each[name]) for name in kinds} for each in (state, built.begin()))
    for name in ("constant", "numbers"):
        assert np.array_equal(mine[name], theirs[name])
    for name in set(kinds) - {"numbers"}:
        assert abs(mine[name].mean() - theirs[name].mean()) < 0.15
        assert abs(mine[name].std() - theirs[name].std()) < 0.15 * max(theirs[name].std(), 0.1)
    for each in (mine, theirs):
        assert -2 <= each["uniform"].min() < each["uniform"].max() <= 1
        assert -3 <= each["truncated"].min() < each["truncated"].max() <= 5


def test_dropout_draws(built: Built) -> None:
    given = layers.data("x", [100])
    half, scaled = (
        layers.dropout(given, 0.25),
        layers.dropout(given, 0.25, dropout_implementation="upscale_in_train"),
    )
    feed = {"x": np.ones((50, 100), np.float32)}
    _, (a, b) = built.by_epl({}, feed, [half, scaled])
    assert abs(float(np.mean(a)) - 0.75) < 0.03
    assert abs(float(np.mean(b)) - 1) < 0.04
    test = static.default_main_program().clone(for_test=True)
    (a, b) = epl.paddle.load(test)({}, feed, [half.name, scaled.name])
    assert np.all(a == np.float32(0.75))
    assert np.all(b == 1)


def test_random_numbers(built: Built) -> None:
    given = layers.data("x", [3])
    drawn = [
        layers.uniform_random([40, 50], min=-2.0, max=1.0),
        layers.gaussian_random([40, 50], mean=1.0, std=2.0),
        given * layers.uniform_random([3]),
    ]
    _, (uniform, normal, product) = built.by_epl({}, {"x": np.zeros((4, 3), np.float32)}, drawn)
    assert uniform.shape == normal.shape == (40, 50)
    assert product.shape == (4, 3)
    assert -2 <= uniform.min() < uniform.max() <= 1
    assert abs(float(normal.mean()) - 1) < 0.2


def test_gradients_of_a_target(built: Built) -> None:
    given = layers.data("x", [3], stop_gradient=False)
    target = layers.square(given)
    (found,) = backward.gradients([target], [given])
    _, (value,) = built.by_epl({}, {"x": X}, [found])
    close(value, 2 * X)


def test_a_group_norm_has_the_gradient_of_an_instance_norm_of_as_many_groups(built: Built) -> None:
    """Paddle 2.6.2 leaves a term of group_norm's gradient out, and has it in instance_norm's."""
    given = layers.data("x", [4, 3, 3], stop_gradient=False)
    made = [layers.group_norm(given, 4), layers.instance_norm(given)]
    found = [backward.gradients([layers.sigmoid(each)], [given])[0] for each in made]
    feed = {"x": np.random.default_rng(0).normal(size=(2, 4, 3, 3)).astype("float32")}
    state = built.begin()
    _, expected = built.by_paddle(feed, found)
    _, values = built.by_epl(state, feed, found)
    for value in values:
        close(value, expected)


def test_a_variable_becomes_a_result(built: Built) -> None:
    given = layers.data("x", [3])
    kept = layers.create_tensor("float32", "kept", persistable=True)
    layers.assign(given * 2.0, kept)
    layers.sums([given, given], kept)
    less = layers.create_tensor("bool", "less")
    assert layers.less_than(given, layers.zeros([1], "float32"), cond=less) is less
    after, (found,) = built.by_epl({}, {"x": X}, [less])
    close(after["kept"], 2 * X)
    assert found.tolist() == [[False, True, False]]
