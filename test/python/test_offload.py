"""States in memory of the host (`offload.level`), on the stand-in of a GPU.

A step with and without it has the same bits, whatever else the configuration says, and the same checkpoints.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import epl
from test_cuda import NIGHTLY, PLUGIN, run_on

pytestmark = pytest.mark.skipif(not PLUGIN.exists(), reason="built without CUDA's headers")

BEGIN = """
import functools, importlib, json, sys
import jax, jax.numpy as jnp, numpy as np, optax, epl

V0 = {"offload.level": "v0"}
random = np.random.default_rng(0)

def draw(*shape):
    return random.standard_normal(shape).astype(np.float32)

def on_card(plan):
    return plan.arena_bytes + plan.state_bytes - plan.host_bytes

def bits(tree):
    is_key = lambda x: jnp.issubdtype(x.dtype, jax.dtypes.prng_key)
    return [np.asarray(jax.random.key_data(x) if is_key(x) else x) for x in jax.tree.leaves(tree)]

def expect_equal(one, other):
    assert all((a == b).all() for a, b in zip(bits(one), bits(other), strict=True))

sizes = [16] * 5
params = [{"w": draw(a, b) / 4, "b": draw(b) / 4} for a, b in zip(sizes, sizes[1:])]
adam = optax.adam(1e-2)
opt = adam.init(params)
x, y = draw(8, 16), draw(8, 16)

def predict(params, x):
    for layer in params[:-1]:
        x = jax.nn.relu(x @ layer["w"] + layer["b"])
    return x @ params[-1]["w"] + params[-1]["b"]

def mlp(params, opt, x, y, scope=epl.replicate):
    def loss(params):
        with scope():
            return ((predict(params, x) - y) ** 2).mean()
    value, gradients = jax.value_and_grad(loss)(params)
    updates, opt = adam.update(gradients, opt, params)
    return optax.apply_updates(params, updates), opt, value

def parallel(devices, config={}, step=mlp):
    return epl.parallelize(step, state=("params", "opt"), batch=("x", "y"), devices=devices, config=config)
"""

TRAIN = """
def runs(step, state, batches, split):
    losses = []
    for batch in batches:
        *state, loss = step(*state, *batch) if split else step(state[0], *batch)
        losses.append(float(loss))
    return state, losses

def compare(make, state, batches, split):
    compiled = [make(config).lower(*state, *batches[0]).compile().plan for config in ({}, V0)]
    assert compiled[0].host_bytes == 0
    assert compiled[1].state_bytes == compiled[0].state_bytes
    assert compiled[1].state_bytes - compiled[1].host_bytes <= 64, "numbers"
    print(on_card(compiled[0]), on_card(compiled[1]))
    assert on_card(compiled[1]) < on_card(compiled[0])
    (expected, losses), (found, own) = [runs(make(config), state, batches, split) for config in ({}, V0)]
    assert losses == own, (losses, own)
    expect_equal(expected, found)
"""

MLP = """
compare(lambda config: parallel({devices!r}, {config} | config), (params, opt), [(x, y)] * 4, True)
"""

MODEL = """
model = importlib.import_module("models.{name}").build()
batches = [(model.batch(random),) for _ in range(3)]
make = lambda config: epl.parallelize(
    model.steps[0], state="state", batch=1, devices={devices!r}, config={config} | config)
