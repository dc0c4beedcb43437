"""A thread that reads ahead: order, depth, errors, ends, states."""

from __future__ import annotations

import copy
import gc
import itertools
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import epl
from processes import run_python


def threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "epl.prefetch"]


def wait_until(is_true: Callable[[], bool], seconds: float = 10.0) -> None:
    end = time.monotonic() + seconds
    while not is_true():
        assert time.monotonic() < end, "it does not become true"
        time.sleep(0.002)


@pytest.fixture(autouse=True)
def _no_thread_is_left() -> Iterator[None]:
    """Those of a test that failed may still end."""
    wait_until(lambda: not threads())
    yield
    gc.collect()
    wait_until(lambda: not threads())


class Counter:
    """0, 1, 2, ... below `end`; `read` is how many have been read."""

    def __init__(self, end: int = sys.maxsize) -> None:
        self.read = 0
        self._end = end

    def __iter__(self) -> Counter:
        return self

    def __next__(self) -> int:
        if self.read == self._end:
            raise StopIteration
        self.read += 1
        return self.read - 1


@given(st.lists(st.integers()), st.integers(1, 9))
def test_items_come_in_order_each_once(items: list[int], depth: int) -> None:
    assert list(epl.prefetch(items, depth)) == items


@pytest.mark.parametrize("items", [[], [None, StopIteration, 1], "text", {"a": 1}, range(5000)], ids=repr)
def test_all_that_a_loop_takes(items: Any) -> None:
    assert list(epl.prefetch(items)) == list(items)


def test_the_end_stays_the_end() -> None:
    ahead = epl.prefetch([1])
    assert next(ahead) == 1
    for _ in range(3):
        assert next(ahead, None) is None


@pytest.mark.parametrize("depth", [1, 2, 5])
def test_so_many_are_read_ahead(depth: int) -> None:
    counter = Counter()
    ahead = epl.prefetch(counter, depth)
    for taken in range(20):
        wait_until(lambda taken=taken: counter.read == taken + depth)  # type: ignore[misc]
        time.sleep(0.005)
        assert counter.read == taken + depth
        assert next(ahead) == taken


def test_reading_goes_on_while_the_consumer_works() -> None:
    """Ten items, each of which takes 30 ms to read and 30 ms to use, take little more than ten of these."""

    def slow() -> Iterator[int]:
        for item in range(10):
            time.sleep(0.03)
            yield item

    begin = time.monotonic()
    for _ in epl.prefetch(slow()):
        time.sleep(0.03)
    assert time.monotonic() - begin < 0.5


@pytest.mark.parametrize("depth", [0, -1, 1.0, "2", None, True])
def test_a_depth_is_a_positive_integer(depth: Any) -> None:
    with pytest.raises(epl.ArgumentError, match="depth must be an integer of at least 1, found"):
        epl.prefetch([1], depth)


@pytest.mark.parametrize("iterator", [3, None, next])
def test_what_is_not_iterable(iterator: Any) -> None:
    with pytest.raises(epl.ArgumentError, match="iterator must be iterable, found"):
        epl.prefetch(iterator)


def failing_source() -> Iterator[int]:
    yield 1
    yield 2
    raise ValueError("a broken file")


def test_an_error_comes_where_the_item_would_have() -> None:
    ahead = epl.prefetch(failing_source(), 5)
    assert [next(ahead), next(ahead)] == [1, 2]
    with pytest.raises(ValueError, match="a broken file") as error:
        next(ahead)
    assert "failing_source" in [frame.name for frame in traceback.extract_tb(error.value.__traceback__)]
    assert list(ahead) == []


class Flaky(Counter):
    """Every third item cannot be read, and the next one can."""

    def __next__(self) -> int:
        item = super().__next__()
        if item % 3 == 2:
            raise OSError(item)
        return item


def test_a_source_that_goes_on_after_an_error_does() -> None:
    ahead, found = epl.prefetch(Flaky(8)), []
    while True:
        try:
            found.append(next(ahead))
        except OSError as error:
            found.append(-error.args[0])
        except StopIteration:
            break
    assert found == [0, 1, -2, 3, 4, -5, 6, 7]


