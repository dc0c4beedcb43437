"""Programs of Paddle give what Paddle has made of them (test/paddle_programs: answers.py, train.py)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import epl
import epl.paddle
from epl.errors import Place
from epl.paddle import operators, parameters
from epl.paddle.operators import TABLE
from paddle_descriptions import make

FOLDER = Path(__file__).parents[1] / "paddle_programs"
ANSWERS, TRAINING = FOLDER / "answers", FOLDER / "training"
NAMES = sorted(path.stem for path in ANSWERS.glob("*.pdmodel"))
TRAINED = sorted(path.stem for path in TRAINING.glob("*.program"))


def read(name: str) -> tuple[Any, dict[str, Any], dict[str, Any], list[Any]]:
    """A program, its parameters, what it was fed, and what Paddle made of that."""
    program = epl.paddle.load(ANSWERS / name)
    given = program.read_parameters(ANSWERS / f"{name}.pdiparams") if program.parameters else {}
    with np.load(ANSWERS / f"{name}.npz") as arrays:
        feed = {key: arrays[key] for key in program.feeds}
        results = [arrays[f"result{index}"] for index in range(len(program.fetches))]
    return program, given, feed, results


def check(found: Any, expected: Any) -> None:
    """Kernels add up in other orders; numbers and places are equal."""
    assert len(found) == len(expected)
    for each, other in zip(found, expected, strict=True):
        assert np.shape(each) == other.shape
        np.testing.assert_allclose(each, other, rtol=2e-5, atol=2e-6)


def test_there_is_an_answer_for_each_op() -> None:
    files = [*ANSWERS.glob("*.pdmodel"), *TRAINING.glob("*.program"), *TRAINING.glob("*.startup")]
    kinds = {op.kind for file in files for op in epl.paddle.load(file).ops}
    # Ops of several devices are in test_paddle_replicas.py and test_fluid_trainers.py.
    alone = {kind for kind in TABLE if not kind.startswith(("sync_", "c_"))}
    assert alone <= kinds


@pytest.mark.parametrize("name", NAMES)
def test_a_program_gives_what_paddle_gives(name: str) -> None:
    program, given, feed, expected = read(name)
    check(jax.jit(program)(given, feed), expected)


@pytest.mark.parametrize(("name", "devices"), [("mlp", 5), ("cnn", 2), ("recommender", 4), ("attention", 2)])
def test_on_several_devices(name: str, devices: int) -> None:
    program, given, feed, expected = read(name)
    infer = epl.parallelize(program.__call__, batch="feed", devices=devices, name=name)
    found = infer(given, feed)
    per_sample = [
        index for index, each in enumerate(expected) if each.shape[:1] == (len(feed[program.feeds[0]]),)
    ]
    assert per_sample
    check([found[index] for index in per_sample], [expected[index] for index in per_sample])


def test_a_program_as_bytes_and_of_paddle() -> None:
    content = (ANSWERS / "mlp.pdmodel").read_bytes()

    class Description:
        def serialize_to_string(self) -> bytes:
            return content

    class OfPaddle:
        desc = Description()

    for source in (content, OfPaddle(), ANSWERS / "mlp.pdmodel", str(ANSWERS / "mlp")):
        program = epl.paddle.load(source)
        assert program.feeds == ("x",)
        assert len(program.fetches) == 2
        assert sorted(program.parameters) == [
            "fc_0.b_0",
            "fc_0.w_0",
            "fc_1.b_0",
            "fc_1.w_0",
            "fc_2.b_0",
            "fc_2.w_0",
        ]


def test_any_variable_can_be_fetched() -> None:
    program, given, feed, _ = read("mlp")
    (hidden,) = program(given, feed, ["fc_0.tmp_1"])
    np.testing.assert_allclose(hidden, feed["x"] @ given["fc_0.w_0"] + given["fc_0.b_0"], rtol=1e-5)
    with pytest.raises(epl.ArgumentError, match=r'no variable "fc_0.tmp_9" to fetch.*fc_0.tmp'):
        program(given, feed, ["fc_0.tmp_9"])


def test_what_stands_where_has_the_users_line() -> None:
    program, given, feed, _ = read("mlp")
    text = jax.jit(program).lower(given, feed).as_text(debug_info=True)
    (product,) = (op for op in program.ops if op.kind == "softmax")
    assert product.place is not None
    assert f'"{product.place.file}":{product.place.line}' in text


def test_parameters_are_written_as_paddle_writes_them() -> None:
    program, given, _, _ = read("mlp")
    content = parameters.write_stream([given[name] for name in sorted(program.parameters)])
    assert content == (ANSWERS / "mlp.pdiparams").read_bytes()


def test_a_program_without_feed_ops() -> None:
    program = epl.paddle.load(make(("relu", {}), ("scale", {"scale": 2.0, "bias": 1.0})))
    assert program.feeds == ("x",)
    (found,) = program({}, {"x": np.float32([[1, 2, 3]])}, ["y"])
    assert np.array_equal(found, [[3, 5, 7]])


def test_says_what_is_no_program(tmp_path: Path) -> None:
    content = (ANSWERS / "mlp.pdmodel").read_bytes()
    (tmp_path / "cut.pdmodel").write_bytes(content[: len(content) // 2])
    with pytest.raises(epl.Error, match=r'"/.*/cut.pdmodel" is no ProgramDesc of Paddle'):
        epl.paddle.load(tmp_path / "cut")
    with pytest.raises(epl.Error, match=r'"/.*/none.pdmodel" cannot be read: No such file'):
        epl.paddle.load(tmp_path / "none")
    with pytest.raises(epl.ArgumentError, match="load takes a path, bytes or a program of Paddle, found int"):
        epl.paddle.load(3)


WRONG: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "missing": ({}, {"x": None}, 'feed has no "x", found nothing'),
    "unknown": ({}, {"z": np.zeros(3)}, 'feed has "z", expected "x"'),
    "shape": (
        {},
        {"x": np.zeros((5, 7), np.float32)},
        r'"x" in feed: expected float32\[-1, 12\], found float32\[5, 7\]',
    ),
    "dtype": (
        {},
        {"x": np.zeros((5, 12), np.float16)},
        r"expected float32\[-1, 12\], found float16\[5, 12\]",
    ),
    "parameter": ({"fc_0.w_0": None}, {}, 'parameters has no "fc_0.w_0", found "fc_0.b_0"'),
}


@pytest.mark.parametrize("case", WRONG)
def test_says_what_does_not_fit(case: str) -> None:
    program, given, feed, _ = read("mlp")
    changed, fed, text = WRONG[case]
    given = {name: value for name, value in (given | changed).items() if value is not None}
    feed = {name: value for name, value in (feed | fed).items() if value is not None}
    with pytest.raises(epl.ArgumentError, match=text):
        program(given, feed)


def test_says_what_is_no_file_of_its_parameters(tmp_path: Path) -> None:
    program = epl.paddle.load(ANSWERS / "mlp")
    content = (ANSWERS / "mlp.pdiparams").read_bytes()
    file = tmp_path / "x.pdiparams"
    for wrong, text in {
        content[:150]: 'x.pdiparams" ends in the midst of a tensor: expected 768 bytes at ',
        content[:-4]: r'x.pdiparams" ends in the midst of a tensor: expected 160 bytes at \d+, found 156',
        b"": 'x.pdiparams" has 0 tensors, expected 6: "fc_0.b_0" is missing',
        content + b"0": r'x.pdiparams" ends in the midst of a tensor: expected 4 bytes at \d+, found 1',
        content * 2: 'x.pdiparams" has 12 tensors, more than the 6 of the program',
        b"1234" + content[4:]: 'x.pdiparams" has a tensor of version 875770417 at byte 0, expected 0',
    }.items():
        file.write_bytes(wrong)
        with pytest.raises(epl.Error, match=text):
            program.read_parameters(file)
    file.write_bytes(parameters.write_stream([np.zeros(3, np.float32)] * 6))
    with pytest.raises(
        epl.Error, match=r'parameter "fc_0.b_0" in ".*": expected float32\[16\], found float32\[3\]'
    ):
        program.read_parameters(file)


def test_an_output_that_is_not_made_is_named() -> None:
    program = epl.paddle.load(ANSWERS / "mlp")
    changed = program.ops[0].inputs | {"X": ("nobody",)}
    program.ops[0] = epl.paddle.Op("relu", changed, program.ops[0].outputs, {}, Place("step.py", 1))
    with pytest.raises(
        epl.UnsupportedError, match=r'"relu" \(step.py:1\) reads "nobody", which is an output'
    ):
        program(*read("mlp")[1:3])


def test_gradients_go_through_a_program() -> None:
    program, given, feed, _ = read("mlp")

    def loss(given: Any) -> Any:
        return jnp.sum(program(given, feed)[0][:, 0])

    gradient = jax.grad(loss)(given)
    assert float(jnp.abs(gradient["fc_2.w_0"]).max()) > 0


def trained(name: str) -> tuple[Any, str, list[dict[str, Any]], dict[str, Any]]:
    """A program that trains, its loss, its batches, and other arrays."""
    with np.load(TRAINING / f"{name}.npz") as arrays:
        found = dict(arrays)
    batches: list[dict[str, Any]] = []
    for key, value in found.items():
        if key.startswith("feed"):
            step, _, variable = key.removeprefix("feed").partition(":")
            if int(step) == len(batches):
                batches.append({})
            batches[int(step)][variable] = value
    return epl.paddle.load(TRAINING / f"{name}.program"), str(found["loss"]), batches, found


def begin(program: Any, found: dict[str, Any]) -> dict[str, Any]:
    return {name: found[f"before:{name}"] for name in program.parameters}


def check_training(step: Any, name: str) -> None:
    """Losses, and what has changed of persistable variables; kernels add up in other orders."""
    program, _, batches, found = trained(name)
    state, losses = begin(program, found), []
    for batch in batches:
        state, (loss,) = step(state, batch)
        losses.append(np.asarray(loss).reshape(()))
    np.testing.assert_allclose(losses, found["losses"].reshape(-1), rtol=1e-5)
    changed = {key.removeprefix("after:"): value for key, value in found.items() if key.startswith("after:")}
    assert set(changed) <= set(program.updated)
    for key, value in changed.items():
        np.testing.assert_allclose(np.reshape(state[key], value.shape), value, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", TRAINED)
def test_a_program_trains_as_in_paddle(name: str) -> None:
    program, loss, *_ = trained(name)
    check_training(jax.jit(lambda state, feed: program.run(state, feed, [loss])), name)


@pytest.mark.parametrize(
    ("name", "devices"), [("classifier", 4), ("images", 2), ("recommender", 4), ("attention", 2)]
)
def test_it_trains_on_several_devices(name: str, devices: int) -> None:
    """The loss is that of the whole batch, statistics of BatchNorm too."""
    program, loss, *_ = trained(name)

    @epl.parallelize(state="state", batch="feed", devices=devices, name=name)
    def step(state: Any, feed: Any) -> Any:
        return program.run(state, feed, [loss])

    check_training(step, name)


@pytest.mark.parametrize("name", TRAINED)
def test_a_startup_program_begins_a_training(name: str) -> None:
    program, loss, batches, _ = trained(name)
    startup = epl.paddle.load(TRAINING / f"{name}.startup")
    state, _ = startup.run({}, {}, (), key=jax.random.key(0))
    own = {key: state[key] for key in program.parameters}
    _, (first,) = jax.jit(lambda own, feed: program.run(own, feed, [loss]))(own, batches[0])
    assert np.isfinite(first).all()
    with pytest.raises(
        epl.ArgumentError, match=r'" \(step.py:\d+\) draws random numbers, but the program was given'
    ):
        startup.run({}, {}, ())


def draw(kind: str, attributes: dict[str, Any], inputs: dict[str, Any] | None = None) -> Any:
    given = {name: [value] for name, value in (inputs or {}).items()}
    return TABLE[kind](operators.Inputs(given, lambda: jax.random.key(1)), attributes)


def test_random_ops_have_the_distribution() -> None:
    shape = {"shape": (200, 100), "dtype": 5}
    (uniform,) = draw("uniform_random", shape | {"min": -2.0, "max": 1.0})["Out"]
    assert -2 <= float(uniform.min()) < -1.99
    assert 0.99 < float(uniform.max()) <= 1
    (normal,) = draw("gaussian_random", shape | {"mean": 1.0, "std": 2.0})["Out"]
    assert abs(float(normal.mean()) - 1) < 0.1
    assert abs(float(normal.std()) - 2) < 0.1
    (cut,) = draw("truncated_gaussian_random", shape | {"mean": 1.0, "std": 2.0})["Out"]
    assert float(cut.min()) >= -3
    assert float(cut.max()) <= 5


@pytest.mark.parametrize(("mode", "kept"), [("upscale_in_train", 2.0), ("downgrade_in_infer", 1.5)])
def test_dropout_and_its_gradient(mode: str, kept: float) -> None:
    attributes = {"dropout_prob": 0.25, "dropout_implementation": mode}
    x = np.full((100, 100), 1.5, np.float32)
    made = draw("dropout", attributes, {"X": x})
    assert abs(float(np.mean(made["Mask"][0])) - 0.75) < 0.02
    assert set(np.unique(made["Out"][0])) == {0.0, np.float32(kept)}
    given = {"Mask": made["Mask"], "Out@GRAD": [jnp.asarray(x)]}
    gradient = operators.find("dropout_grad")
    assert gradient is not None
    (found,) = gradient(operators.Inputs(given, lambda: None), attributes)["X@GRAD"]
    assert np.array_equal(found, made["Out"][0])
