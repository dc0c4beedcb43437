"""`TF_CONFIG`, by which the launchers of TensorFlow and EPL say which task of a cluster a process is."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from epl.errors import ConfigError

_CHIEFS = ("chief", "master")


@dataclass(frozen=True)
class Task:
    """A process of a cluster: its number, its name ("worker 1"), and all hosts in the order of numbers."""

    process: int
    name: str
    hosts: tuple[str, ...]


def read(text: str) -> Task | None:
    """The task that a text of TF_CONFIG names; None for one without a cluster. The chief is process 0.

    Raises:
      ConfigError: for a text that is no JSON or lacks something, an index out of range, and for parameter
        servers and evaluators, which EPL has not.
    """
    config = _parsed(text)
    cluster = config.get("cluster")
    if not cluster:
        return None
    jobs = _checked_jobs(cluster)
    kind, index = _checked_task(config.get("task"), jobs)
    chiefs = [host for each in _CHIEFS for host in jobs.get(each, [])]
    first = 0 if kind in _CHIEFS else len(chiefs)
    return Task(first + index, f"{kind} {index}", (*chiefs, *jobs.get("worker", [])))


def _parsed(text: str) -> dict[str, Any]:
    try:
        config = json.loads(text or "{}")
    except (ValueError, RecursionError) as error:  # integers of thousands of digits, and deep nesting
        raise ConfigError(f"TF_CONFIG in the environment is no JSON: {error}, found {text}") from None
    if not isinstance(config, dict):
        raise _bad(f"must be a JSON object, found {text}")
    return config


def _checked_jobs(cluster: Any) -> dict[str, list[str]]:
    if not isinstance(cluster, dict):
        raise _bad(f'"cluster" must be an object from kinds to lists of hosts, found {cluster!r}')
    for kind, hosts in cluster.items():
        if not isinstance(hosts, list) or not all(isinstance(host, str) and host for host in hosts):
            raise _bad(f'"{kind}" of "cluster" must be a list of hosts, found {hosts!r}')
        if hosts and kind not in (*_CHIEFS, "worker"):
            raise _bad(_why_not(kind))
    chiefs = [host for kind in _CHIEFS for host in cluster.get(kind, [])]
    if len(chiefs) > 1:
        raise _bad(f'"cluster" must have one chief (or master) at most, found {", ".join(chiefs)}')
    return {kind: hosts for kind, hosts in cluster.items() if hosts}


def _checked_task(task: Any, jobs: dict[str, list[str]]) -> tuple[str, int]:
    """The kind and index of the task. TensorFlow takes an index in quotes, too."""
    if not isinstance(task, dict) or "type" not in task or "index" not in task:
        raise _bad(f'"task" must have a "type" and an "index", found {task!r}')
    kind, index = task["type"], str(task["index"])
    if kind not in (*_CHIEFS, "worker"):
        raise _bad(_why_not(kind))
    count = len(jobs.get(kind, []))
    if not re.fullmatch(r"[0-9]{1,9}", index) or int(index) >= count:
        raise _bad(
            f'"index" of "task" must be below the {count} of "{kind}" in "cluster", found {task["index"]!r}'
        )
    return kind, int(index)


def _why_not(kind: Any) -> str:
    if kind == "ps":
        return 'names parameter servers ("ps"): processes exchange gradients with one another, name workers'
    if kind == "evaluator":
        return "names an evaluator: start a script that evaluates by itself, without TF_CONFIG"
    return f'knows the kinds "chief", "master" and "worker", found {kind!r}'


def _bad(what: str) -> ConfigError:
    return ConfigError(f"TF_CONFIG in the environment: {what}")
