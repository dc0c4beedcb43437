"""The installed Paddle, which builds programs."""

from __future__ import annotations

import functools
from typing import Any

from epl.errors import Error


@functools.cache
def load() -> Any:
    """Paddle's module, in static mode.

    Raises:
      Error: if Paddle is not installed, or another version than 2.6.
    """
    try:
        import paddle
    except ImportError as error:
        raise Error(
            f"epl.fluid builds programs with Paddle 2.6 ({error}): pip install paddlepaddle==2.6.2"
        ) from None
    if paddle.__version__.split(".")[:2] != ["2", "6"]:
        raise Error(
            f"epl.fluid builds programs with Paddle 2.6, found {paddle.__version__}: "
            "pip install paddlepaddle==2.6.2"
        )
    paddle.enable_static()
    return paddle
