# Every target makes its own set-up: a virtual environment in .venv, filled from the hashed locks in
# requirements/. A second call finds it made. Another interpreter: `make clean`, then
# `make test PYTHON=python3.12`.

PYTHON ?= python3
SEED   ?= 1
BIN    := .venv/bin
PIP    := $(BIN)/python -m pip --quiet --disable-pip-version-check --no-input
# Five processes keep two cores busy: tests of real runs wait for most of their time. Tests start
# Python thousands of times; without its caches each start compiles every module again.
WORKERS ?= 5
PYTEST := PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal
# One after the other: they share a Hadoop of nine processes, and change its queues and nodes. What
# failed last is kept apart, for they run next to the others.
PYTEST_YARN := $(PYTEST) -n 0 -o cache_dir=.pytest_cache/yarn
# On the sources in place of what is installed, mostly in the time that others leave; kept apart too.
SOURCE := PYTHONDONTWRITEBYTECODE= PYTHONPATH=$(CURDIR)/src
PYTEST_SOURCE := $(SOURCE) nice -n 10 $(BIN)/python -m pytest -n 2 -o cache_dir=.pytest_cache/sources
UV     := $(BIN)/uv --quiet --no-config pip

# pip and the tests want some home; an account without one gets one that `make clean` removes.
ifeq ($(strip $(HOME)),)
export HOME := $(CURDIR)/.venv/home
endif

# Tests of what is compiled, which never wait, so that two processes are enough.
DECIDES := tests/core tests/policies tests/simulation
# Slow ones that do not look inside run on the wheel alone: the sources would show the same.
INSIDE  := not (slow and no_invariants) or interpreted
# Those, and of what else starts no process and keeps no file.
QUICK   := $(DECIDES) tests/model tests/estimate tests/planning tests/test_docstrings.py

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
.PHONY: help demo test thorough again check lint types fast bench names mutants docs wheels lock clean

help:                     ## list the targets
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /\1\t/' | expand -t 10

demo: .venv/.demo .venv/.sluice   ## show what Sluice does, in a minute
	@rm -rf build/demo
	@$(BIN)/sluice demo build/demo

# What users install is what is tested: the wheel. What decides is tested on the sources too, where
# tests can look inside. All three runs go at once: Hadoop's tests mostly wait for Hadoop, those of
# real runs for their tasks. The sources have the time that is left, so that one of their tests may
# take long, and each day a third of the cases that the wheel has. The logs of both are printed at
# the end. pytest's status is above 1 where it broke off: what it then names as failed is not all
# that there is, so it names nothing, and there is nothing to run again.
test: .venv/.dev .venv/.sluice  ## run every test of the installed package, the slow ones too
	@rm -rf .pytest_cache; mkdir -p build; \
	$(PYTEST_YARN) -m yarn tests/hadoop >build/yarn.log 2>&1 & yarn=$$!; \
	SLUICE_TEST_SECOND=1 $(PYTEST_SOURCE) --timeout 1200 -m "$(INSIDE)" $(DECIDES) >build/sources.log 2>&1 & sources=$$!; \
	$(PYTEST) -m "not yarn" tests; installed=$$?; \
	wait $$yarn; yarn=$$?; wait $$sources; sources=$$?; cat build/yarn.log build/sources.log; \
	for status in $$sources $$installed $$yarn; do \
		if [ $$status -gt 1 ]; then rm -rf .pytest_cache; fi; \
	done; \
	[ $$sources = 0 ] && [ $$installed = 0 ] && [ $$yarn = 0 ]

thorough: .venv/.dev .venv/.sluice  ## run every test, property tests with all their examples
	SLUICE_TEST_THOROUGH=1 $(PYTEST_SOURCE) $(DECIDES)
	SLUICE_TEST_THOROUGH=1 $(PYTEST) -m "not yarn" tests
	SLUICE_TEST_THOROUGH=1 $(PYTEST_YARN) -m yarn tests/hadoop

# pytest's status 5: nothing had failed in this one of the three.
FAILED := -n 0 --last-failed --last-failed-no-failures none -v
again: .venv/.dev .venv/.sluice   ## run the tests that failed last, one at a time
	$(PYTEST_SOURCE) $(FAILED) $(DECIDES) || [ $$? = 5 ]
	$(PYTEST) $(FAILED) tests || [ $$? = 5 ]
	$(PYTEST_YARN) $(FAILED) tests/hadoop || [ $$? = 5 ]

check: lint types fast    ## run every gate but the slow tests; run it before each commit

lint: .venv/.dev          ## check format, style, the layers of imports and the messages of commits
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(SOURCE) $(BIN)/lint-imports --no-logo
	.ci/check-commits

