/* What the generators of samples share: their noise, their failures, and where their bytes go. */
#include "generator.h"

#include <stdlib.h>
#include <unistd.h>

void generator_fail(const char *program, const char *message)
{
    fprintf(stderr, "%s: %s\n", program, message);
    exit(EXIT_FAILURE);
}

/* The finisher of MurmurHash3. */
uint64_t generator_hash(uint64_t a, uint64_t b)
{
    uint64_t h = a * UINT64_C(0x9e3779b97f4a7c15) + b;

    h = (h ^ (h >> 33)) * UINT64_C(0xff51afd7ed558ccd);
    h = (h ^ (h >> 33)) * UINT64_C(0xc4ceb9fe1a85ec53);
    return h ^ (h >> 33);
}

FILE *generator_open(const char *program, const char *path)
{
    FILE *stream = path == NULL ? stdout : fopen(path, "wb");

    if (stream == NULL)
        generator_fail(program, "cannot write the output");
    if (isatty(fileno(stream)))
        generator_fail(program, "the output is a terminal: name a file with -o, or pipe it on");
    return stream;
}

void generator_close(const char *program, FILE *stream)
{
    if (fclose(stream) != 0)
        generator_fail(program, "writing failed");
}
