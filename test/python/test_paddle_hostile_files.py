"""Files of parameters that mean harm or are damaged: tensors or one error, in bounded memory and time."""

from __future__ import annotations

import os
import pickle
import random
import struct
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import epl
import epl.paddle
from epl.paddle import parameters, schema

FILES = Path(__file__).parents[1] / "paddle_programs" / "files"
_MUTANTS = 1500  # of each file
_MOST_MEMORY = 1 << 20  # bytes, for files of at most two thousand
_MOST_SECONDS = 5.0  # what fails takes minutes; the machine may be busy


class Calls:
    """What pickles as the call of a function."""

    def __init__(self, function: Callable[..., Any], *arguments: Any) -> None:
        self.call = (function, arguments)

    def __reduce__(self) -> Any:
        return self.call


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (os.system, "posix.system"),
        (eval, "builtins.eval"),
        (exec, "builtins.exec"),
        (np.load, "numpy.load"),
        (np.zeros, "numpy.zeros"),
        (bytearray, "builtins.bytearray"),
    ],
)
def test_a_pickle_runs_nothing(tmp_path: Path, function: Any, name: str) -> None:
    file, trap = tmp_path / "x.pdparams", tmp_path / "trap"
    for protocol in (2, 3, 4):
        file.write_bytes(pickle.dumps({"w": np.ones(3), "v": Calls(function, f"touch {trap}")}, protocol))
        asked = name.replace("builtins", "__builtin__") if protocol == 2 else name
        with pytest.raises(
            epl.Error, match=f'x.pdparams" asks for "{asked}" at byte .*: nothing of it was run$'
        ):
            parameters.read_state(file)
    assert not trap.exists()


NUMPY = b"cnumpy\n"
NDARRAY, DTYPE = NUMPY + b"ndarray\n", NUMPY + b"dtype\n"
NEW = b"cnumpy.core.multiarray\n_reconstruct\n" + NDARRAY + b"K\0\x85C\x01b\x87R"


def entry(value: bytes, key: bytes = b"X\1\0\0\0w") -> bytes:
    return b"\x80\4}" + key + value + b"s."


def array(shape: bytes, content: bytes, dtype: bytes = b"f4") -> bytes:
    """The opcodes of an array of float32."""
    kind = DTYPE + b"X" + struct.pack("<I", len(dtype)) + dtype + b"\x89\x88\x87R"
    return NEW + b"(K\1" + shape + kind + b"\x89" + b"B" + struct.pack("<I", len(content)) + content + b"tb"


def long(number: int) -> bytes:
    return b"\x8a\x08" + struct.pack("<q", number)


