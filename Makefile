# Every target sets up what it needs: a virtual environment in .venv, timesurf inside it.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test lint docs bench clean help
help:            ## this list
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/'

demo: .venv/plots.done  ## train one network on the paper's benchmark, print the table, draw the features
	$(BIN)/timesurf demo

test: .venv/dev.done lint  ## checks and tests
	$(BIN)/pytest

lint: .venv/dev.done  ## style, types, direction of imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: .venv/docs.done  ## build the documentation into docs/_build/html; a warning fails
	$(BIN)/sphinx-build -q -W -b html docs docs/_build/html

bench: .venv/plots.done  ## the paper's Table 1 from ten networks
	$(BIN)/timesurf bench classification --networks 10 --seed 0 --json table1.json

.venv/%.done: pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "timesurf needs Python 3.11 or newer: make PYTHON=python3.12 ...")'
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@echo "Installing timesurf[$*] into .venv ..."
	@$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[$*]'
	@touch $@

clean:           ## remove the virtual environment and caches
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
