"""Files that are written whole or not at all."""

from __future__ import annotations

import tempfile
from pathlib import Path

from epl.errors import Error


def replace_file(path: Path, content: bytes) -> None:
    """Writes a file beside its place and renames it, so that nobody ever sees a part of it.

    Raises:
      OSError: if it cannot be written; what stood there before still does.
    """
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
        try:
            file.write(content)
            file.close()
            Path(file.name).chmod(0o644)
            Path(file.name).replace(path)
        except BaseException:
            Path(file.name).unlink(missing_ok=True)
            raise


def write_file(path: Path, content: bytes) -> None:
    """Writes a file, or raises `Error` with the system's reason."""
    try:
        if path.exists() and not path.is_file():
            path.write_bytes(content)  # devices and pipes stay what they are
        else:
            replace_file(path, content)
    except OSError as error:
        raise Error(f'cannot write "{path}": {error.strerror}') from error
