/* Mutations of PNG files: chunks, whose checksums stay right, and the rows that are compressed in them. */
#include "mutation.h"

#include <stdio.h>
#include <string.h>
#include <zlib.h>

enum { SIGNATURE = 8, AROUND = 12, ROWS_MOST = 8192, CHUNKS_MOST = 64 };

struct chunk {
    size_t at, size; /* of the whole of it, and of what it holds */
};

static size_t number_at(const struct mutation *mutation, size_t at)
{
    const uint8_t *bytes = mutation->bytes + at;

    return (size_t)bytes[0] << 24 | (size_t)bytes[1] << 16 | (size_t)bytes[2] << 8 | bytes[3];
}

static void put_number(struct mutation *mutation, size_t at, size_t number)
{
    for (size_t i = 0; i < 4; i++)
        mutation->bytes[at + i] = (uint8_t)(number >> (24 - 8 * i));
}

static bool is_type(const struct mutation *mutation, const struct chunk *chunk, const char *type)
{
    return memcmp(mutation->bytes + chunk->at + 4, type, 4) == 0;
}

/* Those that are whole. */
static size_t list_chunks(const struct mutation *mutation, struct chunk chunks[CHUNKS_MOST])
{
    size_t count = 0, at = SIGNATURE;

    while (count < CHUNKS_MOST && mutation->size - at >= AROUND) {
        size_t size = number_at(mutation, at);
        if (size > mutation->size - at - AROUND)
            break;
        chunks[count++] = (struct chunk){at, size};
        at += AROUND + size;
    }
    return count;
}

/* Of a chunk that may hold another number of bytes now. */
static void close_chunk(struct mutation *mutation, size_t at, size_t size)
{
    put_number(mutation, at, size);
    put_number(mutation, at + 8 + size, crc32(0, mutation->bytes + at + 4, (uInt)size + 4));
}

static void change_header(struct mutation *mutation, const struct chunk *chunk)
{
    static const uint8_t depths[] = {1, 2, 4, 8, 16, 3}, types[] = {0, 2, 3, 4, 6, 1};
    size_t at = chunk->at + 8;

    if (chunk->size != 13)
        return;
    switch (mutation_draw(mutation, 7)) {
    case 0:
    case 1:
        put_number(mutation, at + 4 * mutation_draw(mutation, 2), (size_t)mutation_number(mutation));
        break;
    case 2:
        put_number(mutation, at + 4 * mutation_draw(mutation, 2), 1 + mutation_draw(mutation, 9));
        break;
    case 3:
        mutation->bytes[at + 8] = depths[mutation_draw(mutation, sizeof depths)];
        break;
    case 4:
        mutation->bytes[at + 9] = types[mutation_draw(mutation, sizeof types)];
        break;
    case 5:
        mutation->bytes[at + 12] ^= 1;
        break;
    default:
        mutation->bytes[at + 10 + mutation_draw(mutation, 3)] = (uint8_t)mutation_draw(mutation, 3);
    }
    close_chunk(mutation, chunk->at, chunk->size);
}

static void scramble_chunk(struct mutation *mutation, const struct chunk *chunk)
{
    size_t before = mutation->size;

    if (before + 256 > mutation->most)
        return;
    mutation_scramble(mutation, chunk->at + 8, chunk->size);
    close_chunk(mutation, chunk->at, chunk->size + mutation->size - before);
}

static void add_chunk(struct mutation *mutation, size_t at)
{
    static const struct {
        const char *type, *bytes;
        size_t size;
    } kinds[] = {
        {"tRNS", "\0\1\0\2\0\3", 6},
        {"tRNS", "\0\1", 2},
        {"PLTE", "\1\2\3\4\5\6", 6},
        {"gAMA", "\0\0\xb1\x8f", 4},
        {"gAMA", "\0\0\0\0", 4},
        {"sRGB", "\0", 1},
        {"pHYs", "\0\0\x0b\x13\0\0\x0b\x13\1", 9},
        {"iCCP", "a\0\0\x78\x9c\3\0\0\0\0\1", 11},
        {"sBIT", "\5\6\5", 3},
        {"bKGD", "\0\1\0\2\0\3", 6},
        {"tEXt", "Title\0x", 7},
        {"zTXt", "Title\0\0\x78\x9c\3\0\0\0\0\1", 15},
        {"iTXt", "a\0\0\0\0\0b", 7},
        {"acTL", "\0\0\0\2\0\0\0\0", 8},
        {"fcTL", "", 0},
        {"cHRM", "", 0},
        {"hIST", "\0\1\0\2", 4},
        {"tIME", "\7\xe8\1\1\0\0\0", 7},
        {"oFFs", "\0\0\0\1\0\0\0\1\0", 9},
        {"sPLT", "a\0\10\1\1\1\1\1\1", 9},
        {"IEND", "", 0},
        {"IDAT", "", 0},
        {"eXIf", "II*\0", 4},
        {"cICP", "\1\15\0\1", 4},
        {"abcD", "x", 1},
        {"ABCD", "x", 1},
    };
    size_t kind = mutation_draw(mutation, sizeof kinds / sizeof *kinds), size = kinds[kind].size;
    uint8_t chunk[AROUND + 16] = {0};

    memcpy(chunk + 4, kinds[kind].type, 4);
    memcpy(chunk + 8, kinds[kind].bytes, size);
    if (mutation_replace(mutation, at, 0, chunk, AROUND + size))
        close_chunk(mutation, at, size);
}

