"""What servers do with tables, by NumPy: a stand-in of the runtime's worker for tests of the front end."""

from __future__ import annotations

from typing import Any

import numpy as np

from epl import runtime
from epl.executable import Executable

ROWS = 256


class Table:
    """The rows of a table."""

    def __init__(self, fields: Any, plan: bytes) -> None:
        name, dtype, self.dim, slots, self.init, self.seed, _, self.admit = fields
        self.dtype = np.dtype(dtype)
        self.first = [np.frombuffer(raw, kind).reshape(shape) for _, kind, shape, raw in slots]
        self.rows: dict[int, list[Any]] = {}
        self.seen: dict[int, int] = {}
        self.apply = Executable(runtime.module().Plan.from_bytes(plan), "cpu:1", name)

    def begin(self, id_: int) -> Any:
        kind, scale = self.init
        if kind in ("zeros", "constant"):
            return np.full(self.dim, scale if kind == "constant" else 0, self.dtype)
        random = np.random.default_rng([self.seed, id_])
        values = (
            random.uniform(-scale, scale, self.dim)
            if kind == "uniform"
            else random.normal(0, scale, self.dim)
        )
        return values.astype(self.dtype)

    def pull(self, ids: Any, create: bool, padding: int | None) -> Any:
        found = np.zeros((*ids.shape, self.dim), self.dtype)
        for place, id_ in np.ndenumerate(ids):
            if id_ == padding:
                continue
            found[place] = self.rows[int(id_)][0] if int(id_) in self.rows else self.begin(int(id_))
        return found

    def push(self, ids: Any, gradients: Any, padding: int | None) -> None:
        sums: dict[int, Any] = {}
        for own, rows in zip(ids, gradients, strict=True):
            for id_, row in zip(own.reshape(-1), rows.reshape(-1, self.dim), strict=True):
                if id_ != padding:
                    sums[int(id_)] = sums[int(id_)] + row if int(id_) in sums else row
        for id_ in sums:
            self.seen[id_] = self.seen.get(id_, 0) + 1
            if id_ not in self.rows and self.seen[id_] >= self.admit:
                self.rows[id_] = [self.begin(id_), *self.first]
        known = [id_ for id_ in sums if id_ in self.rows]
        for begin in range(0, len(known), ROWS):
            self.update(known[begin : begin + ROWS], sums)

    def update(self, ids: list[int], sums: dict[int, Any]) -> None:
        padded = ids + ids[-1:] * (ROWS - len(ids))
        kept = [np.stack(parts) for parts in zip(*(self.rows[id_] for id_ in padded), strict=True)]
        new = [np.array(each) for each in self.apply(*kept, np.stack([sums[id_] for id_ in padded]))]
        for i, id_ in enumerate(ids):
            self.rows[id_] = [part[i].copy() for part in new]


class Job:
    """A job of the runtime with tables."""

    def __init__(self, *fields: Any) -> None:
        *plain, plans, self.tables = fields if len(fields) == 8 else (*fields, [])
        count = len(plans) - len(self.tables)
        self.plans = [content for _, content in plans[count:]]
        self.real = REAL_JOB(*plain, plans[:count])
        self.hash = f"{self.real.hash} {self.tables} {hash(tuple(self.plans))}"


class Worker:
    """A worker of the runtime with tables; `newest`: the last one that was made."""

    newest: Worker | None = None

    def __init__(self, job: Job, *fields: Any) -> None:
        self.real = REAL_WORKER(job.real, *fields)
        self.tables = [Table(fields, plan) for fields, plan in zip(job.tables, job.plans, strict=True)]
        Worker.newest = self

    def __getattr__(self, name: str) -> Any:
        return getattr(self.real, name)

    def pull_rows(self, _: int, requests: Any) -> Any:
        assert all(ids.dtype == np.int64 for _, ids, _, _ in requests)
        return [self.tables[table].pull(ids, create, padding) for table, ids, create, padding in requests]

    def push(self, step: int, pushes: Any, rows: Any = ()) -> None:
        self.real.push(step, pushes)
        assert [table for table, *_ in rows] == list(range(len(self.tables)))
        for table, ids, gradients, padding in rows:
            self.tables[table].push(ids, gradients, padding)


REAL_JOB = runtime.module().ServersJob
REAL_WORKER = runtime.module().ServersWorker
