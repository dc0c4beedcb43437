"""Differential fuzzing: random programs, compiled for several devices, must give NumPy's numbers exactly.

One program of four is on floats, half of these with NaN, infinities and the like: each element must lie in a
range that is derived from the program (ranges.py). One program of eighty is a step of JAX with derivatives
of derivatives (derivatives.py), beside `jax.jit`.

    run.py --programs 2000 --seed 0    the programs of seeds 0 to 1999
    run.py --fresh 500                 programs that nobody has tried before
    run.py --forever                   the same without end, until Ctrl-C or SIGTERM
    run.py --pipelines --fresh 500     of these the pipelines of several stages, about one of fifteen
    run.py --cards --fresh 500         on virtual devices of a card, over the stand-in of a GPU

A seed says all of a program; what fails is shrunk and printed with its seed, `--programs 1 --seed SEED` finds
it again while the generator stays as it is, and --keep (build/found) has it as a file (found.py). Files in
test/differential/found, of programs that failed once, are checked before all others. Processes check the
programs, a hundred each; one that a crash or a hang has taken its verdict from is checked alone. EPL_COMPILE
names a compiler other than build/bin/epl-compile. The last lines count what the programs were made of.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import itertools
import json
import os
import pickle
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import cards
from check import TIMEOUT, AnyCase, Case, Verdict, check, get_cpus
from coverage import Coverage
from derivatives import make_derivatives
from found import FOUND, check_file, write_program
from generate import make_program
from layout import make_layout, share_meshes
from shrink import shrink

BATCH = 100  # programs of one process
KEPT = Path(__file__).parents[2] / "build" / "found"  # where programs that fail are written
FIRST_FRESH = 10**6  # seeds from here on are fresh ones
MAX_SHRUNK = 5  # more would take long and hardly tell more
SCHEDULES = ("1f1b", "gpipe", "preferbackwardoptimizer", "zb-h1")
DERIVATIVES = 80  # the last of so many seeds is that of a step with derivatives, which takes seconds


def make_case(seed: int) -> AnyCase:
    if seed % DERIVATIVES == DERIVATIVES - 1:
        return make_derivatives(seed)
    choices = random.Random(seed)
    devices = choices.choice([1, 2, 2, 2, 3, 4, 4, 5, 6, 7, 8, 8])
    kernels = choices.choices(["vectorized", "loops", "reference"], [5, 4, 1])[0]
    cpu = choices.choice(get_cpus()) if kernels == "vectorized" else "host"
    micro = random.Random(f"micro-batches of {seed}").choice([1, 2, 4])
    layout = share_meshes(random.Random(f"stages of {seed}"), make_layout(choices, devices))
    if layout.apart and micro > 1:
        micro = random.Random(f"micro-batches of the pipeline {seed}").choice([micro, micro, 3, 6, 8])
    program = make_program(seed, layout, _get_floats(seed), micro)
    zero = choices.choice(["off", "off", "off", "v1", "v2", "v3"]) if kernels == "loops" else "off"
    if zero == "off" and random.Random(f"owners of {seed}").random() < 0.25:
        zero = "owners"
    sequence = kernels == "loops" and choices.random() < 0.5
    machine = choices.choice(["cpu", "cpu", "h100"]) if kernels == "loops" else "cpu"
    schedule = random.Random(f"schedule of {seed}").choice(SCHEDULES)
    schedule = "random" if random.Random(f"table of {seed}").random() < 0.3 else schedule
    again = random.Random(f"recomputation of {seed}")
    recompute = again.choice(["off", "auto", "collection"])
    if recompute == "collection":
        program = dataclasses.replace(program, checkpoints=again.choice([2, 3, 5]))
    if micro in (2, 4, 8) and not program.floats and random.Random(f"scope of {seed}").random() < 0.8:
        program = dataclasses.replace(program, alike=micro)
    offload = random.Random(f"offload of {seed}").random() < 0.25
    case = Case(program, kernels, cpu, zero, sequence, machine, micro, schedule, recompute, offload)
    if _fits_micro_batches(case):
        return case
    return dataclasses.replace(case, program=dataclasses.replace(program, alike=0), micro_batches=1)


def _fits_micro_batches(case: AnyCase) -> bool:
    """Whether there are batches, all of which are long enough, if need be."""
    if not isinstance(case, Case) or case.micro_batches == 1:
        return True
    if case.kernels == "reference" or case.find_faults():
        return False
    lengths = [a.value.type.shape[a.batch_dim] for a in case.program.arguments if a.role == "batch"]
    parts = case.micro_batches * case.program.sample_parts
    return bool(lengths) and all(length % parts == 0 for length in lengths)


def _get_floats(seed: int) -> str:
    """One program of four is on floats, half of these with special ones."""
    return "" if seed % 4 else "special" if seed % 8 else "ordinary"


def check_in_process(cases: list[AnyCase]) -> list[Verdict]:
    """The verdicts of a process; it ends early where a case makes it crash or hang.

    A session of its own keeps it from Ctrl-C, which is for this process.
    """
    command = [sys.executable, __file__, "--check"]
    try:
        done = subprocess.run(
            command, input=pickle.dumps(cases), capture_output=True, timeout=4 * TIMEOUT + len(cases),
            check=False, start_new_session=True, env=cards.environment() if _use_cards(cases) else None,
        )  # fmt: skip
    except subprocess.TimeoutExpired as timeout:
        verdicts = _read_verdicts(timeout.stdout or b"")
        reason = "hangs"
    else:
        verdicts = _read_verdicts(done.stdout)
        if done.returncode == 0:
            return verdicts
        signalled = f"killed by {signal.Signals(-done.returncode).name}" if done.returncode < 0 else ""
        reason = signalled or f"exit code {done.returncode}\n{done.stderr.decode(errors='replace')}"
    # What ends a process behind its last verdict is that case's too.
    return [*verdicts[: len(cases) - 1], Verdict("failed", reason)]


def _use_cards(cases: list[AnyCase]) -> bool:
    return any(isinstance(case, Case) and case.on_card for case in cases)


def _read_verdicts(output: bytes) -> list[Verdict]:
    lines = output.decode(errors="replace").splitlines(keepends=True)
    return [Verdict(*json.loads(line)) for line in lines if line.endswith("\n")]


def check_from_stdin() -> int:
    for verdict in check(pickle.load(sys.stdin.buffer)):
        print(json.dumps([verdict.outcome, verdict.text, verdict.tolerances]), flush=True)
    return 0


def put_on_card(case: AnyCase) -> AnyCase:
    """The case on devices of a card. Steps of JAX stay on CPUs, and so do references."""
    if not isinstance(case, Case) or case.kernels == "reference":
        return case
    return dataclasses.replace(case, on_card=True)


def check_seeds(seeds: Iterable[int], make: Callable[[int], AnyCase]) -> list[tuple[int, AnyCase, Verdict]]:
    cases = [(seed, make(seed)) for seed in seeds]
    verdicts: list[Verdict] = []
    while len(verdicts) < len(cases):  # the next process starts behind the case that ended the last one
        verdicts += check_in_process([case for _, case in cases[len(verdicts) :]])
    return [(seed, case, verdict) for (seed, case), verdict in zip(cases, verdicts, strict=True)]


class Run:
    """Counts and reports what the programs of one run give."""

    def __init__(self, kept: Path, make: Callable[[int], AnyCase]) -> None:
        self.kept = kept
        self.make = make
        self.begin = time.monotonic()
        self.coverage = Coverage()
        self.wrong: list[int] = []
        self.files: dict[int, Path] = {}  # of those that are wrong
        self.wrong_files: list[str] = []

    def check_found(self) -> None:
        """The programs that failed once."""
        for file in sorted(FOUND.glob("*.mlir")):
            if reason := check_file(file):
                self.wrong_files.append(file.name)
                print(f"\n{file.name} fails again: {reason}", flush=True)

    def check(self, batches: Iterator[list[int]]) -> None:
        """A batch for each core at a time, so that batches without end are no reason not to begin."""
        workers = os.cpu_count() or 1
        with ThreadPoolExecutor(workers) as pool:
            while group := list(itertools.islice(batches, workers)):
                for checked in pool.map(functools.partial(check_seeds, make=self.make), group):
                    for seed, case, verdict in checked:
                        self.coverage.add(case, verdict)
                        if verdict.outcome != "passed":
                            self._report(seed, case, verdict)

    def _report(self, seed: int, case: AnyCase, verdict: Verdict) -> None:
        self.wrong.append(seed)
        self.files[seed] = write_program(case, verdict, self.kept / f"seed-{seed}")
        print(f"\nseed {seed} {verdict.outcome} on {' '.join(case.options)}:\n{verdict.text}", flush=True)
        if len(self.wrong) > MAX_SHRUNK:
            return

        def fails(other: AnyCase) -> bool:
            return _fits_micro_batches(other) and check_in_process([other])[0].outcome == verdict.outcome

        small = shrink(case, fails)
        print(f"shrunk to {small.size} ops on {' '.join(small.options)}:\n{small.text()}")
        print(check_in_process([small])[0].text, flush=True)

    def finish(self) -> int:
        print(self.coverage)
        print(f"{self.coverage.programs} programs, {time.monotonic() - self.begin:.0f} s: ", end="")
        print(f"{len(self.wrong)} wrong: {self.wrong}" if self.wrong else "all right")
        if self.wrong_files:
            print(f"failed before and fail again: {self.wrong_files}")
        for seed in self.wrong:
            fresh = "a fresh seed: the fault may be older than the change"
            print(f"seed {seed} failed, {fresh if seed >= FIRST_FRESH else 'a fixed seed'}")
            print(f"  its program is in {self.files[seed]}, and `--programs 1 --seed {seed}` makes it again")
        return 1 if self.wrong or self.wrong_files else 0


def is_pipeline(case: AnyCase) -> bool:
    """Whether scopes are stages."""
    return isinstance(case, Case) and case.micro_batches > 1 and case.program.layout.stages > 1


def make_batches(seeds: Iterable[int]) -> Iterator[list[int]]:
    iterator = iter(seeds)
    while batch := list(itertools.islice(iterator, BATCH)):
        yield batch


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--programs", type=int, default=0, help="how many programs from --seed on")
    parser.add_argument("--seed", type=int, default=0, help="the seed of the first of them (default 0)")
    parser.add_argument("--fresh", type=int, default=0, help="how many more, from a seed that is printed")
    parser.add_argument("--forever", action="store_true", help="go on with fresh ones until a signal")
    parser.add_argument("--pipelines", action="store_true", help="only those of several stages")
    parser.add_argument("--cards", action="store_true", help="on devices of a card, over the stand-in of one")
    parser.add_argument("--keep", type=Path, default=KEPT, help="the folder for programs that fail")
    parser.add_argument("--check", action="store_true", help="check the pickled cases from standard input")
    options = parser.parse_args()
    if options.check:
        return check_from_stdin()
    fresh = random.SystemRandom().randrange(FIRST_FRESH, 10**12)
    count = None if options.forever else fresh + options.fresh
    if options.fresh or options.forever:
        print(f"fresh seeds from {fresh} on", flush=True)
    fresh_seeds = itertools.count(fresh) if count is None else range(fresh, count)
    seeds: Iterable[int] = itertools.chain(range(options.seed, options.seed + options.programs), fresh_seeds)
    if options.pipelines:
        seeds = (seed for seed in seeds if is_pipeline(make_case(seed)))
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    run = Run(options.keep, lambda seed: put_on_card(make_case(seed)) if options.cards else make_case(seed))
    try:
        run.check_found()
        run.check(make_batches(seeds))
    except KeyboardInterrupt:
        print("interrupted")
    return run.finish()


if __name__ == "__main__":
    sys.exit(main())
