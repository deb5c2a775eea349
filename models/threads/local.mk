# A kernel thread per connection.

noinst_LIBRARIES += libthreads.a
libthreads_a_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/models/threads
libthreads_a_CFLAGS = $(AM_CFLAGS) $(FRAME_CFLAGS) $(LTO_CFLAGS)
libthreads_a_SOURCES = \
	models/threads/thread_pool.c models/threads/thread_pool.h \
	models/threads/threads.c \
	models/threads/worker_pool.c models/threads/worker_pool.h
