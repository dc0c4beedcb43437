"""Arrays on cards for other libraries: what DLPack gives of them, and who may write the memory when.

No library for cards is installed where these tests run: `dlpack_consumer` takes the capsules.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from test_cuda import PLUGIN, run_on

pytestmark = pytest.mark.skipif(not PLUGIN.exists(), reason="built without CUDA's headers")

STEP = """
import gc
import jax, jax.numpy as jnp, numpy as np, epl
from dlpack_consumer import Taken, free_bytes

def step(w, x):
    return w + x.sum(0), w.sum()

def parallel(devices, **more):
    return epl.parallelize(step, devices=devices, state="w", batch="x", **more)

def refused(kind, action):
    try:
        action()
    except kind as error:
        return str(error)
    raise AssertionError("no error")

values = np.arange(12, dtype=np.float32).reshape(4, 3)
x = np.ones((2, 4, 3), np.float32)
"""


def run(code: str, tmp_path: Path, cards: int = 1, findings: int = 0) -> str:
    return run_on(cards, STEP + code, tmp_path, findings=findings)


def test_another_library_reads_an_array_where_it_lies(tmp_path: Path) -> None:
    run(
        """
w, _ = parallel("cuda:0")(values, x)
assert w.__dlpack_device__() == (2, 0)
for stream in (None, 1, 2, -1, 12345):
    first, second = Taken(w.__dlpack__(stream=stream)), Taken(w.__dlpack__(max_version=(1, 0)))
    assert (first.is_versioned, second.is_versioned, second.flags) == (False, True, 1)  # read only
    for taken in (first, second):
        assert taken.device == (2, 0) and taken.dtype == (2, 32, 1)
        assert (taken.shape, taken.strides) == ((4, 3), (3, 1))
        assert (taken.read(np.float32) == values + 2).all()
    assert first.data == second.data
    first.give_back(), second.give_back()
assert (np.asarray(w) == values + 2).all() and (jnp.asarray(w) == values + 2).all()
""",
        tmp_path,
    )


def test_a_step_leaves_what_another_library_holds(tmp_path: Path) -> None:
    """Also afterwards: work that the library has enqueued may still read it."""
    run(
        """
own = parallel("cuda:0")
w, _ = own(values, x)
taken = Taken(w.__dlpack__())
for _ in range(3):
    w, _ = own(w, x)
assert (taken.read(np.float32) == values + 2).all() and (np.asarray(w) == values + 8).all()
taken.give_back()

w, _ = own(values, x)
taken = Taken(w.__dlpack__())
data = taken.data
taken.give_back()
w, _ = own(w, x)
taken = Taken(w.__dlpack__())
assert taken.data != data and (taken.read(np.float32) == values + 4).all()
""",
        tmp_path,
    )


def test_the_memory_lives_until_the_last_one_lets_go(tmp_path: Path) -> None:
    run(
        """
big = np.ones((1 << 14, 16), np.float32)
own = epl.parallelize(lambda w, s: (w + s, s), devices="cuda:0", state="w")
w, _ = own(big, np.float32(1))
first, second = Taken(w.__dlpack__()), Taken(w.__dlpack__(max_version=(1, 1)))
w.__dlpack__(), w.__dlpack__(max_version=(1, 0))  # nobody takes the tensor out: the capsules let go
before = free_bytes(0)
w.delete()
gc.collect()
assert free_bytes(0) == before and (first.read(np.float32) == 2).all()
first.give_back()
assert free_bytes(0) == before and (second.read(np.float32) == 2).all()
second.give_back()
assert free_bytes(0) >= before + big.nbytes
""",
        tmp_path,
    )


@pytest.mark.skipif("EPL_TEST_ON_DRIVER" in os.environ, reason="the stand-in of a GPU")
def test_memory_that_was_given_back_is_gone(tmp_path: Path) -> None:
    """The stand-in knows: what a library reads after its deleter is a finding."""
    run(
        """
w, _ = parallel("cuda:0")(values, x)
taken = Taken(w.__dlpack__())
w.delete()
taken.give_back()
refused(AssertionError, lambda: taken.read(np.float32))
""",
        tmp_path,
        findings=1,
    )


def test_copies_are_the_librarys_own(tmp_path: Path) -> None:
    run(
        """
w, _ = parallel("cuda:0x2")(values, x)
taken, shared = Taken(w.__dlpack__(copy=True, max_version=(1, 0))), Taken(w.__dlpack__(copy=False))
assert taken.data != shared.data and taken.flags == 2  # a copy, that may be written
assert (taken.read(np.float32) == values + 2).all()
host = np.from_dlpack(w, device="cpu")
assert (host == values + 2).all()
said = refused(BufferError, lambda: np.from_dlpack(w, device="cpu", copy=False))
assert "copy=False does not go with the host as dl_device" in said
assert (jnp.from_dlpack(jnp.asarray(w)) == values + 2).all()
""",
        tmp_path,
    )


def test_types_and_shapes_are_those_of_the_array(tmp_path: Path) -> None:
    run(
        """
kinds = {"float64": (2, 64), "float16": (2, 16), "bfloat16": (4, 16), "int8": (0, 8), "uint8": (1, 8),
         "int32": (0, 32), "uint32": (1, 32), "bool": (6, 8)}
