# The tests' harness, the check of the layers and the behaviour tests.

EXTRA_DIST += tests/behaviour tests/parity tests/garden tests/browser tests/layers.py tests/coverage.py \
	tests/setup.sh

# Every test speaks TAP, so that each single case is counted.
LOG_DRIVER = env AM_TAP_AWK='$(AWK)' CMOCKA_MESSAGE_OUTPUT=TAP \
	$(SHELL) $(top_srcdir)/build-aux/tap-driver.sh
TEST_EXTENSIONS = .py
PY_LOG_DRIVER = $(LOG_DRIVER)
PY_LOG_COMPILER = $(PYTHON) -B

TESTS += tests/layers.py tests/service.py
tests/service.log: server/tetrad.service tetrad
EXTRA_DIST += tests/service.py tests/tap.py
tests/layers.log: libtetrad.a
AM_TESTS_ENVIRONMENT = \
	TETRAD_SOURCE='$(abs_top_srcdir)'; TETRAD_BUILD='$(abs_top_builddir)'; NM='$(NM)'; \
	export TETRAD_SOURCE TETRAD_BUILD NM;

.PHONY: check-unit check-programs check-layers check-behaviour check-all
check-unit:
	$(MAKE) check TESTS='$(UNIT_TESTS) $(FUZZ_REPLAYS) $(THREADBENCH_TESTS)'
check-programs:
	$(MAKE) check TESTS='$(UNIT_TESTS) $(FUZZ_REPLAYS) $(THREADBENCH_TESTS) $(THREADBENCH_CHECKS)'

check-layers: libtetrad.a
	@TETRAD_SOURCE='$(abs_top_srcdir)' TETRAD_BUILD='$(abs_top_builddir)' NM='$(NM)' \
	    $(PYTHON) -B $(srcdir)/tests/layers.py

PYTEST = $(PYTHON) -B -m pytest -q -p no:cacheprovider
check-behaviour: all
	TETRAD='$(abs_top_builddir)/tetrad' $(PYTEST) $(PYTESTFLAGS) $(srcdir)/tests/behaviour

# Generated scripts to all models; a seed of its own each time, unless one is given.
COUNT = 10000
.PHONY: parity
parity: all
	TETRAD='$(abs_top_builddir)/tetrad' $(PYTHON) -B $(srcdir)/tests/parity/compare.py \
	    --count $(COUNT) $(if $(SEED),--seed $(SEED)) $(PARITYFLAGS)

# The case tables and generated requests to tetrad and to other servers that are installed.
.PHONY: garden
garden: all
	TETRAD='$(abs_top_builddir)/tetrad' $(PYTHON) -B $(srcdir)/tests/garden/garden.py \
	    $(if $(SEED),--seed $(SEED)) $(GARDENFLAGS)

# Listings and seeking in a video, in a headless Chromium.
.PHONY: browser
browser: all
	TETRAD='$(abs_top_builddir)/tetrad' $(PYTEST) $(PYTESTFLAGS) $(srcdir)/tests/browser

# Which lines the tests reach, in a build of its own; STEPS="unit report" does a part again.
.PHONY: coverage coverage-clean
coverage:
	$(PYTHON) -B $(srcdir)/tests/coverage.py coverage $(DISTCHECK_FLAGS:%=--configure=%) $(STEPS)
clean-local: coverage-clean
coverage-clean:
	rm -rf coverage

# One after the other, because each builds what it needs.
check-all:
	$(MAKE) check
	$(MAKE) check-behaviour
