"""Wrong calls of a beginner: the error says what to do, and that works."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import epl
from epl.config_keys import KEYS
from steps import Mistake, assert_near, assert_what_the_error_says_works

S, X = jnp.zeros(3), np.ones((4, 3), np.float32)


def step(state: Any, x: Any, rate: Any = 1) -> Any:
    return state + x.sum() * rate, x.sum()


def run(function: Callable[..., Any] = step, *arguments: Any, **options: Any) -> Any:
    """A step on two devices, compared with `jax.jit`."""
    options = {"state": "state", "batch": "x", "devices": 2, **options}
    found = epl.parallelize(function, **options)(*arguments)
    static = options.get("static_argnames", ())
    assert_near(found, jax.jit(function, static_argnames=static)(*arguments), 1e-5)
    return found


def whole(*scopes: Any) -> Callable[..., Any]:
    def scoped(state: Any, x: Any) -> Any:
        for scope in scopes:
            with scope:
                x = x * 2
        return state + x.sum(), x.sum()

    return scoped


def with_tree(tree: Any) -> Any:
    """A state that comes back as it is."""
    return run(lambda state, x: (state, x.sum()), tree, X)


def enter(scope: Any) -> None:
    with scope:
        pass


MISTAKES: list[Mistake] = [
    (
        "a scope that is not called",
        lambda: run(whole(epl.replicate), S, X),
        r"`with epl.replicate:` enters no scope: call it, `with epl.replicate\(\):`",
        lambda: run(whole(epl.replicate()), S, X),
    ),
    (
        "a split that is not called, outside of a step",
        lambda: enter(epl.split),
        r"`with epl.split:` enters no scope: call it, `with epl.split\(\):`",
        lambda: enter(epl.split()),
    ),
    (
        "a decorator that is not called",
        lambda: epl.replicate(step),
        r"device_count of epl.replicate must be an integer, .*: decorate with @epl.replicate\(\)",
        lambda: run(epl.replicate()(step), S, X),
    ),
    (
        "a name in the place of the count",
        lambda: epl.replicate("encoder"),
        r"must be an integer, found 'encoder': write epl.replicate\(name=\"encoder\"\)",
        lambda: run(whole(epl.replicate(name="encoder")), S, X),
    ),
    (
        "a count as a string",
        lambda: epl.split("2"),
        r"must be an integer, found '2': write epl.split\(2\)",
        lambda: run(whole(epl.split(2)), S, X),
    ),
    (
        "a default that is not called",
        lambda: epl.set_default_strategy(epl.replicate),
        r"must be epl.replicate\(...\) or None, found epl.replicate: call it",
        lambda: epl.set_default_strategy(epl.replicate()),
    ),
    (
        "settings in the place of devices",
        lambda: epl.init({"zero.level": "v1"}),
        r"found \{'zero.level': 'v1'\}: write config=\{'zero.level': 'v1'\}",
        lambda: epl.init(config={"zero.level": "v1"}),
    ),
    (
        "a level of ZeRO as a number",
        lambda: epl.Config({"zero.level": 3}),
        '"zero.level" must be one of "", "v0", "v1", "v2", "v3", found 3, did you mean "v3"',
        lambda: epl.Config({"zero.level": "v3"}),
    ),
    (
        "a boolean as a string",
        lambda: epl.Config({"split.sequence_parallel": "true"}),
        "\"split.sequence_parallel\" must be True or False, found 'true'",
        lambda: epl.Config({"split.sequence_parallel": True}),
    ),
    (
        "a setting under its name in the environment",
        lambda: epl.Config({"EPL_ZERO_LEVEL": "v1"}),
        'unknown configuration key "EPL_ZERO_LEVEL", did you mean "zero.level"',
        lambda: epl.Config({"zero.level": "v1"}),
    ),
    (
        "several names in one string",
        lambda: run(batch="state, x", state=()),
        r"batch names 'state, x', but step has the parameters \(state, x, rate\): write \('state', 'x'\)",
        lambda: run(lambda state, x: state.sum() + x.sum(), np.ones(4), X, state=(), batch=("state", "x")),
    ),
    (
        "a name in other letters",
        lambda: run(batch="X"),
        r'batch names \'X\', but step has .*, did you mean "x"\?',
        lambda: run(step, S, X),
    ),
    (
        "a name that is almost one",
        lambda: run(state="sate"),
        r'state names \'sate\', but step has .*, did you mean "state"\?',
        lambda: run(step, S, X),
    ),
    (
        "axes of another tree",
        lambda: run(step, S, X, batch={"x": {"a": 0}}),
        r'axes of batch argument "x" are no prefix of its tree: expected an axis, or axes as in PyTreeDef',
        lambda: run(step, S, X, batch={"x": 0}),
    ),
    (
        "lists for arrays",
        lambda: run(step, S, [[1.0, 2.0], [3.0, 4.0]]),
        r'"x\[0\]\[0\]" is a batch along axis 0, .*: make lists arrays with np.asarray',
        lambda: run(step, S, np.asarray([[1.0, 2.0], [3.0, 4.0]], np.float32)),
    ),
    (
        "a number among batches",
        lambda: run(step, S, X, 2.0, batch=("x", "rate")),
        r'"rate" is a batch .*; what all devices have whole gets None as its axis, or is no batch',
        lambda: [run(step, S, X, 2.0, batch={"x": 0, "rate": None}), run(step, S, X, 2.0)],
    ),
    (
        "a list as a static value",
        lambda: run(lambda state, x, sizes: step(state, x, len(sizes)), S, X, [1], static_argnames="sizes"),
        'static argument "sizes" must be hashable, found list: make it a tuple',
        lambda: run(lambda state, x, sizes: step(state, x, len(sizes)), S, X, (1,), static_argnames="sizes"),
    ),
    (
        "an array as a static value",
        lambda: run(step, S, X, np.ones(3), static_argnames="rate"),
        'static argument "rate" must be hashable, found ndarray: make it no static argument',
        lambda: run(step, S, X, np.ones(3, np.float32)),
    ),
    (
        "a function in a state",
        lambda: with_tree({"act": jnp.tanh, "w": S}),
        r"\"state\['act'\]\" must be an array, found \w+: .*out of a tree of arrays take it",
        lambda: with_tree({"w": S}),
    ),
    (
        "a string in a state",
        lambda: with_tree([S, {"kind": "relu"}]),
        r"\"state\[1\]\['kind'\]\" must be an array, found str",
        lambda: with_tree([S, {}]),
    ),
    (
        "a string that is part of the program",
        lambda: run(lambda state, x, mode: step(state, x, len(mode)), S, X, "train"),
        '"mode" must be an array, found str: name it in static_argnames if it is part of the program',
        lambda: run(lambda state, x, mode: step(state, x, len(mode)), S, X, "train", static_argnames="mode"),
    ),
    (
        "an axis in the place of a dimension",
        lambda: run(lambda state, x: step(state, epl.constrain(x, {"data": 0})), S, X),
        r"constrain names dimension 'data' of f32\[4,3\], which has 2 dimensions: write \{0: 'data'\}",
        lambda: run(lambda state, x: step(state, epl.constrain(x, {0: "data"})), S, X),
    ),
    (
        "an axis alone",
        lambda: run(lambda state, x: step(state, epl.constrain(x, "model")), S, X),
        r"constrain takes a dict from dimensions to axes such as \{1: \"model\"\}, found 'model'",
        lambda: run(lambda state, x: step(state, epl.constrain(x, {0: ("data",)})), S, X),
    ),
]


@pytest.mark.parametrize("case", MISTAKES, ids=[name for name, *_ in MISTAKES])
def test_what_the_error_says_works(case: Mistake) -> None:
    assert_what_the_error_says_works(case)


@pytest.mark.parametrize("devices", ["cpu: 2", "CPU:2", " Cpu : 2 ", np.int64(2), "2"])
def test_devices_however_they_are_written(devices: Any) -> None:
    epl.init(devices)
    parallel = epl.parallelize(step, state=0, batch=1)
    assert parallel.lower(S, X).compile().layout == "cpu:2 = data 2"


def test_integers_of_numpy_are_integers() -> None:
    two, first = np.int32(2), np.int64(0)
    run(whole(epl.split(two)), S, X, batch={np.int64(1): first}, state=first)
    run(lambda state, x: step(state, epl.constrain(x, {first: "data"})), S, X)


@pytest.mark.parametrize(
    ("state", "batch", "arguments"),
    [
        ((0, 1), (2,), 3),
        ((0, 1), (-1,), 3),
        ((1, 0), (2,), 4),
        ((-3, -2), (2,), 3),
        (0, (1, 2), 3),
    ],
)
def test_positions_of_a_variable_number_of_arguments(state: Any, batch: Any, arguments: int) -> None:
    """As in `jax.jit`; negative ones count from the end of the call's."""
    order = [state] if isinstance(state, int) else [position % arguments for position in state]

    def wrapped(*args: Any) -> Any:
        with epl.replicate():
            total = sum(arg.sum() for arg in args)
            return (*(args[position] + total for position in order), total)

    given = [S, S + 1, X, 2 * X][:arguments]
    if batch == (1, 2):
        given = [S, X, 2 * X]
    parallel = epl.parallelize(wrapped, state=state, batch=batch, devices=2)
    assert_near(parallel(*given), jax.jit(wrapped)(*given), 1e-5)
    roles = {a.name: a.role for a in parallel.lower(*given).arguments}
    assert list(roles.values()).count("batch") == len(batch)


