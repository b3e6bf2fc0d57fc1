/* File formats: how the format of an input is found, and what all sources and sinks have in common.

   The first bytes of an input decide, decompressed if they are those of gzip; its name counts only where no
   format has a mark there. Where the command line describes raw samples, everything but a PNG is taken as
   such, compressed by gzip or not. Files of formats that are not read are known by their first bytes or their
   names, and refused with a hint at what converts them (foreign_type.h). */
#include "format.h"

#include "base/number.h"
#include "base/path.h"
#include "base/size.h"
#include "png/icc.h"
#include "byte_stream.h"
#include "foreign_type.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* As far as a file lets itself be looked into ahead, and what is inflated of that where it is gzip: every
   mark lies within. Those of pictures come first, and no more is waited for where only a picture will do. */
enum { SNIFF_BYTES = 4096, PLAIN_BYTES = 1024, PICTURE_BYTES = 8 };

#define GAMMA_UNIT 1e5

const struct format *const format_list[] = {
#define FORMAT(symbol, name) &format_##symbol,
#include "formats.def"
    NULL,
};

const struct keyword format_keywords[] = {
#define FORMAT(symbol, name)
#define VOLUME_FORMAT(symbol, name) {name, "", ""},
#include "formats.def"
    {NULL, NULL, NULL},
};

const struct format *format_chosen(int place)
{
    static const struct format *const formats[] = {
#define FORMAT(symbol, name)
#define VOLUME_FORMAT(symbol, name) &format_##symbol,
#include "formats.def"
    };

    return formats[place];
}

size_t header_plane_bytes(const struct header *header)
{
    return grid_plane_samples(&header->grid) * sample_size(header->type);
}

size_t header_samples(const struct header *header)
{
    return header->volumes * grid_samples(&header->grid);
}

/* The chunk whose profile has to be known to tell what colours mean; NULL where sRGB or gAMA does. */
static const char *unknown_profile(const struct png_chunks *chunks, const struct header *header)
{
    const struct png_chunk *profile = png_chunks_find(chunks, "iCCP");
    enum icc_space space = header->grid.channels > 2 ? ICC_RGB : ICC_GRAY;

    if (profile != NULL && !icc_chunk_is_srgb(profile, space))
        return "iCCP";
    return png_chunks_find(chunks, "cICP") != NULL ? "cICP" : NULL;
}

void header_add_series(struct header *header, enum series_kind kind, uint64_t extent)
{
    if (extent > 1 && header->series_axes < SERIES_MOST)
        header->series[header->series_axes++] = (struct series_axis){kind, (size_t)extent};
}

size_t header_series_channels(const struct header *header)
{
    const struct series_axis *fastest = &header->series[0];

    return header->series_axes > 0 && fastest->kind == SERIES_CHANNEL && header->grid.channels == 1 &&
                   header->volumes % fastest->extent == 0
               ? fastest->extent
               : 1;
}

void header_describe_colour(struct header *header, const struct png_chunks *chunks)
{
    const struct png_chunk *gamma = png_chunks_find(chunks, "gAMA");
    bool srgb = png_chunks_find(chunks, "sRGB") != NULL || png_chunks_find(chunks, "iCCP") != NULL;

    header->profile = unknown_profile(chunks, header);
    header->damaged = chunks->damaged;
    header->file_gamma = 0;
    for (size_t i = 0; header->profile == NULL && gamma != NULL && !srgb && i < gamma->size; i++)
        header->file_gamma = header->file_gamma * 256 + gamma->bytes[i];
    header->file_gamma /= GAMMA_UNIT;
}

bool source_refuse(const struct source *source, struct fault *fault, const char *format, ...)
{
    char reason[sizeof fault->text];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(reason, sizeof reason, format, arguments);
    va_end(arguments);
    return fault_set_for(fault, STATUS_INPUT, file_in_name(source->file), "%s", reason);
}

void source_note_left_out(struct source *source, uint64_t count, const char *things, const char *behind)
{
    if (count > 0)
        diag_append(source->note, sizeof source->note, "%s%.192s: %llu %s%s left out%s",
                    source->note[0] != '\0' ? "; " : "", file_in_name(source->file),
                    (unsigned long long)count, things, number_plural(count), behind);
}

