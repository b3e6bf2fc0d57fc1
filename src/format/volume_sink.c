/* Volumes that are written: what their formats have in common.

   The format prints its header, and what comes after that goes where the header says: behind it into the same
   file, or, after volume_sink_detach, into a file of samples beside it; and through the threads of
   gzip_writer.h after volume_sink_pack. Where nothing is compressed and the file gets its name at the end,
   all samples have places that are known at once, and sink->samples lets threads and processes write them in
   any order.

   Headers in text are printed without a look at each outcome: the first failure stays in the state, and
   volume_sink_printed tells it. A header that is kept from the input is printed line by line, without lines
   whose roles (text_header.h) say that they do not hold any longer; the format prints those anew. */
#include "volume_sink.h"

#include "base/file_in.h"
#include "base/file_out.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/path.h"
#include "model/limits.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* The state of such a sink. */
struct volume_sink {
    size_t threads;
    int level;
    struct file_out *file;    /* of samples, if it is not the sink's */
    struct gzip_writer *gzip; /* what compresses; NULL: nothing does */
    uint64_t bytes;           /* put into the file */
    uint64_t size_at;         /* of them, before the room for the compressed size */
    bool tells_size;
    bool failed; /* printing has, with this fault */
    struct fault fault;
};

/* The file that bytes go into now: that of the header until volume_sink_detach. */
static struct file_out *samples_out(const struct sink *sink)
{
    const struct volume_sink *state = sink->state;

    return state->file != NULL ? state->file : sink->file;
}

const struct volume *volume_sink_origin(const struct sink *sink, const struct sink_request *request)
{
    const struct source *origin = request->origin;

    return origin != NULL && origin->format->family == sink->format->family ? origin->state : NULL;
}

const struct geometry *volume_sink_geometry(const struct sink *sink, const struct sink_request *request,
                                            struct geometry *geometry)
{
    const struct header *header = &sink->header;
    struct geometry scaled;

    if (request->origin == NULL || volume_sink_origin(sink, request) != NULL ||
        !request->origin->header.geometry.known)
        return NULL;
    /* The origin is converted to millimetres, and moved to the first sample of a region. */
    *geometry = request->origin->header.geometry;
    for (unsigned i = 0; i < 3 && request->origin->header.millimetres > 0.0; i++)
        geometry->origin[i] *= request->origin->header.millimetres;
    scaled = *geometry;
    geometry_of_sample(&scaled, header->first, header->grid.spacing, geometry->origin);
    return geometry;
}

bool volume_sink_is_cropped(const struct sink *sink, const struct sink_request *request)
{
    return sink->header.choice.count > 0 ||
           !grid_same_extents(&sink->header.grid, &request->origin->header.grid);
}

size_t volume_sink_choice(const struct header *header, const uint64_t *extents, size_t axis)
{
    size_t volume = header->choice.volume;

    /* The first axis of a series runs fastest, as the axes of a grid do. */
    for (size_t i = 0; i < axis; i++)
        volume /= (size_t)extents[i];
    return volume % (size_t)extents[axis];
}

void volume_sink_extents(const struct header *header, size_t first, const uint64_t *before, size_t count,
                         uint64_t *extents)
{
    const struct grid *grid = &header->grid;
    const size_t own[3] = {grid->nx, grid->ny, grid->nz};

    for (size_t i = 0; i < count; i++)
        extents[i] = i >= first && i < first + 3 ? own[i - first] : header->choice.count > 0 ? 1 : before[i];
}

/* A format without a header may still compress its samples. */
static bool begin_samples(struct sink *sink, const struct sink_request *request, struct fault *fault)
{
    if (sink->format->write_header != NULL)
        return sink->format->write_header(sink, request, fault);
    return !sink->format->compressed || volume_sink_pack(sink, GZIP_WRITER_GZIP, fault);
}