PICKLES: dict[str, tuple[bytes, str]] = {
    "whole": (entry(array(b"K\1\x85", b"1234")), ""),
    "truncated": (entry(array(b"K\1\x85", b"1234"))[:-12], "not enough data in stream"),
    "no end": (b"\x80\4}", "no opcode"),
    "behind the end": (b"\x80\4}..", "an end with more behind it"),
    "no dict": (b"\x80\4K\1.", "a value of type int, expected dict"),
    "no opcode of dicts": (entry(b"I1\n"), "no opcode"),
    "huge bytes": (entry(NEW + b"\x8e" + struct.pack("<Q", 1 << 62)), "expected 4611686018427387904 bytes"),
    "huge text": (entry(b"X\xff\xff\xff\xff"), "expected 4294967295 bytes"),
    "huge memo": (b"\x80\4}r\xff\xff\xff\x7f.", ""),
    "no memo": (b"\x80\4h\7.", "no value 7"),
    "nested key": (b"\x80\4}" + b")" + b"\x85" * 100_000 + b"Ns.", "a value of type tuple, expected str"),
    "nested list": (entry(b"]" + b"]" * 100_000 + b"a" * 100_000), ""),
    "a list in itself": (entry(b"]\x94h\0a"), ""),
    "a dict in itself": (b"\x80\4}\x94X\1\0\0\0wh\0s.", ""),
    "twice": (b"\x80\4}(X\1\0\0\0wNX\1\0\0\0wNu.", '"w" twice'),
    "NaN": (entry(b"N", b"G\x7f\xf8" + b"\0" * 6), "a value of type float, expected str"),
    "an odd number": (b"\x80\4}(X\1\0\0\0wu.", "zip"),
    "negative extent": (entry(array(long(-1) + b"\x85", b"")), r"shape \[-1\], expected no negative extent"),
    "huge extent": (
        entry(array(long(1 << 60) + b"\x85", b"1234")),
        "has 4 bytes, expected 4611686018427387904",
    ),
    "huge empty": (entry(array(long(1 << 62) * 2 + b"K\0\x87", b"")), r"an array in .* has shape \["),
    "many dimensions": (
        entry(array(b"(" + b"K\1" * 70 + b"t", b"1234")),
        "has 70 dimensions, expected at most",
    ),
    "a bool for an extent": (entry(array(b"\x88\x85", b"1234")), "a value of type bool, expected int"),
    "objects": (entry(array(b"K\1\x85", b"1234", b"O8")), 'dtype "O8", expected one of b1'),
    "fields": (entry(array(b"K\1\x85", b"1234", b"f4,f4")), 'dtype "f4,f4", expected one of b1'),
    "a call of ndarray": (entry(NDARRAY + long(1 << 40) + b"\x85\x85R"), "a call of numpy.ndarray"),
    "no content": (entry(NEW), '"w" in .* is an array without content'),
    "another class": (
        entry(NEW.replace(NDARRAY, DTYPE)),
        "an array of another class than numpy.ndarray",
    ),
    "big-endian": (
        entry(array(b"K\1\x85", b"1234").replace(b"\x87R\x89", b"\x87R(K\3X\1\0\0\0>NNNK\0K\0K\0tb\x89")),
        "a dtype that is no plain one of little-endian numbers",
    ),
    "encoded again and again": (
        entry(
            b"c_codecs\nencode\n\x94X\x40\0\0\0" + b"a" * 64 + b"X\6\0\0\0latin1\x86\x94R" + b"h\0h\1R" * 99
        ),
        "a text that is encoded again and again",
    ),
    "another encoding": (
        entry(b"c_codecs\nencode\nX\1\0\0\0aX\3\0\0\0zip\x86R"),
        "another encoding than latin1",
    ),
    "a backslash": (entry(b"c\\q\n\\q\n"), r'asks for "\\q.\\q" at byte'),
    "a mark": (b"\x80\4u.", "no mark"),
    "nothing": (b"\x80\4.", "nothing, expected a value"),
}


@pytest.mark.parametrize("case", PICKLES)
def test_a_hostile_pickle(tmp_path: Path, case: str) -> None:
    content, text = PICKLES[case]
    file = tmp_path / "x.pdparams"
    file.write_bytes(content)
    if text:
        with pytest.raises(epl.Error, match=text) as error:
            measured(lambda: parameters.read_state(file), len(content))
        assert str(file) in str(error.value)
    else:
        measured(lambda: parameters.read_state(file), len(content))


def measured(action: Callable[[], Any], size: int = 0) -> None:
    """Runs an action in memory and time that a file of this size may take."""
    begin = time.process_time()  # of this process alone: others may keep it waiting
    tracemalloc.start()
    try:
        action()
    finally:
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < _MOST_MEMORY + 200 * size
        assert time.process_time() - begin < _MOST_SECONDS


def tensor(dims: list[int], content: bytes, data_type: int = 5, levels: bytes = b"\0" * 8) -> bytes:
    description = schema.message("VarType.TensorDesc")(data_type=data_type, dims=dims).SerializeToString()
    return b"\0" * 4 + levels + b"\0" * 4 + struct.pack("<i", len(description)) + description + content


