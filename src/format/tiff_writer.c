/* Writing of TIFF files: pages of one kind, one behind the other, as they are or deflated. */
#include "tiff_writer.h"

#include "base/deflate.h"
#include "base/mem.h"
#include "gzip_writer.h"

#include <math.h>
#include <string.h>

enum {
    BIG_HEADER_SIZE = 16,
    ALIGNMENT = 16,
    ENTRIES_MOST = 20,
    DIRECTORY_MOST = 8 + ENTRIES_MOST * 20 + 8,
    CHUNK = 64 << 10,
    /* Types of fields. */
    ASCII = 2,
    SHORT = 3,
    LONG = 4,
    RATIONAL = 5,
    LONG8 = 16,
    /* Values of fields. */
    AS_THEY_ARE = 1,
    DEFLATED = 8,
    GRAY = 1,
    RGB = 2
};

enum tag {
    IMAGE_WIDTH = 256,
    IMAGE_LENGTH = 257,
    BITS_PER_SAMPLE = 258,
    COMPRESSION = 259,
    PHOTOMETRIC = 262,
    IMAGE_DESCRIPTION = 270,
    STRIP_OFFSETS = 273,
    SAMPLES_PER_PIXEL = 277,
    ROWS_PER_STRIP = 278,
    STRIP_BYTE_COUNTS = 279,
    X_RESOLUTION = 282,
    Y_RESOLUTION = 283,
    RESOLUTION_UNIT = 296,
    EXTRA_SAMPLES = 338,
    SAMPLE_FORMAT = 339
};

/* Bytes in a row, numbers in the order of the file. */
struct text {
    unsigned char *bytes;
    size_t size;
    enum endian endian;
};

struct tiff_writer {
    struct file_out *file;
    struct tiff_writer_stack stack;
    bool big;
    uint64_t page_bytes;
    uint64_t bits_at, formats_at, extras_at, resolutions_at, description_at; /* what all pages share */
    size_t description_bytes;
    uint64_t samples_at;
    uint64_t link_at; /* of the place that is to say where the next directory is */

    /* Of compressed pages. */
    struct gzip_writer *gzip;
    uint64_t position, page_at, page_left, packed_before;
    uint64_t pages_ended;
};

static void add(struct text *text, size_t size, uint64_t number)
{
    for (size_t i = 0; i < size; i++)
        text->bytes[text->size + (text->endian == ENDIAN_LITTLE ? i : size - 1 - i)] =
            (unsigned char)(number >> (8 * i));
    text->size += size;
}

static size_t width_of(const struct tiff_writer *writer)
{
    return writer->big ? 8 : 4;
}

/* ---- directories ---- */

static size_t type_size(unsigned type)
{
    return type == ASCII ? 1 : type == SHORT ? 2 : type == LONG ? 4 : 8;
}

/* One value stands in its entry; of several, where they stand, unless a short list fits. */
static void add_entry(const struct tiff_writer *writer, struct text *text, enum tag tag, unsigned type,
                      uint64_t count, uint64_t value)
{
    size_t width = width_of(writer), size = type_size(type);
    bool inside = count == 1 && size <= width;

    add(text, 2, tag);
    add(text, 2, type);
    add(text, width, count);
    add(text, inside ? size : width, value);
    for (size_t i = inside ? size : width; i < width; i++)
        add(text, 1, 0);
}

/* The number of channel i of so many, of which the last may have another one. */
struct numbers {
    unsigned count;
    uint64_t number, last;
};

static uint64_t number_of(const struct numbers *numbers, size_t i)
{
    return i + 1 == numbers->count ? numbers->last : numbers->number;
}

/* They stand together if they are more than one. */
static void add_for_channels(const struct tiff_writer *writer, struct text *text, enum tag tag,
                             struct numbers numbers, uint64_t place)
{
    size_t width = width_of(writer);

    if (numbers.count * 2 > width || numbers.count == 1) {
        add_entry(writer, text, tag, SHORT, numbers.count, numbers.count == 1 ? numbers.last : place);
        return;
    }
    add(text, 2, tag);
    add(text, 2, SHORT);
    add(text, width, numbers.count);
    for (size_t i = 0; i < width / 2; i++)
        add(text, 2, i < numbers.count ? number_of(&numbers, i) : 0);
}

