"""How this process was started: which of how many it is, as the launcher's environment variables say.

Each launcher has variables of its own, and several may have set theirs: srun starts what PMIx then numbers,
a script in torchrun's style exports `RANK` for what mpirun starts. All that are there must agree, since a
process that takes itself for another one reads another one's part of the data. Two kinds speak of other
processes:

- Within Slurm, mpirun has srun start its daemons. What the daemons start inherits the daemons' variables of
  Slurm, so these are ignored where another launcher is nearer.
- What a process of a run starts (a data loader's worker, a compiler) inherits all variables of that process,
  and is no process of the run. So a process that joins a run leaves its own id in `EPL_PROCESS_OF`
  (`mark_joined`), and one that finds the id of another there is alone.

Nothing here knows MPI or other processes: the answer depends on the variables and the own id alone.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NoReturn

from epl.errors import ConfigError
from epl.processes import tf_config

_WITH_MPI = ("Open MPI", "PMIx")
_PROCESS_OF = "EPL_PROCESS_OF"


@dataclass(frozen=True)
class Launch:
    """How a process was started.

    `process` counts from 0. `processes` is at least 1, or None if the variables do not say (PMIx without
    Slurm: MPI will). `launcher` is a name for people, "none" of a process that is alone. `address` is where
    process 0 can be reached, `host` or `host:port` as the launcher writes it, or None. `variables` are those
    that say all this, as `"RANK=1"`.
    """

    process: int
    processes: int | None
    launcher: str
    address: str | None
    variables: tuple[str, ...] = ()

    @property
    def has_mpi(self) -> bool:
        """Whether the launcher connects its processes by MPI; others only number them."""
        return self.launcher in _WITH_MPI


ALONE = Launch(0, 1, "none", None)


def read_launch(environ: Mapping[str, str]) -> Launch:
    """How the process with the variables `environ` was started; `ALONE` if no launcher has left any.

    A variable that is set to nothing counts as not set.

    Raises:
      ConfigError: names the variable: it is no integer, out of range, no JSON, lacks the one that goes with
        it, or disagrees with that of another launcher.
    """
    present = {name: value.strip() for name, value in environ.items() if value.strip()}
    if _is_child_of_process(present):
        return ALONE
    claims = [_open_mpi(present), _pmix(present), *_slurm(present), _torchrun(present), _paddle(present)]
    claims.append(_tf_config(present))
    return _agreed([claim for claim in claims if claim])


def mark_joined() -> None:
    """Says that this process is one of a run, so that the ones that it starts from now on are none."""
    os.environ[_PROCESS_OF] = str(os.getpid())


def no_mpi_message(launch: Launch) -> str:
    """What to write instead, where a launcher numbers several processes without connecting them by MPI."""
    count = launch.processes
    names = ", ".join(dict.fromkeys(re.split("[= ]", variable)[0] for variable in launch.variables))
    return (
        f"several processes, but no MPI: {' and '.join(launch.variables)} ({launch.launcher}) say that this "
        f"is process {launch.process} of {count}, and nothing connects them; start them by "
        f'"epl-launch -n {count} python train.py" or "mpirun -n {count} python train.py", under Slurm by '
        f'"srun --mpi=pmix -n {count} python train.py"; where each is to run alone, unset {names}'
    )


def _is_child_of_process(present: Mapping[str, str]) -> bool:
    marked = present.get(_PROCESS_OF)
    return marked is not None and integer_variable(_PROCESS_OF, marked, least=1) != os.getpid()


def _open_mpi(present: Mapping[str, str]) -> Launch | None:
    return _numbered("Open MPI", present, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE")


def _pmix(present: Mapping[str, str]) -> Launch | None:
    """PMIx numbers processes, and tells their count only to who asks its server: here Slurm has to say it."""
    if "PMIX_RANK" not in present:
        return None
    if "SLURM_STEP_NUM_TASKS" in present and not _is_below_daemon(present):
        return _numbered("PMIx", present, "PMIX_RANK", "SLURM_STEP_NUM_TASKS")
    rank = integer_variable("PMIX_RANK", present["PMIX_RANK"])
    return Launch(rank, None, "PMIx", None, (f"PMIX_RANK={rank}",))


def _slurm(present: Mapping[str, str]) -> list[Launch | None]:
    """Of a task that srun has started: a batch script has `SLURM_NTASKS` and `SLURM_PROCID`, and is no task.

    MPICH's variables are those of srun too (`--mpi=pmi2`).
    """
    if _is_below_daemon(present):
        return []
    is_task = "SLURM_PROCID" in present and "SLURM_STEP_NUM_TASKS" in present
    task = _numbered("Slurm", present, "SLURM_PROCID", "SLURM_STEP_NUM_TASKS") if is_task else None
    return [task, _numbered("MPICH", present, "PMI_RANK", "PMI_SIZE")]


def _is_below_daemon(present: Mapping[str, str]) -> bool:
    """Whether another launcher stands between srun and this process; PMIx says whose names it gives out."""
    namespace = present.get("PMIX_NAMESPACE", "slurm.")
    return "OMPI_COMM_WORLD_RANK" in present or not namespace.startswith("slurm.")


def _torchrun(present: Mapping[str, str]) -> Launch | None:
    launch = _numbered("torchrun", present, "RANK", "WORLD_SIZE")
    return launch and replace(launch, address=present.get("MASTER_ADDR"))


def _paddle(present: Mapping[str, str]) -> Launch | None:
    launch = _numbered("Paddle", present, "PADDLE_TRAINER_ID", "PADDLE_TRAINERS_NUM")
    text = present.get("PADDLE_TRAINER_ENDPOINTS")
    if launch is None or text is None:
        return launch
    endpoints = text.split(",")
    if len(endpoints) != launch.processes:
        raise ConfigError(
            f"{launch.variables[1]} in the environment, but PADDLE_TRAINER_ENDPOINTS names "
            f"{len(endpoints)}: {text}"
        )
    return replace(launch, address=endpoints[0].strip())


def _tf_config(present: Mapping[str, str]) -> Launch | None:
    task = tf_config.read(present.get("TF_CONFIG", ""))
    if task is None:
        return None
    said = (f"TF_CONFIG (task {task.name})", f"TF_CONFIG (cluster of {len(task.hosts)})")
    return Launch(task.process, len(task.hosts), "TF_CONFIG", task.hosts[0], said)


def _numbered(launcher: str, present: Mapping[str, str], rank: str, size: str) -> Launch | None:
    """What two variables say, of which one numbers this process and one counts all."""
    if rank not in present and size not in present:
        return None
    for name, other in ((rank, size), (size, rank)):
        if name not in present:
            raise ConfigError(
                f"{other}={present[other]} in the environment needs {name} beside it ({launcher}): "
                "set both, or none"
            )
    processes = integer_variable(size, present[size], least=1)
    process = integer_variable(rank, present[rank])
    if process >= processes:
        raise ConfigError(
            f"{rank} in the environment must be below {size}={processes}, found {process} ({launcher})"
        )
    return Launch(process, processes, launcher, None, (f"{rank}={process}", f"{size}={processes}"))


def integer_variable(name: str, text: str, least: int = 0) -> int:
    """What a variable of the environment says that is a number; raises ConfigError if it is none."""
    if not re.fullmatch(r"[0-9]{1,9}", text) or int(text) < least:
        raise ConfigError(f'{name} in the environment must be an integer of at least {least}, found "{text}"')
    return int(text)


def _agreed(claims: Sequence[Launch]) -> Launch:
    """The first launch, with what only later ones know; they are in the order of their nearness to MPI."""
    if not claims:
        return ALONE
    first = counted = claims[0]
    for claim in claims[1:]:
        if claim.process != first.process:
            _disagree("which process this is", first, claim, 0)
        if counted.processes is None:
            counted = claim
        elif claim.processes not in (None, counted.processes):
            _disagree("how many processes there are", counted, claim, 1)
    address = next((claim.address for claim in claims if claim.address), None)
    return replace(first, processes=counted.processes, address=address)


def _disagree(what: str, first: Launch, second: Launch, which: int) -> NoReturn:
    """Two launchers say otherwise in their variable number `which`."""
    one, other = first.variables[which], second.variables[which]
    raise ConfigError(
        f"{one} ({first.launcher}) and {other} ({second.launcher}) in the environment disagree about {what}: "
        "unset those of the launcher that did not start this process"
    )
