/* Volumes in files that describe them: what their formats have in common.

   volume_open lets the format read its header from a byte stream, and then settles where the samples are:
   behind the header, or in files that it names. A header may come from anybody. So, without --allow-outside,
   the names must lead, links followed, to regular files in the header's folder or below it. The lengths of
   all files are held against what the header claims before memory is taken for any sample: to the byte where
   samples are not compressed, and by the best ratio of their code where they are.

   Samples are one run of bytes, whatever files they are in: `left` counts what the file at hand has yet to
   give, and at 0 the next file is opened. A volume of a series is found by passing over those before it, and
   those after it are passed over at the end, so that the rest of the file is checked as well. Where one
   regular file holds the samples as they are, several threads can read it at any offset (volume_read_box). */
#include "volume.h"

#include "base/mem.h"
#include "base/number.h"
#include "base/path.h"
#include "model/limits.h"
#include "box.h"
#include "pattern.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- headers ---- */

/* Make the state, and a stream of the header, decompressed if the file is compressed as a whole. */
static bool begin(struct source *source, const struct source_request *request, struct fault *fault)
{
    struct volume *volume = mem_zeroed(1, sizeof *volume, "a header", fault);
    unsigned char start[3];
    size_t got;

    source->state = volume;
    if (volume == NULL)
        return false;
    volume->allows_outside = request->allow_outside;
    volume->threads = request->threads;
    text_header_begin(&volume->fields, file_in_name(source->file));
    source->header.grid = grid_make(3, 0, 0, 0);
    if (!byte_stream_open(&volume->stream, source->file, request->threads, fault))
        return false;
    /* Bytes of gzip in a raw file are samples like others. */
    if (source->format->title == NULL && !source->format->compressed)
        return true;
    return byte_stream_peek(volume->stream, start, sizeof start, &got, fault) &&
           (!byte_stream_is_gzip(start, got) ||
            byte_stream_decode(&volume->stream, CODING_GZIP, SAMPLE_U8, fault));
}

struct text_header *volume_fields(const struct source *source)
{
    return &((struct volume *)source->state)->fields;
}

bool volume_read_header(struct source *source, void *bytes, size_t size, struct fault *fault)
{
    struct volume *volume = source->state;
    size_t got;

    if (!byte_stream_read(volume->stream, bytes, size, &got, fault))
        return false;
    return got == size || source_refuse(source, fault, "header: the file ends within it");
}

static bool refuse_extents(const struct source *source, const char *field, const uint64_t *extents,
                           size_t count, const char *reason, struct fault *fault)
{
    char text[256] = "";

    for (size_t i = 0; i < count; i++)
        diag_append(text, sizeof text, "%s%llu", i == 0 ? "" : " ", (unsigned long long)extents[i]);
    return source_refuse(source, fault, "%s: %.128s: %s", field, text, reason);
}

/* Each extent is at least 1, and the bytes of all samples can be counted. */
static bool check_extents(const struct source *source, const char *field, const uint64_t *extents,
                          size_t count, uint64_t channels, struct fault *fault)
{
    size_t bytes = sample_size(source->header.type);

    if (channels == 0 || channels > UINT32_MAX || !mem_product(&bytes, bytes, (size_t)channels))
        return refuse_extents(source, field, &channels, 1, "no number of channels", fault);
    for (size_t i = 0; i < count; i++) {
        if (extents[i] == 0)
            return refuse_extents(source, field, extents, count, "an extent of 0", fault);
        if (extents[i] > SIZE_MAX || !mem_product(&bytes, bytes, (size_t)extents[i]))
            return refuse_extents(source, field, extents, count, "more than can be addressed", fault);
    }
    return true;
}

bool volume_set_extents(struct source *source, const char *field, const uint64_t *extents, size_t count,
                        uint64_t channels, struct fault *fault)
{
    struct grid *grid = &source->header.grid;
    size_t *axes[3] = {&grid->nx, &grid->ny, &grid->nz}, left = count;

    if (!check_extents(source, field, extents, count, channels, fault))
        return false;
    /* Axes of extent 1 at the end are no series. */
    while (left > 3 && extents[left - 1] == 1)
        left--;
    for (size_t i = 3; i < left; i++)
        source->header.volumes *= (size_t)extents[i];
    for (size_t i = 0; i < 3; i++)
        *axes[i] = i < left ? (size_t)extents[i] : 1;
    grid->axes = left > 3 ? 3 : left > 0 ? (unsigned)left : 1;
    grid->channels = (unsigned)channels;
    return true;
}