compare(make, (model.state,), batches, False)
"""


@pytest.mark.parametrize(
    ("devices", "config"),
    [
        ("cuda:0", {}),
        ("cuda:0x2", {}),
        ("cuda:0-1", {"zero.level": "v1", "pipeline.num_micro_batch": 2}),
        ("cuda:0x2", {"zero.level": "v3"}),
        ("cuda:0x2", {"zero.owner": "parameter"}),
        ("cuda:0", {"cluster.sequential": True}),
        ("cuda:0", {"gradient_checkpoint.type": "auto"}),
    ],
)
def test_a_perceptron_has_the_same_bits(devices: str, config: dict[str, object], tmp_path: Path) -> None:
    run_on(2, BEGIN + TRAIN + MLP.format(devices=devices, config=config), tmp_path)


@pytest.mark.parametrize(
    ("name", "devices", "config"),
    [
        ("gpt", "cuda:0", {}),
        ("gpt", "cuda:0x2", {"zero.level": "v1"}),
        ("scanned", "cuda:0x2", {}),
        *(
            [
                (name, devices, {})
                for name in ("vit", "moe_top_k", "resnet", "lstm", "kfac", "translator")
                for devices in ("cuda:0", "cuda:0-1")
            ]
            if NIGHTLY
            else []
        ),
    ],
)
def test_models_have_the_same_bits(
    name: str, devices: str, config: dict[str, object], tmp_path: Path
) -> None:
    run_on(2, BEGIN + TRAIN + MODEL.format(name=name, devices=devices, config=config), tmp_path)


def test_stages_have_the_same_bits(tmp_path: Path) -> None:
    code = """
def step(params, opt, x, y):
    def loss(params):
        with epl.replicate(name="a"):
            h = jax.nn.relu(x @ params[0]["w"] + params[0]["b"])
            h = jax.nn.relu(h @ params[1]["w"] + params[1]["b"])
        with epl.replicate(name="b"):
            h = jax.nn.relu(h @ params[2]["w"] + params[2]["b"])
            return ((h @ params[3]["w"] + params[3]["b"] - y) ** 2).mean()
    value, gradients = jax.value_and_grad(loss)(params)
    updates, opt = adam.update(gradients, opt, params)
    return optax.apply_updates(params, updates), opt, value

config = {"pipeline.num_micro_batch": 4}
compare(lambda more: parallel("cuda:0x2", config | more, step), (params, opt), [(x, y)] * 3, True)
"""
    run_on(1, BEGIN + TRAIN + code, tmp_path)


def test_the_card_has_room_for_a_few_states_however_many_there_are(tmp_path: Path) -> None:
    code = """
def bytes_of(layers, config):
    params = [{"w": draw(64, 64), "b": draw(64)} for _ in range(layers)]
    def step(params, x):
        def loss(params):
            with epl.replicate():
                return (predict(params, x) ** 2).mean()
        return jax.tree.map(lambda p, g: p - g, params, jax.grad(loss)(params))
    own = epl.parallelize(step, state="params", batch="x", devices="cuda:0", config=config)
    return on_card(own.lower(params, draw(8, 64)).compile().plan)

layer = 64 * 64 * 4
more, offloaded = [bytes_of(12, config) - bytes_of(4, config) for config in ({}, V0)]
print(more / layer, offloaded / layer)
assert more >= 16 * layer, "a weight and its gradient for each layer"
assert offloaded <= 10 * layer, "a gradient for each layer, until the last one is there"
"""
    run_on(1, BEGIN + code, tmp_path)


def test_states_are_in_the_host(tmp_path: Path) -> None:
    code = """
step = parallel("cuda:0", V0)
first, moments, _ = step(params, opt, x, y)
w = first[0]["w"]
kept, value = np.asarray(w), np.array(w)
assert not kept.flags.owndata and not kept.flags.writeable, "a view"
assert {device.platform for device in w.devices()} == {"cpu"}
second, moments, _ = step(first, moments, x, y)
assert (kept == value).all() and (np.asarray(second[0]["w"]) != value).any()
third, moments, _ = step(second, moments, x, y)
assert (kept == value).all()
assert (np.from_dlpack(third[0]["w"]) == np.asarray(third[0]["w"])).all()
assert (jnp.asarray(third[0]["w"]) == np.asarray(third[0]["w"])).all()

# States of steps of another kind of memory, and of the same values twice.
plain = parallel("cuda:0")
a = plain(third, moments, x, y)
b = step(jax.tree.map(lambda s: s.copy(), a[0]), jax.tree.map(lambda s: s.copy(), a[1]), x, y)
expect_equal(plain(a[0], a[1], x, y)[:2], b[:2])
"""
    run_on(1, BEGIN + code, tmp_path)


def test_first_states_are_made_in_the_host(tmp_path: Path) -> None:
    code = """
