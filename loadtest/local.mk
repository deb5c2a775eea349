# The load test, which nothing of the build needs, and the floors that it compares with.

noinst_PROGRAMS += loadtest/floor
loadtest_floor_CPPFLAGS = $(AM_CPPFLAGS) $(LIBUV_CFLAGS)
loadtest_floor_SOURCES = \
	loadtest/floor.c loadtest/floor.h \
	loadtest/floor_blocking.c \
	loadtest/floor_epoll.c \
	loadtest/floor_sendfile.c \
	loadtest/floor_uv.c
loadtest_floor_LDADD = $(LIBUV_LIBS)

# tload, a load generator; spelled zb it is the one of 1998.
noinst_PROGRAMS += loadtest/tload
loadtest_tload_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/loadtest/threadbench
loadtest_tload_SOURCES = \
	loadtest/tload.c \
	loadtest/tload_client.c loadtest/tload_client.h \
	loadtest/tload_load.c loadtest/tload_load.h \
	loadtest/tload_options.c loadtest/tload_options.h \
	loadtest/tload_reply.c loadtest/tload_reply.h \
	loadtest/tload_report.c loadtest/tload_report.h \
	loadtest/tload_tally.h \
	loadtest/tload_target.c loadtest/tload_target.h \
	loadtest/tload_zb.c \
	loadtest/threadbench/spread.c loadtest/threadbench/spread.h
loadtest_tload_LDADD =

loadtest/zb: loadtest/tload$(EXEEXT)
	$(AM_V_GEN)ln -sf tload$(EXEEXT) $@
all-local: loadtest/zb
CLEANFILES += loadtest/zb

EXTRA_DIST += loadtest/loadtest.sh loadtest/python.sh loadtest/run.py loadtest/measure \
	loadtest/peers.sh loadtest/peers.py loadtest/counts.sh loadtest/counts.py \
	loadtest/scale.sh loadtest/scale.py loadtest/crosscheck.sh loadtest/crosscheck.py \
	loadtest/cold.sh loadtest/cold.py loadtest/results.py \
	loadtest/train.sh loadtest/train.py \
	loadtest/conf tests/loadtest

# The gate: what can be counted exactly, and then what has to be measured. Both are run, and
# either fails it.
.PHONY: bench counts loadtest
bench: all
	status=0; \
	$(MAKE) counts || status=1; \
	TETRAD='$(abs_top_builddir)/tetrad' $(srcdir)/loadtest/peers.sh --gate 6k 10 10s || \
	    status=1; \
	exit $$status

counts: all
	TETRAD='$(abs_top_builddir)/tetrad' $(srcdir)/loadtest/counts.sh $(COUNTSFLAGS)

loadtest: all
	TETRAD='$(abs_top_builddir)/tetrad' $(srcdir)/loadtest/loadtest.sh 6k 10 10s
