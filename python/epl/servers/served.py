"""A step that is dealt out to a worker and its servers."""

from __future__ import annotations

from epl.compile import load_or_compile
from epl.devices import count_devices
from epl.servers import compiling, geo
from epl.servers.gathering import seen_compiling
from epl.servers.job import Job
from epl.servers.sharing import Plans, agreed_level, compile_for_all
from epl.servers.strategy import ParameterServer, role_of
from epl.stages import Lowered
from epl.tables.apply import updates_of
from epl.tables.steps import StepTables


class Served:
    """What servers hold of a step, and do with it, and the plan of a worker.

    roles: who has what, as `epl-compile --emit=roles` says it. role: what this process is. plan: of a worker.
    programs: of servers, by name. updates: of rows of tables. job: all that for the runtime.
    """

    def __init__(self, lowered: Lowered, strategy: ParameterServer, tables: StepTables | None) -> None:
        """Has the compiler deal a step out, and worker 0 compile it for all.

        Args:
          tables: of the step, if it looks up some.

        Raises:
          CompileError: with the user's source line, if the step cannot be dealt out or does not compile.
          ProcessError: if servers end the job meanwhile, or are lost.
          UnsupportedError: for what is not there yet.
        """
        self.role = role_of(strategy)
        with seen_compiling(self.role, goes_on=strategy.goes_on):
            self._compile(lowered, strategy, tables)

    def _compile(self, lowered: Lowered, strategy: ParameterServer, tables: StepTables | None) -> None:
        name, text = lowered.signature.name, lowered.program.text
        role = self.role
        servers, workers = (len(role.servers), role.workers) if role else (1, 1)
        has_tables = tables is not None
        cut = compiling.options_of(strategy, servers, has_tables=has_tables)
        more = (*lowered.options, *lowered.precision.options)
        self.roles = compiling.describe(text, lowered.devices, name, cut, more)
        is_geo = strategy.mode == "geo"
        if is_geo:
            self.roles = geo.additions(self.roles)
        devices = count_devices(lowered.devices)

        def compile_here(level: str) -> Plans:
            if is_geo:
                additions = geo.compile_additions(self.roles, level)
                return Plans(additions, load_or_compile(text, lowered.devices, name, more))
            return Plans(
                compiling.compile_server(text, name, cut, self.roles["programs"], level, devices),
                compiling.compile_worker(text, lowered.devices, name, more, has_tables=has_tables),
            )

        key = (strategy.mode, lowered.devices, *cut, *more)
        plans = compile_for_all(role, text, key, name, compile_here)
        self.plan, self.programs = plans.worker, plans.servers
        known = tables.tables if tables else ()
        self.updates = {table: updates_of(table, agreed_level()) for table in known}
        self.job = Job(self.roles, strategy, servers, workers, plans.servers, self.updates)