static void move_chunk(struct mutation *mutation, const struct chunk *chunk, size_t to)
{
    uint8_t held[512];
    size_t size = chunk->size + AROUND;

    if (size > sizeof held)
        return;
    memcpy(held, mutation->bytes + chunk->at, size);
    if (mutation_draw(mutation, 2) == 0) {
        mutation_replace(mutation, chunk->at, size, NULL, 0);
        to -= to > chunk->at ? size : 0;
    }
    mutation_replace(mutation, to, 0, held, size);
}

/* The rows of all image data, changed, and compressed into two chunks in the place of the first. */
static void mutate_rows(struct mutation *mutation, const struct chunk *chunks, size_t count)
{
    uint8_t data[ROWS_MOST], rows[ROWS_MOST], chunk[ROWS_MOST / 2 + 2 * AROUND] = {0};
    struct mutation inner = {.bytes = rows, .most = ROWS_MOST / 2, .chance = mutation->chance};
    uLongf length = sizeof rows / 2;
    uLong size = 0;
    size_t at = 0, first;

    for (size_t i = count; i-- > 0;) {
        if (!is_type(mutation, &chunks[i], "IDAT") || size + chunks[i].size > sizeof data)
            continue;
        memmove(data + chunks[i].size, data, size);
        memcpy(data, mutation->bytes + chunks[i].at + 8, chunks[i].size);
        size += chunks[i].size;
        at = chunks[i].at;
        mutation_replace(mutation, at, chunks[i].size + AROUND, NULL, 0);
    }
    if (at == 0 || uncompress(rows, &length, data, size) != Z_OK)
        return;
    inner.size = length;
    mutation_scramble(&inner, 0, inner.size);
    size = sizeof data;
    if (compress2(data, &size, rows, inner.size, 1) != Z_OK || size + 2 * AROUND > sizeof chunk)
        return;
    first = mutation_draw(mutation, size + 1);
    memcpy(chunk + 4, "IDAT", 4);
    memcpy(chunk + 8, data, first);
    memcpy(chunk + AROUND + first + 4, "IDAT", 4);
    memcpy(chunk + AROUND + first + 8, data + first, size - first);
    if (!mutation_replace(mutation, at, 0, chunk, size + 2 * AROUND))
        return;
    close_chunk(mutation, at, first);
    close_chunk(mutation, at + AROUND + first, size - first);
}

bool mutate_png(struct mutation *mutation)
{
    struct chunk chunks[CHUNKS_MOST];
    size_t count, one, other;

    if (mutation->size < SIGNATURE + AROUND || memcmp(mutation->bytes, "\x89PNG\r\n\x1a\n", SIGNATURE) != 0)
        return false;
    count = list_chunks(mutation, chunks);
    if (count == 0)
        return false;
    one = mutation_draw(mutation, count);
    other = mutation_draw(mutation, count);
    switch (mutation_draw(mutation, 8)) {
    case 0:
    case 1:
        change_header(mutation, &chunks[0]);
        break;
    case 2:
        add_chunk(mutation, chunks[one].at);
        break;
    case 3:
        mutation_replace(mutation, chunks[one].at, chunks[one].size + AROUND, NULL, 0);
        break;
    case 4:
        move_chunk(mutation, &chunks[one], chunks[other].at);
        break;
    case 5:
        mutate_rows(mutation, chunks, count);
        break;
    default:
        scramble_chunk(mutation, &chunks[one]);
    }
    return true;
}