static bool refuse_description(const struct source *source, const char *option, struct fault *fault)
{
    return fault_set_for(fault, STATUS_USAGE, file_in_name(source->file), "%s, whose header replaces %s%s",
                         source->format->title, option,
                         source->format->folder ? "" : "; --format raw reads the whole file as samples");
}

/* A file that describes itself needs no description: what the command line gave instead would be ignored. */
static bool check_description(const struct source *source, const struct source_request *request,
                              struct fault *fault)
{
    const struct {
        bool given;
        const char *option;
    } options[] = {{request->has_dims, "-n and -d"},
                   {request->has_type, "--type"},
                   {request->has_endian, "--endian"},
                   {request->skip > 0, "--skip"}};

    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        if (options[i].given)
            return refuse_description(source, options[i].option, fault);
    }
    return true;
}

/* Begin another note about the file, behind those that there are. */
static void begin_note(struct source *source)
{
    diag_append(source->note, sizeof source->note, "%s%.128s: ", source->note[0] != '\0' ? "; " : "",
                file_in_name(source->file));
}

/* Distances from the command line replace those of the header, with a note if they differ. They are in the
   unit of the file, unless that is a resolution for printers. */
static bool override_spacing(struct source *source, const struct source_request *request, struct fault *fault)
{
    struct grid *grid = &source->header.grid;

    if (request->spacing_count == 0 || source->format->title == NULL)
        return true;
    if (request->spacing_count < grid->axes)
        return fault_set_for(fault, STATUS_USAGE, file_in_name(source->file),
                             "--spacing: %zu distance%s for %u axes", request->spacing_count,
                             number_plural(request->spacing_count), grid->axes);
    if (memcmp(grid->spacing, request->grid.spacing, sizeof grid->spacing) != 0) {
        source->header.respaced = RESPACED_BY_OPTION;
        begin_note(source);
        diag_append(source->note, sizeof source->note, "--spacing %g,%g,%g instead of %g,%g,%g in the header",
                    request->grid.spacing[0], request->grid.spacing[1], request->grid.spacing[2],
                    grid->spacing[0], grid->spacing[1], grid->spacing[2]);
    }
    memcpy(grid->spacing, request->grid.spacing, sizeof grid->spacing);
    if (source->header.for_print)
        source->header.millimetres = 0.0;
    source->header.for_print = false;
    return true;
}

/* Channels that the command line counts are all alike. Of a header, that can only mean that its last channel
   is not alpha but one like the others; the count itself must agree. */
static bool level_channels(struct source *source, const struct source_request *request, struct fault *fault)
{
    struct header *header = &source->header;

    if (!request->has_channels || source->format->title == NULL)
        return true;
    if (!header->alpha || request->grid.channels != header->grid.channels)
        return refuse_description(source, "--channels", fault);
    header->alpha = header->associated = false;
    return true;
}

/* The other volumes are passed over by whoever reads the samples (volume.h). */
static bool choose_volume(struct source *source, const struct source_request *request, struct fault *fault)
{
    struct header *header = &source->header;
    uint64_t volume = request->volume - source->volumes_before;

    if (!request->has_volume)
        return true;
    if (volume >= header->volumes)
        return fault_set_for(fault, STATUS_USAGE, file_in_name(source->file),
                             "--volume: %llu: the last one is %zu", (unsigned long long)request->volume,
                             source->volumes_before + header->volumes - 1);
    if (header->volumes > 1)
        header->choice = (struct header_choice){(size_t)volume, header->volumes};
    header->volumes = 1;
    return true;
}

/* After a format has read its header: apply what the command line says on top of it, and check the result. */
static bool settle_header(struct source *source, const struct source_request *request, struct fault *fault)
{
    const struct intensity *intensity = &source->header.intensity;

    if (!override_spacing(source, request, fault) || !choose_volume(source, request, fault) ||
        !level_channels(source, request, fault))
        return false;
    if (!intensity_is_plain(intensity)) {
        begin_note(source);
        diag_append(source->note, sizeof source->note, "a sample v stands for the value %g v + %g",
                    intensity->slope, intensity->intercept);
    }
    return grid_check(&source->header.grid, fault) || fault_prefix(fault, file_in_name(source->file));
}