from epl import initialize
plans, compile_init = [], initialize.load_or_compile
initialize.load_or_compile = lambda *args: plans.append(compile_init(*args)) or plans[-1]
sizes = [64] * 9

def make(key):
    keys = jax.random.split(key, 8)
    params = [{"w": jax.random.normal(k, (64, 64)), "b": jnp.ones(64)} for k in keys]
    return params, adam.init(params)

shapes = jax.eval_shape(make, jax.random.key(0))
x = y = draw(8, 64)
made = []
for config in ({}, V0):
    step = parallel("cuda:0x2", config)
    made.append(epl.init_state(make, jax.random.key(0), like=step.lower(*shapes, x, y)))
    platforms = {device.platform for device in made[-1][0][0]["w"].devices()}
    assert platforms == ({"cpu"} if config else {"gpu"}), platforms
    made.append(step(*made[-1], x, y))
expect_equal(made[1], made[3])
layer = 64 * 64 * 4
print(plans[0].arena_bytes, plans[1].arena_bytes)
assert plans[1].arena_bytes <= 4 * layer, "not eight weights and their moments"
"""
    run_on(1, BEGIN + code, tmp_path)


def test_checkpoints_go_to_steps_without(tmp_path: Path) -> None:
    code = """
folder = {folder!r}
expected = None
for before, after in (({{}}, {{}}), (V0, {{}}), ({{}}, V0), (V0, V0)):
    state, moments = params, opt
    saving, restoring = parallel("cuda:0x2", before), parallel("cuda:0x2", after)
    for _ in range(2):
        state, moments, _ = saving(state, moments, x, y)
    with epl.Checkpoints(f"{{folder}}/{{len(before)}}{{len(after)}}") as checkpoints:
        checkpoints.save(2, {{"params": state, "opt": moments}})
        state, moments, _ = saving(state, moments, x, y)  # while it is written
    with epl.Checkpoints(f"{{folder}}/{{len(before)}}{{len(after)}}") as checkpoints:
        found = checkpoints.restore({{"params": params, "opt": opt}})
    state, moments = found["params"], found["opt"]
    losses = []
    for _ in range(3):
        state, moments, loss = restoring(state, moments, x, y)
        losses.append(float(loss))
    expected = expected or (losses, bits((state, moments)))
    assert losses == expected[0], (before, after)
    assert all((a == b).all() for a, b in zip(bits((state, moments)), expected[1], strict=True))
"""
    run_on(1, BEGIN + code.format(folder=str(tmp_path)), tmp_path)


def test_timelines_and_waits_have_the_copies(tmp_path: Path) -> None:
    code = """
compiled = parallel("cuda:0", V0).lower(params, opt, x, y).compile()
with compiled.trace({file!r}):
    state = compiled(params, opt, x, y)
names = [event["name"] for event in json.load(open({file!r}))["traceEvents"] if event.get("ph") == "X"]
assert any(name.startswith("copy in params") for name in names), names
assert any(name.startswith("copy out opt") for name in names), names
"""
    file = str(tmp_path / "timeline.json")
    run_on(1, BEGIN + code.format(file=file), tmp_path)
    run_on(1, BEGIN + TRAIN + MLP.format(devices="cuda:0", config={}), tmp_path, EPL_CUDA_BLOCKING="1")


def test_on_cpus_it_is_an_error() -> None:
    message = (
        r'"offload.level" = "v0" keeps states in the memory of the host, found devices "cpu:2", which are '
        r'CPUs, whose memory that is: leave it out; to have each device keep less, .* "zero.level"'
    )
    with pytest.raises(epl.ConfigError, match=message):
        epl.init("cpu:2", {"offload.level": "v0"})
    with pytest.raises(epl.ConfigError, match=message):
        epl.parallelize(lambda x: x, devices="cpu:2", config={"offload.level": "v0"})
