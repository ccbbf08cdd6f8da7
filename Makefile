# Every target sets up what it needs in .venv by itself (test-oldest: in .venv-oldest, evidence: in
# .venv-tables), from python3, its venv module and make.
# A stamp file records what is installed there; it is stale when pyproject.toml, the constraints or
# the version change.

PYTHON ?= python3
PYTEST_ARGS ?= -n 2 --dist worksteal
TORCH ?= torch
CASES ?= 100000
TABLE ?=
ARGS ?=
SPHINX_ARGS ?= -W --keep-going

VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.stamp-
PINS := pyproject.toml constraints.txt
VERSION := src/covshift/__init__.py
INSTALL = $(BIN)/python -m pip install --quiet -c constraints.txt

OLDEST := .venv-oldest
OLDEST_PINS := pyproject.toml constraints-oldest.txt

TABLES := .venv-tables
TABLES_PINS := $(PINS) benchmarks/tables-requirements.txt

# A part of the library's own logic, in seconds
QUICK := structure operators corrections machine weights_cdf weights_classical validation parameters margins estimates encoding folds lapack gradients bounds simplex registry
PYTEST = -m pytest --durations=15

export PIP_DISABLE_PIP_VERSION_CHECK := 1
unexport PYTHONDONTWRITEBYTECODE # or every process of the tests would compile all of them again

.DEFAULT_GOAL := help
.NOTPARALLEL: # two pip processes must not write to one .venv
.PHONY: help demo reproduce test test-quick test-thorough test-extras test-oldest fuzz coverage lint format types evidence docs docs-links clean distclean FORCE

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(STAMP)core ## Ask four questions of a made-up survey, check the answers, write a report (out/demo)
	$(BIN)/covshift demo

reproduce: $(STAMP)core ## Run the paper's experiments again, half an hour (ARGS=--quick: two minutes)
	$(BIN)/python -m reproduction $(ARGS)

test: $(STAMP)test ## Run the tests, five minutes on two cores (PYTEST_ARGS="-n 2 --dist worksteal")
	OPENBLAS_NUM_THREADS=1 $(BIN)/python $(PYTEST) -m "not thorough" $(PYTEST_ARGS)

