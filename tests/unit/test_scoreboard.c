/* The memory that prefork's parent and children share, with real children. */
#include "scoreboard.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { SLOTS = 130 }; /* three words of idle bits, the last one hardly used */

/* Between two looks for a condition; main's alarm ends a wait in vain. */
static void poll_again(void)
{
    usleep(100);
}

static int open_board(void **state)
{
    *state = scoreboard_open(SLOTS);
    return *state == NULL;
}

static int close_board(void **state)
{
    scoreboard_close(*state);
    return 0;
}

static void claim_all(struct scoreboard *board)
{
    for (int i = 0; i < SLOTS; i++) {
        assert_int_equal(scoreboard_claim(board), i);
        scoreboard_set_pid(board, i, 1000 + i);
    }
}

static void slots_are_given_and_given_back(void **state)
{
    struct scoreboard *board = *state;

    assert_int_equal(scoreboard_slots(board), SLOTS);
    assert_int_equal(scoreboard_idle(board), 0);
    claim_all(board);
    assert_int_equal(scoreboard_idle(board), SLOTS);
    assert_int_equal(scoreboard_claim(board), -1);
    assert_int_equal(scoreboard_find(board, 1000 + 77), 77);
    assert_int_equal(scoreboard_find(board, 999), -1);
    scoreboard_release(board, 77);
    assert_int_equal(scoreboard_pid(board, 77), 0);
    assert_int_equal(scoreboard_find(board, 1000 + 77), -1);
    assert_int_equal(scoreboard_idle(board), SLOTS - 1);
    assert_int_equal(scoreboard_claim(board), 77);
}

static void a_slot_without_a_pid_yet_is_not_given_twice(void **state)
{
    struct scoreboard *board = *state;

    assert_int_equal(scoreboard_claim(board), 0);
    assert_int_equal(scoreboard_claim(board), 1);
}

static void the_last_idle_child_is_told(void **state)
{
    struct scoreboard *board = *state;

    claim_all(board);
    for (int i = SLOTS - 1; i > 0; i--) {
        assert_false(scoreboard_set_busy(board, i));
    }
    assert_true(scoreboard_set_busy(board, 0));
    assert_int_equal(scoreboard_idle(board), 0);
    scoreboard_set_idle(board, 129);
    assert_int_equal(scoreboard_idle(board), 1);
    assert_true(scoreboard_set_busy(board, 129));
}

static void a_reused_slot_is_as_new(void **state)
{
    struct scoreboard *board = *state;

    claim_all(board);
    scoreboard_retire(board, 1);
    assert_true(scoreboard_is_retired(board, SLOTS - 1));
    assert_false(scoreboard_was_busy(board, SLOTS - 1));
    scoreboard_set_busy(board, SLOTS - 1);
    assert_true(scoreboard_was_busy(board, SLOTS - 1));
    scoreboard_release(board, SLOTS - 1);
    assert_int_equal(scoreboard_claim(board), SLOTS - 1);
    assert_false(scoreboard_is_retired(board, SLOTS - 1));
    assert_false(scoreboard_was_busy(board, SLOTS - 1));
}

static unsigned count_retired(const struct scoreboard *board)
{
    unsigned count = 0;

    for (int i = 0; i < SLOTS; i++) {
        count += scoreboard_is_retired(board, i);
    }
    return count;
}

static void only_idle_children_are_retired(void **state)
{
    struct scoreboard *board = *state;

    claim_all(board);
    for (int i = 0; i < SLOTS; i += 2) {
        scoreboard_set_busy(board, i);
    }
    scoreboard_retire(board, 20);
    assert_int_equal(count_retired(board), 20);
    for (int i = 0; i < SLOTS; i += 2) {
        assert_false(scoreboard_is_retired(board, i));
    }
    scoreboard_retire(board, SLOTS);
    assert_int_equal(count_retired(board), SLOTS / 2);
    scoreboard_retire(board, 0);
    assert_int_equal(count_retired(board), 0);
}

static void the_phase_reaches_the_children(void **state)
{
    struct scoreboard *board = *state;
    int status;

    assert_int_equal(scoreboard_phase(board), SERVE_OPEN);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        while (scoreboard_phase(board) != SERVE_ABANDON) {
            poll_again();
        }
        _exit(7);
    }
    scoreboard_set_phase(board, SERVE_DRAIN);
    assert_int_equal(scoreboard_phase(board), SERVE_DRAIN);
    scoreboard_set_phase(board, SERVE_ABANDON);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 7);
}

