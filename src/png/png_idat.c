/* The image data of a PNG file: its IDAT chunks are read and inflated here, and libpng sees an empty one. */
#include "png_idat.h"

#include "base/checksum.h"
#include "png_trap.h"

#include <string.h>

enum { TYPE_AT = 4, TYPE_BYTES = 4, CHECKSUM_BYTES = 4 };

bool png_idat_is_head(png_const_bytep head)
{
    return memcmp(head + TYPE_AT, "IDAT", TYPE_BYTES) == 0;
}

/* ---- the file's chunks ---- */

static void enter_chunk(struct png_idat *idat, png_structp png, png_const_bytep head)
{
    idat->left = png_get_uint_31(png, head);
    idat->checksum = checksum_crc(CHECKSUM_CRC, head + TYPE_AT, TYPE_BYTES);
}

static void leave_chunk(struct png_idat *idat, png_structp png)
{
    unsigned char checksum[CHECKSUM_BYTES];
    idat->read(png, checksum, sizeof checksum);
    if (png_get_uint_32(checksum) != idat->checksum)
        png_chunk_error(png, "CRC error");
    idat->read(png, idat->head, sizeof idat->head);
    if (png_idat_is_head(idat->head))
        enter_chunk(idat, png, idat->head);
    else
        idat->file_is_past = true;
}

/* The next bytes of the file's image data; fewer than there is room for only when these are the last. */
static size_t read_data(struct png_idat *idat, png_structp png, unsigned char *to, size_t room)
{
    size_t got = 0;
    while (got < room && !idat->file_is_past) {
        size_t part = idat->left < room - got ? idat->left : room - got;
        idat->read(png, to + got, part);
        idat->checksum = checksum_crc(idat->checksum, to + got, part);
        idat->left -= part;
        got += part;
        if (idat->left == 0)
            leave_chunk(idat, png);
    }
    return got;
}

/* ---- inflated ---- */

static void feed(struct png_idat *idat, png_structp png)
{
    size_t room;
    unsigned char *to;
    while (!idat->file_is_past && (to = png_inflater_room(idat->inflater, &room)) != NULL) {
        size_t got = read_data(idat, png, to, room);
        if (got > 0)
            png_inflater_feed(idat->inflater, got);
        if (idat->file_is_past)
            png_inflater_end(idat->inflater);
    }
}

/* The next piece that has bytes; false after the last. */
static bool fetch(struct png_idat *idat, png_structp png)
{
    do {
        feed(idat, png);
        idat->piece = png_inflater_take(idat->inflater);
        idat->piece_used = 0;
        if (idat->piece.state == PNG_INFLATE_DAMAGED)
            png_chunk_error(png, idat->piece.damage);
    } while (idat->piece.size == 0 && idat->piece.state == PNG_INFLATE_UNDER_WAY);
    return idat->piece.size > 0;
}

void png_idat_inflate(struct png_idat *idat, png_structp png, unsigned char *bytes, size_t size,
                      struct fault *fault)
{
    if (idat->inflater == NULL && !png_inflater_start(&idat->inflater, idat->threads, fault))
        png_trap_leave(png);
    while (size > 0) {
        if (idat->piece_used == idat->piece.size && !fetch(idat, png))
            png_error(png, "Not enough image data");
        size_t left = idat->piece.size - idat->piece_used, part = left < size ? left : size;
        memcpy(bytes, idat->piece.bytes + idat->piece_used, part);
        idat->piece_used += part;
        bytes += part;
        size -= part;
    }
}

void png_idat_end(struct png_idat *idat, png_structp png)
{
    bool excess = idat->piece_used < idat->piece.size;
    while (idat->piece.state == PNG_INFLATE_UNDER_WAY)
        excess = fetch(idat, png) || excess;
    if (excess)
        png_chunk_error(png, "Too much image data");
}

/* ---- what libpng sees ---- */

void png_idat_begin(struct png_idat *idat, png_structp png, png_bytep head)
{
    static const unsigned char empty_checksum[CHECKSUM_BYTES] = {0x35, 0xaf, 0x06, 0x1e};
    enter_chunk(idat, png, head);
    idat->begun = true;
    memset(head, 0, TYPE_AT);
    idat->next = empty_checksum;
    idat->available = sizeof empty_checksum;
}

void png_idat_give(struct png_idat *idat, png_bytep bytes, size_t size)
{
    size_t part = idat->available < size ? idat->available : size;
    memcpy(bytes, idat->next, part);
    idat->next += part;
    idat->available -= part;
}

static bool has_more(struct png_idat *idat, png_structp png)
{
    unsigned char byte;
    return idat->piece.state == PNG_INFLATE_EXCESS || read_data(idat, png, &byte, 1) > 0;
}

void png_idat_leave(struct png_idat *idat, png_structp png)
{
    if (has_more(idat, png))
        png_chunk_error(png, "extra compressed data");
    idat->next = idat->head;
    idat->available = sizeof idat->head;
}

void png_idat_release(struct png_idat *idat)
{
    png_inflater_stop(idat->inflater);
    idat->inflater = NULL;
}
