/* Raw volumes: samples and nothing else, described by the command line.

   Of what the command line says, only the length of the file can be checked, and so it has to fit to the
   byte. A refusal names what would fit: other types, a cube, a header of some bytes to skip, extents that are
   a part of the file's name, or the header of another format beside it; none of that is ever taken by itself.
   Only the type is, where it was not given: the length tells the size of a sample, and a note says what was
   made of it. Where the first bytes are those of a known format, but the length fits, the file is filtered as
   samples with a warning. */
#include "base/file_in.h"
#include "base/number.h"
#include "base/path.h"
#include "format.h"
#include "foreign_type.h"
#include "volume_sink.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Bytes of a file that are looked at. */
#define START_BYTES 4096

/* Headers of more bytes than this are no guess. */
#define MOST_HEADER 65536

/* Text that grows until it is full: the list of what would fit is as long as a message allows. */
struct hint {
    char text[512];
    size_t used;
};

static void hint_add(struct hint *hint, const char *format, ...) DIAG_PRINTF(2, 3);

static void hint_add(struct hint *hint, const char *format, ...)
{
    va_list arguments;
    int length;

    va_start(arguments, format);
    length = vsnprintf(hint->text + hint->used, sizeof hint->text - hint->used, format, arguments);
    va_end(arguments);
    if (length > 0 && (size_t)length < sizeof hint->text - hint->used)
        hint->used += (size_t)length;
    else
        hint->text[hint->used] = '\0';
}

/* The whole cube root of count, or 0. */
static uint64_t cube_side(uint64_t count)
{
    uint64_t side = (uint64_t)llround(cbrt((double)count));

    return side > 0 && side * side * side == count ? side : 0;
}

/* One type of each size stands for all of that size. */
static const enum sample_type size_types[] = {SAMPLE_U8, SAMPLE_U16, SAMPLE_F32, SAMPLE_F64};
#define SIZE_TYPES (sizeof size_types / sizeof *size_types)

/* A header is what most often makes a file a little too long. */
static void hint_skip(struct hint *hint, const struct grid *grid, const struct source_request *request,
                      uint64_t bytes)
{
    for (size_t i = 0; i < SIZE_TYPES; i++) {
        enum sample_type type = request->has_type ? request->type : size_types[i];
        uint64_t taken = grid_samples(grid) * sample_size(type), extra = bytes - taken;
        if (bytes < taken || extra > MOST_HEADER || extra >= taken || extra == request->skip)
            continue;
        hint_add(hint, "%s--skip %llu", hint->used == 0 ? "" : ", ", (unsigned long long)extra);
        if (request->has_type)
            return;
        hint_add(hint, " -t %s", sample_name(type));
    }
}

static void hint_types(struct hint *hint, const struct grid *grid, uint64_t bytes)
{
    for (size_t i = 0; i < SIZE_TYPES; i++) {
        if (grid_samples(grid) * sample_size(size_types[i]) == bytes)
            hint_add(hint, "%s-t %s", hint->used == 0 ? "" : ", ", sample_name(size_types[i]));
    }
}

static void hint_cubes(struct hint *hint, unsigned channels, uint64_t bytes)
{
    for (size_t i = 0; i < SIZE_TYPES; i++) {
        uint64_t size = sample_size(size_types[i]) * channels;
        uint64_t side = bytes % size == 0 ? cube_side(bytes / size) : 0;
        if (side > 0)
            hint_add(hint, "%s-n %llu -t %s", hint->used == 0 ? "" : ", ", (unsigned long long)side,
                     sample_name(size_types[i]));
    }
}

static bool read_extent(const char **text, uint64_t *extent)
{
    return number_read_count(text, extent) && *extent > 0;
}

/* "scan_640x480x300_u16.raw" suggests how to read it; a name is never trusted to. */
static void hint_name(struct hint *hint, const char *name)
{
    for (const char *text = path_base_name(name); *text != '\0'; text++) {
        const char *rest = text;
        uint64_t x, y, z;
        char type_name[4];
        enum sample_type type;
        if (!read_extent(&rest, &x) || *rest++ != 'x' || !read_extent(&rest, &y))
            continue;
        hint_add(hint, "%sits name suggests -d %llu,%llu", hint->used == 0 ? "" : "; ", (unsigned long long)x,
                 (unsigned long long)y);
        if (*rest == 'x' && (rest++, read_extent(&rest, &z)))
            hint_add(hint, ",%llu", (unsigned long long)z);
        if (*rest == '_' && sscanf(rest + 1, "%3[a-z0-9]", type_name) == 1 && sample_parse(type_name, &type))
            hint_add(hint, " -t %s", type_name);
        return;
    }
}

