/* PNG: chunks by libpng, rows streamed; every colour type and depth in, gray or RGB of 8 or 16 bits out.

   libpng reads the chunks before and after the image and says what is wrong with them; image data goes past
   it. All that libpng reads comes through read_bytes, which sees each chunk's head: at the first IDAT,
   png/png_image_data.h takes the file over, inflates on another thread where there is one, and libpng is
   given an empty chunk instead. png/png_rows.h makes rows of what was inflated; an interlaced picture is
   decoded as a whole before its first row is known (png/png_adam7.h). Ancillary chunks come to take_chunk
   unparsed, where those are kept that hold for a filtered copy (png/png_chunks.h).

   libpng leaves by longjmp. Each function that calls it sets the jump itself, and reads nothing after a jump
   that it has changed before. png/png_error.h turns what libpng says into the fault of the call under way. */
#include "base/file_in.h"
#include "base/file_out.h"
#include "base/mem.h"
#include "png/png_adam7.h"
#include "png/png_image_data.h"
#include "png/png_chunks.h"
#include "png/png_rows.h"
#include "png/png_error.h"
#include "foreign_type.h"
#include "format_jpeg.h"
#include "format_png.h"

#include <setjmp.h>
#include <string.h>

enum {
    SIGNATURE_BYTES = 8,
    START_BYTES = 4096,
    EXTENT_MOST = 0x7fffffff,
    CHUNK_BYTES_MOST = 64 << 20,
    CHUNKS_MOST = 1000,
    DEFLATE_RATIO_MOST = 1032 /* two bits stand for 258 bytes at the best */
};

/* A picture that is being read. */
struct reader {
    struct png_error_trap trap; /* first: libpng's error pointer leads to the trap and to the reader */
    png_structp png;
    png_infop info;
    struct file_in *file;
    struct png_chunks chunks;
    struct png_image_data data;
    bool image_begun;       /* chunks from here on stand after the image */
    char chunk[5];          /* the type of the chunk under way */
    png_uint_32 chunk_size; /* and its length */
    bool chunk_expected;    /* libpng is to hand it over */
    bool checksum_failed;   /* of the chunk under way */
    size_t row_bytes, row_count;
    size_t rows_taken;
    bool decoding; /* what follows is there */
    struct png_rows rows;
    bool interlaced;
    struct png_adam7 adam7; /* of an interlaced picture, which is decoded as a whole */
};

static png_uint_32 chunk_code(const char *type)
{
    return png_get_uint_32((png_const_bytep)type);
}

static bool sniff(const unsigned char *start, size_t size)
{
    /* Four bytes of the eight: libpng tells what a transfer did to the others. */
    return size >= 4 && memcmp(start, "\x89PNG", 4) == 0;
}

/* Other files are named, as far as they are known. No more is waited for than a PNG file has. */
static bool check_start(struct file_in *file, struct fault *fault)
{
    unsigned char start[START_BYTES];
    const struct format *format;
    size_t got;

    if (!file_in_peek(file, start, SIGNATURE_BYTES, &got, fault))
        return false;
    if (sniff(start, got))
        return true;
    if (!file_in_peek(file, start, sizeof start, &got, fault))
        return false;
    format = format_of_start(start, got);
    if (format != NULL && format->title != NULL)
        return fault_set_for(fault, STATUS_INPUT, file_in_name(file), "%s: voxfilt filters it",
                             format->title);
    return foreign_type_check(file_in_name(file), start, got, fault);
}

/* ---- callbacks of libpng ---- */

/* Read exactly these bytes for libpng, which is left if the file ends sooner. */
static void read_file(png_structp png, png_bytep bytes, size_t size)
{
    struct reader *reader = png_get_io_ptr(png);
    size_t got = 0;
    if (!file_in_read(reader->file, bytes, size, &got, reader->trap.fault))
        png_error_leave(png);
    if (got == size)
        return;
    if (png_get_io_chunk_type(png) == 0)
        png_error(png, "the file ends early");
    png_chunk_error(png, "the file ends early");
}

