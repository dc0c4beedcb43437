"""The command `python -m epl`: says what is installed."""

from __future__ import annotations

import argparse
import sys

from epl import versions
from epl.errors import Error


def main() -> None:
    """Prints the report that `--version` asks for, else how the command is used."""
    parser = argparse.ArgumentParser(
        prog="epl",
        description="EPL parallelizes a training step that is written for one device; see epl.parallelize.",
        epilog="The programs are epl-compile, epl-run and epl-plan, each with --help.",
    )
    parser.add_argument(
        "--version", action="store_true", help="print versions, the CPU's level, compiler and libraries"
    )
    if not parser.parse_args().version:
        parser.print_help()
        return
    try:
        print(versions.report())
    except Error as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
