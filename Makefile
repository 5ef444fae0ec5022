# Each target sets up what it needs: Python 3.11 or newer with venv, and make, are enough.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin

.PHONY: demo test test-all coverage test-oldest test-minimal test-files test-dist model-files lint docs publish-docs bench paper promises \
	base-rates automl dist clean

demo: $(VENV)/.installed
	$(BIN)/capo demo

test: $(VENV)/.installed-dev
	$(BIN)/python -m pytest $(ARGS)

test-all: $(VENV)/.installed-dev
	$(BIN)/python -m pytest -m "" $(ARGS)

# Fails below the share of lines in `tool.coverage.report`. ARGS="-m ''" runs the slow tests, too.
coverage: $(VENV)/.installed-dev
	$(BIN)/python -m pytest --cov --cov-report=term:skip-covered $(ARGS)

# The oldest release of each dependency that pyproject.toml allows, in an environment of its own.
# Deprecations are no errors there: the old releases use newer releases of their own dependencies.
test-oldest: $(VENV)-oldest/.installed
	$(VENV)-oldest/bin/python -m pytest -W default::DeprecationWarning -W default::PendingDeprecationWarning $(ARGS)

# The package alone: tests that need an optional package are skipped, and nothing else fails.
test-minimal: $(VENV)-minimal/.installed
	$(VENV)-minimal/bin/python -m pytest $(ARGS)

# Model files written under each release of scikit-learn are read under each of them, with the same outputs.
RELEASES := 1.7 1.8 1.9
test-files: $(RELEASES:%=$(VENV)-sklearn-%/.installed)
	set -e; for release in $(RELEASES); do \
		$(VENV)-sklearn-$$release/bin/python -m tests.io.model_files.releases write build/files/$$release; done
	set -e; for release in $(RELEASES); do \
		$(VENV)-sklearn-$$release/bin/python -m tests.io.model_files.releases read $(RELEASES:%=build/files/%); done

# The files that the ordinary tests read: to be written again after a change of the format.
model-files: $(RELEASES:%=$(VENV)-sklearn-%/.installed)
	set -e; for release in $(RELEASES); do \
		$(VENV)-sklearn-$$release/bin/python -m tests.io.model_files.releases write \
			tests/io/model_files/written_by/scikit-learn-$$release two-classes many-classes labels estimators; done

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/python -m pytest -n 0 tests/test_architecture.py

# The site goes to site/; NO_MKDOCS_2_WARNING silences an announcement that is not about this site.
docs: $(VENV)/.installed-docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# The version and the alias "latest" on the branch gh-pages, where other versions stay. mike calls mkdocs by its name.
publish-docs: $(VENV)/.installed-docs
	git config user.name "capo release"
	git config user.email "noreply@github.com"
	PATH="$(abspath $(BIN)):$$PATH" NO_MKDOCS_2_WARNING=1 mike deploy --push --update-aliases \
		"$$($(BIN)/python -c 'import capo; print(*capo.__version__.split(".")[:2], sep=".")')" latest
	$(BIN)/mike set-default --push latest

bench: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --group bench
	$(BIN)/python -m benchmarks.speed
	$(BIN)/python -m benchmarks.quality

paper: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --group bench
	$(BIN)/python -m benchmarks.paper $(if $(DATA),--data $(DATA)) $(ARGS)

# MAPIE, with which the thresholds are compared, has an environment of its own.
promises: $(VENV)/.installed $(VENV)-mapie/.installed
	$(BIN)/python -m pip install --quiet --group bench
	$(BIN)/python -m benchmarks.promises $(if $(DATA),--data $(DATA)) --mapie $(VENV)-mapie/bin/python $(ARGS)

# quapy, whose estimates of prevalence are compared, has an environment of its own.
base-rates: $(VENV)/.installed $(VENV)-quapy/.installed
	$(BIN)/python -m pip install --quiet --group bench
	$(BIN)/python -m benchmarks.base_rates $(if $(DATA),--data $(DATA)) --quapy $(VENV)-quapy/bin/python $(ARGS)

