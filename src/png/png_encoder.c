/* Encoding of a PNG: libpng writes its frame, strips of rows are filtered and deflated on several threads. */
#include "png_encoder.h"

#include "base/checksum.h"
#include "base/deflate.h"
#include "base/mem.h"
#include "model/limits.h"
#include "png_strips.h"
#include "png_error.h"

#include <math.h>
#include <setjmp.h>

enum { CHECKSUM_BYTES = 4 };

#define MILLIMETRES_A_METRE 1e3

/* Fewer samples a metre could be rounded by more than half a percent. */
#define LEAST_A_METRE 100.0

/* The samples of the closer axis, where only the ratio is told. */
#define MOST_COMPARED 1e6

/* An IDAT chunk holds a strip, but not what a single row of gigabytes makes. */
#define IDAT_BYTES_MOST ((size_t)1 << 30)

struct png_encoder {
    struct png_error_trap trap;
    png_structp png;
    png_infop info;
    struct file_out *file;
    const struct png_chunks *chunks;
    struct png_strips *strips;
    size_t row_bytes;
    int level;
    bool image_begun;
    uint32_t checksum; /* of the strips so far */
};

static void write_bytes(png_structp png, png_bytep bytes, size_t size)
{
    struct png_encoder *encoder = png_get_io_ptr(png);
    if (!file_out_write(encoder->file, bytes, size, encoder->trap.fault))
        png_error_leave(png);
}

/* libpng would call fflush in place of a flush function that is missing. */
static void flush_nothing(png_structp png)
{
    (void)png;
}

static void tell_warning(png_structp png, png_const_charp message)
{
    const struct png_error_trap *trap = png_get_error_ptr(png);
    diag_detail("%s: %s", trap->name, message);
}

static bool start_libpng(struct png_encoder *encoder)
{
    encoder->png = png_create_write_struct_2(PNG_LIBPNG_VER_STRING, &encoder->trap, png_error_raise,
                                             tell_warning, &encoder->trap, png_error_malloc, png_error_free);
    if (encoder->png == NULL)
        return png_error_at_start(&encoder->trap);
    encoder->info = png_create_info_struct(encoder->png);
    if (encoder->info == NULL)
        return png_error_at_start(&encoder->trap);
    png_set_write_fn(encoder->png, encoder, write_bytes, flush_nothing);
    return true;
}

static int color_type(unsigned channels)
{
    static const int types[] = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB,
                                PNG_COLOR_TYPE_RGB_ALPHA};
    return types[channels - 1];
}

static void write_notes(struct png_encoder *encoder, bool after_image)
{
    if (encoder->chunks == NULL)
        return;
    for (const struct png_chunk *chunk = encoder->chunks->first; chunk != NULL; chunk = chunk->next)
        if ((chunk->section == PNG_CHUNKS_AFTER_IMAGE) == after_image)
            png_write_chunk(encoder->png, (png_const_bytep)chunk->type, chunk->bytes, chunk->size);
}

/* Samples a metre where the unit is known and whole numbers can tell; else how their numbers compare. */
static void tell_distance(struct png_encoder *encoder, const struct png_encoder_picture *picture)
{
    const double *distance = picture->distance, finest = fmin(distance[0], distance[1]);
    double scale = MILLIMETRES_A_METRE / picture->millimetres;
    bool metric = picture->millimetres > 0.0 && scale / fmax(distance[0], distance[1]) >= LEAST_A_METRE &&
                  scale / finest <= PNG_UINT_31_MAX;

    if (distance[0] == distance[1])
        return;
    scale = metric ? scale : MOST_COMPARED * finest;
    png_set_pHYs(encoder->png, encoder->info, (png_uint_32)fmax(1.0, round(scale / distance[0])),
                 (png_uint_32)fmax(1.0, round(scale / distance[1])),
                 metric ? PNG_RESOLUTION_METER : PNG_RESOLUTION_UNKNOWN);
}

