# `make help` lists the targets. Everything runs in .venv, which is made when first needed.

VENV   ?= .venv
PYTHON := $(VENV)/bin/python
STAMP  := $(VENV)/.installed
# `checked` panics at what overflows or breaks an assertion: make sweep KERNEL_PROFILE=checked. Without it, the next make builds `release`.
KERNEL_PROFILE ?= release
KERNEL := $(VENV)/.kernel-$(KERNEL_PROFILE)

# Python compiles what it imports, and keeps that: without, each of a thousand processes would compile it again.
# To compile all that is installed takes longer than to install it.
unexport PYTHONDONTWRITEBYTECODE
# The filter: a new pip shows that setuptools warns of every editable installation.
EDITABLE := PYTHONWARNINGS='ignore:Editable installation'
INSTALL := --quiet --disable-pip-version-check --no-compile

# What pytest gets, for example: make test PYTEST_ARGS="-x tests/test_house.py"
# One process more than cores: one of them waits for Spark most of the time.
PYTEST_ARGS ?= -n $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1) --dist loadgroup

# Pythons to try for the environment, in this order; BASE_PYTHON=/path/to/python goes first.
PYTHONS := $(BASE_PYTHON) python3 python3.14 python3.13 python3.12 python3.11

.DEFAULT_GOAL := help
.PHONY: help demo test test-numpy kernel lint ruff imports types format docs map bench sweep matrix fuzz coverage env java

help:  ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' Makefile

demo: java $(KERNEL)  ## write a demo store and run a Spark job on it
	@$(PYTHON) examples/demo.py

test: java $(KERNEL)  ## create the environment, run the tests; CI=true make test: also those that take long, as the gate does
	$(PYTHON) -m pytest --durations=10 $(PYTEST_ARGS)

# What the kernel has a part in. The others would test the same code again: tables, exports and streams get the batches of tests/scan.
# The gate runs the last two: tests/kernel compares both kernels in all that they do, and these compare numpy with Java and with the
# second decoder. Each night runs all.
OF_THE_KERNEL := $(addprefix tests/,columns log records scan promises/test_golden.py promises/test_truth.py)
test-numpy: $(STAMP)  ## the tests of what the compiled kernel does, without it; no Spark, no broker
	RMQSTORE_KERNEL=numpy $(PYTHON) -m pytest --durations=10 $(OF_THE_KERNEL) $(PYTEST_ARGS)

kernel: required := required
kernel: $(KERNEL)  ## build the compiled kernel and install it: needs Rust

lint: ruff imports types  ## ruff, import-linter and mypy, without changes to files

ruff: $(STAMP)
	$(PYTHON) -m ruff check .
	$(PYTHON) -m ruff format --check .

imports: $(STAMP)
	$(VENV)/bin/lint-imports --no-logo --no-cache

types: $(STAMP)
	$(PYTHON) -m mypy --strict native_reader rmqstore rmqstore_spark pyspark_rmqstore

SITE ?= build/site
# The theme prints an advertisement at each build.
docs: export NO_MKDOCS_2_WARNING := 1
docs: $(STAMP)-docs  ## build the documents as a site, in build/site
	@$(PYTHON) -m mkdocs build --strict --site-dir $(abspath $(SITE))

map: $(STAMP)  ## write the map of files in docs/code.md, from the first line of each file
	@$(PYTHON) .ci/code_map.py

format: $(STAMP)  ## fix and format the code with ruff
	$(PYTHON) -m ruff check --fix --exit-zero .
	$(PYTHON) -m ruff format .

# About 40 minutes; make bench BYTES=64MiB for a quick check. It takes up to 12 GB of disk: stores go when no other benchmark needs them.
bench: of := $(if $(BYTES),--bytes $(BYTES))
bench: java $(KERNEL)  ## measure the speed, with both kernels
	@$(PYTHON) -m pip install $(INSTALL) --editable '.[bench]'
	$(PYTHON) benchmarks/run.py $(of)
	$(PYTHON) benchmarks/stages.py $(of)
	@cd build/bench && rm -rf *.parquet *equal* *zlib*
	$(PYTHON) benchmarks/java.py $(of)
	$(PYTHON) benchmarks/damage.py $(of)
	@cd build/bench && rm -rf *-flipped
	$(PYTHON) benchmarks/verify.py $(of)
	@cd build/bench && rm -rf verified-*
	$(PYTHON) benchmarks/repair.py $(of)
	@cd build/bench && rm -rf repaired*
	$(PYTHON) benchmarks/pruning.py $(of)
	@cd build/bench && rm -rf pruning-* timed-* planned
	$(PYTHON) benchmarks/export.py $(of)
	$(PYTHON) benchmarks/lookups.py $(of)
	$(PYTHON) benchmarks/small.py $(of)
	@cd build/bench && rm -rf keys-*
	$(PYTHON) benchmarks/command_line.py $(of)
	@cd build/bench && rm -rf listed report-*
	$(PYTHON) benchmarks/spark.py --slots 1 $(of)
	$(PYTHON) benchmarks/spark.py --slots $$(getconf _NPROCESSORS_ONLN) $(of)
	@cd build/bench && rm -rf *.parquet
	$(PYTHON) benchmarks/harm.py $(of)
	$(PYTHON) benchmarks/streaming.py --rounds 3 --idle 10 $(of)
	$(PYTHON) benchmarks/remote.py $(of)
	@cd build/bench && rm -rf remote-*
	$(PYTHON) benchmarks/large.py --spark

