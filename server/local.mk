# The core: a library without main and without a model, so that every test can link it.
# A new file is one line here; keep each layer together.

noinst_LIBRARIES += libtetrad.a
libtetrad_a_CPPFLAGS = $(AM_CPPFLAGS) $(LLHTTP_CFLAGS)
libtetrad_a_SOURCES =

# L0 base
libtetrad_a_SOURCES += \
	server/attributes.h \
	server/buffer_pool.c server/buffer_pool.h \
	server/clock.c server/clock.h \
	server/log.c server/log.h \
	server/timeout_queue.c server/timeout_queue.h \
	server/work.c server/work.h

# L1 protocol, pure
libtetrad_a_SOURCES += \
	server/head_guard.c server/head_guard.h \
	server/http_conn.h \
	server/http_date.h \
	server/mime.h \
	server/output.c server/output.h \
	server/precondition.h \
	server/range.h \
	server/request.h \
	server/response.c server/response.h \
	server/slice.h \
	server/target.h

# L2 content
libtetrad_a_SOURCES += \
	server/site.h

# L3 connection
libtetrad_a_SOURCES += \
	server/conn.h \
	server/transport.h \
	server/transport_socket.h \
	server/worker.h

# L4 process
libtetrad_a_SOURCES += \
	server/inbox.h \
	server/listener.h \
	server/model.h \
	server/options.h \
	server/signals.h

# The program.
#bin_PROGRAMS += tetrad
#tetrad_SOURCES = server/main.c server/model_table.c
#tetrad_CPPFLAGS = $(AM_CPPFLAGS) $(LLHTTP_CFLAGS) $(LIBUV_CFLAGS)
#tetrad_LDADD = \
#	libprefork.a libthreads.a libgreenthreads.a libeventloop.a \
#	libtetrad.a $(LLHTTP_LIBS) $(LIBUV_LIBS)

# llhttp from its sources: compiled strict, and without our warnings, which are not its.
if LLHTTP_FROM_SOURCE
noinst_LIBRARIES += libllhttp.a
libllhttp_a_SOURCES =
libllhttp_a_LIBADD = llhttp/api.o llhttp/http.o llhttp/llhttp.o
libllhttp_a_DEPENDENCIES = $(libllhttp_a_LIBADD)
CLEANFILES += $(libllhttp_a_LIBADD)

LLHTTP_COMPILE = $(AM_V_CC)$(MKDIR_P) llhttp && \
	$(CC) $(LLHTTP_CFLAGS) -DLLHTTP_STRICT_MODE=1 $(CPPFLAGS) $(SANITIZER_CFLAGS) $(CFLAGS) -w -c -o $@

llhttp/api.o: $(LLHTTP_SOURCE)/api.c
	$(LLHTTP_COMPILE) $(LLHTTP_SOURCE)/api.c
llhttp/http.o: $(LLHTTP_SOURCE)/http.c
	$(LLHTTP_COMPILE) $(LLHTTP_SOURCE)/http.c
llhttp/llhttp.o: $(LLHTTP_SOURCE)/llhttp.c
	$(LLHTTP_COMPILE) $(LLHTTP_SOURCE)/llhttp.c
endif
