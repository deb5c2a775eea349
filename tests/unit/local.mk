# Unit tests. A new test_NAME.c is one line in UNIT_TESTS: it is built from that one source
# and linked with the core. Further needs (a model's library, a flag) are set below by name,
# as for test_context.

UNIT_TESTS =

LDADD = libtetrad.a $(LLHTTP_LIBS) $(CMOCKA_LIBS)
EXTRA_DIST += tests/unit