def test_names_of_keyword_arguments_that_a_wrapper_passes_on() -> None:
    def wrapped(*args: Any, **named: Any) -> Any:
        return step(*args, **named)

    parallel = epl.parallelize(wrapped, state=0, batch="x", devices=2)
    assert_near(parallel(S, x=X, rate=3.0), jax.jit(wrapped)(S, x=X, rate=3.0), 1e-5)
    arguments = {a.name: a.role for a in parallel.lower(S, x=X, rate=3.0).arguments}
    assert arguments == {"args[0]": "state", "named['x']": "batch", "named['rate']": "constant"}
    with pytest.raises(epl.ArgumentError, match=r"called without \"named\['x'\]\", which state, batch or"):
        parallel(S, X)


def test_positions_that_a_call_does_not_give() -> None:
    parallel = epl.parallelize(lambda *args: args[0], state=0, batch=(2, -1), devices=2)
    with pytest.raises(epl.ArgumentError, match=r'called without "args\[2\]"'):
        parallel(S, X)
    with pytest.raises(
        epl.ArgumentError, match=r'argument "args\[2\]" of .* named twice .*: it is args\[-1\]'
    ):
        parallel(S, X, X)
    with pytest.raises(epl.ArgumentError, match=r'parameter "args" of .* is named twice'):
        epl.parallelize(lambda *args: args[0], state=0, batch="args")


