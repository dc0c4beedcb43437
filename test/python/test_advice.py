"""What a user is told of a step that is right and not parallel, or compiled again and again; the remedies."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import epl
from steps import assert_near

W, X = jnp.asarray(np.random.default_rng(0).normal(size=(3, 4)), jnp.float32), np.ones((8, 3), np.float32)
COLOCATED = {"cluster.colocate_split_and_replicate": True}
HERE = Path(__file__).name

pytestmark = pytest.mark.filterwarnings("error")


def step(w: Any, x: Any) -> Any:
    return w - (x @ w).mean(), (x @ w).sum()


def line_of(function: Any, text: str) -> int:
    """The line of this file where a function has a text first."""
    code = Path(__file__).read_text().splitlines()
    start = int(function.__code__.co_firstlineno)
    return next(i + 1 for i in range(start - 1, len(code)) if text in code[i])


def check(function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """Runs a step without a warning and compares it with `jax.jit`; its layout."""
    parallel = epl.parallelize(function, state=0, **{"batch": 1, "devices": 2, **options})
    assert_near(parallel(*arguments), jax.jit(function)(*arguments), 1e-5)
    return parallel.lower(*arguments).compile().layout


def test_no_batch_is_a_warning_at_the_step() -> None:
    parallel = epl.parallelize(step, state=0, devices=2)
    with pytest.warns(epl.NotParallelWarning) as warned:
        parallel(W, X)
    assert [(Path(each.filename).name, each.lineno) for each in warned] == [(HERE, line_of(step, "def step"))]
    assert str(warned[0].message) == (
        "step has no batch, so that devices along data do the same work (cpu:2 = data 2): name the arguments "
        'that hold samples, batch=("x",), or have the devices share what the step makes itself, '
        'epl.constrain(x, {0: "data"})'
    )
    parallel(W, X)  # once


def test_a_step_of_states_alone_has_nothing_to_name() -> None:
    def step(w: Any) -> Any:
        with epl.replicate():
            return w * 2, w.sum()

    with pytest.warns(epl.NotParallelWarning, match=r"\(cpu:2 = data 2\): have the devices share what"):
        epl.parallelize(step, state="w", devices=2)(jnp.ones(4))

    def shared(w: Any) -> Any:
        with epl.replicate():
            w = epl.constrain(w, {0: "data"})
            return w * 2, w.sum()

    check(shared, jnp.ones(4), batch=())


def test_the_remedies_for_no_batch() -> None:
    check(step, W, X, batch=("x",))

    def draws(w: Any, key: Any) -> Any:
        x = epl.constrain(jax.random.normal(key, (8, 3)), {0: "data"})
        return step(w, x)

    check(draws, W, jax.random.key(0), batch=())
    listing = epl.parallelize(draws, state=0, devices=2).lower(W, jax.random.key(0)).as_text("global")
    assert "f32[8/data, 3]" in listing


@pytest.mark.parametrize(
    ("devices", "scope"), [(1, epl.replicate), (2, lambda: epl.split(2)), (3, lambda: epl.split(3))]
)
def test_a_step_whose_devices_share_something_else_needs_no_batch(devices: int, scope: Any) -> None:
    def split(w: Any, x: Any) -> Any:
        with scope():
            return step(w, x)

    check(split, jnp.ones((3, 6)), X, batch=(), devices=devices)


def test_replicas_of_a_split_without_a_batch_are_a_warning() -> None:
    def split(w: Any, x: Any) -> Any:
        with epl.split(2):
            return step(w, x)

    with pytest.warns(epl.NotParallelWarning, match=r"no batch.*cpu:4 = data 2, model 2"):
        epl.parallelize(split, state=0, devices=4)(W, X)


def test_an_axis_of_none_is_no_batch() -> None:
    with pytest.warns(epl.NotParallelWarning, match="no batch"):
        epl.parallelize(step, state=0, batch={"x": None}, devices=2)(W, X)


def test_the_warning_comes_with_a_plan_from_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EPL_CACHE_DIR", str(tmp_path))
    for _ in range(2):
        with pytest.warns(epl.NotParallelWarning, match="no batch"):
            epl.parallelize(step, state=0, devices=2)(W, X)


def test_a_scope_round_the_call_is_a_warning_at_each_call() -> None:
    parallel = epl.parallelize(step, state=0, batch=1, devices=2)
    expected = parallel(W, X)

    def call() -> Any:
        with epl.split(2), epl.replicate():
            return parallel(W, X)

    for _ in range(2):
        with pytest.warns(epl.NotParallelWarning) as warned:
            found = call()
        assert_near(found, expected, 0)
        assert [(Path(w.filename).name, w.lineno) for w in warned] == [(HERE, line_of(call, "parallel(W"))]
        assert str(warned[0].message) == (
            "step is called inside epl.replicate(device_count=1), which is not for it: write the scope "
            "inside the step, round the operations that it is for"
        )
    with pytest.warns(epl.NotParallelWarning, match="called inside"), epl.split(2):
        parallel.lower(W, X)
    parallel(W, X)  # behind the scope


def test_a_loop_inside_of_a_scope_warns_once() -> None:
    parallel = epl.parallelize(step, state=0, batch=1, devices=2)
    compiled = parallel.lower(W, X).compile()
    for call in (parallel, compiled):
        with warnings.catch_warnings(record=True) as shown, epl.replicate():
            warnings.simplefilter("default")
            for _ in range(5):
                call(W, X)
        assert len(shown) == 1


def test_a_scope_that_an_error_leaves_is_closed() -> None:
    parallel = epl.parallelize(step, state=0, batch=1, devices=2)
    with pytest.raises(ZeroDivisionError), epl.replicate():
        _ = 1 / 0
    parallel(W, X)


def layers(*scopes: Callable[[], Any]) -> Callable[..., Any]:
    def stacked(w: Any, x: Any) -> Any:
        for scope in scopes:
            with scope():
                x = jnp.tanh(x @ w @ w.T)
        return w - x.mean(), x.sum()

    return stacked


def test_unnamed_stages_are_a_warning_at_the_second_one() -> None:
    def stages(w: Any, x: Any) -> Any:
        with epl.replicate():
            x = jnp.tanh(x @ w @ w.T)
        with epl.replicate(device_count=1):
            x = jnp.tanh(x @ w @ w.T)
        return w - x.mean(), x.sum()

    with pytest.warns(epl.NotParallelWarning) as warned:
        epl.parallelize(stages, state=0, batch=1, devices=2)(W, X)
    first, second = (line_of(stages, f"with epl.replicate({count})") for count in ("", "device_count=1"))
    assert [(Path(each.filename).name, each.lineno) for each in warned] == [(HERE, second)]
    assert str(warned[0].message) == (
        f"this epl.replicate of stages and that of {__file__}:{first} have devices of their own "
        "(cpu:2 = [data 1] + [data 1]), so that no device works on both: give them names if they are stages, "
        'epl.replicate(name="stage_0"), one name if they are one scope, or set '
        "cluster.colocate_split_and_replicate"
    )


def test_the_remedies_for_unnamed_stages() -> None:
    named = [functools.partial(epl.replicate, name=f"stage_{i}") for i in range(2)]
    assert check(layers(*named), W, X) == "cpu:2 = [data 1] + [data 1]"
    assert check(layers(named[0], named[0]), W, X) == "cpu:2 = data 2"
    assert check(layers(epl.replicate, epl.replicate), W, X, config=COLOCATED) == "cpu:2 = data 2"


def test_a_replicate_beside_a_split_is_no_mistake() -> None:
    check(layers(epl.replicate, lambda: epl.split(2)), W, X, devices=3)


@pytest.mark.parametrize(
    ("scopes", "devices", "config", "expected"),
    [
        (["replicate a", "replicate b"], 2, {}, "2 scopes, devices of their own: {a}, {b}; {share}"),
        (["replicate a", "split b"], 3, {}, "2 scopes, devices of their own: {a}, {b}; {share}"),
        (["replicate", "split"], 6, {}, "2 scopes, devices of their own: {r}, {s}; {share}"),
        (["replicate"] * 3, 2, {}, "3 scopes are one, since 2 devices are no multiple of 3: {r}"),
        (["replicate a"] * 2, 2, {}, ""),
        (["replicate", "split"], 4, COLOCATED, "2 scopes share the devices: {r}, {s}"),
        (["replicate"], 2, {}, ""),
        (["replicate a", "replicate b"], 1, {}, ""),
    ],
)
def test_the_layout_says_which_scopes_share_devices(
    scopes: list[str], devices: int, config: Any, expected: str, capfd: pytest.CaptureFixture[str]
) -> None:
    def make(scope: str) -> Any:
        kind, _, name = scope.partition(" ")
        return epl.split(2, name=name or None) if kind == "split" else epl.replicate(name=name or None)

    function = layers(*(functools.partial(make, scope) for scope in scopes))
    check(function, W, X, devices=devices, config=config)
    layout, *rest = capfd.readouterr().err.splitlines()
    place = f"({HERE}:{line_of(layers, 'with scope()')})"
    kinds = {"a": "replicate", "b": "split" if "split b" in scopes else "replicate"}
    texts = {name: f'{kind} "{name}" {place}' for name, kind in kinds.items()}
    texts |= {"r": f"replicate {place}", "s": f"split {place}"}
    texts["share"] = "`cluster.colocate_split_and_replicate` shares them"
    assert layout.startswith(f"stacked: cpu:{devices} = ")
    assert rest == ([f"  {expected.format(**texts)}"] if expected else [])


V = {
    "pipeline.num_micro_batch": 4,
    "pipeline.schedule": str(Path(__file__).parents[2] / "examples" / "schedules" / "zb-v-p2-m4.txt"),
}
IN_TURN = {"pipeline.num_stages": 2}
INTERLEAVED = {**IN_TURN, "pipeline.num_micro_batch": 2, "pipeline.strategy": "interleaved"}


@pytest.mark.parametrize("config", [V, IN_TURN, INTERLEAVED])
@pytest.mark.parametrize("named", [True, False])
def test_the_layout_says_that_meshes_have_several_stages(
    named: bool, config: dict[str, Any], capfd: pytest.CaptureFixture[str]
) -> None:
    names = [f"stage{index}" if named else None for index in range(4)]
    check(layers(*(functools.partial(epl.replicate, name=name) for name in names)), W, X, config=config)
    layout, advice = capfd.readouterr().err.splitlines()
    place = f"({HERE}:{line_of(layers, 'with scope()')})"
    listed = ", ".join(f'replicate "{name}" {place}' if name else f"replicate {place}" for name in names)
    assert layout.startswith("stacked: cpu:2 = [data 1] + [data 1]")
    assert advice == (
        f"  4 stages on 2 meshes: {listed}; `cluster.colocate_split_and_replicate` puts all on one"
    )


def test_the_layout_says_in_how_many_stages_a_scope_is_cut(capfd: pytest.CaptureFixture[str]) -> None:
    scopes = functools.partial(epl.auto_stages, 2, name="body"), functools.partial(epl.replicate, name="head")
    check(layers(*scopes), W, X, devices=3)
    place = f"({HERE}:{line_of(layers, 'with scope()')})"
    assert capfd.readouterr().err.splitlines()[1] == (
        f'  2 scopes, devices of their own: replicate "body" {place} in 2 stages, replicate "head" {place}; '
        "`cluster.colocate_split_and_replicate` shares them"
    )


def shapes(caplog: pytest.LogCaptureFixture, parallel: Any, calls: Any) -> list[str]:
    """What is said at INFO about compiling anew in calls."""
    with caplog.at_level("INFO", "epl"):
        for arguments in calls:
            parallel(*arguments)
    return [message for message in caplog.messages if "compiling anew" in message]


def double(x: Any, by: Any = 2.0) -> Any:
    return x * by


@pytest.mark.parametrize(
    ("calls", "options", "said", "remedy"),
    [
        (
            [(X[:n],) for n in (8, 6, 4, 2)],
            {},
            'double was compiled for "x" as float32[8, 3], found float32[6, 3]: compiling anew',
            "give it batches of one size, or set pad_batch=True",
        ),
        (
            [(X, np.ones((n, 3))) for n in (8, 1)] + [(X, np.ones(3)), (X, np.ones((1, 1)))],
            {},
            'double was compiled for "by" as float32[8, 3], found float32[1, 3]: compiling anew',
            "pad it to one shape",
        ),
        (
            [(X.astype(kind),) for kind in ("f4", "f2", "i4", "i2")],
            {},
            'double was compiled for "x" as float32[8, 3], found float16[8, 3]: compiling anew',
            "give it one type, x.astype(...)",
        ),
        (
            [(X, by) for by in range(4)],
            {"static_argnames": "by"},
            'double was compiled for "by" = 0, found 1: compiling anew',
            "each value is a program of its own: pass numbers as arrays, not in static_argnames",
        ),
        (
            [(X, by) for by in (2.0, np.float32(2), 2.0, np.float32(2))],
            {},
            'double was compiled for "by" with another weak type, as Python numbers have: compiling anew',
            None,  # both are known from then on
        ),
    ],
)
def test_a_recompile_says_why_and_the_third_one_warns(
    calls: Any, options: Any, said: str, remedy: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    parallel = epl.parallelize(double, **{"batch": "x", "devices": 2, **options})
    assert shapes(caplog, parallel, calls[:3])[0] == said
    if remedy is None:
        assert len(shapes(caplog, parallel, calls[3:])) == 1
        return
    with pytest.warns(epl.RecompileWarning) as warned:
        shapes(caplog, parallel, calls[3:])
    assert Path(warned[0].filename).name == HERE
    assert str(warned[0].message).endswith(f": compiling anew for the 3rd time: {remedy}")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        shapes(caplog, parallel, [calls[0]])  # known


def test_a_tree_of_another_form_is_said_by_name(caplog: pytest.LogCaptureFixture) -> None:
    def total(x: Any, extra: Any) -> Any:
        return x.sum() + sum(jax.tree.leaves(extra), 0.0)

    calls = [(X, {}), (X, {"a": 1.0}), (X, {"b": 1.0})]
    parallel = epl.parallelize(total, batch="x", devices=2)
    assert shapes(caplog, parallel, calls)[0] == (
        "total was compiled for arguments with \"extra\" as PyTreeDef({}), found PyTreeDef({'a': *}): "
        "compiling anew"
    )
    with pytest.warns(epl.RecompileWarning, match="give it the same tree in each call"):
        parallel(X, {"c": 1.0})


def test_other_settings_are_said(caplog: pytest.LogCaptureFixture) -> None:
    parallel = epl.parallelize(double, batch="x")
    said = []
    for devices in (2, 4, 1):
        epl.init(devices=devices)
        said += shapes(caplog, parallel, [(X,)])
        caplog.clear()
    assert len(said) == 2
    assert all("compiled for other settings: devices, configuration" in each for each in said)
    epl.init(devices=8)
    with pytest.warns(epl.RecompileWarning, match=r"give devices= and config= to epl.parallelize"):
        parallel(X)


def test_the_remedies_for_recompiling(caplog: pytest.LogCaptureFixture) -> None:
    def masked(x: Any, mask: Any) -> Any:
        return (x.sum(1) * mask).sum()

    assert not shapes(
        caplog,
        epl.parallelize(masked, batch="x", devices=2, pad_batch=True),
        [(X[:n],) for n in (8, 6, 4, 2, 5)],
    )
    numbers = epl.parallelize(double, batch="x", devices=2)
    assert not shapes(caplog, numbers, [(X, np.float32(by)) for by in range(5)])
    own = epl.parallelize(double, batch="x", devices=2, config={})
    for devices in range(1, 6):
        epl.init(devices=devices)
        assert not shapes(caplog, own, [(X,)])


def test_lowering_for_several_shapes_is_no_mistake(caplog: pytest.LogCaptureFixture) -> None:
    parallel = epl.parallelize(double, batch="x", devices=2)
    with caplog.at_level("INFO", "epl"):
        for size in (8, 6, 4, 2):
            parallel.lower(X[:size])
    assert not caplog.messages
