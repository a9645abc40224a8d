# Included by the Makefiles of the examples with Spark: a Python environment, and the target that runs the program.

ROOT := $(abspath $(dir $(lastword $(MAKEFILE_LIST)))/..)
# The newest Spark that both Delta Lake and Iceberg have jars for.
SPARK := 4.1
# An environment that exists: make PYTHON=python3
PYTHON := $(ROOT)/.venv-examples/bin/python
TO := $(notdir $(CURDIR)).png
OPTIONS :=

.PHONY: run
run: $(filter $(ROOT)/.venv-examples/%,$(PYTHON))
	@cd $(CURDIR) && exec $(PYTHON) run.py --to $(TO) $(OPTIONS)

$(ROOT)/.venv-examples/bin/python: $(ROOT)/pyproject.toml
	@echo "installing aeron-core and Spark $(SPARK) into $(ROOT)/.venv-examples, once: some minutes, 1 GB"
	@python="$$($(ROOT)/tools/find-python)" && "$$python" -m venv $(ROOT)/.venv-examples
	@$@ -m pip install --quiet --upgrade 'pip>=25.1'
	@cd $(ROOT) && $@ -m pip install --quiet . 'pyspark==$(SPARK).*' --group spark --group examples --group plots
	@touch $@