def test_static_positions_of_a_variable_number() -> None:
    def wrapped(*args: Any) -> Any:
        return step(args[0], args[1] if args[2] == "all" else args[1][:1])

    parallel = epl.parallelize(wrapped, state=0, batch=1, static_argnames=2, devices=2)  # type: ignore[call-overload]
    for mode in ("all", "one"):
        assert_near(parallel(S, X, mode), wrapped(S, jnp.asarray(X), mode), 1e-5)


class Model:
    def __init__(self, rate: float) -> None:
        self.rate = rate

    def __call__(self, state: Any, x: Any) -> Any:
        return step(state, x, self.rate)

    def train(self, state: Any, x: Any) -> Any:
        return step(state, x, self.rate)


@pytest.mark.parametrize(
    "function",
    [
        Model(2.0),
        Model(2.0).train,
        functools.partial(step, rate=2.0),
        functools.partial(functools.partial(step), rate=2.0),
        lambda state, x: step(state, x, 2.0),
        jax.jit(functools.partial(step, rate=2.0)),
    ],
    ids=["object", "method", "partial", "partial of a partial", "lambda", "jit"],
)
@pytest.mark.parametrize("roles", [("state", "x"), (0, 1)])
def test_all_kinds_of_callables_have_names_and_positions(function: Any, roles: Any) -> None:
    parallel = epl.parallelize(function, state=roles[0], batch=roles[1], devices=2)
    assert_near(parallel(S, X), step(S, X, 2.0), 1e-5)
    assert_near(parallel(S, x=X), step(S, X, 2.0), 1e-5)


