# Every target sets up what it needs; a second run with nothing changed installs nothing.
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: setup demo test test-all check bench lab-models clean fuzz torture mutants

setup: $(READY)

$(READY): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt setuptools setuptools-scm
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt --no-build-isolation -e '.[test]'
	touch $@

demo: $(READY)
	$(BIN)/babelscope demo --out runs/demo

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

test: check
	$(BIN)/python -m pytest -n 2 -m "not slow"

# What takes long and is rarely broken; `make test` first.
test-all: $(READY)
	$(BIN)/python -m pytest -n 2 -m slow

# How cost grows, as tables in runs/growth.md: a quarter of an hour of one core.
bench: $(READY)
	$(BIN)/python -m benchmarks.growth --out runs/growth.md

# A million broken inputs to every reader and to the command line, each within 2 s of a processor and 500 MB:
# half an hour of one core. What is over a bound, or crashes, is kept in runs/fuzz.
fuzz: $(READY)
	$(BIN)/python tests/fuzz --inputs 1000000

# A study killed with -9 a thousand times at random moments, gone on with every time.
torture: $(READY)
	$(BIN)/python tests/torture.py --kills 1000

# Small mistakes put into the maths, one at a time: do the tests notice?
mutants: $(READY)
	$(BIN)/python tests/mutants.py

lab-models: $(READY)
	$(BIN)/babelscope lab make-models --seeds 3 --out build/lab --models src/babelscope/lab/models

clean:
	rm -rf $(VENV) runs