/* "scan.hdr" describes "scan.img" beside it. */
static void hint_header(struct hint *hint, const char *name)
{
    size_t length = strlen(name);

    for (const struct format *const *format = format_list; *format != NULL; format++) {
        const char *ending = (*format)->data_suffix;
        size_t base = ending == NULL || strlen(ending) >= length ? 0 : length - strlen(ending);
        char header[512];
        if (base == 0 || strcmp(name + base, ending) != 0)
            continue;
        snprintf(header, sizeof header, "%.*s.%s", (int)base, name, (*format)->name);
        if (access(header, F_OK) == 0)
            hint_add(hint, "%sthe header %s beside it may describe it", hint->used == 0 ? "" : "; ", header);
    }
}

/* Say what kind of file its first bytes belong to, and what to do with it; empty if they are of no known
   kind. */
static bool advise(const struct source *source, char *text, size_t size, struct fault *fault)
{
    unsigned char start[START_BYTES];
    const struct format *format;
    const struct foreign_type *foreign;
    size_t got;

    text[0] = '\0';
    if (!file_in_peek_nonblocking(source->file, start, sizeof start, &got, fault))
        return false;
    format = format_of_start(start, got);
    foreign = foreign_type_of_start(start, got);
    if (format != NULL && format->title != NULL)
        snprintf(text, size, "it is %s, whose header is read without -n, -d and --format raw", format->title);
    else if (format == &format_raw_gz)
        snprintf(text, size, "it is compressed by gzip, which --format raw.gz undoes");
    else if (foreign != NULL)
        snprintf(text, size, "it is %s: %s", foreign->name, foreign->hint);
    return true;
}

static void hint_kind(struct hint *hint, const char *advice)
{
    if (advice[0] != '\0')
        hint_add(hint, "%s%s", hint->used == 0 ? "" : "; ", advice);
}

/* Raw samples without extents: say what their length, name, or neighbours suggest. */
static bool refuse_without_dims(const struct source *source, const struct source_request *request,
                                struct fault *fault)
{
    const char *name = file_in_name(source->file);
    struct hint hint = {.used = 0};
    uint64_t bytes;

    if (!file_in_remaining(source->file, &bytes))
        return fault_set_for(fault, STATUS_USAGE, name, "raw samples need -n N or -d X[,Y[,Z]]%s%s",
                             source->warning[0] != '\0' ? "; " : "", source->warning);
    if (bytes >= request->skip)
        hint_cubes(&hint, request->grid.channels, bytes - request->skip);
    hint_name(&hint, name);
    hint_header(&hint, name);
    hint_kind(&hint, source->warning);
    return fault_set_for(fault, STATUS_USAGE, name,
                         "raw samples need -n N or -d X[,Y[,Z]]; %llu byte%s%s%s%s",
                         (unsigned long long)bytes, number_plural(bytes), hint.used > 0 ? " (" : "",
                         hint.text, hint.used > 0 ? ")" : "");
}

/* The options with which the length would fit. */
static void hint_options(struct hint *hint, const struct source *source, const struct source_request *request,
                         uint64_t bytes)
{
    const struct grid *grid = &source->header.grid;

    /* A header that is recognised says for itself where it ends. */
    if (source->warning[0] == '\0')
        hint_skip(hint, grid, request, bytes);
    if (bytes >= request->skip) {
        hint_types(hint, grid, bytes - request->skip);
        hint_cubes(hint, grid->channels, bytes - request->skip);
    }
}

/* A length that does not fit the extents: say what was expected, and what would fit. */
static bool refuse_length(const struct source *source, const struct source_request *request, uint64_t bytes,
                          struct fault *fault)
{
    const struct grid *grid = &source->header.grid;
    const bool several = grid->channels > 1;
    size_t factors[] = {grid->nx, grid->ny, grid->nz, 1};
    struct hint hint = {.used = 0};
    char needed[128], skipped[48] = "";
    bool fits;

    if (!request->described)
        hint_options(&hint, source, request, bytes);
    fits = hint.used > 0;
    if (!request->described)
        hint_name(&hint, file_in_name(source->file));
    hint_kind(&hint, source->warning);
    factors[grid->axes] = grid->channels;
    if (request->has_type)
        snprintf(needed, sizeof needed, "%s take %zu", sample_name(request->type),
                 grid_samples(grid) * sample_size(request->type));
    else
        snprintf(needed, sizeof needed, "are %zu samples of 1, 2, 4 or 8 bytes", grid_samples(grid));
    if (request->skip > 0)
        snprintf(skipped, sizeof skipped, ", %llu of them skipped", (unsigned long long)request->skip);
    return source_refuse(source, fault, "length: %llu byte%s%s, but %s%s %s%s%s%s", (unsigned long long)bytes,
                         number_plural(bytes), skipped,
                         number_format_product(factors, grid->axes + several).text,
                         several ? " channels" : "", needed,
                         fits            ? " (fits: "
                         : hint.used > 0 ? " ("
                                         : "",
                         hint.text, hint.used > 0 ? ")" : "");
}

