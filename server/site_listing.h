/* A directory's listing as an answer, for the site's own files. It must never know how the
 * entries are found. */
#ifndef TETRAD_SITE_LISTING_H
#define TETRAD_SITE_LISTING_H

#include "site_internal.h"

/* What the request asks of a listing. */
struct listing_wish site_listing_wish(const struct request *request);

/* The listing that was found. Keeps a reference of its own as long as the answer needs
 * it. */
void site_listing_answer(struct site_view *view, const struct request *request,
                         struct file_resolution *resolution, struct response *response);

#endif