bool volume_sink_create(struct sink *sink, const struct sink_request *request, struct fault *fault)
{
    struct volume_sink *state = mem_zeroed(1, sizeof *state, "an output", fault);

    if (state == NULL)
        return false;
    state->threads = request->threads;
    state->level = request->level < 0 ? GZIP_LEVEL : request->level;
    sink->state = state;
    if (!begin_samples(sink, request, fault)) {
        volume_sink_discard(sink);
        return false;
    }
    /* Compressed samples have no places before they are there, and a pipe has none at all. */
    if (state->gzip == NULL && file_out_is_renamed(samples_out(sink)))
        sink->samples = (struct sink_place){.file = samples_out(sink), .begin = state->bytes};
    return true;
}

bool volume_sink_put(struct sink *sink, const void *bytes, size_t size, struct fault *fault)
{
    struct volume_sink *state = sink->state;

    state->bytes += size;
    return state->gzip != NULL ? gzip_writer_write(state->gzip, bytes, size, fault)
                               : file_out_write(samples_out(sink), bytes, size, fault);
}

/* Put bytes, unless printing has failed before. */
static void put_text(struct sink *sink, const char *text, size_t length)
{
    struct volume_sink *state = sink->state;

    state->failed = state->failed || !volume_sink_put(sink, text, length, &state->fault);
}

void volume_sink_print(struct sink *sink, const char *format, ...)
{
    char text[2048];
    va_list arguments;
    int length;

    va_start(arguments, format);
    length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    put_text(sink, text, (size_t)length < sizeof text ? (size_t)length : sizeof text - 1);
}

bool volume_sink_printed(const struct sink *sink, struct fault *fault)
{
    const struct volume_sink *state = sink->state;

    if (state->failed)
        *fault = state->fault;
    return !state->failed;
}

void volume_sink_print_counts(struct sink *sink, const char *label, const uint64_t *counts, size_t count)
{
    volume_sink_print(sink, "%s", label);
    for (size_t i = 0; i < count; i++)
        volume_sink_print(sink, " %llu", (unsigned long long)counts[i]);
    volume_sink_print(sink, "\n");
}

void volume_sink_print_reals(struct sink *sink, const char *label, const double *reals, size_t count)
{
    volume_sink_print(sink, "%s", label);
    for (size_t i = 0; i < count; i++)
        volume_sink_print(sink, " %s", number_format_double(reals[i]).text);
    volume_sink_print(sink, "\n");
}

void volume_sink_print_kept(struct sink *sink, const struct text_header *fields,
                            const struct known_field *known, unsigned roles)
{
    for (size_t i = 0; i < fields->count - fields->behind; i++) {
        const struct field *field = &fields->items[i];
        if (field->name != NULL && (text_header_roles(known, field) & roles) != 0)
            continue;
        put_text(sink, field->line, strlen(field->line));
        put_text(sink, "\n", 1);
    }
}

unsigned volume_sink_outdated(const struct header *written)
{
    return (written->values > VALUES_COPIED ? FIELD_EXTREMES : 0U) |
           (written->values >= VALUES_DERIVED ? FIELD_RANGE : 0U) |
           (written->values == VALUES_MAPPED ? FIELD_INTENSITY : 0U);
}

unsigned volume_sink_kept(const struct source *origin, const struct receiver *to, bool keeps_position)
{
    return FIELD_OWN | FIELD_GRID | (keeps_position ? FIELD_POSITION : 0U) |
           (to->format->holds_spacing && origin->header.millimetres > 0.0 ? FIELD_UNIT : 0U) |
           (to->format->holds_intensity && to->header->values != VALUES_MAPPED ? FIELD_INTENSITY : 0U);
}

unsigned volume_sink_axes(const struct header *header)
{
    return header->volumes > 1 ? 4 : header->grid.axes;
}

