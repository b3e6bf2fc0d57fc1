/* The image data of a PNG file: its IDAT chunks are read and inflated here, and libpng sees an empty one. */
#include "png_image_data.h"

#include "base/checksum.h"
#include "png_error.h"

#include <string.h>

enum { TYPE_AT = 4, TYPE_BYTES = 4, CHECKSUM_BYTES = 4 };

bool png_image_data_is_head(png_const_bytep head)
{
    return memcmp(head + TYPE_AT, "IDAT", TYPE_BYTES) == 0;
}

/* ---- the file's chunks ---- */

static void enter_chunk(struct png_image_data *data, png_structp png, png_const_bytep head)
{
    data->left = png_get_uint_31(png, head);
    data->checksum = checksum_crc(CHECKSUM_CRC, head + TYPE_AT, TYPE_BYTES);
}

static void leave_chunk(struct png_image_data *data, png_structp png)
{
    unsigned char checksum[CHECKSUM_BYTES];
    data->read(png, checksum, sizeof checksum);
    if (png_get_uint_32(checksum) != data->checksum)
        png_chunk_error(png, "CRC error");
    data->read(png, data->head, sizeof data->head);
    if (png_image_data_is_head(data->head))
        enter_chunk(data, png, data->head);
    else
        data->file_is_past = true;
}

/* The next bytes of the file's image data; fewer than there is room for only when these are the last. */
static size_t read_data(struct png_image_data *data, png_structp png, unsigned char *to, size_t room)
{
    size_t got = 0;
    while (got < room && !data->file_is_past) {
        size_t part = data->left < room - got ? data->left : room - got;
        data->read(png, to + got, part);
        data->checksum = checksum_crc(data->checksum, to + got, part);
        data->left -= part;
        got += part;
        if (data->left == 0)
            leave_chunk(data, png);
    }
    return got;
}

/* ---- inflated ---- */

static void feed(struct png_image_data *data, png_structp png)
{
    size_t room;
    unsigned char *to;
    while (!data->file_is_past && (to = png_inflater_room(data->inflater, &room)) != NULL) {
        size_t got = read_data(data, png, to, room);
        if (got > 0)
            png_inflater_feed(data->inflater, got);
        if (data->file_is_past)
            png_inflater_end(data->inflater);
    }
}

/* The next piece that has bytes; false after the last. */
static bool fetch(struct png_image_data *data, png_structp png)
{
    do {
        feed(data, png);
        data->piece = png_inflater_take(data->inflater);
        data->piece_used = 0;
        if (data->piece.state == PNG_INFLATE_DAMAGED)
            png_chunk_error(png, data->piece.damage);
    } while (data->piece.size == 0 && data->piece.state == PNG_INFLATE_UNDER_WAY);
    return data->piece.size > 0;
}

void png_image_data_inflate(struct png_image_data *data, png_structp png, unsigned char *bytes, size_t size,
                            struct fault *fault)
{
    if (data->inflater == NULL && !png_inflater_start(&data->inflater, data->threads, fault))
        png_error_leave(png);
    while (size > 0) {
        if (data->piece_used == data->piece.size && !fetch(data, png))
            png_error(png, "Not enough image data");
        size_t left = data->piece.size - data->piece_used, part = left < size ? left : size;
        memcpy(bytes, data->piece.bytes + data->piece_used, part);
        data->piece_used += part;
        bytes += part;
        size -= part;
    }
}

void png_image_data_end(struct png_image_data *data, png_structp png)
{
    bool excess = data->piece_used < data->piece.size;
    while (data->piece.state == PNG_INFLATE_UNDER_WAY)
        excess = fetch(data, png) || excess;
    if (excess)
        png_chunk_error(png, "Too much image data");
}

/* ---- what libpng sees ---- */

void png_image_data_begin(struct png_image_data *data, png_structp png, png_bytep head)
{
    static const unsigned char empty_checksum[CHECKSUM_BYTES] = {0x35, 0xaf, 0x06, 0x1e};
    enter_chunk(data, png, head);
    data->begun = true;
    memset(head, 0, TYPE_AT);
    data->next = empty_checksum;
    data->available = sizeof empty_checksum;
}

void png_image_data_give(struct png_image_data *data, png_bytep bytes, size_t size)
{
    size_t part = data->available < size ? data->available : size;
    memcpy(bytes, data->next, part);
    data->next += part;
    data->available -= part;
}

static bool has_more(struct png_image_data *data, png_structp png)
{
    unsigned char byte;
    return data->piece.state == PNG_INFLATE_EXCESS || read_data(data, png, &byte, 1) > 0;
}

void png_image_data_leave(struct png_image_data *data, png_structp png)
{
    if (has_more(data, png))
        png_chunk_error(png, "extra compressed data");
    data->next = data->head;
    data->available = sizeof data->head;
}

void png_image_data_release(struct png_image_data *data)
{
    png_inflater_stop(data->inflater);
    data->inflater = NULL;
}