/* What to do if the samples have another type of the same size, by the place in size_types. */
static const char *const other_types[SIZE_TYPES] = {
    " (if they are signed: -t i8)",
    " (if they are signed: -t i16; if floating point: -t f16)",
    " (if they are integers: -t u32 or -t i32)",
    " (if they are integers: -t u64 or -t i64)",
};

/* The type that the length of a regular file leaves; said, because signed and floating types hide
   behind it. */
static bool infer_type(struct source *source, const struct source_request *request, uint64_t bytes,
                       struct fault *fault)
{
    for (size_t i = 0; i < SIZE_TYPES; i++) {
        if (grid_samples(&source->header.grid) * sample_size(size_types[i]) == bytes - request->skip) {
            source->header.type = size_types[i];
            snprintf(source->note, sizeof source->note, "%s: %zu byte%s a sample, taken as %s%s",
                     file_in_name(source->file), sample_size(size_types[i]), i == 0 ? "" : "s",
                     sample_name(size_types[i]), other_types[i]);
            return true;
        }
    }
    return refuse_length(source, request, bytes, fault);
}

/* The type from the command line, whose bytes must be those of the file, or from the length of the file; f32
   from a pipe. */
static bool settle_type(struct source *source, const struct source_request *request, struct fault *fault)
{
    struct header *header = &source->header;
    uint64_t bytes;

    header->type = request->has_type ? request->type : SAMPLE_F32;
    if (!file_in_remaining(source->file, &bytes)) {
        if (!request->has_type)
            snprintf(source->note, sizeof source->note, "%s: taken as %s (--type says otherwise)",
                     file_in_name(source->file), sample_name(header->type));
        return true;
    }
    if (bytes < request->skip)
        return refuse_length(source, request, bytes, fault);
    if (!request->has_type)
        return infer_type(source, request, bytes, fault);
    if (grid_samples(&header->grid) * sample_size(header->type) != bytes - request->skip)
        return refuse_length(source, request, bytes, fault);
    return true;
}

/* Samples that fit although a header stands among them are filtered, and told; behind --skip nothing is
 * doubted. */
static void settle_doubt(struct source *source, const struct source_request *request)
{
    char advice[sizeof source->warning];

    memcpy(advice, source->warning, sizeof advice);
    if (request->skip > 0)
        source->warning[0] = '\0';
    else if (advice[0] != '\0')
        snprintf(source->warning, sizeof source->warning, "%.128s: all of it is taken as samples, but %.256s",
                 file_in_name(source->file), advice);
}

/* Take extents and type from the command line, and hold them against the length of the file. */
static bool raw_read_header(struct source *source, const struct source_request *request, struct fault *fault)
{
    struct volume *volume = source->state;

    if (!advise(source, source->warning, sizeof source->warning, fault))
        return false;
    if (!request->has_dims)
        return refuse_without_dims(source, request, fault);
    source->header.grid = request->grid;
    source->header.endian = request->has_endian ? request->endian : ENDIAN_LITTLE;
    volume->coding.byte_skip = request->skip;
    if (!grid_check(&request->grid, fault))
        return fault_prefix(fault, file_in_name(source->file));
    if (!settle_type(source, request, fault))
        return false;
    settle_doubt(source, request);
    return true;
}

const struct format format_raw = {.name = "raw",
                                  .summary = "samples and nothing else, x fastest",
                                  .joins = true,
                                  .compressed_as = &format_raw_gz,
                                  .read_header = raw_read_header,
                                  VOLUME_OPERATIONS};

/* ---- the same, compressed by gzip ---- */

/* The length of compressed samples shows only at their end, so that nothing is inferred. */
static bool gz_read_header(struct source *source, const struct source_request *request, struct fault *fault)
{
    struct volume *volume = source->state;

    if (!request->has_dims)
        return fault_set_for(fault, STATUS_USAGE, file_in_name(source->file),
                             "raw samples, compressed by gzip, need -n N or -d X[,Y[,Z]]");
    source->header.grid = request->grid;
    source->header.type = request->has_type ? request->type : SAMPLE_F32;
    source->header.endian = request->has_endian ? request->endian : ENDIAN_LITTLE;
    volume->coding.skipped_by = "--skip";
    volume->coding.byte_skip = request->skip;
    if (!request->has_type)
        snprintf(source->note, sizeof source->note, "%s: taken as %s (--type says otherwise)",
                 file_in_name(source->file), sample_name(source->header.type));
    return true;
}

const struct format format_raw_gz = {.name = "raw.gz",
                                     .summary = "the same, compressed by gzip",
                                     .joins = true,
                                     .compressed = true,
                                     .in_turn = true,
                                     .compresses = true,
                                     .read_header = gz_read_header,
                                     VOLUME_OPERATIONS};
