/* The error log: a line is built on the stack and leaves by one write, so lines of
 * several threads and processes never mix (a line is shorter than PIPE_BUF). It must
 * never know what a connection or a request is. */
#include "log.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    LOG_TEXT_MAX = 1024, /* longest text of a line, escapes included */
    LOG_ESCAPE_LEN = 4,  /* "\x0a" */
    LOG_LINE_MAX = LOG_TEXT_MAX + 64
};

static const char *const prefixes[] = {
    [LOG_LEVEL_ERROR] = "tetrad: ",
    [LOG_LEVEL_WARN] = "tetrad: warning: ",
    [LOG_LEVEL_INFO] = "tetrad: ",
};

static bool is_control(unsigned char byte)
{
    return byte < 0x20 || byte == 0x7f;
}

/* Copies with control bytes as \xNN, cut before `room`; the length. A name out of a
 * request or the file system can so neither forge a line nor drive a terminal. */
static size_t escape(char *to, size_t room, const char *text)
{
    static const char digits[] = "0123456789abcdef";
    size_t len = 0;

    for (; *text != '\0'; text++) {
        unsigned char byte = (unsigned char)*text;
        size_t needed = is_control(byte) ? LOG_ESCAPE_LEN : 1;

        if (room - len < needed) {
            break;
        }
        if (needed == 1) {
            to[len++] = *text;
            continue;
        }
        to[len++] = '\\';
        to[len++] = 'x';
        to[len++] = digits[byte >> 4];
        to[len++] = digits[byte & 15];
    }
    return len;
}

/* Standard error may be a pipe that nobody reads: a line that would have to wait is
 * dropped. */
static void write_line(const char *line, size_t len)
{
    struct pollfd standard_error = { .fd = STDERR_FILENO, .events = POLLOUT };
    ssize_t written;

    if (poll(&standard_error, 1, 0) != 1) {
        return;
    }
    written = write(STDERR_FILENO, line, len);
    (void)written;
}

void log_write(enum log_level level, const char *format, ...)
{
    char text[LOG_TEXT_MAX + 1];
    char line[LOG_LINE_MAX];
    size_t len = strlen(prefixes[level]);
    int saved_errno = errno;
    va_list arguments;
    int formatted;

    va_start(arguments, format);
    formatted = vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    if (formatted >= 0) {
        memcpy(line, prefixes[level], len);
        len += escape(line + len, LOG_TEXT_MAX, text);
        line[len++] = '\n';
        write_line(line, len);
    }
    errno = saved_errno;
}

bool log_allow(struct log_limit *limit, uint64_t now_ms)
{
    /* The second and the count of its lines change together, so they share one word. */
    uint64_t second = now_ms / 1000 << 8;
    uint64_t seen = atomic_load_explicit(&limit->state, memory_order_relaxed);
    uint64_t counted;

    do {
        /* Another thread's slightly later clock has begun the next second already. */
        uint64_t current = seen > second ? seen & ~(uint64_t)0xff : second;
        uint64_t lines = seen > second ? seen & 0xff : 0;

        if (lines >= LOG_LINES_PER_SECOND) {
            return false;
        }
        counted = current | (lines + 1);
    } while (!atomic_compare_exchange_weak_explicit(
        &limit->state, &seen, counted, memory_order_relaxed, memory_order_relaxed));
    return true;
}
