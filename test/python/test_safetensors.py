"""States as files of safetensors, beside the library's own reader and writer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from safetensors import numpy as library

import epl
from checkpoint_layouts import LAYOUTS, assert_same, layout_of, new_state, numbers, trained, tree_of
from processes import run_python


def plain(tree: dict[str, Any]) -> dict[str, Any]:
    """Without the key, which the format has not."""
    return {name: part for name, part in tree.items() if name != "key"}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_library_reads_what_is_saved_and_a_layout_takes_it(layout: str, tmp_path: Path) -> None:
    tree = plain(tree_of(trained(layout, new_state(), 2)))
    file = tmp_path / "state.safetensors"
    epl.save_safetensors(file, tree)
    assert [path.name for path in tmp_path.iterdir()] == [file.name]
    expected = numbers(tree)
    read = library.load_file(file)
    body = expected["params"]["body"]
    assert_same({name: read[f"params.body.{name}"] for name in body}, body)
    assert_same(read["optimizer.0.mu.head.half"], expected["optimizer"][0].mu["head"]["half"])
    assert len(read) == len(jax.tree.leaves(tree))
    for target in ("one device", "ZeRO v3", "split, 2 replicas", "replicas, then split"):
        restored = epl.load_safetensors(file, plain(layout_of(target)))
        assert all(isinstance(leaf, epl.Array) for leaf in jax.tree.leaves(restored))
        assert_same(numbers(restored), expected)


@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "uint8", "int16", "uint32", "int64", "float16", "bfloat16", "float64"]
)
def test_every_type_of_elements(dtype: str, tmp_path: Path) -> None:
    tree = {
        "a": np.arange(6).reshape(2, 3).astype(jnp.dtype(dtype)),
        "b": np.ones((), np.int8),
        "c": np.zeros((0, 2)),
    }
    epl.save_safetensors(tmp_path / "x", tree)
    assert_same(dict(sorted(library.load_file(tmp_path / "x").items())), tree)
    assert_same(epl.load_safetensors(tmp_path / "x", tree), tree)


def test_what_the_library_has_saved(tmp_path: Path) -> None:
    values = {"model.w": np.arange(6, dtype=np.float32).reshape(2, 3), "model.n": np.array(3)}
    library.save_file(values, tmp_path / "x")
    like = {"net": {"w": jnp.zeros((2, 3)), "n": 0}, "head": 1.5}
    found = epl.load_safetensors(tmp_path / "x", like, only="net", rename={"net": "model"})
    np.testing.assert_array_equal(found["net"]["w"], values["model.w"])
    assert isinstance(found["net"]["w"], jax.Array)
    assert (found["net"]["n"], found["head"]) == (3, 1.5)
    with pytest.raises(
        epl.StateError, match=r'x" does not fit: .*"net.w" is not in it, expected float32\[2,3\]'
    ):
        epl.load_safetensors(tmp_path / "x", like)


def test_what_is_wrong(tmp_path: Path) -> None:
    with pytest.raises(
        epl.ArgumentError, match=r'"k" is key<fry>, which safetensors has not: save jax.random.key_d'
    ):
        epl.save_safetensors(tmp_path / "x", {"k": jax.random.key(0)})
    with pytest.raises(epl.ArgumentError, match=r'"o" is object, which safetensors has not'):
        epl.save_safetensors(tmp_path / "x", {"o": object()})
    with pytest.raises(epl.ArgumentError, match=r'two arrays of the tree have the name "a.b"'):
        epl.save_safetensors(tmp_path / "x", {"a": {"b": 1.0}, "a.b": 2.0})
    with pytest.raises(epl.Error, match=r'cannot write ".*none/x": No such file'):
        epl.save_safetensors(tmp_path / "none" / "x", {"a": 1.0})
    with pytest.raises(epl.Error, match=r'cannot read ".*none" as safetensors'):
        epl.load_safetensors(tmp_path / "none", {"a": 1.0})
    (tmp_path / "cut").write_bytes(b"\x08\0\0\0\0\0\0\0{}")
    with pytest.raises(epl.Error, match=r'cannot read ".*cut" as safetensors'):
        epl.load_safetensors(tmp_path / "cut", {"a": 1.0})
    assert [path.name for path in tmp_path.iterdir()] == ["cut"]


def test_a_full_disk_leaves_the_file_that_was_there(tmp_path: Path) -> None:
    code = """
        import os, resource, numpy as np, epl
        path = os.environ["FOLDER"] + "/x"
        epl.save_safetensors(path, {"w": np.zeros(3)})
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, resource.RLIM_INFINITY))
        try:
            epl.save_safetensors(path, {"w": np.zeros(1_000_000)})
        except epl.Error as error:
            print(error)
        print(epl.load_safetensors(path, {"w": np.ones(3)}), os.listdir(os.environ["FOLDER"]))
    """
    printed = run_python(code, FOLDER=str(tmp_path))
    assert f'cannot write "{tmp_path}/x": File too large' in printed
    assert "{'w': array([0., 0., 0.])} ['x']" in printed