@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt, GeneratorExit])
def test_errors_of_any_kind(error: type[BaseException]) -> None:
    def source() -> Iterator[int]:
        yield 1
        raise error

    ahead = epl.prefetch(source())
    assert next(ahead) == 1
    with pytest.raises(error):
        next(ahead)


def test_an_error_keeps_no_batch_alive() -> None:
    """The error goes without the garbage collector, and so does what its traceback holds."""
    gc.collect()
    gc.disable()
    try:
        with pytest.raises(ValueError, match="broken"):
            list(epl.prefetch(failing_source()))
        wait_until(lambda: not threads())
        assert not [thing for thing in gc.get_objects() if type(thing).__name__ == "_Reader"]
    finally:
        gc.enable()


def test_a_loop_that_is_left_ends_the_thread_and_the_generator() -> None:
    ended = threading.Event()

    def source() -> Iterator[int]:
        try:
            yield from Counter()
        finally:
            ended.set()

    for item in epl.prefetch(source(), 3):
        if item == 5:
            break
    del item
    wait_until(lambda: not threads())
    assert ended.is_set()


def test_an_error_of_the_consumer_ends_the_thread() -> None:
    def consume() -> None:
        for item in epl.prefetch(Counter()):
            assert item < 3

    with pytest.raises(AssertionError):
        consume()
    wait_until(lambda: not threads())


def test_close_ends_the_thread_and_the_items() -> None:
    counter = Counter()
    ahead = epl.prefetch(counter)
    assert next(ahead) == 0
    ahead.close()
    assert not threads()
    read = counter.read
    assert list(ahead) == []
    ahead.close()
    assert counter.read == read


def test_what_was_never_read_ends_too() -> None:
    for _ in range(20):
        epl.prefetch(Counter())
    wait_until(lambda: not threads())


def test_one_thread_reads_what_another_one_reads_ahead() -> None:
    assert list(epl.prefetch(epl.prefetch(range(100), 3), 2)) == list(range(100))


def test_several_consumers_share_the_items() -> None:
    ahead = epl.prefetch(range(2000))
    found: list[list[int]] = [[] for _ in range(4)]
    consumers = [threading.Thread(target=own.extend, args=(ahead,)) for own in found]
    for consumer in consumers:
        consumer.start()
    for consumer in consumers:
        consumer.join(20)
    assert sorted(itertools.chain(*found)) == list(range(2000))


# States


class WithGetState(Counter):
    """As grain's iterators, but the state is one object that changes as it goes on."""

    def __init__(self, end: int = 10) -> None:
        super().__init__(end)
        self.state = {"next": 0}

    def __next__(self) -> int:
        item = super().__next__()
        self.state["next"] = self.read
        return item

    def get_state(self) -> dict[str, int]:
        return self.state

    def set_state(self, state: dict[str, int]) -> None:
        self.state = dict(state)
        self.read = state["next"]


class Loader:
    """As torchdata's: iterators are made anew, and the loader has the state."""

    def __init__(self, end: int = 10) -> None:
        self._end = end
        self._next = 0

    def __iter__(self) -> Iterator[int]:
        for item in range(self._next, self._end):
            self._next = item + 1
            yield item
        self._next = 0

    def state_dict(self) -> dict[str, int]:
        return {"next": self._next}

    def load_state_dict(self, state: dict[str, int]) -> None:
        self._next = state["next"]


class Dataset:
    """As grain's: only the iterator has a state."""

    def __iter__(self) -> WithGetState:
        return WithGetState()


METHODS = {WithGetState: ("get_state", "set_state"), Dataset: ("get_state", "set_state")} | {
    Loader: ("state_dict", "load_state_dict")
}


