"""Tables on servers as the runtime's module has them, beside NumPy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from safetensors.numpy import load_file

import epl
from epl import runtime
from epl.compile import plan_bytes
from epl.servers.compiling import server_level, server_options

DIM = 3
ROWS = 256  # that a plan updates at once
SEED = 11
SCALE = 0.25


@epl.parallelize(state=("rows", "sums"), batch=("gradients",), devices="cpu:1")
def momentum(rows: Any, sums: Any, gradients: Any) -> Any:
    sums = 0.5 * sums + gradients  # powers of two: fused or not, it has the same bits
    return rows - 0.25 * sums, sums


def momentum_of_numpy(row: Any, sums: Any, gradient: Any) -> Any:
    sums = np.float32(0.5) * sums + gradient
    return row - np.float32(0.25) * sums, sums


def first_row(identifier: int) -> np.ndarray[Any, Any]:
    """What `runtime/servers/store/FirstRows.h` says of uniform first values."""
    words = np.random.Philox(key=[SEED, 0], counter=[0, identifier, 0, 0]).random_raw(DIM)
    return (SCALE * (2 * ((words >> np.uint64(11)) / 2.0**53) - 1)).astype(np.float32)


class Cluster:
    """A worker with servers as threads of this process, which hold the table "user"."""

    def __init__(self, servers: int, admit: int = 1) -> None:
        zeros = jnp.zeros((ROWS, DIM), jnp.float32)
        lowered = momentum.lower(zeros, zeros, zeros)
        plan = plan_bytes(lowered.as_text(), server_options(server_level()), "momentum")
        ones = np.ones(DIM, np.float32)
        table = ("user", "float32", DIM, [("sums", "float32", [DIM], ones.tobytes())],
                 ("uniform", SCALE), SEED, 0, admit, 2**63, -1)  # fmt: skip
        arguments = [("parameter", -1), ("state", 0), ("gradient", 0)]
        module = runtime.module()
        job = module.ServersJob("sync", "end_job", 1, servers, 0, [], [(arguments, plan)], [table])
        local = module.LocalServers(servers, 2)
        self.worker = module.ServersWorker(job, 0, 1, local, {}, module.StreamOptions(), 180_000)
        self.step = self.worker.begin()

    def pull(self, *ids: Any, create: bool = True, padding: int | None = None) -> list[Any]:
        lookups = [(0, np.asarray(each, np.int64), create, padding) for each in ids]
        rows: list[Any] = self.worker.pull_rows(self.step, lookups)
        return rows

    def push(self, ids: Any, gradients: Any, padding: int | None = None) -> None:
        self.worker.push_rows(self.step, [(0, [np.asarray(ids, np.int64)], [gradients], padding)])
        self.step += 1


@pytest.mark.parametrize("servers", [1, 3])
def test_a_table_is_trained_as_rows_of_numpy(servers: int) -> None:
    cluster = Cluster(servers)
    random = np.random.default_rng(0)
    expected: dict[int, Any] = {}
    for _ in range(6):
        ids = random.integers(0, 600, (20, 30))
        [rows] = cluster.pull(ids)
        assert rows.shape == (20, 30, DIM)
        gradients = random.standard_normal((20, 30, DIM), np.float32)
        sums: dict[int, Any] = {}
        for index in np.ndindex(*ids.shape):
            own = expected.setdefault(int(ids[index]), (first_row(ids[index]), np.ones(DIM, np.float32)))
            np.testing.assert_array_equal(rows[index], own[0])
            sums[int(ids[index])] = sums.get(int(ids[index]), np.float32(0)) + gradients[index]
        for identifier, gradient in sums.items():
            expected[identifier] = momentum_of_numpy(*expected[identifier], gradient)
        cluster.push(ids, gradients)
    cluster.worker.finish(cluster.step)


def test_padding_has_zeros_and_no_row() -> None:
    cluster = Cluster(2)
    [rows] = cluster.pull([[4, -1], [-1, 9]], padding=-1)
    np.testing.assert_array_equal(rows[0, 1], 0)
    np.testing.assert_array_equal(rows[1, 1], first_row(9))
    cluster.push([[4, -1], [-1, 9]], np.ones((2, 2, DIM), np.float32), padding=-1)
    [rows] = cluster.pull([4, 9], [5], create=False)[:1]
    expected = [momentum_of_numpy(first_row(each), 1, np.ones(DIM, np.float32))[0] for each in (4, 9)]
    np.testing.assert_array_equal(rows, expected)


def test_servers_save_what_others_load(tmp_path: Path) -> None:
    cluster = Cluster(3)
    ids = np.arange(50)
    cluster.pull(ids)
    cluster.push(ids, np.ones((50, DIM), np.float32))
    assert cluster.worker.save_table(cluster.step, 0, str(tmp_path)) == 50
    [saved] = cluster.pull(ids)
    tensors = [load_file(path) for path in sorted(tmp_path.iterdir())]
    assert sorted(path.name for path in tmp_path.iterdir())[0] == "user.server0of3.lane0of2.safetensors"
    for each in tensors:
        np.testing.assert_array_equal(each["value"], saved[each["ids"]])
        np.testing.assert_array_equal(each["slot.sums"], np.full((len(each["ids"]), DIM), 1.5, np.float32))
    assert sum(len(each["ids"]) for each in tensors) == 50
    other = Cluster(2)
    assert other.worker.load_table(other.step, 0, str(tmp_path)) == 50
    [loaded] = other.pull(ids)
    np.testing.assert_array_equal(loaded, saved)
    other.push([3, 7], np.ones((2, DIM), np.float32))
    changed = tmp_path / "changed"
    changed.mkdir()
    assert other.worker.export_table(other.step, 0, str(changed), False) == 50
    other.push([3, 7], np.ones((2, DIM), np.float32))
    assert other.worker.export_table(other.step, 0, str(changed), True) == 2
    assert other.worker.evict_table(other.step, 0, 1) == 48
    with pytest.raises(Exception, match=r'server \d: folder .* has no rows of table "user"'):
        other.worker.load_table(other.step, 0, str(tmp_path / "none"))


def test_what_does_not_fit_is_refused() -> None:
    cluster = Cluster(1)
    with pytest.raises(Exception, match='table "user": id -3 at position 1 of lookup 0 is below 0'):
        cluster.pull([1, -3])
    with pytest.raises(Exception, match=r'ids of table "user" are float32.*expected int64'):
        cluster.worker.pull_rows(cluster.step, [(0, np.ones(2, np.float32), True, None)])
    with pytest.raises(Exception, match="there is no table 1, expected one below 1"):
        cluster.worker.pull_rows(cluster.step, [(1, np.ones(2, np.int64), True, None)])
    with pytest.raises(
        Exception, match=r'what is pushed for table "user" is float32\[2,4\], expected float32\[2,3\]'
    ):
        cluster.push([1, 2], np.ones((2, 4), np.float32))
