# Each target does its own set-up: on Debian it needs gcc, libisal-dev or zlib1g-dev, python3-dev and python3-venv,
# and a package index.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

VENV := .venv
BENCH_VENV := .venv-bench
BIN := $(VENV)/bin
PYTHON := $(BIN)/python
# A compiler cache is used if Debian's or Fedora's ccache is installed.
CCACHE := $(firstword $(wildcard /usr/lib/ccache /usr/lib64/ccache))
# cython-lint starts pycodestyle by its name.
export PATH := $(CURDIR)/$(BIN):$(if $(CCACHE),$(CCACHE):)$(PATH)
# Python's bytecode is kept whatever the environment says: tests start thousands of processes.
export PYTHONDONTWRITEBYTECODE :=
ROOTS := aeron_core plugins
BUILD_RULE := setup.py tools/compile_flags.py tools/compiler.py tools/translation.py
# What is compiled: every module with a sibling .pxd, and what it includes.
HOT := $(shell find $(ROOTS) -name '*.pxd' -o -name '*.pyx' -o -name '*.h') \
       $(foreach pxd,$(shell find $(ROOTS) -name '*.pxd'),$(wildcard $(pxd:.pxd=.py)))

# The folder of this documentation on the site: a release, or dev for the main branch.
DOCS_VERSION := $(shell sed -n 's/^VERSION: Final = "\(.*\)"/\1/p' aeron_core/version.py)

.PHONY: help demo test test-fast test-spark check spark-jar class-archive bytecode format build docs links changelog man wheels \
        dist-check coverage sanitize \
        sanitize-threads bench fuzz hostile floods faults soak clean

help:
	@echo "make demo    send a real log through a driver that loses datagrams, and compare both ends; then,"
	@echo "             if Spark is installed, record it, follow it with Spark, and compare the table;"
	@echo "             make demo INPUT=/path/to/log sends that one"
	@echo "make test    check, then run all tests"
	@echo "make test-fast  run the tests that need no process, peer, network namespace or Spark"
	@echo "make test-spark  run the tests of Spark with each supported release, each in an environment of its own;"
	@echo "             make test-spark SPARK='4.1.4' OPTIONS='-k stream' takes one release, and options of pytest"
	@echo "make spark-jar  compile the reader of recordings for Spark's Java, which needs javac"
	@echo "make check   lint, formatting, types, and which package may import which"
	@echo "make format  format the sources"
	@echo "make bench   measure ours beside peers and limits, and write build/bench.json, .md and plots in build/bench;"
	@echo "             make bench ROW='udp ipc-lists' measures the rows that begin so"
	@echo "make fuzz    decode hostile bytes for longer than the tests do"
	@echo "make hostile  fuzz, guided by coverage, each target for a minute, two at a time; needs clang;"
	@echo "             make hostile TIME=600 TARGETS='frames recordings' KEEP=1 takes ten minutes for each of these"
	@echo "             targets, and keeps the inputs with new coverage in tests/hostile/corpora"
	@echo "make floods  send a million datagrams of garbage, and a quarter of a million forged ones, to sealed channels"
	@echo "make faults  run whole systems with seeded faults: make faults SEEDS=200 SEED=1 JOBS=2 (30 s each, as root)"
	@echo "make soak    run the same system without faults, draw memory and latency over time, and fail if they grow, as root:"
	@echo "             make soak DURATION=5400 SEED=1 (seconds)"
	@echo "make docs    build the documentation site in build/docs, which a browser opens from its folder;"
	@echo "             make docs DOCS_VERSION=dev writes another folder beside those that are there"
	@echo "make links   request the external links of the documentation, which is not part of make test"
	@echo "make changelog  show the changes since the last release; make changelog RELEASE=0.2.0 moves them to CHANGELOG.md"
	@echo "make man     write a man page for each command into build/man"
	@echo "make build   make a source distribution and a wheel in dist/"
	@echo "make wheels  build manylinux wheels in wheelhouse/, by cibuildwheel or for the Pythons of this machine"
	@echo "make dist-check  make both, install the wheel into a new environment, and send messages with it"
	@echo "make coverage    measure which lines of the lower levels their tests execute, in build/coverage"
	@echo "make sanitize    run the tests that read hostile bytes with checks of memory and arithmetic"
	@echo "make sanitize-threads  run threads without locks with checks of their accesses"
	@echo "make clean   delete everything that was made"

