/* What every worker and every model stands on, opened once at start-up. Only names here:
 * this file must never need to know what an option, a listener or a site is. */
#ifndef TETRAD_SERVER_H
#define TETRAD_SERVER_H

struct access_log;
struct http_limits;
struct listener;
struct options;
struct site;

/* All borrowed, and constant while a model runs. */
struct server {
    const struct options *options;
    const struct http_limits *limits; /* of every connection, from the options */
    struct listener *listener;        /* open and listening */
    struct site *site;
    struct access_log *access_log; /* NULL: nothing is logged */
    unsigned access_format;        /* its enum access_format */
    int stop_fd; /* readable once the server is to stop */
};

#endif
