# A process per connection.

noinst_LIBRARIES += libprefork.a
libprefork_a_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/models/prefork
libprefork_a_CFLAGS = $(AM_CFLAGS) $(FRAME_CFLAGS) $(LTO_CFLAGS)
libprefork_a_SOURCES = \
	models/prefork/child.c models/prefork/child.h \
	models/prefork/prefork.c \
	models/prefork/scoreboard.c models/prefork/scoreboard.h
