# Everything is set up in .venv by these targets; Python 3.11 or newer and make are all that is needed.
PYTHON ?= python3
BIN := .venv/bin

# One worker more than there are cores: some tests wait, for a browser or a server, and leave theirs idle.
WORKERS := $(shell $(PYTHON) -c "import os; print(len(os.sched_getaffinity(0)) + 1 if hasattr(os, 'sched_getaffinity') else 'auto')")

# Compiled modules are kept: the tests start hundreds of processes, and each would compile choral anew.
unexport PYTHONDONTWRITEBYTECODE

# Each worker, and each process that a test starts, would have a thread per core for linear algebra: they wait for each other.
quick test test-browser: export OMP_NUM_THREADS = 1
quick test test-browser: export OPENBLAS_NUM_THREADS = 1

.PHONY: run quick test test-browser test-spark check docs pictures screens shots house attack mutants bench bench-tables bench-long clean

run: .venv/ready
	$(BIN)/choral demo

# Every room in about a minute: all tests that alone take less than fifteen hundredths of a second, without the browser and Spark.
quick: .venv/ready
	$(BIN)/python -m pytest -n auto --dist loadfile --no-loadscope-reorder -m "not slow and not spark" --ignore=tests/browser

# A file of tests stays with one worker, so that what its tests share is made once; conftest.py has the longest files first.
# Spark's tests wait more than they work: they run beside the others, and what they say comes last.
test: check
	-scripts/browser
	-scripts/spark install
	@mkdir -p build
	scripts/spark try > build/spark.log 2>&1 & spark=$$!; trap 'kill $$spark 2> /dev/null' INT TERM; \
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder; status=$$?; \
	wait $$spark || status=1; cat build/spark.log; exit $$status

# Spark's own tests: needs Java 17, which is installed where that can be done (Debian, as root).
test-spark: .venv/ready
	scripts/spark test

test-browser: .venv/ready
	scripts/browser
	$(BIN)/python -m pytest tests/browser

check: .venv/ready
	$(BIN)/ruff check conftest.py src tests bench scripts
	$(BIN)/ruff format --check conftest.py src tests bench scripts
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: .venv/ready
	PYTHONPATH=scripts $(BIN)/python -m docsite build/site

# docs/pictures: drawn by the library.
pictures: .venv/ready
	$(BIN)/python scripts/pictures.py

# docs/screens: what the studio looks like, from one that runs.
screens: .venv/ready
	scripts/browser
	$(BIN)/python scripts/screens.py

# build/shots: every surface, light and dark, at 390, 1280 and 1440 pixels; to be looked at.
shots: .venv/ready
	scripts/browser
	PYTHONPATH=scripts $(BIN)/python scripts/shots.py

# docs/architecture.md: the picture, the ways and the numbers, from the imports and the calls.
house: .venv/ready
	PYTHONPATH=scripts $(BIN)/python -m house

# For MINUTES minutes everything is tried that could break a promise; docs/attacks.md then says what was tried and what held.
MINUTES ?= 20
attack: .venv/ready .venvs/attack/ready
	ATTACK_PYTHON=$(CURDIR)/.venvs/attack/bin/python PYTHONPATH=tests:scripts $(BIN)/python -m attack --minutes $(MINUTES) --page docs/attacks.md

# Mutation testing of the verifier and exact/: about half an hour of processor time.
mutants: .venv/ready
	PYTHONPATH=tests $(BIN)/python scripts/mutants.py

# Beside the paper's companion code, too, where COMPANION_PATH names the folder that holds its package.
COMPANION_PATH ?=
COMPANION := $(if $(COMPANION_PATH),.venvs/companion/ready)
bench bench-long: export DIT_PYTHON = .venvs/dit/bin/python
bench bench-long: export COMPANION_PYTHON = $(COMPANION:ready=bin/python)

# How fast, beside others: ten minutes on two cores with nothing beside it.
bench: .venv/ready .venvs/dit/ready $(COMPANION)
	$(BIN)/python bench/enumeration.py
	$(BIN)/python bench/scale.py
	$(BIN)/python bench/speed.py
	$(BIN)/python bench/starts.py
	$(BIN)/python bench/rotation.py
	scripts/browser && $(BIN)/python bench/studio.py && $(BIN)/python bench/site.py
	$(BIN)/choral reproduce -o build/paper --force
	$(BIN)/python bench/disclose.py

# How much is told, beside others, and how often what is promised holds: a quarter of an hour.
bench-tables: .venv/ready .venvs/opendp/ready .venvs/fairlearn/ready .venvs/interpret/ready
	$(BIN)/python bench/tables.py
	$(BIN)/python bench/out_of_sample.py
	INTERPRET_PYTHON=.venvs/interpret/bin/python $(BIN)/python bench/teacher.py votes  # other tables take interpret minutes each
	OPENDP_PYTHON=.venvs/opendp/bin/python $(BIN)/python bench/differential_privacy.py
	FAIRLEARN_PYTHON=.venvs/fairlearn/bin/python $(BIN)/python bench/fairness.py
	$(BIN)/python bench/promises.py --seconds 120

# Different sensors with n = 18 and n = 20, which are searched for minutes each.
bench-long: .venv/ready .venvs/dit/ready $(COMPANION)
	$(BIN)/python bench/scale.py --long

.venvs/dit/ready:
	$(PYTHON) -m venv .venvs/dit
	.venvs/dit/bin/python -m pip install --quiet --disable-pip-version-check dit==2.3
	touch $@

.venvs/companion/ready:
	PYTHON=$(PYTHON) scripts/companion

.venvs/attack/ready:
	$(PYTHON) -m venv .venvs/attack
	.venvs/attack/bin/python -m pip install --quiet --disable-pip-version-check atheris==3.0.0 schemathesis==4.32.5
	touch $@

.venvs/opendp/ready:
	$(PYTHON) -m venv .venvs/opendp
	.venvs/opendp/bin/python -m pip install --quiet --disable-pip-version-check opendp==0.16.0
	touch $@

.venvs/fairlearn/ready:
	$(PYTHON) -m venv .venvs/fairlearn
	.venvs/fairlearn/bin/python -m pip install --quiet --disable-pip-version-check fairlearn==0.15.0
	touch $@

.venvs/interpret/ready:
	$(PYTHON) -m venv .venvs/interpret
	.venvs/interpret/bin/python -m pip install --quiet --disable-pip-version-check interpret-core==0.7.8
	touch $@

.venv/ready: requirements.txt pyproject.toml
	$(PYTHON) -c "import sys; sys.exit(0 if sys.version_info >= (3, 11) else 'choral needs Python 3.11 or newer; set PYTHON=')"
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -e .
	touch $@

clean:
	rm -rf .venv .venvs build dist src/*.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