/* Takes connections and gives them back as fast as it can, until it is killed. */
static pid_t fork_restless(struct scoreboard *board, int slot)
{
    pid_t pid = fork();

    if (pid != 0) {
        return pid;
    }
    for (;;) {
        scoreboard_set_busy(board, slot);
        scoreboard_set_idle(board, slot);
    }
}

static void a_killed_child_leaves_nothing_behind(void **state)
{
    enum { CHILDREN = 8, ROUNDS = 20 };
    struct scoreboard *board = *state;

    for (int round = 0; round < ROUNDS; round++) {
        pid_t pids[CHILDREN];
        for (int i = 0; i < CHILDREN; i++) {
            assert_int_equal(scoreboard_claim(board), i);
            pids[i] = fork_restless(board, i);
            assert_true(pids[i] > 0);
            scoreboard_set_pid(board, i, pids[i]);
        }
        for (int i = 0; i < CHILDREN; i++) {
            while (!scoreboard_was_busy(board, i)) {
                poll_again();
            }
            assert_int_equal(kill(pids[i], SIGKILL), 0);
            assert_int_equal(waitpid(pids[i], NULL, 0), pids[i]);
            scoreboard_release(board, scoreboard_find(board, pids[i]));
        }
        assert_int_equal(scoreboard_idle(board), 0);
    }
}

/* Becomes busy at each byte from `go`, and tells what it was told. */
static pid_t fork_obedient(struct scoreboard *board, int slot, int go, int told)
{
    pid_t pid = fork();
    char byte;

    if (pid != 0) {
        return pid;
    }
    while (read(go, &byte, 1) == 1) {
        byte = scoreboard_set_busy(board, slot) ? 'y' : 'n';
        if (write(told, &byte, 1) != 1) {
            _exit(1);
        }
    }
    _exit(0);
}

/* Children in different words become busy at the same time: one of them at least must see
 * that it was the last, or the parent would sleep while nobody accepts. */
static void one_of_the_last_is_always_told(void **state)
{
    enum { CHILDREN = 2, ROUNDS = 2000 };
    static const int slots[CHILDREN] = { 0, 64 };
    struct scoreboard *board = *state;
    int go[CHILDREN][2], told[2];
    pid_t pids[CHILDREN];

    claim_all(board);
    for (int i = 0; i < SLOTS; i++) {
        scoreboard_set_busy(board, i);
    }
    assert_int_equal(pipe(told), 0);
    for (int c = 0; c < CHILDREN; c++) {
        assert_int_equal(pipe(go[c]), 0);
        pids[c] = fork_obedient(board, slots[c], go[c][0], told[1]);
        assert_true(pids[c] > 0);
    }
    for (int round = 0; round < ROUNDS; round++) {
        char answers[CHILDREN];
        for (int c = 0; c < CHILDREN; c++) {
            scoreboard_set_idle(board, slots[c]);
        }
        for (int c = 0; c < CHILDREN; c++) {
            assert_int_equal(write(go[c][1], "g", 1), 1);
        }
        for (int c = 0; c < CHILDREN; c++) {
            assert_int_equal(read(told[0], &answers[c], 1), 1);
        }
        assert_true(answers[0] == 'y' || answers[1] == 'y');
    }
    for (int c = 0; c < CHILDREN; c++) {
        kill(pids[c], SIGKILL);
        waitpid(pids[c], NULL, 0);
        close(go[c][0]);
        close(go[c][1]);
    }
    close(told[0]);
    close(told[1]);
}

int main(void)
{
#define BOARD_TEST(name) cmocka_unit_test_setup_teardown(name, open_board, close_board)
    const struct CMUnitTest tests[] = {
        BOARD_TEST(slots_are_given_and_given_back),
        BOARD_TEST(a_slot_without_a_pid_yet_is_not_given_twice),
        BOARD_TEST(the_last_idle_child_is_told),
        BOARD_TEST(a_reused_slot_is_as_new),
        BOARD_TEST(only_idle_children_are_retired),
        BOARD_TEST(the_phase_reaches_the_children),
        BOARD_TEST(a_killed_child_leaves_nothing_behind),
        BOARD_TEST(one_of_the_last_is_always_told),
    };

    alarm(60);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
