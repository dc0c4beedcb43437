"""A step that is dealt out to a worker and its servers."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax

from epl.compile import load_or_compile
from epl.devices import count_devices
from epl.errors import Error
from epl.servers import compiling, geo, saved
from epl.servers.gathering import seen_compiling
from epl.servers.job import Job
from epl.servers.roles import Role
from epl.servers.saved import Kind, Parts
from epl.servers.sharing import Plans, agree, agreed_level, check_alike, compile_for_all
from epl.servers.strategy import ParameterServer, role_of
from epl.slots import Slot, arguments_of, check_same, results_of, slot
from epl.stages import Lowered
from epl.tables.apply import Updates, updates_of, with_plan
from epl.tables.keeping import TableSpec
from epl.tables.steps import StepTables


@dataclass(frozen=True)
class Served:
    """What servers hold of a step, and do with it, and the plan of a worker.

    tables: of the step, None if it has none. cut: how parameters are cut, as the compiler is told it. roles:
    who has what, as `epl-compile --emit=roles` says it. role: what this process is. plan: of a worker.
    programs: of servers, by name. updates: of rows of tables. job: all that for the runtime.
    """

    tables: StepTables | None
    cut: tuple[str, ...]
    roles: Any
    role: Role | None
    plan: Any
    programs: Mapping[str, bytes]
    updates: Mapping[TableSpec, Updates]
    job: Job

    @classmethod
    def compiled(cls, lowered: Lowered, strategy: ParameterServer, tables: StepTables | None) -> Served:
        """Has the compiler deal a step out, and worker 0 compile it for all.

        Raises:
          CompileError: with the user's source line, if the step cannot be dealt out or does not compile.
          ProcessError: if servers end the job meanwhile, or are lost.
          UnsupportedError: for what is not there yet.
        """
        with seen_compiling(role_of(strategy), goes_on=strategy.goes_on):
            return cls._compiled(lowered, strategy, tables)

    @classmethod
    def _compiled(cls, lowered: Lowered, strategy: ParameterServer, tables: StepTables | None) -> Served:
        name, text = lowered.signature.name, lowered.program.text
        role = role_of(strategy)
        has_tables = tables is not None
        cut = compiling.options_of(strategy, _servers(role), has_tables=has_tables)
        more = (*lowered.options, *lowered.precision.options)
        roles = compiling.describe(text, lowered.devices, name, cut, more)
        is_geo = strategy.mode == "geo"
        if is_geo:
            roles = geo.additions(roles)
        devices = count_devices(lowered.devices)

        def compile_here(level: str) -> Plans:
            if is_geo:
                additions = geo.compile_additions(roles, level)
                return Plans(additions, load_or_compile(text, lowered.devices, name, more))
            return Plans(
                compiling.compile_server(text, name, cut, roles["programs"], level, devices),
                compiling.compile_worker(text, lowered.devices, name, more, has_tables=has_tables),
            )

        key = (strategy.mode, lowered.devices, *cut, *more)
        plans = compile_for_all(role, text, key, name, compile_here)
        known = tables.tables if tables else ()
        updates = {table: updates_of(table, agreed_level()) for table in known}
        made = cls._of(tables, cut, roles, plans, updates, strategy)
        check_alike(role, name, _facts(made, strategy))
        return made

    @classmethod
    def loaded(cls, parts: Parts, plan: Any, strategy: ParameterServer, tables: StepTables | None) -> Served:
        """The same of what was saved, `parts_beside`; nothing is compiled.

        Raises:
          ArgumentError, UnsupportedError: as of `Job`.
        """
        agree(parts.level)
        known = tables.tables if tables else ()
        updates = {table: with_plan(table, parts.updates[table.name]) for table in known}
        plans = Plans(parts.programs, plan)
        return cls._of(tables, tuple(parts.cut), parts.roles, plans, updates, strategy)

    @classmethod
    def _of(
        cls,
        tables: StepTables | None,
        cut: tuple[str, ...],
        roles: Any,
        plans: Plans,
        updates: Mapping[TableSpec, Updates],
        strategy: ParameterServer,
    ) -> Served:
        role = role_of(strategy)
        workers = role.workers if role else 1
        job = Job(roles, strategy, _servers(role), workers, plans.servers, updates)
        return cls(tables, cut, roles, role, plans.worker, plans.servers, updates, job)

    def save(self, path: Path, lowered: Lowered, kind: Kind) -> None:
        """Writes what servers have beside the plan that was saved at a path; raises Error if it cannot."""
        arguments, results = _slots(lowered, self.tables)
        updates = {table.name: each.plan for table, each in self.updates.items()}
        parts = Parts(
            kind,
            arguments,
            results,
            list(self.cut),
            agreed_level(),
            self.roles,
            dict(self.programs),
            updates,
        )
        saved.write(path, self.plan, parts)


def _facts(served: Served, strategy: ParameterServer) -> dict[str, str]:
    """What servers hold, and how, for people: of equal jobs the same."""
    options = ("mode", "on_lost", "slice_up", "min_block_size", "dispatch", "geo_steps")
    chosen = {name: getattr(strategy, name) for name in options}
    facts = {
        f"{name} of epl.ParameterServer": "a function" if callable(value) else repr(value)
        for name, value in chosen.items()
    }
    facts |= {f'the type of "{name}"': kind for name, kind in served.job.types.items()}
    for group in served.roles["groups"]:
        for block in group["blocks"]:
            facts[f'the update of "{block["name"]}"'] = _digest(served.programs[block["program"]])
    for table, updates in served.updates.items():
        facts |= {f'{what} of table "{table.name}"': text for what, text in table.settings().items()}
        facts[f'the update of table "{table.name}"'] = _digest(updates.plan)
    return facts


def _digest(plan: bytes) -> str:
    return f"program {hashlib.sha256(plan).hexdigest()[:12]}"


def evaluation_of(lowered: Lowered, tables: StepTables) -> Parts:
    """What is saved beside the plan of a step that applies nothing."""
    return Parts("evaluation", *_slots(lowered, tables), [], "", None, {}, {})


def parts_beside(
    path: Path, plan: Any, lowered: Lowered, strategy: ParameterServer, tables: StepTables | None
) -> Parts:
    """What was saved beside the plan at a path, of this step and for so many servers.

    Raises:
      Error: if there is nothing, or it is of another step, another strategy, or other servers.
    """
    file, name = saved.path_of(path), lowered.signature.name
    parts = saved.read(path, plan)
    if parts is None:
        raise Error(
            f'"{file}" does not hold what servers have of "{path}": save a step that was compiled with a '
            "strategy, and keep both files"
        )
    check_same(name, _slots(lowered, tables), (parts.arguments, parts.results))
    kind: Kind = "geo" if strategy.mode == "geo" else "worker"
    cut = compiling.options_of(strategy, _servers(role_of(strategy)), has_tables=tables is not None)
    if parts.kind != "evaluation" and (kind, list(cut)) != (parts.kind, parts.cut):
        raise Error(
            f'"{path}" was compiled for other servers than {name} has here: expected {_text(kind, cut)}, '
            f"found {_text(parts.kind, parts.cut)}"
        )
    return parts


def _slots(lowered: Lowered, tables: StepTables | None) -> tuple[list[Slot], list[Slot]]:
    """Arguments and results of a step, with its tables, the rows of its lookups and their gradients."""
    known = tables.tables if tables else ()
    kinds = [(table.name, jax.ShapeDtypeStruct((table.dim,), table.dtype)) for table in known]
    looked_up = tables.lookups if tables else ()
    rows = [slot(each.argument.name, each.argument.role, each.kind) for each in looked_up]
    pushed = tables.pushed if tables else ()
    gradients = [slot(f"gradient of {looked_up[i].name}", "result", looked_up[i].kind) for i in pushed]
    rows += [slot(f"table {name}", "state", kind) for name, kind in kinds]
    return [*arguments_of(lowered), *rows], [*results_of(lowered), *gradients]


def _text(kind: Kind, cut: Sequence[str]) -> str:
    """What the compiler was told of servers."""
    return " ".join((*(('mode "geo"',) if kind == "geo" else ()), *cut))


def _servers(role: Role | None) -> int:
    return len(role.servers) if role else 1