with jax.enable_x64(True):
    arrays = [jnp.ones(shape, name) for name in kinds for shape in [(2, 3), (0, 3)]] + [jnp.ones((), "int64")]
    own = epl.parallelize(lambda w, s: ([jnp.where(s, v, v) for v in w], s), devices="cuda:0", state="w")
    found, _ = own(arrays, True)
for before, after in zip(arrays, found):
    taken = Taken(after.__dlpack__())
    expected = kinds.get(before.dtype.name, (0, 64))
    assert taken.dtype == (*expected, 1) and taken.shape == before.shape, (taken.dtype, before)
    assert bool(taken.data) == bool(before.size)
    if before.shape == (2, 3):
        assert (taken.read(before.dtype) == np.asarray(before)).all()
""",
        tmp_path,
    )


def test_an_array_in_parts_names_them(tmp_path: Path) -> None:
    run(
        """
def split(w, x):
    with epl.split(2):
        return w * 2, jnp.tanh(x @ w).sum()

before = np.arange(32, dtype=np.float32).reshape(4, 8)
own = epl.parallelize(split, devices="cuda:0-1", state=0, batch=1)
w, _ = own(before, np.ones((6, 4), np.float32))
for action in (w.__dlpack__, w.__dlpack_device__):
    said = refused(BufferError, action)
    assert "shape (4, 8) is in 2 parts on cards 0, 1" in said and "addressable_shards" in said, said
assert (np.from_dlpack(w, device="cpu") == 2 * before).all()
assert {str(device) for device in w.devices()} == {"cuda:0", "cuda:1"}
shards = w.addressable_shards
assert [shard.__dlpack_device__() for shard in shards] == [(2, 0), (2, 1)]
later, _ = own(w, np.ones((6, 4), np.float32))
for shard in shards:  # what a step has consumed meanwhile
    part = 2 * before[shard.index]
    assert (np.asarray(shard.data) == part).all() and (np.from_dlpack(shard, device="cpu") == part).all()
    taken = Taken(shard.__dlpack__())
    assert taken.device == shard.__dlpack_device__() and (taken.read(np.float32) == part).all()
assert (np.asarray(later) == 4 * before).all()
""",
        tmp_path,
        cards=2,
    )


def test_a_whole_copy_on_each_card_is_that_of_the_first(tmp_path: Path) -> None:
    run(
        """
w, _ = parallel("cuda:1,0")(values, x)
assert w.__dlpack_device__() == (2, 1) and Taken(w.__dlpack__(dl_device=(2, 1))).device == (2, 1)
assert [shard.__dlpack_device__() for shard in w.addressable_shards] == [(2, 1), (2, 0)]
said = refused(BufferError, lambda: w.__dlpack__(dl_device=(2, 0)))
assert "on card 1 is asked for on dl_device=(2, 0), expected (2, 1), or (1, 0)" in said, said
assert refused(BufferError, lambda: w.__dlpack__(dl_device=(10, 0)))
for options, message in [
    ({"stream": 0}, "0 could be either default stream"),
    ({"stream": "s"}, "stream must be"),
    ({"max_version": 1}, "max_version must be None or a tuple of two integers, found 1"),
    ({"dl_device": (2,)}, "dl_device must be"),
    ({"copy": 3}, "copy must be None, True or False, found 3"),
]:
    assert message in refused(epl.ArgumentError, lambda: w.__dlpack__(**options))
""",
        tmp_path,
        cards=2,
    )


def test_devices_are_named_by_their_cards(tmp_path: Path) -> None:
    run(
        """
w, _ = parallel("cuda:1x2")(values, x)
devices = sorted(w.devices(), key=lambda device: device.id)
assert list(map(str, devices)) == ["cuda:1", "cuda:1"] and [device.id for device in devices] == [0, 1]
assert devices[0] == epl.dlpack.CudaDevice(0, 1) and devices[0].platform == "gpu"
assert not w.committed and w.device == jax.devices()[0]  # where JAX computes with it
w.delete()
assert "was deleted" in refused(epl.Error, w.__dlpack__)
on_cpu, _ = parallel("cpu:2")(values, x)
assert on_cpu.devices() == {jax.devices()[0]} and on_cpu.__dlpack_device__() == (1, 0)
assert np.from_dlpack(on_cpu).ctypes.data == np.asarray(on_cpu).ctypes.data
""",
        tmp_path,
        cards=2,
    )


@pytest.mark.parametrize("threads", [0, 1])
def test_the_calling_thread_keeps_its_card(threads: int, tmp_path: Path) -> None:
    """Libraries take a thread's card for theirs. With one thread it is the caller's that runs the step."""
    run(
        f"""
from dlpack_consumer import current, enter
config = {{"cluster.num_threads": {threads}}}
enter(2)
own = parallel("cuda:0-1", config=config)
w, total = own(values, x)
for _ in range(3):
    taken = Taken(w.__dlpack__())
    w, total = own(w, x)
    assert current() == 2 and float(total) > 0 and current() == 2
    taken.give_back()
    assert current() == 2
assert (np.asarray(w) == values + 8).all() and current() == 2
compiled = own.lower(w, x).compile()
with compiled.trace({str(tmp_path / "t.json")!r}):
    w, _ = compiled(w, x)
    w.block_until_ready()
assert current() == 2
w.copy(), w.addressable_shards[0].data
assert current() == 2
del own, compiled, w
gc.collect()
assert current() == 2
""",
        tmp_path,
        cards=3,
    )
