"""`epl.Config`: EPL's ten categories of settings and `split`, as `"category.attribute"` keys.

A value comes from the dict given to `Config`, else from the environment (`EPL_<CATEGORY>_<ATTRIBUTE>`),
else from the default. An unknown key, a value of the wrong type or one that is not allowed is an error. A
key that EPL knows but that has no effect in this version is an error too, when it is set to anything but
its default: a setting that is silently ignored is a wrong result.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from epl.errors import ConfigError

Value = bool | int | float | str


@dataclass(frozen=True)
class Key:
    """A setting: its default, which fixes its type, its meaning, and the values allowed.

    `allowed` holds lower-case words; if it is empty, all values of the type are. `has_effect` says whether
    anything but the default is taken in this version.
    """

    default: Value
    meaning: str
    allowed: tuple[str, ...] = ()
    has_effect: bool = False


KEYS: dict[str, Key] = {
    "auto.auto_parallel": Key(False, "Choose the stages of a pipeline; scopes are not allowed then."),
    "io.slicing": Key(False, "Share the list of input files among the processes."),
    "io.unbalanced_io_slicing": Key(False, "Give some processes one file more if they do not divide evenly."),
    "io.drop_last_files": Key(False, "Drop the last files if they do not divide evenly."),
    "communication.sparse_as_dense": Key(
        False, "Turn sparse gradients into dense ones before they are summed."
    ),
    "communication.max_splits": Key(
        5, "How many groups the gradients are fused into before they are summed."
    ),
    "communication.num_communicators": Key(2, "How many sums of gradients may be under way at a time."),
    "communication.fp16": Key(False, "Sum gradients in 16 bits."),
    "communication.fp16_scale": Key(128, "What gradients are multiplied by before they become 16 bits."),
    "communication.clip_after_allreduce": Key(False, "Clip the summed gradients, not those of each device."),
    "communication.gradients_reduce_method": Key(
        "mean", "How the gradients of the copies are combined.", ("mean", "sum")
    ),
    "pipeline.num_stages": Key(-1, "How many stages `auto.auto_parallel` makes; -1 if it is off."),
    "pipeline.num_micro_batch": Key(1, "How many micro-batches a batch is cut into."),
    "pipeline.strategy": Key(
        "preferbackward",
        "In which order a stage takes micro-batches: all forward first (GPipe), backward as soon as possible "
        "(1F1B), and that with the optimizer overlapped.",
        ("preferforward", "preferbackward", "preferbackwardoptimizer"),
    ),
    "gradient_checkpoint.type": Key(
        "", "Which values are computed again for the gradient, not kept.", ("", "collection", "auto")
    ),
    "gradient_checkpoint.end_taskgraph": Key(-1, 'The last task graph that "auto" looks at; -1 for all.'),
    "gradient_checkpoint.check_gradients": Key(
        False, "Compare the gradients with those without checkpoints."
    ),
    "zero.level": Key(
        "",
        "What devices that compute the same share among them, where each would have a copy: the optimizer's "
        "state (v1), its gradients too (v2), parameters too (v3). v0 is v1: EPL's v0 sums whole gradients on "
        "every device, here parts are summed where they are read.",
        ("", "v0", "v1", "v2", "v3"),
        has_effect=True,
    ),
    "offload.level": Key("", "Keep parameters in the memory of the host (v0).", ("", "v0")),
    "amp.level": Key("", "Compute in 16 bits what stands it (O1).", ("", "o1")),
    "amp.debug_log": Key(False, "Say which operations become 16 bits."),
    "amp.loss_scale": Key("dynamic", "What the loss is multiplied by: a number of at least 1, or found out."),
    "cluster.device_place_prefer_intra_node": Key(
        True,
        "Place a copy of the model within a node; else place it across the nodes, so that the replicas of "
        "each of its scopes are within one. Nodes are those of `cpu:WxG`.",
        has_effect=True,
    ),
    "cluster.run_visible_devices": Key("", "The devices of each process that are used; all if empty."),
    "cluster.colocate_split_and_replicate": Key(
        False,
        "Run all scopes on the same devices: what replicates shards its batch over all of them, what is "
        "split over groups of them; else each scope has devices of its own.",
        has_effect=True,
    ),
    "split.sequence_parallel": Key(
        False,
        "Share among the devices of a split what each would compute whole between its sums and its products: "
        "norms, dropout, residual additions. The same bytes are exchanged, and less is kept.",
        has_effect=True,
    ),
    "optimizer.num_apply_group": Key(1, "In how many groups, one after another, the optimizer is applied."),
}


class Config:
    """Settings of one `epl.init` or one parallelized step; immutable, compared and hashed by value.

    Args:
      values: `"category.attribute"` to value; what it leaves out comes from the environment or is the
        default.

    Raises:
      ConfigError: for an unknown key (the nearest one is suggested), a wrong type or value, or settings
        that have no effect in this version (all of them in one error).
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
        resolved = {key: _resolve(key, spec, given) for key, spec in KEYS.items()}
        _check_effect(resolved, given)
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


def _unknown(key: str) -> str:
    near = difflib.get_close_matches(str(key), KEYS, n=1, cutoff=0.0)
    return f'unknown configuration key "{key}", did you mean "{near[0]}"?'


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
        return {"true": True, "false": False}.get(text.lower(), text)
    if isinstance(spec.default, int):
        try:
            return int(text)
        except ValueError:
            return text
    return text


def _checked(what: str, spec: Key, value: Value) -> Value:
    expected = type(spec.default)
    if spec.default == "dynamic":  # the one key that is a word or a number
        return _loss_scale(what, value)
    if type(value) is not expected:
        raise ConfigError(f"{what} must be {expected.__name__}, found {value!r}")
    if isinstance(value, str):
        value = value.lower()
        if spec.allowed and value not in spec.allowed:
            choices = ", ".join(f'"{choice}"' for choice in spec.allowed)
            raise ConfigError(f'{what} must be one of {choices}, found "{value}"')
    return value


def _loss_scale(what: str, value: Value) -> Value:
    try:
        scale = value.lower() if str(value).lower() == "dynamic" else float(value)  # type: ignore[union-attr]
    except (TypeError, ValueError, OverflowError):
        scale = 0.0
    if isinstance(value, bool) or (isinstance(scale, float) and not scale >= 1):
        raise ConfigError(f'{what} must be "dynamic" or a number of at least 1, found {value!r}')
    return scale


def _check_effect(resolved: Mapping[str, Value], given: Mapping[str, Value]) -> None:
    without = [
        f'"{key}"' if key in given else f'"{key}" (from {environment_name(key)})'
        for key, value in resolved.items()
        if value != KEYS[key].default and not KEYS[key].has_effect
    ]
    if without:
        raise ConfigError(f"known, but without effect in this version: {', '.join(without)}")