types: .venv/.dev         ## check the types of the package, the tests, the examples and bench/
	$(SOURCE) $(BIN)/mypy src tests $(wildcard examples/*.py bench/*.py bench/service/*.py)

fast: .venv/.dev          ## run the quick tests of the sources of what decides, in a minute
	SLUICE_TEST_FAST=1 $(PYTEST_SOURCE) -m "not slow" $(QUICK) tests/test_tidy.py

# One that fails does not hide what the others have to say.
bench: .venv/.bench .venv/.sluice ## run every question in bench/ against its budget
	@status=0; for file in bench/[!_]*.py bench/service/*.py; do \
		echo "== $$file"; $(BIN)/python -m "$$(echo "$${file%.py}" | tr / .)" || status=1; \
	done; exit $$status

names: .venv/.dev         ## write the types of names of src/sluice/model/name_types.py from what is registered
	$(SOURCE) $(BIN)/python -m tests.name_types

mutants: .venv/.dev .venv/.sluice  ## make 200 small mistakes, one at a time; list those no test notices (SEED=2)
	@$(SOURCE) $(BIN)/python -m tests.mutants --seed $(SEED)

docs: .venv/.dev .venv/.sluice  ## build the documentation in build/docs and run its examples
	$(BIN)/sphinx-build -W --keep-going --quiet docs build/docs
	$(PYTEST) tests/test_documents.py

# The compiled wheel is for this Python, and for each Linux that is as old as its tag says or newer;
# the pure one is for all others.
wheels: .venv/.wheels     ## build the wheels of a release in build/wheels, and try them as a user
	@rm -rf build/wheels
	@$(BIN)/python -m hatchling build --target wheel --directory build/wheels/unnamed
	@PATH="$(CURDIR)/$(BIN):$$PATH" auditwheel repair --wheel-dir build/wheels build/wheels/unnamed/*.whl
	@rm -r build/wheels/unnamed
	@SLUICE_PURE=1 $(BIN)/python -m hatchling build --target wheel --directory build/wheels
	@.ci/try-wheels "$(PYTHON)" build/wheels

# bench.lock holds everything; the others are cut from it, so that all fit into one .venv.
LOCK = $(UV) compile --universal --python-version 3.11 --generate-hashes --no-annotate \
	--custom-compile-command "make lock" $(UPGRADE)
COMPILE = $(LOCK) pyproject.toml --fork-strategy fewest --group build
ALL_BUT_BENCH := $(foreach extra,plot frame parquet postgresql fast optimum mrjob ray s3 gcs http service mcp docs dev,--extra $(extra))

lock: .venv/.python       ## pin the dependencies again (UPGRADE=--upgrade: move to the newest)
	$(COMPILE) $(ALL_BUT_BENCH) --extra bench -o requirements/bench.lock
	$(COMPILE) $(ALL_BUT_BENCH) -c requirements/bench.lock -o requirements/dev.lock
	$(COMPILE) --extra plot --extra fast -c requirements/bench.lock -o requirements/demo.lock
	$(LOCK) --group wheels -c requirements/bench.lock -o requirements/wheels.lock
	printf 'uv\nsetuptools\n' | $(LOCK) - -c requirements/bench.lock -o requirements/uv.lock

clean:                    ## remove everything that the other targets made
	rm -rf .venv build dist .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# --- set-up: a stamp file for each lock that is installed -----------------------------------------

.venv/.python:
	@$(PYTHON) -m venv .venv
	@$(PIP) install --require-hashes -r requirements/uv.lock
	@touch $@

# uv takes a quarter of the time of pip, which knows settings of its own for where packages are. The
# locked setuptools comes with it, for a package that is built before the others are there.
# Without build isolation, what builds a package comes from the lock too.
.venv/.%: requirements/%.lock | .venv/.python
	@echo "Setting up .venv from $<; this happens once."
	@$(UV) install --python $(BIN)/python --require-hashes --no-build-isolation -r $< || \
		$(PIP) install --require-hashes --no-build-isolation -r $<
	@touch $@

# What users get: a wheel, its hot modules compiled (half a minute, after each change of a source).
.venv/.sluice: $(shell find src -name '*.py' -o -name '*.c') $(wildcard examples/jobs/*.py examples/swim/*) \
		examples/standard_library.yaml hatch_build.py pyproject.toml README.md | .venv/.python
	@rm -rf build/wheel
	@$(BIN)/python -m hatchling build --target wheel --directory build/wheel
	@$(PIP) install --no-deps --force-reinstall build/wheel/*.whl
	@touch $@

.venv/.bench: | .venv/.dev
