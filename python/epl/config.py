"""`epl.Config`: EPL's ten categories of settings and `split`, as `"category.attribute"` keys.

A value comes from the dict given to `Config`, else from the environment (`EPL_<CATEGORY>_<ATTRIBUTE>`),
else from the default. An unknown key, a value of the wrong type or one that is not allowed is an error. A
key that EPL knows but that has no effect in this version is an error too, when it is set to anything but
its default, and so is a variable of the environment that names a category and no key of it: a setting that is
silently ignored is a wrong result.
"""

from __future__ import annotations

import difflib
import functools
import os
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from epl import runtime
from epl.config_keys import KEYS, Key, Value
from epl.errors import ConfigError
from epl.values import as_integer, did_you_mean


class Config:
    """Settings of one `epl.init` or one parallelized step; immutable, compared and hashed by value.

    Args:
      values: `"category.attribute"` to value; what it leaves out comes from the environment or is the
        default.

    Raises:
      ConfigError: for an unknown key (the nearest one is suggested), a wrong type or value, settings that
        do not go together, or that have no effect in this version (all of them in one error).
    """

    __slots__ = ("_hash", "_values")
    _hash: int  # kept, since every call of a step looks its plan up
    _values: dict[str, Value]

    def __init__(self, values: Mapping[str, Value] | None = None) -> None:
        if values is not None and not isinstance(values, Mapping):
            raise ConfigError(
                f'the configuration must be a dict from "category.attribute" to values, found {values!r}'
            )
        given = dict(values or {})
        for key in given:
            _check_known(key)
        _check_environment()
        resolved = {key: _resolve(key, spec, given) for key, spec in KEYS.items()}
        _check_effect(resolved, given)
        _check_stages(resolved)
        _check_schedule(resolved)
        _check_owner(resolved)
        _check_communication(resolved)
        _check_files(resolved)
        _check_cards(resolved)
        object.__setattr__(self, "_values", resolved)
        object.__setattr__(self, "_hash", hash(tuple(resolved.items())))

    def __getitem__(self, key: str) -> Value:
        _check_known(key)
        return self._values[key]

    def __getattr__(self, category: str) -> Category:
        if any(key.startswith(f"{category}.") for key in KEYS):
            return Category(self, category)
        raise AttributeError(f'"{category}" is not a category of epl.Config')

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f'epl.Config is immutable: give "{name}" to its constructor')

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Config) and self._values == other._values

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[type[Config], tuple[dict[str, Value]]]:
        return Config, (self._values,)

    def __repr__(self) -> str:
        changed = {key: value for key, value in self._values.items() if value != KEYS[key].default}
        return f"epl.Config({changed})"


class Category:
    """The settings of one category, as attributes: `config.pipeline.num_micro_batch`."""

    __slots__ = ("_category", "_config")

    def __init__(self, config: Config, category: str) -> None:
        object.__setattr__(self, "_config", config)
        object.__setattr__(self, "_category", category)

    def __getattr__(self, attribute: str) -> Value:
        key = f"{self._category}.{attribute}"
        if key not in KEYS:
            raise AttributeError(_unknown(key))
        config: Config = object.__getattribute__(self, "_config")
        return config[key]

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f'epl.Config is immutable: give "{self._category}.{name}" to its constructor')


def environment_name(key: str) -> str:
    """The environment variable of a key: `EPL_PIPELINE_NUM_MICRO_BATCH`."""
    return "EPL_" + key.replace(".", "_").upper()


def _unknown(key: Any) -> str:
    names = {known: known for known in KEYS} | {environment_name(known).lower(): known for known in KEYS}
    near = difflib.get_close_matches(str(key).strip().lower(), names, n=1, cutoff=0.0)
    return f'unknown configuration key "{key}", did you mean "{names[near[0]]}"?'


def _check_environment() -> None:
    """Variables that begin like settings are settings."""
    known = {environment_name(key) for key in KEYS}
    categories = tuple({name[: name.index("_", len("EPL_")) + 1] for name in map(environment_name, KEYS)})
    for name in os.environ:
        if name.startswith(categories) and name not in known:
            raise ConfigError(
                f"{name} in the environment is no setting{did_you_mean(name, known)}: unset it or rename it"
            )


def _check_known(key: str) -> None:
    if key not in KEYS:
        raise ConfigError(_unknown(key))


def _resolve(key: str, spec: Key, given: Mapping[str, Value]) -> Value:
    if key in given:
        return _checked(f'"{key}"', spec, given[key])
    text = os.environ.get(environment_name(key))
    if text is None:
        return spec.default
    return _checked(f"{environment_name(key)} in the environment", spec, _parse(spec, text))


def _parse(spec: Key, text: str) -> Value:
    """The value that an environment's text stands for; the text itself if it is not of the key's type."""
    if isinstance(spec.default, bool):
        return {"true": True, "false": False}.get(text.strip().lower(), text)
    if isinstance(spec.default, int):
        try:
            return int(text)
        except ValueError:
            return text
    return text


def _checked(what: str, spec: Key, value: Any) -> Value:
    if spec.default == "dynamic":  # the one key that is a word or a number
        return _loss_scale(what, value)
    if isinstance(spec.default, bool):
        return _boolean(what, spec, value)
    if isinstance(spec.default, int):
        return _integer(what, spec, value)
    return _word(what, spec, value)


def _boolean(what: str, spec: Key, value: Any) -> Value:
    word = value.strip().lower() if isinstance(value, str) else None
    if word in spec.allowed:
        return str(word)
    if not isinstance(value, (bool, np.bool_)):
        choices = ["True", "False", *(f'"{choice}"' for choice in spec.allowed)]
        raise ConfigError(f"{what} must be {', '.join(choices[:-1])} or {choices[-1]}, found {value!r}")
    return bool(value)


