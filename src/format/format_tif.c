/* TIFF stacks: pages are planes, and a page alone is a picture. tiff_reader.h reads pages; they are written
   here, one behind the other, as they are or deflated.

   A file begins with a header and with lists and texts that all directories refer to. Pages as they are: the
   directory of the first one comes next, then all samples, then the other directories. So the place of each
   sample is known at once, threads and processes may write them in any order, and a pipe will do. Pages that
   are deflated: each is followed by its directory, since only then its size is known, and the link to the
   directory is filled in where the one before has left room for it; this takes a regular file. A file that
   may grow over 4 GiB is a BigTIFF from the start.

   Distances along x and y are in the resolution, and the one along z and the unit are in a description as
   ImageJ has it, which a stack has on its first page. */
#include "base/deflate.h"
#include "base/file_in.h"
#include "base/file_out.h"
#include "base/mem.h"
#include "base/number.h"
#include "model/limits.h"
#include "format.h"
#include "foreign_type.h"
#include "gzip_writer.h"
#include "tiff_reader.h"
#include "tiff_text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { DESCRIPTION_MOST = 512, CHANNELS_MOST = 65535, DEFAULT_DPI = 72 };

/* Values of ResolutionUnit. */
enum { NO_UNIT = 1, INCHES = 2, CENTIMETRES = 3 };

/* Values of ExtraSamples. */
enum { NO_ALPHA = 0, ASSOCIATED = 1, UNASSOCIATED = 2 };

static bool is_tiff(const unsigned char *start, size_t size)
{
    static const char *const marks[] = {"II*\0", "MM\0*", "II+\0", "MM\0+"};

    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        if (size >= 8 && memcmp(start, marks[i], 4) == 0)
            return true;
    }
    return false;
}

/* The 128 bytes that a DICOM file begins with may look like the start of a TIFF file. */
static bool sniff(const unsigned char *start, size_t size)
{
    return is_tiff(start, size) && foreign_type_of_start(start, size) == NULL;
}

/* ---- reading ---- */

/* Refuse what does not begin as a TIFF file, in words that help. */
static bool check_start(struct source *source, struct fault *fault)
{
    unsigned char start[8];
    size_t got;

    if (!file_in_peek(source->file, start, sizeof start, &got, fault))
        return false;
    return is_tiff(start, got) ||
           source_refuse(source, fault, "magic: %s",
                         got >= 2 && start[0] == 0x1f && start[1] == 0x8b
                             ? "a TIFF file compressed by gzip as a whole, which is not supported"
                             : "not that of a TIFF file");
}

static void set_distance(double *spacing, double distance)
{
    if (distance >= LEAST_SPACING && distance <= MOST_SPACING)
        *spacing = distance;
}

/* Whether the resolution tells the spacing: the default is what a program writes that knows none. */
static bool has_resolution(const struct tiff_pages *pages)
{
    bool is_default = pages->unit == INCHES && pages->distance[0] == 1.0 / DEFAULT_DPI &&
                      pages->distance[1] == 1.0 / DEFAULT_DPI;

    return pages->has_resolution && !is_default && pages->text.spacing[0] == 0.0;
}

static void set_spacing(struct source *source, const struct tiff_pages *pages)
{
    double *spacing = source->header.grid.spacing;
    const struct tiff_text *text = &pages->text;

    for (int i = 0; i < 2; i++)
        set_distance(&spacing[i], text->spacing[i] > 0.0  ? text->spacing[i]
                                  : has_resolution(pages) ? pages->distance[i]
                                                          : 1.0);
    /* Where nothing tells, pages are as far apart as samples are. */
    spacing[2] = text->imagej || source->header.grid.axes < 3 ? 1.0 : spacing[0];
    set_distance(&spacing[2], text->spacing[2]);
}

static unsigned unit_of(const struct tiff_pages *pages)
{
    return has_resolution(pages) ? pages->unit : NO_UNIT;
}

/* The unit of the spacing along x, which is that of the description as well. */
static const struct length_unit *length_unit_of(const struct tiff_pages *pages)
{
    bool has_spacing = pages->text.spacing[0] > 0.0 || has_resolution(pages);

    if (pages->text.unit[0] != '\0')
        return has_spacing ? unit_of_name(pages->text.unit) : NULL;
    return unit_of_resolution(unit_of(pages));
}

