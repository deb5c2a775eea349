/* What the fuzz targets share: a check that names itself and ends the run, and a reader
 * that takes an input apart. It must never know what is fuzzed. */
#ifndef TETRAD_FUZZ_H
#define TETRAD_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Unlike assert it holds in every build. */
#define CHECK(condition)                                                                 \
    do {                                                                                 \
        if (!(condition)) {                                                              \
            fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition);    \
            abort();                                                                     \
        }                                                                                \
    } while (0)

struct fuzz_input {
    const uint8_t *at, *end;
};

/* The next byte, 0 at the end. */
static inline uint8_t fuzz_byte(struct fuzz_input *input)
{
    return input->at < input->end ? *input->at++ : 0;
}

static inline size_t fuzz_left(const struct fuzz_input *input)
{
    return (size_t)(input->end - input->at);
}

/* A copy of exactly this size, so that the address sanitizer sees a byte read too far. */
static inline char *fuzz_exact(const void *bytes, size_t size)
{
    char *copy = calloc(1, size > 0 ? size : 1);

    CHECK(copy != NULL);
    for (size_t i = 0; i < size; i++) {
        copy[i] = ((const char *)bytes)[i];
    }
    return copy;
}

#endif
