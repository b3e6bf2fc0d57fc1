/* Encoding of a PNG. libpng writes the frame of the file: signature, header, chunks of metadata, end mark.
   The image is cut into strips of some 512 KiB of rows; where they end depends on the picture alone, so the
   file is the same for any number of threads. The caller copies rows into a strip. Once that is full, a
   thread filters and deflates it, or the caller does when it would have to wait (base/work_queue.h). When
   all strips are under way, or all rows are in, the caller takes the oldest, joins its checksum to those
   before, and writes it as an IDAT chunk. A strip is deflated by itself: what the one before
   it became may not be known yet. Its filters alone see the row above it. */
#include "png_encoder.h"

#include "base/checksum.h"
#include "base/deflate.h"
#include "base/mem.h"
#include "base/work_queue.h"
#include "base/size.h"
#include "model/limits.h"
#include "model/sample.h"
#include "png_error.h"
#include "png_filter.h"
#include "png_strip.h"

#include <math.h>
#include <setjmp.h>
#include <string.h>

enum { CHECKSUM_BYTES = 4 };

#define MILLIMETRES_A_METRE 1e3

/* Fewer samples a metre could be rounded by more than half a percent. */
#define LEAST_A_METRE 100.0

/* The samples of the closer axis, where only the ratio is told. */
#define MOST_COMPARED 1e6

/* An IDAT chunk holds a strip, but not what a single row of gigabytes makes. */
#define IDAT_BYTES_MOST ((size_t)1 << 30)

/* Large enough that joins cost some hundredths at most, small enough that a picture of a megapixel has
 * several. */
#define STRIP_BYTES ((size_t)512 << 10)

/* Strips under way for each thread: one in its hands, one that waits. */
enum { STRIPS_A_THREAD = 2 };

/* A strip on its way, with the row above it. */
struct strip {
    unsigned char *rows;
    unsigned char *deflated;
    size_t count; /* rows, without the one above */
    bool last;

    /* Once it is deflated. */
    size_t size;
    uint32_t checksum; /* Adler-32 of what was deflated */
};

struct png_encoder {
    struct png_error_trap trap;
    png_structp png;
    png_infop info;
    struct file_out *file;
    const struct png_chunks *chunks;
    size_t row_bytes, row_count, pixel_bytes;
    bool swapped; /* 16-bit samples come with the low byte first */
    int level;

    size_t stride, strip_rows;
    struct strip *strips;
    size_t strip_count;
    struct png_strip_coder **coders; /* the first is the calling thread's */
    size_t coder_count;
    struct ordered_work *ordered;

    size_t rows_in;
    bool filling;     /* a strip has rows, but not all */
    size_t filled;    /* the strip that the caller fills, or the last that it filled */
    size_t row;       /* rows in it */
    size_t under_way; /* strips that are full and not written */
    bool image_begun;
    uint32_t checksum; /* of the strips so far */
};

/* ---- the frame, by libpng ---- */

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
    /* libpng frees both structures at once, in png_encoder_free. */
    encoder->info = encoder->png != NULL ? png_create_info_struct(encoder->png) : NULL;
    if (encoder->info == NULL)
        return png_error_at_start(&encoder->trap);
    png_set_write_fn(encoder->png, encoder, write_bytes, flush_nothing);
    return true;
}

static void write_chunks(struct png_encoder *encoder, bool after_image)
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
    static const int types[] = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB,
                                PNG_COLOR_TYPE_RGB_ALPHA};
    png_structp png = encoder->png;
    /* libpng's own limit on extents is a million. */
    png_set_user_limits(png, PNG_ENCODER_EXTENT_MOST, PNG_ENCODER_EXTENT_MOST);
    png_set_IHDR(png, encoder->info, (png_uint_32)picture->width, (png_uint_32)picture->height,
                 (int)picture->depth, types[picture->channels - 1], PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    tell_distance(encoder, picture);
    png_write_info(png, encoder->info);
    write_chunks(encoder, false);
}

/* libpng leaves a call by a jump to the last setjmp, so each function that enters it sets one anew. */
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