static void write_head(struct png_encoder *encoder, const struct png_encoder_picture *picture)
{
    png_structp png = encoder->png;
    png_set_user_limits(png, PNG_ENCODER_EXTENT_MOST, PNG_ENCODER_EXTENT_MOST);
    png_set_IHDR(png, encoder->info, (png_uint_32)picture->width, (png_uint_32)picture->height,
                 (int)picture->depth, color_type(picture->channels), PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    tell_distance(encoder, picture);
    png_write_info(png, encoder->info);
    write_notes(encoder, false);
}

static bool begin(struct png_encoder *encoder, const struct png_encoder_picture *picture, struct fault *fault)
{
    png_error_begin(&encoder->trap, fault);
    if (!start_libpng(encoder))
        return false;
    if (setjmp(png_jmpbuf(encoder->png)) != 0)
        return false;
    write_head(encoder, picture);
    return true;
}

static bool start_strips(struct png_encoder *encoder, const struct png_encoder_picture *picture,
                         struct fault *fault)
{
    const struct png_strips_picture rows = {
        .row_bytes = encoder->row_bytes,
        .rows = picture->height,
        .pixel_bytes = picture->channels * (picture->depth / 8),
        .swapped = picture->little_endian,
        .level = encoder->level,
    };
    return png_strips_open(&encoder->strips, &rows, picture->threads, fault);
}

bool png_encoder_begin(struct png_encoder **encoder, struct file_out *file,
                       const struct png_encoder_picture *picture, struct fault *fault)
{
    struct png_encoder *made = mem_zeroed(1, sizeof *made, "PNG encoder", fault);
    if (made == NULL)
        return false;
    made->trap.name = file_out_name(file);
    made->trap.status = STATUS_FAILURE;
    made->file = file;
    made->chunks = picture->chunks;
    made->row_bytes = picture->width * picture->channels * (picture->depth / 8);
    made->level = picture->level < 0 ? PNG_LEVEL : picture->level;
    if (!start_strips(made, picture, fault) || !begin(made, picture, fault)) {
        png_encoder_free(made);
        return false;
    }
    *encoder = made;
    return true;
}

/* ---- image data ---- */

/* A part of a chunk; returns the checksum of what it has so far. */
static uint32_t write_part(struct png_encoder *encoder, uint32_t sum, const unsigned char *bytes, size_t size)
{
    write_bytes(encoder->png, (png_bytep)bytes, size);
    return checksum_crc(sum, bytes, size);
}

/* Not by png_write_chunk_data, whose checksums cost several times as much. */
static void write_idat(struct png_encoder *encoder, const unsigned char *bytes, size_t size, bool ends)
{
    unsigned char length[4], header[DEFLATE_HEADER], checksum[CHECKSUM_BYTES];
    size_t header_bytes = encoder->image_begun ? 0 : sizeof header,
           checksum_bytes = ends ? sizeof checksum : 0;
    uint32_t sum = CHECKSUM_CRC;
    deflate_header(encoder->level, header);
    png_save_uint_32(length, (png_uint_32)(header_bytes + size + checksum_bytes));
    png_save_uint_32(checksum, encoder->checksum);
    write_bytes(encoder->png, length, sizeof length);
    sum = write_part(encoder, sum, (const unsigned char *)"IDAT", 4);
    sum = write_part(encoder, sum, header, header_bytes);
    sum = write_part(encoder, sum, bytes, size);
    sum = write_part(encoder, sum, checksum, checksum_bytes);
    png_save_uint_32(checksum, sum);
    write_bytes(encoder->png, checksum, sizeof checksum);
    encoder->image_begun = true;
}

static void write_strip(struct png_encoder *encoder, const struct png_strip *strip)
{
    const unsigned char *bytes = strip->bytes;
    size_t left = strip->size;
    encoder->checksum = encoder->image_begun
                            ? deflate_join(encoder->checksum, strip->checksum, strip->plain_size)
                            : strip->checksum;
    for (; left > IDAT_BYTES_MOST; left -= IDAT_BYTES_MOST, bytes += IDAT_BYTES_MOST)
        write_idat(encoder, bytes, IDAT_BYTES_MOST, false);
    write_idat(encoder, bytes, left, strip->last);
}

static void write_rows(struct png_encoder *encoder, const unsigned char *rows, size_t count)
{
    while (count > 0) {
        const struct png_strip *strip;
        size_t put = png_strips_put(encoder->strips, rows, count);
        rows += put * encoder->row_bytes;
        count -= put;
        while ((strip = png_strips_take(encoder->strips)) != NULL)
            write_strip(encoder, strip);
    }
}

bool png_encoder_rows(struct png_encoder *encoder, const void *rows, size_t count, struct fault *fault)
{
    png_error_begin(&encoder->trap, fault);
    if (setjmp(png_jmpbuf(encoder->png)) != 0)
        return false;
    write_rows(encoder, rows, count);
    return true;
}

/* Not by png_write_end, which wants to have written the image itself. */
bool png_encoder_end(struct png_encoder *encoder, struct fault *fault)
{
    png_error_begin(&encoder->trap, fault);
    if (setjmp(png_jmpbuf(encoder->png)) != 0)
        return false;
    write_notes(encoder, true);
    png_write_chunk(encoder->png, (png_const_bytep) "IEND", NULL, 0);
    return true;
}

void png_encoder_free(struct png_encoder *encoder)
{
    if (encoder == NULL)
        return;
    png_strips_close(encoder->strips);
    png_destroy_write_struct(&encoder->png, &encoder->info);
    mem_free(encoder);
}
