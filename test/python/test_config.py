"""`epl.Config`: defaults, precedence, types, unknown keys, keys without effect."""

from __future__ import annotations

import dataclasses
import pickle
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

import epl
from epl.config import KEYS, environment_name


def test_has_the_ten_categories_of_epl_and_split() -> None:
    categories = {key.partition(".")[0] for key in epl.Config()}
    assert categories == {
        "auto", "io", "communication", "pipeline", "gradient_checkpoint",
        "zero", "offload", "amp", "cluster", "optimizer", "split",
    }  # fmt: skip


def test_defaults() -> None:
    config = epl.Config()
    assert config["communication.max_splits"] == 0
    assert config.communication.num_communicators == 1
    assert config.communication.fp16 is False
    assert config.communication.gradients_reduce_method == "mean"
    assert config.pipeline.strategy == "preferbackward"
    assert config.cluster.device_place_prefer_intra_node is True


@pytest.mark.parametrize("key", KEYS)
def test_every_key_may_be_given_its_default(key: str) -> None:
    assert epl.Config({key: KEYS[key].default}) == epl.Config()


def test_words_ignore_case_and_names_of_files_do_not() -> None:
    assert epl.Config({"communication.gradients_reduce_method": "MEAN"}) == epl.Config()
    assert epl.Config({"cluster.machine": "/tmp/Machine.json"}).cluster.machine == "/tmp/Machine.json"


@pytest.mark.parametrize(
    ("key", "near"),
    [
        ("pipeline.num_micro_batches", "pipeline.num_micro_batch"),
        ("loss_scale", "amp.loss_scale"),
        ("zero.levle", "zero.level"),
    ],
)
def test_unknown_keys_suggest_the_nearest(key: str, near: str) -> None:
    with pytest.raises(epl.ConfigError, match=f'unknown configuration key "{key}", did you mean "{near}"'):
        epl.Config({key: 1})


@given(st.text(string.ascii_lowercase + "._", max_size=20).filter(lambda key: key not in KEYS))
def test_any_unknown_key_is_an_error_that_suggests_a_known_one(key: str) -> None:
    with pytest.raises(epl.ConfigError) as error:
        epl.Config({key: 1})
    assert any(f'"{known}"' in str(error.value) for known in KEYS)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("pipeline.num_micro_batch", "4"),
        ("pipeline.num_micro_batch", True),
        ("communication.fp16", 1),
        ("communication.fp16", "f16"),
        ("communication.fuse", "bf16"),
        ("zero.level", 1),
        ("amp.loss_scale", False),
        ("cluster.machine", ""),
    ],
)
def test_a_wrong_type_is_an_error(key: str, value: object) -> None:
    with pytest.raises(epl.ConfigError, match=f'"{key}" must be'):
        epl.Config({key: value})  # type: ignore[dict-item]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("communication.gradients_reduce_method", "not_mean"),
        ("zero.level", "v7"),
        ("pipeline.strategy", "eager"),
        ("pipeline.num_micro_batch", 0),
        ("amp.loss_scale", 0.5),
        ("amp.loss_scale", "static"),
    ],
)
def test_a_wrong_value_is_an_error(key: str, value: object) -> None:
    with pytest.raises(epl.ConfigError, match=f'"{key}" must be'):
        epl.Config({key: value})  # type: ignore[dict-item]


@pytest.mark.parametrize(
    ("cards", "message"),
    [
        ("0,a", 'cards must be numbers and ranges, .*found "a" in "0,a"'),
        ("3-1", 'cards must be numbers and ranges, .*found "3-1"'),
        ("-1", 'cards must be numbers and ranges, .*found "-1"'),
        ("1,", 'cards must be numbers and ranges, .*found ""'),
        ("1,0-2", 'card 1 is named twice in "1,0-2"'),
    ],
)
def test_cards_are_a_list(cards: str, message: str) -> None:
    with pytest.raises(epl.ConfigError, match=f'"cluster.run_visible_devices" = "{cards}": {message}'):
        epl.Config({"cluster.run_visible_devices": cards})


def test_keys_without_effect_are_one_error(monkeypatch: pytest.MonkeyPatch) -> None:
    key = dataclasses.replace(KEYS["communication.fuse"], has_effect=False)
    monkeypatch.setitem(KEYS, "communication.fuse", key)
    with pytest.raises(epl.ConfigError, match="without effect in this version") as error:
        epl.Config({"communication.fuse": False, "optimizer.num_apply_group": 2, "zero.level": ""})
    assert '"communication.fuse"' in str(error.value)
    assert '"optimizer.num_apply_group"' in str(error.value)
    assert "zero.level" not in str(error.value)


def test_environment_stands_below_the_dict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EPL_COMMUNICATION_MAX_SPLITS", "24")
    assert epl.Config({"communication.max_splits": 5}) == epl.Config({"communication.max_splits": 5})
    assert epl.Config()["communication.max_splits"] == 24
    monkeypatch.setenv("EPL_OPTIMIZER_NUM_APPLY_GROUP", "2")
    with pytest.raises(
        epl.ConfigError, match=r'"optimizer.num_apply_group" \(from EPL_OPTIMIZER_NUM_APPLY_GROUP\)'
    ):
        epl.Config()


def test_environment_values_are_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EPL_COMMUNICATION_FP16", "FALSE")
    monkeypatch.setenv("EPL_COMMUNICATION_MAX_SPLITS", "0")
    monkeypatch.setenv("EPL_COMMUNICATION_GRADIENTS_REDUCE_METHOD", "Mean")
    assert not any(epl.Config()[key] != spec.default for key, spec in KEYS.items())
    for text, value in (("TRUE", True), ("BF16", "bf16")):
        monkeypatch.setenv("EPL_COMMUNICATION_FP16", text)
        assert epl.Config()["communication.fp16"] == value


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("communication.fp16", "yes"),
        ("communication.max_splits", "five"),
        ("amp.loss_scale", "0"),
        ("zero.level", "v9"),
    ],
)
def test_a_bad_environment_value_names_the_variable(
    monkeypatch: pytest.MonkeyPatch, key: str, text: str
) -> None:
    monkeypatch.setenv(environment_name(key), text)
    with pytest.raises(epl.ConfigError, match=f"{environment_name(key)} in the environment must be"):
        epl.Config()


def test_is_immutable() -> None:
    config = epl.Config()
    with pytest.raises(AttributeError, match="immutable"):
        config.zero = 1
    with pytest.raises(AttributeError, match="immutable"):
        config.zero.level = "v1"
    with pytest.raises(AttributeError, match='"turbo" is not a category'):
        _ = config.turbo
    with pytest.raises(AttributeError, match=r'did you mean "zero.level"'):
        _ = config.zero.levels


def test_is_a_value() -> None:
    assert hash(epl.Config()) == hash(epl.Config({"zero.level": ""}))
    assert pickle.loads(pickle.dumps(epl.Config())) == epl.Config()
    assert repr(epl.Config()) == "epl.Config({})"