static void describe(struct source *source, const struct tiff_pages *pages)
{
    bool is_volume = pages->count > 1 || (pages->text.imagej && pages->text.slices > 0);
    struct header *header = &source->header;

    header->grid =
        grid_make(is_volume ? 3 : 2, (size_t)pages->width, (size_t)pages->height, (size_t)pages->count);
    header->grid.channels = pages->channels;
    header->alpha = pages->alpha != NO_ALPHA;
    header->associated = pages->alpha == ASSOCIATED;
    header->type = pages->type;
    header->endian = pages->endian;
    set_spacing(source, pages);
    header->millimetres = unit_millimetres(length_unit_of(pages));
    /* Programs give any picture a resolution, one for printers. Who measured samples tells the unit's name,
       or how far apart pages are. */
    header->for_print = has_resolution(pages) && pages->text.unit[0] == '\0' && pages->text.spacing[2] == 0.0;
    snprintf(source->dropped, sizeof source->dropped, "%s", pages->dropped);
    if (pages->left_out > 0)
        snprintf(source->note, sizeof source->note, "%.256s: %llu page%s left out: reduced copies or masks",
                 file_in_name(source->file), (unsigned long long)pages->left_out,
                 number_plural(pages->left_out));
    if (pages->warning[0] != '\0')
        snprintf(source->warning, sizeof source->warning, "%.240s: %s", file_in_name(source->file),
                 pages->warning);
}

static bool open_source(struct source *source, const struct source_request *request, struct fault *fault)
{
    struct tiff_pages *pages;

    (void)request;
    if (!check_start(source, fault) || !tiff_reader_open(&pages, source->file, fault))
        return false;
    source->state = pages;
    describe(source, pages);
    source->random = pages->plain;
    source->beside_bytes = pages->reading_bytes;
    return true;
}

/* A plane is a page, or a row where a page is all. Libtiff gives samples in this machine's byte order. */
static bool read_samples(struct source *source, void *samples, size_t planes, struct fault *fault)
{
    const struct header *header = &source->header;

    if (!tiff_reader_rows(source->state, samples, planes * grid_rows(&header->grid), fault))
        return false;
    if (header->endian != endian_native())
        sample_swap(header->type, samples, planes * grid_plane_samples(&header->grid));
    return true;
}

static bool read_piece(struct source *source, uint64_t place, unsigned char *samples, size_t bytes,
                       struct fault *fault)
{
    size_t got;

    if (!file_in_read_at(source->file, place, samples, bytes, &got, fault))
        return false;
    return got == bytes || source_refuse(source, fault, "length: the file became shorter");
}

static bool read_at(struct source *source, void *samples, size_t first, size_t planes, struct fault *fault)
{
    size_t plane = header_plane_bytes(&source->header);
    unsigned char *to = samples;

    if (source->header.grid.axes == 2)
        return read_piece(source, tiff_reader_place(source->state, 0) + (uint64_t)first * plane, to,
                          planes * plane, fault);
    for (size_t i = 0; i < planes; i++, to += plane) {
        if (!read_piece(source, tiff_reader_place(source->state, first + i), to, plane, fault))
            return false;
    }
    return true;
}

static void close_source(struct source *source)
{
    tiff_reader_close(source->state);
    source->state = NULL;
}

/* Other formats take distances in millimetres, to which only a unit that is known is converted. */
static void list_dropped(const struct source *source, const struct format *sink, const struct header *written,
                         char *dropped, size_t size)
{
    const struct tiff_pages *pages = source->state;

    (void)written;
    if (pages->alpha != NO_ALPHA && !(source->header.alpha && format_tells_alpha(sink, &source->header)))
        format_drop(dropped, size, "ExtraSamples");
    if (sink->family == source->format->family || source->header.millimetres > 0.0)
        return;
    if (pages->text.unit[0] != '\0')
        format_drop(dropped, size, "unit");
    else if (unit_of(pages) != NO_UNIT)
        format_drop(dropped, size, "ResolutionUnit");
}

/* ---- writing: directories ---- */

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