bool volume_sink_compresses(const struct volume *origin, const struct sink_request *request)
{
    if (request->level >= 0)
        return request->level > 0;
    return origin != NULL && (origin->coding.coding == CODING_GZIP || origin->coding.coding == CODING_BZIP2 ||
                              origin->coding.coding == CODING_ZLIB);
}

/* Samples have places, unless they are compressed. */
bool volume_sink_find_unit(const struct format *format, const struct header *header,
                           const struct sink_request *request, size_t unit[2])
{
    const struct source *origin = request->origin;

    (void)header;
    if (origin != NULL && origin->slice != NULL)
        origin = origin->slice;
    unit[0] = unit[1] = 1;
    return !format->compressed &&
           !(format->compresses &&
             volume_sink_compresses(
                 origin != NULL && origin->format->family == format->family ? origin->state : NULL, request));
}

bool volume_sink_pack(struct sink *sink, enum gzip_writer_wrapper wrapper, struct fault *fault)
{
    struct volume_sink *state = sink->state;

    return gzip_writer_open(&state->gzip, samples_out(sink), wrapper, state->level, state->threads, fault);
}

/* The largest number of 64 bits has twenty digits; smaller ones begin with zeros. */
enum { SIZE_DIGITS = 20 };

bool volume_sink_reserve_size(struct sink *sink, struct fault *fault)
{
    struct volume_sink *state = sink->state;

    if (!file_out_is_renamed(samples_out(sink)))
        return fault_set_for(fault, STATUS_USAGE, file_out_name(sink->file),
                             "a compressed %s needs a regular file, since its size comes first",
                             sink->format->name);
    state->size_at = state->bytes;
    state->tells_size = true;
    return volume_sink_put(sink, "00000000000000000000", SIZE_DIGITS, fault);
}

/* Fill in the size that volume_sink_reserve_size left room for. */
static bool tell_size(struct sink *sink, struct fault *fault)
{
    const struct volume_sink *state = sink->state;
    char digits[SIZE_DIGITS + 1];

    snprintf(digits, sizeof digits, "%0*llu", SIZE_DIGITS, (unsigned long long)gzip_writer_size(state->gzip));
    return file_out_flush(samples_out(sink), fault) &&
           file_out_write_at(samples_out(sink), state->size_at, digits, SIZE_DIGITS, fault);
}

bool volume_sink_name_data(const struct sink *sink, bool compressed, char *text, size_t size,
                           struct fault *fault)
{
    const char *path = file_out_target(sink->file);

    return format_name_data(sink->format, path_base_name(path), compressed, text, size) ||
           fault_set_for(fault, STATUS_USAGE, path, "too long a name");
}

/* Readers cut leading space off, and take LIST, a % or a control character for a list of files, a pattern or
   the next line. */
static bool is_citable(const char *name)
{
    bool plain = name[0] != ' ' && strncmp(name, "LIST", 4) != 0 && strchr(name, '%') == NULL;

    for (; plain && *name != '\0'; name++)
        plain = (unsigned char)*name >= ' ';
    return plain;
}

/* The name of the file of samples, refused if readers of a header in text would take it for anything else. */
static bool cite_data(const struct sink *sink, bool compressed, char *text, size_t size, struct fault *fault)
{
    return volume_sink_name_data(sink, compressed, text, size, fault) &&
           (is_citable(text) ||
            fault_set_for(fault, STATUS_USAGE, file_out_name(sink->file),
                          "a header cannot name its samples: no name there begins with a space or LIST, "
                          "or has a %% or a control character in it")) &&
           volume_sink_check_link(sink, text, text, fault);
}

bool volume_sink_check_link(const struct sink *sink, const char *name, const char *samples,
                            struct fault *fault)
{
    const char *header = file_out_name(sink->file);
    char *beside = volume_path_beside(header, name, fault),
         *full = beside == NULL ? NULL : volume_path_beside(file_out_target(sink->file), samples, fault);
    struct stat taken, meant;
    bool fine = full != NULL;

