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
        raise ConfigError(f"TF_CONFIG in the environment must be a JSON object, found {text}")
    return config


def _checked_jobs(cluster: Any) -> dict[str, list[str]]:
    if not isinstance(cluster, dict):
        raise ConfigError(
            f'"cluster" of TF_CONFIG must be an object from kinds to lists of hosts, found {cluster!r}'
        )
    for kind, hosts in cluster.items():
        if not isinstance(hosts, list) or not all(isinstance(host, str) and host for host in hosts):
            raise ConfigError(f'"{kind}" of "cluster" of TF_CONFIG must be a list of hosts, found {hosts!r}')
        if hosts:
            _check_kind(kind)
    chiefs = [host for kind in _CHIEFS for host in cluster.get(kind, [])]
    if len(chiefs) > 1:
        raise ConfigError(f"TF_CONFIG must have one chief (or master) at most, found {', '.join(chiefs)}")
    return {kind: hosts for kind, hosts in cluster.items() if hosts}


def _checked_task(task: Any, jobs: dict[str, list[str]]) -> tuple[str, int]:
    """The kind and index of the task. TensorFlow takes an index in quotes, too."""
    if not isinstance(task, dict) or "type" not in task or "index" not in task:
        raise ConfigError(f'"task" of TF_CONFIG must have a "type" and an "index", found {task!r}')
    kind, index = task["type"], str(task["index"])
    _check_kind(kind)
    count = len(jobs.get(kind, []))
    if not re.fullmatch(r"[0-9]{1,9}", index) or int(index) >= count:
        raise ConfigError(
            f'"index" of "task" of TF_CONFIG must be below the {count} of "{kind}" in "cluster", '
            f"found {task['index']!r}"
        )
    return kind, int(index)


def _check_kind(kind: Any) -> None:
    if kind == "ps":
        raise ConfigError(
            'TF_CONFIG names parameter servers ("ps"), which EPL has not: processes exchange gradients with '
            "one another; name workers instead"
        )
    if kind == "evaluator":
        raise ConfigError(
            "TF_CONFIG names an evaluator, which EPL has not: evaluate in a script without TF_CONFIG"
        )
    if kind not in (*_CHIEFS, "worker"):
        raise ConfigError(
            f'a kind of tasks of TF_CONFIG must be "chief", "master" or "worker", found {kind!r}'
        )
