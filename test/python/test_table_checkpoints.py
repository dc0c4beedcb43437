"""Tables in checkpoints, of one worker whose server is in this process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import numpy as np
import optax
import pytest
from safetensors.numpy import load_file, save_file

import epl
from table_steps import DIM, IDS, batches, first_params, names, parallel, restart, rows_of, table, train

pytestmark = pytest.mark.usefixtures("own_servers")
MOMENTUM = optax.sgd(0.1, momentum=0.9)


def trained(**options: Any) -> tuple[Any, epl.Table]:
    """Parameters and a table after three steps."""
    params, user, _ = train(parallel(), table(MOMENTUM, **options), batches(3))
    return params, user


def test_checkpoints_have_tables(tmp_path: Path) -> None:
    given, step = batches(7), parallel()
    params, user = first_params(), table(MOMENTUM)
    kept = {}
    with epl.Checkpoints(tmp_path, keep=2) as checkpoints:
        for k, batch in enumerate(given[:4]):
            params, user, _ = step(params, user, *batch)
            checkpoints.save(k, {"params": params, "more": [user]})
            kept[k] = rows_of(user, np.arange(IDS))
        checkpoints.wait()
        assert (checkpoints.steps, names(tmp_path / "tables")) == ([2, 3], ["2", "3"])
        for batch in given[4:]:
            params, user, loss = step(params, user, *batch)
        restored = checkpoints.restore({"params": first_params(), "more": [user]}, 2, only="more")
        assert restored["more"] == [user]
        np.testing.assert_array_equal(rows_of(user, np.arange(IDS)), kept[2])
    restart()
    (tmp_path / "tables" / "9").mkdir()  # of a save that was cut off
    with epl.Checkpoints(tmp_path, keep=2) as checkpoints:
        again, user = parallel(), table(MOMENTUM)
        layout = epl.layout_of(again.lower(first_params(), user, *given[0]))
        restored = checkpoints.restore({"params": layout[0], "more": [layout[1]]})
        params, (user,) = restored["params"], restored["more"]
        for batch in given[4:]:
            params, user, found = again(params, user, *batch)
        assert float(found) == float(loss)
        assert "9" in names(tmp_path / "tables")
        checkpoints.save(10, user)
        checkpoints.wait()
        assert names(tmp_path / "tables") == ["10", "3"]
        before = rows_of(user, np.arange(IDS))
        params, user, _ = again(params, user, *given[0])
        assert checkpoints.restore(user, 10) is user
        np.testing.assert_array_equal(rows_of(user, np.arange(IDS)), before)


def test_checkpoints_say_what_is_a_table(tmp_path: Path) -> None:
    params, user = trained()
    with epl.Checkpoints(tmp_path) as checkpoints:
        checkpoints.save(1, {"params": params, "user": user})
        array = {"params": params, "user": np.zeros((IDS, DIM), np.float32)}

        def error(layout: Any, step: int = 1) -> str:
            with pytest.raises(epl.StateError) as raised:
                checkpoints.restore(layout, step)
            return str(raised.value)

        assert '"user" (table "user") has no place in the tree' in error({"params": params})
        assert f'"user" is table "user", expected float32[{IDS},{DIM}]' in error(array)
        assert '"user" is table "user", expected table "item"' in error(
            {"params": params, "user": table(name="item")}
        )
        assert checkpoints.restore({"params": params}, only="params").keys() == {"params"}
        checkpoints.save(2, array)
        assert f'"user" is float32[{IDS},{DIM}], expected table "user"' in error(
            {"params": params, "user": user}, 2
        )
        (tmp_path / "tables" / "1" / "tables.json").write_text("[]")
        assert 'tables.json" does not say which tables are saved' in error({"params": params, "user": user})


def test_orbax_finds_how_many_rows_there_are(tmp_path: Path) -> None:
    orbax = pytest.importorskip("orbax.checkpoint")
    params, user = trained()
    with epl.Checkpoints(tmp_path) as checkpoints:
        checkpoints.save(1, {"params": params, "user": user})
    found = orbax.PyTreeCheckpointer().restore(tmp_path / "1" / "default")
    assert found["user"] == IDS
    np.testing.assert_array_equal(found["params"]["w"], params["w"])
    rows = [load_file(path)["value"] for path in sorted((tmp_path / "tables" / "1").glob("*.safetensors"))]
    assert sum(map(len, rows)) == IDS
    assert jax.tree.leaves(user) == []


def test_a_checkpoint_that_servers_cannot_write_is_none(tmp_path: Path) -> None:
    _, user = trained(name="u" * 230)  # servers' files have longer names than a file system takes
    with epl.Checkpoints(tmp_path / "two") as checkpoints:
        with pytest.raises(epl.ProcessError, match="server 0: cannot create"):
            checkpoints.save(1, {"user": user, "w": np.ones(2)})
        checkpoints.save(1, {"w": np.ones(2)})
    assert names(tmp_path / "two") == ["1", "tables"]
    assert names(tmp_path / "two" / "tables") == []


def test_tables_are_saved_where_there_are_servers(tmp_path: Path) -> None:
    with (
        epl.Checkpoints(tmp_path) as checkpoints,
        pytest.raises(epl.ArgumentError, match='a save of table "user" is called before the first call'),
    ):
        checkpoints.save(1, {"w": np.zeros(2), "user": table()})


def test_safetensors_have_no_tables(tmp_path: Path) -> None:
    with pytest.raises(
        epl.UnsupportedError, match=r'"user" is not saved: its rows are on servers; Table\.save'
    ):
        epl.save_safetensors(tmp_path / "all.safetensors", {"user": table()})
    save_file({"w": np.ones(2)}, tmp_path / "w.safetensors")
    with pytest.raises(epl.StateError, match='"user" is not in it, expected table "user"'):
        epl.load_safetensors(tmp_path / "w.safetensors", {"w": np.ones(2), "user": table()})
    user = table()
    found = epl.load_safetensors(tmp_path / "w.safetensors", {"w": np.ones(2), "user": user}, only="w")
    assert found["user"].spec == user.spec
