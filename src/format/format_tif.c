/* TIFF stacks: pages are planes, and a page alone is a picture. tiff_reader.h reads pages; they are written
   here, one behind the other, as they are or deflated.

   A file begins with a header and with lists and texts that all directories refer to. Pages as they are: the
   directory of the first one comes next, then all samples, then the other directories. So the place of each
   sample is known at once, threads and processes may write them in any order, and a pipe will do. Pages that
   are deflated come first, and then all directories, since only then places and sizes are known; this takes a
   regular file. A file that may grow over 4 GiB is a BigTIFF from the start.

   The volumes of a series come one after the other. Their pages stand in the order of the input's axes, in
   the file as well, because ImageJ takes pages for what follows the first one. So where volumes stand in
   turn, such as channels of each slice, a page that is not deflated is written at its place, which takes a
   regular file, too.

   Distances along x and y are in the resolution, and the one along z and the unit are in the description,
   which is on the first page: that of the input if it is OME's or tells more axes than ImageJ's can; else one
   as ImageJ has it, or as OME has it if the name asks for that. */
#include "base/deflate.h"
#include "base/file_in.h"
#include "base/file_out.h"
#include "base/mem.h"
#include "base/size.h"
#include "model/limits.h"
#include "format.h"
#include "foreign_type.h"
#include "gzip_writer.h"
#include "ome_xml.h"
#include "box.h"
#include "tiff_reader.h"
#include "tiff_text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { CHANNELS_MOST = 65535, DEFAULT_DPI = 72 };

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
    spacing[2] = text->kind == TIFF_TEXT_IMAGEJ || source->header.grid.axes < 3 ? 1.0 : spacing[0];
    set_distance(&spacing[2], text->spacing[2]);
    source->header.tells_depth = text->spacing[2] > 0.0;
    /* Samples of a smaller resolution are further apart than the file says. */
    for (int i = 0; i < 2; i++) {
        uint64_t extent = i == 0 ? pages->width : pages->height;
        if (extent != pages->full[i])
            source->header.respaced = RESPACED_BY_RESOLUTION;
        spacing[i] *= (double)pages->full[i] / (double)extent;
    }
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
    return unit_of_code(UNIT_RESOLUTION, unit_of(pages));
}

/* The axes along which volumes follow each other, as the input has them. */
static void describe_series(struct header *header, const struct tiff_text *text)
{
    for (const char *axis = text->order; header->volumes > 1 && *axis != '\0'; axis++) {
        uint64_t extent = *axis == 'C' ? text->channels : *axis == 'T' ? text->frames : 1;
        header_add_series(header, *axis == 'C' ? SERIES_CHANNEL : SERIES_TIME, extent);
    }
}

static void describe(struct source *source, const struct tiff_pages *pages)
{
    struct header *header = &source->header;

    header->grid = grid_make(pages->text.is_volume ? 3 : 2, (size_t)pages->width, (size_t)pages->height,
                             (size_t)pages->slices);
    header->volumes = (size_t)pages->volumes;
    describe_series(header, &pages->text);
    header->grid.channels = pages->channels;
    header->alpha = pages->alpha != NO_ALPHA;
    header->associated = pages->alpha == ASSOCIATED;
    header->type = pages->type;
    header->endian = pages->endian;
    header->bits = pages->bits;
    header->photometric = pages->photometric;
    set_spacing(source, pages);
    header->millimetres = unit_millimetres(length_unit_of(pages));
    /* Programs give any picture a resolution, one for printers. Who measured samples tells the unit's name,
       or how far apart pages are. */
    header->for_print = has_resolution(pages) && pages->text.unit[0] == '\0' && pages->text.spacing[2] == 0.0;
    source->dropped = pages->dropped;
    if (pages->inverted)
        diag_append(source->note, sizeof source->note, "%.192s: white is zero there: samples are inverted",
                    file_in_name(source->file));
    source_note_left_out(source, pages->left_out, "page", ": reduced copies or masks");
    source_note_left_out(source, pages->others, "page",
                         pages->text.images > 1 ? ": other Images (--volume)" : ": other stacks");
    if (pages->warning[0] != '\0')
        snprintf(source->warning, sizeof source->warning, "%.240s: %s", file_in_name(source->file),
                 pages->warning);
}

