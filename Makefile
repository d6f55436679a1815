# Every target sets up what it needs: a virtual environment in .venv with timesurf installed in it.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check
# Tests and documentation run on exactly these versions; `make LOCK= ...` takes the newest that pyproject.toml allows.
LOCK ?= requirements/dev.lock

.PHONY: demo test test-oldest mutants fuzz lint kernels docs bench bench-compare golden build release lock audit licences clean help
help:            ## show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/'

demo: .venv/plots.done  ## train one network on the paper's benchmark, print the table, draw the features
	$(BIN)/timesurf demo

test: .venv/dev.done  ## run checks and tests
	@$(MAKE) --no-print-directory --jobs lint kernels  # side by side: each alone leaves cores idle
	@# asserts that pytest has rewritten are stored for the next time, wherever bytecode is not to be written otherwise
	PYTHONDONTWRITEBYTECODE= $(BIN)/pytest -n auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder

test-oldest: .venv/oldest.done  ## run the tests on the oldest versions that pyproject.toml allows: make test-oldest PYTHON=python3.11
	.venv/oldest/bin/pytest -W default --ignore=tests/plots --ignore=tests/report/test_report.py

mutants: .venv/dev.done  ## which of 200 small changes to the core the tests catch; MUTANTS='--module rule.py' for others
	$(BIN)/python -m tests.mutants $(or $(MUTANTS),--sample 200)

fuzz: .venv/dev.done  ## fuzz every reader, live input and the transforms, a minute each; FUZZ='--target npz' for others
	$(BIN)/python fuzz/run.py $(or $(FUZZ),--seconds 60)

lint: .venv/dev.done  ## check style, types and the direction of imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

kernels: .venv/dev.done  ## compile what tests run, once for all their processes
	@$(BIN)/python -m compileall -q src tests fuzz  # hundreds of processes import them, and may not write what they compile
	$(BIN)/python -m tests.warm

docs: .venv/docs.done  ## build the documentation into docs/_build/html; fail on a warning
	$(BIN)/sphinx-build -q -W --keep-going -b html docs docs/_build/html

bench: .venv/plots.done  ## compute the paper's Table 1 from ten networks
	$(BIN)/timesurf bench classification --networks 10 --seed 0 --json table1.json

bench-compare: .venv/dev.done  ## what got slower since the last release; COMPARE='--base v0.2.0 --save' for others
	$(BIN)/python -m benchmarks.compare $(COMPARE)

golden: .venv/dev.done  ## write tests/golden.json again: what the networks of tests/test_golden.py decide
	$(BIN)/python -m tests.test_golden

build: .venv/dev.done  ## build the wheel and the source archive into dist, and check them
	$(BIN)/python tools/release.py build

release: .venv/dev.done  ## check that all is ready for a release, test it, build it, check it and tag it; nothing is pushed
	$(BIN)/python tools/release.py check
	@$(MAKE) --no-print-directory test
	@$(MAKE) --no-print-directory docs
	$(BIN)/python tools/release.py tag

lock: .venv/tools.done  ## choose versions again: the newest that fit, with their hashes
	.venv/tools/bin/uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes \
		--no-config --custom-compile-command 'make lock' \
		--extra dev --extra docs pyproject.toml --output-file requirements/dev.lock

audit: .venv/tools.done  ## check the locked versions for known vulnerabilities (needs the network)
	.venv/tools/bin/pip-audit --strict --require-hashes --disable-pip --requirement requirements/dev.lock

licences: .venv/dev.done  ## write the table of licences in docs/supply.md again
	$(BIN)/python requirements/licences.py

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "timesurf needs Python 3.11 or newer: make PYTHON=python3.12 ...")'
	@$(PYTHON) -m venv .venv

ifneq ($(LOCK),)
.venv/dev.done .venv/docs.done: pyproject.toml $(LOCK) | .venv/bin/python
	@echo "Installing the packages in $(LOCK), and timesurf, into .venv ..."
	@$(PIP) install --require-hashes --only-binary :all: --requirement $(LOCK) \
		&& $(PIP) install --no-deps --no-build-isolation --editable . \
		|| (echo "$(LOCK) does not fit this Python or this machine: installing the newest versions that pyproject.toml allows." \
		&& $(PIP) install --editable '.[dev,docs]')
	@touch .venv/dev.done .venv/docs.done
endif

.venv/tools.done: | .venv/bin/python
	@$(BIN)/python -m venv .venv/tools
	@.venv/tools/bin/python -m pip --quiet --disable-pip-version-check install pip-audit uv
	@touch $@

.venv/oldest.done: pyproject.toml requirements/oldest.txt | .venv/bin/python
	@$(PYTHON) -m venv --clear .venv/oldest
	@.venv/oldest/bin/python -m pip --quiet --disable-pip-version-check install --constraint requirements/oldest.txt \
		--editable '.[formats,plots,search]' hypothesis pytest
	@touch $@

.venv/%.done: pyproject.toml | .venv/bin/python
	@echo "Installing timesurf[$*] into .venv ..."
	@$(PIP) install --editable '.[$*]'
	@touch $@

clean:           ## remove the virtual environment and caches
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
