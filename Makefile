# A fresh checkout needs make, Python 3.11 or newer and a package registry: `make run` plays, `make test` tests.

PYTHON ?= python3 python3.14 python3.13 python3.12 python3.11
ARGS ?=

VENV := .venv
RUN := $(VENV)/$(if $(filter Windows_NT,$(OS)),Scripts/python.exe,bin/python)
PIP := $(RUN) -m pip --disable-pip-version-check --quiet
INSTALLED := $(VENV)/installed
INSTALLED_WEB := $(VENV)/installed-web
INSTALLED_DOCS := $(VENV)/installed-docs
INSTALLED_DEV := $(VENV)/installed-dev
INSTALLED_RELEASE := $(VENV)/installed-release

# The tests start Python some hundred times: it keeps its bytecode for the next one, whatever the environment says.
test: export PYTHONDONTWRITEBYTECODE :=

# The levels of the processor for which a release has compiled code.
LEVELS := $(if $(filter x86_64 AMD64,$(shell uname -m)),--level=x86-64-v2 --level=x86-64-v3,this)

.DEFAULT_GOAL := $(if $(EXE),engine,help)
.DELETE_ON_ERROR:
.PHONY: help run explorer docs engine test test-python test-bounds test-cluster test-nets signature chaos fuzz fuzz-files load starve fuzz-pgn mutants additions truth lint bench perft dist try-pythons try-arm64 bundle warmup clean

help: ## list these commands
	@sed -n 's/^\([a-z0-9-]*\):.*## /  make \1	/p' Makefile | expand -t 20

run: $(INSTALLED) ## play and explain at the prompt of the console
	@$(RUN) -m merino warmup play
	@$(RUN) -m merino console $(ARGS)

explorer: $(INSTALLED_WEB) ## open a page in the browser that shows a position and its reasons
	@$(RUN) -m merino warmup play
	@$(RUN) -m merino explorer $(ARGS)

docs: $(INSTALLED_DOCS) ## build the documentation as a site, in build/site; ARGS=serve shows it while you write
	@NO_MKDOCS_2_WARNING=1 $(RUN) -m mkdocs $(or $(ARGS),build --strict --quiet)
	@$(if $(ARGS),,echo "The site is build/site/index.html; open it in a browser.")

test: warmup $(INSTALLED_DEV) ## run the tests; ARGS="-k perft" for some of them
	@$(RUN) -m pytest -n auto --dist loadfile $(ARGS)

test-python: $(INSTALLED_DEV) ## run the tests without compiling, slow ones only of what you changed: a mistake in a kernel shows its line
	@NUMBA_DISABLE_JIT=1 $(RUN) -m pytest -p no:threadexception -p no:unraisableexception -n auto --dist loadfile $(ARGS)

test-bounds: $(INSTALLED_DEV) ## run the tests with bounds checks in compiled code, which is compiled apart, for minutes
	@NUMBA_BOUNDSCHECK=1 $(RUN) -m merino warmup
	@NUMBA_BOUNDSCHECK=1 $(RUN) -m pytest $(ARGS)

test-cluster: warmup $(INSTALLED_DEV) ## kill workers and schedulers during matches, tunes and fits, for minutes
	@$(RUN) -m pytest tests/cluster_proofs.py $(ARGS)

test-nets: warmup $(INSTALLED_DEV) ## follow nets of many feature sets through games, each set compiled, for minutes
	@$(RUN) -m pytest tests/update_proofs.py $(ARGS)

engine: warmup ## write a script that starts Merino, as OpenBench builds: `make EXE=merino-1a2b3c`, then `./merino-1a2b3c bench`
	@printf '#!/bin/sh\n[ $$# -gt 0 ] || set -- uci\nexec "%s" -m merino "$$@"\n' "$(abspath $(RUN))" > $(or $(EXE),merino-engine)
	@chmod +x $(or $(EXE),merino-engine)

signature: warmup ## compare the nodes of the bench with those that the last commit to name them promises
	@$(RUN) -m tools.check_bench $(ARGS)

chaos: warmup $(INSTALLED_DEV) ## kill, stop and disturb every command that writes; ARGS="--only match --trials 5" for less
	@$(RUN) -m tests.chaos $(ARGS)

fuzz: warmup $(INSTALLED_DEV) ## send 200,000 faulty lines to the engine; ARGS="--seed 7" for others
	@$(RUN) -m tests.fuzz_uci $(ARGS)

load: warmup $(INSTALLED_DEV) ## flood the explorer's server, and send it what no page sends; ARGS=--short for less
	@$(RUN) -m tests.load_explorer $(ARGS)

starve: warmup $(INSTALLED_DEV) ## play with a tenth of a core for each side, and next to eight busy programs; ARGS="--games 50"
	@$(RUN) -m benchmarks.starving $(ARGS)

mutants: $(INSTALLED_DEV) ## plant faults that the tests must catch, for an hour; ARGS="--only pgn" for some of them
	@$(RUN) -m tests.mutants $(ARGS)

