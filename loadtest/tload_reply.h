/* What an answer says, from its bytes as they come. Pure: it must never know a socket
 * or a clock. It is as strict as a measurement needs: what would let two clients differ
 * about where an answer ends is not an answer. */
#ifndef TLOAD_REPLY_H
#define TLOAD_REPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    TLOAD_HEAD_MOST = 16384, /* bytes of an answer's head */
    TLOAD_MEMO_MOST = 1024,
    TLOAD_ZB_HEAD_MOST = 511
};

struct tload_head {
    uint64_t length; /* of the body; UINT64_MAX: until the server closes */
    unsigned status;
    bool keep; /* the connection may be used again */
};

/* What all answers of a run have in common, and the last head, which the next one most
 * often repeats to the byte. All zero but for what the caller sets. */
struct tload_reader {
    bool of_head;     /* the request is HEAD: no answer has a body */
    bool old_request; /* it was HTTP/1.0 */
    bool zb;          /* the rule of 1998 for what may be used again */
    bool close; /* nothing is used again: with zb, each body ends with its connection */
    const char *verify;
    size_t verify_size;

    const char *reason; /* why the last answer was bad */
    char server[64];    /* what the first answer's Server field said */
    bool server_known;
    struct tload_head memo;
    size_t memo_size;
    char memo_bytes[TLOAD_MEMO_MOST];
};

/* One answer in progress; all zero at its beginning. */
struct tload_reply {
    struct tload_head head;
    uint64_t body;     /* bytes of it so far */
    uint64_t received; /* all bytes so far */
    char *stash;       /* the beginning of a head; owned */
    size_t stashed;
    bool in_body, differs; /* from reader->verify */
};

enum tload_result { TLOAD_MORE, TLOAD_DONE, TLOAD_BAD };

/* Takes bytes; how many of them, in *used: fewer than all only if the answer ends
 * before. */
enum tload_result tload_reply_take(struct tload_reader *reader, struct tload_reply *reply,
                                   const char *bytes, size_t size, size_t *used);

/* The server has closed: TLOAD_DONE if that ends the body. */
enum tload_result tload_reply_end(const struct tload_reply *reply);

bool tload_reply_begun(const struct tload_reply *reply);
void tload_reply_reset(struct tload_reply *reply);

#endif
