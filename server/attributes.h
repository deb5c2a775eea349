/* Compiler attributes under one spelling. Macros only; never a declaration. */
#ifndef TETRAD_ATTRIBUTES_H
#define TETRAD_ATTRIBUTES_H

#define MUST_CHECK __attribute__((warn_unused_result))
#define PRINTF_LIKE(text, first) __attribute__((format(printf, text, first)))

#endif
