/* Starts the script that has the chain in Erlang and reads its one line. The script counts
 * and measures itself, between the same two moments. It must never know the chain. */
#include "message.h"

#include <errno.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LINE_MAX_BYTES = 512 };

/* 0, or -errno; *output is the script's standard output. */
static int script_start(const struct params *params, pid_t *pid, int *output)
{
    char threads[24], messages[24], capacity[24];
    char *words[] = { (char *)"escript", (char *)THREADBENCH_FOLDER "/message.escript",
                      threads,           messages,
                      capacity,          NULL };
    uint64_t room =
        params->mailbox < params->messages ? params->mailbox : params->messages;
    posix_spawn_file_actions_t actions;
    int fds[2], error;

    (void)snprintf(threads, sizeof(threads), "%" PRIu64, params->threads);
    (void)snprintf(messages, sizeof(messages), "%" PRIu64, params->messages);
    (void)snprintf(capacity, sizeof(capacity), "%" PRIu64, room);
    if (pipe2(fds, O_CLOEXEC) < 0) {
        return -errno;
    }
    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawn_file_actions_adddup2(&actions, fds[1], STDOUT_FILENO);
    error = posix_spawnp(pid, words[0], &actions, NULL, words, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)close(fds[1]);
    if (error != 0) {
        (void)close(fds[0]);
        return -error;
    }
    *output = fds[0];
    return 0;
}

static void line_read(struct run *run, int output, char line[LINE_MAX_BYTES])
{
    size_t used = 0;

    while (used < LINE_MAX_BYTES - 1) {
        ssize_t count = read(output, line + used, LINE_MAX_BYTES - 1 - used);

        run_must(run, "a read from Erlang", count < 0 ? -errno : 0);
        if (count == 0) {
            break;
        }
        used += (size_t)count;
    }
    line[used] = '\0';
    (void)close(output);
}

uint64_t message_erlang(struct run *run)
{
    struct outcome *outcome = run->outcome;
    char line[LINE_MAX_BYTES], release[32] = "";
    uint64_t sum = 0, ns = 0, user_ms = 0, sys_ms = 0, switches = 0;
    int output = -1, status = 0, error;
    pid_t pid;

    error = script_start(run->params, &pid, &output);
    if (error == -ENOENT) {
        run_absent(run, "not installed: no escript (Debian package erlang-base)");
    }
    run_must(run, "escript", error);
    line_read(run, output, line);
    (void)waitpid(pid, &status, 0);
    if (status != 0 ||
        sscanf(line,
               "sum %" SCNu64 " ns %" SCNu64 " user_ms %" SCNu64 " sys_ms %" SCNu64
               " switches %" SCNu64 " kthreads %" SCNu64 " kib %" SCNu64 " otp %31s",
               &sum, &ns, &user_ms, &sys_ms, &switches, &outcome->kernel_threads,
               &outcome->peak_kib, release) != 8) {
        run_stop(run, "the script in Erlang", -EPROTO);
    }
    outcome->real_s = (double)ns / 1e9;
    outcome->used = (struct rt_usage){
        .user_us = user_ms * 1000,
        .sys_us = sys_ms * 1000,
        .voluntary = switches,
    };
    (void)snprintf(outcome->loaded, sizeof(outcome->loaded), "external, Erlang/OTP %s",
                   release);
    return sum;
}