static bool is_ancillary(const char *type)
{
    return (type[0] & 0x20) != 0;
}

/* A chunk's head has been read: remember its length and type, and whether libpng is to hand it to
   take_chunk. */
static void enter_chunk(struct reader *reader, png_const_bytep head)
{
    reader->chunk_size = png_get_uint_32(head);
    memcpy(reader->chunk, head + sizeof(png_uint_32), sizeof reader->chunk - 1);
    reader->chunk_expected = is_ancillary(reader->chunk) && strcmp(reader->chunk, "tRNS") != 0;
    reader->checksum_failed = false;
}

/* libpng skips what it has no memory for, with no more than a warning, and goes on. */
static void leave_chunk(struct reader *reader)
{
    if (!reader->chunk_expected)
        return;
    reader->chunk_expected = false;
    reader->trap.starved = false;
    png_chunks_drop(&reader->chunks, reader->chunk,
                    reader->chunk_size > CHUNK_BYTES_MOST ? "larger than 64 MiB" : "not enough memory");
}

/* Where all bytes that libpng reads come from: the chunk's head, for which it asks alone, shows where image
   data begin. */
static void read_bytes(png_structp png, png_bytep bytes, size_t size)
{
    struct reader *reader = png_get_io_ptr(png);
    bool head = (png_get_io_state(png) & PNG_IO_CHUNK_HDR) != 0;
    if (head)
        leave_chunk(reader);
    if (reader->data.available > 0)
        png_image_data_give(&reader->data, bytes, size);
    else
        read_file(png, bytes, size);
    if (!head)
        return;
    if (png_image_data_is_head(bytes)) {
        /* Image data in a second place is damage, of which libpng would only warn. */
        if (reader->data.begun)
            png_error(png, "IDAT: ..Too many IDATs found");
        png_image_data_begin(&reader->data, png, bytes);
    }
    enter_chunk(reader, bytes);
}

/* Depths below 16 leave bits of tRNS unused, which libpng masks, and warns if they are not 0. */
static const char unused_bits[] = "tRNS chunk has out-of-range samples for bit_depth";

/* Some warnings of libpng are about damage all the same: where samples depend on it. */
static bool decides_samples(png_uint_32 chunk, const char *message)
{
    return chunk == chunk_code("IHDR") || chunk == chunk_code("IDAT") ||
           (chunk == chunk_code("tRNS") && strcmp(message, unused_bits) != 0);
}

static void heed_warning(png_structp png, png_const_charp message)
{
    struct reader *reader = png_get_error_ptr(png);
    if (decides_samples(png_get_io_chunk_type(png), message))
        png_error(png, message);
    if ((png_get_io_state(png) & PNG_IO_CHUNK_CRC) != 0)
        reader->checksum_failed = true;
    diag_detail("%s: %s", reader->trap.name, message);
}

static enum png_chunks_section section_of(const struct reader *reader, const png_unknown_chunk *chunk)
{
    if (reader->image_begun)
        return PNG_CHUNKS_AFTER_IMAGE;
    return (chunk->location & PNG_HAVE_PLTE) != 0 ? PNG_CHUNKS_BEFORE_IMAGE : PNG_CHUNKS_BEFORE_PALETTE;
}

/* libpng hands over chunks whose checksum failed, after a warning. Of image data it sees
   none (png_image_data.h). */
static int take_chunk(png_structp png, png_unknown_chunkp chunk)
{
    struct reader *reader = png_get_user_chunk_ptr(png);
    const char *type = (const char *)chunk->name;
    if (strcmp(type, "IDAT") == 0)
        return 1;
    if (!is_ancillary(type))
        png_chunk_error(png, "unknown critical chunk");
    reader->chunk_expected = false;
    if (reader->checksum_failed) {
        png_chunks_drop(&reader->chunks, type, "its checksum is wrong");
        return 1;
    }
    if (!png_chunks_offer(&reader->chunks, type, section_of(reader, chunk), chunk->data, chunk->size,
                          reader->trap.fault))
        png_error_leave(png);
    return 1;
}