# A plan of another step.


def trained(params: Any, x: Any) -> Any:
    return {**params, "w": params["w"] - 1}, (x @ params["w"]).sum()


TABLE = np.random.default_rng(0).normal(size=(3, 600)).astype(np.float32)


def evaluated(params: Any, x: Any) -> Any:
    return (x @ params["w"]).sum()


@pytest.mark.parametrize(
    ("function", "options", "change", "message"),
    [
        (
            evaluated,
            {},
            lambda p, x: (p, x),
            r"expected \"p.*\['b'\]\" as constant, float32\[4\], found state",
        ),
        (
            trained,
            {"state": 0},
            lambda p, x: (p, x[:2]),
            r'"x" as batch, float32\[2, 3\], found batch, float32\[4',
        ),
        (trained, {"state": 0}, lambda p, x: ({"w": p["w"]}, x), r"expected arguments .*found \[.*\['b'\]"),
        (
            lambda params, x: (*trained(params, x), x.sum()),
            {"state": 0},
            lambda p, x: (p, x),
            r"expected results \[.*'result\[2\]'\], found",
        ),
        (
            lambda params, x: (params, x.sum(0)),
            {"state": 0},
            lambda p, x: (p, x),
            r'expected "result\[1\]" as result, float32\[3\], found result, float32\[\]: lower the step',
        ),
        (
            lambda params, x: (params, (x @ TABLE).sum()),
            {"state": 0},
            lambda p, x: (p, x),
            r"expected arguments \[.*'x', 'hidden\[0\]'\], found",
        ),
    ],
)
def test_a_plan_of_another_step_is_refused(
    function: Any, options: Any, change: Any, message: str, tmp_path: Path
) -> None:
    params = {"w": jnp.ones((3, 4)), "b": jnp.zeros(4)}
    lowered = epl.parallelize(trained, state=0, batch=1, devices=2).lower(params, X)
    lowered.compile().save(tmp_path / "step.eplan")
    other = epl.parallelize(function, **{"batch": 1, "devices": 2, **options}).lower(*change(params, X))
    with pytest.raises(epl.Error, match=f"the plan is not one of .*{message}"):
        epl.load(tmp_path / "step.eplan", like=other)
    again = epl.load(tmp_path / "step.eplan", like=lowered)
    assert_near(again(params, X), jax.jit(trained)(params, X), 1e-5)  # type: ignore[operator]


# Settings of EPL that mean nothing here.


def norm_is_clipped(state: Any, x: Any) -> Any:
    loss, gradient = jax.value_and_grad(lambda w: ((x @ w) ** 2).sum())(state)
    clipped, _ = optax.clip_by_global_norm(1.0).update(gradient, optax.EmptyState())
    return state - clipped, loss


def scaled_loss(state: Any, x: Any) -> Any:
    gradient = jax.grad(lambda w: 128 * ((x @ w) ** 2).mean())(state)
    return state - gradient / 128


def compare(x: Any) -> None:
    assert epl.parallelize(step, state=0, batch=1, devices=2).lower(S, x).compile().check(S, x).differences


