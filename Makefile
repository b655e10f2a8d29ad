# Everything a visitor or the CI runs. `make help` lists it. PYTHON chooses the interpreter (3.10 or newer).
PYTHON ?= python3
# Test processes: a number, or auto for one per core.
JOBS ?= auto

VENV := .venv
PY := $(VENV)/bin/python
STAMP := $(VENV)/.installed

.DEFAULT_GOAL := help
.PHONY: help setup run test bench bench-model bench-compile mutants sweep foreign fuzz clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(STAMP) ## make .venv and install pykittens into it (quick, and offline, once done)

# Only a changed pyproject.toml installs again, so a finished set-up needs neither network nor time.
$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(None if v >= (3, 10) else f"pykittens needs Python 3.10 or newer; this is {v[0]}.{v[1]}: make PYTHON=python3.x")'
	$(PYTHON) -m venv $(VENV)
	$(PY) -m pip install --quiet --disable-pip-version-check --editable '.[dev,examples,figures]'
	@touch $(STAMP)

run: setup ## the main job: handwritten digits through the GEMM on the virtual GPU
	@$(PY) examples/digits.py

test: setup ## format, lint, types, tests: all that the CI checks
	$(PY) -m ruff format --check .
	$(PY) -m ruff check .
	$(PY) -m mypy
	$(PY) -m pytest -q -n $(JOBS)

# A target that prints figures is one line here and one script; the script also writes out/<target>.json.
bench: setup ; @$(PY) -m bench.speed ## speed of the virtual GPU next to NumPy on this machine
foreign: setup ; @$(PY) -m bench.foreign.run ## other people's code: AITER, Triton, clang; writes docs/foreign.md
fuzz: setup ; @$(PY) -m bench.fuzz ## damaged code and absurd launches for ten minutes
bench-model: setup ; @$(PY) bench/model.py ## the cycle model beside published measurements, row by row
bench-compile: setup ; @$(PY) -m bench.compile_time ## from Python to code object: seconds of every kernel and choice
sweep: setup ; @$(PY) -m bench.gemm_sweep ## every matrix product, 200 shapes a build, through the checkers
mutants: setup ; @$(PY) -m bench.mutants ## how many single changes to waits, barriers and nops the checks find

clean: ## remove what the targets above made, .venv included
	rm -rf $(VENV) out build dist src/*.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests examples bench -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true
