/* Zarr stores: an image of an array with one chunk or shard, or such an array alone. An input is a line of
   three numbers, then as many bytes of the group's metadata and of the array's as the last two say, and the
   chunk. The first number is the version; the metadata of the group are empty where the array is alone. */
#include "fuzz.h"

#include "format/format.h"
#include "mutation.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { GROUP, ARRAY, CHUNK, PARTS, HEAD_MOST = 64 };

/* Where the parts stand in an input. */
struct parts {
    unsigned version;
    size_t at[PARTS], size[PARTS];
};

static bool find_parts(const uint8_t *bytes, size_t size, struct parts *parts)
{
    size_t length = fuzz_line_length(bytes, size);
    char head[HEAD_MOST];

    if (length >= sizeof head || length == size)
        return false;
    memcpy(head, bytes, length);
    head[length] = '\0';
    *parts = (struct parts){.version = 0};
    if (sscanf(head, "%u %zu %zu", &parts->version, &parts->size[GROUP], &parts->size[ARRAY]) != 3)
        return false;
    size -= length + 1;
    parts->at[GROUP] = length + 1;
    for (int i = GROUP; i < CHUNK; i++) {
        parts->size[i] = parts->size[i] < size ? parts->size[i] : size;
        size -= parts->size[i];
        parts->at[i + 1] = parts->at[i] + parts->size[i];
    }
    parts->size[CHUNK] = size;
    return true;
}

/* Folders and files of the store, those within others behind them; of version 3, and of version 2. */
static const char *const folders[] = {"in.zarr", "in.zarr/0", "in.zarr/0/c", "in.zarr/0/c/0",
                                      "in.zarr/0/c/0/0"};
static const char *const files[2][PARTS] = {{"in.zarr/zarr.json", "in.zarr/0/zarr.json", "in.zarr/0/c/0/0/0"},
                                            {"in.zarr/.zattrs", "in.zarr/0/.zarray", "in.zarr/0/0.0.0"}};
enum { FOLDERS = sizeof folders / sizeof *folders };

void fuzz_zarr(const uint8_t *bytes, size_t size)
{
    const char *const *names;
    struct parts parts;
    bool alone;

    if (!find_parts(bytes, size, &parts))
        return;
    names = files[parts.version % 2 == 0];
    alone = parts.size[GROUP] == 0;
    for (size_t i = 0; i < FOLDERS; i++)
        mkdir(folders[i], 0700);
    for (int i = alone ? ARRAY : GROUP; i < PARTS; i++)
        fuzz_put_file(names[i], bytes + parts.at[i], parts.size[i]);
    fuzz_read(names[alone ? ARRAY : GROUP], &format_zarr, size * 31 + parts.size[ARRAY]);
    for (int i = GROUP; i < PARTS; i++)
        unlink(names[i]);
    for (size_t i = FOLDERS; i-- > 0;)
        rmdir(folders[i]);
}

/* ---- mutations ---- */

static const char words[] =
    "null|[]|{}|\"NaN\"|\"Infinity\"|\"0x7f\"|true|\"bytes\"|\"crc32c\"|\"zstd\"|\"gzip\"|\"blosc\"|"
    "\"transpose\"|\"sharding_indexed\"|\"start\"|\"uint8\"|\"float16\"|\"<u2\"|\"F\"|\"v2\"|"
    "\"../x\"|\"c\"|\"space\"|\"time\"|\"scale\"|\"translation\"|\"0.4\"|\"nanometer\"|[1, 2, 3]";

/* Another word in the place of a value. */
static void replace_value(struct mutation *mutation)
{
    size_t at = mutation_draw(mutation, mutation->size), end, length;
    const char *word = mutation_word(mutation, words, &length);

    while (at > 0 && strchr(" [{:", mutation->bytes[at - 1]) == NULL)
        at--;
    for (end = at; end < mutation->size && strchr(",]}:", mutation->bytes[end]) == NULL;)
        end++;
    mutation_replace(mutation, at, end - at, word, length);
}

static void change_part(struct mutation *part, bool text)
{
    size_t draw = mutation_draw(part, 4);

    if (part->size == 0 || !text || draw == 0)
        mutation_scramble(part, 0, part->size);
    else if (draw == 1)
        replace_value(part);
    else
        mutation_renumber(part, 0, part->size);
}

void mutate_zarr(struct mutation *mutation)
{
    struct parts parts = {.version = 3};
    struct mutation inner = {.most = mutation->most};
    char head[HEAD_MOST];
    size_t which;

    if (!find_parts(mutation->bytes, mutation->size, &parts)) {
        mutation_scramble(mutation, 0, mutation->size);
        return;
    }
    which = mutation_draw(mutation, PARTS);
    inner.chance = mutation->chance;
    inner.size = parts.size[which];
    inner.bytes = malloc(inner.most);
    if (inner.bytes == NULL)
        return;
    memcpy(inner.bytes, mutation->bytes + parts.at[which], inner.size);
    change_part(&inner, which != CHUNK);
    if (mutation_replace(mutation, parts.at[which], parts.size[which], inner.bytes, inner.size)) {
        parts.size[which] = inner.size;
        mutation_replace(mutation, 0, parts.at[GROUP], head,
                         (size_t)snprintf(head, sizeof head, "%u %zu %zu\n", parts.version, parts.size[GROUP],
                                          parts.size[ARRAY]));
    }
    free(inner.bytes);
}
