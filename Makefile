# The same commands for everybody, CI included. No activated environment is needed: each command that runs in
# .venv gets it first on its PATH, since dvc.yaml starts plain `python`.

PYTHON ?= python3
ARGS ?=

IN_VENV := PATH="$(CURDIR)/.venv/bin:$$PATH"
VENV := .venv/.installed
COMMAND := .venv/bin/charlm

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help install repro test lint check verify golden numbers sweep stress bench format lock clean python

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

install: $(VENV) $(COMMAND) ## install what requirements.lock pins, and the command charlm, into .venv

repro: $(VENV) $(COMMAND) ## run what is out of date of the pipeline and say where the report lies
	@$(IN_VENV) dvc repro || { $(IN_VENV) python -m tools.mend && $(IN_VENV) dvc repro; }
	@echo "The report: reports/report.md, or open reports/report.html"

test: $(VENV) data/raw/corpus.txt ## run the tests; ARGS="-k name" goes to pytest
	@$(IN_VENV) python -m pytest -n logical --maxprocesses 4 --dist loadfile --no-loadscope-reorder $(ARGS)

lint: $(VENV) ## check style and types
	@$(IN_VENV) ruff check
	@$(IN_VENV) ruff format --check
	@$(IN_VENV) mypy

check: $(VENV) ## check in a second that code, parameters, data and results fit together
	@$(IN_VENV) python -m tools.check

verify: $(VENV) ## reproduce the commit in a scratch clone and compare; ARGS=--exact demands bytes on any platform
	@$(IN_VENV) python -m tools.verify $(ARGS)

golden: $(VENV) data/raw/corpus.txt ## write tools/golden.json anew, when a pin has changed the bits and that is meant
	@$(IN_VENV) python -m tools.golden

numbers: $(VENV) ## write the numbers in the documents anew from the results
	@$(IN_VENV) python -m tools.numbers

sweep: $(VENV) ## put the experiments into one table and one picture; ARGS="--param attention.n_embd"
	@$(IN_VENV) python -m tools.sweep $(ARGS)

stress: $(VENV) data/raw/corpus.txt ## kill trainings N times (200) at random moments, and compare what comes out
	@$(IN_VENV) python -m tests.stress $(N)

bench: $(VENV) data/raw/corpus.txt ## race the program against a plain loop; ARGS="--only bigram", ARGS=--scale, ARGS=--help
	@$(IN_VENV) python -m benchmarks $(ARGS)

format: $(VENV) ## mend what ruff can mend
	@$(IN_VENV) ruff check --fix --exit-zero
	@$(IN_VENV) ruff format

lock: python ## write requirements.lock anew from the ranges in pyproject.toml
	@set -e; scratch=$$(mktemp -d); trap 'rm -rf "$$scratch"' EXIT; \
	$(PYTHON) -m venv "$$scratch/venv"; \
	"$$scratch/venv/bin/python" -c 'import tomllib; project = tomllib.load(open("pyproject.toml", "rb")); \
	print(*project["project"]["dependencies"], *project["dependency-groups"]["dev"], sep="\n")' > "$$scratch/wanted"; \
	echo "installing the newest versions that pyproject.toml allows into a scratch folder ..."; \
	"$$scratch/venv/bin/python" -m pip install -qq --disable-pip-version-check -r "$$scratch/wanted"; \
	{ echo "# Every package of .venv, exactly: what \`make lock\` found to fit the ranges in pyproject.toml."; \
	  echo "# Do not edit: change pyproject.toml and run it. The GPU libraries that some builds of torch bring along"; \
	  echo "# are left out, since torch itself pins them and they exist on Linux only."; \
	  "$$scratch/venv/bin/python" -m pip freeze --disable-pip-version-check \
	  | sed -E -e 's/^(torch==[^+]*)\+.*/\1/' -e '/^(nvidia|cuda)-|^triton==/d' | LC_ALL=C sort -f; } > "$$scratch/lock"; \
	mv "$$scratch/lock" requirements.lock

clean: ## remove .venv and the tools' caches; data, checkpoints, reports and DVC's cache stay
	rm -rf .venv .hypothesis .mypy_cache .pytest_cache .ruff_cache dvc_plots src/charlm.egg-info
	find src stages tests tools benchmarks -name __pycache__ -prune -exec rm -rf {} +

# The stamp is written last, so a stopped installation is never taken for a whole one.
$(VENV): requirements.lock | python
	@echo "installing what requirements.lock pins into .venv (a minute or two) ..."
	@$(PYTHON) -m venv --clear .venv
	@.venv/bin/python -m pip install -qq --disable-pip-version-check -r requirements.lock
	@touch $@

# `charlm` in .venv runs the code of this checkout as it is. setuptools, which builds it, came with torch.
$(COMMAND): pyproject.toml $(VENV)
	@.venv/bin/python -m pip install -qq --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

python:
	@command -v "$(PYTHON)" > /dev/null || { echo "error: there is no '$(PYTHON)' here; install Python 3.11 or newer" \
	  "or name one: make PYTHON=/path/to/python3" >&2; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "error: $(PYTHON) is" \
	  "$$("$(PYTHON)" -V 2>&1), and 3.11 or newer is needed; name one: make PYTHON=/path/to/python3.11" >&2; exit 1; }

# The tests read the real text. Where the pipeline has not run yet, its first stage brings it.
data/raw/corpus.txt: | $(VENV)
	@$(IN_VENV) dvc repro download
