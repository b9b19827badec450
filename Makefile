# Everything below brings its own system packages (Debian or Ubuntu, as root) and virtual environment.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-builtin-rules --no-print-directory

# Images, caches and logs. Elsewhere if you like: make test FABRIC_CACHE=/var/cache/fabric
FABRIC_CACHE ?= $(CURDIR)/.cache
override FABRIC_CACHE := $(abspath $(FABRIC_CACHE))
export FABRIC_CACHE

PYTHON ?=
export PYTHON
VENV := $(CURDIR)/.venv
RUN := $(VENV)/bin/python -m
PYTEST := $(RUN) pytest

export PATH := $(VENV)/bin:$(PATH)
export ANSIBLE_COLLECTIONS_PATH := $(CURDIR)/.cache/collections
# Ansible, Molecule and pip leave the home directory alone.
export ANSIBLE_HOME := $(FABRIC_CACHE)/ansible
export XDG_CACHE_HOME := $(FABRIC_CACHE)/xdg
# Ansible refuses to start in a locale that is not UTF-8.
export LC_ALL := C.UTF-8

AREA ?=
GATE ?=
SCENARIO ?=
ARGS ?=

.PHONY: help
help: ## Show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

.PHONY: bootstrap
bootstrap: ## Install system packages and make .venv (the others do it by themselves)
	@tests/bootstrap

.PHONY: demo
demo: bootstrap ## Show the collection at work on lab hosts on this machine
	@$(RUN) tests.demo $(ARGS)

.PHONY: test
test: bootstrap ## Run everything that CI runs
	@$(RUN) tests.gates test

.PHONY: lint
lint: bootstrap ## Run the static gates, or some: make lint GATE="ruff mypy"
	@$(RUN) tests.gates lint $(GATE)

.PHONY: unit
unit: bootstrap ## Run the unit tests; ARGS go to pytest
	@$(PYTEST) tests/unit $(ARGS)

.PHONY: integration
integration: bootstrap ## Run the tests on real kernels and daemons, and the representative acceptance lines
	@$(PYTEST) tests/integration -m "representative or not (slow or proof)" $(ARGS)

.PHONY: molecule
molecule: bootstrap ## Run the roles in lab hosts, or one: make molecule SCENARIO=storage_pool
	@$(RUN) tests.gates molecule $(SCENARIO)

.PHONY: proof
proof: bootstrap ## Run every acceptance line, or those of an area: make proof AREA=storage
	@$(PYTEST) tests/integration -m proof --area '$(AREA)' $(ARGS)

.PHONY: bench
bench: bootstrap ## Measure and print ratios against doing the same by hand
	@$(RUN) tests.benchmarks $(ARGS)

.PHONY: bpf
bpf: bootstrap ## Build the BPF program that plugins carry from its source in bpf/
	@$(RUN) tests.bpf

.PHONY: docs
docs: bootstrap ## Build the documentation as HTML
	@$(RUN) tests.gates docs

.PHONY: clean
clean: ## Remove .venv, caches, images and logs (but not a cache that FABRIC_CACHE put elsewhere)
	rm -rf --one-file-system -- .venv .cache tests/output .ansible .hypothesis
