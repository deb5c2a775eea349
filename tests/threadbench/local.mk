# Tests of threadbench: a new test_NAME.c is one line, as in tests/unit.

THREADBENCH_TESTS = \
	tests/threadbench/test_answer \
	tests/threadbench/test_crew \
	tests/threadbench/test_plan \
	tests/threadbench/test_report \
	tests/threadbench/test_runtimes

if HAVE_CMOCKA
check_PROGRAMS += $(THREADBENCH_TESTS)
TESTS += $(THREADBENCH_TESTS)
endif

THREADBENCH_TEST_CPPFLAGS = $(AM_CPPFLAGS) $(THREADBENCH_CPPFLAGS) -I$(srcdir)/tests/unit
THREADBENCH_TEST_LDADD = libthreadbench.a libgreenthreads.a $(LDADD) -lm
tests_threadbench_test_answer_CPPFLAGS = $(THREADBENCH_TEST_CPPFLAGS)
tests_threadbench_test_answer_LDADD = $(THREADBENCH_TEST_LDADD)
tests_threadbench_test_crew_CPPFLAGS = $(THREADBENCH_TEST_CPPFLAGS)
tests_threadbench_test_crew_LDADD = $(THREADBENCH_TEST_LDADD)
tests_threadbench_test_plan_CPPFLAGS = $(THREADBENCH_TEST_CPPFLAGS)
tests_threadbench_test_plan_LDADD = $(THREADBENCH_TEST_LDADD)
tests_threadbench_test_report_CPPFLAGS = $(THREADBENCH_TEST_CPPFLAGS)
tests_threadbench_test_report_LDADD = $(THREADBENCH_TEST_LDADD)
tests_threadbench_test_runtimes_CPPFLAGS = $(THREADBENCH_TEST_CPPFLAGS)
tests_threadbench_test_runtimes_LDADD = $(THREADBENCH_TEST_LDADD)

TESTS += tests/threadbench/threadbench.py
tests/threadbench/threadbench.log: loadtest/threadbench/threadbench
EXTRA_DIST += tests/threadbench/threadbench.py
