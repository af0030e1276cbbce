# The two commands of a newcomer are `make run` and `make test`; the rest is for those who work on qengine.
PYTHON ?= python3
VENV   ?= .venv
BIN     = $(VENV)/bin
PYTEST  = $(BIN)/python -m pytest --numprocesses auto --maxprocesses 8 --dist worksteal
KERNELS = $(wildcard kernels/host/*/*.cpp kernels/host/*/*.h kernels/include/qe/*.h kernels/*.cmake) kernels/CMakeLists.txt

.PHONY: run test test-nets test-all check docs wheel bench benchmark clean
.DELETE_ON_ERROR:
# Tests start hundreds of processes, each of which would compile qengine's sources anew.
unexport PYTHONDONTWRITEBYTECODE

## run: set up, then ask questions of the example graph (a tour of it when there is no terminal)
run: set-up-run
	@if [ -t 0 ] && [ -t 1 ]; then $(BIN)/qengine examples/world; else $(BIN)/python examples/tour.py; fi

## test: set up, then run the tests (under 15 minutes)
test: set-up-test
	$(PYTEST)

## test-nets: generated queries, damaged graphs, heavy queries, sanitizers, CUDA for all GPUs (some 20 to 25 minutes)
test-nets: set-up-nets
	$(PYTEST) --nets -m nets

## test-all: every test, the long ones too
test-all: set-up-nets
	$(PYTEST) --slow

## check: style, types, the documentation, and that the wheel holds what it must and answers far from here
check: set-up-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(MAKE) --no-print-directory docs
	$(BIN)/python -m pytest --slow tests/packaging

## docs: the documentation as a site in build/site; broken links and warnings are errors
docs: set-up-dev
	cd docs && NO_MKDOCS_2_WARNING=1 ../$(BIN)/mkdocs build --strict --quiet

## wheel: a wheel for this platform in build/wheels, with the GPU's kernels compiled for all architectures (no GPU needed)
wheel: set-up-dev
	$(BIN)/qengine warmup --package build/ready
	$(BIN)/python -m build --wheel --outdir build/wheels

## bench: the benchmark table (see tests/bench/README.md)
bench: set-up-bench
	$(BIN)/python -m tests.bench

## benchmark: a page with a picture, build/benchmark.html, of qengine and its peers on two small graphs (5 minutes)
benchmark: set-up-bench
	$(BIN)/python -m tests.bench.page

clean:
	rm -rf build .venv *.egg-info

# Under a lock, so that several `make` of one checkout can run at the same time.
set-up-%:
	@mkdir -p $(VENV)
	@flock $(VENV)/.lock $(MAKE) --no-print-directory $(VENV)/.$*

# Each stamp installs qengine editable with what the target needs; a changed kernel is compiled anew.
$(VENV)/.run:   EXTRA =
$(VENV)/.test:  EXTRA = [test]
$(VENV)/.nets:  EXTRA = [nets]
$(VENV)/.dev:   EXTRA = [dev]
$(VENV)/.bench: EXTRA = [test,bench]
$(VENV)/.run $(VENV)/.test $(VENV)/.nets $(VENV)/.dev $(VENV)/.bench: pyproject.toml $(KERNELS) | $(BIN)/python
	@echo "setting up $(VENV) (the first time about two minutes of processor time)"
	$(BIN)/pip install --quiet --disable-pip-version-check --editable ".$(EXTRA)"
	@touch $@

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