/* Bytes that are being put together: numbers are added in the byte order of the file. */
struct text {
    unsigned char *bytes;
    size_t size;
    enum endian endian;
};

/* A field with a number for each channel, of which the last may have another number. Numbers that do not
   fit into the entry are written before the samples, at `at`. */
struct channel_list {
    unsigned count;
    uint64_t number, last;
    uint64_t at;
};

/* A file that is being written. */
struct writer {
    struct file_out *file;
    struct header header; /* of the whole stack */
    bool rgb;             /* the first three channels are red, green and blue */
    bool compressed, big;
    double distance[2]; /* between samples, along x and y */
    unsigned unit;      /* of that, as ResolutionUnit has it */

    /* All pages share these. */
    struct channel_list bits, formats, extras;
    char description[DESCRIPTION_MOST]; /* of the first page alone */
    size_t description_bytes;           /* 0: there is none */
    uint64_t resolutions_at, description_at;

    uint64_t page_bytes;
    uint64_t samples_at;
    uint64_t link_at; /* of the link that is to lead to the next directory */

    /* For compressed pages. */
    struct gzip_writer *gzip;
    uint64_t page_at, page_left, packed_before;
    uint64_t pages_ended;
};

/* Add a number of `size` bytes. */
static void add(struct text *text, size_t size, uint64_t number)
{
    for (size_t i = 0; i < size; i++)
        text->bytes[text->size + (text->endian == ENDIAN_LITTLE ? i : size - 1 - i)] =
            (unsigned char)(number >> (8 * i));
    text->size += size;
}

/* Bytes of a count or an offset: 8 in a BigTIFF. */
static size_t width_of(const struct writer *writer)
{
    return writer->big ? 8 : 4;
}

/* One value stands in its entry; of several, where they stand, unless a short list fits. */
static void add_entry(const struct writer *writer, struct text *text, enum tag tag, unsigned type,
                      uint64_t count, uint64_t value)
{
    size_t width = width_of(writer), size = type == ASCII ? 1 : type == SHORT ? 2 : type == LONG ? 4 : 8;
    bool inside = count == 1 && size <= width;

    add(text, 2, tag);
    add(text, 2, type);
    add(text, width, count);
    add(text, inside ? size : width, value);
    for (size_t i = inside ? size : width; i < width; i++)
        add(text, 1, 0);
}

static uint64_t number_of(const struct channel_list *list, size_t i)
{
    return i + 1 == list->count ? list->last : list->number;
}

