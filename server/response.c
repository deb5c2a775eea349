/* Rendering of a response head (RFC 9112 4, 5). The order of the lines is fixed, so that
 * every model and every path through the server gives the same bytes. It must never know
 * how the answer was found nor how it is sent. */
#include "response.h"

#include <string.h>

void response_init(struct response *response, unsigned status, const char *date)
{
    response->status = status;
    response->close = false;
    response->date = date;
    response->fields = (struct slice){ NULL, 0 };
    response->more = (struct slice){ NULL, 0 };
    response->content_length = -1;
    response->body_count = 0;
    response->ready = (struct slice){ NULL, 0 };
    response->release = NULL;
    response->owner = NULL;
}

/* RFC 9110 15 and RFC 6585 5. */
const char *response_reason(unsigned status)
{
    switch (status) {
    case 100:
        return "Continue";
    case 200:
        return "OK";
    case 204:
        return "No Content";
    case 206:
        return "Partial Content";
    case 301:
        return "Moved Permanently";
    case 304:
        return "Not Modified";
    case 400:
        return "Bad Request";
    case 403:
        return "Forbidden";
    case 404:
        return "Not Found";
    case 405:
        return "Method Not Allowed";
    case 406:
        return "Not Acceptable";
    case 408:
        return "Request Timeout";
    case 412:
        return "Precondition Failed";
    case 413:
        return "Content Too Large";
    case 414:
        return "URI Too Long";
    case 416:
        return "Range Not Satisfiable";
    case 417:
        return "Expectation Failed";
    case 431:
        return "Request Header Fields Too Large";
    case 500:
        return "Internal Server Error";
    case 501:
        return "Not Implemented";
    case 503:
        return "Service Unavailable";
    case 505:
        return "HTTP Version Not Supported";
    default:
        return "";
    }
}

size_t response_head_bound(const struct response *response)
{
    return RESPONSE_LINE_MAX + response->fields.len + response->more.len;
}

static char *put(char *to, struct slice text)
{
    if (text.len > 0) {
        memcpy(to, text.base, text.len);
    }
    return to + text.len;
}

static char *put_number(char *to, uint64_t number)
{
    char digits[20];
    size_t n = sizeof digits;

    do {
        digits[--n] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    return put(to, (struct slice){ digits + n, sizeof digits - n });
}

size_t response_head_render(const struct response *response,
                            enum response_persistence persistence, char *to)
{
    char *end = put(to, SLICE("HTTP/1.1 "));

    end = put_number(end, response->status);
    end = put(end, SLICE(" "));
    end = put(end, slice_of(response_reason(response->status)));
    end = put(end, SLICE("\r\nDate: "));
    end = put(end, (struct slice){ response->date, RESPONSE_DATE_LEN });
    end = put(end, SLICE("\r\n"));
    end = put(end, response->fields);
    end = put(end, response->more);
    if (response->content_length >= 0) {
        end = put(end, SLICE("Content-Length: "));
        end = put_number(end, (uint64_t)response->content_length);
        end = put(end, SLICE("\r\n"));
    }
    switch (persistence) {
    case RESPONSE_KEEP:
        break;
    case RESPONSE_KEEP_SAYING:
        end = put(end, SLICE("Connection: keep-alive\r\n"));
        break;
    case RESPONSE_CLOSE:
        end = put(end, SLICE("Connection: close\r\n"));
        break;
    }
    end = put(end, SLICE("\r\n"));
    return (size_t)(end - to);
}
