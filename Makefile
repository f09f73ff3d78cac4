# `make` alone prints what can be made. Every target that needs the environment makes it first, once.

# Once there is a working environment, its own Python keeps it; a Python that you name makes it anew if it is another.
ifeq ($(origin PYTHON),undefined)
PYTHON := $(shell test -f .venv/setup.json && .venv/bin/python -c pass 2>/dev/null && echo .venv/bin/python || echo python3)
endif
BIN := .venv/bin
ARGS :=

# Many processes are started here, and each would compile the project anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup test verify explore replay twins models mutants controls guards search soak lint types contracts fmt lock clean distclean

help: ## print these lines
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' Makefile
	@echo '  Flags for a command go into ARGS: make models ARGS="--only ThreadClaim"'

setup: ## make .venv, find or bring Java, fetch TLC: once, then it does nothing
	@command -v "$(PYTHON)" >/dev/null || \
	  { echo 'make setup: there is no program $(PYTHON). Name a Python 3.11 or newer: PYTHON=python3.13 make setup' >&2; exit 2; }
	@"$(PYTHON)" -m ci.bootstrap

test: lint types contracts ## check style, types and import contracts, then run the tests, and tell their coverage
	@echo '== pytest'
	@bash ci/coverage $(ARGS)

verify: setup ## check what a pull request must keep: the runner beside the model, and the model with TLC
	@mkdir -p build
	@$(BIN)/python -m conformance verify --json build/verify.json $(ARGS)

explore: setup ## walk the real runner beside the model: ARGS="--profile nightly", or explore, until stopped
	@$(BIN)/python -m conformance explore $(ARGS)

replay: setup ## carry out the counterexamples of traces/: on the mutants' twins, and on the library
	@$(BIN)/python -m conformance replay $(ARGS)

twins: setup ## spoil the runner as each mutant spoils the model, and see what catches it (make mutants: the model)
	@$(BIN)/python -m conformance mutants $(ARGS)

models: setup ## run models, mutants and witnesses with TLC
	@$(BIN)/python -m conformance models $(ARGS)

mutants: setup ## run the model's mutants with TLC: without its rule, each breaks a property (make twins: the runner)
	@$(BIN)/python -m conformance models --kind mutant $(ARGS)

controls: setup ## check that each mutant's property holds where no rule is taken out
	@$(BIN)/python -m conformance controls $(ARGS)

guards: setup ## take each guard out of the model, and see which property breaks: about an hour
	@$(BIN)/python -m conformance guards $(ARGS)

search: setup ## search the model in Python, whose states must be those that TLC found
	@$(BIN)/python -m conformance search $(ARGS)

soak: setup ## kill workers for a minute over each database, and see what the log says: ARGS="--seed 1"
	@$(BIN)/python -m conformance soak --seconds 60 --storage both --json build/soak.json $(ARGS)

lint: setup ## check style and formatting
	@echo '== ruff check'
	@$(BIN)/python -m ruff check .
	@echo '== ruff format --check'
	@$(BIN)/python -m ruff format --check .

types: setup ## check types
	@echo '== mypy --strict'
	@$(BIN)/python -m mypy --strict

contracts: setup ## check which package may import which
	@echo '== lint-imports'
	@$(BIN)/lint-imports --no-logo

fmt: setup ## format the code and mend what can be mended
	@$(BIN)/python -m ruff check --fix .
	@$(BIN)/python -m ruff format .

lock: setup ## pin and hash the requirements anew (ARGS=--upgrade for the newest)
	@bash ci/lock $(ARGS)

clean: ## remove what building and testing left behind
	rm -rf build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	find . -path ./.venv -prune -o -name __pycache__ -type d -exec rm -rf {} +

distclean: clean ## remove the environment and the fetched tools as well
	rm -rf .venv .tools
