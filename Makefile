# make demo: the main job, in front of you.    make test: the whole suite.

PYTHON ?= python3
VENV   ?= .venv
STAMP  := $(VENV)/.installed

.PHONY: demo test lint clean

demo: $(STAMP)
	@$(VENV)/bin/python -m mxenv.cli.demo

test: $(STAMP)
	$(VENV)/bin/python -m pytest -n auto --dist loadgroup tests

lint: $(STAMP)
	$(VENV)/bin/nox -s lint

$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(0 if v >= (3, 11) else \
	  f"mxenv needs Python 3.11 or newer; {sys.executable} is {v.major}.{v.minor}: make PYTHON=python3.12")'
	@echo "Making $(VENV) ..."
	@$(PYTHON) -m venv $(VENV)
	@$(VENV)/bin/python -m pip install --quiet uv
	@$(VENV)/bin/uv pip install --quiet --python $(VENV)/bin/python --editable . --group test --group lint
	@touch $(STAMP)

clean:
	rm -rf $(VENV) dist build .wheelhouse
