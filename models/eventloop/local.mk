# libuv.

noinst_LIBRARIES += libeventloop.a
libeventloop_a_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/models/eventloop $(LIBUV_CFLAGS)
libeventloop_a_SOURCES =
