# Every target sets up what it needs; a second run with nothing changed installs nothing.
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: setup demo test check bench lab-models clean

setup: $(READY)

$(READY): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt setuptools
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt --no-build-isolation -e '.[test]'
	touch $@

demo: $(READY)
	$(BIN)/babelscope demo --out runs/demo

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test: check
	$(BIN)/python -m pytest -n 2

bench: $(READY)
	$(BIN)/python -m benchmarks.scoring

lab-models: $(READY)
	$(BIN)/babelscope lab make-models --seeds 3 --out build/lab --models src/babelscope/lab/models

clean:
	rm -rf $(VENV) runs
