# The load test, which nothing of the build needs.

EXTRA_DIST += loadtest/loadtest.sh loadtest/python.sh loadtest/run.py loadtest/measure \
	loadtest/peers tests/loadtest

.PHONY: bench
bench: all
	TETRAD='$(abs_top_builddir)/tetrad' $(srcdir)/loadtest/loadtest.sh 6k 10 10s
