# `make test` and `make reproduce` need Python 3.11 or later with pip and venv, nothing else.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# Many small products in a row are slower on several threads than on one.
export OPENBLAS_NUM_THREADS ?= 1
# Compiled modules are kept: without them every worker, and every process that a test starts, compiles all of them again.
export PYTHONDONTWRITEBYTECODE :=
# The extras that users install, and how pip installs.
USERS := plot,data,files,disk,dask,onnx
QUIET := install --quiet --disable-pip-version-check

.PHONY: test test-fast test-strict test-oldest test-newest test-friends reproduce records benchmark lint docs release-check clean
# What the targets below run of the suite: `make test-oldest TESTS=tests/linalg`.
TESTS ?=

test: $(VENV)/.test lint
	$(BIN)/python -m pytest -q -n 2

# While you work: without the tests that are marked as slow, the site and the linters.
test-fast: $(VENV)/.test
	$(BIN)/python -m pytest -q -n 2 -m "not slow and not gallery" $(TESTS)

# As `python -O`, without assert statements but those of the tests, also in the workers and in the processes that tests
# start. Warnings are errors in every run of the suite (pyproject.toml), models' advice alone excepted.
test-strict: $(VENV)/.test
	PYTHONOPTIMIZE=1 $(BIN)/python -W error -m pytest -q -n 2 $(TESTS)

# The oldest versions that pyproject.toml allows, the newest ones with pre-releases, and the libraries of
# docs/guide/other_libraries.md that are too large for `make test`: each in an environment of its own. The oldest ones call what
# newer versions of their own dependencies deprecate.
test-oldest:
	$(PYTHON) -m venv $(VENV)-oldest
	$(PYTHON) tools/oldest.py > $(VENV)-oldest/constraints.txt
	$(VENV)-oldest/bin/python -m pip $(QUIET) -c $(VENV)-oldest/constraints.txt -e ".[$(USERS),check]"
	$(VENV)-oldest/bin/python -m pytest -q -n 2 -W default::DeprecationWarning $(TESTS)

test-newest:
	$(PYTHON) -m venv $(VENV)-newest
	$(VENV)-newest/bin/python -m pip $(QUIET) --upgrade --pre -e ".[$(USERS),check]"
	$(VENV)-newest/bin/python -m pytest -q -n 2 $(TESTS)

test-friends:
	$(PYTHON) -m venv $(VENV)-friends
	$(VENV)-friends/bin/python -m pip $(QUIET) -e ".[friends,check]"
	$(VENV)-friends/bin/python -m pytest -q -k other_libraries tests/docs/test_snippets.py tests/test_other_libraries.py

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

reproduce: $(VENV)/.plot
	$(BIN)/matreg reproduce shapes --out results

# All tables and figures of the documents anew, an hour or more; `make records WHAT=finance` is one of them.
# Commit before: the records name the commit that they were computed with.
WHAT ?=
records: $(VENV)/.benchmark
	$(BIN)/python tools/records.py $(WHAT)

benchmark: $(VENV)/.benchmark
	$(BIN)/python -m benchmarks

# The site, with its gallery; warnings are errors, and nothing is downloaded but missing data.
docs: $(VENV)/.docs
	$(BIN)/sphinx-build -W --keep-going -q docs docs/_build/html
	@echo "Open docs/_build/html/index.html"

# What users will get: wheel and source archive run the README's code, with the oldest and the newest dependencies.
release-check: $(VENV)/.release
	rm -rf dist && $(BIN)/python -m build --outdir dist .
	$(BIN)/python tools/check_release.py dist

clean:
	rm -rf $(VENV) $(VENV)-oldest $(VENV)-newest $(VENV)-friends dist docs/_build docs/gallery docs/generated results .mypy_cache .pytest_cache .ruff_cache .hypothesis

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

# One marker file per extra: installed again when the dependencies change.
$(VENV)/.%: $(VENV)/bin/python pyproject.toml
	$(BIN)/python -m pip $(QUIET) -e ".[$*]"
	touch $@