test-quick: $(STAMP)test ## Run a small part of the tests, below a minute
	OPENBLAS_NUM_THREADS=1 $(BIN)/python $(PYTEST) -m "not thorough" $(PYTEST_ARGS) $(foreach name,$(QUICK),$(wildcard tests/*/test_$(name).py))

test-thorough: $(STAMP)test ## Run the tests that make test leaves out, a quarter of an hour
	OPENBLAS_NUM_THREADS=1 $(BIN)/python $(PYTEST) tests -m thorough $(PYTEST_ARGS)

test-extras: $(STAMP)extras ## Run the tests that need an extra or Chromium (TORCH="torch" is what pip installs)
	COVSHIFT_REQUIRE_EXTRAS=1 $(BIN)/python $(PYTEST) tests/extras $(PYTEST_ARGS)

test-oldest: $(OLDEST)/.stamp-test ## Run the tests at the oldest declared versions (Python 3.11 or 3.12)
	OPENBLAS_NUM_THREADS=1 $(OLDEST)/bin/python $(PYTEST) -m "not thorough" $(PYTEST_ARGS)

fuzz: $(STAMP)test ## Try the properties of tests/fuzz on cases that nobody chose (CASES=100000, TABLE=FILE to keep the count)
	COVSHIFT_FUZZ=$(CASES) COVSHIFT_FUZZ_TABLE=$(TABLE) OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest tests/fuzz $(PYTEST_ARGS)

coverage: $(STAMP)test ## Run the tests with coverage; the pages are in htmlcov/
	$(BIN)/python -m pytest $(PYTEST_ARGS) --cov --cov-report=term --cov-report=html

lint: $(STAMP)lint ## Check style and format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(STAMP)lint ## Repair style and format where ruff can
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .

types: $(STAMP)types ## Check types
	$(BIN)/mypy

evidence: $(TABLES)/.stamp-tables ## Run all benchmarks and the reproduction, and check the figures of pages (ARGS="--minutes 50")
	$(TABLES)/bin/python benchmarks/evidence.py $(ARGS)

docs: $(STAMP)docs ## Build the documentation in docs/_build/html
	$(BIN)/python -m sphinx -b html $(SPHINX_ARGS) docs docs/_build/html

docs-links: $(STAMP)docs ## Check the links of the documentation that lead elsewhere (needs the network)
	$(BIN)/python -m sphinx -b linkcheck -W --keep-going docs docs/_build/links

clean: ## Remove outputs and caches
	rm -rf out docs/_build docs/api docs/commands docs/gallery docs/notebooks docs/sg_execution_times.rst dist htmlcov .coverage .coverage.* .pytest_cache .ruff_cache .mypy_cache .hypothesis
	find src reproduction tests examples benchmarks docs -name __pycache__ -type d -prune -exec rm -rf {} +

distclean: clean ## Remove .venv, .venv-oldest, .venv-tables and parts of benchmarks as well
	rm -rf $(VENV) $(OLDEST) $(TABLES) benchmarks/.parts

# What is installed. Each stamp below adds to .venv what its targets need, and no more.

# pip 25.1 is the first that knows --group.
$(STAMP)venv $(OLDEST)/.stamp-venv $(TABLES)/.stamp-venv:
	@command -v "$(PYTHON)" > /dev/null || { \
	  echo "covshift needs Python 3.11 or newer, and '$(PYTHON)' is not there." >&2; \
	  echo "Install it, or name the one to use: make PYTHON=/path/to/python3.12 ..." >&2; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "covshift needs Python 3.11 or newer; '$(PYTHON)' is $$("$(PYTHON)" -V 2>&1)." >&2; \
	  echo "Name the one to use: make PYTHON=/path/to/python3.12 ..." >&2; exit 1; }
	@"$(PYTHON)" -c 'import ensurepip, venv' 2> /dev/null || { \
	  version=$$("$(PYTHON)" -c 'import sys; print("%d.%d" % sys.version_info[:2])'); \
	  echo "'$(PYTHON)' (Python $$version) came without its venv module, which covshift needs." >&2; \
	  echo "On Debian and Ubuntu: sudo apt install python$$version-venv" >&2; \
	  echo "Elsewhere: install a complete Python, then make PYTHON=/path/to/it ..." >&2; exit 1; }
	"$(PYTHON)" -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet "pip>=25.1"
	@touch $@

$(STAMP)core: $(STAMP)venv $(PINS) $(VERSION)
	@echo "Installing covshift and what it needs (NumPy, SciPy, scikit-learn, pyarrow, matplotlib: about 580 MB) into $(VENV) ..."
	@$(INSTALL) -e ".[cli]"
	@touch $@

$(STAMP)test $(STAMP)types $(STAMP)docs: $(STAMP)core
$(STAMP)lint: $(STAMP)venv
$(STAMP)test $(STAMP)types $(STAMP)docs $(STAMP)lint: $(STAMP)%: $(PINS)
	$(INSTALL) --group $*
	@touch $@

# $(TORCH) stands in the same command as the extra: a pin there decides which build is downloaded.
$(STAMP)extras: $(STAMP)venv $(VENV)/.torch $(PINS)
	$(INSTALL) "$(TORCH)" -e ".[cli,torch]" --group test --group extras
	@touch $@

# Rewritten only when another TORCH is asked for.
$(VENV)/.torch: $(STAMP)venv FORCE
	@echo '$(TORCH)' | cmp -s - $@ || echo '$(TORCH)' > $@

# The oldest versions have wheels for two versions of Python, and must not be built from source.
$(OLDEST)/.stamp-test: $(OLDEST)/.stamp-venv $(OLDEST_PINS) $(VERSION)
	@$(OLDEST)/bin/python -c 'import sys; sys.exit(sys.version_info[:2] not in {(3, 11), (3, 12)})' || { \
	  echo "The oldest versions need Python 3.11 or 3.12; $(OLDEST) has $$($(OLDEST)/bin/python -V)." >&2; \
	  echo "rm -rf $(OLDEST); make test-oldest PYTHON=/path/to/python3.11" >&2; exit 1; }
	$(OLDEST)/bin/python -m pip install --quiet --only-binary :all: -c constraints-oldest.txt \
	  -e ".[cli]" --group test --group extras
	@touch $@

# The packages of the tables are there for the files in them: nothing that they need is installed.
# Peers are not installed here; those that are in this environment take part.
$(TABLES)/.stamp-tables: $(TABLES)/.stamp-venv $(TABLES_PINS) $(VERSION)
	$(TABLES)/bin/python -m pip install --quiet -c constraints.txt -e ".[cli,pandas,dask,parquet,lightgbm,survey]"
	$(TABLES)/bin/python -m pip install --quiet --no-deps -r benchmarks/tables-requirements.txt
	@touch $@
