"""What a lowered and a compiled step can do: texts, checks, timelines, files."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import epl
from epl import stages
from steps import batches, exchanged, mlp_loss, mlp_parameters, training_step

X = np.arange(24, dtype=np.float32).reshape(6, 4)


def test_lower_takes_shapes_and_shares_the_plan(scaled: epl.Parallelized) -> None:
    lowered = scaled.lower(jax.ShapeDtypeStruct((), jnp.float32), jax.ShapeDtypeStruct(X.shape, jnp.float32))
    compiled = lowered.compile()
    assert compiled is lowered.compile()
    assert scaled.lower(1.0, X).compile() is compiled
    assert compiled.layout == compiled.plan.layout == "cpu:2 = data 2"
    state, total = compiled(1.0, X)
    assert (float(state), float(total)) == (2 + X.mean(), (X * X).sum())
    scaled(state, X)


def test_as_text_shows_every_stage(scaled: epl.Parallelized) -> None:
    lowered = scaled.lower(1.0, X)
    assert "epl.scopes" in lowered.as_text()
    assert "\ndevices: data 2\nscope tg0: replicate, 1 device" in lowered.as_text("global")
    assert "!epl.dist<" in lowered.as_text("local")
    assert "epl.kernel" in lowered.as_text("kernel")
    with pytest.raises(ValueError, match=r"stage must be one of input, .*, kernel, ptx, found 'plan'"):
        lowered.as_text("plan")


def test_as_text_shows_the_code_for_gpus(scaled: epl.Parallelized) -> None:
    assert ".visible .entry " in scaled.lower(1.0, X).with_devices("cuda:0x2").as_text("ptx")
    with pytest.raises(epl.ArgumentError, match='"ptx" is code for GPUs, found a step for devices "cpu:2"'):
        scaled.lower(1.0, X).as_text("ptx")


def mixed_loss(params: dict[str, jax.Array], x: jax.Array, y: jax.Array) -> jax.Array:
    """Computes in bf16 what it keeps in f32, so that gradients are bf16 before a cast."""
    return mlp_loss(jax.tree.map(lambda leaf: leaf.astype(jnp.bfloat16), params), x.astype(jnp.bfloat16), y)


@pytest.mark.parametrize(
    ("loss", "optimizer", "element"),
    [
        (mlp_loss, optax.sgd(0.1), "f32"),
        (mlp_loss, optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(1e-3)), "f32"),
        (mixed_loss, optax.sgd(0.1), "bf16"),
    ],
    ids=["sgd", "clipped adamw", "bf16"],
)
def test_two_devices_launch_what_one_does_and_sum_each_gradient_once(
    loss: Callable[..., jax.Array], optimizer: optax.GradientTransformation, element: str
) -> None:
    params = mlp_parameters()
    state, batch = (params, optimizer.init(params)), batches(1)[0]
    kernels = []
    for devices in (1, 2):
        step = epl.parallelize(training_step(optimizer, loss), state=(0, 1), batch=(2, 3), devices=devices)
        lowered = step.lower(*state, *batch)
        kernels.append(lowered.as_text("kernel").count("epl.launch"))
    sums = [tensor for tensor in exchanged(lowered.as_text("local"))["all_reduce"] if "x" in tensor]
    assert sorted(sums) == sorted("x".join([*map(str, leaf.shape), element]) for leaf in params.values())
    assert lowered.compile().plan.num_collectives == 1
    assert kernels[0] == kernels[1]


def test_a_compiled_step_takes_only_what_it_was_compiled_for(scaled: epl.Parallelized) -> None:
    compiled = scaled.lower(1.0, X).compile()
    with pytest.raises(TypeError, match=r'"x" as float32\[6, 4\], found float32\[4, 4\]'):
        compiled(1.0, X[:4])
    with pytest.raises(TypeError, match="was compiled for arguments"):
        compiled((1.0, 2.0), X)


def test_check_reports_the_largest_differences(scaled: epl.Parallelized) -> None:
    compiled = scaled.lower({"a": 1.0, "b": X}, X).compile()
    state = {"a": 1.0, "b": X}
    report = compiled.check(state, X)
    assert [difference.name for difference in report.differences] == ["state['a']", "state['b']", "result[1]"]
    assert all(difference.passes for difference in report.differences)
    kept, _ = compiled(state, X)
    compiled.check(kept, X)
    assert not kept["a"].is_deleted()


def test_check_refuses_a_wrong_plan(scaled: epl.Parallelized, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = scaled.lower(1.0, X).compile()
    wrong = epl.parallelize(
        lambda state, x: (state * 3, (x * x).sum()), state="state", devices=1, name="wrong"
    )
    monkeypatch.setattr(stages.Compiled, "_reference", wrong.lower(1.0, X).compile())
    with pytest.raises(
        epl.CheckError, match=r"scale differs from its reference .*\nstate: differs by .* beyond"
    ):
        compiled.check(1.0, X)


def test_trace_writes_a_timeline(scaled: epl.Parallelized, tmp_path: Path) -> None:
    compiled = scaled.lower(1.0, X).compile()
    with compiled.trace(tmp_path / "t.json"):
        for _ in range(3):
            scaled(1.0, X)
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    assert all({"ph", "ts", "pid", "tid", "name"} <= event.keys() for event in events)
    assert sum(event["name"].startswith("step ") for event in events) == 3
    scaled(1.0, X)


def test_a_timeline_shows_the_users_own_lines(tmp_path: Path) -> None:
    optimizer = optax.adam(1e-3)
    step = epl.parallelize(
        training_step(optimizer), state=("params", "opt_state"), batch=("x", "y"), devices=2
    )
    params = mlp_parameters()
    arguments = (params, optimizer.init(params), *batches(1)[0])
    compiled = step.lower(*arguments).compile()
    with compiled.trace(tmp_path / "t.json"):
        compiled(*arguments)
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    commands = [event["args"] for event in events if event.get("cat") in ("compute", "collective", "copy")]
    assert {Path(command["source"].rpartition(":")[0]).name for command in commands} == {"steps.py"}
    names = {event["name"] for event in events if event.get("cat") == "compute"}
    assert any("matmul" in name for name in names)
    assert any("maximum" in name for name in names)


def test_a_timeline_into_a_pipe_leaves_the_pipe(scaled: epl.Parallelized, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE) as reader:
        with scaled.lower(1.0, X).compile().trace(pipe):
            scaled(1.0, X)
        output, _ = reader.communicate(timeout=30)
    assert json.loads(output)
    assert pipe.is_fifo()


def test_save_and_load(scaled: epl.Parallelized, tmp_path: Path) -> None:
    lowered = scaled.lower({"a": 1.0}, X)
    lowered.compile().save(tmp_path / "m.eplan")
    flat = epl.load(tmp_path / "m.eplan")
    state, total = flat(1.0, X)
    assert (float(state), float(total)) == (2 + X.mean(), (X * X).sum())
    assert [slot.name for slot in flat.plan.slots] == ["state['a']", "x", "state['a']", "result[1]"]
    tree = epl.load(tmp_path / "m.eplan", like=lowered)
    assert float(tree({"a": state}, X)[0]["a"]) == 2 * (2 + X.mean()) + X.mean()
    with pytest.raises(TypeError, match=r"takes 2 arrays \(state\['a'\], x\), found 1"):
        flat(1.0)
    other = epl.parallelize(lambda y: y, devices=2, name="other").lower(X)
    with pytest.raises(epl.Error, match="is not one of other"):
        epl.load(tmp_path / "m.eplan", like=other)


def test_save_and_load_hidden_constants(tmp_path: Path) -> None:
    table = np.random.default_rng(0).normal(size=(4, 600)).astype(np.float32)
    ones = jnp.ones((4, 4), jnp.bfloat16)
    half = jnp.asarray(table, jnp.bfloat16)
    step = epl.parallelize(lambda x: (x @ table, ones @ half), batch="x", devices=2, name="project")
    file = tmp_path / "m.eplan"
    step.lower(X).compile().save(file)
    found = epl.load(file)(X)
    np.testing.assert_allclose(found[0], X @ table, rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(found[1], step(X)[1])
    hidden = tmp_path / "m.eplan.hidden.npz"
    content = hidden.read_bytes()
    for size in (0, 100, len(content) // 2, len(content) - 1):
        hidden.write_bytes(content[:size])
        with pytest.raises(epl.Error, match="does not hold the constants of the plan"):
            epl.load(file)
    hidden.unlink()
    with pytest.raises(epl.Error, match=r'needs constants from ".*m.eplan.hidden.npz", which is missing'):
        epl.load(file)
    step.lower(X[:4]).compile().save(tmp_path / "other.eplan")
    (tmp_path / "other.eplan.hidden.npz").rename(hidden)
    with pytest.raises(epl.Error, match="holds the constants of another plan"):
        epl.load(file)


def test_a_plan_for_other_devices_names_both(scaled: epl.Parallelized, tmp_path: Path) -> None:
    scaled.lower(1.0, X).compile().save(tmp_path / "m.eplan")
    epl.init("cpu:4")
    with pytest.raises(epl.Error) as error:
        epl.load(tmp_path / "m.eplan")
    assert "2" in str(error.value)
    assert "4" in str(error.value)
    assert epl.load(tmp_path / "m.eplan", devices="cpu:2").layout == "cpu:2 = data 2"


def test_damaged_plan_files_are_refused(scaled: epl.Parallelized, tmp_path: Path) -> None:
    scaled.lower(1.0, X).compile().save(tmp_path / "m.eplan")
    whole = (tmp_path / "m.eplan").read_bytes()
    for position in range(0, len(whole), max(1, len(whole) // 50)):
        changed = bytearray(whole)
        changed[position] ^= 0x40
        (tmp_path / "changed.eplan").write_bytes(changed)
        with pytest.raises(epl.Error):
            epl.load(tmp_path / "changed.eplan")
        (tmp_path / "cut.eplan").write_bytes(whole[:position])
        with pytest.raises(epl.Error):
            epl.load(tmp_path / "cut.eplan")
    with pytest.raises(epl.Error, match=r"nowhere.eplan"):
        epl.load(tmp_path / "nowhere.eplan")


def test_a_full_disk_while_saving_loses_nothing(scaled: epl.Parallelized, tmp_path: Path) -> None:
    compiled = scaled.lower(1.0, X).compile()
    compiled.save(tmp_path / "m.eplan")
    before = (tmp_path / "m.eplan").read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) // 2, limits[1]))
        with pytest.raises(epl.Error, match=r"m.eplan"):
            compiled.save(tmp_path / "m.eplan")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert [file.name for file in tmp_path.iterdir()] == ["m.eplan"]
    assert (tmp_path / "m.eplan").read_bytes() == before
