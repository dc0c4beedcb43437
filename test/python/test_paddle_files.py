"""Files of parameters: those that Paddle has written (test/paddle_programs/files.py), and EPL."""

from __future__ import annotations

import pickle
from collections import OrderedDict
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

import epl
import epl.paddle
from epl.paddle import parameters, schema, unpickling

FILES = Path(__file__).parents[1] / "paddle_programs" / "files"


def answers(name: str) -> dict[str, Any]:
    with np.load(FILES / f"{name}.npz") as arrays:
        return dict(arrays)


def check(found: dict[str, Any], expected: dict[str, Any]) -> None:
    assert set(found) == set(expected)
    for name, value in found.items():
        assert value.dtype == expected[name].dtype
        assert value.shape == expected[name].shape
        assert np.array_equal(value, expected[name])


def as_bfloat16(values: dict[str, Any]) -> dict[str, Any]:
    return {name: v.view(jnp.bfloat16) if v.dtype == np.uint16 else v for name, v in values.items()}


@pytest.mark.parametrize("protocol", [2, 3, 4])
def test_a_state_that_paddle_has_saved(protocol: int) -> None:
    expected = answers("trained")
    parts = [parameters.read_state(FILES / f"trained{protocol}.{kind}") for kind in ("pdparams", "pdopt")]
    assert sorted(parts[0]) == ["fc_0.b_0", "fc_0.w_0", "fc_1.b_0", "fc_1.w_0"]
    check(parts[0] | parts[1], expected)


def test_a_state_of_all_dtypes() -> None:
    check(parameters.read_state(FILES / "tensors.pdparams"), answers("tensors"))


def test_a_folder_of_all_dtypes() -> None:
    expected = as_bfloat16(answers("tensors"))
    check(parameters.read_folder(FILES / "tensors", expected), expected)


def test_the_state_of_a_layer() -> None:
    expected = answers("layer")
    check(parameters.read_state(FILES / "layer.pdparams"), expected)
    check(parameters.read_state(FILES / "named.pdparams"), {"weight": expected["weight"]})


@pytest.mark.parametrize(
    "file", ["trained2.pdparams", "trained4.pdparams", "persistables", "persistables.bin"]
)
def test_a_program_reads_its_parameters(file: str) -> None:
    program = epl.paddle.load(FILES / "trained.program")
    assert set(program.parameters) == set(answers("trained"))
    check(program.read_parameters(FILES / file), answers("trained"))


def test_parameters_have_the_names_of_layers_too(tmp_path: Path) -> None:
    program = epl.paddle.load(FILES / "trained.program")
    values = answers("trained")
    layers = {f"layer.{name}": value for name, value in values.items()}
    table = {f"layer.{name}": name for name in values}
    (tmp_path / "x.pdparams").write_bytes(pickle.dumps(layers | {"StructuredToParameterName@@": table}, 4))
    check(program.read_parameters(tmp_path / "x.pdparams"), values)


def test_a_file_of_what_a_program_reads_alone(tmp_path: Path) -> None:
    """A file without names may lack what no op reads, as `save_params` leaves it out."""
    description = schema.message("ProgramDesc").FromString((FILES / "trained.program").read_bytes())
    unused = description.blocks[0].vars.add()
    unused.CopyFrom(next(each for each in description.blocks[0].vars if each.name == "fc_0.b_0"))
    unused.name = "fc_0.a"
    program = epl.paddle.load(description.SerializeToString())
    values = answers("trained")
    check(program.read_parameters(FILES / "persistables.bin"), values)
    whole = values | {"fc_0.a": values["fc_0.b_0"]}
    (tmp_path / "whole").write_bytes(parameters.write_stream([whole[name] for name in sorted(whole)]))
    check(program.read_parameters(tmp_path / "whole"), values)


def test_bfloat16_is_uint16_in_a_pickle(tmp_path: Path) -> None:
    description = schema.message("ProgramDesc").FromString((FILES / "trained.program").read_bytes())
    (variable,) = (each for each in description.blocks[0].vars if each.name == "fc_1.b_0")
    variable.type.lod_tensor.tensor.data_type = 22
    program = epl.paddle.load(description.SerializeToString())
    values = answers("trained")
    values["fc_1.b_0"] = values["fc_1.b_0"].astype(jnp.bfloat16)
    parameters.write_state(tmp_path / "x.pdparams", values)
    check(program.read_parameters(tmp_path / "x.pdparams"), values)


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    program = epl.paddle.load(FILES / "trained.program")
    values = answers("trained")
    del values["fc_1.b_0"], values["learning_rate_0"]
    parameters.write_state(tmp_path / "x.pdparams", values)
    parameters.write_folder(tmp_path / "x", values)
    missing = '"(fc_1.b_0|learning_rate_0)", "(fc_1.b_0|learning_rate_0)"'
    with pytest.raises(epl.Error, match=f'x.pdparams" has no {missing}, found "fc_0'):
        program.read_parameters(tmp_path / "x.pdparams")
    with pytest.raises(epl.Error, match=f'x" has no file of {missing}$'):
        program.read_parameters(tmp_path / "x")


