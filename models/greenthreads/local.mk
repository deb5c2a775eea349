# User threads of our own over edge-triggered epoll.

noinst_LIBRARIES += libgreenthreads.a
libgreenthreads_a_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/models/greenthreads
libgreenthreads_a_SOURCES =
