# make demo   run the whole loop on embedded defaults; ends with demo/report.html
# make test   set up, lint, type-check and test
# make check  lint, types and the quick tests: no browser, server, network or long simulation
# make installs  try every command of the read-me and the tutorial in empty environments, from the built wheel
# make lowest  the quick tests of the core with the lowest versions that pyproject.toml allows; needs uv
# make coverage  make test, with the lines it reaches in out/coverage/index.html
# make mutants  break the code one expression at a time and count, package by package, how many breaks the tests notice
# make serve  open the demo study in a local server: rating pages, and the dashboard at /study
# make bench  measure against peers, side by side
# make docs   build the documentation site; open site-docs/index.html
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -q
# With REQUIRE_ALL=1 a part that cannot be installed or a test that would be skipped is a failure.
REQUIRE_ALL ?=
export REQUIRE_ALL
# Compiled modules and rewritten assertions are stored, or each run of the tests would begin by making them again.
unexport PYTHONDONTWRITEBYTECODE
CORES := $(shell getconf _NPROCESSORS_ONLN)
# More than there are cores: tests with browsers, sound and servers wait more than they work.
WORKERS := $(shell expr $(CORES) \* 2)

# The workers share the cores; threads of a linear-algebra library in each would only wait for one another.
test check coverage lowest: export OPENBLAS_NUM_THREADS = 1
test check coverage lowest: export OMP_NUM_THREADS = 1

.PHONY: demo test check all-tests quick-tests lint lowest coverage installs mutants bench docs serve clean

$(VENV)/pip:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "heartfelt needs Python 3.11 or newer; name one: make PYTHON=python3.12"; exit 1; }
	@echo "Setting up $(VENV) ..."
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(PIP) install --upgrade pip
	@touch $@

$(VENV)/base: pyproject.toml constraints.txt | $(VENV)/pip
	@echo "Installing heartfelt and what the demo needs (about 800 MB, a minute or two) ..."
	@$(PIP) install -c constraints.txt -e ".[all]"
	@touch $@

# Brings everything of the base too, in one resolution.
$(VENV)/dev: pyproject.toml constraints.txt $(wildcard plugins/*/pyproject.toml) scripts/install-for-tests scripts/install-chromium | $(VENV)/pip
	@echo "Installing what the tests need ..."
	@scripts/install-for-tests "$(BIN)/python"
	@touch $(VENV)/base $@

# The modules are compiled once, where each worker would begin by compiling all of them. Errors are left to the tests.
$(VENV)/compiled: $(VENV)/dev
	@$(BIN)/python -m pytest -p no:schemathesis --collect-only -qq >/dev/null 2>&1 || true
	@touch $@

demo: $(VENV)/base
	@$(BIN)/heartfelt demo demo --replace

# Linters and tests run at the same time; what either finds fails the target.
test: $(VENV)/dev
	@$(MAKE) --no-print-directory -j2 lint all-tests

check: $(VENV)/dev
	@$(MAKE) --no-print-directory -j2 lint quick-tests

all-tests: $(VENV)/compiled
	@$(BIN)/python scripts/run_tests.py -p no:schemathesis -n $(WORKERS) --dist worksteal

quick-tests: $(VENV)/dev
	@$(BIN)/python -m pytest -q -n $(CORES) --dist worksteal -p no:schemathesis --ignore tests/web -m "not (browser or server or slow or data or peer)"

coverage: $(VENV)/compiled
	@$(BIN)/python scripts/run_tests.py -p no:schemathesis -n $(WORKERS) --dist worksteal --cov --cov-report=html

# Old libraries warn about new ones below them, which their users cannot change.
LOWEST := $(VENV)-lowest
lowest:
	@uv venv -q --clear --python 3.11 $(LOWEST)
	@uv pip install -q --python $(LOWEST)/bin/python --resolution lowest-direct -e ".[all,pandas]" \
	  "hypothesis>=6.100" "pytest>=8.3" "pytest-timeout>=2.3" "pytest-xdist>=3.6" "setuptools>=77"
	@$(LOWEST)/bin/python -m pytest -q -n $(CORES) --dist worksteal -W ignore::DeprecationWarning \
	  -m "not (browser or server or slow or data or peer)" tests/test_*.py \
	  tests/stats tests/study tests/snapshot tests/formats tests/screening tests/labels tests/cli

installs: $(VENV)/base
	@$(BIN)/python scripts/try_installs.py

mutants: $(VENV)/dev
	@$(BIN)/python scripts/mutants.py

lint: $(VENV)/dev
	@$(BIN)/ruff check src tests benchmarks scripts plugins
	@$(BIN)/ruff format --check src tests benchmarks scripts plugins
	@$(BIN)/mypy

# Peers that need an older NumPy live in an environment of their own; without it their rows are left out with a word.
$(VENV)-peers/done: $(VENV)/base
	@echo "Installing peers to measure against ..."
	@$(PYTHON) -m venv $(VENV)-peers && $(VENV)-peers/bin/python -m pip --disable-pip-version-check -q install "numpy<2" sureal crowd-kit \
	  || echo "note: sureal and crowd-kit could not be installed; their rows will be left out"
	@mkdir -p $(VENV)-peers && touch $@

bench: $(VENV)/dev $(VENV)-peers/done
	@PEERS_PYTHON=$(abspath $(VENV)-peers/bin/python) $(BIN)/python -m benchmarks

$(VENV)/docs: pyproject.toml constraints.txt | $(VENV)/pip
	@echo "Installing what the documentation needs ..."
	@$(PIP) install -c constraints.txt -e ".[all,docs]"
	@touch $(VENV)/base $@

# Also renews llms.txt in the repository. The variable silences MkDocs Material's notice about its successor.
docs: $(VENV)/docs
	@$(BIN)/python scripts/docs_site/llms.py
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build
	@echo "The documentation is at site-docs/index.html"

serve: $(VENV)/base
	@test -f demo/study/study.yaml || $(BIN)/heartfelt demo demo --replace
	@$(BIN)/heartfelt serve demo/study

clean:
	rm -rf $(VENV) $(VENV)-peers $(VENV)-lowest demo out site-docs build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
