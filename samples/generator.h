/* What the generators of samples share: their noise, their failures, and where their bytes go. */
#ifndef GENERATOR_H
#define GENERATOR_H

#include <stdint.h>
#include <stdio.h>

/* One line on standard error, and the end. */
_Noreturn void generator_fail(const char *program, const char *message);

/* A number that depends on every bit of a and b, the same on every machine. */
uint64_t generator_hash(uint64_t a, uint64_t b);

/* NULL is standard output, which must not be a terminal. */
FILE *generator_open(const char *program, const char *path);
void generator_close(const char *program, FILE *stream);

#endif