void volume_set_spacing(struct source *source, const double *spacing, size_t count)
{
    for (size_t i = 0; i < count && i < 3; i++) {
        double distance = fabs(spacing[i]);
        /* A distance that makes no sense (0, NaN, or beyond all limits) leaves the grid's own of 1. */
        if (distance >= LEAST_SPACING && distance <= MOST_SPACING)
            source->header.grid.spacing[i] = distance;
    }
}

/* ---- files of samples ---- */

bool volume_add_file(struct source *source, const char *name, struct fault *fault)
{
    struct volume_files *files = &((struct volume *)source->state)->files;
    char **names =
        mem_grow(files->names, files->count, &files->capacity, sizeof *names, "names of files", fault);

    if (names == NULL)
        return false;
    files->names = names;
    names[files->count] = mem_text(name, fault);
    return names[files->count] != NULL && ++files->count > 0;
}

/* Numbers within 32 bits, in steps that reach the last one. */
static bool is_range(long long first, long long last, long long step)
{
    const long long most = INT32_MAX;

    return first >= 0 && first <= most && last >= 0 && last <= most && step >= -most && step <= most &&
           (step > 0 ? first <= last : step < 0 && first >= last);
}

/* Set a pattern of names with a range of numbers. */
static bool set_pattern(struct source *source, const char *pattern, long long first, long long last,
                        long long step, struct fault *fault)
{
    struct volume_files *files = &((struct volume *)source->state)->files;

    if (!pattern_is(pattern) || !is_range(first, last, step))
        return source_refuse(source, fault, "%s: %.64s: not a pattern with a valid range of numbers",
                             files->field, pattern);
    files->pattern = mem_text(pattern, fault);
    files->first = first;
    files->step = step;
    files->count = (size_t)((last - first) / step) + 1;
    return files->pattern != NULL;
}

/* "LIST" or "LIST 2": the names of files are the lines that follow. */
static bool read_list(struct source *source, struct fault *fault)
{
    struct volume *volume = source->state;
    struct text_header *fields = &volume->fields;
    bool ended;

    for (;;) {
        if (!text_header_read_line(fields, volume->stream, &ended, fault))
            return false;
        if (ended)
            return volume->files.count > 0 ||
                   text_header_refuse(fields, volume->files.field, "LIST", "no file follows", fault);
        fields->behind++;
        if (fields->items[fields->count - 1].line[0] != '\0' &&
            !volume_add_file(source, fields->items[fields->count - 1].line, fault))
            return false;
    }
}

bool volume_name_files(struct source *source, const char *value, struct fault *fault)
{
    long long first, last, step;
    char pattern[1024];

    if (strncmp(value, "LIST", 4) == 0 && (value[4] == '\0' || value[4] == ' '))
        return read_list(source, fault);
    if (strlen(value) < sizeof pattern && strchr(value, '%') != NULL &&
        sscanf(value, "%1023s %lld %lld %lld", pattern, &first, &last, &step) == 4)
        return set_pattern(source, pattern, first, last, step, fault);
    return volume_add_file(source, value, fault);
}

const char *volume_header_path(const struct source *source)
{
    const struct volume *volume = source->state;

    if (file_in_is_standard(source->file))
        return "";
    return volume->target != NULL ? volume->target : file_in_name(source->file);
}

bool volume_follow_link(struct source *source, bool follow)
{
    struct volume *volume = source->state;
    const char *path;

    free(volume->target);
    volume->target = NULL;
    path = volume_header_path(source);
    if (follow && path[0] != '\0')
        volume->target = path_target(path);
    return volume->target != NULL && strcmp(volume->target, path) != 0;
}

char *volume_path_beside(const char *header, const char *name, struct fault *fault)
{
    size_t folder = name[0] == '/' ? 0 : path_folder_length(header), length = strlen(name);
    char *path = mem_alloc(folder + length + 1, 1, "a file name", fault);

    if (path != NULL) {
        memcpy(path, header, folder);
        memcpy(path + folder, name, length + 1);
    }
    return path;
}

