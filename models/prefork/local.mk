# A process per connection.

noinst_LIBRARIES += libprefork.a
libprefork_a_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/models/prefork
libprefork_a_SOURCES =
