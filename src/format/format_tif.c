/* TIFF stacks: pages are planes, and a page alone is a picture. */
#include "base/file_in.h"
#include "base/file_out.h"
#include "base/mem.h"
#include "base/number.h"
#include "model/limits.h"
#include "format.h"
#include "foreign_type.h"
#include "dropped_fields.h"
#include "tiff_reader.h"
#include "tiff_text.h"
#include "tiff_writer.h"
#include "units.h"

#include <stdio.h>
#include <string.h>

enum { DESCRIPTION_MOST = 512, CHANNELS_MOST = 65535, DEFAULT_DPI = 72 };

/* As ResolutionUnit has them. */
enum { NO_UNIT = 1, INCHES = 2, CENTIMETRES = 3 };

/* As ExtraSamples has them. */
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

/* What stands before a DICOM file may be the start of a TIFF file. */
static bool sniff(const unsigned char *start, size_t size)
{
    return is_tiff(start, size) && foreign_type_of_start(start, size) == NULL;
}

/* ---- reading ---- */

static bool check_start(struct source *source, struct fault *fault)
{
    unsigned char start[8];
    size_t got;

    if (!file_in_peek(source->file, start, sizeof start, &got, fault))
        return false;
    return is_tiff(start, got) ||
           fault_raise_about(fault, STATUS_INPUT, file_in_name(source->file), "magic: %s",
                             got >= 2 && start[0] == 0x1f && start[1] == 0x8b
                                 ? "a TIFF file compressed by gzip as a whole, which is not supported"
                                 : "not that of a TIFF file");
}

static void set_distance(double *spacing, double distance)
{
    if (distance >= LEAST_SPACING && distance <= MOST_SPACING)
        *spacing = distance;
}

/* What a program writes that knows no resolution. */
static bool is_default(const struct tiff_pages *pages)
{
    return pages->unit == INCHES && pages->distance[0] == 1.0 / DEFAULT_DPI &&
           pages->distance[1] == 1.0 / DEFAULT_DPI;
}

/* Whether the resolution tells the spacing. */
static bool has_resolution(const struct tiff_pages *pages)
{
    return pages->has_resolution && !is_default(pages) && pages->text.spacing[0] == 0.0;
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

/* Programs give any picture a resolution, one for printers. Who measured samples tells the unit's name, or
   how far apart pages are. */
static bool is_for_print(const struct tiff_pages *pages)
{
    return has_resolution(pages) && pages->text.unit[0] == '\0' && pages->text.spacing[2] == 0.0;
}

/* Of the spacing along x, with which the description's unit goes, too. */
static const struct unit *length_unit_of(const struct tiff_pages *pages)
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
    header->for_print = is_for_print(pages);
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
    struct tiff_reader *reader;

    (void)request;
    if (!check_start(source, fault) || !tiff_reader_open(&reader, source->file, fault))
        return false;
    source->state = reader;
    describe(source, tiff_reader_pages(reader));
    source->random = tiff_reader_pages(reader)->plain;
    source->beside_bytes = tiff_reader_bytes(reader);
    return true;
}

/* Rows of the planes: a page, or a row where a page is all. */
static size_t rows_of(const struct source *source, size_t planes)
{
    return planes * grid_rows(&source->header.grid);
}