static char *path_of(const struct source *source, const char *name, struct fault *fault)
{
    return volume_path_beside(volume_header_path(source), name, fault);
}

/* Refuse a file of samples: the field that names it, its name, and why. */
static bool refuse_file(const struct source *source, const char *name, const char *reason,
                        struct fault *fault)
{
    const struct volume *volume = source->state;

    return source_refuse(source, fault, "%s: %.256s: %s", volume->files.field, name, reason);
}

/* Whether a path, links followed, leads into the folder of the header or one below it. */
static bool is_inside(const char *header, const char *path)
{
    size_t length = path_folder_length(header);
    char *folder = length == 0 ? NULL : strndup(header, length), *target = realpath(path, NULL);
    bool inside = target != NULL && path_is_inside(target, folder == NULL ? "." : folder);

    free(folder);
    free(target);
    return inside;
}

bool volume_file_exists(const struct source *source, const char *name)
{
    struct fault fault;
    char *path = path_of(source, name, &fault);
    bool exists = path != NULL && access(path, F_OK) == 0;

    mem_free(path);
    return exists;
}

#define WITHOUT_CONSENT "; --allow-outside reads it anyway"

/* Before it is opened, since opening alone can wait for ever, or make a device act. */
static bool check_file(const struct source *source, const char *name, const char *path, struct fault *fault)
{
    const struct volume *volume = source->state;
    struct stat info, header;

    if (stat(path, &info) != 0)
        return refuse_file(source, name, strerror(errno), fault);
    if (volume->allows_outside)
        return true;
    if (!S_ISREG(info.st_mode))
        return refuse_file(source, name, "not a regular file" WITHOUT_CONSENT, fault);
    if (!is_inside(volume_header_path(source), path))
        return refuse_file(source, name, "outside the folder of the header" WITHOUT_CONSENT, fault);
    if (stat(file_in_name(source->file), &header) == 0 && header.st_dev == info.st_dev &&
        header.st_ino == info.st_ino)
        return refuse_file(source, name, "the header itself" WITHOUT_CONSENT, fault);
    return true;
}

/* The name of a file of samples as the header gives it; `expanded` has room where a pattern does. */
static const char *name_of(const struct volume_files *files, size_t index, char expanded[PATTERN_NAME_MOST])
{
    if (files->pattern == NULL)
        return files->names[index];
    pattern_expand(files->pattern, (uint64_t)(files->first + (int64_t)index * files->step), expanded);
    return expanded;
}

/* Look for the samples of a header in text beside the header or, if that is a link, beside its target. */
static void find_files(struct source *source)
{
    const struct volume *volume = source->state;
    char expanded[PATTERN_NAME_MOST];
    const char *name = name_of(&volume->files, 0, expanded);

    if (!volume_file_exists(source, name) &&
        !(volume_follow_link(source, true) && volume_file_exists(source, name)))
        volume_follow_link(source, false);
}

char *volume_name_file(const struct source *source, size_t index, struct fault *fault)
{
    char expanded[PATTERN_NAME_MOST];
    const char *name = name_of(&((const struct volume *)source->state)->files, index, expanded);
    char *path = path_of(source, name, fault);

    if (path != NULL && check_file(source, name, path, fault))
        return path;
    mem_free(path);
    return NULL;
}

/* ---- where samples begin ---- */

/* The file that holds the samples. */
static const struct file_in *file_of(const struct source *source)
{
    const struct volume *volume = source->state;

    return volume->file != NULL ? volume->file : source->file;
}

static const char *data_name(const struct source *source)
{
    return file_in_name(file_of(source));
}

static size_t file_samples(const struct header *header)
{
    return header_samples(header) * (header->choice.count > 0 ? header->choice.count : 1);
}

static bool refuse_length(const struct source *source, const char *how, struct fault *fault)
{
    return fault_set_for(fault, STATUS_INPUT, data_name(source), "length: it %s the last of %zu %s sample%s",
                         how, file_samples(&source->header), sample_name(source->header.type),
                         number_plural(file_samples(&source->header)));
}

static struct byte_stream *data_of(struct volume *volume)
{
    return volume->data != NULL ? volume->data : volume->stream;
}