def _integer(what: str, spec: Key, value: Any) -> int:
    count = as_integer(value)
    if count is None or (spec.least is not None and count < spec.least):
        least = "" if spec.least is None else f" of at least {spec.least}"
        raise ConfigError(f"{what} must be an integer{least}, found {value!r}")
    return count


def _word(what: str, spec: Key, value: Any) -> str:
    word = value.strip().lower() if isinstance(value, str) else None
    if spec.allowed and word not in spec.allowed:
        choices = ", ".join(f'"{choice}"' for choice in spec.allowed)
        meant = did_you_mean(f"v{value}" if f"v{value}" in spec.allowed else value, spec.allowed)
        raise ConfigError(f"{what} must be one of {choices}, found {value!r}{meant}")
    if word is None or (not word and spec.default):
        raise ConfigError(f"{what} must be a string, {'not empty, ' if word == '' else ''}found {value!r}")
    return word if spec.allowed else str(value)


def _loss_scale(what: str, value: Any) -> Value:
    """The word dynamic, or 1: neither scales, since nothing would be gained."""
    word = str(value).strip().lower()
    if word == "dynamic":
        return word
    try:
        is_one = not isinstance(value, bool) and float(value) == 1
    except (TypeError, ValueError, OverflowError):
        is_one = False
    if not is_one:
        raise ConfigError(
            f'{what} must be "dynamic" or 1, which both scale nothing, found {value!r}: 16 bits are bf16 '
            "here, which has the range of f32, so that no gradient becomes zero; to scale all the same, "
            "multiply the loss in the step and divide its gradients"
        )
    return 1.0


def _check_stages(resolved: Mapping[str, Value]) -> None:
    """Stages that are found have a number, and devices of their own."""
    if not resolved["auto.auto_parallel"]:
        return
    if int(resolved["pipeline.num_stages"]) < 1:
        raise ConfigError(
            '"auto.auto_parallel" needs "pipeline.num_stages", into how many stages a step is cut, '
            f"of at least 1, found {resolved['pipeline.num_stages']}"
        )
    if resolved["cluster.colocate_split_and_replicate"]:
        raise ConfigError(
            '"auto.auto_parallel" gives each stage devices of its own, '
            '"cluster.colocate_split_and_replicate" shares them: choose one'
        )


def _check_schedule(resolved: Mapping[str, Value]) -> None:
    """A table is one of micro-batches."""
    if resolved["pipeline.schedule"] and resolved["pipeline.num_micro_batch"] == 1:
        raise ConfigError(
            '"pipeline.schedule" is the order of micro-batches, '
            f'found {_shown(resolved["pipeline.schedule"])} and "pipeline.num_micro_batch" = 1: '
            "set that to the number of the table"
        )


def _check_owner(resolved: Mapping[str, Value]) -> None:
    """A state belongs to one device, or is cut into parts."""
    if resolved["zero.owner"] and resolved["zero.level"]:
        raise ConfigError(
            f'"zero.owner" = {_shown(resolved["zero.owner"])} gives each state to one device, '
            f'"zero.level" = {_shown(resolved["zero.level"])} cuts it for all: choose one'
        )


def _check_communication(resolved: Mapping[str, Value]) -> None:
    """A scale is one of f16."""
    scale, fp16 = resolved["communication.fp16_scale"], resolved["communication.fp16"]
    if scale != KEYS["communication.fp16_scale"].default and fp16 is not True:
        why = "bf16 has the range of f32, and no scale" if fp16 else "gradients are sent as they are"
        raise ConfigError(
            f'"communication.fp16_scale" is of gradients that are sent as f16, found {scale} and '
            f'"communication.fp16" = {_shown(fp16)}: {why}; set that to True, or leave the scale out'
        )


def _check_files(resolved: Mapping[str, Value]) -> None:
    """Files that do not divide evenly are dropped or not, where files are shared at all."""
    left = [key for key in ("io.unbalanced_io_slicing", "io.drop_last_files") if resolved[key]]
    if len(left) > 1:
        raise ConfigError(f'"{left[0]}" reads all files, "{left[1]}" leaves some out: choose one')
    if left and not resolved["io.slicing"]:
        raise ConfigError(
            f'"{left[0]}" says what becomes of files that do not divide evenly among the processes: set '
            '"io.slicing" too, which shares them'
        )


def _check_cards(resolved: Mapping[str, Value]) -> None:
    """A list of cards is one."""
    if cards := str(resolved["cluster.run_visible_devices"]):
        restricted("cuda:*", cards)


@functools.cache
def restricted(devices: str, cards: str) -> str:
    """The devices, on cards of the list `cluster.run_visible_devices`, in which they count from 0.

    Raises:
      ConfigError: if it is no list, or too short.
    """
    try:
        return str(runtime.module().restrict_devices(devices, cards))
    except runtime.module().Error as error:
        raise ConfigError(f'"cluster.run_visible_devices" = "{cards}": {error}') from None


def _check_effect(resolved: Mapping[str, Value], given: Mapping[str, Value]) -> None:
    without = {
        key: f'"{key}"' if key in given else f'"{key}" (from {environment_name(key)})'
        for key, value in resolved.items()
        if value != KEYS[key].default and not KEYS[key].has_effect
    }
    later = [name for key, name in without.items() if not KEYS[key].instead]
    never = [
        f"{name} must be {_shown(KEYS[key].default)}, found {_shown(resolved[key])}: {KEYS[key].instead}"
        for key, name in without.items()
        if KEYS[key].instead
    ]
    problems = [f"known, but without effect in this version: {', '.join(later)}"] if later else []
    if problems := problems + [f"EPL's, not here: {each}" for each in never]:
        raise ConfigError("; ".join(problems))


def _shown(value: Value) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)