# In parts: make sweep PART="streams bits" runs these.
sweep: java $(KERNEL)  ## the longest tests, and all cases of those that sample (more than an hour); PART=streams: one part
	KERNEL_PROFILE=$(KERNEL_PROFILE) $(PYTHON) .ci/sweep.py $(PART) -- $(PYTEST_ARGS)

# make matrix LINES="pyspark-4.0 floors" for some of them.
matrix: java  ## test other versions of PySpark and Python, and the oldest that setup.cfg allows (long)
	python3 .ci/matrix $(LINES)

# make fuzz FUZZ="--inputs 1000000" for a number of inputs. Either way it uses all cores.
FUZZ ?= --seconds 300
fuzz: $(KERNEL)  ## read randomly changed stores with both decoders and with both kernels, for five minutes each way
	$(PYTHON) tests/fuzz.py $(FUZZ)
	$(PYTHON) tests/fuzz.py $(FUZZ) --kernels
	$(PYTHON) tests/fuzz.py $(FUZZ) --fields

coverage: $(STAMP)  ## branch coverage of layout and scan
	@$(PYTHON) -m pip install $(INSTALL) 'coverage>=7.6'
	$(PYTHON) -m coverage run --branch --source native_reader/layout,native_reader/records,native_reader/log,native_reader/columns,native_reader/scan,native_reader/tables -m pytest -q -p no:cacheprovider \
	  --ignore tests/spark --ignore tests/brokers
	$(PYTHON) -m coverage report --show-missing --skip-covered

env: $(STAMP)
	@echo "ready: source $(VENV)/bin/activate"

# Before anything heavy: is there a Java for Spark?
java:
	@.ci/check_java

# The newest pip: that of Python 3.11 takes twice as long to find out what to install. It works too.
$(PYTHON):
	@for python in $(PYTHONS); do \
	  if "$$python" -c 'import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
	    echo "environment $(VENV): made with $$("$$python" --version), once"; \
	    "$$python" -m venv $(VENV) || exit 1; \
	    $(PYTHON) -m pip install $(INSTALL) --upgrade pip; \
	    exit 0; \
	  fi; \
	done; \
	echo "No Python 3.11 or newer that can make a virtual environment. Install one:" >&2; \
	echo "  Debian, Ubuntu: apt install python3 python3-venv    Fedora: dnf install python3    macOS: brew install python" >&2; \
	echo "or name it: make test BASE_PYTHON=/path/to/python3.12" >&2; \
	exit 1

$(STAMP): setup.cfg pyproject.toml | $(PYTHON)
	@echo "environment $(VENV): installing this package with PySpark, pyarrow and the tools of the tests, about 1 GB, from the package index"
	@echo "This takes 1 to 5 minutes, without output, and is repeated only if setup.cfg or pyproject.toml changes"
	@$(EDITABLE) $(PYTHON) -m pip install $(INSTALL) --use-pep517 --editable '.[test$(EXTRAS:%=,%)]'
	@touch $@ $(EXTRAS:%=$@-%)

# The tools of another extra. To install them replaces this package for a moment, so not while tests run: make env EXTRAS="docs notebooks"
$(STAMP)-%: $(STAMP)
	@$(EDITABLE) $(PYTHON) -m pip install $(INSTALL) --editable '.[$*]'
	@touch $@

# Where Rust is missing, nothing is made: the targets above run with numpy.
$(KERNEL): $(wildcard kernel/*.* kernel/src/*.rs kernel/src/*/*.rs) | $(STAMP)
	@.ci/make_kernel $(PYTHON) $@ $(KERNEL_PROFILE) $(required)