/* ---- reading ---- */

static bool start_libpng(struct reader *reader)
{
    reader->png = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, &reader->trap, png_error_raise,
                                           heed_warning, &reader->trap, png_error_malloc, png_error_free);
    reader->info = reader->png != NULL ? png_create_info_struct(reader->png) : NULL;
    return reader->info != NULL || png_error_at_start(&reader->trap);
}

static void configure(struct reader *reader)
{
    png_structp png = reader->png;
    png_set_read_fn(png, reader, read_bytes);
    png_set_user_limits(png, EXTENT_MOST, EXTENT_MOST);
    png_set_chunk_malloc_max(png, CHUNK_BYTES_MOST);
    png_set_chunk_cache_max(png, CHUNKS_MOST);
    /* A negative count: every ancillary chunk but tRNS comes to take_chunk, unparsed. */
    png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, NULL, -1);
    png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, (png_const_bytep) "IDAT", 1);
    png_set_read_user_chunk_fn(png, reader, take_chunk);
}

/* The samples that rows will have: a key colour becomes alpha, and a palette becomes RGB. */
static void describe_samples(struct reader *reader, struct header *header)
{
    png_uint_32 width = png_get_image_width(reader->png, reader->info);
    png_uint_32 height = png_get_image_height(reader->png, reader->info);
    int color_type = png_get_color_type(reader->png, reader->info);
    bool keyed = png_get_valid(reader->png, reader->info, PNG_INFO_tRNS) != 0;
    header->grid = grid_make(2, width, height, 1);
    header->alpha = keyed || (color_type & PNG_COLOR_MASK_ALPHA) != 0;
    header->grid.channels = ((color_type & PNG_COLOR_MASK_COLOR) != 0 ? 3U : 1U) + (header->alpha ? 1U : 0U);
    header->type = png_get_bit_depth(reader->png, reader->info) == 16 ? SAMPLE_U16 : SAMPLE_U8;
    header->endian = ENDIAN_BIG;
    header_describe_colour(header, &reader->chunks);
}

/* Before anything is allocated for the sizes that the header claims: could the file hold as much? */
static void check_promise(const struct reader *reader, uint64_t file_bytes)
{
    uint64_t row_bytes = png_get_rowbytes(reader->png, reader->info);
    uint64_t rows = png_get_image_height(reader->png, reader->info);
    if (file_bytes < UINT64_MAX / DEFLATE_RATIO_MOST && row_bytes > file_bytes * DEFLATE_RATIO_MOST / rows)
        png_chunk_error(reader->png, "the file is too short for the size that IHDR gives");
}

/* Read all chunks before the image, and describe its samples. */
static bool read_head(struct reader *reader, struct header *header, struct fault *fault)
{
    uint64_t file_bytes = 0;
    /* A pipe does not say how long it is, and is not held against the header. */
    bool bounded = file_in_remaining(reader->file, &file_bytes);
    png_error_begin(&reader->trap, fault);
    if (!start_libpng(reader))
        return false;
    if (setjmp(png_jmpbuf(reader->png)) != 0)
        return false;
    configure(reader);
    png_read_info(reader->png, reader->info);
    if (bounded)
        check_promise(reader, file_bytes);
    reader->image_begun = true;
    describe_samples(reader, header);
    return true;
}

/* How large rows are, and what an interlaced picture has to hold. */
static bool measure(struct reader *reader, struct source *source, struct fault *fault)
{
    if (!grid_check(&source->header.grid, fault))
        return fault_prefix(fault, reader->trap.name);
    reader->row_bytes = header_plane_bytes(&source->header);
    reader->row_count = source->header.grid.ny;
    source->held_bytes = 0;
    reader->interlaced = png_get_interlace_type(reader->png, reader->info) != PNG_INTERLACE_NONE;
    return !reader->interlaced || mem_product(&source->held_bytes, reader->row_bytes, reader->row_count) ||
           fault_set_for(fault, STATUS_LIMIT, reader->trap.name,
                         "IHDR: an interlaced picture larger than the address space");
}

