# The core: a library without main and without a model, so that every test can link it.
# tests/layers.py reads the layers from here: a new file is one line in the list of its
# layer, and may then include that layer and the lower ones.

# Base.
LAYER_0 = \
	server/access_log.c server/access_log.h \
	server/attributes.h \
	server/buffer_pool.c server/buffer_pool.h \
	server/clock.c server/clock.h \
	server/direct_calls.h \
	server/log.c server/log.h \
	server/log_file.c server/log_file.h \
	server/log_lanes.c server/log_lanes.h \
	server/timeout_queue.c server/timeout_queue.h \
	server/wake_timer.c server/wake_timer.h \
	server/work.c server/work.h

# Protocol: pure.
LAYER_1 = \
	server/access_line.c server/access_line.h \
	server/chunk_guard.c server/chunk_guard.h \
	server/exchange.c server/exchange.h \
	server/head_check.c server/head_check.h \
	server/head_guard.c server/head_guard.h \
	server/head_memo.c server/head_memo.h \
	server/http_answer.c server/http_answer.h \
	server/http_conn.c server/http_conn.h \
	server/http_conn_state.h \
	server/http_date.c server/http_date.h \
	server/http_input.c server/http_input.h \
	server/http_parser.c server/http_parser.h \
	server/listing.c server/listing.h \
	server/listing_html.c server/listing_html.h \
	server/listing_json.c server/listing_json.h \
	server/mime.c server/mime.h \
	server/mime_builtin.c server/mime_builtin.h \
	server/negotiate.c server/negotiate.h \
	server/output.c server/output.h \
	server/precondition.c server/precondition.h \
	server/range.c server/range.h \
	server/request.c server/request.h \
	server/response.c server/response.h \
	server/slice.h \
	server/target.c server/target.h \
	server/text.c server/text.h

# Content.
LAYER_2 = \
	server/file_block.c server/file_block.h \
	server/file_cache.c server/file_cache.h \
	server/file_listing.c server/file_listing.h \
	server/file_open.c server/file_open.h \
	server/file_policy.c server/file_policy.h \
	server/file_resolve.c server/file_resolve.h \
	server/file_siblings.c server/file_siblings.h \
	server/file_watch.c server/file_watch.h \
	server/site.c server/site.h \
	server/site_fields.c \
	server/site_file.c \
	server/site_find.c \
	server/site_internal.h \
	server/site_listing.c server/site_listing.h \
	server/site_multipart.c \
	server/site_page.c \
	server/site_root.c server/site_root.h \
	server/site_rules.c server/site_rules.h \
	server/site_spa.c

# Connection.
LAYER_3 = \
	server/access_writer.c server/access_writer.h \
	server/cold_file.c server/cold_file.h \
	server/conn.c server/conn.h \
	server/conn_deadline.c \
	server/conn_state.h \
	server/server.h \
	server/transport.h \
	server/transport_socket.c server/transport_socket.h \
	server/worker.c server/worker.h \
	server/worker_state.h

# Process.
LAYER_4 = \
	server/bind_address.c server/bind_address.h \
	server/identity.c server/identity.h \
	server/inbox.c server/inbox.h \
	server/listen_socket.c server/listen_socket.h \
	server/listener.c server/listener.h \
	server/model.h \
	server/option_rules.c \
	server/option_values.c \
	server/options.c server/options.h \
	server/options_table.c server/options_table.h \
	server/pool_policy.c server/pool_policy.h \
	server/refuser.c server/refuser.h \
	server/serve_blocking.c server/serve_blocking.h \
	server/signals.c server/signals.h \
	server/site_setup.c server/site_setup.h \
	server/supervisor.c server/supervisor.h

noinst_LIBRARIES += libtetrad.a
libtetrad_a_CPPFLAGS = $(AM_CPPFLAGS) $(LLHTTP_CFLAGS)
libtetrad_a_CFLAGS = $(AM_CFLAGS) $(FRAME_CFLAGS) $(LTO_CFLAGS)
libtetrad_a_SOURCES = $(LAYER_0) $(LAYER_1) $(LAYER_2) $(LAYER_3) $(LAYER_4)

