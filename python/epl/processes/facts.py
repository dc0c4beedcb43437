"""What processes say of themselves when they join, and whether they fit together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from epl.devices import count_devices
from epl.errors import ConfigError


@dataclass(frozen=True)
class Facts:
    """What a process says of itself when it joins."""

    host: str
    pid: int
    cpu: str  # its model and features
    level: str  # of the psABI that it has, or that EPL_CPU leaves of it
    devices: str
    epl: str
    mpi: str
    jax: str


def check_facts(facts: Sequence[Facts]) -> None:
    """Raises `ConfigError` if processes differ in what must be equal, or can't share the devices."""
    _check_equal([fact.epl for fact in facts], facts, "versions of EPL")
    _check_equal([fact.mpi for fact in facts], facts, "versions of MPI")
    _check_equal([fact.jax for fact in facts], facts, "versions of JAX")
    _check_equal([fact.devices for fact in facts], facts, "devices")
    own_devices(facts[0].devices, len(facts))
    _check_hosts(facts)


def level_of_all(facts: Sequence[Facts], process: int) -> str | None:
    """The level of the CPU that a process keeps to, so that all compute the same bits; None for all it has.

    Libraries choose their code by the CPU. Where processes have other ones, all keep to the level of process
    0, which compiles for all; one that has less can't load the plan, and says so then.
    """
    if all(fact.cpu == facts[0].cpu for fact in facts) or facts[process].level < facts[0].level:
        return None
    return facts[0].level


def _check_equal(values: Sequence[str], facts: Sequence[Facts], what: str) -> None:
    for process, (value, fact) in enumerate(zip(values, facts, strict=True)):
        if value != values[0]:
            raise ConfigError(
                f'processes have other {what}: process 0 (on "{facts[0].host}") {values[0]}, process '
                f'{process} (on "{fact.host}") {value}; expected the same of all'
            )


def _check_hosts(facts: Sequence[Facts]) -> None:
    """Of `cpu:WxG` each node is a host, and its processes are neighbours; cards with numbers are of one."""
    kind, _, extent = facts[0].devices.partition(":")
    hosts_of_all = sorted({fact.host for fact in facts})
    if kind == "cuda" and "*" not in extent and len(hosts_of_all) > 1:
        raise ConfigError(
            f'"{facts[0].devices}" names cards of one host, expected "cuda:*" for processes on '
            f"{', '.join(hosts_of_all)}"
        )
    nodes, cross, _ = extent.partition("x")
    if kind != "cpu" or not cross or int(nodes) == 1:
        return
    each = len(facts) // int(nodes)
    hosts = [[fact.host for fact in facts[k * each : (k + 1) * each]] for k in range(int(nodes))]
    names = {host for node in hosts for host in node}
    if len(names) != int(nodes) or any(len(set(node)) > 1 for node in hosts):
        raise ConfigError(
            f'"{facts[0].devices}" are {nodes} nodes, expected {each} neighbouring processes on each of as '
            f"many hosts, found processes on {', '.join(fact.host for fact in facts)}"
        )


def own_devices(devices: str, processes: int) -> int:
    """How many of the devices a process has; raises `ConfigError` if they have no equal shares."""
    count = count_devices(devices)
    if count % processes:
        raise ConfigError(
            f'"{devices}" are {count} devices over {processes} processes, expected a number of devices that '
            "the number of processes divides"
        )
    return count // processes