static void close_source(struct source *source)
{
    struct reader *reader = source->state;
    if (reader == NULL)
        return;
    png_destroy_read_struct(&reader->png, &reader->info, NULL);
    png_image_data_release(&reader->data);
    png_chunks_release(&reader->chunks);
    png_rows_close(&reader->rows);
    png_adam7_close(&reader->adam7);
    mem_free(reader);
    source->state = NULL;
}

static bool open_source(struct source *source, const struct source_request *request, struct fault *fault)
{
    struct reader *reader =
        check_start(source->file, fault) ? mem_zeroed(1, sizeof *reader, "PNG reader", fault) : NULL;
    if (reader == NULL)
        return false;
    source->state = reader;
    source->chunks = &reader->chunks;
    reader->file = source->file;
    reader->data.read = read_file;
    reader->data.threads = request->threads;
    reader->trap.name = file_in_name(source->file);
    reader->chunks.file_name = reader->trap.name;
    reader->trap.status = STATUS_INPUT;
    if (read_head(reader, &source->header, fault) && measure(reader, source, fault))
        return true;
    close_source(source);
    return false;
}

static void hold_in_spool(struct source *source, const struct spool *spool)
{
    ((struct reader *)source->state)->adam7.spool = spool;
}

/* Apart from its caller, which then has no variables that libpng's jump could lose. */
static bool decode_passes(struct reader *reader, struct fault *fault)
{
    if (setjmp(png_jmpbuf(reader->png)) != 0)
        return false;
    if (!png_adam7_decode(&reader->adam7, &reader->rows, reader->png, &reader->data, fault))
        return false;
    png_image_data_end(&reader->data, reader->png);
    return true;
}

/* Not before the first row is asked for: rows are allocated here, and the plan may refuse them first. */
static bool begin_rows(struct reader *reader, struct fault *fault)
{
    const size_t width = png_get_image_width(reader->png, reader->info);
    struct png_adam7 *adam7 = &reader->adam7;

    if (!png_rows_open(&reader->rows, reader->png, reader->info, fault))
        return fault_prefix(fault, reader->trap.name);
    if (!reader->interlaced) {
        png_rows_begin(&reader->rows, width);
        return true;
    }
    /* The last pass ends with the file, so all of it is decoded before the first row is known. */
    adam7->width = width;
    adam7->rows = reader->row_count;
    adam7->pixel_bytes = reader->row_bytes / width;
    return png_adam7_open(adam7, fault) ? decode_passes(reader, fault)
                                        : fault_prefix(fault, reader->trap.name);
}

static bool decode_rows(struct reader *reader, unsigned char *samples, size_t rows, struct fault *fault)
{
    if (setjmp(png_jmpbuf(reader->png)) != 0)
        return false;
    for (size_t row = 0; row < rows; row++)
        png_rows_next(&reader->rows, reader->png, &reader->data, samples + row * reader->row_bytes, fault);
    if (reader->rows_taken + rows == reader->row_count)
        png_image_data_end(&reader->data, reader->png);
    return true;
}

static bool compose_rows(const struct reader *reader, unsigned char *samples, size_t rows,
                         struct fault *fault)
{
    for (size_t row = 0; row < rows; row++)
        if (!png_adam7_row(&reader->adam7, reader->rows_taken + row, samples + row * reader->row_bytes,
                           fault))
            return false;
    return true;
}

/* Give the next rows: of an interlaced picture from what was decoded before the first one. */
static bool read_rows(struct source *source, void *samples, size_t rows, struct fault *fault)
{
    struct reader *reader = source->state;
    bool done;

    png_error_begin(&reader->trap, fault);
    if (!reader->decoding && !begin_rows(reader, fault))
        return false;
    reader->decoding = true;
    done = reader->interlaced ? compose_rows(reader, samples, rows, fault)
                              : decode_rows(reader, samples, rows, fault);
    reader->rows_taken += rows;
    return done;
}

