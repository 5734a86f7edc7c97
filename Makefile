# `make run` and `make test` do all set-up by themselves: they need `python3`, 3.11 or newer, and a network once.
PYTHON ?= python3
JOBS ?= 2

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip -qq --disable-pip-version-check
INSTALLED := $(CURDIR)/build/installed
LONG := sunspots text_lstm rbm# `make run` runs the first; docs/examples.md tells of the others
EVERYDAY := $(filter-out pictures $(LONG),$(basename $(notdir $(sort $(wildcard examples/*.py)))))
CHECKED := $(wildcard rewrites backends scanopt tests examples benchmarks)

SMOKE := tests/test_layers.py tests/test_documents_examples.py tests/test_one_call.py

.PHONY: run examples test test-all check slow slow-list lint types pytest gpu-test gpu-bench bench wheel docs clean
.NOTPARALLEL:
.DELETE_ON_ERROR:

run: $(VENV)/.stamp ## the main job: sunspots, fitted, forecast, optimized and explained
	@mkdir -p build
	@$(BIN)/scanopt run --html build/report.html examples/sunspots.py
	@echo "picture of the forecast: $(CURDIR)/build/examples/sunspots.svg"

examples: $(VENV)/.stamp ## fifteen everyday programs, each with a picture in build/examples
	@for name in $(EVERYDAY); do echo "$$name"; $(BIN)/python examples/$$name.py || exit 1; done

test: export SCANOPT_TESTS := few
test: lint types pytest ## what has to hold: of slow tests, and of random or similar cases, a share

test-all: export SCANOPT_TESTS := all
test-all: lint types pytest ## the same with all tests and cases, which takes over an hour on two cores

check: lint types ## what a commit has to pass: format, types, and some tests
	@PYTHONPATH=$(INSTALLED) $(BIN)/pytest -q -n $(JOBS) $(SMOKE)

slow: installed ## the twenty slowest tests
	@PYTHONPATH=$(INSTALLED) $(BIN)/pytest -q -n $(JOBS) --durations=20 --durations-min=1 tests | grep -A30 "slowest"

slow-list: installed ## tests/slow.txt: the tests of which `make test` tries a share
	@PYTHONPATH=$(INSTALLED) $(BIN)/pytest -q -n $(JOBS) --dist worksteal --junitxml=build/times.xml tests
	@$(BIN)/python tests/slow_tests.py build/times.xml > tests/slow.txt

lint: $(VENV)/.stamp
	@$(BIN)/ruff check --quiet $(CHECKED)
	@$(BIN)/ruff format --check --quiet $(CHECKED) || { echo "run: $(BIN)/ruff format $(CHECKED)"; exit 1; }

# A type checker does not see from the source tree that rewrites/ and backends/ lie inside the package,
# and neither does the doctest collector: both, and the tests, look at an installed copy.  To import scanopt.scan gives
# a function, which that collector does not expect.
types: installed
	@MYPYPATH=$(INSTALLED) $(BIN)/mypy --strict -p scanopt

pytest: installed
	@PYTHONPATH=$(INSTALLED) $(BIN)/pytest -q -n $(JOBS) --dist worksteal \
		--doctest-modules --ignore=$(INSTALLED)/scanopt/scan.py $(INSTALLED)/scanopt tests

gpu-test: installed ## the tests that need a device; without one they say what is missing
	@PYTHONPATH=$(INSTALLED) $(BIN)/pytest -q -n 0 tests/test_gpu.py tests/test_gpu_kernels.py \
	  tests/test_device.py tests/test_cuda.py tests/test_recurrence_kernels.py

gpu-bench: $(VENV)/.stamp ## times on a device, beside JAX where it is there; without a device it says so
	@$(BIN)/python benchmarks/gpu.py

bench: $(VENV)/.stamp
	@for file in $(sort $(wildcard benchmarks/bench_*.py)); do $(BIN)/python "$$file" || exit 1; done

docs: $(VENV)/.stamp ## the site of docs/, in build/site; its warnings are errors
	@$(PIP) install --no-build-isolation -e ".[docs]"
	@$(BIN)/mkdocs build --quiet
	@echo "$(CURDIR)/build/site/index.html"

wheel: $(VENV)/.stamp
	@rm -rf build/lib build/bdist.*
	@$(PIP) wheel --no-deps --no-build-isolation --wheel-dir dist .

.PHONY: installed
installed: $(VENV)/.stamp
	@rm -rf build/lib build/bdist.* $(INSTALLED)
	@$(PIP) install --no-deps --no-build-isolation --target $(INSTALLED) .

$(VENV)/.stamp: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "scanopt needs Python 3.11 or newer; '$(PYTHON)' is $$($(PYTHON) --version 2>&1)." \
	       "Name another one: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@echo "setting up $(VENV) (once)"
	@$(PYTHON) -m venv $(VENV)
	@$(PIP) install "setuptools>=77"
	@$(PIP) install --no-build-isolation -e ".[test]"
	@{ command -v cc || command -v gcc || command -v clang; } >/dev/null || $(PIP) install --no-build-isolation -e ".[kernels]"
	@touch $@

clean:
	@rm -rf build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis report.html
