# Unit tests (cmocka). A new test_NAME.c is one line in UNIT_TESTS: it is built from that one
# source and linked with the core; a header is one line in EXTRA_DIST. What a test needs
# beyond that (the library of a model, a flag) is set at the end, by the test's name.

UNIT_TESTS = \
	tests/unit/test_access_line \
	tests/unit/test_access_log \
	tests/unit/test_authority \
	tests/unit/test_bind_address \
	tests/unit/test_buffer_pool \
	tests/unit/test_clock \
	tests/unit/test_cold_file \
	tests/unit/test_conn \
	tests/unit/test_conn_moves \
	tests/unit/test_context \
	tests/unit/test_exchange \
	tests/unit/test_file_block \
	tests/unit/test_file_cache \
	tests/unit/test_file_forms \
	tests/unit/test_file_listing \
	tests/unit/test_file_open \
	tests/unit/test_file_policy \
	tests/unit/test_file_resolve \
	tests/unit/test_file_watch \
	tests/unit/test_guards \
	tests/unit/test_head_check \
	tests/unit/test_head_memo \
	tests/unit/test_http_answer \
	tests/unit/test_http_conn \
	tests/unit/test_http_conn_ends \
	tests/unit/test_http_date \
	tests/unit/test_http_parser \
	tests/unit/test_identity \
	tests/unit/test_inbox \
	tests/unit/test_listener \
	tests/unit/test_listener_stop \
	tests/unit/test_listing \
	tests/unit/test_log \
	tests/unit/test_log_file \
	tests/unit/test_log_lanes \
	tests/unit/test_memory \
	tests/unit/test_mime \
	tests/unit/test_negotiate \
	tests/unit/test_offload \
	tests/unit/test_option_rules \
	tests/unit/test_options \
	tests/unit/test_output \
	tests/unit/test_poller \
	tests/unit/test_pool_policy \
	tests/unit/test_precondition \
	tests/unit/test_range \
	tests/unit/test_refuser \
	tests/unit/test_request \
	tests/unit/test_response \
	tests/unit/test_scheduler \
	tests/unit/test_scheduler_events \
	tests/unit/test_scoreboard \
	tests/unit/test_serve_blocking \
	tests/unit/test_signals \
	tests/unit/test_site \
	tests/unit/test_site_change \
	tests/unit/test_site_file \
	tests/unit/test_site_forms \
	tests/unit/test_site_forms_change \
	tests/unit/test_site_listing \
	tests/unit/test_site_missing \
	tests/unit/test_site_pending \
	tests/unit/test_site_policy \
	tests/unit/test_site_rules \
	tests/unit/test_site_setup \
	tests/unit/test_stack \
	tests/unit/test_stackless \
	tests/unit/test_supervisor \
	tests/unit/test_sync \
	tests/unit/test_target \
	tests/unit/test_text \
	tests/unit/test_thread_pool \
	tests/unit/test_timeout_queue \
	tests/unit/test_tload_reply \
	tests/unit/test_transport_socket \
	tests/unit/test_uthread \
	tests/unit/test_uthread_group \
	tests/unit/test_uthread_stress \
	tests/unit/test_wake_timer \
	tests/unit/test_work \
	tests/unit/test_worker_pool

if HAVE_CMOCKA
check_PROGRAMS += $(UNIT_TESTS)
TESTS += $(UNIT_TESTS)
else
check-local: cmocka-missing
endif

# A folder as a whole would take the objects along, which the build leaves in its own.
EXTRA_DIST += \
	tests/unit/conn_driver.h \
	tests/unit/failing.h \
	tests/unit/http_driver.h \
	tests/unit/http_outcome.h \
	tests/unit/listening.h \
	tests/unit/request_of.h \
	tests/unit/site_driver.h \
	tests/unit/site_forms.h \
	tests/unit/story.h \
	tests/unit/tiny_server.h \
	tests/unit/tree.h \
	tests/unit/unit.h

LDADD = libtetrad.a $(LLHTTP_ARCHIVE) $(LLHTTP_LIBS) $(CMOCKA_LIBS)

.PHONY: cmocka-missing
cmocka-missing:
	@echo 'make check: no unit test ran, because cmocka was not found by configure;' >&2
	@echo 'make check: install the Debian package libcmocka-dev and configure again' >&2
	@exit 1

tests_unit_test_scoreboard_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/models/prefork
tests_unit_test_scoreboard_LDADD = libprefork.a $(LDADD)

tests_unit_test_thread_pool_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/models/threads
tests_unit_test_thread_pool_LDADD = libthreads.a $(LDADD)

tests_unit_test_worker_pool_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/models/threads
tests_unit_test_worker_pool_LDADD = libthreads.a $(LDADD)

tests_unit_test_context_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/models/greenthreads
tests_unit_test_context_LDADD = libgreenthreads.a $(LDADD) -lm

tests_unit_test_offload_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/models/greenthreads
tests_unit_test_offload_LDADD = libgreenthreads.a $(LDADD)

tests_unit_test_poller_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/models/greenthreads
tests_unit_test_poller_LDADD = libgreenthreads.a $(LDADD)

tests_unit_test_scheduler_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/models/greenthreads
tests_unit_test_scheduler_LDADD = libgreenthreads.a $(LDADD)

tests_unit_test_scheduler_events_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/models/greenthreads
tests_unit_test_scheduler_events_LDADD = libgreenthreads.a $(LDADD)

tests_unit_test_stackless_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/models/greenthreads
tests_unit_test_stackless_LDADD = libgreenthreads.a $(LDADD)
tests_unit_test_stackless_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=stack_take

tests_unit_test_stack_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/models/greenthreads
tests_unit_test_stack_LDADD = libgreenthreads.a $(LDADD)

tests_unit_test_sync_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/models/greenthreads
tests_unit_test_sync_LDADD = libgreenthreads.a $(LDADD)

tests_unit_test_uthread_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/models/greenthreads
tests_unit_test_uthread_LDADD = libgreenthreads.a $(LDADD)

tests_unit_test_uthread_group_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/models/greenthreads
tests_unit_test_uthread_group_LDADD = libgreenthreads.a $(LDADD)
tests_unit_test_offload_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=kernel_thread_start
tests_unit_test_uthread_group_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=kernel_thread_start

tests_unit_test_uthread_stress_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/models/greenthreads
tests_unit_test_uthread_stress_LDADD = libgreenthreads.a $(LDADD)

# Allocations that fail, and a kernel that answers as the test says.
WRAP_ALLOCATION = -Wl,--wrap=malloc -Wl,--wrap=calloc -Wl,--wrap=realloc
tests_unit_test_cold_file_LDFLAGS = $(AM_LDFLAGS) $(WRAP_ALLOCATION) \
	-Wl,--wrap=preadv2 -Wl,--wrap=pread -Wl,--wrap=__pread_chk
tests_unit_test_http_answer_LDFLAGS = $(AM_LDFLAGS) $(WRAP_ALLOCATION)
tests_unit_test_memory_LDFLAGS = $(AM_LDFLAGS) $(WRAP_ALLOCATION)

tests_unit_test_tload_reply_CPPFLAGS = $(AM_CPPFLAGS) -I$(srcdir)/loadtest
tests_unit_test_tload_reply_SOURCES = tests/unit/test_tload_reply.c loadtest/tload_reply.c
