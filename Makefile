# make run          the page, on http://127.0.0.1:7860
# make site         the Story of six pictures as files, in site/: it needs no server
# make test         what CI runs, 17 minutes on two cores; make test-quick in two; make test-nightly everything
# make setup        the environment both use, with the package in it (rita, import rita_demo); made when missing
# make audit        known holes in the pinned packages, from a public database; needs a network
PYTHON ?= $(shell command -v python3.11 || echo python3)
VENV := .venv
BIN := $(VENV)/bin
export GRADIO_ANALYTICS_ENABLED := False
export OMP_WAIT_POLICY := PASSIVE

.PHONY: run site setup setup-dev browser check test test-quick test-wheel test-nightly audit clean

run: setup
	$(BIN)/python app.py

site: setup
	$(BIN)/python -m tools.story.site

setup: $(VENV)/.rita
setup-dev: $(VENV)/.dev $(VENV)/.rita

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Python 3.11 or newer is needed; found $$($(PYTHON) --version 2>&1). Set PYTHON=/path/to/python3.11."; exit 1; }
	@$(PYTHON) -m venv $(VENV) || \
	  { rm -rf $(VENV); echo "Python's venv module is missing: install the package python3-venv of your distribution."; exit 1; }

$(VENV)/.user: requirements.txt constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt -c constraints.txt
	@touch $@

# the package in place: the command rita, and import rita_demo from any folder. Its build tool comes in a place of its own,
# in the pinned version; older and newer versions of pip have another name for the pins.
$(VENV)/.rita: pyproject.toml hatch_build.py $(VENV)/.user
	PIP_CONSTRAINT=constraints.txt PIP_BUILD_CONSTRAINT=constraints.txt \
	  $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -e .
	@touch $@

$(VENV)/.dev: requirements-dev.txt $(VENV)/.user
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt -c constraints.txt
	@touch $@

# for the nightly tests of --executor ray alone: 250 MB that nothing else needs
$(VENV)/.ray: requirements-ray.txt $(VENV)/.dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-ray.txt -c constraints.txt
	@touch $@

browser: setup-dev
	$(BIN)/python -m tests.browser

# gradio writes a stub beside every component class it meets; mypy would believe it instead of the code
check: setup-dev
	@find rita_demo -name '*.pyi' -delete
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

# the tests start dozens of processes: they share compiled modules
export PYTHONDONTWRITEBYTECODE :=

# one thread of torch in each of several processes: more would wait for each other
test-quick: check
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -m "not slow and not e2e and not nightly" -n 2 --dist loadfile

# everything but the browser in two processes, then the browser alone, so that no browser test waits for a busy machine
test: check browser
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -m "not nightly and not e2e" -n 3 --dist loadfile
	$(BIN)/python -m pytest tests/e2e -m "not nightly" -n 2 --dist loadfile

# the wheel, installed outside the tree and used from an empty folder
test-wheel: setup-dev
	$(BIN)/python -m tests.installed_wheel

test-nightly: check browser $(VENV)/.ray
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -m "not e2e" -n 2 --dist loadfile
	$(BIN)/python -m pytest -m e2e

# in an environment of its own: what audits is not part of what is audited
audit:
	$(PYTHON) -m venv .audit
	.audit/bin/python -m pip install --quiet --disable-pip-version-check pip-audit
	.audit/bin/pip-audit --strict --requirement constraints.txt --no-deps --disable-pip

clean:
	rm -rf $(VENV) .audit .pytest_cache .mypy_cache .ruff_cache
