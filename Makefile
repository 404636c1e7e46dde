# Two commands matter: `make lab` and `make test`. Neither needs root, both can be run again.
#
#   make lab                        JupyterLab on notebooks/01_first_search.ipynb
#   make lab HEADLESS=1 PORT=8899   the same without a browser and without a token, on loopback only
#   make test                       unit, property, golden, doctests, notebooks, browser
#   make lint                       ruff and mypy
#   make notebooks                  execute the notebooks again and clean them for a commit
#   make slides                     a slide deck of every notebook, in notebooks/slides/
#   make app DOCS=folder            the lab over a folder of your own documents, without Python

PYTHON ?= python3
VENV ?= .venv
PORT ?= 8888
HEADLESS ?=
ARGS ?=

BIN := $(VENV)/bin
NOTEBOOK := notebooks/01_first_search.ipynb
ROOT_FLAG := $(if $(filter 0,$(shell id -u)),--allow-root)
LAB_FLAGS := --ip=127.0.0.1 --port=$(PORT) $(ROOT_FLAG) --ServerApp.root_dir="$(CURDIR)" \
	--LabApp.default_url=/lab/tree/$(NOTEBOOK)
ifneq ($(HEADLESS),)
LAB_FLAGS += --no-browser --ServerApp.port_retries=0 --IdentityProvider.token= --ServerApp.disable_check_xsrf=True \
	--LabApp.expose_app_in_browser=True
endif

.PHONY: lab app slides test test-unit test-notebooks test-browser test-pandas2 lint notebooks bench clean

lab: $(VENV)/.installed-notebook
	$(BIN)/python -m jupyterlab $(LAB_FLAGS)

test: test-unit test-notebooks test-browser

test-unit: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -q -m "not browser" $(ARGS)

test-notebooks: $(VENV)/.installed-dev
	$(BIN)/python notebooks/clean.py --check
	$(BIN)/python -m pytest -q -p no:cacheprovider --nbval --nbval-current-env --nbval-cell-timeout=120 \
		--nbval-sanitize-with notebooks/sanitize.cfg notebooks

test-browser: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -q -m browser -rs tests/browser

# pandas 2 is what many people still have; the same unit tests must pass there.
test-pandas2:
	$(MAKE) test-unit VENV=.venv-pandas2 PANDAS="pandas>=2.2,<3"

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

notebooks: $(VENV)/.installed-dev
	$(BIN)/jupyter nbconvert --to notebook --execute --inplace notebooks/*.ipynb
	$(BIN)/python notebooks/clean.py

slides: $(VENV)/.installed-dev
	$(BIN)/jupyter nbconvert --to slides --output-dir notebooks/slides notebooks/*.ipynb

app: $(VENV)/.installed-app
	$(BIN)/python -m ragkit $(or $(DOCS),datasets/helpdesk)

bench: $(VENV)/.installed-dev
	for script in benchmarks/bench_*.py; do $(BIN)/python $$script || exit 1; done

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "ragkit needs Python 3.11 or newer; name one: make PYTHON=python3.12 ..."; exit 1; }
	@$(PYTHON) -m venv $(VENV) || \
		{ echo "This Python has no venv module (Debian, Ubuntu: apt install python3-venv)."; exit 1; }

$(VENV)/.installed-notebook: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install -q -e ".[notebook]"
	touch $@

$(VENV)/.installed-app: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install -q -e ".[app]"
	touch $@

# The versions that made the committed outputs of the notebooks, except where pandas 2 is asked for.
$(VENV)/.installed-dev: pyproject.toml notebooks/pins.txt | $(BIN)/python
	$(BIN)/python -m pip install -q -e ".[dev]" $(if $(PANDAS),"$(PANDAS)",-c notebooks/pins.txt)
	touch $@ $(VENV)/.installed-notebook

clean:
	rm -rf .venv .venv-pandas2 .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist
