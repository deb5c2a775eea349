# Fuzz targets over the protocol layer. `make check` replays the committed corpus with any
# compiler; `make fuzz TIME=60` fuzzes each target for so many seconds, with clang.

FUZZ_REPLAYS = \
	tests/fuzz/replay_conn \
	tests/fuzz/replay_fields \
	tests/fuzz/replay_head \
	tests/fuzz/replay_target

check_PROGRAMS += $(FUZZ_REPLAYS)
TESTS += $(FUZZ_REPLAYS)

tests_fuzz_replay_conn_SOURCES = tests/fuzz/replay.c tests/fuzz/fuzz.h tests/fuzz/fuzz_conn.c
tests_fuzz_replay_fields_SOURCES = tests/fuzz/replay.c tests/fuzz/fuzz.h tests/fuzz/fuzz_fields.c
tests_fuzz_replay_head_SOURCES = tests/fuzz/replay.c tests/fuzz/fuzz.h tests/fuzz/fuzz_head.c
tests_fuzz_replay_target_SOURCES = tests/fuzz/replay.c tests/fuzz/fuzz.h tests/fuzz/fuzz_target.c

EXTRA_DIST += tests/fuzz/corpus tests/fuzz/fuzz.sh

TIME = 30
FUZZ = head target fields conn
.PHONY: fuzz
fuzz:
	SOURCES='$(LAYER_0) $(LAYER_1)' \
	LLHTTP='$(LLHTTP_SOURCE)/api.c $(LLHTTP_SOURCE)/http.c $(LLHTTP_SOURCE)/llhttp.c' \
	FLAGS='-std=gnu11 -D_GNU_SOURCE -DLLHTTP_STRICT_MODE=1 -I$(abs_top_srcdir)/server $(LLHTTP_CFLAGS)' \
	$(srcdir)/tests/fuzz/fuzz.sh fuzz '$(TIME)' $(FUZZ)
