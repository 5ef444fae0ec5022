# Each target sets up what it needs: Python 3.11 or newer with venv, and make, are enough.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin

.PHONY: demo test test-all lint bench paper clean

demo: $(VENV)/.installed
	$(BIN)/capo demo

test: $(VENV)/.installed-dev
	$(BIN)/python -m pytest

test-all: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -m ""

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/python -m pytest -n 0 tests/test_architecture.py

bench: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --group bench
	$(BIN)/python -m benchmarks.speed
	$(BIN)/python -m benchmarks.quality

paper: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --group bench
	$(BIN)/python -m benchmarks.paper $(if $(DATA),--data $(DATA)) $(ARGS)

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

$(VENV)/.installed: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable '.[cli]'
	touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --editable '.[cli,onnx,plots]' --group dev
	touch $@

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
