# A kernel thread per connection.

noinst_LIBRARIES += libthreads.a
libthreads_a_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/models/threads
libthreads_a_SOURCES =
