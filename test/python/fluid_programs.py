"""Programs of epl.fluid for its tests, run by Paddle and by EPL. Needs Paddle."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import jax
import numpy as np

import epl.paddle
from epl.fluid import installed, layers

paddle = installed.load()
static = paddle.static


class Built:
    """A program that is being built, with its startup program and scope, and what runs it."""

    def __init__(self) -> None:
        self.main, self.startup, self.scope = static.Program(), static.Program(), static.Scope()
        self.main.random_seed = self.startup.random_seed = 7
        self.executor = static.Executor(paddle.CPUPlace())

    def begin(self) -> dict[str, Any]:
        """Persistable variables as Paddle's startup program makes them."""
        with static.scope_guard(self.scope):
            self.executor.run(self.startup)
        return self.values()

    def values(self) -> dict[str, Any]:
        names = [each.name for each in self.main.list_vars() if each.persistable]
        return {name: np.array(self.scope.find_var(name).get_tensor()) for name in names}

    def by_paddle(self, feed: dict[str, Any], fetches: list[Any]) -> list[Any]:
        with static.scope_guard(self.scope):
            return list(self.executor.run(self.main, feed=feed, fetch_list=fetches))

    def by_epl(self, state: dict[str, Any], feed: dict[str, Any], fetches: list[Any]) -> Any:
        program = epl.paddle.load(self.main)
        given = {name: state[name] for name in program.parameters}
        fed = {name: feed[name] for name in program.feeds}
        return program.run(given, fed, [each.name for each in fetches], key=jax.random.key(0))


X = np.float32([[1, -2, 3]])


@contextlib.contextmanager
def building() -> Iterator[Built]:
    """A program to build in, with names of its own."""
    found = Built()
    with static.program_guard(found.main, found.startup), paddle.utils.unique_name.guard():
        yield found


def close(found: Any, expected: Any, name: str = "") -> None:
    assert np.shape(found) == np.shape(expected), name
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5, err_msg=name)


def feeds_of(shapes: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Random numbers, and the variables that are fed these; gradients go to them."""
    random = np.random.default_rng(3)
    feed = {}
    for name, shape in shapes.items():
        if isinstance(shape[-1], tuple):
            dtype, bound = shape[-1]
            feed[name] = random.integers(0, bound, shape[:-1]).astype(dtype)
        else:
            feed[name] = random.normal(size=shape).astype("float32")
    variables = {
        name: layers.data(name, list(x.shape[1:]), dtype=str(x.dtype), stop_gradient=x.dtype != np.float32)
        for name, x in feed.items()
    }
    return feed, variables