/* The best fraction of 32-bit numbers: the distance, upside down. */
static void add_ratio(struct text *text, double distance)
{
    uint64_t above = 1, below = 0, above_before = 0, below_before = 1;

    for (double rest = distance;;) {
        double whole = floor(rest);
        double next_above = whole * (double)above + (double)above_before,
               next_below = whole * (double)below + (double)below_before;
        if (next_above > UINT32_MAX || next_below > UINT32_MAX)
            break;
        above_before = above;
        below_before = below;
        above = (uint64_t)next_above;
        below = (uint64_t)next_below;
        if ((double)above / (double)below == distance || rest == whole)
            break;
        rest = 1.0 / (rest - whole);
    }
    add(text, 4, below);
    add(text, 4, above);
}

/* A rational number fits into the entry of a BigTIFF. */
static void add_resolution(const struct tiff_writer *writer, struct text *text, enum tag tag, int axis)
{
    add(text, 2, tag);
    add(text, 2, RATIONAL);
    add(text, width_of(writer), 1);
    if (writer->big)
        add_ratio(text, writer->stack.distance[axis]);
    else
        add(text, 4, writer->resolutions_at + 8 * (uint64_t)axis);
}

static unsigned extra_channels(const struct tiff_writer *writer)
{
    return writer->stack.channels - (writer->stack.rgb ? 3 : 1);
}

static unsigned format_of(enum sample_type type)
{
    return !sample_is_integer(type) ? 3 : sample_min(type) < 0.0 ? 2 : 1;
}

static struct numbers bits_of(const struct tiff_writer *writer)
{
    uint64_t bits = 8 * sample_size(writer->stack.type);

    return (struct numbers){writer->stack.channels, bits, bits};
}

static struct numbers formats_of(const struct tiff_writer *writer)
{
    unsigned format = format_of(writer->stack.type);

    return (struct numbers){writer->stack.channels, format, format};
}

static struct numbers extras_of(const struct tiff_writer *writer)
{
    return (struct numbers){extra_channels(writer), 0, writer->stack.extra};
}

static size_t entry_count(const struct tiff_writer *writer, bool described)
{
    return 13 + (size_t)described + (size_t)(extra_channels(writer) > 0);
}

static size_t directory_bytes(const struct tiff_writer *writer, bool described)
{
    return (writer->big ? 8 : 2) + entry_count(writer, described) * (writer->big ? 20 : 12) +
           width_of(writer);
}

/* A page, whose samples stand there; and where the next directory is. */
static void add_directory(const struct tiff_writer *writer, struct text *text, bool described,
                          uint64_t samples, uint64_t bytes, uint64_t next)
{
    const struct tiff_writer_stack *stack = &writer->stack;
    unsigned place = writer->big ? LONG8 : LONG;

    add(text, writer->big ? 8 : 2, entry_count(writer, described));
    add_entry(writer, text, IMAGE_WIDTH, LONG, 1, stack->width);
    add_entry(writer, text, IMAGE_LENGTH, LONG, 1, stack->height);
    add_for_channels(writer, text, BITS_PER_SAMPLE, bits_of(writer), writer->bits_at);
    add_entry(writer, text, COMPRESSION, SHORT, 1, stack->level > 0 ? DEFLATED : AS_THEY_ARE);
    add_entry(writer, text, PHOTOMETRIC, SHORT, 1, stack->rgb ? RGB : GRAY);
    if (described)
        add_entry(writer, text, IMAGE_DESCRIPTION, ASCII, writer->description_bytes, writer->description_at);
    add_entry(writer, text, STRIP_OFFSETS, place, 1, samples);
    add_entry(writer, text, SAMPLES_PER_PIXEL, SHORT, 1, stack->channels);
    add_entry(writer, text, ROWS_PER_STRIP, LONG, 1, stack->height);
    add_entry(writer, text, STRIP_BYTE_COUNTS, place, 1, bytes);
    add_resolution(writer, text, X_RESOLUTION, 0);
    add_resolution(writer, text, Y_RESOLUTION, 1);
    add_entry(writer, text, RESOLUTION_UNIT, SHORT, 1, stack->unit);
    if (extra_channels(writer) > 0)
        add_for_channels(writer, text, EXTRA_SAMPLES, extras_of(writer), writer->extras_at);
    add_for_channels(writer, text, SAMPLE_FORMAT, formats_of(writer), writer->formats_at);
    add(text, width_of(writer), next);
}

/* ---- what comes before the samples ---- */

