"""Where the programs are that are measured."""

import os
from pathlib import Path

ROOT = Path(__file__).parents[2]
BUILD = Path(os.environ.get("EPL_BUILD") or ROOT / "build")
TOOLS = BUILD / "bin"
