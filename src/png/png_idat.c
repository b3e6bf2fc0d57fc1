/* The image data of a PNG file on its way to libpng: inflated elsewhere, and given to libpng stored. */
#include "png_idat.h"

#include "png_trap.h"

#include <string.h>
#include <zlib.h>

enum { TYPE_AT = 4, CHECKSUM_BYTES = 4 };

/* ---- the file's chunks ---- */

static void enter_chunk(struct png_idat *idat, png_structp png, png_const_bytep head)
{
    idat->left = png_get_uint_31(png, head);
    idat->checksum = (png_uint_32)crc32(0, head + TYPE_AT, PNG_IDAT_HEAD_BYTES - TYPE_AT);
}

static void leave_chunk(struct png_idat *idat, png_structp png)
{
    unsigned char checksum[CHECKSUM_BYTES];
    idat->read(png, checksum, sizeof checksum);
    if (png_get_uint_32(checksum) != idat->checksum)
        png_chunk_error(png, "CRC error");
    idat->read(png, idat->head, sizeof idat->head);
    if (memcmp(idat->head + TYPE_AT, "IDAT", 4) == 0)
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
        idat->checksum = (png_uint_32)crc32_z(idat->checksum, to + got, part);
        idat->left -= part;
        got += part;
        if (idat->left == 0)
            leave_chunk(idat, png);
    }
    return got;
}

/* ---- between file and libpng ---- */

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

static void check_nothing_follows(struct png_idat *idat, png_structp png)
{
    unsigned char byte;
    if (read_data(idat, png, &byte, 1) > 0)
        png_chunk_error(png, "extra compressed data");
}

/* More for libpng; after the image data, what stands after it in the file. */
static void fetch(struct png_idat *idat, png_structp png)
{
    struct png_inflate_chunk chunk;
    for (;;) {
        feed(idat, png);
        switch (png_inflater_take(idat->inflater, &chunk)) {
        case PNG_INFLATE_CHUNK:
            idat->next = chunk.bytes;
            idat->available = chunk.size;
            return;
        case PNG_INFLATE_HUNGRY:
            break;
        case PNG_INFLATE_ALL:
            check_nothing_follows(idat, png);
            idat->next = idat->head;
            idat->available = sizeof idat->head;
            idat->gives = false;
            return;
        case PNG_INFLATE_EXCESS:
            png_chunk_error(png, "extra compressed data");
        case PNG_INFLATE_DAMAGED:
            png_chunk_error(png, chunk.damage);
        }
    }
}

void png_idat_begin(struct png_idat *idat, png_structp png, png_bytep head)
{
    enter_chunk(idat, png, head);
    idat->gives = true;
    memcpy(head, png_inflate_first, PNG_IDAT_HEAD_BYTES);
    idat->next = png_inflate_first + PNG_IDAT_HEAD_BYTES;
    idat->available = PNG_INFLATE_FIRST_BYTES - PNG_IDAT_HEAD_BYTES;
}

void png_idat_give(struct png_idat *idat, png_structp png, png_bytep bytes, size_t size, struct fault *fault)
{
    if (idat->inflater == NULL && !png_inflater_start(&idat->inflater, idat->threads, fault))
        png_trap_leave(png);
    while (size > 0) {
        if (idat->available == 0)
            fetch(idat, png);
        size_t part = idat->available < size ? idat->available : size;
        memcpy(bytes, idat->next, part);
        idat->next += part;
        idat->available -= part;
        bytes += part;
        size -= part;
    }
}

void png_idat_release(struct png_idat *idat)
{
    png_inflater_stop(idat->inflater);
    idat->inflater = NULL;
}
