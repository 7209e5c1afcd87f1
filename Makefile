# make test: everything CI runs. make demo: every formulation on real data, a table and a figure.
PYTHON ?= python3
BIN := .venv/bin

# On problems of this size a second BLAS thread costs more than it brings.
export OPENBLAS_NUM_THREADS := 1
export OMP_NUM_THREADS := 1
export MPLBACKEND := Agg

.PHONY: test lint types pytest demo benchmark lowest wheel clean

test: lint types pytest

.venv/ready: pyproject.toml
	$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11) and 'robustsvm needs Python 3.11 or later: make PYTHON=python3.11')"
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $@

lint: .venv/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: .venv/ready
	$(BIN)/mypy

pytest: .venv/ready
	$(BIN)/python -m pytest -n auto

demo: .venv/ready
	$(BIN)/python examples/demo.py

benchmark: .venv/ready
	$(BIN)/python -m benchmarks $(ARGS)

# The suite with the lowest version of every dependency that pyproject.toml allows.
lowest:
	$(PYTHON) scripts/lowest_versions.py

# sdist and wheel; the wheel in an empty environment, without extras, must run the README's lines.
wheel: .venv/ready
	$(PYTHON) scripts/check_wheel.py

clean:
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