/* The row of a strip with this number, counted from the one above it. */
static unsigned char *strip_row(const struct png_encoder *encoder, const struct strip *strip, size_t row)
{
    return strip->rows + row * encoder->stride + PNG_FILTER_REACH;
}

/* ---- a strip, by any thread ---- */

static void filter_and_deflate(void *context, size_t place, unsigned number)
{
    const struct png_encoder *encoder = context;
    struct strip *strip = &encoder->strips[place];
    const struct png_filter_rows rows = {
        .first = strip_row(encoder, strip, 1),
        .stride = encoder->stride,
        .bytes = encoder->row_bytes,
        .count = strip->count,
        .pixel = encoder->pixel_bytes,
    };
    strip->size =
        png_strip_code(encoder->coders[number], &rows, strip->last, strip->deflated, &strip->checksum);
}

/* ---- rows in ---- */

/* The row above a new strip: the last of the strip before, or black beyond the picture's edge. */
static void begin_strip(const struct png_encoder *encoder, struct strip *strip, const struct strip *before)
{
    if (encoder->rows_in == 0)
        memset(strip_row(encoder, strip, 0), 0, encoder->row_bytes);
    else
        memcpy(strip_row(encoder, strip, 0), strip_row(encoder, before, before->count), encoder->row_bytes);
}

static void end_strip(struct png_encoder *encoder)
{
    struct strip *strip = &encoder->strips[encoder->filled];
    strip->count = encoder->row;
    strip->last = encoder->rows_in == encoder->row_count;
    encoder->row = 0;
    encoder->filling = false;
    encoder->under_way++;
    ordered_work_put(encoder->ordered, encoder->filled);
}

/* Fewer strips are under way than there are, so one is free where a new one begins. */
static void put_row(struct png_encoder *encoder, const unsigned char *row)
{
    const struct strip *strip = &encoder->strips[encoder->filled];
    unsigned char *to;
    if (!encoder->filling) {
        encoder->filling = ordered_work_claim(encoder->ordered, &encoder->filled);
        begin_strip(encoder, &encoder->strips[encoder->filled], strip);
        strip = &encoder->strips[encoder->filled];
    }
    to = strip_row(encoder, strip, 1 + encoder->row);
    memcpy(to, row, encoder->row_bytes);
    if (encoder->swapped)
        sample_swap(SAMPLE_U16, to, encoder->row_bytes / sizeof(uint16_t));
    encoder->row++;
    encoder->rows_in++;
    if (encoder->row == encoder->strip_rows || encoder->rows_in == encoder->row_count)
        end_strip(encoder);
}

/* ---- strips out ---- */

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
    /* The first chunk of the image begins with zlib's header, and the last one ends with its checksum. A
       chunk is its length, its type, its bytes, and a CRC of type and bytes. */
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

/* The oldest strip under way, once it is deflated. */
static void write_strip(struct png_encoder *encoder)
{
    size_t place = ordered_work_take(encoder->ordered);
    const struct strip *strip = &encoder->strips[place];
    const unsigned char *bytes = strip->deflated;
    size_t left = strip->size;
    /* Strips come in their order here, so that their checksums can be joined to that of all bytes so far. */
    encoder->checksum = encoder->image_begun ? deflate_join(encoder->checksum, strip->checksum,
                                                            strip->count * (encoder->row_bytes + 1))
                                             : strip->checksum;
    for (; left > IDAT_BYTES_MOST; left -= IDAT_BYTES_MOST, bytes += IDAT_BYTES_MOST)
        write_idat(encoder, bytes, IDAT_BYTES_MOST, false);
    write_idat(encoder, bytes, left, strip->last);
    ordered_work_vacate(encoder->ordered, place);
    encoder->under_way--;
}

bool png_encoder_rows(struct png_encoder *encoder, const void *rows, size_t count, struct fault *fault)
{
    png_error_begin(&encoder->trap, fault);
    if (setjmp(png_jmpbuf(encoder->png)) != 0)
        return false;
    /* Strips are written once none is free for the next row, and all that are left once the last row is in.
     */
    for (size_t i = 0; i < count; i++) {
        put_row(encoder, (const unsigned char *)rows + i * encoder->row_bytes);
        while (encoder->under_way == encoder->strip_count ||
               (encoder->rows_in == encoder->row_count && encoder->under_way > 0))
            write_strip(encoder);
    }
    return true;
}

