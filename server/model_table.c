/* Every model built in: a new one is a declaration and a row. Outside the library, which
 * must never know a model. */
#include "model.h"

#include <stddef.h>

extern const struct model prefork_model;
extern const struct model threads_model;
extern const struct model greenthreads_model;
extern const struct model hybrid_model;
extern const struct model eventloop_model;

const struct model *const model_table[] = {
    &prefork_model, &threads_model,   &greenthreads_model,
    &hybrid_model,  &eventloop_model, NULL,
};