static bool skip_line(struct byte_stream *stream, bool *skipped, struct fault *fault)
{
    char piece[BYTE_STREAM_PEEK];
    size_t got;

    do {
        if (!byte_stream_read_line(stream, piece, &got, skipped, fault))
            return false;
    } while (!*skipped && got > 0);
    return true;
}

static bool skip_lines(const struct source *source, struct byte_stream *stream, struct fault *fault)
{
    const struct volume *volume = source->state;
    bool skipped = true;

    for (uint64_t i = 0; skipped && i < volume->coding.line_skip; i++) {
        if (!skip_line(stream, &skipped, fault))
            return false;
    }
    return skipped || fault_set_for(fault, STATUS_INPUT, data_name(source),
                                    "line skip: the file does not have that many lines");
}

/* Skip what lies before the samples, or all but the last bytes. */
static bool skip_bytes(const struct source *source, struct byte_stream *stream, struct fault *fault)
{
    const struct volume *volume = source->state;
    uint64_t skip = volume->coding.byte_skip, skipped;

    /* The last bytes of the file: skip all that are too many. */
    if (volume->coding.at_end) {
        if (volume->coding.coding != CODING_NONE || !byte_stream_is_plain(stream))
            return fault_set_for(fault, STATUS_INPUT, data_name(source),
                                 "%s: -1 is for samples that are not compressed", volume->coding.skipped_by);
        if (!byte_stream_most(stream, &skip))
            return fault_set_for(fault, STATUS_INPUT, data_name(source),
                                 "%s: the end can be found in a regular file only",
                                 volume->coding.skipped_by);
        skip = skip > volume->file_bytes ? skip - volume->file_bytes : 0;
    }
    if (skip == 0)
        return true;
    if (!byte_stream_skip(stream, skip, &skipped, fault))
        return false;
    if (skipped < skip && volume->coding.skipped_by == NULL)
        return refuse_length(source, "ends before", fault);
    return skipped == skip ||
           fault_set_for(fault, STATUS_INPUT, data_name(source), "%s: the file ends before %llu byte%s",
                         volume->coding.skipped_by, (unsigned long long)skip, number_plural(skip));
}

/* Hold what the header claims against what the file can hold, before anything is allocated for it. */
static bool check_room(const struct source *source, const struct byte_stream *stream, struct fault *fault)
{
    const struct volume *volume = source->state;
    const struct grid *grid = &source->header.grid;
    size_t factors[5] = {grid->nx, grid->ny, grid->nz}, count = grid->axes;
    uint64_t most;

    /* A file may hold more than enough only where its code can stand for fewer bytes than the most. */
    if (!byte_stream_most(stream, &most) || most == volume->file_bytes ||
        (most > volume->file_bytes && !byte_stream_is_plain(stream)))
        return true;
    if (source->header.volumes > 1)
        factors[count++] = source->header.volumes;
    if (grid->channels > 1)
        factors[count++] = grid->channels;
    return fault_set_for(
        fault, STATUS_INPUT, data_name(source), "length: samples of %s %llu byte%s, but %s %s%s take %llu",
        byte_stream_is_plain(stream) ? "exactly" : "at most", (unsigned long long)most, number_plural(most),
        number_format_product(factors, count).text, sample_name(source->header.type),
        volume->files.count > 1 ? ", a part," : "", (unsigned long long)volume->file_bytes);
}

/* Go to the first sample: skip lines, skip bytes before or after decoding, and check that the rest can hold
   the samples. */
static bool settle_flow(struct source *source, struct byte_stream **stream, struct fault *fault)
{
    struct volume *volume = source->state;
    bool before = volume->coding.before_code;

    volume->left = volume->file_bytes;
    return skip_lines(source, *stream, fault) && (!before || skip_bytes(source, *stream, fault)) &&
           byte_stream_decode(stream, volume->coding.coding, source->header.type, fault) &&
           (before || skip_bytes(source, *stream, fault)) && check_room(source, *stream, fault);
}

static void close_file(struct volume *volume)
{
    byte_stream_close(volume->data);
    file_in_close(volume->file);
    mem_free(volume->path);
    volume->data = NULL;
    volume->file = NULL;
    volume->path = NULL;
}