static bool open_source(struct source *source, const struct source_request *request, struct fault *fault)
{
    struct tiff_pages *pages;

    if (!check_start(source, fault) || !tiff_reader_open(&pages, source->file, request, fault))
        return false;
    source->state = pages;
    describe(source, pages);
    if (request->resolution == 0)
        source_note_left_out(source, pages->levels, "smaller resolution", " (--resolution)");
    source->volumes_before = (size_t)pages->text.before;
    source->random = true;
    source->one_reader = !pages->plain;
    if (!pages->plain)
        tiff_reader_piece(pages, source->grain);
    source->beside_bytes = tiff_reader_bytes(pages, (size_t)pages->width);
    return true;
}

/* Parts of pages that are not plain, in the byte order of the file. */
static bool decode_box(struct source *source, unsigned char *samples, uint64_t plane,
                       const struct region *box, struct fault *fault)
{
    const struct header *header = &source->header;
    const size_t count = box->count[0] * box->count[1] * header->grid.channels;

    for (size_t z = 0; z < box->count[2]; z++, samples += count * sample_size(header->type)) {
        if (!tiff_reader_read(source->state, plane + z, box, samples, fault))
            return false;
        if (header->endian != endian_native())
            sample_swap(header->type, samples, count);
    }
    return true;
}

/* Pages may stand anywhere. */
static bool read_box(struct source *source, void *samples, size_t volume, const struct region *box,
                     struct fault *fault)
{
    const struct header *header = &source->header;
    const struct tiff_pages *pages = source->state;
    const uint64_t plane = (header->choice.volume + volume) * header->grid.nz + box->first[2];
    struct region page = *box;
    struct region_runs runs;
    unsigned char *to = samples;
    bool ended = false;

    if (!pages->plain)
        return decode_box(source, samples, plane, box, fault);
    page.first[2] = 0;
    page.count[2] = 1;
    runs = region_runs_of(&page, &header->grid, sample_size(header->type));
    for (size_t z = 0; z < box->count[2] && !ended; z++, to += runs.count * runs.bytes) {
        if (!box_read_runs(source->file, tiff_reader_place(pages, plane + z), &runs, to, &ended, fault))
            return false;
    }
    return !ended || source_refuse(source, fault, "length: the file became shorter");
}

static size_t box_bytes(const struct source *source, const struct region *box)
{
    return tiff_reader_bytes(source->state, box->count[0]);
}

static void close_source(struct source *source)
{
    tiff_reader_close(source->state);
    source->state = NULL;
}

/* ---- writing: directories ---- */

enum {
    BIG_HEADER_SIZE = 16,
    ALIGNMENT = 16,
    ENTRIES_MOST = 20,
    DIRECTORY_MOST = 8 + ENTRIES_MOST * 20 + 8,
    CHUNK = 64 << 10,
    /* Types of fields. */
    BYTE = 1,
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
    SAMPLE_FORMAT = 339,
    IMAGEJ_COUNTS = TIFF_IMAGEJ_COUNTS,
    IMAGEJ_BYTES = TIFF_IMAGEJ_BYTES
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
    char *description;        /* of the first page alone */
    size_t description_bytes; /* 0: there is none */
    uint64_t resolutions_at, description_at;
    struct tiff_bytes metadata_counts, metadata; /* of ImageJ, the input's; else empty */
    uint64_t metadata_counts_at, metadata_at;

    struct tiff_text axes; /* of the pages, in the order of which they stand in the file */
    uint64_t pages, page_bytes;
    uint64_t samples_at;
    uint64_t link_at;           /* of the link to the first directory */
    uint64_t plane, plane_left; /* the page that comes next, in the order of volumes; its bytes to come */