@pytest.mark.parametrize("protocol", [2, 3])
def test_a_tensor_that_is_cut_into_parts(tmp_path: Path, protocol: int) -> None:
    whole = np.arange(12, dtype=np.float32).reshape(3, 4)
    parts = {"w@@.0": whole.reshape(-1)[:5], "w@@.1": whole.reshape(-1)[5:], "b": np.ones(2)}
    info = {"w": {"OriginShape": (3, 4), "slices": ["w@@.0", "w@@.1"]}}
    file = tmp_path / "x.pdparams"
    file.write_bytes(pickle.dumps(parts | {"UnpackBigParamInfor@@": info}, protocol))
    check(parameters.read_state(file), {"w": whole, "b": np.ones(2)})
    wrong: list[tuple[Any, str]] = [
        (3, 'has a "UnpackBigParamInfor@@" that is no dict'),
        ({"w": 3}, '"w" in .* cut into parts, but they are not said'),
        ({"b": info["w"]}, '"b" in .* stands whole beside them'),
        ({"w": {"OriginShape": (3, 4)}}, "parts, but they are not said"),
        ({"w": {"slices": ["w@@.0", "w@@.1"]}}, "parts, but no shape is said"),
        ({"w": info["w"] | {"OriginShape": (3, 5)}}, r"parts that do not make \[3, 5\]"),
        ({"w": info["w"] | {"OriginShape": (-3, -4)}}, r"shape \[-3, -4\], expected no negative extent"),
        ({"w": info["w"] | {"slices": ["w@@.0"] * 2}}, "parts, of which number 1 is missing"),
        ({"w": info["w"] | {"slices": [["w"]]}}, "parts, of which number 0 is missing"),
    ]
    for each, text in wrong:
        file.write_bytes(pickle.dumps(parts | {"UnpackBigParamInfor@@": each}, protocol))
        with pytest.raises(epl.Error, match=text):
            parameters.read_state(file)


WRITTEN: dict[str, Any] = {
    "scope/half": np.float16([[1.5, -2]]),
    "brain": jnp.asarray([1.5, -2], jnp.bfloat16),
    "bytes": np.int8([[-128], [127]]),
    "bools": np.array([True, False]),
    "double": np.float64(1 / 3),
    "number": jnp.float32(2.5),
    "empty": np.zeros((0, 4), np.float32),
    "big_endian": np.arange(3, dtype=">i4"),
    "transposed": np.arange(6, dtype=np.int64).reshape(2, 3).T,
}


def test_what_is_written_is_read(tmp_path: Path) -> None:
    arrays = {name: np.asarray(value) for name, value in WRITTEN.items()}
    expected = {name: value.astype(value.dtype.newbyteorder("=")) for name, value in arrays.items()}
    parameters.write_folder(tmp_path / "folder", WRITTEN)
    check(parameters.read_folder(tmp_path / "folder", WRITTEN), expected)
    parameters.write_state(tmp_path / "x.pdparams", WRITTEN)
    found = parameters.read_state(tmp_path / "x.pdparams")
    check(as_bfloat16(found), expected)
    check(pickle.loads((tmp_path / "x.pdparams").read_bytes()), found)


def test_nothing_is_left_of_a_write_that_fails(tmp_path: Path) -> None:
    file = tmp_path / "x.pdparams"
    parameters.write_state(file, {"w": np.ones(3)})
    before = file.read_bytes()
    with pytest.raises(epl.ArgumentError, match='"w" is of complex64, expected one of bool'):
        parameters.write_state(file, {"w": np.ones(3, np.complex64)})
    assert file.read_bytes() == before
    with pytest.raises(epl.Error, match=r'cannot write "/.*/none/x": No such file'):
        parameters.write_state(tmp_path / "none" / "x", {})
    with pytest.raises(epl.ArgumentError, match="a name of a tensor is a text, found int"):
        parameters.write_state(file, {1: np.ones(3)})  # type: ignore[dict-item]
    with pytest.raises(epl.ArgumentError, match="tensor 0 is of uint32, expected one of bool"):
        parameters.write_folder(tmp_path / "folder", {"w": np.ones(3, np.uint32)})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.pdparams"]


@pytest.mark.parametrize("name", ["../w", "/tmp/w", "a/../../w", "", "a\0b"])
def test_a_name_that_leads_out_of_the_folder(tmp_path: Path, name: str) -> None:
    for action in (
        lambda: parameters.write_folder(tmp_path, {"good": np.ones(2), name: np.ones(2)}),
        lambda: parameters.read_folder(tmp_path, [name]),
    ):
        with pytest.raises(
            epl.Error, match=r"is no file in .*: expected a name that does not lead out of it"
        ):
            action()
    assert not list(tmp_path.iterdir())


def test_a_folder_that_is_in_the_way(tmp_path: Path) -> None:
    with pytest.raises(epl.Error, match=r'cannot write "/.*/w/part": .* exists'):
        parameters.write_folder(tmp_path, {"w": np.ones(2), "w/part": np.ones(2)})
    (tmp_path / "folder").mkdir()
    with pytest.raises(epl.Error, match=r'"/.*/folder" cannot be read: it is no file'):
        parameters.read_folder(tmp_path, ["folder"])


def test_a_dict_and_values_of_python() -> None:
    """What Paddle writes beside tensors is read and left out; numbers of NumPy, too."""
    values = {
        "w": np.float32([1]),
        "n": np.float64(0.5),
        "d": OrderedDict(a=[1, (2, None)], b=True),
        "i": 1 << 70,
    }
    for protocol in (2, 3, 4):
        found = unpickling.read(pickle.dumps(OrderedDict(values), protocol), "x")
        assert found.keys() == values.keys()
        assert found["n"] == 0.5
        assert found["d"] == values["d"]
        assert found["i"] == values["i"]


def test_an_array_of_fortran(tmp_path: Path) -> None:
    value = np.asfortranarray(np.arange(6, dtype=np.int16).reshape(2, 3))
    (tmp_path / "x.pdparams").write_bytes(pickle.dumps({"w": value}, 4))
    check(parameters.read_state(tmp_path / "x.pdparams"), {"w": value})


def test_levels_of_lod_are_named() -> None:
    with pytest.raises(
        epl.UnsupportedError,
        match=r'tensor 0 of "/.*/lod" has 1 levels of LoD, expected none: sequences of .* pad them',
    ):
        parameters.read_folder(FILES, ["lod"])
