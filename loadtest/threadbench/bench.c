/* The list of benchmarks. It must never know what one of them does. */
#include "bench.h"

const struct bench *const bench_table[] = {
    &bench_message, &bench_yield,  &bench_test1,  &bench_io,   &bench_aqueue,
    &bench_crew,    &bench_create, &bench_ctx,    &bench_pipe, &bench_pipes,
    &bench_hack,    &bench_wake,   &bench_mktree, NULL,
};
