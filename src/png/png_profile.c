/* The colour profile of a PNG, as iCCP has it: a name, then the profile, deflated. */
#include "png_profile.h"

#include "base/mem.h"

#include <string.h>
#include <zlib.h>

enum { PROFILE_BYTES_MOST = 64 << 10, METHOD_DEFLATE = 0 };

/* So many bytes, and whether that ends as it should. */
static bool inflate_part(z_stream *zlib, unsigned char *to, size_t size, bool last)
{
    zlib->next_out = to;
    zlib->avail_out = (uInt)size;
    int outcome = inflate(zlib, last ? Z_FINISH : Z_SYNC_FLUSH);
    return zlib->avail_out == 0 && (last ? outcome == Z_STREAM_END && zlib->avail_in == 0 : outcome == Z_OK);
}

static bool inflated_is_srgb(z_stream *zlib, enum icc_space space)
{
    unsigned char head[ICC_SIZE_BYTES];
    if (!inflate_part(zlib, head, sizeof head, false))
        return false;
    struct fault fault;
    size_t size = icc_size(head);
    if (size <= sizeof head || size > PROFILE_BYTES_MOST)
        return false;
    unsigned char *profile = mem_alloc(size, 1, "a colour profile", &fault);
    if (profile == NULL)
        return false;
    memcpy(profile, head, sizeof head);
    bool is = inflate_part(zlib, profile + sizeof head, size - sizeof head, true) &&
              icc_is_srgb(profile, size, space);
    mem_free(profile);
    return is;
}

bool png_profile_is_srgb(const struct png_chunk *chunk, enum icc_space space)
{
    const unsigned char *name_end = memchr(chunk->bytes, 0, chunk->size), *end = chunk->bytes + chunk->size;
    if (name_end == NULL || end - name_end < 2 || name_end[1] != METHOD_DEFLATE)
        return false;
    z_stream zlib = {.next_in = (z_const Bytef *)name_end + 2, .avail_in = (uInt)(end - name_end - 2)};
    if (inflateInit(&zlib) != Z_OK)
        return false;
    bool is = inflated_is_srgb(&zlib, space);
    inflateEnd(&zlib);
    return is;
}
