"""Tables that are saved, loaded and in checkpoints, by one worker whose server is in this process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jax
import numpy as np
import optax
import pytest
from safetensors.numpy import save_file

import epl
from epl.tables.keeping import KEEPING
from table_steps import DIM, IDS, alone, batches, first_params, names, parallel, restart, rows_of, table

pytestmark = pytest.mark.usefixtures("own_servers")
MOMENTUM = optax.sgd(0.1, momentum=0.9)


def trained(optimizer: Any = MOMENTUM, **options: Any) -> tuple[Any, epl.Table]:
    """Parameters and a table after three steps."""
    step, params, user = parallel(), first_params(), table(optimizer, **options)
    for batch in batches(3):
        params, user, _ = step(params, user, *batch)
    return params, user


def test_a_loaded_table_goes_on_as_it_would_have(tmp_path: Path) -> None:
    given = batches(6)
    params, user = trained()
    assert user.save(tmp_path / "new") == IDS
    saved, first = rows_of(user, np.arange(IDS)), np.arange(IDS)
    losses, step = [], parallel()
    for ids, y in given[3:]:
        params, user, loss = step(params, user, ids, y)
        losses.append(float(loss))
    expected = rows_of(user, first)
    user.load(tmp_path / "new")
    np.testing.assert_array_equal(rows_of(user, first), saved)
    restart()
    params = jax.tree.map(np.asarray, trained()[0])
    restart()
    step, user = parallel(), table(MOMENTUM)
    user.load(tmp_path / "new")
    found = []
    for ids, y in given[3:]:
        params, user, loss = step(params, user, ids, y)
        found.append(float(loss))
    assert found == losses
    np.testing.assert_array_equal(rows_of(user, first), expected)


def test_a_save_takes_the_place_of_the_one_before(tmp_path: Path) -> None:
    params, user = trained()
    (tmp_path / "user.0badc0de.parts").mkdir()
    (tmp_path / "users.0badc0de.parts").mkdir()
    with pytest.raises(
        epl.Error, match=r'has no rows of table "user": the save to ".*0badc0de.parts" did not'
    ):
        user.load(tmp_path)
    for _ in range(2):
        user.save(tmp_path)
        before = rows_of(user, np.arange(IDS))
        params, user, _ = parallel()(params, user, *batches(1)[0])
        user.load(tmp_path)
        np.testing.assert_array_equal(rows_of(user, np.arange(IDS)), before)
        assert len(names(tmp_path)) == 3
    (manifest,) = tmp_path.glob("*.json")
    found = json.loads(manifest.read_text())
    assert (found["table"], found["rows"]) == ("user", IDS)


def test_what_is_exported_is_loaded(tmp_path: Path) -> None:
    _, user = trained()
    before = rows_of(user, np.arange(IDS))
    for _ in range(2):  # the folder is made, or there
        user.export(tmp_path / "more" / "all")
    restart()
    user = table(MOMENTUM)
    user.load(tmp_path / "more" / "all")
    step = alone(lambda user, ids, y: 0.0 * user.lookup(ids).sum() + y.sum())
    user, _ = step(user, *batches(1)[0])
    assert (rows_of(user, np.arange(IDS)) != before).any(), "momentum goes on"
    user.load(tmp_path / "more" / "all", values_only=True)
    user, _ = step(user, *batches(1)[0])
    np.testing.assert_array_equal(rows_of(user, np.arange(IDS)), before)


def test_values_are_loaded_whatever_trained_them(tmp_path: Path) -> None:
    value = np.arange(2 * DIM, dtype=np.float32).reshape(2, DIM)
    file = tmp_path / "rows.safetensors"
    save_file({"ids": np.array([3, 2**40]), "value": value}, file)
    user = table(optax.adagrad(0.1))
    user.load(file, values_only=True)
    step = alone(lambda user, ids, y: 0.0 * user.lookup(ids).sum() + y.sum())
    user, _ = step(user, *batches(1)[0])
    np.testing.assert_array_equal(rows_of(user, np.array([3, 2**40])), value)
    np.testing.assert_array_equal(rows_of(user, np.array([1])), np.full((1, DIM), 0.5))
    with pytest.raises(epl.ProcessError, match=r'rows.safetensors" has no tensor "slot.user.opt_state.*'):
        user.load(file)
    np.testing.assert_array_equal(rows_of(user, np.array([3])), value[:1], "what was there")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"dim": 2 * DIM}, r'"value" with shape \[\d+,4\], expected \[\d+,8\]'),
        ({"dtype": "bfloat16"}, r'"value" with dtype "F32", expected "BF16"'),
        ({"optimizer": optax.adam(0.1)}, r'has no tensor "slot.user.opt_state\[0\].count"'),
    ],
)
def test_rows_of_another_table_are_refused(tmp_path: Path, options: Any, expected: str) -> None:
    trained()[1].save(tmp_path)
    restart()
    user = table(**({"optimizer": MOMENTUM} | options))
    user.load(tmp_path)
    step = alone(lambda user, ids, y: user.lookup(ids).astype("float32").sum() + y.sum())
    for _ in range(2):  # the first step does not begin without the rows
        with pytest.raises(epl.ProcessError, match=f"server 0: file .*{expected}"):
            step(user, *batches(1)[0])
    KEEPING.loads.clear()


def test_damage_is_named(tmp_path: Path) -> None:
    _, user = trained()
    before = rows_of(user, np.arange(IDS))
    user.save(tmp_path)
    (parts,) = tmp_path.glob("*.parts")
    (manifest,) = tmp_path.glob("*.json")
    files = sorted(parts.iterdir())
    whole = files[0].read_bytes()

    def error() -> str:
        with pytest.raises(epl.Error) as raised:
            user.load(tmp_path)
        np.testing.assert_array_equal(rows_of(user, np.arange(IDS)), before)
        return str(raised.value)

    files[0].write_bytes(whole[:-1])
    assert f'file "{files[0]}" has tensor' in error()
    files[0].write_bytes(b"")
    assert f'file "{files[0]}" has no header of safetensors' in error()
    files[0].write_bytes(whole)
    text = manifest.read_text()
    manifest.write_text(text[:-5])
    assert f'"{manifest}" is no manifest of a saved table: ' in error()
    manifest.write_text(text.replace("user", "item"))
    assert "expected version 1 of table \"user\", found {'version': 1, 'table': 'item'" in error()
    manifest.write_text(text.replace(f'"rows": {IDS}', f'"rows": {IDS + 1}'))
    with pytest.raises(
        epl.ProcessError, match=f'has {IDS} rows of table "user", expected the {IDS + 1} that'
    ):
        user.load(tmp_path)
    manifest.write_text(text)
    if len(files) > 1:
        files[0].unlink()
        assert 'lacks rows of table "user" that server 0 of 1 has saved' in error()
    for each in parts.iterdir():
        each.unlink()
    assert f'folder "{parts}" has no rows of table "user"' in error()
    parts.rmdir()
    assert f'says that rows are in "{parts}", which is not there' in error()
    with pytest.raises(epl.Error, match=r'none" has no rows of table "user": it is not there'):
        user.load(tmp_path / "none")


def test_saves_that_fail_leave_nothing(tmp_path: Path) -> None:
    long = "u" * 230  # servers' files have longer names than a file system takes
    _, user = trained(name=long)
    with pytest.raises(epl.ProcessError, match="server 0: cannot create"):
        user.save(tmp_path / "one")
    assert names(tmp_path / "one") == []
    (tmp_path / "file").touch()
    with pytest.raises(epl.Error, match=f'table "{long}" cannot be saved in ".*file/.*": .*Not a directory'):
        user.save(tmp_path / "file")
    with pytest.raises(epl.Error, match=f'table "{long}" cannot be saved in ".*file": .*File exists'):
        user.export(tmp_path / "file")


@pytest.mark.parametrize("values_only", [False, True])
def test_ids_that_a_table_cannot_have_are_refused(tmp_path: Path, values_only: bool) -> None:
    file, value = tmp_path / "rows.safetensors", np.ones((2, DIM), np.float32)
    user = trained(optax.sgd(0.25), rows=IDS, padding=IDS - 1)[1]
    before = rows_of(user, np.arange(IDS))
    for wrong, expected in [
        (IDS, f'id {IDS}, expected ids of 0 to {IDS - 1}, which table "user" has'),
        (-2, f'id -2, expected ids of 0 to {IDS - 1}, which table "user" has'),
        (IDS - 1, f'id {IDS - 1}, the padding of table "user", expected no row of it'),
    ]:
        save_file({"ids": np.array([3, wrong]), "value": value}, file)
        with pytest.raises(epl.ProcessError, match=f'server 0: file "{file}" has {expected}'):
            user.load(file, values_only=values_only)
        np.testing.assert_array_equal(rows_of(user, np.arange(IDS)), before)
    save_file({"ids": np.array([3, 4]), "value": value}, file)
    user.load(file, values_only=values_only)
    np.testing.assert_array_equal(rows_of(user, np.array([3, 4])), value)


@pytest.mark.parametrize("wrong", [5, None, "", "a\0b", b"folder"])
def test_paths_of_tables_are_paths(wrong: Any) -> None:
    user = table()
    for call, kind in [("save", "a folder"), ("export", "a folder"), ("load", "a folder or a file")]:
        with pytest.raises(epl.ArgumentError) as raised:
            getattr(user, call)(wrong)
        assert str(raised.value) == (
            f'path given to {call} of table "user" must be that of {kind}, in UTF-8, found {wrong!r}'
        )


def test_tables_are_saved_and_loaded_where_there_are_servers(tmp_path: Path) -> None:
    with pytest.raises(epl.ArgumentError, match='save of table "user" is called before the first call'):
        table().save(tmp_path)
    trained()
    tmp_path.joinpath("x").mkdir()
    for wrong, expected in [
        (table(name="item"), "is none that the steps"),
        (table(MOMENTUM, dim=DIM + 1), "its dim is 5, expected 4; give"),
    ]:
        for call in (wrong.save, wrong.export, wrong.load):
            with pytest.raises(epl.ArgumentError, match=expected):
                call(tmp_path / "x")
    assert names(tmp_path / "x") == []
    restart()
    table(name="item").load(tmp_path / "x")
    with pytest.raises(epl.ArgumentError, match='"item" is none that the steps'):
        trained()
    KEEPING.loads.clear()
