/* Taps: a file of them, and a matrix, which is a text of the same length. */
#include "fuzz.h"

#include "model/filter.h"
#include "model/stencil.h"

#include <stdio.h>
#include <string.h>

static void read_file(const uint8_t *bytes, size_t size)
{
    struct stencil stencil = {0};
    struct fault fault;

    fuzz_put_file("taps", bytes, size);
    if (!stencil_read("taps", &stencil, &fault))
        fuzz_check_fault(&fault);
    stencil_free(&stencil);
}

static void parse_matrix(const uint8_t *bytes, size_t size)
{
    const struct grid grid = grid_make(3, 5, 4, 3);
    struct filter_body body = {.amount = 0.0};
    struct filter_call call;
    struct fault fault;
    char spec[512];

    snprintf(spec, sizeof spec, "matrix:%.*s", (int)size, (const char *)bytes);
    if (!filter_parse(spec, &call, &fault) ||
        !filter_build(&call, &grid, (struct filter_manner){true, false}, &body, &fault))
        fuzz_check_fault(&fault);
    filter_body_free(&body);
    filter_call_free(&call);
}

void fuzz_taps(const uint8_t *bytes, size_t size)
{
    read_file(bytes, size);
    parse_matrix(bytes, size);
}