/* Read what follows the image. Only then it is known which chunks are lost. */
static bool end_source(struct source *source, struct fault *fault)
{
    struct reader *reader = source->state;
    png_error_begin(&reader->trap, fault);
    if (setjmp(png_jmpbuf(reader->png)) != 0)
        return false;
    png_image_data_leave(&reader->data, reader->png);
    png_read_end(reader->png, reader->info);
    png_chunks_list_dropped(&reader->chunks, source->dropped.names, sizeof source->dropped.names);
    return true;
}

/* ---- writing ---- */

static bool check_writable(const struct sink *sink, struct fault *fault)
{
    const struct header *header = &sink->header;
    const char *name = file_out_name(sink->file);
    unsigned channels = header->grid.channels;
    if (header->grid.axes == 3)
        return fault_set_for(fault, STATUS_USAGE, name, "a PNG holds a picture, not a volume");
    if (header->type != SAMPLE_U8 && header->type != SAMPLE_U16)
        return fault_set_for(fault, STATUS_USAGE, name,
                             "a PNG holds u8 or u16, not %s (--out-type, --out-range)",
                             sample_name(header->type));
    if (channels < 1 || channels > 4 || header->alpha != (channels % 2 == 0))
        return fault_set_for(fault, STATUS_USAGE, name, "a PNG holds gray or RGB, not %u channels %s alpha",
                             channels, header->alpha ? "with" : "without");
    if (header->grid.nx > PNG_ENCODER_EXTENT_MOST || header->grid.ny > PNG_ENCODER_EXTENT_MOST)
        return fault_set_for(fault, STATUS_LIMIT, name, "a PNG is at most %d samples wide and high",
                             PNG_ENCODER_EXTENT_MOST);
    return true;
}

/* The description of a picture for the encoder, without chunks. */
static struct png_encoder_picture describe(const struct header *header, const struct sink_request *request)
{
    return (struct png_encoder_picture){
        .width = header->grid.nx,
        .height = header->grid.ny,
        .channels = header->grid.channels,
        .depth = header->type == SAMPLE_U16 ? 16 : 8,
        .distance = {header->grid.spacing[0], header->grid.spacing[1]},
        .millimetres = header->millimetres,
        .little_endian = header->type == SAMPLE_U16 && header->endian == ENDIAN_LITTLE,
        .level = request->level,
        .threads = request->threads,
    };
}

static bool create_sink(struct sink *sink, const struct sink_request *request, struct fault *fault)
{
    const struct header *header = &sink->header;
    struct png_encoder *encoder = NULL;
    if (!check_writable(sink, fault))
        return false;
    struct png_encoder_picture picture = describe(header, request);
    if (request->origin != NULL)
        picture.chunks = request->origin->chunks;
    if (!png_encoder_begin(&encoder, sink->file, &picture, fault))
        return false;
    sink->state = encoder;
    return true;
}

static bool write_rows(struct sink *sink, const void *samples, size_t rows, struct fault *fault)
{
    return png_encoder_rows(sink->state, samples, rows, fault);
}

static bool finish_sink(struct sink *sink, struct fault *fault)
{
    return png_encoder_end(sink->state, fault);
}

static void discard_sink(struct sink *sink)
{
    png_encoder_free(sink->state);
    sink->state = NULL;
}

const struct format format_png = {
    PNG_TRAITS,
    .summary = "Portable Network Graphics",
    .picture = "a PNG picture",
    .sniff = sniff,
    .open = open_source,
    .hold_in_spool = hold_in_spool,
    .read = read_rows,
    .end = end_source,
    .list_dropped = jpeg_list_dropped,
    .close = close_source,
    .create = create_sink,
    .write = write_rows,
    .finish = finish_sink,
    .discard = discard_sink,
};