@pytest.mark.parametrize("kind", METHODS)
@pytest.mark.parametrize("depth", [1, 4, 20])
def test_the_state_is_that_behind_the_last_item_taken(kind: Any, depth: int) -> None:
    get, put = METHODS[kind]
    ahead = epl.prefetch(kind(), depth)
    assert {name for names in METHODS.values() for name in names if hasattr(ahead, name)} == {get, put}
    states = [copy.deepcopy(getattr(ahead, get)())]
    for item in ahead:
        time.sleep(0.001)
        assert item == len(states) - 1
        states.append(copy.deepcopy(getattr(ahead, get)()))
        if item == 9:
            break
    assert states == [{"next": i} for i in range(11)]
    for i in (0, 3, 9):
        fresh = epl.prefetch(kind(), depth)
        next(fresh)
        getattr(fresh, put)(states[i])
        assert getattr(fresh, get)() == states[i]
        assert list(fresh) == list(range(i, 10))


def test_a_state_is_set_behind_the_end_and_behind_close() -> None:
    source = WithGetState()
    ahead: Any = epl.prefetch(source)
    for _ in range(2):
        ahead.set_state({"next": 7})
        assert list(ahead) == [7, 8, 9]
        assert ahead.get_state() == {"next": 10}
        ahead.close()
        assert list(ahead) == []


def test_epochs_of_a_loader() -> None:
    """A state behind the end is that of the next epoch's begin, as without reading ahead."""
    loader = Loader(3)
    for _ in range(2):
        ahead: Any = epl.prefetch(loader)
        assert list(ahead) == [0, 1, 2]
        assert ahead.state_dict() == {"next": 0}


def test_a_source_without_a_state_has_none() -> None:
    ahead = epl.prefetch([1])
    for names in METHODS.values():
        assert not any(hasattr(ahead, name) for name in names)
    list(ahead)


def test_a_state_that_cannot_be_had_matters_to_who_asks() -> None:
    class Stateless(WithGetState):
        def get_state(self) -> dict[str, int]:
            raise NotImplementedError("shuffled")

    ahead: Any = epl.prefetch(Stateless(3))
    assert next(ahead) == 0
    with pytest.raises(NotImplementedError, match="shuffled"):
        ahead.get_state()
    assert list(ahead) == [1, 2]


# Ends of the process


@pytest.mark.parametrize("source", ["itertools.count()", "iter(lambda: time.sleep(60), 1)"])
def test_the_interpreter_ends(source: str) -> None:
    begin = time.monotonic()
    code = f"""
        import itertools, time
        import epl
        ahead = epl.prefetch({source})
        time.sleep(0.1)
        print("done")
    """
    assert run_python(code) == "done\n"
    assert time.monotonic() - begin < 20


def test_the_interpreter_ends_by_an_error() -> None:
    code = """
        import itertools
        import epl
        for item in epl.prefetch(itertools.count()):
            if item == 3:
                raise SystemExit(0)
    """
    assert run_python(code) == ""


def test_a_consumer_that_is_a_thread_gets_all_before_the_interpreter_ends() -> None:
    code = """
        import threading, time
        import epl
        def source():
            for item in range(5):
                time.sleep(0.05)
                yield item
        ahead = epl.prefetch(source())
        threading.Thread(target=lambda: print(list(ahead))).start()
    """
    assert run_python(code) == "[0, 1, 2, 3, 4]\n"


def test_ctrl_c_interrupts_the_wait_and_loses_no_item() -> None:
    code = textwrap.dedent("""
        import time
        import epl
        def source():
            time.sleep(1)
            yield from range(5)
        ahead = epl.prefetch(source(), 1)
        print("waits", flush=True)
        try:
            next(ahead)
        except KeyboardInterrupt:
            print("interrupted", list(ahead))
    """)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    child = subprocess.Popen([sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline() == "waits\n"
    time.sleep(0.2)
    child.send_signal(signal.SIGINT)
    out, _ = child.communicate(timeout=20)
    assert out == "interrupted [0, 1, 2, 3, 4]\n"
    assert child.returncode == 0


def test_a_forked_process_is_told() -> None:
    code = """
        import os
        import epl
        ahead = epl.prefetch(range(3), 1)
        next(ahead)
        child = os.fork()
        if child == 0:
            try:
                list(ahead)
            except epl.Error as error:
                print(error, flush=True)
            os._exit(0)
        os.waitpid(child, 0)
        print(list(ahead))
    """
    out = run_python(code)
    assert "not in this process: call epl.prefetch behind the fork" in out
    assert out.endswith("[1, 2]\n")
