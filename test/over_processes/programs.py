"""Plans over processes beside the same in one process: those of random programs, and those of a folder.

    programs.py --programs 60 --processes 2 3        random programs; the seed, a fresh one, is printed
    programs.py --programs 500 --seed 0              those of fixed seeds
    programs.py --plans build/plans --processes 2    the plans that the Python tests have left there
    programs.py --programs 60 --cards each           random programs on GPUs, over the stand-in of one

The programs are those of test/differential (`--programs 1 --seed SEED` there checks one in one process). What
differs is printed with its seed, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import os
import secrets
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "test" / "differential"))

import cards  # noqa: E402
from check import Case, compile_file  # noqa: E402
from launching import mpirun  # noqa: E402
from run import make_case, put_on_card  # noqa: E402

TIMEOUT = 600  # seconds for the plans of a folder: what takes longer hangs


def write_plans(folder: Path, seed: int, count: int, on_cards: bool) -> None:
    """Compiles programs on several devices, from a seed on, until there are so many plans."""
    cases = _several_devices(seed, on_cards)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        while (missing := count - len(list(folder.glob("*.eplan")))) > 0:
            list(pool.map(lambda pair: _write(folder, *pair), [next(cases) for _ in range(missing)]))


def _several_devices(seed: int, on_cards: bool) -> Iterator[tuple[int, Case]]:
    while True:
        case = put_on_card(make_case(seed)) if on_cards else make_case(seed)
        is_whole = isinstance(case, Case) and case.devices > 1 and not case.find_faults()
        if isinstance(case, Case) and is_whole and case.on_card == on_cards:
            yield seed, case
        seed += 1


def _write(folder: Path, seed: int, case: Case) -> None:
    """The plan of a program; none if the compiler refuses that, as test/differential judges."""
    file = folder / f"{seed}.mlir"
    file.write_text(case.text())
    file.with_suffix(".txt").write_text(case.table)
    compile_file(file, case.options, file.with_suffix(".eplan"))


def compare(folder: Path, processes: list[int], on_cards: str | None) -> bool:
    """Whether all plans of a folder have the bits of one process."""
    command = [sys.executable, str(Path(__file__).with_name("compare.py")), str(folder)]
    environment = {}
    if on_cards:
        command.append(on_cards)
        environment = cards.environment() | {"EPL_CUDA_SAME_BITS": "1", "EPL_CUDA_DEVICES": "16"}
    done = [mpirun(count, command, TIMEOUT, **environment) for count in processes]
    for each in done:
        print(each.stdout.strip(), each.stderr.strip(), sep="\n" if each.stderr.strip() else "", flush=True)
    return all(each.returncode == 0 for each in done)


def main() -> int:
    """Parses the command line, makes plans and compares them."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--programs", type=int, default=0, help="how many random programs")
    parser.add_argument("--seed", type=int, help="the seed of the first of them (default: a fresh one)")
    parser.add_argument("--plans", type=Path, help="a folder of plans; one that is not there has none")
    parser.add_argument("--processes", type=int, nargs="+", default=[2, 3, 4], help="over how many processes")
    parser.add_argument(
        "--cards",
        choices=["one", "each"],
        help="on virtual devices of one card, by messages through the host, or on a card for each, by NCCL",
    )
    arguments = parser.parse_args()
    right = True
    if arguments.plans and arguments.plans.exists():
        right &= compare(arguments.plans, arguments.processes, arguments.cards)
    if arguments.programs:
        seed = secrets.randbelow(10**12) if arguments.seed is None else arguments.seed
        print(f"random programs from seed {seed} on", flush=True)
        with tempfile.TemporaryDirectory() as name:
            write_plans(Path(name), seed, arguments.programs, on_cards=arguments.cards is not None)
            right &= compare(Path(name), arguments.processes, arguments.cards)
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
