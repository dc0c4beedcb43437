"""Differential fuzzing: random programs, compiled for several devices, must give NumPy's numbers exactly.

    run.py --programs 200 --seed 0

Each program runs in a process of its own, so that a crash or a hang is a finding like any other. A failing
program is shrunk and printed with its seed; `run.py --programs 1 --seed SEED` finds it again.
"""

from __future__ import annotations

import argparse
import os
import pickle
import random
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from check import TIMEOUT, Case, Mismatch, Refusal, check
from generate import make_program
from shrink import shrink

REFUSED = 3  # exit code
MAX_REFUSED = 0.05  # of the programs: more would hide that little is tested


def make_case(seed: int) -> Case:
    program = make_program(seed)
    batches = [a.value.type.shape[a.batch_dim] for a in program.arguments if a.role == "batch"]
    counts = [count for count in (1, 2, 3, 4, 6, 8) if all(batch % count == 0 for batch in batches)]
    return Case(program, random.Random(seed).choice(counts))


def check_in_process(case: Case) -> tuple[int, str]:
    """The exit code of a process that checks the case, and what it says."""
    command = [sys.executable, __file__, "--check"]
    try:
        done = subprocess.run(
            command, input=pickle.dumps(case), capture_output=True, timeout=4 * TIMEOUT, check=False
        )
    except subprocess.TimeoutExpired:
        return 1, "hangs"
    text = (done.stdout + done.stderr).decode(errors="replace")
    return done.returncode, f"killed by signal {-done.returncode}\n{text}" if done.returncode < 0 else text


def check_from_stdin() -> int:
    try:
        check(pickle.load(sys.stdin.buffer))
    except Refusal as refusal:
        print(refusal)
        return REFUSED
    except Mismatch as mismatch:
        print(mismatch)
        return 1
    return 0


def report(seed: int, case: Case, code: int, text: str) -> None:
    print(f"\nseed {seed} fails on cpu:{case.devices}:\n{text}\nshrinking ...", flush=True)
    small = shrink(case, lambda other: check_in_process(other)[0] not in (0, REFUSED))
    print(
        f"{small.program.text()}\nseed {seed}, shrunk to {len(small.program.ops)} ops on cpu:{small.devices}:"
    )
    print(check_in_process(small)[1], flush=True)


def run(first: int, count: int) -> int:
    begin, failed, refused, ops = time.monotonic(), 0, 0, 0
    seeds = range(first, first + count)
    cases = [make_case(seed) for seed in seeds]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for seed, case, (code, text) in zip(seeds, cases, pool.map(check_in_process, cases), strict=True):
            ops += len(case.program.ops)
            refused += code == REFUSED
            if code not in (0, REFUSED):
                failed += 1
                report(seed, case, code, text)
    print(
        f"{count} programs of {ops} ops, seeds {first} to {first + count - 1},"
        f" {time.monotonic() - begin:.0f} s: {failed} failed, {refused} refused as not supported yet"
    )
    return 1 if failed or refused > MAX_REFUSED * count else 0


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--programs", type=int, default=200, help="how many programs (default 200)")
    parser.add_argument("--seed", type=int, default=0, help="the seed of the first program (default 0)")
    parser.add_argument("--check", action="store_true", help="check one pickled case from standard input")
    options = parser.parse_args()
    return check_from_stdin() if options.check else run(options.seed, options.programs)


if __name__ == "__main__":
    sys.exit(main())
