/* Reading ahead of sendfile: what is in memory needs no work, what is not is read, and
 * what cannot be read or opened again harms nobody. The kernel's knowledge of what is in
 * memory is played: it cannot be made to forget on every file system. */
#include <errno.h>
#include <sys/resource.h>
#include <sys/uio.h>

#include "cold_file.h"
#include "failing.h"
#include "tree.h"
#include "unit.h"

enum { SIZE = 600 * 1024 };

static struct {
    off_t cold_from; /* what lies behind it is not in memory */
    bool unknown;    /* the file system cannot say */
    size_t read;     /* bytes that the work read */
    off_t end;       /* where a read finds the end */
    bool broken;
} kernel;

ssize_t __wrap_preadv2(int fd, const struct iovec *iov, int count, off_t offset,
                       int flags);
ssize_t __wrap_pread(int fd, void *to, size_t n, off_t offset);
ssize_t __wrap___pread_chk(int fd, void *to, size_t n, off_t offset, size_t room);

ssize_t __wrap_preadv2(int fd, const struct iovec *iov, int count, off_t offset,
                       int flags)
{
    (void)fd;
    (void)iov;
    assert_int_equal(count, 1);
    assert_int_equal(flags, RWF_NOWAIT);
    errno = kernel.unknown ? EOPNOTSUPP : EAGAIN;
    return !kernel.unknown && offset < kernel.cold_from ? 1 : -1;
}

ssize_t __wrap_pread(int fd, void *to, size_t n, off_t offset)
{
    (void)to;
    assert_true(fcntl(fd, F_GETFD) >= 0);
    if (kernel.broken) {
        errno = EIO;
        return -1;
    }
    if (offset >= kernel.end) {
        return 0;
    }
    n = n < (size_t)(kernel.end - offset) ? n : (size_t)(kernel.end - offset);
    kernel.read += n;
    return (ssize_t)n;
}

/* What pread is called in a build with _FORTIFY_SOURCE. */
ssize_t __wrap___pread_chk(int fd, void *to, size_t n, off_t offset, size_t room)
{
    assert_true(n <= room);
    return __wrap_pread(fd, to, n, offset);
}

static int open_file(off_t cold_from)
{
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

    assert_true(fd >= 0);
    memset(&kernel, 0, sizeof kernel);
    kernel.cold_from = cold_from;
    kernel.end = SIZE;
    return fd;
}

static void what_is_in_memory_needs_no_work(void **state)
{
    int fd = open_file(SIZE);

    (void)state;
    assert_null(cold_file_work(fd, 0, SIZE));
    kernel.cold_from = 1000;
    assert_null(cold_file_work(fd, 0, 1000));
    assert_null(cold_file_work(fd, 999, 1));
    kernel.unknown = true;
    assert_null(cold_file_work(fd, 5000, 1000));
    assert_int_equal(close(fd), 0);
}

/* Runs the work for these bytes; returns how many it read. */
static size_t bytes_read(int fd, off_t offset, size_t count)
{
    struct work *work = cold_file_work(fd, offset, count);

    assert_non_null(work);
    work_run(work);
    work_put(work);
    return kernel.read;
}

static void what_is_not_is_read(void **state)
{
    static const struct {
        off_t cold_from, offset;
        size_t count;
    } cases[] = {
        { 0, 0, 1 },     { 0, 0, SIZE },  { 0, 77, SIZE - 77 },
        { 500, 0, 501 }, { 500, 499, 2 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int fd = open_file(cases[i].cold_from);

        assert_int_equal(bytes_read(fd, cases[i].offset, cases[i].count), cases[i].count);
        assert_int_equal(close(fd), 0);
    }
}

static void the_work_outlives_the_descriptor(void **state)
{
    unsigned before = tree_open_descriptors();
    int fd = open_file(0);
    struct work *work = cold_file_work(fd, 0, SIZE);

    (void)state;
    assert_non_null(work);
    assert_int_equal(close(fd), 0);
    work_run(work);
    work_put(work);
    assert_int_equal(kernel.read, SIZE);
    assert_int_equal(tree_open_descriptors(), before);
}

/* sendfile will meet the same and tell. */
static void an_early_end_or_an_error_ends_the_work(void **state)
{
    int fd = open_file(0);

    (void)state;
    kernel.end = 1234;
    assert_int_equal(bytes_read(fd, 0, SIZE), 1234);
    kernel.read = 0;
    kernel.broken = true;
    assert_int_equal(bytes_read(fd, 0, SIZE), 0);
    assert_int_equal(close(fd), 0);
}

static void without_memory_or_descriptors_there_is_no_work(void **state)
{
    unsigned before = tree_open_descriptors();
    int fd = open_file(0);
    struct rlimit limit, none;
    struct work *work;

    (void)state;
    failing_choose(0);
    failing_on();
    assert_null(cold_file_work(fd, 0, SIZE));
    failing_off();
    assert_true(failing.failed);

    /* The memory for reading may be missing later. */
    work = cold_file_work(fd, 0, SIZE);
    assert_non_null(work);
    failing_choose(0);
    failing_on();
    work_run(work);
    failing_off();
    work_put(work);
    assert_true(failing.failed);
    assert_int_equal(kernel.read, 0);

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    none = (struct rlimit){ (rlim_t)fd, limit.rlim_max };
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    assert_null(cold_file_work(fd, 0, SIZE));
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_int_equal(close(fd), 0);
    assert_int_equal(tree_open_descriptors(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_in_memory_needs_no_work),
        cmocka_unit_test(what_is_not_is_read),
        cmocka_unit_test(the_work_outlives_the_descriptor),
        cmocka_unit_test(an_early_end_or_an_error_ends_the_work),
        cmocka_unit_test(without_memory_or_descriptors_there_is_no_work),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