bool source_open(struct source *source, struct file_in *file, const struct format *format,
                 const struct source_request *request, struct fault *fault)
{
    *source = (struct source){.format = format, .file = file, .awaited = file, .header.volumes = 1};
    if (format->title != NULL && !check_description(source, request, fault))
        return false;
    if (request->resolution > 0 && !format->holds_resolutions)
        return fault_set_for(fault, STATUS_USAGE, file_in_name(file),
                             "--resolution: the format %s has the full one alone", format->name);
    if (!format->open(source, request, fault))
        return false;
    if (settle_header(source, request, fault))
        return true;
    source_close(source);
    return false;
}

static const struct format *find_marked(const unsigned char *start, size_t size)
{
    for (size_t i = 0; format_list[i] != NULL; i++) {
        if (format_list[i]->sniff != NULL && format_list[i]->sniff(start, size))
            return format_list[i];
    }
    return NULL;
}

const struct format *format_of_start(const unsigned char *start, size_t size)
{
    unsigned char plain[PLAIN_BYTES];
    const struct format *format;

    if (!byte_stream_is_gzip(start, size))
        return find_marked(start, size);
    /* A look into the compressed bytes tells what they hold; nothing that is known means raw samples. */
    format = find_marked(plain, byte_stream_glimpse(start, size, plain, sizeof plain));
    return format == NULL                  ? format_raw.compressed_as
           : format->compressed_as != NULL ? format->compressed_as
                                           : format;
}

/* The length of a path without the dot and the ending of a format; 0 if it ends otherwise. The name of a
   folder may have slashes behind it. */
static size_t length_before(const char *path, const struct format *format)
{
    size_t length = format->folder ? path_length_before_slashes(path) : strlen(path);
    size_t ending = strlen(format->name), own = ending + 1;

    return length > own && path[length - own] == '.' &&
                   strncasecmp(path + length - ending, format->name, ending) == 0
               ? length - own
               : 0;
}

const struct format *format_of_name(const char *path)
{
    const struct format *found = NULL;
    size_t least = strlen(path);

    /* The longest ending wins: ".nii.gz" and not ".gz", say. */
    for (size_t i = 0; format_list[i] != NULL; i++) {
        size_t before = length_before(path, format_list[i]);
        if (before > 0 && before < least) {
            found = format_list[i];
            least = before;
        }
    }
    return found;
}

size_t format_stem_length(const char *path)
{
    const struct format *format = format_of_name(path);

    return format != NULL ? length_before(path, format) : strlen(path);
}

bool format_tells_alpha(const struct format *format, const struct header *header)
{
    return format->alpha == FORMAT_ANY_ALPHA ||
           (!header->associated && (format->alpha == FORMAT_UNASSOCIATED ||
                                    (format->alpha == FORMAT_RGBA && header->grid.channels == 4)));
}

/* ---- what an output drops ---- */

static const char others[] = " and others";

void format_drop(struct dropped *dropped, const char *format, ...)
{
    const size_t size = sizeof dropped->names, length = sizeof others - 1;
    char *text = dropped->names;
    size_t used = strlen(text);
    char name[64];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(name, sizeof name, format, arguments);
    va_end(arguments);
    /* Closed already? */
    if (used >= length && strcmp(text + used - length, others) == 0)
        return;
    if (used + strlen(", ") + strlen(name) + sizeof others > size)
        snprintf(text + used, size - used, "%s", others);
    else
        snprintf(text + used, size - used, "%s%s", used > 0 ? ", " : "", name);
}

void format_drop_distances(struct dropped *dropped, const char *name, const double *distances, size_t first,
                           size_t count)
{
    for (size_t i = first; i < count; i++) {
        if (!isnan(distances[i]) && distances[i] != 0.0 && distances[i] != 1.0)
            format_drop(dropped, "%s[%zu]", name, i);
    }
}

/* ---- inputs and outputs ---- */

bool format_name_data(const struct format *format, const char *header, bool compressed, char *text,
                      size_t size)
{
    const char *ending = compressed ? format->data_suffix_compressed : format->data_suffix;
    size_t before = length_before(header, format), length = before > 0 ? before : strlen(header);

    return (size_t)snprintf(text, size, "%.*s%s", (int)length, header, ending) < size;
}

