"""Clipping of gradients: of all that an optimizer has (`grad_clip`), or of some (`set_gradient_clip`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from epl.errors import ArgumentError
from epl.fluid.installed import load
from epl.fluid.param_attr import GRADIENT_CLIP

paddle = load()

Pairs = list[tuple[Any, Any]]
"""Parameters and their gradients, None for those that have none."""


class _Of:
    """What all have: which parameters they are for."""

    need_clip: Callable[[Any], bool] | None

    def _set(self, need_clip: Callable[[Any], bool] | None) -> None:
        if need_clip is not None and not callable(need_clip):
            raise ArgumentError(f"expected a function as need_clip, found {type(need_clip).__name__}")
        self.need_clip = need_clip

    def _static_clip(self, params_grads: Pairs) -> Pairs:
        if self.need_clip is None:
            return list(super()._static_clip(params_grads))  # type: ignore[misc]
        wanted = [pair for pair in params_grads if self.need_clip(pair[0])]
        made = {pair[0].name: pair for pair in super()._static_clip(wanted)}  # type: ignore[misc]
        return [made.get(pair[0].name, pair) for pair in params_grads]


class GradientClipByValue(_Of, paddle.nn.ClipGradByValue):  # type: ignore[misc, name-defined]
    """Each element is cut to lie between `min`, by default -max, and `max`.

    need_clip: tells of a parameter whether its gradient is cut; default all.
    """

    def __init__(self, max: float, min: float | None = None, need_clip: Any = None) -> None:
        super().__init__(max, min)
        self._set(need_clip)


class GradientClipByNorm(_Of, paddle.nn.ClipGradByNorm):  # type: ignore[misc, name-defined]
    """Each gradient is scaled down to a norm, if it is longer."""

    def __init__(self, clip_norm: float, need_clip: Any = None) -> None:
        super().__init__(clip_norm)
        self._set(need_clip)


class GradientClipByGlobalNorm(_Of, paddle.nn.ClipGradByGlobalNorm):  # type: ignore[misc, name-defined]
    """All gradients of a group are scaled down together to a norm, if they are longer together."""

    def __init__(self, clip_norm: float, group_name: str = "default_group", need_clip: Any = None) -> None:
        super().__init__(clip_norm, group_name)
        self._set(need_clip)


def set_gradient_clip(clip: Any, param_list: Sequence[Any] | None = None, program: Any = None) -> None:
    """Sets how gradients of parameters are cut, by optimizers that are told nothing else.

    Args:
      clip: one of the classes above.
      param_list: parameters or names; default all that the program has.
      program: default the main program.
    """
    if not isinstance(clip, paddle.nn.clip.ClipGradBase):
        raise ArgumentError(f"expected a fluid.clip.GradientClip... as clip, found {type(clip).__name__}")
    block = (program or paddle.static.default_main_program()).global_block()
    given = block.all_parameters() if param_list is None else param_list
    for parameter in (block.var(each) if isinstance(each, str) else each for each in given):
        if not isinstance(parameter, paddle.base.framework.Parameter):
            raise ArgumentError(f"expected parameters in param_list, found {parameter}")
        parameter.optimize_attr[GRADIENT_CLIP] = clip


def clip_as_set(params_grads: Pairs) -> Pairs:
    """Gradients cut as each parameter says; those of one global norm, by its group, are cut together."""
    groups: dict[Any, tuple[Any, Pairs]] = {}
    for pair in params_grads:
        clip = pair[0].optimize_attr.get(GRADIENT_CLIP)
        if clip is not None and pair[1] is not None:
            groups.setdefault(_group(clip), (clip, []))[1].append(pair)
    made = {pair[0].name: pair for pair in _clipped(groups.values())}
    return [made.get(pair[0].name, pair) for pair in params_grads]


def _group(clip: Any) -> Any:
    return getattr(clip, "group_name", None) or id(clip)


def _clipped(groups: Iterable[tuple[Any, Pairs]]) -> Pairs:
    return [tuple(pair) for clip, pairs in groups for pair in clip._static_clip(pairs)]


class ErrorClipByValue(paddle.nn.clip.ErrorClipByValue):  # type: ignore[misc, name-defined]
    """Cuts the gradient of a variable, whose `error_clip` it is, as it is computed."""