additions: warmup $(INSTALLED_DEV) ## add a term, a UCI option and so on to copies, each with its tests, for minutes; ARGS=pruning for one
	@$(RUN) -m tests.additions $(ARGS)

fuzz-files: warmup $(INSTALLED_DEV) ## let Merino read 2,000 changed files of every kind; ARGS="--seed 7 --examples 9000" for others
	@$(RUN) -m tests.fuzz_files $(ARGS)

fuzz-pgn: warmup $(INSTALLED_DEV) ## let Merino and python-chess read 20,000 mutated games; ARGS="--games 2000000 --seed 7"
	@$(RUN) -m tests.fuzz_pgn $(ARGS)

truth: $(INSTALLED) ## check what annotate says, without its code: ENGINE=/usr/games/stockfish confirms, FILE=my.pgn, ARGS="--games 5"
	@$(RUN) -m merino warmup play study
	@$(RUN) -m tools.truth $(or $(FILE),games/selfplay.pgn) $(if $(ENGINE),--engine $(ENGINE)) $(ARGS)

lint: $(INSTALLED_DEV) ## check style and types
	@$(RUN) -m ruff check .
	@$(RUN) -m ruff format --check .
	@$(RUN) -m mypy
	@sh tools/check_page.sh

bench: warmup ## measure the speed of everything, search, learning and tuning (and stockfish, if installed)
	@$(RUN) -m benchmarks $(ARGS)

perft: $(INSTALLED) ## check move generation at length: published counts, and random games against python-chess
	@$(RUN) -m benchmarks.perft_suite $(ARGS)

dist: $(INSTALLED_RELEASE) ## write sdist and wheel, with compiled code, to dist, and check what they say of themselves
	@rm -rf dist build/code
	@for level in $(LEVELS); do $(RUN) -m merino warmup --quiet --into build/code $${level#this} || exit; done
	@$(RUN) -m build --outdir dist --sdist
	@$(RUN) -m build --outdir dist --wheel
	@$(RUN) -m twine check --strict dist/*

try-pythons: ## run the tests in Debian's trixie and sid, with Python 3.13 and 3.14, as root, with mmdebstrap; ARGS="-k perft"
	@for suite in trixie sid; do root=build/$$suite; \
	    test -d $$root || mmdebstrap --quiet --aptopt='Acquire::Check-Valid-Until "false"' --variant=essential $$suite $$root \
	        --include=python3-venv,ca-certificates,libstdc++6,make,git http://deb.debian.org/debian || exit; \
	    cp /etc/resolv.conf $$root/etc; cp /etc/ssl/certs/ca-certificates.crt $$root/etc/ssl/certs; \
	    git archive HEAD | tar -x --one-top-level=$$root/merino; \
	    unshare --mount sh -c "mount --rbind /dev $$root/dev; mount --rbind /proc $$root/proc; \
	        exec chroot $$root make -C merino test ARGS='$(ARGS)'" || exit; done

try-arm64: $(INSTALLED) ## compare what arm64 Linux computes, in an emulator, with what is computed here; needs qemu-user-static, mmdebstrap
	@sh tools/try_arm64.sh "$(abspath $(RUN))"

bundle: dist ## write a folder that plays wherever it is unpacked, as dist/merino-*.zip and .tar.zst
	@$(RUN) -m tools.make_bundle $(ARGS)

warmup: $(INSTALLED) ## compile all parts ahead, some minutes, once; the result is kept in the user's cache folder
	@$(RUN) -m merino warmup

clean: ## remove the environment, build leftovers and compiled code
	@if [ -x $(RUN) ]; then $(RUN) -m merino clean-cache || echo "Some compiled code is left; going on."; fi
	rm -rf $(VENV) build dist .hypothesis .pytest_cache .mypy_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(RUN):
	@sh tools/make_venv.sh $(VENV) $(PYTHON)

$(INSTALLED): pyproject.toml $(RUN)
	@echo "Installing Merino into $(VENV). pip says nothing while it fetches numba and NumPy, some 90 MB: a minute, perhaps"
	@$(PIP) install --editable .
	@touch $@

$(INSTALLED_WEB): $(INSTALLED)
	@echo "Installing what the explorer needs into $(VENV)"
	@$(PIP) install --editable '.[web]'
	@touch $@

$(INSTALLED_DOCS): $(INSTALLED)
	@echo "Installing what makes the site into $(VENV)"
	@$(PIP) install --editable '.[docs]'
	@touch $@

$(INSTALLED_DEV): $(INSTALLED)
	@echo "Installing the tools for tests and style into $(VENV)"
	@$(PIP) install --editable '.[dev]'
	@touch $@

$(INSTALLED_RELEASE): $(INSTALLED)
	@echo "Installing what makes a release into $(VENV)"
	@$(PIP) install --editable '.[release]'
	@touch $@