    if (fine && stat(beside, &taken) == 0)
        fine = (stat(full, &meant) == 0 && taken.st_dev == meant.st_dev && taken.st_ino == meant.st_ino) ||
               fault_set_for(fault, STATUS_USAGE, header,
                             "a link to %s, but readers would take %s for the samples",
                             file_out_target(sink->file), beside);
    mem_free(beside);
    mem_free(full);
    return fine;
}

/* Open the file of samples, unless the input reads from a file of that path. */
static bool open_beside(struct sink *sink, const struct source *origin, const char *path, struct fault *fault)
{
    struct volume_sink *state = sink->state;
    const char *header = file_out_name(sink->file);

    if (origin != NULL && !file_in_is_at(origin->file, header) && volume_reads(origin, path))
        return fault_set_for(fault, STATUS_USAGE, path, "an input would be replaced by the samples of %s",
                             header);
    return file_out_open_beside(&state->file, sink->file, path, fault);
}

bool volume_sink_detach(struct sink *sink, const struct sink_request *request, const char *name,
                        struct fault *fault)
{
    struct volume_sink *state = sink->state;
    const char *path = file_out_target(sink->file);
    char *full;
    bool done;

    if (!file_out_is_renamed(sink->file))
        return fault_set_for(fault, STATUS_USAGE, path,
                             "%s needs a regular file, since the samples go beside it", sink->format->name);
    full = volume_path_beside(path, name, fault);
    done = full != NULL && open_beside(sink, request->origin, full, fault);
    mem_free(full);
    state->bytes = 0;
    return done;
}

bool volume_sink_begin_data(struct sink *sink, const struct sink_request *request, const char *field,
                            bool compressed, enum gzip_writer_wrapper wrapper, struct fault *fault)
{
    char name[1024];

    if (sink->format->data_suffix != NULL) {
        if (!cite_data(sink, compressed, name, sizeof name, fault))
            return false;
        volume_sink_print(sink, "%s%s\n", field, name);
    }
    return volume_sink_printed(sink, fault) &&
           (sink->format->data_suffix == NULL || volume_sink_detach(sink, request, name, fault)) &&
           (!compressed || volume_sink_pack(sink, wrapper, fault));
}

bool volume_sink_write(struct sink *sink, const void *samples, size_t planes, struct fault *fault)
{
    return volume_sink_put(sink, samples, planes * header_plane_bytes(&sink->header), fault);
}

bool volume_sink_finish(struct sink *sink, struct fault *fault)
{
    struct volume_sink *state = sink->state;

    if (state == NULL) /* of a joint sink */
        return true;
    return (state->gzip == NULL || gzip_writer_finish(state->gzip, fault)) &&
           (!state->tells_size || tell_size(sink, fault)) &&
           (state->file == NULL || file_out_complete(state->file, fault));
}

bool volume_sink_add_data_files(const struct sink *sink, struct file_set *set, struct fault *fault)
{
    const struct volume_sink *state = sink->state;

    return state->file == NULL || file_set_add(set, state->file, fault);
}

void volume_sink_discard(struct sink *sink)
{
    struct volume_sink *state = sink->state;

    if (state == NULL)
        return;
    gzip_writer_close(state->gzip);
    file_out_close(state->file);
    mem_free(state);
    sink->state = NULL;
}

const char *volume_sink_type(const struct sink *sink, const struct word *types, size_t count,
                             struct fault *fault)
{
    for (size_t i = 0; i < count; i++) {
        if (types[i].meaning == (int)sink->header.type)
            return types[i].names;
    }
    volume_sink_refuse_type(sink, fault);
    return NULL;
}

bool volume_sink_refuse_type(const struct sink *sink, struct fault *fault)
{
    return fault_set_for(fault, STATUS_USAGE, file_out_name(sink->file),
                         "the format %s has no samples of type %s (--out-type %s)", sink->format->name,
                         sample_name(sink->header.type), work_name(sample_work_type(sink->header.type)));
}
