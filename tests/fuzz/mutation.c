/* Mutations: what all of them share, and which of them a file gets. */
#include "mutation.h"

#include <stdio.h>
#include <string.h>
#include <zlib.h>

size_t LLVMFuzzerMutate(uint8_t *bytes, size_t size, size_t most);

size_t mutation_draw(struct mutation *mutation, size_t bound)
{
    mutation->chance = mutation->chance * 6364136223846793005U + 1442695040888963407U;
    return (size_t)(mutation->chance >> 33) % bound;
}

bool mutation_replace(struct mutation *mutation, size_t at, size_t length, const void *bytes, size_t size)
{
    uint8_t *place = mutation->bytes + at;

    if (mutation->size - length + size > mutation->most)
        return false;
    memmove(place + size, place + length, mutation->size - at - length);
    if (size > 0)
        memcpy(place, bytes, size);
    mutation->size += size - length;
    return true;
}

void mutation_scramble(struct mutation *mutation, size_t at, size_t length)
{
    uint8_t piece[256];
    size_t size = length < sizeof piece ? length : sizeof piece;

    at += length > size ? mutation_draw(mutation, length - size) : 0;
    memcpy(piece, mutation->bytes + at, size);
    mutation_replace(mutation, at, size, piece, LLVMFuzzerMutate(piece, size, sizeof piece));
}

uint64_t mutation_number(struct mutation *mutation)
{
    static const uint64_t numbers[] = {
        0,          1,         2,          3,     4,          5,       8,           16,          127,
        128,        255,       256,        32767, 32768,      65535,   65536,       0x7fffffff,  0x80000000,
        0xffffffff, INT64_MAX, UINT64_MAX, 1000,  4294967296, 1048576, 0xfffffffe0, 16777216 * 2};

    if (mutation_draw(mutation, 3) == 0)
        return mutation_draw(mutation, 12);
    return numbers[mutation_draw(mutation, sizeof numbers / sizeof *numbers)];
}

static bool is_digit(uint8_t byte)
{
    return byte >= '0' && byte <= '9';
}

void mutation_renumber(struct mutation *mutation, size_t at, size_t length)
{
    static const char texts[] = "-1|0.5|-2.5|1e300|1e-300|nan|inf|-0|+3|1e9|007|0x10|4294967297|1.5.2|";
    size_t begin = at + mutation_draw(mutation, length + 1), end;
    char number[32];
    const char *text = number;
    size_t size;

    while (begin < at + length && !is_digit(mutation->bytes[begin]))
        begin++;
    for (end = begin; end < at + length && is_digit(mutation->bytes[end]);)
        end++;
    if (begin == end)
        return;
    if (mutation_draw(mutation, 3) == 0)
        text = mutation_word(mutation, texts, &size);
    else
        size = (size_t)snprintf(number, sizeof number, "%llu", (unsigned long long)mutation_number(mutation));
    mutation_replace(mutation, begin, end - begin, text, size);
}

const char *mutation_word(struct mutation *mutation, const char *list, size_t *length)
{
    size_t words = 1;

    for (const char *at = list; *at != '\0'; at++)
        words += *at == '|';
    for (words = mutation_draw(mutation, words); words > 0; words--)
        list = strchr(list, '|') + 1;
    *length = strcspn(list, "|");
    return list;
}

enum { GZIP_BITS = 15 + 16, UNPACKED_MOST = 16384 };

/* As much of it as is whole. */
static size_t unpack(const struct mutation *mutation, uint8_t *bytes)
{
    z_stream stream = {.next_in = mutation->bytes,
                       .avail_in = (uInt)mutation->size,
                       .next_out = bytes,
                       .avail_out = UNPACKED_MOST / 2};

    if (inflateInit2(&stream, GZIP_BITS) != Z_OK)
        return 0;
    inflate(&stream, Z_FINISH);
    inflateEnd(&stream);
    return stream.total_out;
}

/* What does not fit is cut off. */
static void pack(struct mutation *mutation, uint8_t *bytes, size_t size)
{
    z_stream stream = {.next_in = bytes,
                       .avail_in = (uInt)size,
                       .next_out = mutation->bytes,
                       .avail_out = (uInt)mutation->most};

    if (deflateInit2(&stream, 1, Z_DEFLATED, GZIP_BITS, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        return;
    deflate(&stream, Z_FINISH);
    deflateEnd(&stream);
    mutation->size = stream.total_out;
}

bool mutate_gzip(struct mutation *mutation)
{
    uint8_t bytes[UNPACKED_MOST];
    struct mutation inner = {.bytes = bytes, .most = sizeof bytes, .chance = mutation->chance};

    if (mutation->size < 18 || mutation->bytes[0] != 0x1f || mutation->bytes[1] != 0x8b)
        return false;
    inner.size = unpack(mutation, bytes);
    if (inner.size == 0)
        return false;
    mutate_file(&inner);
    pack(mutation, bytes, inner.size);
    return true;
}

void mutate_file(struct mutation *mutation)
{
    if (mutation->size == 0 || mutation_draw(mutation, 6) == 0 ||
        !(mutate_nrrd(mutation) || mutate_nifti(mutation) || mutate_npy(mutation) || mutate_tiff(mutation) ||
          mutate_png(mutation) || mutate_gzip(mutation) || mutate_meta(mutation)))
        mutation->size = LLVMFuzzerMutate(mutation->bytes, mutation->size, mutation->most);
}
