# The two commands of a newcomer are `make run` and `make test`; the rest is for those who work on qengine.
PYTHON ?= python3
VENV   ?= .venv
BIN     = $(VENV)/bin
KERNELS = $(wildcard kernels/host/*.cpp kernels/host/*.h kernels/include/qe/*.h kernels/*.cmake) kernels/CMakeLists.txt

.PHONY: run test test-all check bench clean
.DELETE_ON_ERROR:

## run: set up, then ask questions of the example graph (a tour of it when there is no terminal)
run: $(VENV)/.run
	@if [ -t 0 ] && [ -t 1 ]; then $(BIN)/qengine examples/world; else $(BIN)/python examples/tour.py; fi

## test: set up, then run the tests (under 15 minutes)
test: $(VENV)/.test
	$(BIN)/python -m pytest

## test-all: every test, the long ones too
test-all: $(VENV)/.test
	$(BIN)/python -m pytest --slow

## check: style, types, and that the wheel holds what it must and answers far from here
check: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest --slow tests/packaging

## bench: the benchmark table (see tests/bench/README.md)
bench: $(VENV)/.bench
	$(BIN)/python -m tests.bench

clean:
	rm -rf build .venv *.egg-info

# Each stamp installs qengine editable with what the target needs; a changed kernel is compiled anew.
$(VENV)/.run:   EXTRA =
$(VENV)/.test:  EXTRA = [test]
$(VENV)/.dev:   EXTRA = [dev]
$(VENV)/.bench: EXTRA = [test,bench]
$(VENV)/.run $(VENV)/.test $(VENV)/.dev $(VENV)/.bench: pyproject.toml $(KERNELS) | $(BIN)/python
	@echo "setting up $(VENV) (the first time about two minutes of processor time)"
	$(BIN)/pip install --quiet --disable-pip-version-check --editable ".$(EXTRA)"
	@touch $@

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