    /* For compressed pages. */
    struct gzip_writer *gzip;
    struct packed_page {
        uint64_t at, bytes;
    } * packed; /* in the order of axes */
    uint64_t packed_at, packed_before;
};

/* Add a number of `size` bytes. */
static void add(struct text *text, size_t size, uint64_t number)
{
    endian_put(text->endian, text->bytes + text->size, size, number);
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
    size_t width = width_of(writer), size = type <= ASCII ? 1 : type == SHORT ? 2 : type == LONG ? 4 : 8;
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
    return 13 + (size_t)described + (described && writer->metadata.size > 0 ? 2 : 0) +
           (size_t)(writer->extras.count > 0);
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
    if (described && writer->metadata.size > 0) {
        add_entry(writer, text, IMAGEJ_COUNTS, LONG, writer->metadata_counts.size / 4,
                  writer->metadata_counts_at);
        add_entry(writer, text, IMAGEJ_BYTES, BYTE, writer->metadata.size, writer->metadata_at);
    }
    add(text, width_of(writer), next);
}

/* ---- what comes before the samples ---- */

static void add_list(struct text *text, struct channel_list *list)
{
    list->at = text->size;
    for (unsigned i = 0; i < list->count; i++)
        add(text, 2, number_of(list, i));
}

static void add_bytes(struct text *text, const void *bytes, size_t size)
{
    if (size > 0)
        memcpy(text->bytes + text->size, bytes, size);
    text->size += size;
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
    add_bytes(text, writer->description, writer->description_bytes);
    writer->metadata_counts_at = text->size += text->size % 2;
    add_bytes(text, writer->metadata_counts.bytes, writer->metadata_counts.size);
    writer->metadata_at = text->size;
    add_bytes(text, writer->metadata.bytes, writer->metadata.size);
}

static void fill_up(struct text *text)
{
    while (text->size % ALIGNMENT != 0)
        add(text, 1, 0);
}

/* Pages as they are have their first directory before the samples, so that whoever reads in order
   knows them. */
