# Everything a person or CI runs. `make` alone explains itself.
SHELL := /bin/bash
.SHELLFLAGS := -Eeuo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-builtin-rules --no-print-directory

UV := hack/uv
RUN := $(UV) run --frozen
PYTHON_PACKAGES := contract operator traffic spark cli bench tests hack

.PHONY: help
help: ## Say what every target does
	@awk 'BEGIN {FS = ":.*## "; print "Usage: make TARGET\n"} \
	  /^## / {printf "\n%s\n", substr($$0, 4)} \
	  /^[a-z0-9-]+:.*## / {printf "  %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

## The two commands
.PHONY: demo test
demo: ## Set-up, then the sample test: a leader crash, followed to its verdict and report
	@hack/demo
test: ## Set-up, then everything that gates a change (what CI runs)
	@hack/check gate
test-all: ## make test, then the long end-to-end runs and every scenario
	@hack/check all

## The cluster
.PHONY: up images deploy down clean clean-cache
up: ## Bring up the kind cluster (engine, tools and images built where none can be had)
	@hack/up
images: up ## Build the images and give them to the cluster
	@hack/images.sh
deploy: images ## Install the chart with those images
	@hack/deploy
clean: ## Take away the cluster, the registry and whatever else we started
	@hack/down
clean-cache: clean ## Take away the caches too
	@hack/clean-cache

## While developing
.PHONY: fast lint typing unit contract spark-tests e2e scenarios format manifests
fast: lint typing unit contract spark-tests ## Every check that needs no cluster
lint: ## ruff, shellcheck, import contracts, rendered files up to date
	@$(RUN) ruff check $(PYTHON_PACKAGES)
	@$(RUN) ruff format --check $(PYTHON_PACKAGES)
	@$(RUN) lint-imports
	@hack/shellcheck
	@$(UV) lock --check --quiet
typing: ## mypy --strict
	@$(RUN) mypy
unit: ## Pure functions, builders against golden files, properties
	@$(RUN) pytest -q -n auto tests/unit
contract: ## Rooms against a real broker and an API double with real semantics
	@$(RUN) pytest -q tests/contract
spark-tests: ## Anomaly rules on local Spark
	@$(RUN) pytest -q -n auto --dist loadscope --durations=30 tests/spark
e2e: deploy ## End to end on the kind cluster (ONLY='-k expression' chooses)
	@hack/e2e $(ONLY)
scenarios: deploy ## What is said of Kafka, run and written into docs/scenarios (ONLY=a,b chooses)
	@hack/scenarios
format: ## Let ruff set the layout
	@$(RUN) ruff format $(PYTHON_PACKAGES)
	@$(RUN) ruff check --fix $(PYTHON_PACKAGES)
manifests: ## Render manifests/ and the resource reference from their sources
	@hack/render

## Measuring
.PHONY: bench-traffic bench-scoring
bench-traffic: ## Our producer against kafka-producer-perf-test, as a ratio (BENCH='--seconds 5')
	@$(RUN) python -m bench.traffic $(BENCH)
bench-scoring: ## Generated histories of 1, 3 and 10 million sends scored, beside plain Python (BENCH=1)
	@$(RUN) python -m bench.scoring $(BENCH)
