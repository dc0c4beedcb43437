"""Runs the code of the tutorial that is Paddle's. Run with Paddle 2.6.

    tutorial.py FOLDER    writes what the code writes

`test/paddle_programs/tutorial` has what Paddle 2.6.2 wrote; the rest of the chapter reads it.
"""

import os
import re
import sys
from pathlib import Path

TUTORIAL = Path(__file__).parents[2] / "docs" / "tutorial.md"


def code():
    """The block of the chapter that no language is said of."""
    _, _, chapter = TUTORIAL.read_text().partition("## Programs of Paddle\n")
    return re.search(r"^```\n(.*?)^```$", chapter, re.M | re.S)[1]


if __name__ == "__main__":
    from answers import with_lines
    from paddle import static

    folder = Path(sys.argv[1])
    folder.mkdir(exist_ok=True)
    os.chdir(folder)
    exec(compile(code(), "classifier.py", "exec"), {"__name__": "__main__"})
    for file in Path().glob("*.pdmodel"):
        file.write_bytes(with_lines(static.deserialize_program(file.read_bytes())))
