# Tests of threadbench: a new test_NAME.c is one line, as in tests/unit.

THREADBENCH_TESTS = \
	tests/threadbench/test_answer \
	tests/threadbench/test_crew \
	tests/threadbench/test_plan \
	tests/threadbench/test_report \
	tests/threadbench/test_runtimes \
	tests/threadbench/test_spread

if HAVE_CMOCKA
check_PROGRAMS += $(THREADBENCH_TESTS)
TESTS += $(THREADBENCH_TESTS)
endif

THREADBENCH_TEST_CPPFLAGS = $(AM_CPPFLAGS) $(THREADBENCH_CPPFLAGS) -I$(srcdir)/tests/unit
THREADBENCH_TEST_LDADD = $(THREADBENCH_LDADD) $(LDADD)
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
tests_threadbench_test_spread_CPPFLAGS = $(THREADBENCH_TEST_CPPFLAGS)
tests_threadbench_test_spread_LDADD = $(THREADBENCH_TEST_LDADD)

THREADBENCH_CHECKS = tests/threadbench/threadbench.py tests/threadbench/seeds.py
TESTS += $(THREADBENCH_CHECKS)
tests/threadbench/threadbench.log: loadtest/threadbench/threadbench
EXTRA_DIST += $(THREADBENCH_CHECKS)
tests/threadbench/seeds.log: loadtest/threadbench/threadbench loadtest/threadbench/threadbench-fp