# What runs and compiles the package: its dependencies and Cython, and this package without its extensions.
$(VENV)/.installed: pyproject.toml $(BUILD_RULE)
	@command -v gcc >/dev/null || { echo "error: found no gcc: on Debian, apt-get install gcc libc6-dev" >&2; exit 1; }
	@test -x $(PYTHON) || { found="$$(tools/find-python)"; echo "making $(VENV) with $$found"; "$$found" -m venv $(VENV); }
	@$(BIN)/pip install --quiet --upgrade 'pip>=25.1'
	@$(BIN)/pip install --quiet --group build
	@AERON_CORE_COMPILED_ELSEWHERE=1 $(BIN)/pip install --quiet --no-build-isolation --editable . 2>&1 \
		| sed '/BuildBackendWarning/,/WheelFile/d'
	@touch $@

# What tests and checks need beside: Spark, a Java for it, linters, peers (1.5 GB).
$(VENV)/.developing: $(VENV)/.installed
	@$(BIN)/pip install --quiet --group dev
	@touch $@

# Only what has changed since is compiled again: its objects stay in build/.
$(VENV)/.built: $(VENV)/.installed $(HOT)
	@$(PYTHON) setup.py --quiet build_ext --inplace
	@touch $@

demo: $(VENV)/.built
	@$(BIN)/aeron-core demo $(if $(INPUT),--input '$(INPUT)')
	@if $(PYTHON) -c 'import pyspark' 2>/dev/null; then \
		$(BIN)/aeron-core pipeline demo $(if $(INPUT),--input '$(INPUT)'); \
	else \
		echo "for the second half, with Spark (1 GB): $(BIN)/pip install --group spark, then make demo again"; \
	fi

check: $(VENV)/.built $(VENV)/.developing
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/cython-lint $(ROOTS)
	$(BIN)/mypy
	$(BIN)/lint-imports

# Files in the order of tests/conftest.py, in some more processes than processors: tests wait for others and timeouts.
# Each process collects all tests, which takes 6 s; the fast ones rarely wait.
PYTEST = $(PYTHON) -m pytest -n $(shell expr $$(nproc) + $(1)) --dist loadfile --no-loadscope-reorder

# Java's archive of classes and the bytecode of the tests are made beside the checks, most of whose time is one process;
# in a new clone, so is the environment beside the compiled modules.
test:
	@$(MAKE) -j2 check class-archive bytecode
	$(call PYTEST,2)

# The reader of recordings for Spark's Java; where there is no javac, its tests are skipped, and wheels are without it.
JAR := plugins/spark/pyspark_aeron/aeron-core-spark.jar
JAR_IF_POSSIBLE := $(if $(shell command -v javac),$(JAR))
$(JAR): $(shell find plugins/spark/jvm -type f) tools/spark-jar | $(VENV)/.developing
	@$(PYTHON) tools/spark-jar $@

spark-jar: $(JAR)

class-archive: $(VENV)/.built $(VENV)/.developing $(JAR_IF_POSSIBLE)
	@PYTHONPATH=tests/interop/peers $(PYTHON) tests/plugins/spark/support/java_options.py build/java >/dev/null

# Without it, each worker of pytest compiles all test modules, at the same time as the others.
bytecode: class-archive
	@found="$$($(PYTHON) -m pytest --quiet --collect-only)" || { echo "$$found" | grep -v ::; exit 1; }

test-fast: $(VENV)/.built $(VENV)/.developing
	$(call PYTEST,1) -m 'not system and not interop and not netns and not spark'

# The newest release of each supported minor version. The newest of all is that of `make test`, too.
SPARK := 4.1.4 4.2.1 4.3.0
OPTIONS :=
test-spark: $(VENV)/.built $(VENV)/.developing $(JAR_IF_POSSIBLE)
	@PYTHONPATH=tests/interop/peers $(PYTHON) tests/plugins/spark/support/lakehouse_jars.py $(SPARK) -- $(OPTIONS)

format: $(VENV)/.developing
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

# An environment that pyaeron can live in too, which asks for Python 3.12.
$(BENCH_VENV)/.built: pyproject.toml $(BUILD_RULE) $(HOT) $(shell find plugins/spark/jvm -type f)
	@test -x $(BENCH_VENV)/bin/python || { found="$$(tools/find-python 3.12)"; "$$found" -m venv $(BENCH_VENV); }
	@echo "compiling for the benchmarks: about two minutes"
	@$(BENCH_VENV)/bin/pip install --quiet --upgrade 'pip>=25.1'
	@$(BENCH_VENV)/bin/pip install --quiet . --group bench --group interop --group plots --group spark
	@if command -v javac >/dev/null; then \
		$(BENCH_VENV)/bin/python tools/spark-jar "$$(echo $(BENCH_VENV)/lib/python*/site-packages)/$(JAR:plugins/spark/%=%)"; fi
	@touch $@

