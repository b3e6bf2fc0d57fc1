/* What is wrapped around a deflate stream: the heads and tails of gzip and zlib, which come byte by byte. */
#include "wrapping.h"

#include "base/checksum.h"

/* Parts of a head of gzip, in order. */
enum { FIXED, EXTRA_SIZE, EXTRA, NAME, COMMENT, CHECK, PARTS };

static const struct {
    unsigned flag; /* that announces it */
    size_t size;   /* 0: what the part before says, or up to a byte of 0 */
} parts[] = {
    [FIXED] = {0xff, 10}, [EXTRA_SIZE] = {0x04, 2}, [EXTRA] = {0x04, 0},
    [NAME] = {0x08, 0},   [COMMENT] = {0x10, 0},    [CHECK] = {0x02, 2},
};

enum { RESERVED_FLAGS = 0xe0, METHOD_DEFLATE = 8, ZLIB_HEAD = 2, ZLIB_TAIL = 4, GZIP_TAIL = 8 };

static const char not_a_head[] = "incorrect header of compressed data";

/* ---- heads ---- */

void wrapping_begin_head(struct wrapping *wrapping)
{
    *wrapping = (struct wrapping){.wrapper = wrapping->wrapper,
                                  .left = parts[FIXED].size,
                                  .flags = parts[FIXED].flag,
                                  .checksum = CHECKSUM_CRC};
}

static bool damage(struct wrapping *wrapping, const char *how)
{
    wrapping->damage = how;
    return false;
}

static bool take_fixed(struct wrapping *wrapping, unsigned char byte)
{
    static const unsigned char start[] = {0x1f, 0x8b, METHOD_DEFLATE};

    if (wrapping->taken < sizeof start)
        return byte == start[wrapping->taken] || damage(wrapping, not_a_head);
    if (wrapping->taken == sizeof start) {
        wrapping->flags = byte;
        return (byte & RESERVED_FLAGS) == 0 || damage(wrapping, "unknown header flags set");
    }
    return true;
}

/* The next part that there is; false after the last. */
static bool begin_part(struct wrapping *wrapping)
{
    size_t announced = wrapping->part == EXTRA_SIZE ? (size_t)wrapping->told : 0;

    do {
        if (++wrapping->part == PARTS)
            return false;
        wrapping->left = wrapping->part == EXTRA ? announced : parts[wrapping->part].size;
    } while ((wrapping->flags & parts[wrapping->part].flag) == 0 ||
             (wrapping->part == EXTRA && announced == 0));
    wrapping->told = 0;
    return true;
}

/* Whether a byte ends its part. */
static bool ends_part(struct wrapping *wrapping, unsigned char byte)
{
    if (wrapping->part == NAME || wrapping->part == COMMENT)
        return byte == 0;
    return --wrapping->left == 0;
}

/* Numbers of gzip have their least byte first. */
static void add_to_number(struct wrapping *wrapping, size_t size, unsigned char byte)
{
    wrapping->told |= (uint64_t)byte << (8 * (size - wrapping->left));
}

static bool take_gzip_head(struct wrapping *wrapping, unsigned char byte)
{
    if (wrapping->part == FIXED && !take_fixed(wrapping, byte))
        return false;
    if (wrapping->part == EXTRA_SIZE || wrapping->part == CHECK)
        add_to_number(wrapping, parts[wrapping->part].size, byte);
    if (wrapping->part != CHECK)
        wrapping->checksum = checksum_crc(wrapping->checksum, &byte, 1);
    wrapping->taken++;
    if (!ends_part(wrapping, byte))
        return true;
    if (wrapping->part == CHECK && wrapping->told != (wrapping->checksum & 0xffff))
        return damage(wrapping, not_a_head);
    return begin_part(wrapping);
}

/* A window of at most 32 KiB, and no preset dictionary, which nobody could supply. */
static bool take_zlib_head(struct wrapping *wrapping, unsigned char byte)
{
    enum { WINDOW_MOST = 7, DICTIONARY = 0x20, DIVISOR = 31 };

    if (wrapping->taken == 0 && byte >> 4 > WINDOW_MOST)
        return damage(wrapping, "invalid window size");
    wrapping->told = wrapping->told << 8 | byte;
    if (++wrapping->taken < ZLIB_HEAD)
        return (byte & 0xf) == METHOD_DEFLATE || damage(wrapping, not_a_head);
    if ((byte & DICTIONARY) != 0 || wrapping->told % DIVISOR != 0)
        return damage(wrapping, not_a_head);
    return false;
}

bool wrapping_take_head(struct wrapping *wrapping, unsigned char byte)
{
    return wrapping->wrapper == INFLATE_GZIP ? take_gzip_head(wrapping, byte)
                                             : take_zlib_head(wrapping, byte);
}

/* ---- tails ---- */

void wrapping_begin_tail(struct wrapping *wrapping)
{
    *wrapping = (struct wrapping){.wrapper = wrapping->wrapper};
}

bool wrapping_take_tail(struct wrapping *wrapping, unsigned char byte, uint32_t checksum, uint64_t size)
{
    const bool gzip = wrapping->wrapper == INFLATE_GZIP;
    const uint64_t due = gzip ? size << 32 | checksum : checksum;

    wrapping->told =
        gzip ? wrapping->told | (uint64_t)byte << (8 * wrapping->taken) : wrapping->told << 8 | byte;
    if (++wrapping->taken < (gzip ? GZIP_TAIL : ZLIB_TAIL))
        return true;
    return wrapping->told == due ? false : damage(wrapping, "incorrect data check");
}
