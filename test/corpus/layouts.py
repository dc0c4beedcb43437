"""What a model of this folder is laid out over: scopes of its two parts, devices, settings."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

import epl

Scope = Callable[[], AbstractContextManager[Any]]


@dataclass(frozen=True)
class Layout:
    """Scopes by name, so that all that enters one belongs to it; a head without one is part of the body."""

    devices: int
    body: Scope
    head: Scope
    config: dict[str, Any] = field(default_factory=dict)


def replicate(name: str = "body") -> Scope:
    """A scope that replicates."""
    return lambda: epl.replicate(name=name)


def split(count: int, name: str = "body") -> Scope:
    """A scope that splits."""
    return lambda: epl.split(device_count=count, name=name)


def one(devices: int, scope: Scope, **config: Any) -> Layout:
    """Both parts in one scope."""
    return Layout(devices, scope, scope, {key.replace("__", "."): value for key, value in config.items()})


COLOCATED = {"cluster.colocate_split_and_replicate": True}

LAYOUTS = {
    "one device": one(1, replicate()),
    "replicate on 2": one(2, replicate()),
    "replicate on 4": one(4, replicate()),
    "split on 2": one(2, split(2)),
    "split over 2 of 4": one(4, split(2)),
    "split over 2 of 4, sequence parallel": one(4, split(2), split__sequence_parallel=True),
    "colocated on 2": Layout(2, replicate(), split(2, "head"), COLOCATED),
    "colocated on 4, split body": Layout(4, split(4), replicate("head"), COLOCATED),
    "apart on 2": Layout(2, replicate(), replicate("head")),
    "apart on 3, split head": Layout(3, replicate(), split(2, "head")),
    "ZeRO v1 on 2": one(2, replicate(), zero__level="v1"),
    "ZeRO v2 on 4": one(4, replicate(), zero__level="v2"),
    "ZeRO v3 on 4": one(4, replicate(), zero__level="v3"),
}