# Rows of benchmarks/rows.py; without a choice also the programs with tables of their own.
ROW :=
bench: $(BENCH_VENV)/.built
	@$(BENCH_VENV)/bin/python benchmarks/run.py $(ROW) --json build/bench.json --markdown build/bench.md --plots build/bench
	@for program in $(if $(ROW),,$(filter-out %/run.py %/rows.py,$(wildcard benchmarks/*.py))); do \
		echo "== $$program"; $(BENCH_VENV)/bin/python "$$program"; done

fuzz: $(VENV)/.built $(VENV)/.developing
	AERON_CORE_FUZZ_EXAMPLES=20000 $(PYTHON) -m pytest -k 'hostile or lying or test_message' tests --ignore tests/hostile/faults

# Only clang instruments what libFuzzer, in atheris, reads; AddressSanitizer finds accesses beyond objects. What has not
# changed since is not compiled again.
TIME := 60
hostile: $(VENV)/.built $(VENV)/.developing
	@command -v clang >/dev/null || { echo "error: found no clang: on Debian, apt-get install clang" >&2; exit 1; }
	@$(BIN)/pip install --quiet --group fuzz
	@CC=clang CFLAGS='-fsanitize=address,fuzzer-no-link' LDSHARED='clang -shared' \
		$(PYTHON) setup.py --quiet build --build-lib build/fuzzed/lib --build-temp build/fuzzed/temp
	$(PYTHON) tests/hostile/fuzz.py --seconds $(TIME) $(if $(KEEP),--keep) $(TARGETS)

floods: $(VENV)/.built $(VENV)/.developing
	AERON_CORE_FLOOD=50 $(PYTHON) -m pytest -q tests/plugins/security/test_floods.py

SEED := 1
SEEDS := 20
JOBS := 1
faults: $(VENV)/.built $(VENV)/.developing
	$(PYTHON) tools/faults --seed $(SEED) --seeds $(SEEDS) --jobs $(JOBS)

DURATION := 3600
soak: $(VENV)/.built $(VENV)/.developing
	@$(BIN)/pip install --quiet --group plots
	$(PYTHON) tools/faults --seed $(SEED) --soak $(DURATION) --keep build/soak --plot build/soak/soak.png

build: $(JAR_IF_POSSIBLE) $(VENV)/.built
	$(BIN)/pip install --quiet 'build>=1.2'
	$(PYTHON) -m build --outdir dist

# What builds the documentation.
DOCS_TOOLS = test -x $(PYTHON) || { found="$$(tools/find-python)"; "$$found" -m venv $(VENV); $(BIN)/pip install --quiet --upgrade 'pip>=25.1'; }; \
	$(BIN)/pip install --quiet --group docs

# Nothing is compiled or imported: the reference comes from the sources. A warning, such as of a broken link, is an error.
docs:
	@$(DOCS_TOOLS)
	@DOCS_VERSION='$(DOCS_VERSION)' $(PYTHON) -m sphinx -q -W --fresh-env -d build/doctrees docs 'build/docs/$(DOCS_VERSION)'
	@echo "wrote build/docs/index.html"

# Links between pages are checked by `make docs`; other hosts may be down, so this is not for a gate.
links:
	@$(DOCS_TOOLS)
	@$(PYTHON) -m sphinx -q --fresh-env -b linkcheck -d build/linktrees docs build/links
	@echo "every external link of the documentation leads somewhere"

# Without RELEASE nothing is written.
changelog: $(VENV)/.installed
	@$(BIN)/pip install --quiet --group docs
	@$(BIN)/towncrier build --version '$(or $(RELEASE),unreleased)' $(if $(RELEASE),--yes,--draft)

# Spark's commands are among them, but Spark is not needed.
man: $(VENV)/.built
	@$(BIN)/aeron-core man --write --to build/man

wheels: $(VENV)/.installed $(JAR_IF_POSSIBLE)
	@$(BIN)/pip install --quiet --group wheels
	tools/wheels

# The wheel is built from the source distribution, so that this tests both.
dist-check: build
	tools/dist-check $(PYTHON) "$$(ls --sort=time dist/*.whl | head -1)"

coverage: $(VENV)/.built
	$(BIN)/pip install --quiet --group coverage
	$(PYTHON) tools/coverage

# Each compiles a copy of the tree of its own; the compiled modules of the tree are not touched.
sanitize: $(VENV)/.installed $(VENV)/.developing
	$(PYTHON) tools/sanitize address

sanitize-threads: $(VENV)/.installed $(VENV)/.developing
	$(PYTHON) tools/sanitize thread

clean:
	rm -rf $(VENV) $(BENCH_VENV) .venv-examples .venv-interop .venv-interop.lock .venv-jars .venv-jars.lock .venv-java .venv-java.lock .venv-lumberjack .venv-sp .venv-spark-* build dist wheelhouse *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find $(ROOTS) tests -name '__pycache__' -prune -exec rm -rf {} +
	find $(ROOTS) \( -name '*.so' -o -name '*.jar' \) -delete
