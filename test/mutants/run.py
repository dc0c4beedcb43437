"""Text mutants of MLIR inputs: `epl-opt` and `epl-compile` answer with a program or a located error.

    run.py --mutants 2000 --seed 0    the mutants 0 to 1999 of seed 0
    run.py --fresh 500                those of a seed that nobody has tried before
    run.py --forever                  fresh seeds without end, until Ctrl-C or SIGTERM

Mutants are made of the inputs of the lit tests and of test/models, and of what the phases make of those
(inputs.py), by changes that stay near what is valid (mutate.py). A failure is a signal, a failed assertion, a
time limit, or an end without a program and without an error at a place; it is written to a file below
build/mutants, and the command that repeats it is printed. EPL_BIN names another folder of tools.
"""

from __future__ import annotations

import argparse
import collections
import itertools
import os
import random
import resource
import signal
import sys
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from check import Failure, Mutant, check
from inputs import Input, get_tool, read_inputs
from mutate import mutate

BATCH = 24  # mutants of one process
MAX_REPORTED = 20
MEMORY = 8 << 30  # bytes that a tool may map: one that asks for more has not checked a size
FOUND = Path(__file__).parents[2] / "build/mutants"


def make_mutant(inputs: list[Input], seed: int, index: int) -> Mutant:
    """A mutant, by the inputs, a seed and its number."""
    choices = random.Random(f"{seed}/{index}")
    source = choices.choice(inputs)
    return Mutant(
        f"{seed}-{index}", mutate(source.text, choices.choice(inputs).text, choices), source.choose(choices)
    )


class Run:
    """Makes, checks and reports mutants."""

    def __init__(self, inputs: list[Input]) -> None:
        self.begin = time.monotonic()
        self.inputs = inputs
        self.outcomes: collections.Counter[str] = collections.Counter()
        self.failures: list[Failure] = []

    def check(self, numbers: Iterable[tuple[int, int]]) -> None:
        """Rounds of enough mutants that those of one command fill a process."""
        iterator = iter(numbers)
        workers = os.cpu_count() or 1
        with ThreadPoolExecutor(workers) as pool:
            while chosen := list(itertools.islice(iterator, 1000)):
                batches = self._make_batches(chosen)
                for outcomes, failures in pool.map(check, batches):
                    self.outcomes.update(outcomes)
                    for failure in failures:
                        self._report(failure)

    def _make_batches(self, numbers: list[tuple[int, int]]) -> list[list[Mutant]]:
        """Mutants of equal commands together; a process of `epl-compile` has one."""
        together = collections.defaultdict(list)
        for seed, index in numbers:
            mutant = make_mutant(self.inputs, seed, index)
            together[mutant.command].append(mutant)
        batches = []
        for (tool, *_), mutants in together.items():
            size = BATCH if tool == "epl-opt" else 1
            batches += [mutants[begin : begin + size] for begin in range(0, len(mutants), size)]
        return batches

    def _report(self, failure: Failure) -> None:
        self.failures.append(failure)
        if len(self.failures) > MAX_REPORTED:
            return
        FOUND.mkdir(parents=True, exist_ok=True)
        file = FOUND / f"{failure.mutant.name}.mlir"
        file.write_text(failure.mutant.text)
        tool, *arguments = failure.mutant.command
        print(f"\n{failure.reason}:\n  {get_tool(tool)} {file} {' '.join(arguments)}", flush=True)

    def finish(self) -> int:
        count = sum(self.outcomes.values())
        print(", ".join(f"{outcome} {number}" for outcome, number in sorted(self.outcomes.items())))
        print(
            f"{count} mutants of {len(self.inputs)} inputs, {time.monotonic() - self.begin:.0f} s: ", end=""
        )
        print(f"{len(self.failures)} failed, see {FOUND}" if self.failures else "all right")
        return 1 if self.failures else 0


def get_numbers(options: argparse.Namespace) -> Iterator[tuple[int, int]]:
    """Seeds and numbers of the mutants that are asked for."""
    yield from zip(itertools.repeat(options.seed), range(options.mutants))
    fresh = random.SystemRandom().randrange(10**6, 10**12)
    if options.fresh or options.forever:
        print(f"fresh: --seed {fresh}", flush=True)
    yield from zip(itertools.repeat(fresh), itertools.count() if options.forever else range(options.fresh))


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mutants", type=int, default=0, help="how many mutants of --seed")
    parser.add_argument("--seed", type=int, default=0, help="their seed (default 0)")
    parser.add_argument("--fresh", type=int, default=0, help="how many more, of a seed that is printed")
    parser.add_argument("--forever", action="store_true", help="go on with fresh ones until a signal")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    run = Run(read_inputs())
    try:
        run.check(get_numbers(options))
    except KeyboardInterrupt:
        print("interrupted")
    return run.finish()


if __name__ == "__main__":
    sys.exit(main())