# The program.
bin_PROGRAMS += tetrad
tetrad_SOURCES = server/main.c server/model_table.c
tetrad_CFLAGS = $(AM_CFLAGS) $(LTO_CFLAGS)
tetrad_LDFLAGS = $(SANITIZER_CFLAGS) $(LTO_LDFLAGS)
tetrad_LDADD = \
	libprefork.a libthreads.a libgreenthreads.a libeventloop.a \
	libtetrad.a $(LLHTTP_ARCHIVE) $(LLHTTP_LIBS) $(LIBUV_LIBS)

# The server once more, compiled with what a training run has seen of it: which branches are
# taken and what is called often, so that the code of an ordinary request lies together. What
# was not trained is compiled as usual, and that is prefork's own code: its children end by
# _exit, and leave no counts. A run that fails leaves no program that counts.
SERVER_ARCHIVES = libprefork.a libthreads.a libgreenthreads.a libeventloop.a libtetrad.a
SERVER_OBJECTS = $(libprefork_a_OBJECTS) $(libthreads_a_OBJECTS) \
	$(libgreenthreads_a_OBJECTS) $(libeventloop_a_OBJECTS) $(libtetrad_a_OBJECTS) \
	$(tetrad_OBJECTS)
PROFILE_GENERATE = -fprofile-generate -fprofile-update=prefer-atomic
PROFILE_USE = -fprofile-use -Wno-missing-profile $(PROFILE_USE_CFLAGS)
PROFILE_TRAINED = models/threads/libthreads_a-threads models/eventloop/libeventloop_a-loop \
	models/greenthreads/libgreenthreads_a-serve server/libtetrad_a-conn

.PHONY: profiled server-anew profile-complete
if CAN_PROFILE
profiled:
	rm -rf profile
	@undo() { rm -f tetrad$(EXEEXT) $(SERVER_ARCHIVES) $(SERVER_OBJECTS); }; \
	trap 'undo; exit 1' HUP INT TERM; \
	$(MAKE) server-anew 'PROFILE_FLAGS=$(PROFILE_GENERATE)' && \
	TETRAD=./tetrad$(EXEEXT) $(srcdir)/loadtest/train.sh \
	    --models threads,greenthreads,hybrid,eventloop && \
	$(MAKE) profile-complete && \
	$(MAKE) server-anew 'PROFILE_FLAGS=$(PROFILE_USE)' && \
	$(MAKE) all || { undo; exit 1; }
else
profiled:
	@echo 'make profiled needs gcc, no sanitizer, and a program that runs here' >&2; exit 1
endif

# The compiler writes and looks for the counts of an object below this folder.
server-anew:
	@rm -f tetrad$(EXEEXT) $(SERVER_ARCHIVES) $(SERVER_OBJECTS)
	flags="$(PROFILE_FLAGS) -fprofile-dir='$(abs_builddir)/profile'"; \
	$(MAKE) tetrad$(EXEEXT) "LTO_CFLAGS=$(LTO_CFLAGS) $$flags" \
	    "LTO_LDFLAGS=$(LTO_LDFLAGS) $$flags"

# Without the counts the compiler would say nothing, and compile as usual.
profile-complete:
	@for object in $(PROFILE_TRAINED); do \
	    ls profile/*"$$(echo $$object | tr / '#').gcda" >/dev/null || exit 1; \
	done

clean-local: clean-profile
.PHONY: clean-profile
clean-profile:
	rm -rf profile

# llhttp from its sources: compiled strict, and without our warnings, which are not its.
if LLHTTP_FROM_SOURCE
LLHTTP_ARCHIVE = libllhttp.a
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

# The unit of systemd, with the paths of this installation, which only make knows.

systemdsystemunit_DATA =
if INSTALL_SYSTEMD_UNIT
systemdsystemunit_DATA += server/tetrad.service
endif
CLEANFILES += server/tetrad.service
EXTRA_DIST += server/tetrad.service.in

server/tetrad.service: $(srcdir)/server/tetrad.service.in Makefile
	$(AM_V_GEN)$(MKDIR_P) server && $(SED) -e 's|@bindir[@]|$(bindir)|g' \
	    -e 's|@pkgdatadir[@]|$(pkgdatadir)|g' -e 's|@sysconfdir[@]|$(sysconfdir)|g' \
	    $(srcdir)/server/tetrad.service.in >$@.new && mv $@.new $@
all-local: server/tetrad.service