const struct format *format_of_input(struct file_in *file, const struct source_request *request,
                                     struct fault *fault)
{
    unsigned char start[SNIFF_BYTES];
    const struct format *marked, *named;
    size_t got;

    if (!file_in_peek(file, start, sizeof start, &got, fault))
        return NULL;
    marked = format_of_start(start, got);
    named = format_of_name(file_in_name(file));
    /* Pictures count whatever is said; extents mean raw samples; then the file decides, and only then its
       name. */
    if (marked != NULL && marked->picture != NULL)
        return marked;
    if (request->has_dims)
        return marked == &format_raw_gz ? marked : &format_raw;
    if (marked != NULL && marked != &format_raw_gz)
        return marked;
    if (!foreign_type_check(file_in_name(file), start, got, fault))
        return NULL;
    if (named != NULL && named->title != NULL)
        return named;
    return marked != NULL ? marked : &format_raw;
}

const struct format *format_of_picture(struct file_in *file, struct fault *fault)
{
    unsigned char start[PICTURE_BYTES];
    const struct format *marked;
    size_t got;

    if (!file_in_peek(file, start, sizeof start, &got, fault))
        return NULL;
    marked = find_marked(start, got);
    return marked != NULL && marked->picture != NULL ? marked : &format_png;
}

bool source_read(struct source *source, void *samples, size_t planes, struct fault *fault)
{
    return source->format->read(source, samples, planes, fault);
}

bool source_read_box(struct source *source, void *samples, size_t volume, const struct region *box,
                     struct fault *fault)
{
    return source->format->read_box(source, samples, volume, box, fault);
}

bool source_end(struct source *source, struct fault *fault)
{
    return source->format->end == NULL || source->format->end(source, fault);
}

void source_close(struct source *source)
{
    source->format->close(source);
}

/* Formats of one family pass the unit on with the rest of the header; to others, distances are given in
   millimetres. In a stack this is up to each file. */
static void convert_spacing(struct sink *sink, const struct source *origin)
{
    struct grid *grid = &sink->header.grid;

    if (origin == NULL || origin->format->family == sink->format->family || sink->format->slice != NULL ||
        sink->format->holds_unit || sink->header.millimetres == 0.0)
        return;
    for (unsigned axis = 0; axis < grid->axes; axis++)
        grid->spacing[axis] *= sink->header.millimetres;
    sink->header.millimetres = 1.0;
}

bool sink_open(struct sink *sink, struct file_out *file, const struct format *format,
               const struct header *header, const struct sink_request *request, struct fault *fault)
{
    struct sink_request asked = *request;

    *sink = (struct sink){.file = file, .header = *header};
    /* Of a stack, it is the first file that has the fields which formats of its family pass on. */
    if (request->origin != NULL && request->origin->slice != NULL && format->holds_spacing &&
        request->origin->slice->format->family == format->family)
        asked.origin = request->origin->slice;
    /* A part of an output gets the header of the whole; the samples that follow are those of the part. */
    if (request->whole != NULL) {
        sink->header.grid = *request->whole;
        memset(sink->header.first, 0, sizeof sink->header.first);
    }
    if (request->level >= 0 && !format->compresses)
        return fault_set_for(fault, STATUS_USAGE, file_out_name(file),
                             "--level: the format %s takes no level of compression", format->name);
    if (request->quality > 0 && !format->has_quality)
        return fault_set_for(fault, STATUS_USAGE, file_out_name(file),
                             "--quality: the format %s keeps samples as they are", format->name);
    if (header->volumes > 1 && format->slice != NULL)
        return fault_set_for(fault, STATUS_USAGE, file_out_name(file),
                             "a stack of files holds no series, and there are %zu volumes (--volume, or a "
                             "name without %%d)",
                             header->volumes);
    if (header->volumes > 1 && !format->holds_series)
        return fault_set_for(fault, STATUS_USAGE, file_out_name(file),
                             "the format %s holds no series, and there are %zu volumes (--out-format)",
                             format->name, header->volumes);
    if (header->associated && format->alpha == FORMAT_UNASSOCIATED)
        return fault_set_for(fault, STATUS_USAGE, file_out_name(file),
                             "colour in a PNG is not multiplied by alpha, as that of the input is "
                             "(--out-format)");
    sink->format = format;
    convert_spacing(sink, asked.origin);
    if (!format->create(sink, &asked, fault)) {
        sink->format = NULL;
        return false;
    }
    if (request->whole != NULL)
        sink->header = *header;
    return true;
}

