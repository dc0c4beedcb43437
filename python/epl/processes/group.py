"""The processes of a run that have joined: who they are, and what they tell one another.

Problem: one script runs in several processes, which own neighbouring devices. Each has to know the others, to
be sure that they do the same, and to learn of it when one of them ends.
Method: the launcher's variables say which process this is (launch_variables.py). MPI connects them; over it
they say their versions, hosts and devices, and compare them, so that what is wrong is an error in all of
them. Process 0 then starts JAX's coordination service, whose store and liveness the watch uses (watch.py).
All that processes do together (steps, exchanges) is numbered, the same everywhere: who has ended before an
operation that others wait in is known to have left them alone.
"""

from __future__ import annotations

import atexit
import importlib
import json
import os
import pickle
import socket
import threading
import time
import warnings
from collections.abc import Callable
from typing import Any
from weakref import WeakSet

from epl import runtime, versions
from epl.adapters.jax import coordination
from epl.devices import in_processes
from epl.errors import ConfigError, Error, ProcessError
from epl.processes import patience
from epl.processes.facts import Facts, check_facts, level_of_all, own_devices
from epl.processes.launch_variables import Launch, mark_joined, no_mpi_message, read_launch
from epl.processes.watch import Watch
from epl.servers.gathering import gathering_of
from epl.servers.roles import read_role
from epl.servers.serving import serve

_JOIN_SECONDS = 60.0  # for all processes to start
_RECENT = 1000  # operations that are kept to compare them