INSTEAD: dict[str, tuple[object, str, Callable[[], Any]]] = {
    "communication.clip_after_allreduce": (
        True,
        "optax.clip_by_global_norm",
        lambda: run(norm_is_clipped, S + 1, X),
    ),
    "communication.gradients_reduce_method": (
        "sum",
        r"write loss.sum\(\) or loss.mean\(\)",
        lambda: [run(norm_is_clipped, S + 1, X), run(scaled_loss, S + 1, X)],
    ),
    "optimizer.num_apply_group": (4, "leave it out", lambda: run(norm_is_clipped, S + 1, X)),
}


def test_every_setting_without_a_meaning_has_something_instead() -> None:
    assert set(INSTEAD) == {name for name, key in KEYS.items() if key.instead}


@pytest.mark.parametrize("key", INSTEAD)
def test_what_is_said_instead_of_a_setting_works(key: str) -> None:
    value, message, instead = INSTEAD[key]
    with pytest.raises(epl.ConfigError, match=rf"EPL's, not here: \"{key}\" must be .*{message}"):
        epl.Config({key: value})  # type: ignore[dict-item]
    instead()


def test_cards_are_chosen_where_there_are_some() -> None:
    with pytest.raises(
        epl.ConfigError, match=r'chooses among cards, found devices "cpu:4", which are CPUs: .*"cpu:2"'
    ):
        epl.init("cpu:4", {"cluster.run_visible_devices": "0,1"})
    epl.init(devices="cpu:2")


def test_states_are_shared_where_they_are_in_the_host_anyway() -> None:
    with pytest.raises(
        epl.ConfigError, match=r'found devices "cpu:4".* share states among them with "zero.level"'
    ):
        epl.init("cpu:4", {"offload.level": "v0"})
    run(norm_is_clipped, jnp.ones(3), X, config={"zero.level": "v3"})


def test_a_scaled_loss_works() -> None:
    with pytest.raises(epl.ConfigError, match="multiply the loss in the step and divide its gradients"):
        epl.Config({"amp.loss_scale": 128})
    run(scaled_loss, S + 1, X)


def test_later_and_never_are_one_error(monkeypatch: pytest.MonkeyPatch) -> None:
    key = dataclasses.replace(KEYS["communication.fuse"], has_effect=False)
    monkeypatch.setitem(KEYS, "communication.fuse", key)
    with pytest.raises(epl.ConfigError) as error:
        epl.Config({"communication.fuse": False, "optimizer.num_apply_group": 4})
    assert str(error.value).startswith(
        'known, but without effect in this version: "communication.fuse"; EPL\'s, not here: "optimizer.num_'
    )


def test_a_variable_that_begins_like_a_setting_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EPL_ZERO_LEVL", "v1")
    with pytest.raises(epl.ConfigError) as error:
        epl.Config()
    assert str(error.value) == (
        'EPL_ZERO_LEVL in the environment is no setting, did you mean "EPL_ZERO_LEVEL"?: '
        "unset it or rename it"
    )
    monkeypatch.delenv("EPL_ZERO_LEVL")
    monkeypatch.setenv("EPL_ZERO_LEVEL", " V1 ")
    assert epl.Config()["zero.level"] == "v1"


@pytest.mark.parametrize("scoped", [True, False])
def test_a_constant_that_dims_name_is_no_state(scoped: bool) -> None:
    def evaluate(w: Any, x: Any) -> Any:
        with epl.split(2, dims={"w": 1} if scoped else None):
            return x @ (w if scoped else epl.constrain(w, {1: "model"}))

    weights = jnp.ones((3, 4))
    parallel = epl.parallelize(evaluate, batch="x", devices=2)
    if not scoped:
        assert_near(parallel(weights, X), jax.jit(evaluate)(weights, X), 1e-5)
        assert "[3, 4/model]" in parallel.lower(weights, X).as_text("global")
        return
    with pytest.raises(epl.CompileError) as error:
        parallel(weights, X)
    assert 'argument "w" is no state, and parameters are states: name it in "state", or constrain it' in str(
        error.value
    )
    updated = epl.parallelize(lambda w, x: (w, evaluate(w, x)), state="w", batch="x", devices=2)
    assert_near(updated(weights, X)[1], jax.jit(evaluate)(weights, X), 1e-5)
