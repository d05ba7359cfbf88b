# make setup | demo | check | test | lint | docs | clean.   Everything lives in .venv; a second call starts at once.
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
TEST_WORKERS ?= 2
# One compute thread per process: the best use of a CPU for many processes, and bit-reproducible.
ONE_THREAD := NPROC=1 OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 \
	XLA_FLAGS="--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"

# Quick tests, that compile little: what `make check` runs beside the linters, in less than a minute.
QUICK_TESTS := tests/agent/test_policy.py tests/cli/test_settings.py tests/inputs tests/nml/test_logistic.py \
	tests/nml/test_scoring.py tests/nml/test_tabular.py tests/rewards/test_total.py tests/settings \
	tests/storage/test_checkpoint.py tests/storage/test_metrics.py tests/tasks/mazes/test_tasks.py tests/test_cli.py \
	tests/training/test_collect.py tests/training/test_diagnostics.py

.PHONY: setup demo check test lint docs clean
setup: $(STAMP)

$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or newer is needed: call 'make $(MAKECMDGOALS) PYTHON=/path/to/python3.11'"; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[robots,report,docs,dev]'
	touch $(STAMP)

# Learn the zigzag maze from examples alone: a few minutes on two cores, then a picture. Figures of the paper: mural figure all.
demo: setup
	rm -rf demo/zigzag
	$(BIN)/mural train zigzag-maze --seed 10 --steps 100000 --out demo/zigzag --stop-at-success 0.9
	$(BIN)/mural eval demo/zigzag --episodes 20 --picture demo/zigzag.png

# For people at work; `make test` is the whole of it.
check: setup lint
	$(ONE_THREAD) $(BIN)/python -m pytest -q -n $(TEST_WORKERS) --dist worksteal $(QUICK_TESTS)

# The linters work beside the tests; what they say stands below.
test: setup
	@$(MAKE) --no-print-directory lint > $(VENV)/lint.log 2>&1 & linters=$$!; \
	$(ONE_THREAD) $(BIN)/python -m pytest -n $(TEST_WORKERS) --dist worksteal; tests=$$?; \
	wait $$linters; lint=$$?; cat $(VENV)/lint.log; \
	test $$tests -eq 0 || echo "The tests failed: see above."; test $$lint -eq 0 || echo "The linters failed."; \
	test $$tests -eq 0 -a $$lint -eq 0

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# The site, into site/. A page, link or anchor that is not there stops it.
docs: setup
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

clean:
	rm -rf $(VENV) demo site .mypy_cache .pytest_cache .ruff_cache .import_linter_cache
