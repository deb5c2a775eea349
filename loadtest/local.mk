# The load test, which nothing of the build needs, and the floors that it compares with.

noinst_PROGRAMS += loadtest/floor
loadtest_floor_CPPFLAGS = $(AM_CPPFLAGS) $(LIBUV_CFLAGS)
loadtest_floor_SOURCES = \
	loadtest/floor.c loadtest/floor.h \
	loadtest/floor_blocking.c \
	loadtest/floor_epoll.c \
	loadtest/floor_uv.c
loadtest_floor_LDADD = $(LIBUV_LIBS)

EXTRA_DIST += loadtest/loadtest.sh loadtest/python.sh loadtest/run.py loadtest/measure \
	loadtest/peers tests/loadtest

.PHONY: bench
bench: all
	TETRAD='$(abs_top_builddir)/tetrad' $(srcdir)/loadtest/loadtest.sh 6k 10 10s