static bool begin_file(struct source *source, struct fault *fault)
{
    struct volume *volume = source->state;

    close_file(volume);
    /* The name is checked each time it is opened, since the file behind it may have become another one. */
    volume->path = volume_name_file(source, volume->files_begun++, fault);
    return volume->path != NULL && file_in_open(&volume->file, volume->path, fault) &&
           byte_stream_open(&volume->data, volume->file, volume->threads, fault) &&
           settle_flow(source, &volume->data, fault);
}

/* Open each file once and check its length before the first byte of output. */
static bool check_files(struct source *source, struct fault *fault)
{
    struct volume *volume = source->state;

    for (size_t i = 0; i < volume->files.count; i++) {
        if (!begin_file(source, fault))
            return false;
    }
    /* Reading begins with the first file again. */
    volume->files_begun = 0;
    return true;
}

static bool share_among_files(struct source *source, struct fault *fault)
{
    struct volume *volume = source->state;
    uint64_t rows = (uint64_t)source->header.grid.ny * source->header.grid.nz * source->header.volumes;
    size_t count = volume->files.count;

    if (count > rows || rows % count != 0)
        return source_refuse(source, fault, "%s: %zu files for %llu row%s of samples", volume->files.field,
                             count, (unsigned long long)rows, number_plural(rows));
    /* Each file has an equal run of rows. */
    volume->file_bytes /= count;
    /* Several files are checked first; a single one is opened only once, since it may be a pipe. */
    if ((count > 1 && !check_files(source, fault)) || !begin_file(source, fault))
        return false;
    if (count == 1)
        source->awaited = volume->file;
    return true;
}

/* Prepare to transpose samples that have the slowest axis fastest: the whole volume is held before its first
   plane is known. */
static bool begin_turn(struct source *source, struct fault *fault)
{
    struct volume *volume = source->state;
    const struct grid *grid = &source->header.grid;
    const struct transpose_shape shape = {grid->nx, grid_rows(grid), grid_planes(grid),
                                          sample_size(source->header.type)};

    if (!volume->reversed)
        return true;
    if (source->header.volumes > 1)
        return source_refuse(source, fault,
                             "%zu volumes whose fastest axis counts them: such a series is not supported",
                             source->header.volumes);
    source->held_bytes = grid_samples(grid) * sample_size(source->header.type);
    source->random = false;
    if (!transpose_create(&volume->transpose, &shape, fault))
        return false;
    source->beside_bytes = transpose_bytes(volume->transpose);
    return true;
}

/* After the header: find the samples, check their files, and say how they can be read. */
static bool settle(struct source *source, struct fault *fault)
{
    struct volume *volume = source->state;
    struct header *header = &source->header;
    bool done;

    if (!grid_check(&header->grid, fault))
        return fault_prefix(fault, file_in_name(source->file));
    source->data_files = volume->files.count;
    volume->file_bytes = (uint64_t)header_samples(header) * sample_size(header->type);
    /* Numbers as text become samples in this machine's order, whatever the header says. */
    if (volume->coding.coding == CODING_TEXT)
        header->endian = endian_native();
    if (volume->files.count > 0) {
        if (volume->fields.count > 0)
            find_files(source);
        done = share_among_files(source, fault);
    } else {
        done = settle_flow(source, &volume->stream, fault);
    }
    source->random = done && volume->files.count <= 1 && byte_stream_is_plain(data_of(volume));
    return done && begin_turn(source, fault);
}

bool volume_open(struct source *source, const struct source_request *request, struct fault *fault)
{
    if (begin(source, request, fault) && source->format->read_header(source, request, fault) &&
        settle(source, fault))
        return true;
    volume_close(source);
    return false;
}

/* ---- reading ---- */

/* Only reading on shows that a stream ends there and that its checksums are right. */
static bool check_end(const struct source *source, struct byte_stream *stream, struct fault *fault)
{
    unsigned char next[sizeof(double)];
    size_t got;

    if (!byte_stream_peek(stream, next, sizeof next, &got, fault))
        return false;
    return got == 0 || refuse_length(source, "goes on after", fault);
}

/* Take the next bytes of samples, from as many files as have them. Where `to` is NULL they are passed over,
   and their files are checked like those that are read. */