/* Not by png_write_end, which wants to have written the image itself. */
bool png_encoder_end(struct png_encoder *encoder, struct fault *fault)
{
    png_error_begin(&encoder->trap, fault);
    if (setjmp(png_jmpbuf(encoder->png)) != 0)
        return false;
    write_chunks(encoder, true);
    png_write_chunk(encoder->png, (png_const_bytep) "IEND", NULL, 0);
    return true;
}

/* ---- beginning and end ---- */

/* How many rows a strip has, and how many strips and threads are of use for them. */
static void shape(struct png_encoder *encoder, size_t threads)
{
    size_t filtered = encoder->row_bytes + 1;
    encoder->stride = encoder->row_bytes + PNG_FILTER_REACH;
    encoder->strip_rows = size_least(encoder->row_count, filtered > STRIP_BYTES ? 1 : STRIP_BYTES / filtered);
    size_t count = size_divided_up(encoder->row_count, encoder->strip_rows);
    encoder->coder_count = size_least(threads, count);
    encoder->strip_count = size_least(encoder->coder_count * STRIPS_A_THREAD, count);
}

static bool make_strip(const struct png_encoder *encoder, struct strip *strip, struct fault *fault)
{
    size_t rows = 1 + encoder->strip_rows;
    strip->rows = mem_alloc(rows, encoder->stride, "a strip of rows", fault);
    strip->deflated = mem_alloc(deflate_bound(encoder->strip_rows * (encoder->row_bytes + 1)), 1,
                                "a deflated strip", fault);
    if (strip->rows == NULL || strip->deflated == NULL)
        return false;
    for (size_t row = 0; row < rows; row++)
        memset(strip->rows + row * encoder->stride, 0, PNG_FILTER_REACH);
    return true;
}

static bool make_room(struct png_encoder *encoder, struct fault *fault)
{
    encoder->strips = mem_zeroed(encoder->strip_count, sizeof *encoder->strips, "strips", fault);
    encoder->coders = mem_zeroed(encoder->coder_count, sizeof *encoder->coders, "threads", fault);
    if (encoder->strips == NULL || encoder->coders == NULL)
        return false;
    for (size_t i = 0; i < encoder->strip_count; i++)
        if (!make_strip(encoder, &encoder->strips[i], fault))
            return false;
    for (size_t i = 0; i < encoder->coder_count; i++)
        if (!png_strip_coder_create(&encoder->coders[i], encoder->level, encoder->row_bytes,
                                    encoder->strip_rows, fault))
            return false;
    return ordered_work_open(&encoder->ordered, encoder->strip_count, (unsigned)encoder->coder_count,
                             filter_and_deflate, encoder, fault);
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
    made->pixel_bytes = picture->channels * (picture->depth / 8);
    made->row_bytes = picture->width * made->pixel_bytes;
    made->row_count = picture->height;
    made->swapped = picture->little_endian;
    made->level = picture->level < 0 ? PNG_LEVEL : picture->level;
    shape(made, picture->threads);
    if (!make_room(made, fault) || !begin(made, picture, fault)) {
        png_encoder_free(made);
        return false;
    }
    *encoder = made;
    return true;
}

void png_encoder_free(struct png_encoder *encoder)
{
    if (encoder == NULL)
        return;
    ordered_work_close(encoder->ordered);
    for (size_t i = 0; encoder->strips != NULL && i < encoder->strip_count; i++) {
        mem_free(encoder->strips[i].rows);
        mem_free(encoder->strips[i].deflated);
    }
    for (size_t i = 0; encoder->coders != NULL && i < encoder->coder_count; i++)
        png_strip_coder_free(encoder->coders[i]);
    mem_free(encoder->strips);
    mem_free(encoder->coders);
    png_destroy_write_struct(&encoder->png, &encoder->info);
    mem_free(encoder);
}
