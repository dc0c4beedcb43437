"""The processes of a run that MPI connects: mpirun starts them."""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys

from .command_line import command_of, hosts_of
from .output import Output
from .starting import end_with_parent, environment_of

# Each process has the GPUs of its place on its machine.
_TAKE_GPUS = (
    "first=$((OMPI_COMM_WORLD_LOCAL_RANK * {count})); "
    'export CUDA_VISIBLE_DEVICES=$(seq -s, $first $((first + {count} - 1))); exec "$@"'
)


def mpirun_command(options: argparse.Namespace) -> list[str]:
    """The command line of mpirun."""
    count, hosts = options.num_workers, hosts_of(options)
    command = ["mpirun", "-n", str(count), "--bind-to", "none", "--tag-output"]
    if hosts:
        command += ["--host", ",".join(f"{host}:{count // len(hosts)}" for host in hosts)]
    else:
        command += ["--oversubscribe"]
    if options.gpu_per_worker:
        command += ["bash", "-c", _TAKE_GPUS.format(count=options.gpu_per_worker), "bash"]
    return [*command, *command_of(options)]


class MpiRun:
    """One start of all processes, which is ended by what ends the launcher."""

    def __init__(self, options: argparse.Namespace, attempt: int) -> None:
        environment = environment_of(attempt)
        if os.geteuid() == 0:  # as in a container, where there is nobody else
            environment |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        self.ended_by: int | None = None
        """The signal that was given to the launcher; SIGPIPE if nobody reads its output any more."""
        self._output = Output(options.log_dir, lambda: self.end(signal.SIGPIPE))
        self._child = subprocess.Popen(
            mpirun_command(options),
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            preexec_fn=end_with_parent,
        )

    def end(self, signum: int) -> None:
        """Ends all processes: mpirun passes it on, and kills who does not end."""
        self.ended_by = signum
        self._child.terminate()

    def wait(self) -> int:
        """Waits for all processes; mpirun's exit code, which is that of the first that failed."""
        child = self._child
        assert child.stdout is not None
        assert child.stderr is not None
        threads = [
            self._output.follow(child.stdout, sys.stdout),
            self._output.follow(child.stderr, sys.stderr),
        ]
        try:
            return child.wait()
        finally:
            for thread in threads:
                thread.join(timeout=2)
            self._output.close()
