/* What a complete head means for the protocol (RFC 9112 3.2, 6, 9.3; RFC
 * 9110 7.2, 10.1.1): target form, Host, body framing, persistence, expectation, and the
 * status of a refusal. Text only; it must never know a file. */
#ifndef TETRAD_HEAD_CHECK_H
#define TETRAD_HEAD_CHECK_H

#include "request.h"

/* RFC 9110 16.1.1: which kind of method a token is. Case-sensitive. */
enum request_method head_check_method(struct slice token);

/* Reads method_text, target, version_minor and the fields of request; sets all that
 * follows from them, status included (0: to be answered). A refusal that leaves the body
 * unread, or its framing unsure, sets close. */
void head_check(struct request *request);

#endif