class Group:
    """The processes of a run, as one of them sees them."""

    def __init__(self, launch: Launch, devices: str) -> None:
        """Joins; called by all.

        Raises:
          ConfigError: for processes that differ in what must be equal, or devices that they can't share.
          ProcessError: if one does not come.
        """
        self._mpi = mpi = _mpi_module()
        with patience.said(f"process {launch.process}", "for all processes of the run to come to epl.init"):
            self.members = _guarded(mpi.open_group)
        self.process: int = self.members.process
        self.processes: int = self.members.num_processes
        devices = in_processes(devices, self.processes)
        self._check_launch(launch)
        mark_joined()
        self._exchange = _guarded(runtime.module().Exchange, self.members)
        self._lock = threading.Lock()
        self._sessions: WeakSet[Any] = WeakSet()
        self.num_plans = 0  # that were loaded, the same in all processes
        self._is_exchanging = False
        self.failure: str | None = None
        self.operations = 0  # that have begun
        self.recent: dict[int, str] = {}  # the last of them, by number
        self.began = time.monotonic()  # the last of them
        library = (versions.version(), mpi.library(), coordination.VERSION)
        cpu = (runtime.module().host_cpu(), runtime.module().cpu_level())
        own = Facts(socket.gethostname(), os.getpid(), *cpu, devices, *library)
        self.facts = [Facts(**facts) for facts in self._say_first(own.__dict__)]
        try:
            check_facts(self.facts)
        except ConfigError:
            atexit.register(mpi.finalize)  # all have it, and each shows it before the launcher ends it
            raise
        if level := level_of_all(self.facts, self.process):
            runtime.module().limit_cpu(level)
            os.environ["EPL_CPU"] = level  # for the compiler
        count = own_devices(devices, self.processes)
        if devices.startswith("cpu:"):
            _warn_of_cores(count)
        self._coordinate(launch, count)

    def _check_launch(self, launch: Launch) -> None:
        said = (launch.process, launch.processes or self.processes)
        if said != (self.process, self.processes):
            raise ConfigError(
                f"MPI has started process {self.process} of {self.processes}, but in the environment "
                f"{' and '.join(launch.variables)} ({launch.launcher}) say process {said[0]} of {said[1]}"
            )

    def _say_first(self, own: Any) -> list[Any]:
        try:
            return [
                json.loads(said) for said in self._exchange.exchange(json.dumps(own).encode(), _JOIN_SECONDS)
            ]
        except runtime.module().Error as error:
            raise ProcessError(f"{error} within {_JOIN_SECONDS:.0f} s of the start") from None

    def _coordinate(self, launch: Launch, own_devices: int) -> None:
        """Starts the service in process 0, and connects to it."""
        is_one_host = len({facts.host for facts in self.facts}) == 1
        service, address = None, ""
        if self.process == 0:
            host = "127.0.0.1" if is_one_host else (launch.address or socket.getfqdn()).partition(":")[0]
            service = coordination.Service("127.0.0.1" if is_one_host else "[::]", self.processes)
            address = f"{host}:{service.port}"
        client = coordination.Client(self._say_first(address)[0], self.process)
        if all(self._say_first(coordination.can_tell_jax())):
            coordination.tell_jax(client, self.process, self.processes, own_devices)
        jax_knows = coordination.jax_knows(self.process, self.processes, own_devices)
        self.jax_knows = all(self._say_first(jax_knows))
        self.watch = Watch(self, client, service)
        self.watch.start()

    # What processes do together.

    def begin(self, what: str) -> None:
        """Counts an operation of all processes that begins here: `what` it is, for errors.

        All have one order of operations, and so one thread each that begins them.

        Raises:
          ProcessError: if a process is lost.
        """
        if self.failure is not None:
            raise ProcessError(self.failure)
        self.operations += 1
        self.recent[self.operations] = what
        self.recent.pop(self.operations - _RECENT, None)
        self.began = time.monotonic()

    def take_back(self) -> None:
        """The operation that has begun last is none: an error of this process has ended it before."""
        self.recent.pop(self.operations, None)
        self.operations -= 1

    def say(self, own: bytes, what: str) -> list[bytes]:
        """What every process says, in their order; called by all, which wait for one another.

        Args:
          what: it is about, for errors.
        """
        with self._lock:
            self.begin(what)
            self._is_exchanging = True
            try:
                return list(self._exchange.exchange(own))
            except runtime.module().Error as error:
                raise self.translated(error) from None
            finally:
                self._is_exchanging = False

    @property
    def place_on_host(self) -> int:
        """How many processes of this host come before this one."""
        hosts = [facts.host for facts in self.facts[: self.process + 1]]
        return hosts.count(hosts[-1]) - 1

    @property
    def is_failing(self) -> bool:
        """Whether this process has failed, or another one."""
        return self.failure is not None or self.watch.has_failed

    # For the watch.

    @property
    def is_waiting(self) -> bool:
        """Whether a step has not ended, or an exchange."""
        return self._is_exchanging or any(session.is_running for session in list(self._sessions))

    @property
    def fault(self) -> str:
        """Why this process can't go on with the run, though the program may not know; "" if it can."""
        return next(filter(None, (session.fault for session in list(self._sessions))), "")

    @property
    def num_moved(self) -> int:
        """How many messages of steps have come and gone."""
        return sum(session.num_moved for session in list(self._sessions))

    def waiting(self) -> list[tuple[str, str, int, int, bool, int]]:
        """The messages that commands wait for: what `Session.waiting` of the runtime says."""
        return [message for session in list(self._sessions) for message in session.waiting()]

    def share(self, own: Any, what: str) -> list[Any]:
        """The same for objects that can be pickled.

        Raises:
          ProcessError: if processes are in exchanges about something else.
        """
        said = [pickle.loads(each) for each in self.say(pickle.dumps((what, own), protocol=5), what)]
        for process, (other, _) in enumerate(said):
            if other != said[0][0]:
                raise ProcessError(
                    f"process 0 is in {said[0][0]}, {self.describe(process)} in {other}; expected the same "
                    "in one order"
                )
        return [each for _, each in said]

    def open_session(
        self, plan: Any, devices: str, name: str, keeps_results: bool = False, max_threads: int = 0
    ) -> Any:
        """A session of a plan over all processes, of whose CPUs each has what the code needs.

        Raises:
          Error: the same in all processes.
        """
        try:
            plan.check_cpu()
            problem = None
        except runtime.module().Error as error:
            problem = str(error)
        for facts, found in zip(self.facts, self.share(problem, f"loading of step {name}"), strict=True):
            if found is not None:
                raise Error(f'{found} (on host "{facts.host}"; EPL_CPU sets a level that all hosts have)')
        self.num_plans += 1
        options = (self.members, keeps_results, max_threads)
        with runtime.named_libraries():
            session = _guarded(runtime.module().Session, plan, devices, *options)
        self._sessions.add(session)
        return session

    # When a process is lost.

    def fail(self, reason: str) -> None:
        """Ends what this process waits in, and refuses what comes later: another one is lost."""
        if self.failure is not None:
            return
        self.failure = reason
        self._exchange.stop(reason)
        for session in list(self._sessions):
            session.stop(reason)

    def translated(self, error: Exception) -> Error:
        """An error of the runtime; of what was ended because a process is lost a `ProcessError`."""
        if self.failure is not None and self.failure in str(error):
            return ProcessError(str(error))
        return runtime.translated(error)

    def finalize(self) -> None:
        """Ends MPI; called by all."""
        self._mpi.finalize()

    def describe(self, process: int) -> str:
        """`process 2 (pid 311 on "node1")`."""
        facts = self.facts[process]
        return f'process {process} (pid {facts.pid} on "{facts.host}")'