static bool take_bytes(struct source *source, unsigned char *to, uint64_t bytes, struct fault *fault)
{
    struct volume *volume = source->state;
    uint64_t taken;

    for (; bytes > 0; bytes -= taken) {
        size_t got = 0;
        uint64_t wish;
        if (volume->left == 0 && !(check_end(source, data_of(volume), fault) && begin_file(source, fault)))
            return false;
        wish = volume->left < bytes ? volume->left : bytes;
        if (to == NULL ? !byte_stream_skip(data_of(volume), wish, &taken, fault)
                       : !byte_stream_read(data_of(volume), to, (size_t)wish, &got, fault))
            return false;
        if (to != NULL) {
            taken = got;
            to += got;
        }
        if (taken < wish)
            return refuse_length(source, "ends before", fault);
        volume->left -= taken;
    }
    return true;
}

static bool pass_over(struct source *source, size_t volumes, struct fault *fault)
{
    const struct header *header = &source->header;

    return take_bytes(source, NULL, (uint64_t)volumes * header_samples(header) * sample_size(header->type),
                      fault);
}

static bool read_bytes(void *source, void *bytes, size_t size, struct fault *fault)
{
    return take_bytes(source, bytes, size, fault);
}

void volume_hold_in_spool(struct source *source, const struct spool *spool)
{
    transpose_hold_in_spool(((const struct volume *)source->state)->transpose, spool);
}

bool volume_read(struct source *source, void *samples, size_t planes, struct fault *fault)
{
    struct volume *volume = source->state;

    if (!volume->begun && !pass_over(source, source->header.choice.volume, fault))
        return false;
    volume->begun = true;
    if (volume->transpose != NULL)
        return transpose_read(volume->transpose, samples, planes, read_bytes, source, fault);
    return read_bytes(source, samples, planes * header_plane_bytes(&source->header), fault);
}

bool volume_read_box(struct source *source, void *samples, size_t volume, const struct region *box,
                     struct fault *fault)
{
    const struct header *header = &source->header;
    const struct region_runs runs = region_runs_of(box, &header->grid, sample_size(header->type));
    uint64_t before =
        (uint64_t)(header->choice.volume + volume) * grid_planes(&header->grid) * header_plane_bytes(header);
    bool ended;

    return box_read_runs(file_of(source), before, &runs, samples, &ended, fault) &&
           (!ended || refuse_length(source, "ends before", fault));
}

/* A source that was read at offsets has not moved: its samples are skipped first, so that what follows them
   is seen. Of a series, the volumes behind the chosen one are checked as well. */
bool volume_end(struct source *source, struct fault *fault)
{
    const struct header_choice *choice = &source->header.choice;
    struct volume *volume = source->state;
    uint64_t skipped;

    if (!source->random && choice->count > 0 && !pass_over(source, choice->count - choice->volume - 1, fault))
        return false;
    if (source->random && !byte_stream_skip(data_of(volume), volume->left, &skipped, fault))
        return false;
    return check_end(source, data_of(volume), fault);
}

void volume_close(struct source *source)
{
    struct volume *volume = source->state;

    if (volume == NULL)
        return;
    close_file(volume);
    byte_stream_close(volume->stream);
    text_header_free(&volume->fields);
    for (size_t i = 0; volume->files.names != NULL && i < volume->files.count; i++)
        mem_free(volume->files.names[i]);
    mem_free(volume->files.names);
    mem_free(volume->files.pattern);
    mem_free(volume->parsed);
    free(volume->target);
    transpose_free(volume->transpose);
    mem_free(volume);
    source->state = NULL;
}

/* Whether one of the files of samples is the one at this path. */
static bool names_file(const struct source *source, const char *path)
{
    const struct volume_files *files = &((const struct volume *)source->state)->files;
    char expanded[PATTERN_NAME_MOST];
    struct stat info, own_info;
    bool named = false;

    for (size_t i = 0; i < files->count && !named; i++) {
        struct fault fault;
        char *own = path_of(source, name_of(files, i, expanded), &fault);
        named = own == NULL || (stat(own, &own_info) == 0 && stat(path, &info) == 0 &&
                                own_info.st_dev == info.st_dev && own_info.st_ino == info.st_ino);
        mem_free(own);
    }
    return named;
}

bool volume_reads(const struct source *source, const char *path)
{
    bool is_volume = source->format->read_header != NULL;

    return file_in_is_at(source->file, path) || (is_volume && names_file(source, path));
}
