"""Run the test suite with the lowest version of each dependency that pyproject.toml declares."""

from __future__ import annotations

import re
import tomllib

from environment import ROOT, fresh_environment, run


def lowest_pins() -> list[str]:
    """``name==version`` for every ``name>=version`` that a user's or the tests' installation asks for."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    asked = [*project["dependencies"], *extras["ecos"], *extras["plot"], *extras["test"]]
    matches = (re.fullmatch(r"([A-Za-z0-9_.-]+)>=([0-9.]+)", requirement) for requirement in asked)
    return [f"{match[1]}=={match[2]}" for match in matches if match]


def main() -> None:
    with fresh_environment() as (home, python):
        constraints = home / "lowest.txt"
        constraints.write_text("\n".join(lowest_pins()) + "\n")
        print(constraints.read_text())
        run(python, "-m", "pip", "install", "--quiet", "--constraint", constraints, f"{ROOT}[test]")
        run(python, "-m", "pip", "list")
        # From the sources' folder, where pytest is configured; doctests of the package run too.
        run(python, "-m", "pytest", "-n", "auto", "-q")


if __name__ == "__main__":
    main()
