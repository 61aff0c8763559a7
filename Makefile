# `make demo` and `make test` are the two commands; each sets up .venv by itself. `make help` lists the rest.

PYTHON ?= python3
PYTEST_ARGS ?= -q

comma := ,
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet --constraint constraints.txt
NATIVE := src/edgecond/nn/kernels
KERNELS := $(wildcard $(foreach wing,nn/kernels data/pyramid graph,$(addprefix src/edgecond/$(wing)/cpp/*.,cpp hpp inl)))
SPEC := pyproject.toml setup.py constraints.txt $(KERNELS)

# One stamp per kind of installation: with or without the developers' tools, and what EDGECOND_NATIVE asks for
# (0: no C++ kernels, 1: nothing without them, unset: where they can be built).
MODE := $(or $(EDGECOND_NATIVE),auto)
DEV := $(VENV)/dev-$(MODE).stamp
RUNTIME := $(if $(wildcard $(VENV)/dev-*.stamp),$(DEV),$(VENV)/runtime-$(MODE).stamp)

# What gcc's sanitizers check, in copies of the C++ code that the package itself does not use: `thread` is the other choice.
SANITIZERS ?= address,undefined,float-cast-overflow
SANITIZED := build/$(firstword $(subst $(comma), ,$(SANITIZERS)))
SANITIZER_LIBRARIES = $(foreach name,$(if $(findstring thread,$(SANITIZERS)),tsan,asan) stdc++,$(shell $(CXX) -print-file-name=lib$(name).so))
NATIVE_TESTS ?= tests/graph tests/nn/test_edge_index.py tests/nn/kernels tests/nn/convolution tests/nn/layers tests/nn/test_dropout.py tests/data/pyramid tests/test_native.py

.PHONY: help demo test sanitize newcomer wheel check bench docs clean
.DELETE_ON_ERROR:

help:  ## list the targets
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 16

demo: $(RUNTIME)  ## set up and train the paper's MNIST network on digits as point clouds
	@$(BIN)/edgecond demo

test: $(DEV)  ## set up and run the tests (PYTEST_ARGS="-q -k graph" to choose), a process of one thread on each core
	@OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses auto $(PYTEST_ARGS)

sanitize: $(DEV)  ## run the tests of the C++ code with gcc's sanitizers, which end at their first finding (SANITIZERS=thread)
	@EDGECOND_NATIVE=1 EDGECOND_SANITIZE=$(SANITIZERS) $(BIN)/python setup.py --quiet build --build-base $(SANITIZED) --build-lib $(SANITIZED)/lib
	@LD_PRELOAD="$(SANITIZER_LIBRARIES)" PYTHONPATH=$(SANITIZED)/lib OMP_NUM_THREADS=1 \
	  ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1 TSAN_OPTIONS=ignore_noninstrumented_modules=1 \
	  $(BIN)/python -m pytest $(PYTEST_ARGS) $(NATIVE_TESTS)

newcomer: $(DEV)  ## follow the README's first steps in a fresh copy, from nothing installed, and use a wheel in a clean environment
	@$(BIN)/python -m pytest -q -m newcomer tests/test_newcomer.py tests/test_wheel.py

wheel: $(DEV)  ## build the wheel of this platform and the source distribution into dist/; C++ kernels are required
	@EDGECOND_NATIVE=1 $(BIN)/python -m build --quiet && ls dist

check: $(DEV)  ## lint, formatting, types, who may import whom, and published numbers against their records
	@echo "check: ruff"          && $(BIN)/ruff check --quiet .
	@echo "check: ruff format"   && $(BIN)/ruff format --check .
	@echo "check: mypy"          && $(BIN)/mypy
	@echo "check: import-linter" && $(BIN)/lint-imports
	@echo "check: published numbers" && $(BIN)/edgecond table --check

bench: $(DEV)  ## compare with PyG's NNConv in time and memory, and write the table of the docs
	@$(BIN)/python -m benchmarks.run

docs: $(DEV)  ## build the documentation into site/
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet && echo "documentation: site/index.html (its search needs a server: python3 -m http.server -d site)"

clean:  ## go back to a fresh clone: removes .venv and everything built
	rm -rf $(VENV) build dist site src/*.egg-info .hypothesis .mypy_cache .pytest_cache .ruff_cache .import_linter_cache
	rm -f $(NATIVE)/_kernels*.so src/edgecond/data/pyramid/_cells*.so src/edgecond/graph/_edges*.so
	find src tests benchmarks examples docs -name __pycache__ -prune -exec rm -rf {} + 2>/dev/null || true

$(BIN)/pip:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "edgecond needs Python 3.11 or newer; name it with: make PYTHON=/path/to/python3.11"; exit 1; }
	@echo "set-up: $(VENV)"
	@$(PYTHON) -m venv --clear $(VENV)

$(VENV)/runtime-$(MODE).stamp: $(SPEC) | $(BIN)/pip
	@echo "set-up: installing edgecond and what it needs (some minutes the first time)"
	@$(PIP) --editable .
	@$(report-kernels)
	@touch $@

$(DEV): $(SPEC) | $(BIN)/pip
	@echo "set-up: installing edgecond and the developers' tools (some minutes the first time)"
	@$(PIP) --editable '.[dev]'
	@$(report-kernels)
	@touch $@

define report-kernels
if [ "$(MODE)" = 0 ]; then echo "set-up: C++ kernels left out (EDGECOND_NATIVE=0)"; \
elif ls $(NATIVE)/_kernels*.so >/dev/null 2>&1; then echo "set-up: C++ kernels built"; \
else echo "set-up: no C++ kernels, the torch backend will be used (with EDGECOND_NATIVE=1 you see why)"; fi
endef