/* A list of one number for each channel; returns where it stands. */
static uint64_t add_list(struct text *text, struct numbers numbers)
{
    uint64_t place = text->size;

    for (unsigned i = 0; i < numbers.count; i++)
        add(text, 2, number_of(&numbers, i));
    return place;
}

static void add_shared(struct tiff_writer *writer, struct text *text)
{
    const struct tiff_writer_stack *stack = &writer->stack;

    writer->bits_at = add_list(text, bits_of(writer));
    writer->formats_at = add_list(text, formats_of(writer));
    writer->extras_at = add_list(text, extras_of(writer));
    writer->resolutions_at = text->size;
    add_ratio(text, stack->distance[0]);
    add_ratio(text, stack->distance[1]);
    writer->description_at = text->size;
    for (size_t i = 0; i < writer->description_bytes; i++)
        add(text, 1, (unsigned char)stack->description[i]);
}

static void fill_up(struct text *text, size_t alignment)
{
    while (text->size % alignment != 0)
        add(text, 1, 0);
}

static void add_header(const struct tiff_writer *writer, struct text *text)
{
    add(text, 1, text->endian == ENDIAN_LITTLE ? 'I' : 'M');
    add(text, 1, text->endian == ENDIAN_LITTLE ? 'I' : 'M');
    add(text, 2, writer->big ? 43 : 42);
    if (writer->big) {
        add(text, 2, 8);
        add(text, 2, 0);
    }
}

/* Pages as they are have their first directory before the samples, so that whoever reads in order knows them.
 */
static void add_start(struct tiff_writer *writer, struct text *text)
{
    const struct tiff_writer_stack *stack = &writer->stack;
    bool described = stack->description != NULL;
    uint64_t directory;

    add_header(writer, text);
    writer->link_at = text->size;
    add(text, width_of(writer), 0);
    add_shared(writer, text);
    fill_up(text, ALIGNMENT);
    directory = text->size;
    writer->samples_at = directory;
    if (stack->level > 0)
        return;
    writer->samples_at += (directory_bytes(writer, described) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    add_directory(writer, text, described, writer->samples_at, writer->page_bytes,
                  stack->pages > 1 ? writer->samples_at + stack->pages * writer->page_bytes : 0);
    fill_up(text, ALIGNMENT);
    text->size = writer->link_at;
    add(text, width_of(writer), directory);
    text->size = writer->samples_at;
}

/* Whether places in the file may need more than 32 bits. */
static bool may_be_big(const struct tiff_writer *writer, size_t start_bytes)
{
    const struct tiff_writer_stack *stack = &writer->stack;
    double page = (double)(stack->level > 0 ? deflate_bound(writer->page_bytes) : writer->page_bytes);

    return (page + DIRECTORY_MOST) * (double)stack->pages + (double)start_bytes > (double)UINT32_MAX;
}

static bool write_start(struct tiff_writer *writer, struct fault *fault)
{
    size_t most = BIG_HEADER_SIZE + 6 * (size_t)writer->stack.channels + writer->description_bytes +
                  2 * DIRECTORY_MOST + 4 * ALIGNMENT;
    struct text text = {mem_alloc(most, 1, "the header of a TIFF file", fault), 0, writer->stack.endian};
    bool done;

    if (text.bytes == NULL)
        return false;
    writer->big = may_be_big(writer, most);
    add_start(writer, &text);
    writer->position = text.size;
    done = file_out_write(writer->file, text.bytes, text.size, fault);
    mem_free(text.bytes);
    return done;
}

static bool begin_pack(struct tiff_writer *writer, struct fault *fault)
{
    const struct tiff_writer_stack *stack = &writer->stack;

    writer->page_at = writer->position;
    writer->page_left = writer->page_bytes;
    return stack->level == 0 || gzip_writer_open(&writer->gzip, writer->file, GZIP_WRITER_ZLIB, stack->level,
                                                 stack->threads, fault);
}

bool tiff_writer_begin(struct tiff_writer **result, struct file_out *file,
                       const struct tiff_writer_stack *stack, struct fault *fault)
{
    struct tiff_writer *writer = mem_zeroed(1, sizeof *writer, "a TIFF writer", fault);

    if (writer == NULL)
        return false;
    writer->file = file;
    writer->stack = *stack;
    writer->page_bytes = stack->width * stack->height * stack->channels * sample_size(stack->type);
    writer->description_bytes = stack->description == NULL ? 0 : strlen(stack->description) + 1;
    if (write_start(writer, fault) && begin_pack(writer, fault)) {
        *result = writer;
        return true;
    }
    tiff_writer_free(writer);
    return false;
}

uint64_t tiff_writer_place(const struct tiff_writer *writer)
{
    return writer->samples_at;
}

/* ---- pages that are deflated ---- */

/* The file so far says where the directory that comes now is. */
static bool link_to(struct tiff_writer *writer, uint64_t directory, struct fault *fault)
{
    unsigned char bytes[8];
    struct text text = {bytes, 0, writer->stack.endian};

    add(&text, width_of(writer), directory);
    return file_out_flush(writer->file, fault) &&
           file_out_write_at(writer->file, writer->link_at, text.bytes, text.size, fault);
}

/* The page has all its samples: its directory follows them. */
static bool end_page(struct tiff_writer *writer, struct fault *fault)
{
    unsigned char bytes[DIRECTORY_MOST + ALIGNMENT];
    struct text text = {bytes, 0, writer->stack.endian};
    bool described = writer->pages_ended == 0 && writer->stack.description != NULL;
    uint64_t packed, end, directory;

    if (!gzip_writer_finish(writer->gzip, fault))
        return false;
    packed = gzip_writer_size(writer->gzip) - writer->packed_before;
    end = writer->page_at + packed;
    directory = (end + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    for (uint64_t at = end; at < directory; at++)
        add(&text, 1, 0);
    add_directory(writer, &text, described, writer->page_at, packed, 0);
    if (!file_out_write(writer->file, text.bytes, text.size, fault) || !link_to(writer, directory, fault))
        return false;
    writer->packed_before += packed;
    writer->page_at = end + text.size;
    writer->link_at = writer->page_at - width_of(writer);
    writer->page_left = writer->page_bytes;
    return ++writer->pages_ended == writer->stack.pages || gzip_writer_begin_again(writer->gzip, fault);
}

bool tiff_writer_put(struct tiff_writer *writer, const void *samples, size_t bytes, struct fault *fault)
{
    const unsigned char *from = samples;

    if (writer->gzip == NULL)
        return file_out_write(writer->file, samples, bytes, fault);
    while (bytes > 0) {
        size_t piece = bytes < writer->page_left ? bytes : (size_t)writer->page_left;
        if (!gzip_writer_write(writer->gzip, from, piece, fault))
            return false;
        from += piece;
        bytes -= piece;
        writer->page_left -= piece;
        if (writer->page_left == 0 && !end_page(writer, fault))
            return false;
    }
    return true;
}

/* ---- what comes after the samples ---- */

/* Samples may have been written at their places, which files that get their names later allow. */
static bool put_at(const struct tiff_writer *writer, uint64_t place, const struct text *text,
                   struct fault *fault)
{
    if (file_out_is_renamed(writer->file))
        return file_out_write_at(writer->file, place, text->bytes, text->size, fault);
    return file_out_write(writer->file, text->bytes, text->size, fault);
}

/* The directories of all pages but the first, in pieces. */
static bool write_directories(const struct tiff_writer *writer, unsigned char *bytes, struct fault *fault)
{
    const struct tiff_writer_stack *stack = &writer->stack;
    struct text text = {bytes, 0, stack->endian};
    uint64_t place = writer->samples_at + stack->pages * writer->page_bytes;
    size_t size = directory_bytes(writer, false);

    for (uint64_t page = 1; page < stack->pages; page++) {
        uint64_t next = page + 1 == stack->pages ? 0 : place + text.size + size;
        add_directory(writer, &text, false, writer->samples_at + page * writer->page_bytes,
                      writer->page_bytes, next);
        if (text.size + size > CHUNK || next == 0) {
            if (!put_at(writer, place, &text, fault))
                return false;
            place += text.size;
            text.size = 0;
        }
    }
    return true;
}

bool tiff_writer_end(struct tiff_writer *writer, struct fault *fault)
{
    unsigned char *bytes;
    bool done;

    if (writer->gzip != NULL)
        return true;
    bytes = mem_alloc(CHUNK, 1, "the directories of a TIFF file", fault);
    done = bytes != NULL && (!file_out_is_renamed(writer->file) || file_out_flush(writer->file, fault)) &&
           write_directories(writer, bytes, fault);
    mem_free(bytes);
    return done;
}

void tiff_writer_free(struct tiff_writer *writer)
{
    if (writer == NULL)
        return;
    gzip_writer_close(writer->gzip);
    mem_free(writer);
}
