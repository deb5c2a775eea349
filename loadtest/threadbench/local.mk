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
	loadtest/threadbench/bench_hack.c \
	loadtest/threadbench/bench_message.c \
	loadtest/threadbench/bench_pipe.c \
	loadtest/threadbench/bench_pipes.c \
	loadtest/threadbench/bench_wake.c \
	loadtest/threadbench/bench_yield.c \
	loadtest/threadbench/census.c loadtest/threadbench/census.h \
	loadtest/threadbench/crew.c loadtest/threadbench/crew.h \
	loadtest/threadbench/measure.c loadtest/threadbench/measure.h \
	loadtest/threadbench/message.h loadtest/threadbench/message_erlang.c \
	loadtest/threadbench/mktree.c \
	loadtest/threadbench/pipes.c loadtest/threadbench/pipes.h \
	loadtest/threadbench/pipes_events.c \
	loadtest/threadbench/pipes_uring.c \
	loadtest/threadbench/plan.c loadtest/threadbench/plan.h \
	loadtest/threadbench/report.h \
	loadtest/threadbench/report_json.c \
	loadtest/threadbench/report_table.c \
	loadtest/threadbench/rt.c loadtest/threadbench/rt.h \
	loadtest/threadbench/rt_green.c \
	loadtest/threadbench/rt_kernel.c loadtest/threadbench/rt_kernel.h \
	loadtest/threadbench/rt_nspr.c \
	loadtest/threadbench/rt_process.c \
	loadtest/threadbench/rt_pth.c \
	loadtest/threadbench/rt_pthread.c \
	loadtest/threadbench/rt_st.c \
	loadtest/threadbench/run.c loadtest/threadbench/run.h \
	loadtest/threadbench/spread.c loadtest/threadbench/spread.h \
	loadtest/threadbench/uv_loop.c loadtest/threadbench/uv_loop.h \
	loadtest/threadbench/yield_ucontext.c loadtest/threadbench/yield_ucontext.h
EXTRA_DIST += loadtest/threadbench/message.escript

# How user threads switch, as configure chose it, for the row.
THREADBENCH_CPPFLAGS = -I$(srcdir)/models/greenthreads -I$(srcdir)/loadtest/threadbench \
	$(NSPR_CFLAGS) $(LIBUV_CFLAGS) \
	-DTHREADBENCH_FOLDER='"$(abs_top_srcdir)/loadtest/threadbench"'
if CONTEXT_X86_64
THREADBENCH_CPPFLAGS += -DTHREADBENCH_CONTEXT='"x86-64 switch"'
endif
if CONTEXT_AARCH64
THREADBENCH_CPPFLAGS += -DTHREADBENCH_CONTEXT='"AArch64 switch"'
endif
if CONTEXT_UCONTEXT
THREADBENCH_CPPFLAGS += -DTHREADBENCH_CONTEXT='"ucontext switch"'
endif

# The same with frame pointers, user threads and all, because a document compares the two.
noinst_LIBRARIES += libthreadbench_fp.a libgreenthreads_fp.a
THREADBENCH_FP_CFLAGS = $(AM_CFLAGS) $(FRAME_CFLAGS) -fno-omit-frame-pointer
libthreadbench_fp_a_CPPFLAGS = $(libthreadbench_a_CPPFLAGS) -DTHREADBENCH_FRAMES=1
libthreadbench_fp_a_CFLAGS = $(THREADBENCH_FP_CFLAGS)
libthreadbench_fp_a_SOURCES = $(libthreadbench_a_SOURCES)
libgreenthreads_fp_a_CPPFLAGS = $(libgreenthreads_a_CPPFLAGS)
libgreenthreads_fp_a_CFLAGS = $(THREADBENCH_FP_CFLAGS)
libgreenthreads_fp_a_SOURCES = $(libgreenthreads_a_SOURCES)
noinst_PROGRAMS += loadtest/threadbench/threadbench-fp
loadtest_threadbench_threadbench_fp_SOURCES = loadtest/threadbench/main.c
loadtest_threadbench_threadbench_fp_CPPFLAGS = $(AM_CPPFLAGS) $(THREADBENCH_CPPFLAGS)
loadtest_threadbench_threadbench_fp_CFLAGS = $(THREADBENCH_FP_CFLAGS)
loadtest_threadbench_threadbench_fp_LDADD = libthreadbench_fp.a libgreenthreads_fp.a \
	libtetrad.a $(THREADS_LIBS) $(LIBUV_LIBS) -lm

# Every published benchmark at its published parameters.
EXTRA_DIST += loadtest/threadbench/seeds.sh loadtest/threadbench/seeds.py \
	loadtest/threadbench/seeds.tsv
.PHONY: seeds
seeds: all
	THREADBENCH=loadtest/threadbench/threadbench $(srcdir)/loadtest/threadbench/seeds.sh

noinst_PROGRAMS += loadtest/threadbench/threadbench
loadtest_threadbench_threadbench_SOURCES = loadtest/threadbench/main.c
loadtest_threadbench_threadbench_CPPFLAGS = $(AM_CPPFLAGS) $(THREADBENCH_CPPFLAGS)
loadtest_threadbench_threadbench_LDADD = $(THREADBENCH_LDADD)

THREADBENCH_LDADD = libthreadbench.a libgreenthreads.a libtetrad.a $(THREADS_LIBS) \
	$(LIBUV_LIBS) -lm