/* A number for each channel: in the entry if they fit, else by their place. */
static void add_for_channels(const struct writer *writer, struct text *text, enum tag tag,
                             const struct channel_list *list)
{
    size_t width = width_of(writer);

    if (list->count * 2 > width || list->count == 1) {
        add_entry(writer, text, tag, SHORT, list->count, list->count == 1 ? list->last : list->at);
        return;
    }
    add(text, 2, tag);
    add(text, 2, SHORT);
    add(text, width, list->count);
    for (size_t i = 0; i < width / 2; i++)
        add(text, 2, i < list->count ? number_of(list, i) : 0);
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
static void add_resolution(const struct writer *writer, struct text *text, enum tag tag, int axis)
{
    add(text, 2, tag);
    add(text, 2, RATIONAL);
    add(text, width_of(writer), 1);
    if (writer->big)
        add_ratio(text, writer->distance[axis]);
    else
        add(text, 4, writer->resolutions_at + 8 * (uint64_t)axis);
}

static size_t entry_count(const struct writer *writer, bool described)
{
    return 13 + (size_t)described + (size_t)(writer->extras.count > 0);
}

static size_t directory_bytes(const struct writer *writer, bool described)
{
    return (writer->big ? 8 : 2) + entry_count(writer, described) * (writer->big ? 20 : 12) +
           width_of(writer);
}

/* A page, whose samples stand there; and where the next directory is. */
static void add_directory(const struct writer *writer, struct text *text, bool described, uint64_t samples,
                          uint64_t bytes, uint64_t next)
{
    const struct grid *grid = &writer->header.grid;
    unsigned place = writer->big ? LONG8 : LONG;

    add(text, writer->big ? 8 : 2, entry_count(writer, described));
    add_entry(writer, text, IMAGE_WIDTH, LONG, 1, grid->nx);
    add_entry(writer, text, IMAGE_LENGTH, LONG, 1, grid->ny);
    add_for_channels(writer, text, BITS_PER_SAMPLE, &writer->bits);
    add_entry(writer, text, COMPRESSION, SHORT, 1, writer->compressed ? DEFLATED : AS_THEY_ARE);
    add_entry(writer, text, PHOTOMETRIC, SHORT, 1, writer->rgb ? RGB : GRAY);
    if (described)
        add_entry(writer, text, IMAGE_DESCRIPTION, ASCII, writer->description_bytes, writer->description_at);
    add_entry(writer, text, STRIP_OFFSETS, place, 1, samples);
    add_entry(writer, text, SAMPLES_PER_PIXEL, SHORT, 1, grid->channels);
    add_entry(writer, text, ROWS_PER_STRIP, LONG, 1, grid->ny);
    add_entry(writer, text, STRIP_BYTE_COUNTS, place, 1, bytes);
    add_resolution(writer, text, X_RESOLUTION, 0);
    add_resolution(writer, text, Y_RESOLUTION, 1);
    add_entry(writer, text, RESOLUTION_UNIT, SHORT, 1, writer->unit);
    if (writer->extras.count > 0)
        add_for_channels(writer, text, EXTRA_SAMPLES, &writer->extras);
    add_for_channels(writer, text, SAMPLE_FORMAT, &writer->formats);
    add(text, width_of(writer), next);
}

/* ---- what comes before the samples ---- */

static void add_list(struct text *text, struct channel_list *list)
{
    list->at = text->size;
    for (unsigned i = 0; i < list->count; i++)
        add(text, 2, number_of(list, i));
}

/* Lists and texts that the entries of directories refer to. */
static void add_shared(struct writer *writer, struct text *text)
{
    add_list(text, &writer->bits);
    add_list(text, &writer->formats);
    add_list(text, &writer->extras);
    writer->resolutions_at = text->size;
    add_ratio(text, writer->distance[0]);
    add_ratio(text, writer->distance[1]);
    writer->description_at = text->size;
    for (size_t i = 0; i < writer->description_bytes; i++)
        add(text, 1, (unsigned char)writer->description[i]);
}

static void fill_up(struct text *text, size_t alignment)
{
    while (text->size % alignment != 0)
        add(text, 1, 0);
}

/* Pages as they are have their first directory before the samples, so that whoever reads in order
   knows them. */
static void add_start(struct writer *writer, struct text *text)
{
    bool described = writer->description_bytes > 0;
    uint64_t directory, pages = writer->header.grid.nz;

    for (int i = 0; i < 2; i++)
        add(text, 1, text->endian == ENDIAN_LITTLE ? 'I' : 'M');
    /* The header, whose link to the first directory is filled in at the end; then lists and texts that
       directories refer to. */
    add(text, 2, writer->big ? 43 : 42);
    if (writer->big) {
        add(text, 2, 8);
        add(text, 2, 0);
    }
    writer->link_at = text->size;
    add(text, width_of(writer), 0);
    add_shared(writer, text);
    fill_up(text, ALIGNMENT);
    /* The first directory, if the samples are as they are: then all places are known. */
    directory = text->size;
    writer->samples_at = directory;
    if (writer->compressed)
        return;
    writer->samples_at += (directory_bytes(writer, described) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    add_directory(writer, text, described, writer->samples_at, writer->page_bytes,
                  pages > 1 ? writer->samples_at + pages * writer->page_bytes : 0);
    fill_up(text, ALIGNMENT);
    text->size = writer->link_at;
    add(text, width_of(writer), directory);
    text->size = writer->samples_at;
}

/* Write all that comes before the samples. A file that may grow over 4 GiB becomes a BigTIFF. */
static bool write_start(struct writer *writer, struct fault *fault)
{
    const struct grid *grid = &writer->header.grid;
    uint64_t page = writer->compressed ? deflate_bound(writer->page_bytes) : writer->page_bytes;
    size_t most = BIG_HEADER_SIZE + 6 * (size_t)grid->channels + writer->description_bytes +
                  2 * DIRECTORY_MOST + 4 * ALIGNMENT;
    struct text text = {mem_alloc(most, 1, "the header of a TIFF file", fault), 0, writer->header.endian};
    bool done;

    if (text.bytes == NULL)
        return false;
    /* Places in the file may need more than 32 bits. */
    writer->big = ((double)page + DIRECTORY_MOST) * (double)grid->nz + (double)most > (double)UINT32_MAX;
    add_start(writer, &text);
    writer->page_at = text.size;
    done = file_out_write(writer->file, text.bytes, text.size, fault);
    mem_free(text.bytes);
    return done;
}

/* ---- writing: the sink ---- */

static bool check_writable(const struct sink *sink, int level, struct fault *fault)
{
    const struct grid *grid = &sink->header.grid;
    const char *name = file_out_name(sink->file);

    if (grid->nx > UINT32_MAX || grid->ny > UINT32_MAX)
        return fault_set_for(fault, STATUS_LIMIT, name, "a TIFF page is at most %lu samples wide and high",
                             (unsigned long)UINT32_MAX);
    if (grid->channels > CHANNELS_MOST)
        return fault_set_for(fault, STATUS_LIMIT, name, "a TIFF file has at most %d channels", CHANNELS_MOST);
    /* Directories of compressed pages come when their size is known, and what is before them is
       told where. */
    return level == 0 || file_out_is_renamed(sink->file) ||
           fault_set_for(fault, STATUS_USAGE, name,
                         "a compressed %s needs a regular file, since it is not written in order",
                         sink->format->name);
}

static const struct tiff_pages *pages_of_origin(const struct source *origin)
{
    return origin != NULL && origin->format->family == FAMILY_TIFF ? origin->state : NULL;
}

static bool is_rgb(const struct header *header)
{
    return (header->grid.channels == 4 && header->alpha) ||
           ((header->grid.channels == 3 || header->grid.channels == 4) &&
            (header->type == SAMPLE_U8 || header->type == SAMPLE_U16));
}

static void discard_sink(struct sink *sink)
{
    struct writer *writer = sink->state;

    gzip_writer_close(writer->gzip);
    mem_free(writer);
    sink->state = NULL;
}

/* Distances and their unit: a description of a stack has it by name. */
static void describe_distances(struct writer *writer, const struct tiff_pages *origin)
{
    const struct header *header = &writer->header;
    const char *unit = origin != NULL              ? origin->text.unit
                       : header->millimetres > 0.0 ? unit_millimetre()->names[0]
                                                   : "";

    memcpy(writer->distance, header->grid.spacing, sizeof writer->distance);
    writer->unit = origin == NULL || header->millimetres == 0.0 ? NO_UNIT : unit_of(origin);
    if (header->grid.axes == 3) {
        tiff_text_write(header->grid.nz, header->grid.spacing[2], unit, writer->description,
                        sizeof writer->description);
        writer->description_bytes = strlen(writer->description) + 1;
    } else if (origin == NULL && header->millimetres > 0.0) {
        writer->unit = CENTIMETRES;
        for (unsigned axis = 0; axis < 2; axis++)
            writer->distance[axis] /= unit_of_resolution(CENTIMETRES)->millimetres;
    }
}

/* Describe each channel: bits, kind of number, and colour, alpha or neither. */
static void describe_channels(struct writer *writer)
{
    const struct header *header = &writer->header;
    unsigned channels = header->grid.channels;
    uint64_t bits = 8 * sample_size(header->type), format = !sample_is_integer(header->type) ? 3
                                                            : sample_min(header->type) < 0.0 ? 2
                                                                                             : 1;

    writer->rgb = is_rgb(header);
    writer->bits = (struct channel_list){channels, bits, bits, 0};
    writer->formats = (struct channel_list){channels, format, format, 0};
    writer->extras = (struct channel_list){
        .count = channels - (writer->rgb ? 3 : 1),
        .last = !header->alpha       ? NO_ALPHA
                : header->associated ? ASSOCIATED
                                     : UNASSOCIATED,
    };
}

static bool create_sink(struct sink *sink, const struct sink_request *request, struct fault *fault)
{
    const struct grid *grid = &sink->header.grid;
    int level = request->level < 0 ? 0 : request->level;
    struct writer *writer;

    if (!check_writable(sink, level, fault))
        return false;
    sink->state = writer = mem_zeroed(1, sizeof *writer, "a TIFF writer", fault);
    if (writer == NULL)
        return false;
    writer->file = sink->file;
    writer->header = sink->header;
    writer->compressed = level > 0;
    writer->page_bytes = writer->page_left =
        grid->nx * grid->ny * grid->channels * sample_size(sink->header.type);
    /* All that pages say must be known now: the first directory may stand before the samples. */
    describe_distances(writer, pages_of_origin(request->origin));
    describe_channels(writer);
    if (!write_start(writer, fault) ||
        (level > 0 &&
         !gzip_writer_open(&writer->gzip, sink->file, GZIP_WRITER_ZLIB, level, request->threads, fault))) {
        discard_sink(sink);
        return false;
    }
    if (level == 0 && file_out_is_renamed(sink->file))
        sink->samples = (struct sink_place){.file = sink->file, .begin = writer->samples_at};
    return true;
}

/* ---- pages that are deflated ---- */

/* The file so far says where the directory that comes now is. */
static bool link_to(struct writer *writer, uint64_t directory, struct fault *fault)
{
    unsigned char bytes[8];
    struct text text = {bytes, 0, writer->header.endian};

    add(&text, width_of(writer), directory);
    return file_out_flush(writer->file, fault) &&
           file_out_write_at(writer->file, writer->link_at, text.bytes, text.size, fault);
}

/* The page has all its samples: its directory follows them. */
static bool end_page(struct writer *writer, struct fault *fault)
{
    unsigned char bytes[DIRECTORY_MOST + ALIGNMENT];
    struct text text = {bytes, 0, writer->header.endian};
    bool described = writer->pages_ended == 0 && writer->description_bytes > 0;
    uint64_t packed, end, directory;

    if (!gzip_writer_finish(writer->gzip, fault))
        return false;
    /* The directory follows the code of the page, at the next aligned place. */
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
    return ++writer->pages_ended == writer->header.grid.nz || gzip_writer_begin_again(writer->gzip, fault);
}

/* Samples as they are go straight into the file; others are deflated page by page. */
static bool write_samples(struct sink *sink, const void *samples, size_t planes, struct fault *fault)
{
    struct writer *writer = sink->state;
    size_t bytes = planes * header_plane_bytes(&sink->header);
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

/* The directories of all pages but the first, in pieces. */
static bool write_directories(const struct writer *writer, unsigned char *bytes, struct fault *fault)
{
    struct text text = {bytes, 0, writer->header.endian};
    uint64_t pages = writer->header.grid.nz, place = writer->samples_at + pages * writer->page_bytes;
    size_t size = directory_bytes(writer, false);

    for (uint64_t page = 1; page < pages; page++) {
        uint64_t next = page + 1 == pages ? 0 : place + text.size + size;
        add_directory(writer, &text, false, writer->samples_at + page * writer->page_bytes,
                      writer->page_bytes, next);
        if (text.size + size > CHUNK || next == 0) {
            /* Samples may have been written at their places, which files that get their names later allow. */
            if (!(file_out_is_renamed(writer->file)
                      ? file_out_write_at(writer->file, place, text.bytes, text.size, fault)
                      : file_out_write(writer->file, text.bytes, text.size, fault)))
                return false;
            place += text.size;
            text.size = 0;
        }
    }
    return true;
}

/* Write the directories of all pages but the first; deflated pages have theirs already. */
static bool finish_sink(struct sink *sink, struct fault *fault)
{
    const struct writer *writer = sink->state;
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

#define TIFF_OPERATIONS                                                                                      \
    .family = FAMILY_TIFF, .title = "a TIFF file", .holds_spacing = true, .holds_colours = true,             \
    .alpha = FORMAT_ANY_ALPHA, .compresses = true, .open = open_source, .read = read_samples,                \
    .read_at = read_at, .close = close_source, .list_dropped = list_dropped, .create = create_sink,          \
    .write = write_samples, .finish = finish_sink, .discard = discard_sink

const struct format format_tif = {
    .name = "tif", .summary = "TIFF stacks, a page a plane", .sniff = sniff, TIFF_OPERATIONS};
const struct format format_tiff = {.name = "tiff", .summary = "the same", TIFF_OPERATIONS};
