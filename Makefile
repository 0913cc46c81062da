# Everything a checkout needs, on a machine with Python 3.11 and nothing else.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DEMO :=

.PHONY: install dev demo test e2e takeover lint bench lock clean

install: $(VENV)/.installed

dev: $(VENV)/.dev

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "gpusched needs Python 3.11 or newer; set PYTHON=")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: $(VENV)/bin/python requirements.txt pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	touch $@

$(VENV)/.dev: $(VENV)/bin/python requirements-dev.txt pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	touch $@ $(VENV)/.installed

# make demo DEMO=--keep leaves it up, DEMO=--offline starts nothing.
demo: install
	@$(BIN)/gpusched demo $(DEMO)

lint: dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Each module of the end-to-end tests stays on one worker.
test: lint
	$(BIN)/pytest -n 2 --dist loadgroup

e2e: dev
	GPUSCHED_E2E=require $(BIN)/pytest tests/e2e

# A leader is killed in the middle of binds, so many times; a quarter of an hour.
takeover: dev
	GPUSCHED_E2E=require GPUSCHED_KILLS=200 $(BIN)/pytest -s tests/e2e/test_takeover.py

bench: dev
	$(BIN)/python -m tests.bench

lock: dev
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header --no-emit-index-url pyproject.toml --group build -o requirements.txt
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header --no-emit-index-url pyproject.toml --extra dev --group build -o requirements-dev.txt

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis
