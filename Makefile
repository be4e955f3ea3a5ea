# `make test` and `make reproduce` need Python 3.11 or later with pip and venv, nothing else.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# Many small products in a row are slower on several threads than on one.
export OPENBLAS_NUM_THREADS ?= 1

.PHONY: test reproduce benchmark lint docs release-check clean

test: $(VENV)/.test lint
	$(BIN)/python -m pytest -q -n 2

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

reproduce: $(VENV)/.plot
	$(BIN)/matreg reproduce shapes --out results

benchmark: $(VENV)/.benchmark
	$(BIN)/python -m benchmarks

# The site, with its gallery; warnings are errors, and nothing is downloaded but missing data.
docs: $(VENV)/.docs
	$(BIN)/sphinx-build -W --keep-going -q docs docs/_build/html
	@echo "Open docs/_build/html/index.html"

# What users will get: the wheel in an empty environment runs the README's code.
release-check: $(VENV)/.release
	rm -rf dist && $(BIN)/python -m build --outdir dist .
	$(BIN)/python tools/check_release.py dist

clean:
	rm -rf $(VENV) dist docs/_build docs/gallery docs/generated results .mypy_cache .pytest_cache .ruff_cache .hypothesis

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

# One marker file per extra: installed again when the dependencies change.
$(VENV)/.%: $(VENV)/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[$*]"
	touch $@