STREAMS: dict[str, tuple[bytes, str]] = {
    "whole": (tensor([1], b"1234"), ""),
    "truncated": (tensor([1], b"123"), "ends in the midst of a tensor: expected 4 bytes at 24, found 3"),
    "huge": (tensor([1 << 40], b"1234"), "ends in the midst of a tensor: expected 4398046511104 bytes"),
    "overflow": (tensor([1 << 62, 1 << 62], b"1234"), "ends in the midst of a tensor: expected 8507"),
    "negative": (tensor([-1], b"1234"), r"tensor 0 of .* has shape \[-1\], expected no negative extent"),
    "negative twice": (tensor([-1, -1], b"1234"), r"has shape \[-1, -1\], expected no negative extent"),
    "huge empty": (tensor([1 << 62, 1 << 62, 0], b""), r"tensor 0 of .* has shape \["),
    "dimensions": (tensor([1] * 1000, b"1234"), "has 1000 dimensions, expected at most 9"),
    "dtype": (tensor([1], b"1234", 23), "has a dtype of number 23, which is not supported"),
    "version": (b"\1" + tensor([1], b"1234")[1:], "has a tensor of version 1 at byte 0, expected 0"),
    "levels": (tensor([1], b"1234", levels=b"\xff" * 8), "has 18446744073709551615 levels of LoD"),
    "description": (b"\0" * 16 + struct.pack("<i", -1), "expected -1 bytes at 20"),
    "no description": (b"\0" * 16 + struct.pack("<i", 0), "has a description without a dtype"),
}


@pytest.mark.parametrize("case", STREAMS)
def test_a_hostile_stream(tmp_path: Path, case: str) -> None:
    content, text = STREAMS[case]
    (tmp_path / "w").write_bytes(content)
    if text:
        with pytest.raises(epl.Error, match=text) as error:
            measured(lambda: parameters.read_folder(tmp_path, ["w"]))
        assert str(tmp_path / "w") in str(error.value)
    else:
        measured(lambda: parameters.read_folder(tmp_path, ["w"]))


def test_bools_are_bools_whatever_their_bytes(tmp_path: Path) -> None:
    (tmp_path / "w").write_bytes(tensor([3], b"\0\1\7", 0))
    found = parameters.read_folder(tmp_path, ["w"])["w"]
    assert found.view(np.uint8).tolist() == [0, 1, 1]


def mutated(content: bytes, draw: random.Random) -> bytes:
    """A content with one to four changes: bits, bytes, numbers, cuts, repetitions, swaps."""
    found = bytearray(content)
    for _ in range(draw.randint(1, 4)):
        at, size = draw.randrange(len(found) + 1), draw.choice((1, 1, 2, 4, 8, 32))
        piece = found[at : at + size]
        match draw.randrange(6):
            case 0:
                found[at : at + size] = bytes(draw.randrange(256) for _ in piece)
            case 1:
                found[at : at + size] = draw.choice((b"\xff", b"\0", b"\x7f")) * len(piece)
            case 2:
                del found[at : at + size]
            case 3:
                found[at:at] = piece
            case 4:
                other = draw.randrange(len(found) + 1)
                found[at : at + size] = found[other : other + size]
            case 5:
                del found[at + draw.randrange(64) * 8 :]
    return bytes(found)


@pytest.mark.parametrize(
    "name", ["trained2.pdopt", "trained4.pdopt", "tensors.pdparams", "named.pdparams", "persistables.bin"]
)
def test_mutants_of_a_file_are_errors_or_tensors(tmp_path: Path, name: str) -> None:
    program = epl.paddle.load(FILES / "trained.program")
    content, draw, errors = (FILES / name).read_bytes(), random.Random(len(name)), 0
    file = tmp_path / name
    for _ in range(_MUTANTS):
        file.write_bytes(mutated(content, draw))
        try:
            measured(lambda: program.read_parameters(file))
        except epl.Error:
            errors += 1
    assert errors > _MUTANTS // 2


@pytest.mark.parametrize("name", ["trained2.pdopt", "trained4.pdopt", "tensors.pdparams"])
def test_mutants_of_a_state_are_errors_or_tensors(tmp_path: Path, name: str) -> None:
    content, draw = (FILES / name).read_bytes(), random.Random(len(name))
    file, read = tmp_path / name, 0
    for _ in range(_MUTANTS):
        file.write_bytes(mutated(content, draw))
        try:
            found = parameters.read_state(file)
        except epl.Error:
            continue
        read += 1
        assert all(isinstance(each, np.ndarray) and each.dtype != object for each in found.values())
    assert read


def test_mutants_of_a_program_are_errors_or_programs() -> None:
    content, draw = (FILES / "trained.program").read_bytes(), random.Random(1)
    errors = 0
    for _ in range(_MUTANTS // 3):
        try:
            epl.paddle.load(mutated(content, draw))
        except epl.Error:
            errors += 1
    assert errors
