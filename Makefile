# Everything a person or CI runs. `make` alone explains itself.
SHELL := /bin/bash
.SHELLFLAGS := -Eeuo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-builtin-rules --no-print-directory

UV := hack/uv
RUN := $(UV) run --frozen

# Of `make scenarios`: which (joined by commas; all if empty), how many results of each, whether
# to run them again whatever is stored, only those of the durability matrix, in which metadata modes
# (zookeeper, kraft or both), and how many in parallel.
SCENARIOS ?=
REPEAT ?= 1
RERUN ?=
MATRIX ?=
MODES ?= zookeeper
PARALLEL ?= 1
COMMA := ,

# Of `make disturb`: disturb every N-th call only.
EVERY ?= 1

# Of `make spark-tests`: those with which markers; all if empty.
MARK ?= not long

# Of `make demo`: where the sample keeps its metadata, zookeeper or kraft.
MODE ?= zookeeper

# Of `make images`: a registry of yours with a path, and the tag there (a hash of the sources if empty).
PUSH ?=
TAG ?=
PYTHON_PACKAGES := contract operator traffic spark cli bench tests hack

.PHONY: help
help: ## List the targets
	@awk 'BEGIN {FS = ":.*## "; print "Usage: make TARGET\n"} \
	  /^## / {printf "\n%s\n", substr($$0, 4)} \
	  /^[a-z0-9-]+:.*## / {printf "  %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

## The first commands
.PHONY: score-sample demo test test-all
score-sample: ## Score a recorded leader crash on local Spark, without a cluster
	@hack/score-sample
demo: ## Create the cluster, run the sample test and follow it to its verdict (MODE=kraft)
	@MODE=$(MODE) hack/demo
test: ## Create the cluster, then run everything that gates a change (what CI runs)
	@hack/check gate
test-all: ## Run make test, then the long end-to-end tests and every scenario
	@hack/check all

## The cluster
.PHONY: up images deploy down clean clean-cache
up: ## Create the kind cluster; build engine, tools and images where none can be pulled
	@hack/up
images: $(if $(PUSH),,up) ## Build the images and load them into the cluster (PUSH=registry/path TAG=x: push them)
	@hack/images.sh $(if $(PUSH),push $(PUSH) $(TAG))
deploy: images ## Install the chart with these images
	@hack/deploy
clean: ## Delete the cluster, the registry and everything else that was started
	@hack/down
clean-cache: clean ## Delete the caches too
	@hack/clean-cache

## While developing
.PHONY: fast lint typing unit store disturb contract spark-tests e2e scenarios docs format manifests
fast: lint typing unit contract spark-tests ## Run every check that needs no cluster
lint: ## Run ruff, gofmt, shellcheck, actionlint and the import contracts; check the lock file
	@$(RUN) ruff check $(PYTHON_PACKAGES)
	@$(RUN) ruff format --check $(PYTHON_PACKAGES)
	@$(RUN) lint-imports
	@hack/shellcheck
	@hack/actionlint
	@hack/store.sh lint
	@$(UV) lock --check --quiet
typing: ## Run mypy --strict
	@$(RUN) mypy
unit: ## Run the unit tests: functions, builders against golden files, properties
	@$(RUN) pytest -q -n auto tests/unit
store: ## Vet and test the embedded evidence store (needs Go)
	@hack/store.sh test
disturb: ## Disturb every call of every simulated run, and play 10 000 generated specs (EVERY=7: a seventh of the calls)
	@$(RUN) python -m tests.unit.operator.disturbed --every $(EVERY)
	@$(RUN) python -m tests.unit.operator.generated --count 10000
contract: ## Run the packages against a real broker and a real or simulated API server
	@hack/prometheus >/dev/null
	@$(RUN) pytest -q -n 2 --dist loadfile tests/contract
spark-tests: ## Run the scoring on local Spark (MARK=long: the long tests of make test-all)
	@$(RUN) pytest -q -n auto --dist loadscope --durations=30 -m "$(MARK)" tests/spark
e2e: deploy ## Run the end-to-end tests on the kind cluster (ONLY='-k expression' selects)
	@hack/e2e $(ONLY)
scenarios: deploy ## Run scenarios and keep their results (SCENARIOS=a,b MODES=both REPEAT=3 RERUN=1 MATRIX=1 PARALLEL=2)
	@eval "$$(hack/env)"; $(RUN) krt scenarios run $(subst $(COMMA), ,$(SCENARIOS)) \
	  --mode $(MODES) --repeat $(REPEAT) --parallel $(PARALLEL) $(if $(RERUN),--rerun) $(if $(MATRIX),--matrix)
docs: ## Build the site in build/site: the documents, a page and a report for each scenario
	@$(RUN) krt scenarios results pages
	@$(RUN) python hack/reports.py
	@$(RUN) python hack/site.py
	@NO_MKDOCS_2_WARNING=1 $(RUN) --group docs mkdocs build --quiet
format: ## Format the Python code and fix what ruff can fix
	@$(RUN) ruff format $(PYTHON_PACKAGES)
	@$(RUN) ruff check --fix $(PYTHON_PACKAGES)
manifests: ## Render manifests/ and the resource reference from their sources
	@hack/render

## Measuring
.PHONY: bench-traffic bench-scoring bench-store bench-detection bench-mutation
bench-traffic: ## Compare our producer with those that come with Kafka (BENCH='--seconds 5')
	@$(RUN) python -m bench.traffic $(BENCH)
bench-scoring: ## Score generated histories of 1, 3 and 10 million sends, beside plain Python (BENCH=1)
	@$(RUN) python -m bench.scoring $(BENCH)
bench-store: ## Compare evidence in the embedded object store with a folder (BENCH='puts --turns 100')
	@$(RUN) python -m bench.store $(BENCH)
bench-detection: ## Plant outages in generated histories and print which are seen (BENCH='--seeds 50')
	@$(RUN) python -m bench.detection $(BENCH)
bench-mutation: ## Alter the conditions of the rules one by one; print what no test notices (BENCH='losses --every 5')
	@$(RUN) python -m bench.mutation $(BENCH)