/* Libtiff gives them in this machine's byte order. */
static bool read_samples(struct source *source, void *samples, size_t planes, struct fault *fault)
{
    const struct header *header = &source->header;

    if (!tiff_reader_rows(source->state, samples, rows_of(source, planes), fault))
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
    return got == bytes || fault_raise_about(fault, STATUS_INPUT, file_in_name(source->file),
                                             "length: the file became shorter");
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

/* What no page claims may be anywhere in the file. */
static bool end_source(struct source *source, struct fault *fault)
{
    (void)source, (void)fault;
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
    const struct tiff_pages *pages = tiff_reader_pages(source->state);

    (void)written;
    if (pages->alpha != NO_ALPHA && !(source->header.alpha && format_tells_alpha(sink, &source->header)))
        dropped_fields_add(dropped, size, "ExtraSamples");
    if (sink->family == source->format->family || source->header.millimetres > 0.0)
        return;
    if (pages->text.unit[0] != '\0')
        dropped_fields_add(dropped, size, "unit");
    else if (unit_of(pages) != NO_UNIT)
        dropped_fields_add(dropped, size, "ResolutionUnit");
}

/* ---- writing ---- */

static bool check_writable(const struct sink *sink, struct fault *fault)
{
    const struct grid *grid = &sink->header.grid;
    const char *name = file_out_name(sink->file);

    if (grid->nx > UINT32_MAX || grid->ny > UINT32_MAX)
        return fault_raise_about(fault, STATUS_LIMIT, name,
                                 "a TIFF page is at most %lu samples wide and high",
                                 (unsigned long)UINT32_MAX);
    if (grid->channels > CHANNELS_MOST)
        return fault_raise_about(fault, STATUS_LIMIT, name, "a TIFF file has at most %d channels",
                                 CHANNELS_MOST);
    return true;
}

/* Directories of compressed pages come when their size is known, and what is before them is told where. */
static bool check_level(const struct sink *sink, int level, struct fault *fault)
{
    return level <= 0 || file_out_is_renamed(sink->file) ||
           fault_raise_about(fault, STATUS_USAGE, file_out_name(sink->file),
                             "a compressed %s needs a regular file, since it is not written in order",
                             sink->format->name);
}

static const struct tiff_pages *pages_of_origin(const struct source *origin)
{
    return origin != NULL && origin->format->family == FAMILY_TIFF ? tiff_reader_pages(origin->state) : NULL;
}

static bool is_rgb(const struct header *header)
{
    return (header->grid.channels == 4 && header->alpha) ||
           ((header->grid.channels == 3 || header->grid.channels == 4) &&
            (header->type == SAMPLE_U8 || header->type == SAMPLE_U16));
}

/* What tells the unit of distances: a description of a stack has it by name. */
static void set_units(struct tiff_writer_stack *stack, const struct sink *sink,
                      const struct tiff_pages *origin, char *description, size_t size)
{
    const struct grid *grid = &sink->header.grid;
    const char *unit = origin != NULL                   ? origin->text.unit
                       : sink->header.millimetres > 0.0 ? unit_millimetre()->names[0]
                                                        : "";

    stack->unit = origin == NULL || sink->header.millimetres == 0.0 ? NO_UNIT : unit_of(origin);
    if (grid->axes == 3) {
        stack->description = tiff_text_write(grid->nz, grid->spacing[2], unit, description, size);
    } else if (origin == NULL && sink->header.millimetres > 0.0) {
        stack->unit = CENTIMETRES;
        for (unsigned axis = 0; axis < 2; axis++)
            stack->distance[axis] /= unit_of_resolution(CENTIMETRES)->millimetres;
    }
}

static bool create_sink(struct sink *sink, const struct sink_request *request, struct fault *fault)
{
    const struct grid *grid = &sink->header.grid;
    const struct tiff_pages *origin = pages_of_origin(request->origin);
    char description[DESCRIPTION_MOST];
    struct tiff_writer_stack stack = {
        .pages = grid->nz,
        .width = grid->nx,
        .height = grid->ny,
        .channels = grid->channels,
        .rgb = is_rgb(&sink->header),
        .extra = !sink->header.alpha       ? NO_ALPHA
                 : sink->header.associated ? ASSOCIATED
                                           : UNASSOCIATED,
        .type = sink->header.type,
        .endian = sink->header.endian,
        .distance = {grid->spacing[0], grid->spacing[1]},
        .level = request->level < 0 ? 0 : request->level,
        .threads = request->threads,
    };
    struct tiff_writer *writer;

    set_units(&stack, sink, origin, description, sizeof description);
    if (!check_writable(sink, fault) || !check_level(sink, stack.level, fault) ||
        !tiff_writer_begin(&writer, sink->file, &stack, fault))
        return false;
    sink->state = writer;
    if (stack.level == 0 && file_out_is_renamed(sink->file))
        sink->samples = (struct sink_place){.file = sink->file, .begin = tiff_writer_place(writer)};
    return true;
}

static bool write_samples(struct sink *sink, const void *samples, size_t planes, struct fault *fault)
{
    return tiff_writer_put(sink->state, samples, planes * header_plane_bytes(&sink->header), fault);
}

static bool finish_sink(struct sink *sink, struct fault *fault)
{
    return tiff_writer_end(sink->state, fault);
}

static void discard_sink(struct sink *sink)
{
    tiff_writer_free(sink->state);
    sink->state = NULL;
}

#define TIFF_OPERATIONS                                                                                      \
    .family = FAMILY_TIFF, .title = "a TIFF file", .holds_spacing = true, .holds_colours = true,             \
    .alpha = FORMAT_ANY_ALPHA, .compresses = true, .open = open_source, .read = read_samples,                \
    .read_at = read_at, .end = end_source, .close = close_source, .list_dropped = list_dropped,              \
    .create = create_sink, .write = write_samples, .finish = finish_sink, .discard = discard_sink

const struct format format_tif = {
    .name = "tif", .summary = "TIFF stacks, a page a plane", .sniff = sniff, TIFF_OPERATIONS};
const struct format format_tiff = {.name = "tiff", .summary = "the same", TIFF_OPERATIONS};
