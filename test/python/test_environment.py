"""`epl.init` and how devices are written."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

import epl
from epl import environment
from epl.devices import parse_devices
from epl.environment import current_devices, settings


@given(st.integers(1, 1024))
def test_a_count_and_its_string_are_the_same(count: int) -> None:
    assert (
        parse_devices(count) == parse_devices(f"cpu:{count}") == parse_devices(str(count)) == f"cpu:{count}"
    )


@pytest.mark.parametrize("devices", ["", "cpu", "cpu:", "cpu:two", "cpu:2,3", "cpu 2", "2cpu", "cpu:1.5"])
def test_bad_device_strings_are_named(devices: str) -> None:
    with pytest.raises(
        epl.ConfigError, match=f'devices must be "cpu:N", "cuda:CARDS" or a count, found "{devices}"'
    ):
        epl.init(devices)


@pytest.mark.parametrize("devices", [0, -1, "0", "cpu:0", "cpu:-3"])
def test_at_least_one_device(devices: str | int) -> None:
    with pytest.raises(epl.ConfigError, match=f'at least one device is needed, found "{devices}"'):
        epl.init(devices)


@pytest.mark.parametrize("devices", [2.0, True, ["cpu:2"]])
def test_other_types_of_devices(devices: object) -> None:
    with pytest.raises(epl.ConfigError, match="found"):
        epl.init(devices)  # type: ignore[arg-type]


def test_other_kinds_are_not_supported_yet() -> None:
    with pytest.raises(epl.ConfigError, match="not supported yet"):
        epl.init("tpu:0")


@pytest.mark.parametrize("devices", ["cuda:0", "cuda:0-3", "CUDA: 0x2"])
def test_cards(devices: str) -> None:
    epl.init(devices)
    assert settings(None, None).devices == devices.lower().replace(" ", "")


def test_default_is_one_device_per_usable_core() -> None:
    epl.init()
    assert settings(None, None).devices == f"cpu:{len(os.sched_getaffinity(0))}"


def test_a_step_may_bring_its_own() -> None:
    epl.init("cpu:4", config={"zero.level": ""})
    assert settings(None, None).devices == "cpu:4"
    assert settings("cpu:2", None).devices == "cpu:2"


def test_cards_count_within_those_that_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    some = epl.Config({"cluster.run_visible_devices": "2,4-5"})
    epl.init("cuda:0-1x2", some)
    assert settings(None, None).devices == current_devices() == "cuda:2,4x2"
    assert settings("cuda:2", None).devices == "cuda:5"
    assert settings("cuda:*", None).devices == "cuda:*[2,4-5]"
    assert settings(None, epl.Config({"cluster.run_visible_devices": "6-7"})).devices == "cuda:6-7x2"
    assert settings(None, epl.Config()).devices == "cuda:0-1x2"
    for devices, found in (("cuda:3", "card 3"), ("cuda:0-3", "card 3")):
        with pytest.raises(epl.ConfigError, match=f'"{devices}" names {found} of "2,4-5", expected 0 to 2'):
            epl.init(devices, some)
    assert current_devices() == "cuda:2,4x2"
    monkeypatch.setenv("EPL_CLUSTER_RUN_VISIBLE_DEVICES", "7")
    epl.init("cuda:0")
    assert current_devices() == "cuda:7"


def test_a_failed_init_changes_nothing() -> None:
    epl.init("cpu:4")
    with pytest.raises(epl.ConfigError):
        epl.init("cpu:2", config={"offload.level": "v0"})
    assert settings(None, None).devices == "cpu:4"


def test_without_init_a_step_needs_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "_settings", None)
    with pytest.raises(epl.Error, match=r'epl.init\("cpu:2"\)'):
        settings(None, None)
    assert settings("cpu:3", None).devices == "cpu:3"
