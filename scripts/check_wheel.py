"""Build sdist and wheel; install the wheel alone in an empty environment and run the README's lines there."""

from __future__ import annotations

import shutil

from environment import ROOT, fresh_environment, run

LINES = """
import doctest, importlib.util, sys
for extra in ("ecos", "matplotlib", "pandas"):
    assert importlib.util.find_spec(extra) is None, f"{extra} is installed: not an empty environment"
import robustsvm
assert "site-packages" in robustsvm.__file__, robustsvm.__file__
failed, run = doctest.testfile(sys.argv[1], module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE)
assert run > 0 and not failed, (run, failed)
print(f"README: {run} lines run with {robustsvm.__file__}")
"""


def main() -> None:
    shutil.rmtree(ROOT / "dist", ignore_errors=True)
    run(ROOT / ".venv" / "bin" / "python", "-m", "build", "--outdir", ROOT / "dist", ROOT)
    (wheel,) = (ROOT / "dist").glob("*.whl")
    with fresh_environment() as (home, python):
        run(python, "-m", "pip", "install", "--quiet", wheel, cwd=home)
        (home / "lines.py").write_text(LINES)
        run(python, home / "lines.py", ROOT / "README.md", cwd=home)


if __name__ == "__main__":
    main()
