"""Versions and formats of programs of Paddle, what of them is not supported, and what they may be fed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import epl
import epl.paddle
from epl.paddle import schema
from paddle_descriptions import make

FOLDER = Path(__file__).parents[1] / "paddle_programs"
OF_3 = FOLDER / "answers3"


@pytest.mark.parametrize("name", ["recommender", "scalars"])
def test_a_program_of_paddle_3_gives_what_paddle_gives(name: str) -> None:
    program = epl.paddle.load(OF_3 / name)
    given = program.read_parameters(OF_3 / f"{name}.pdiparams") if program.parameters else {}
    with np.load(OF_3 / f"{name}.npz") as arrays:
        feed = {key: arrays[key] for key in program.feeds}
        results = [arrays[f"result{index}"] for index in range(len(program.fetches))]
    for found, expected in zip(jax.jit(program)(given, feed), results, strict=True):
        assert found.shape == expected.shape
        assert found.dtype == jax.dtypes.canonicalize_dtype(expected.dtype)
        np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("source", [OF_3 / "pir.json", OF_3 / "pir"])
def test_a_program_of_pir_is_named(source: Path) -> None:
    with pytest.raises(
        epl.UnsupportedError, match=r'pir.json" is a program of .* PIR, .*FLAGS_enable_pir_api=0$'
    ):
        epl.paddle.load(source)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"\x80\x04}.", "is no ProgramDesc of Paddle: .*FLAGS_enable_pir_api=0$"),
        (b"", "is no ProgramDesc of Paddle: it has no blocks; .*FLAGS_enable_pir_api=0$"),
    ],
)
def test_a_file_of_another_format_is_named(tmp_path: Path, content: bytes, text: str) -> None:
    (tmp_path / "x.pdmodel").write_bytes(content)
    with pytest.raises(epl.Error, match=f'"/.*/x.pdmodel" {text}'):
        epl.paddle.load(tmp_path / "x")


def test_a_folder_of_paddle_1(tmp_path: Path) -> None:
    (tmp_path / "__model__").write_bytes(make(("relu", {})))
    assert epl.paddle.load(tmp_path).feeds == ("x",)
    (tmp_path / "__model__").unlink()
    with pytest.raises(epl.Error, match=r'"/.*/__model__" cannot be read: No such file'):
        epl.paddle.load(tmp_path)


@pytest.mark.parametrize("version", [0, 1_006_000, 1_008_005, 2_000_000, 2_006_002, 3_000_000, 3_001_000])
def test_versions_that_are_read(version: int) -> None:
    assert epl.paddle.load(make(("relu", {}), version=version)).feeds == ("x",)


@pytest.mark.parametrize(("version", "text"), [(4_001_002, "4.1.2"), (5, "0.0.5"), (-1, "-1.999.999")])
def test_versions_that_are_not_read(version: int, text: str) -> None:
    with pytest.raises(
        epl.UnsupportedError, match=rf"the program is a program of Paddle {text} \(version {version}\), expec"
    ):
        epl.paddle.load(make(("relu", {}), version=version))


def with_op_version(version: int, kind: str, op_version: int) -> bytes:
    program = schema.message("ProgramDesc").FromString(make((kind, {"scale": 2.0}), version=version))
    program.op_version_map.pair.add(op_name=kind).op_version.version = op_version
    return bytes(program.SerializeToString())


def test_versions_of_ops() -> None:
    """What was before Paddle 2.6 reads, whatever version an op had; what comes after 3.0 nobody knows yet."""
    for version, op_version in ((2_000_000, 7), (2_006_002, 1), (3_000_000, 1), (3_001_000, 0)):
        epl.paddle.load(with_op_version(version, "scale", op_version))
    epl.paddle.load(with_op_version(3_001_000, "round", 1))
    with pytest.raises(
        epl.UnsupportedError,
        match=r'ops that mean something else than in Paddle 2.6: "scale" \(step.py:1\) in a version after',
    ):
        epl.paddle.load(with_op_version(3_001_000, "scale", 1))


def test_attributes_that_are_new() -> None:
    epl.paddle.load(make(("round", {"decimals": 0})))
    with pytest.raises(epl.UnsupportedError, match=r'"round" \(step.py:1\) with decimals 2, expected 0$'):
        epl.paddle.load(make(("round", {"decimals": 2})))


def test_all_that_is_missing_is_one_error() -> None:
    ops: tuple[tuple[str, dict[str, Any]], ...] = (
        ("relu", {}),
        ("lstm", {}),
        ("nce", {}),
        ("sequence_pool_grad", {}),
        ("sequence_mask", {}),
        ("reduce_sum", {"dim": "y"}),
        ("round", {"decimals": 1}),
    )
    with pytest.raises(epl.UnsupportedError) as error:
        epl.paddle.load(make(*ops, lod_level=1))
    assert str(error.value) == (
        'the program has ops that are not supported yet: "nce" (step.py:3); ops that mean something else '
        'than in Paddle 2.6: "round" (step.py:7) with decimals 1, expected 0; attributes that are computed, '
        'which is not supported: "dim" of "reduce_sum" (step.py:6); ops on sequences of different lengths '
        '(LoD), which are not supported: "lstm" (step.py:2), "sequence_pool_grad" (step.py:4), of the feeds '
        '"x": pad the sequences to one length'
    )


def test_control_flow_is_named_with_what_else_is_missing() -> None:
    with pytest.raises(
        epl.UnsupportedError,
        match=r'^the program has 2 blocks, expected 1: control flow \("while" \(step.py:1\)\) is not '
        r'supported yet; ops that are not supported yet: "nce" \(step.py:2\)$',
    ):
        epl.paddle.load(make(("while", {"sub_block": 1}), ("nce", {}), blocks=2))


def test_what_has_lod_is_plain_if_no_op_needs_it() -> None:
    program = epl.paddle.load(make(("relu", {}), lod_level=1))
    assert program.variables["x"].lod_level == 1
    (found,) = program({}, {"x": np.float32([[1, -2, 3]])}, ["y"])
    assert np.array_equal(found, [[1, 0, 3]])


def ids_program() -> tuple[Any, dict[str, Any], dict[str, Any]]:
    program = epl.paddle.load(OF_3 / "recommender")
    given = program.read_parameters(OF_3 / "recommender.pdiparams")
    return program, given, {"ids": np.zeros((4, 6), np.int64), "dense": np.zeros((4, 3), np.float32)}


TOO_LARGE = {
    "numpy": lambda: np.full((4, 6), 1 << 40),
    "negative": lambda: np.full((4, 6), -1 << 40),
    "list": lambda: [[1 << 40] * 6] * 4,
    "scalars": lambda: [[np.int64(1 << 40)] * 6] * 4,
    "jax": lambda: in_64_bits(lambda: jnp.full((4, 6), 1 << 40, jnp.int64)),
}


def in_64_bits(make: Any) -> Any:
    with jax.enable_x64(True):
        return make()


@pytest.mark.parametrize("kind", TOO_LARGE)
def test_integers_of_64_bits_have_to_fit(kind: str) -> None:
    program, given, feed = ids_program()
    with pytest.raises(
        epl.ArgumentError,
        match=r'"ids" in feed has numbers from -?\d+ to -?\d+, which are no int32: set jax_e',
    ):
        program(given, feed | {"ids": TOO_LARGE[kind]()})


def test_integers_of_64_bits_that_fit() -> None:
    program, given, feed = ids_program()
    expected = program(given, feed | {"ids": np.full((4, 6), 29)})[0]
    for ids in (
        [[29] * 6] * 4,
        [[np.int64(29)] * 6] * 4,
        np.full((4, 6), 29, np.int32),
        jnp.full((4, 6), 29),
        in_64_bits(lambda: jnp.full((4, 6), 29, jnp.int64)),
    ):
        assert np.array_equal(program(given, feed | {"ids": ids})[0], expected)


def test_with_64_bits_all_fit() -> None:
    program = epl.paddle.load(OF_3 / "scalars")
    with jax.enable_x64(True):
        found = program({}, {"x": np.zeros((3, 4), np.float32), "ids": np.arange(5) % 4}, ["x", "ids"])
        assert [each.dtype.name for each in found] == ["float32", "int64"]
        feed = {"x": np.zeros((3, 4), np.float32), "ids": np.full(5, 1 << 40)}
        assert int(program({}, feed, ["ids"])[0][0]) == 1 << 40


@pytest.mark.parametrize(
    ("ids", "text"),
    [
        (np.zeros((4, 6), np.uint64), r"expected int64\[-1, 6\], found uint64\[4, 6\]"),
        (np.uint64(3), r"expected int64\[-1, 6\], found uint64\[\]"),
        (np.int64(1 << 40), r"expected int64\[-1, 6\], found int64\[\]"),
        ([[1, 2], [3]], "is no array: "),
        ([[None] * 6] * 4, "is no array of numbers, found list"),
        ([[1 << 70] * 6] * 4, "is no array of numbers, found list"),
        ("ids", "is no array of numbers, found str"),
    ],
)
def test_what_is_no_array_of_ids(ids: Any, text: str) -> None:
    program, given, feed = ids_program()
    with pytest.raises(epl.ArgumentError, match=f'"ids" in feed:? {text}'):
        program(given, feed | {"ids": ids})
