"""The launcher without the rest of EPL, which takes a second to load: `python epl/launcher`."""

import importlib.util
import sys
from pathlib import Path


def _load() -> None:
    """Makes the folder a package of its own name, so that its modules find one another."""
    folder = Path(__file__).parent
    spec = importlib.util.spec_from_file_location(
        "epl_launcher", folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)


if __name__ == "__main__":
    _load()
    sys.exit(sys.modules["epl_launcher"].entry())
