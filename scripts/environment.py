"""A fresh virtual environment, for scripts that check an installation from the outside."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def run(*command: str | Path, cwd: Path = ROOT) -> None:
    """Run a command, show it, and stop at the first failure."""
    print("+", *command, flush=True)
    threads = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MPLBACKEND": "Agg"}
    subprocess.run([str(part) for part in command], cwd=cwd, check=True, env=os.environ | threads)


@contextmanager
def fresh_environment() -> Iterator[tuple[Path, Path]]:
    """(folder, its Python): an empty environment that is removed afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        run(sys.executable, "-m", "venv", home / "venv")
        python = home / "venv" / "bin" / "python"
        run(python, "-m", "pip", "install", "--quiet", "--upgrade", "pip")
        yield home, python
