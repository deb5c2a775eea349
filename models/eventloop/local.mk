# libuv.

noinst_LIBRARIES += libeventloop.a
libeventloop_a_CFLAGS = $(AM_CFLAGS) $(LTO_CFLAGS)
libeventloop_a_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/models/eventloop $(LIBUV_CFLAGS)
libeventloop_a_SOURCES = \
	models/eventloop/eventloop.c \
	models/eventloop/loop.c models/eventloop/loop.h \
	models/eventloop/loop_conn.c models/eventloop/loop_conn.h
