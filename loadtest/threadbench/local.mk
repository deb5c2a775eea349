# threadbench: benchmarks of threads on every runtime. Built with the rest and not
# installed. A new source is one line; so is a new benchmark's row in bench.c.

noinst_LIBRARIES += libthreadbench.a
libthreadbench_a_CPPFLAGS = $(AM_CPPFLAGS) $(THREADBENCH_CPPFLAGS)
libthreadbench_a_CFLAGS = $(AM_CFLAGS) $(FRAME_CFLAGS)
libthreadbench_a_SOURCES = \
	loadtest/threadbench/answer.c loadtest/threadbench/answer.h \
	loadtest/threadbench/bench.c loadtest/threadbench/bench.h \
	loadtest/threadbench/bench_aqueue.c \
	loadtest/threadbench/bench_create.c \
	loadtest/threadbench/bench_crew.c \
	loadtest/threadbench/bench_ctx.c \
	loadtest/threadbench/bench_message.c \
	loadtest/threadbench/bench_pipe.c \
	loadtest/threadbench/bench_yield.c \
	loadtest/threadbench/census.c loadtest/threadbench/census.h \
	loadtest/threadbench/crew.c loadtest/threadbench/crew.h \
	loadtest/threadbench/measure.c loadtest/threadbench/measure.h \
	loadtest/threadbench/mktree.c \
	loadtest/threadbench/plan.c loadtest/threadbench/plan.h \
	loadtest/threadbench/report.h \
	loadtest/threadbench/report_json.c \
	loadtest/threadbench/report_table.c \
	loadtest/threadbench/rt.c loadtest/threadbench/rt.h \
	loadtest/threadbench/rt_green.c \
	loadtest/threadbench/rt_kernel.c loadtest/threadbench/rt_kernel.h \
	loadtest/threadbench/rt_process.c \
	loadtest/threadbench/rt_pthread.c \
	loadtest/threadbench/run.c loadtest/threadbench/run.h

# How user threads switch, as configure chose it, for the row.
THREADBENCH_CPPFLAGS = -I$(srcdir)/models/greenthreads -I$(srcdir)/loadtest/threadbench
if CONTEXT_X86_64
THREADBENCH_CPPFLAGS += -DTHREADBENCH_CONTEXT='"x86-64 switch"'
endif
if CONTEXT_AARCH64
THREADBENCH_CPPFLAGS += -DTHREADBENCH_CONTEXT='"AArch64 switch"'
endif
if CONTEXT_UCONTEXT
THREADBENCH_CPPFLAGS += -DTHREADBENCH_CONTEXT='"ucontext switch"'
endif

noinst_PROGRAMS += loadtest/threadbench/threadbench
loadtest_threadbench_threadbench_SOURCES = loadtest/threadbench/main.c
loadtest_threadbench_threadbench_CPPFLAGS = $(AM_CPPFLAGS) $(THREADBENCH_CPPFLAGS)
loadtest_threadbench_threadbench_LDADD = libthreadbench.a libgreenthreads.a libtetrad.a -lm