# AutoGluon and FLAML need different releases of XGBoost: each has an environment of its own.
automl: $(VENV)/.installed $(VENV)-autogluon/.installed $(VENV)-flaml/.installed
	$(BIN)/python -m pip install --quiet --group bench
	$(BIN)/python -m benchmarks.quality.automl $(if $(DATA),--data $(DATA)) \
		--autogluon $(VENV)-autogluon/bin/python --flaml $(VENV)-flaml/bin/python $(ARGS)

dist: $(BIN)/python
	rm -rf dist
	$(BIN)/python -m pip install --quiet build twine
	$(BIN)/python -m build
	$(BIN)/python -m twine check --strict dist/*

# The wheel passes the tests that the sdist holds, in an environment with nothing else; the sdist can be installed, too.
test-dist: dist
	rm -rf build/dist && mkdir -p build/dist/sources
	tar -xzf dist/*.tar.gz -C build/dist/sources --strip-components=1
	set -e; for file in dist/*.tar.gz dist/*.whl; do \
		$(PYTHON) -m venv --clear build/dist/venv; \
		build/dist/venv/bin/python -m pip install --quiet --upgrade pip; \
		build/dist/venv/bin/python -m pip install --quiet "$$file[cli]" --group test-minimal; \
		build/dist/venv/bin/capo measures > build/dist/measures.txt; done
	cd build/dist/sources && ../venv/bin/python -m pytest -p no:cacheprovider tests $(ARGS)

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

$(VENV)/.installed: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable '.[cli]'
	touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --editable '.[cli,onnx,plots]' --group dev
	touch $@

$(VENV)-oldest/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)-oldest
	$(VENV)-oldest/bin/python -m pip install --quiet uv
	$(VENV)-oldest/bin/uv pip install --quiet --python $(VENV)-oldest/bin/python --resolution lowest-direct \
		--editable '.[cli,onnx,plots]' --group test
	touch $@

$(VENV)-minimal/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)-minimal
	$(VENV)-minimal/bin/python -m pip install --quiet --upgrade pip
	$(VENV)-minimal/bin/python -m pip install --quiet --editable . --group test-minimal
	touch $@

# Releases before 1.9 do not read data frames of polars 2.
$(VENV)-sklearn-%/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)-sklearn-$*
	$(VENV)-sklearn-$*/bin/python -m pip install --quiet --upgrade pip
	$(VENV)-sklearn-$*/bin/python -m pip install --quiet --editable '.[files]' 'scikit-learn==$*.*' \
		$(if $(filter 1.7 1.8,$*),'polars<2',polars) lightgbm xgboost-cpu
	touch $@

$(VENV)-mapie/.installed:
	$(PYTHON) -m venv $(VENV)-mapie
	$(VENV)-mapie/bin/python -m pip install --quiet 'mapie==1.6.*'
	touch $@

$(VENV)-quapy/.installed:
	$(PYTHON) -m venv $(VENV)-quapy
	$(VENV)-quapy/bin/python -m pip install --quiet 'quapy==0.2.*'
	touch $@

$(VENV)-autogluon/.installed:
	$(PYTHON) -m venv $(VENV)-autogluon
	$(VENV)-autogluon/bin/python -m pip install --quiet 'autogluon.tabular[lightgbm,catboost,xgboost]==1.6.*'
	touch $@

$(VENV)-flaml/.installed:
	$(PYTHON) -m venv $(VENV)-flaml
	$(VENV)-flaml/bin/python -m pip install --quiet 'flaml[automl]==2.7.*'
	touch $@

$(VENV)/.installed-docs: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --editable '.[cli,onnx,plots]' --group docs
	touch $@

clean:
	rm -rf $(VENV) $(VENV)-oldest $(VENV)-minimal $(VENV)-sklearn-* $(VENV)-mapie $(VENV)-quapy $(VENV)-autogluon $(VENV)-flaml \
		build dist site .pytest_cache .mypy_cache .ruff_cache .hypothesis