_group: Group | None = None
_alone = False


def current() -> Group | None:
    """The group that this process has joined; None if it is alone, or has not joined yet."""
    return _group if _group is not None and _group.facts[_group.process].pid == os.getpid() else None


def is_alone() -> bool:
    """Whether this process has found out that it is the only one of its run."""
    return _alone


def speaks() -> bool:
    """Whether this process says what all would say alike: that is alone, or process 0."""
    group = current()
    return group is None or group.process == 0


def join(devices: str) -> Group | None:
    """The group of this run, which the first call joins; None for a process that was started alone.

    A process that is a parameter server becomes that, and does not come back.

    Args:
      devices: in full form, of the first step: JAX has a CPU device for each that this process owns.

    Raises:
      ConfigError, ProcessError: as the docstring of `Group` says.
    """
    global _group, _alone
    if _alone or _group is not None:
        return current()
    if (role := read_role(os.environ)) is not None:  # its servers connect it with the others
        if role.kind == "server":
            serve(role)
        gathering_of(role)  # from here on they see that it lives, and how it ends
        _alone = True
        return None
    launch = read_launch(os.environ)
    if launch.processes == 1:
        _alone = True
        return None
    if not launch.has_mpi:
        raise ConfigError(no_mpi_message(launch))
    group = Group(launch, devices)
    if group.processes == 1:
        _alone = True
        return None
    _group = group
    return _group


def stay_alone() -> None:
    """Says that only parameter servers connect this process with others, whatever its environment says.

    Raises:
      ConfigError: if it has joined a group.
    """
    global _alone
    if (group := current()) is not None:
        raise ConfigError(
            f"this is process {group.process} of {group.processes} that a launcher has connected, but "
            "trainers with parameter servers are plain processes: start them by epl-launch --servers"
        )
    _alone = True


def join_with(devices: str) -> str:
    """Joins as `join` does; the devices as the processes have them: `"cuda:*"` says how many there are."""
    members = join(devices)
    return in_processes(devices, members.processes if members else 1)


def _warn_of_cores(own_devices: int) -> None:
    cores = len(os.sched_getaffinity(0))
    if cores < min(own_devices, os.cpu_count() or 1):
        warnings.warn(
            f"this process has {own_devices} devices and may use {cores} of {os.cpu_count()} cores: mpirun "
            "binds each process to one core unless it is told --bind-to none",
            RuntimeWarning,
            stacklevel=2,
        )


def _mpi_module() -> Any:
    runtime.module()  # whose folder the module is in, too
    try:
        return importlib.import_module("_epl_mpi")
    except ImportError as error:
        raise ConfigError(
            f"several processes, but this installation of EPL has no MPI ({error}): install Open MPI "
            "(libopenmpi3 and openmpi-bin of Debian), or start one process"
        ) from None


def _guarded(action: Callable[..., Any], *args: Any) -> Any:
    try:
        return action(*args)
    except runtime.module().Error as error:
        raise runtime.translated(error) from None