bool sink_write(struct sink *sink, const void *samples, size_t planes, struct fault *fault)
{
    return sink->format->write(sink, samples, planes, fault);
}

uint64_t sink_bytes(const struct sink *sink)
{
    const struct header *header = &sink->header;

    return (uint64_t)header->volumes * grid_planes(&header->grid) * header_plane_bytes(header);
}

struct preallocate_file sink_room(const struct sink *sink)
{
    return (struct preallocate_file){sink->samples.file, sink->samples.begin + sink_bytes(sink)};
}

void sink_begin_to_reserve(struct sink *sink)
{
    const struct preallocate_file room = sink_room(sink);
    struct fault unheard;

    if (room.file != NULL && sink->preallocation == NULL)
        sink->preallocation = preallocate_begin(&room, 1, &unheard);
}

bool sink_lacks_room(const struct sink *sink, struct fault *fault)
{
    return preallocate_has_failed(sink->preallocation, fault);
}

bool sink_reserve(const struct sink *sink, struct fault *fault)
{
    const struct preallocate_file room = sink_room(sink);

    return sink->preallocation != NULL ? preallocate_wait(sink->preallocation, fault)
                                       : file_out_reserve(room.file, room.bytes, fault);
}

bool sink_write_at(const struct sink *sink, const void *samples, size_t first, size_t planes,
                   struct fault *fault)
{
    size_t plane = header_plane_bytes(&sink->header);

    if (sink->random)
        return sink->format->write_at(sink, samples, first, planes, fault);
    return file_out_write_at(sink->samples.file, sink->samples.begin + (uint64_t)first * plane, samples,
                             planes * plane, fault);
}

bool sink_write_box(struct sink *sink, const void *samples, size_t volume, const struct region *box,
                    struct fault *fault)
{
    const struct header *header = &sink->header;
    const struct region_runs runs = region_runs_of(box, &header->grid, sample_size(header->type));
    const uint64_t begin =
        sink->samples.begin + (uint64_t)volume * grid_planes(&header->grid) * header_plane_bytes(header);
    bool done = true;

    if (sink->samples.file == NULL)
        return sink->format->write_box(sink, samples, volume, box, fault);
    for (size_t i = 0; done && i < runs.count; i++)
        done = file_out_write_at(sink->samples.file, begin + region_run_place(&runs, i),
                                 (const unsigned char *)samples + i * runs.bytes, runs.bytes, fault);
    return done;
}

bool sink_finish(struct sink *sink, struct fault *fault)
{
    return (sink->format->finish == NULL || sink->format->finish(sink, fault)) &&
           (sink->file == NULL || file_out_complete(sink->file, fault));
}

bool sink_add_files(const struct sink *sink, struct file_set *set, struct fault *fault)
{
    const struct format *format = sink->format;

    return (format->add_data_files == NULL || format->add_data_files(sink, set, fault)) &&
           file_set_add(set, sink->file, fault);
}

void sink_close(struct sink *sink)
{
    preallocate_end(sink->preallocation);
    sink->format->discard(sink);
}

bool sink_write_whole(struct file_out *file, const struct format *format, const struct header *header,
                      const struct sink_request *request, const void *samples, struct fault *fault)
{
    struct sink sink;
    bool done;

    if (!sink_open(&sink, file, format, header, request, fault))
        return false;
    done = sink_write(&sink, samples, grid_planes(&header->grid), fault) && sink_finish(&sink, fault);
    sink_close(&sink);
    return done;
}

/* Raw samples have nothing before or after them. */
struct sink sink_joint(const struct header *header, struct sink_place place)
{
    return (struct sink){.format = &format_raw, .header = *header, .samples = place};
}
