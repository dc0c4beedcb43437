"""What processes say of themselves when they join, and what has to fit."""

from __future__ import annotations

import re
from typing import Any

import pytest

import epl
from epl.processes.facts import Facts, check_facts, level_of_all

FACTS = Facts(
    host="node1",
    pid=7,
    cpu="2080 avx avx2",
    level="x86-64-v3",
    devices="cpu:4",
    epl="1.0",
    mpi="Open MPI v4.1.4",
    jax="0.10.2",
)


def facts(**others: Any) -> list[Facts]:
    """Of two processes, the second of which differs."""
    return [FACTS, Facts(**{**FACTS.__dict__, "host": "node2", **others})]


@pytest.mark.parametrize(
    ("others", "problem"),
    [
        ({"epl": "1.1"}, 'versions of EPL: process 0 (on "node1") 1.0, process 1 (on "node2") 1.1'),
        ({"mpi": "MPICH 4.2"}, 'versions of MPI: process 0 (on "node1") Open MPI v4.1.4, process 1 (on'),
        ({"jax": "0.11"}, 'versions of JAX: process 0 (on "node1") 0.10.2, process 1 (on "node2") 0.11'),
        ({"devices": "cpu:8"}, 'devices: process 0 (on "node1") cpu:4, process 1 (on "node2") cpu:8'),
    ],
)
def test_what_differs_is_named(others: dict[str, str], problem: str) -> None:
    check_facts(facts())
    with pytest.raises(epl.ConfigError, match=re.escape(problem)):
        check_facts(facts(**others))


@pytest.mark.parametrize("devices", ["cuda:0x2", "cuda:0-1", "cuda:2*"])
def test_cards_with_numbers_are_of_one_host(devices: str) -> None:
    on_cards = [Facts(**{**each.__dict__, "devices": devices}) for each in facts()]
    check_facts([on_cards[0], on_cards[0]])
    if "*" in devices:
        check_facts(on_cards)
        return
    problem = f'"{devices}" names cards of one host, expected "cuda:*" for processes on node1, node2'
    with pytest.raises(epl.ConfigError, match=re.escape(problem)):
        check_facts(on_cards)


def test_nodes_are_hosts() -> None:
    devices = {"devices": "cpu:2x2"}
    check_facts([Facts(**{**each.__dict__, **devices}) for each in facts()])
    with pytest.raises(epl.ConfigError, match="are 2 nodes, expected 1 neighbouring processes on each"):
        check_facts([Facts(**{**each.__dict__, **devices, "host": "node1"}) for each in facts()])


@pytest.mark.parametrize(
    ("others", "levels"),
    [
        ({}, [None, None]),
        ({"cpu": "9000 avx avx2 avx512f", "level": "x86-64-v4"}, ["x86-64-v3", "x86-64-v3"]),
        ({"cpu": "9000 avx avx2"}, ["x86-64-v3", "x86-64-v3"]),
        ({"cpu": "100", "level": "x86-64"}, ["x86-64-v3", None]),  # whose plan is refused
    ],
)
def test_processes_keep_to_the_level_of_the_first(others: dict[str, str], levels: list[str | None]) -> None:
    said = facts(**others)
    assert [level_of_all(said, process) for process in (0, 1)] == levels