static void add_start(struct writer *writer, struct text *text)
{
    bool described = writer->description_bytes > 0;
    uint64_t directory, pages = writer->pages;

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
    fill_up(text);
    /* The first directory, if the samples are as they are: then all places are known. */
    directory = text->size;
    writer->samples_at = directory;
    if (writer->compressed)
        return;
    writer->samples_at += (directory_bytes(writer, described) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    add_directory(writer, text, described, writer->samples_at, writer->page_bytes,
                  pages > 1 ? writer->samples_at + pages * writer->page_bytes : 0);
    fill_up(text);
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
                  writer->metadata_counts.size + writer->metadata.size + 2 * DIRECTORY_MOST + 4 * ALIGNMENT;
    struct text text = {mem_zeroed(most, 1, "the header of a TIFF file", fault), 0, writer->header.endian};
    bool done;

    if (text.bytes == NULL)
        return false;
    /* Places in the file may need more than 32 bits. */
    writer->big = ((double)page + DIRECTORY_MOST) * (double)writer->pages + (double)most > (double)UINT32_MAX;
    add_start(writer, &text);
    writer->packed_at = text.size;
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
    /* Directories of compressed pages come when their size is known, and the header tells where. */
    return level == 0 || file_out_is_renamed(sink->file) ||
           fault_set_for(fault, STATUS_USAGE, name,
                         "a compressed %s is not written in order: it needs a regular file, by its name (-o)",
                         sink->format->name);
}

static const struct tiff_pages *pages_of_origin(const struct source *origin)
{
    return origin != NULL && origin->format->family == FAMILY_TIFF ? origin->state : NULL;
}

static void discard_sink(struct sink *sink)
{
    struct writer *writer = sink->state;

    gzip_writer_close(writer->gzip);
    mem_free(writer->packed);
    mem_free(writer->description);
    mem_free(writer);
    sink->state = NULL;
}

/* The axes of an output's pages: those of the input; else volumes are frames, or channels of frames where the
   input tells of these. One that was chosen is alone. */
static struct tiff_text axes_of(const struct header *header, const struct tiff_pages *origin)
{
    const size_t channels = header_series_channels(header);
    struct tiff_text axes = {.channels = channels, .frames = header->volumes / channels, .order = "CZT"};

    if (origin != NULL)
        axes = origin->text;
    if (header->choice.count > 0)
        axes.channels = axes.frames = 1;
    axes.slices = header->grid.axes == 3 ? header->grid.nz : 1;
    return axes;
}

static struct tiff_stack stack_of(const struct header *header, const struct tiff_text *axes,
                                  const struct tiff_pages *origin)
{
    return (struct tiff_stack){.header = header,
                               .axes = axes,
                               .page_channels = origin == NULL     ? header->grid.channels
                                                : origin->coloured ? 1
                                                                   : origin->channels,
                               .planar = origin != NULL && origin->planar,
                               .unit = origin != NULL              ? origin->text.unit
                                       : header->millimetres > 0.0 ? unit_millimetre()->names[0]
                                                                   : ""};
}

/* Distances and their unit: a description of a stack has it by name. */
static void describe_distances(struct writer *writer, const struct tiff_pages *origin)
{
    const struct header *header = &writer->header;

    memcpy(writer->distance, header->grid.spacing, sizeof writer->distance);
    writer->unit = origin == NULL || header->millimetres == 0.0 ? NO_UNIT : unit_of(origin);
    if (writer->description == NULL && origin == NULL && header->millimetres > 0.0) {
        writer->unit = CENTIMETRES;
        for (unsigned axis = 0; axis < 2; axis++)
            writer->distance[axis] /= unit_of_code(UNIT_RESOLUTION, CENTIMETRES)->millimetres;
    }
}

static bool is_ome(const struct tiff_pages *pages)
{
    return pages != NULL && pages->text.kind == TIFF_TEXT_OME && pages->text.image != NULL;
}

static bool is_ome_name(const char *path)
{
    size_t length = format_stem_length(path);

    return length > 4 && strncasecmp(path + length - 4, ".ome", 4) == 0;
}

/* Whether the output has the grid of the input. */
static bool is_cut(const struct header *header, const struct tiff_pages *origin)
{
    return header->grid.nx != origin->full[0] || header->grid.ny != origin->full[1] ||
           header->grid.nz != origin->slices;
}

/* ImageJ's metadata hold lookup tables, ranges to be shown, labels of pages and regions of the grid. They are
   numbers in the order of bytes of the file. */
static bool keeps_metadata(const struct header *header, const struct tiff_pages *origin)
{
    return origin->text.kind == TIFF_TEXT_IMAGEJ && origin->metadata_counts.size > 4 &&
           header->endian == origin->endian && header->values <= VALUES_FILTERED &&
           header->choice.count == 0 && !is_cut(header, origin);
}

/* The text of OME-XML for an output; that of the input, if it is OME's. */
static char *describe_ome(const struct header *header, const struct tiff_pages *origin,
                          struct dropped *dropped, struct fault *fault)
{
    const struct tiff_text axes = axes_of(header, origin);
    const struct tiff_stack stack = stack_of(header, &axes, origin);
    struct ome_output output = {.written = header,
                                .channels = axes.channels * header->grid.channels,
                                .slices = axes.slices,
                                .frames = axes.frames,
                                .order = axes.order,
                                .unit = stack.unit,
                                .is_chosen = header->choice.count > 0};

    if (!is_ome(origin))
        return ome_write(NULL, &output, NULL, fault);
    output.image = (size_t)origin->text.number;
    output.is_several = origin->text.images > 1;
    output.is_coloured = origin->coloured;
    output.is_cut = is_cut(header, origin);
    output.channel = header->choice.volume;
    if (strchr(origin->text.order, 'C') < strchr(origin->text.order, 'T'))
        output.channel %= origin->text.channels;
    else
        output.channel /= origin->text.frames;
    return ome_write(origin->description, &output, dropped, fault);
}

/* Whether letters of tifffile name axes that other descriptions do not have. */
static bool has_own_axes(const struct tiff_pages *pages)
{
    static const char key[] = "\"axes\": \"";
    const char *axes = pages->text.kind == TIFF_TEXT_TIFFFILE ? strstr(pages->description, key) : NULL;

    return axes != NULL && axes[strlen(key) + strspn(axes + strlen(key), "TCZYXS")] != '"';
}

/* The description that the first page gets; none if there is nothing to tell. */
static bool describe_stack(struct writer *writer, const struct tiff_pages *origin, struct fault *fault)
{
    const char *name = file_out_name(writer->file);
    const struct header *header = &writer->header;
    const struct tiff_stack stack = stack_of(header, &writer->axes, origin);
    bool is_imagej = origin != NULL && origin->text.kind == TIFF_TEXT_IMAGEJ && origin->text.is_stack;

    if (origin != NULL && keeps_metadata(header, origin) && !is_ome_name(name)) {
        writer->metadata_counts = origin->metadata_counts;
        writer->metadata = origin->metadata;
    }
    if (ome_type(header->type) != NULL && (is_ome(origin) || is_ome_name(name)))
        writer->description = describe_ome(header, origin, NULL, fault);
    else if (is_ome_name(name))
        return fault_set_for(fault, STATUS_USAGE, name, "OME-TIFF has no samples of type %s (--out-type %s)",
                             sample_name(header->type), work_name(sample_work_type(header->type)));
    else if (origin != NULL && origin->text.kind == TIFF_TEXT_TIFFFILE && header->choice.count == 0 &&
             (header->volumes > 1 || origin->text.is_named))
        writer->description = tiff_text_tifffile(origin->description, &stack, fault);
    else if (header->grid.axes == 3 || header->volumes > 1 || is_imagej)
        writer->description = tiff_text_imagej(is_imagej ? origin->description : NULL, &stack, fault);
    else
        return true;
    writer->description_bytes = writer->description == NULL ? 0 : strlen(writer->description) + 1;
    return writer->description != NULL;
}

/* Describe each channel: bits, kind of number, and colour, alpha or neither. */
static void describe_channels(struct writer *writer)
{
    const struct header *header = &writer->header;
    unsigned channels = header->grid.channels;
    uint64_t bits = 8 * sample_size(header->type), format = !sample_is_integer(header->type) ? 3
                                                            : sample_min(header->type) < 0.0 ? 2
                                                                                             : 1;

    writer->rgb =
        (channels == 4 && header->alpha) ||
        ((channels == 3 || channels == 4) && (header->type == SAMPLE_U8 || header->type == SAMPLE_U16));
    writer->bits = (struct channel_list){channels, bits, bits, 0};
    writer->formats = (struct channel_list){channels, format, format, 0};
    writer->extras = (struct channel_list){
        .count = channels - (writer->rgb ? 3 : 1),
        .last = !header->alpha       ? NO_ALPHA
                : header->associated ? ASSOCIATED
                                     : UNASSOCIATED,
    };
}

/* All that pages say must be known now: the first directory may stand before the samples. */
static bool begin_file(struct writer *writer, const struct sink_request *request, int level,
                       struct fault *fault)
{
    const struct tiff_pages *origin = pages_of_origin(request->origin);

    writer->axes = axes_of(&writer->header, origin);
    writer->pages = writer->axes.slices * writer->header.volumes;
    if (level == 0 && tiff_text_in_turn(&writer->axes) > 1 && !file_out_is_renamed(writer->file))
        return fault_set_for(fault, STATUS_USAGE, file_out_name(writer->file),
                             "pages of several volumes in turn are not written in order: they need a regular "
                             "file, by its name (-o)");
    if (!describe_stack(writer, origin, fault))
        return false;
    describe_distances(writer, origin);
    describe_channels(writer);
    if (!write_start(writer, fault))
        return false;
    if (level == 0)
        return true;
    writer->packed =
        mem_zeroed((size_t)writer->pages, sizeof *writer->packed, "the pages of a TIFF file", fault);
    return writer->packed != NULL &&
           gzip_writer_open(&writer->gzip, writer->file, GZIP_WRITER_ZLIB, level, request->threads, fault);
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
    writer->page_bytes = writer->plane_left =
        grid->nx * grid->ny * grid->channels * sample_size(sink->header.type);
    if (!begin_file(writer, request, level, fault)) {
        discard_sink(sink);
        return false;
    }
    if (level == 0 && tiff_text_in_turn(&writer->axes) == 1 && file_out_is_renamed(sink->file))
        sink->samples = (struct sink_place){.file = sink->file, .begin = writer->samples_at};
    return true;
}

/* ---- samples ---- */

/* The page has all its samples: what follows it is deflated anew. */
static bool end_packed(struct writer *writer, uint64_t page, struct fault *fault)
{
    uint64_t bytes;

    if (!gzip_writer_finish(writer->gzip, fault))
        return false;
    bytes = gzip_writer_size(writer->gzip) - writer->packed_before;
    writer->packed[page] = (struct packed_page){writer->packed_at, bytes};
    writer->packed_at += bytes;
    writer->packed_before += bytes;
    return writer->plane + 1 == writer->pages || gzip_writer_begin_again(writer->gzip, fault);
}

/* Samples of one page: deflated, or where the page stands. */
static bool write_piece(struct writer *writer, const unsigned char *samples, size_t bytes,
                        struct fault *fault)
{
    uint64_t page = tiff_text_page(&writer->axes, writer->plane),
             offset = page * writer->page_bytes + (writer->page_bytes - writer->plane_left);

    if (!(writer->gzip != NULL
              ? gzip_writer_write(writer->gzip, samples, bytes, fault)
              : file_out_write_at(writer->file, writer->samples_at + offset, samples, bytes, fault)))
        return false;
    writer->plane_left -= bytes;
    if (writer->plane_left > 0)
        return true;
    if (writer->gzip != NULL && !end_packed(writer, page, fault))
        return false;
    writer->plane++;
    writer->plane_left = writer->page_bytes;
    return true;
}

/* Samples whose pages are in order go straight into the file; others page by page. */
static bool write_samples(struct sink *sink, const void *samples, size_t planes, struct fault *fault)
{
    struct writer *writer = sink->state;
    size_t bytes = planes * header_plane_bytes(&sink->header), piece;
    const unsigned char *from = samples;

    if (writer->gzip == NULL && tiff_text_in_turn(&writer->axes) == 1)
        return file_out_write(writer->file, samples, bytes, fault);
    for (; bytes > 0; bytes -= piece, from += piece) {
        piece = bytes < writer->plane_left ? bytes : (size_t)writer->plane_left;
        if (!write_piece(writer, from, piece, fault))
            return false;
    }
    return true;
}

/* ---- what comes after the samples ---- */

/* Samples may have been written at their places, which files that get their names later allow. */
static bool put_directories(const struct writer *writer, uint64_t place, const struct text *text,
                            struct fault *fault)
{
    return file_out_is_renamed(writer->file)
               ? file_out_write_at(writer->file, place, text->bytes, text->size, fault)
               : file_out_write(writer->file, text->bytes, text->size, fault);
}

/* The directories that do not stand before the samples, in pieces. */
static bool write_directories(const struct writer *writer, unsigned char *bytes, struct fault *fault)
{
    const bool packed = writer->packed != NULL;
    uint64_t pages = writer->pages, place = packed ? size_rounded_up(writer->packed_at, ALIGNMENT)
                                                   : writer->samples_at + pages * writer->page_bytes;
    struct text text = {bytes, 0, writer->header.endian};

    for (uint64_t page = packed ? 0 : 1; page < pages; page++) {
        bool described = page == 0 && writer->description_bytes > 0;
        size_t size = directory_bytes(writer, described);
        uint64_t next = page + 1 == pages ? 0 : place + text.size + size;
        add_directory(writer, &text, described,
                      packed ? writer->packed[page].at : writer->samples_at + page * writer->page_bytes,
                      packed ? writer->packed[page].bytes : writer->page_bytes, next);
        if (text.size + DIRECTORY_MOST > CHUNK || next == 0) {
            if (!put_directories(writer, place, &text, fault))
                return false;
            place += text.size;
            text.size = 0;
        }
    }
    return true;
}

/* Now it is known where the first directory of deflated pages is. */
static bool link_first(const struct writer *writer, struct fault *fault)
{
    unsigned char bytes[8];
    struct text text = {bytes, 0, writer->header.endian};

    add(&text, width_of(writer), size_rounded_up(writer->packed_at, ALIGNMENT));
    return file_out_write_at(writer->file, writer->link_at, text.bytes, text.size, fault);
}

static bool finish_sink(struct sink *sink, struct fault *fault)
{
    const struct writer *writer = sink->state;
    unsigned char *bytes = mem_alloc(CHUNK, 1, "the directories of a TIFF file", fault);
    bool done;

    done = bytes != NULL && (!file_out_is_renamed(writer->file) || file_out_flush(writer->file, fault)) &&
           write_directories(writer, bytes, fault) && (writer->packed == NULL || link_first(writer, fault));
    mem_free(bytes);
    return done;
}

/* Other formats take distances in millimetres, to which only a unit that is known is converted. */
static void list_dropped(const struct source *source, const struct receiver *to, struct dropped *dropped)
{
    const struct tiff_pages *pages = source->state;
    const struct header *written = to->header;
    const struct format *sink = to->format;
    struct header page = *written;
    struct fault unheard;
    bool is_described; /* in the words of the source */

    /* Each file of a stack has a plane, and tells what a file of that plane alone does. */
    if (sink->slice != NULL && sink->slice->family == source->format->family) {
        page.grid.nz = 1;
        written = &page;
        sink = sink->slice;
    }
    is_described = sink->family == source->format->family &&
                   (is_ome(pages) || to->path == NULL || !is_ome_name(to->path));
    if (is_ome(pages) && is_described && ome_type(written->type) != NULL)
        mem_free(describe_ome(written, pages, dropped, &unheard));
    else if (pages->text.kind == TIFF_TEXT_OME)
        format_drop(dropped, "ImageDescription");
    if (pages->text.kind == TIFF_TEXT_IMAGEJ && pages->text.is_stack)
        tiff_text_drop(pages->description, is_described ? written : NULL, dropped);
    if (pages->metadata.size > 0 && !(is_described && keeps_metadata(written, pages)))
        format_drop(dropped, "metadata of ImageJ");
    if (has_own_axes(pages) && !is_described)
        format_drop(dropped, "axes");
    if (pages->alpha != NO_ALPHA && !(source->header.alpha && format_tells_alpha(sink, &source->header)))
        format_drop(dropped, "ExtraSamples");
    if (sink->family == source->format->family || source->header.millimetres > 0.0)
        return;
    if (pages->text.unit[0] != '\0')
        format_drop(dropped, "unit");
    else if (unit_of(pages) != NO_UNIT)
        format_drop(dropped, "ResolutionUnit");
}

#define TIFF_OPERATIONS                                                                                      \
    .family = FAMILY_TIFF, .title = "a TIFF file", .holds_series = true, .holds_resolutions = true,          \
    .holds_spacing = true, .holds_colours = true, .alpha = FORMAT_ANY_ALPHA, .compresses = true,             \
    .open = open_source, .read_box = read_box, .box_bytes = box_bytes, .close = close_source,                \
    .list_dropped = list_dropped, .create = create_sink, .write = write_samples, .finish = finish_sink,      \
    .discard = discard_sink

const struct format format_tif = {
    .name = "tif", .summary = "TIFF stacks, a page a plane", .sniff = sniff, TIFF_OPERATIONS};
const struct format format_tiff = {.name = "tiff", .summary = "the same", TIFF_OPERATIONS};
