# Every target installs what it needs into .venv first; nothing else has to be set up by hand.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# Many tests wait for a process to start: three at a time keep two cores busy.
JOBS ?= 3
# Where PYTHONDONTWRITEBYTECODE is set, every process would translate all of our modules anew: a hook took twice as long.
COMPILED := $(BIN)/python -m compileall -q oneiro_vault
export PYTHONDONTWRITEBYTECODE :=
# The files with tests that load the real model: to look for them in all the others takes longer than loading it.
WITH_MODEL = $(shell grep -rlF mark.model tests --include='test_*.py')

.PHONY: demo demo-dreams test slow coverage check bench drills golden train e2e browser skills conformance install clean

# A vault, real memories, an outside edit, recall, history: the main job, shown.
demo: $(READY)
	@$(BIN)/oneiro demo

# A month of conversations and nights with the real embedding model: what is left of it.
demo-dreams: $(READY)
	@$(BIN)/python -m tests.month

# Lint, types and the default test suite.
test: check
	@$(COMPILED)
	$(BIN)/pytest -n $(JOBS) --dist loadfile --no-loadscope-reorder
	$(BIN)/pytest -m "model and not slow" $(WITH_MODEL)

# The tests that take more than two seconds each: owners that end, clients by the dozen, kills, months.
slow: $(READY)
	@$(COMPILED)
	$(BIN)/pytest -m "slow and not model and not drill" -n $(JOBS) --dist loadfile
	$(BIN)/pytest -m "slow and model" $(WITH_MODEL)

# The same tests, every line and branch they reach counted (half as long again), and the coverage floor.
coverage: $(READY)
	@rm -f .coverage .coverage.*
	@$(COMPILED)
	$(BIN)/coverage run -m pytest -m "not drill and not model and not bench and not e2e and not browser" -n $(JOBS) --dist loadfile --no-loadscope-reorder
	$(BIN)/coverage run -m pytest -m model $(WITH_MODEL)
	@$(BIN)/coverage combine -q
	@$(BIN)/python .ci/coverage_gate.py

# Lint and types only.
check: $(READY)
	$(BIN)/ruff check oneiro_vault tests .ci
	$(BIN)/ruff format --check oneiro_vault tests .ci
	$(BIN)/mypy

# Every figure of the speed list as one table of ratios, and the development set through the public API.
bench: $(READY)
	@$(COMPILED)
	$(BIN)/python -m tests.bench $(BENCH)

# The slow fault drills: hundreds of kills, power cuts, full disks.
drills: $(READY)
	@$(COMPILED)
	$(BIN)/pytest -m drill --timeout=1800

# Rewrite the recorded outputs after a change that was meant.
golden: $(READY)
	GOLDEN=write $(BIN)/pytest tests/cli tests/test_docs.py tests/test_api.py tests/mcp/test_constants.py

# Make the weights of the classifier, the tagger of names and what tells own words from pasted ones from tests/corpora anew;
# `make train TRAIN=--check` only measures, on lines left out.
train: $(READY)
	$(BIN)/python -m tests.classify.train $(TRAIN)

# The real Claude Code and Codex, offline, against model endpoints on this machine (their programs, 250 MB, come from npm).
# GOLDEN=write records their exchanges anew for the default tests.
e2e: $(READY)
	@npm install --silent --no-audit --no-fund --prefix $(VENV)/clients @anthropic-ai/claude-code-linux-x64@2 @openai/codex@0.169
	$(BIN)/pytest -m e2e tests/e2e

# The page in a real Chromium (Debian's package, fetched where it is missing and apt may); pictures are kept in .screenshots.
browser: $(READY)
	@command -v chromium >/dev/null || (apt-get install -qq -y --no-install-recommends chromium fonts-dejavu >/dev/null)
	$(BIN)/pytest -m browser tests/web/browser

# The skills and the plug-in before the validators of those who install them (fetched from npm).
skills: $(READY)
	@.ci/skills $(BIN)

# The public MCP conformance suite (both requirement sets) and the Inspector against our server (node and they come from npm).
conformance: $(READY)
	$(BIN)/python -m tests.mcp.conformance --tools $(VENV)/conformance

install: $(READY)

$(READY): pyproject.toml .ci/constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing into $(VENV): a minute or two, once"
	@$(BIN)/pip install -qq --disable-pip-version-check -c .ci/constraints.txt torch
	@$(BIN)/pip install -qq --disable-pip-version-check -c .ci/constraints.txt -e '.[dev]'
	@$(COMPILED)
	@touch $@

clean:
	rm -rf $(VENV) .coverage .coverage.* .mypy_cache .ruff_cache .pytest_cache .hypothesis dist build
