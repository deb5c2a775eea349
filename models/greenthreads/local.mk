# User threads of our own over edge-triggered epoll.

noinst_LIBRARIES += libgreenthreads.a
libgreenthreads_a_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/models/greenthreads
libgreenthreads_a_CFLAGS = $(AM_CFLAGS) $(FRAME_CFLAGS) $(LTO_CFLAGS)
libgreenthreads_a_SOURCES = \
	models/greenthreads/accept.c models/greenthreads/accept.h \
	models/greenthreads/annotate.h models/greenthreads/annotate_signals.h \
	models/greenthreads/context.h \
	models/greenthreads/greenthreads.c \
	models/greenthreads/kernel_thread.c models/greenthreads/kernel_thread.h \
	models/greenthreads/offload.c models/greenthreads/offload.h \
	models/greenthreads/poller.h \
	models/greenthreads/poller_epoll.c \
	models/greenthreads/scheduler.c models/greenthreads/scheduler.h \
	models/greenthreads/scheduler_events.c \
	models/greenthreads/scheduler_group.c models/greenthreads/scheduler_group.h \
	models/greenthreads/scheduler_state.h \
	models/greenthreads/scheduler_thread.c \
	models/greenthreads/serve.c models/greenthreads/serve.h \
	models/greenthreads/shard.c models/greenthreads/shard.h \
	models/greenthreads/stack.c models/greenthreads/stack.h \
	models/greenthreads/sync.c models/greenthreads/sync.h \
	models/greenthreads/thread_record.h \
	models/greenthreads/uthread.c models/greenthreads/uthread.h

# How a context is switched: configure chooses.
if CONTEXT_X86_64
libgreenthreads_a_SOURCES += models/greenthreads/context_x86_64.S
endif
if CONTEXT_AARCH64
libgreenthreads_a_SOURCES += models/greenthreads/context_aarch64.S
endif
if CONTEXT_UCONTEXT
libgreenthreads_a_SOURCES += models/greenthreads/context_ucontext.c
endif

EXTRA_DIST += models/greenthreads/uthreads-gdb.py
