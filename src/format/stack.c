/* Stacks: files whose names differ in a number, each a plane.

   Opening a stack reads the header of the first file alone, which speaks for all. No number may be missing
   before the last one, and the count of files is the extent along z. Planes are read in any order and by
   several threads: whoever reads one opens its file, compares it with the first, reads it to its end, and
   closes it again. So nobody opens files of planes that he does not need, and one that differs is found when
   it is read. Only where the output cannot be taken back are all looked at beforehand.

   A stack is written in the same way, file by file in any order, each by the format of such a file and under
   a temporary name until all are complete. Of several ranks, rank 0 makes all files, and whoever has a plane
   joins its file; rank 0 gives them their names. A file that is already there behind the last number is
   refused, since readers would take it for a part of the stack. */
#include "stack.h"

#include "base/file_in.h"
#include "base/file_out.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/threads.h"
#include "box.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- names ---- */

/* Whether there is a file of a number. One that cannot be looked at counts, so that opening it says why. */
static bool exists(const char *pattern, uint64_t number, char name[PATTERN_NAME_MOST])
{
    pattern_expand(pattern, number, name);
    return access(name, F_OK) == 0 || (errno != ENOENT && errno != ENOTDIR);
}

bool stack_find(const char *pattern, uint64_t *first, char name[PATTERN_NAME_MOST], struct fault *fault)
{
    char zeroth[PATTERN_NAME_MOST];

    for (*first = 0; *first < 2; ++*first) {
        if (exists(pattern, *first, name))
            return true;
    }
    pattern_expand(pattern, 0, zeroth);
    return fault_set_for(fault, STATUS_IO, pattern, "there is neither %.1024s nor %.1024s", zeroth, name);
}

/* ---- reading ---- */

/* A stack that is being read. */
struct stack {
    const char *pattern;
    uint64_t first;                /* the number of the first file */
    struct source_request request; /* for each file */
    struct source slice;           /* the first file, open as long as the stack */
};

/* A file of a stack that is being read, of which each thread has its own. */
struct slice {
    struct file_in *file;
    struct source source;
    char name[PATTERN_NAME_MOST];
};

/* What distinguishes a file from the first one, by the name that TIFF has for it; NULL: nothing. */
static const char *find_difference(const struct header *own, const struct header *first)
{
    const struct grid *grid = &own->grid, *other = &first->grid;
    const struct {
        bool differs;
        const char *field;
    } fields[] = {
        {grid->nx != other->nx, "ImageWidth"},
        {grid->ny != other->ny, "ImageLength"},
        {grid->channels != other->channels, "SamplesPerPixel"},
        {sample_size(own->type) != sample_size(first->type) || own->bits != first->bits, "BitsPerSample"},
        {own->type != first->type, "SampleFormat"},
        {own->photometric != first->photometric, "PhotometricInterpretation"},
        {own->alpha != first->alpha || own->associated != first->associated, "ExtraSamples"},
        {own->endian != first->endian, "byte order"},
        {memcmp(grid->spacing, other->spacing, sizeof grid->spacing) != 0 ||
             own->millimetres != first->millimetres,
         "spacing"},
    };

    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        if (fields[i].differs)
            return fields[i].field;
    }
    return NULL;
}

static void describe_samples(const struct header *header, char *text, size_t size)
{
    snprintf(text, size, "%zu x %zu, %u channel%s of %s", header->grid.nx, header->grid.ny,
             header->grid.channels, number_plural(header->grid.channels), sample_name(header->type));
}

/* Refuse a file that is unlike the first one, or that is more than a plane. */
static bool check_slice(const struct stack *stack, const struct source *slice, struct fault *fault)
{
    const struct header *own = &slice->header, *first = &stack->slice.header;
    const char *field = find_difference(own, first);
    size_t planes = own->volumes * (own->grid.axes == 3 ? own->grid.nz : 1);
    char here[96], there[96];

    if (planes > 1)
        return source_refuse(slice, fault, "%zu planes, but each file of a stack is one", planes);
    if (field == NULL)
        return true;
    /* The header of a PNG is one chunk. */
    if (slice->format->picture != NULL)
        field = "IHDR";
    describe_samples(own, here, sizeof here);
    describe_samples(first, there, sizeof there);
    return strcmp(here, there) != 0
               ? source_refuse(slice, fault, "%s: %s, but the stack has %s", field, here, there)
               : source_refuse(slice, fault, "%s: not that of the first file of the stack", field);
}

static void close_slice(struct slice *slice)
{
    source_close(&slice->source);
    file_in_close(slice->file);
}

/* Open the file of a plane, whose header is read and compared. */
static bool open_slice(const struct source *source, size_t plane, struct slice *slice, struct fault *fault)
{
    const struct stack *stack = source->state;

    pattern_expand(stack->pattern, stack->first + plane, slice->name);
    if (!file_in_open(&slice->file, slice->name, fault))
        return false;
    if (!source_open(&slice->source, slice->file, source->format->slice, &stack->request, fault)) {
        file_in_close(slice->file);
        return false;
    }
    if (check_slice(stack, &slice->source, fault))
        return true;
    close_slice(slice);
    return false;
}

/* The header of the stack is that of its first file, with an extent along z. Where a file does not tell how
   far apart planes are, that is the distance along x. */
static void describe(struct source *source, size_t planes)
{
    const struct source *first = source->slice;
    struct grid *grid = &source->header.grid;

    source->header = first->header;
    grid->axes = 3;
    grid->nz = planes;
    /* Pictures that are read in turn are read whole. */
    source->grain[0] = first->random ? first->grain[0] : grid->nx;
    source->grain[1] = first->random ? first->grain[1] : grid->ny;
    if (first->header.grid.axes == 2 && first->format->title != NULL && !first->header.tells_depth)
        grid->spacing[2] = grid->spacing[0];
    memcpy(source->note, first->note, sizeof source->note);
    memcpy(source->warning, first->warning, sizeof source->warning);
    source->dropped = first->dropped;
}

/* Each thread that reads has a file open, which may hold all of a picture. */
static size_t reading_bytes(const struct source *first, size_t threads)
{
    size_t picture = first->format->picture != NULL
                         ? header_plane_bytes(&first->header) * grid_planes(&first->header.grid)
                         : first->held_bytes;

    return thread_carriers(threads) * (first->beside_bytes + picture);
}

/* Count the files, none of which is missing between two others; and look at all of them, if that is asked
   for. */
static bool count_planes(struct source *source, bool looks, size_t *planes, struct fault *fault)
{
    struct stack *stack = source->state;
    char name[PATTERN_NAME_MOST];
    struct slice slice;
    uint64_t last;

    for (*planes = 1; exists(stack->pattern, stack->first + *planes, name); ++*planes) {
        if (!looks)
            continue;
        if (!open_slice(source, *planes, &slice, fault))
            return false;
        close_slice(&slice);
    }
    /* A number beyond the last file that was found means that one between is missing. */
    return !pattern_find_last(stack->pattern, &last) || last < stack->first + *planes ||
           fault_set_for(fault, STATUS_INPUT, name, "missing, but the stack goes on to number %llu",
                         (unsigned long long)last);
}

static void close_source(struct source *source)
{
    struct stack *stack = source->state;

    if (stack == NULL)
        return;
    if (source->slice != NULL)
        source_close(&stack->slice);
    mem_free(stack);
    source->state = NULL;
}

/* Open the first file. What is said of spacing, channels and series is about the stack, and is applied to it
   (format.c). */
static bool open_first(struct source *source, const struct source_request *request, struct fault *fault)
{
    struct stack *stack = source->state;
    char name[PATTERN_NAME_MOST];

    stack->pattern = request->pattern;
    stack->request = *request;
    stack->request.spacing_count = 0;
    stack->request.has_channels = stack->request.has_volume = false;
    stack->request.threads = request->threads / thread_carriers(request->threads);
    if (source->format->title == NULL && request->has_dims && request->grid.axes != 2)
        return fault_set_for(fault, STATUS_USAGE, request->pattern, "each file is a plane: give -d X,Y");
    if (!stack_find(stack->pattern, &stack->first, name, fault) ||
        !source_open(&stack->slice, source->file, source->format->slice, &stack->request, fault))
        return false;
    source->slice = &stack->slice;
    /* The type that is inferred from its length is that of all. */
    stack->request.has_type = source->slice->format->title == NULL;
    stack->request.type = source->slice->header.type;
    return check_slice(stack, source->slice, fault);
}

static bool open_source(struct source *source, const struct source_request *request, struct fault *fault)
{
    struct stack *stack = mem_zeroed(1, sizeof *stack, "a stack of files", fault);
    size_t planes;

    source->state = stack;
    if (stack != NULL && open_first(source, request, fault) &&
        count_planes(source, request->looks_at_all, &planes, fault)) {
        describe(source, planes);
        source->beside_bytes = reading_bytes(source->slice, request->threads);
        /* The first is the file that was opened; the others count as files of samples. */
        source->data_files = planes - 1;
        source->random = true;
        return true;
    }
    close_source(source);
    return false;
}

/* The first is the source's own. */
static char *name_file(const struct source *source, size_t index, struct fault *fault)
{
    const struct stack *stack = source->state;
    char name[PATTERN_NAME_MOST];

    pattern_expand(stack->pattern, stack->first + 1 + index, name);
    return mem_text(name, fault);
}

/* Read a picture, or a plane, in turn, to its end, and keep what the box has of it. */
static bool read_in_turn(struct source *slice, unsigned char *samples, const struct region *box,
                         struct fault *fault)
{
    const struct grid *grid = &slice->header.grid;
    const size_t planes = grid_planes(grid), first = region_first_plane(box, grid),
                 count = region_planes(box, grid);

    if (region_has_whole_planes(box, grid) && count == planes)
        return source_read(slice, samples, planes, fault);
    return box_read(slice, NULL, box, first, fault) && box_read(slice, samples, box, count, fault) &&
           box_read(slice, NULL, box, planes - first - count, fault);
}

/* A plane is a file, which is opened, read to its end and checked. */
static bool read_slice(const struct source *source, unsigned char *samples, size_t plane,
                       const struct region *box, struct fault *fault)
{
    struct slice slice;
    bool done;

    if (!open_slice(source, plane, &slice, fault))
        return false;
    done = (slice.source.random ? source_read_box(&slice.source, samples, 0, box, fault)
                                : read_in_turn(&slice.source, samples, box, fault)) &&
           source_end(&slice.source, fault);
    close_slice(&slice);
    return done;
}

static bool read_box(struct source *source, void *samples, size_t volume, const struct region *box,
                     struct fault *fault)
{
    const struct header *header = &source->header;
    struct region plane = *box;
    size_t bytes = region_samples(box, &header->grid) / box->count[2] * sample_size(header->type);

    plane.first[2] = 0;
    plane.count[2] = 1;
    for (size_t i = 0; i < box->count[2]; i++) {
        if (!read_slice(source, (unsigned char *)samples + i * bytes,
                        volume * header->grid.nz + box->first[2] + i, &plane, fault))
            return false;
    }
    return true;
}

/* What the first file's format drops; pictures alone have chunks. */
static void list_dropped(const struct source *source, const struct receiver *to, struct dropped *dropped)
{
    const struct format *slice = source->format->slice, *sink = to->format;
    const struct receiver target = {sink->slice != NULL ? sink->slice : sink, to->path, to->header};
    struct source first = *source->slice;

    first.header = source->header;
    if (slice->picture != NULL && source->header.alpha && sink->title != NULL &&
        !format_tells_alpha(sink, &source->header))
        format_drop(dropped, "IHDR: alpha");
    else if (slice->picture == NULL && slice->list_dropped != NULL)
        slice->list_dropped(&first, &target, dropped);
}

/* ---- writing ---- */

/* A stack that is being written. Files are complete, but for their names, until all are. */
struct series {
    uint64_t first;              /* the number of the first file */
    struct sink_request request; /* for each file */
    struct header slice;         /* of each file */
    struct file_out **files;     /* of this process, by planes, but for the first, which is the sink's; NULL:
                                    not begun */
    const char **names;          /* of the files to join, by planes, if rank 0 has made them; else NULL */
    struct sink picture;         /* the only file, which takes its rows in turn: it has no format else */
    size_t next;                 /* plane, for those who write in turn */
};

static uint64_t first_number(const struct sink_request *request)
{
    const struct source *origin = request->origin;
    bool goes_on = origin != NULL && origin->slice != NULL;

    return request->planes_before + (goes_on ? ((const struct stack *)origin->state)->first : 0);
}

void stack_name_first(const struct sink_request *request, char name[PATTERN_NAME_MOST])
{
    pattern_expand(request->pattern, first_number(request), name);
}

/* Make the file of a plane; the first is there already. */
static bool make_file(const struct sink *sink, size_t plane, struct file_out **file, struct fault *fault)
{
    struct series *series = sink->state;
    char name[PATTERN_NAME_MOST];

    pattern_expand(series->request.pattern, series->first + plane, name);
    if (plane > 0 && !file_out_open_beside(&series->files[plane], sink->file, name, fault))
        return false;
    *file = plane > 0 ? series->files[plane] : sink->file;
    return true;
}

/* Join the file of a plane, which rank 0 has made. */
static bool join_file(const struct sink *sink, size_t plane, struct file_out **file, struct fault *fault)
{
    const struct series *series = sink->state;
    char name[PATTERN_NAME_MOST];

    pattern_expand(series->request.pattern, series->first + plane, name);
    return file_out_join(file, name, series->names[plane], file_out_is_synced(sink->file), fault);
}

static bool write_slice(const struct sink *sink, const void *samples, size_t plane, struct fault *fault)
{
    const struct series *series = sink->state;
    bool joins = series->names != NULL, done;
    struct file_out *file;

    if (!(joins ? join_file : make_file)(sink, plane, &file, fault))
        return false;
    done = sink_write_whole(file, sink->format->slice, &series->slice, &series->request, samples, fault);
    if (joins)
        file_out_close(file);
    return done;
}

/* Refuse a file behind the last number, as of an earlier run: readers would take it for a part of the
   stack. */
static bool check_room(const struct sink *sink, const struct series *series, struct fault *fault)
{
    size_t planes = sink->header.grid.nz + series->request.planes_after;
    char name[PATTERN_NAME_MOST];

    return !exists(series->request.pattern, series->first + planes, name) ||
           fault_set_for(fault, STATUS_USAGE, name, "it would continue the stack of %zu; remove it first",
                         series->request.planes_before + planes);
}

/* Begin a file and leave it: what its format cannot hold is refused before anything is computed. */
static bool try_slice(const struct sink *sink, struct fault *fault)
{
    const struct series *series = sink->state;
    struct file_out *file;
    struct sink slice;
    bool done;

    if (!file_out_open(&file, file_out_name(sink->file), fault))
        return false;
    done = sink_open(&slice, file, sink->format->slice, &series->slice, &series->request, fault);
    if (done)
        sink_close(&slice);
    file_out_close(file);
    return done;
}

static void discard_sink(struct sink *sink)
{
    struct series *series = sink->state;

    if (series == NULL)
        return;
    if (series->picture.format != NULL)
        sink_close(&series->picture);
    for (size_t i = 0; series->files != NULL && i < sink->header.grid.nz; i++)
        file_out_close(series->files[i]);
    mem_free(series->files);
    mem_free(series->names);
    mem_free(series);
    sink->state = NULL;
}

/* What each file is to hold: a volume of one plane where the format has volumes, so that its header can tell
   how far apart planes are; else a picture, in which any even number of channels ends with alpha. */
static void describe_slice(const struct sink *sink, struct series *series)
{
    const struct format *format = sink->format->slice;

    series->slice = sink->header;
    series->slice.grid.nz = 1;
    if (format->picture == NULL)
        return;
    series->slice.grid.axes = 2;
    series->slice.alpha = series->slice.grid.channels % 2 == 0;
}

/* Find the names of the files that are joined, which follow each other. */
static bool find_names(const struct sink *sink, struct series *series, struct fault *fault)
{
    const char *name = series->request.temporaries;
    size_t planes = sink->header.grid.nz;

    series->names = mem_alloc(planes, sizeof *series->names, "the names of a stack", fault);
    for (size_t i = 0; series->names != NULL && i < planes; i++, name += strlen(name) + 1)
        series->names[i] = name;
    return series->names != NULL;
}

/* A picture alone is a stack of one file, whose planes are rows. */
static bool begin(struct sink *sink, struct fault *fault)
{
    struct series *series = sink->state;

    sink->random = sink->header.grid.axes == 3;
    if (series->request.temporaries != NULL)
        return find_names(sink, series, fault);
    if (sink->random)
        return try_slice(sink, fault);
    return sink_open(&series->picture, sink->file, sink->format->slice, &series->slice, &series->request,
                     fault);
}

static bool create_sink(struct sink *sink, const struct sink_request *request, struct fault *fault)
{
    struct series *series;

    if (!pattern_is(request->pattern))
        return fault_set_for(fault, STATUS_USAGE, file_out_name(sink->file),
                             "pictures need names with a number, as slices/%%04d.png; --out-format chooses "
                             "another format");
    sink->state = series = mem_zeroed(1, sizeof *series, "a stack of files", fault);
    if (series == NULL)
        return false;
    series->first = first_number(request);
    series->request = *request;
    series->request.threads = request->threads / thread_carriers(request->threads);
    describe_slice(sink, series);
    series->files =
        mem_zeroed(sink->header.grid.nz, sizeof(struct file_out *), "the files of a stack", fault);
    if (series->files != NULL && check_room(sink, series, fault) && begin(sink, fault))
        return true;
    discard_sink(sink);
    return false;
}

bool stack_share(struct sink *sink, char **temporaries, size_t *bytes, struct fault *fault)
{
    struct series *series = sink->state;
    size_t capacity = 0;

    *temporaries = NULL;
    *bytes = 0;
    for (size_t i = 0; i < sink->header.grid.nz; i++) {
        struct file_out *file;
        const char *name;
        char *grown;
        if (!make_file(sink, i, &file, fault) || !file_out_complete(file, fault))
            return false;
        /* Names of files that are replaced by links may be of other folders, and of any length. */
        name = file_out_temporary(file);
        while (capacity < *bytes + strlen(name) + 1) {
            grown = mem_grow(*temporaries, capacity, &capacity, 1, "the names of a stack", fault);
            if (grown == NULL)
                return false;
            *temporaries = grown;
        }
        memcpy(*temporaries + *bytes, name, strlen(name) + 1);
        *bytes += strlen(name) + 1;
    }
    series->request.temporaries = *temporaries;
    return find_names(sink, series, fault);
}

/* Threads write files of their own. */
static bool write_at(const struct sink *sink, const void *samples, size_t first, size_t planes,
                     struct fault *fault)
{
    size_t plane = header_plane_bytes(&sink->header);

    for (size_t i = 0; i < planes; i++) {
        if (!write_slice(sink, (const unsigned char *)samples + i * plane, first + i, fault))
            return false;
    }
    return true;
}

static bool write_samples(struct sink *sink, const void *samples, size_t planes, struct fault *fault)
{
    struct series *series = sink->state;
    size_t first = series->next;

    series->next += planes;
    return sink->random ? write_at(sink, samples, first, planes, fault)
                        : sink_write(&series->picture, samples, planes, fault);
}

static bool finish_sink(struct sink *sink, struct fault *fault)
{
    return sink->random || sink_finish(&((struct series *)sink->state)->picture, fault);
}

/* The first file gets its name last: a stack that has one is all there. */
static bool add_others(const struct sink *sink, struct file_set *set, struct fault *fault)
{
    const struct series *series = sink->state;

    for (size_t i = sink->header.grid.nz; i-- > 1;) {
        if (!file_set_add(set, series->files[i], fault))
            return false;
    }
    return true;
}

/* ---- the formats ---- */

#define STACK_OPERATIONS                                                                                     \
    .family = FAMILY_STACK, .open = open_source, .name_file = name_file, .read_box = read_box,               \
    .close = close_source, .list_dropped = list_dropped, .create = create_sink, .write = write_samples,      \
    .write_at = write_at, .finish = finish_sink, .add_data_files = add_others, .discard = discard_sink

#define TIFF_STACK                                                                                           \
    .title = "a stack of TIFF files", .holds_resolutions = true, .holds_spacing = true,                      \
    .holds_colours = true, .alpha = FORMAT_ANY_ALPHA, .compresses = true, STACK_OPERATIONS

/* Raw samples tell nothing of themselves, and so have no title. */
static const struct format stacks[] = {
    {.name = "png",
     .slice = &format_png,
     .title = "a stack of PNG pictures",
     .alpha = FORMAT_UNASSOCIATED,
     .compresses = true,
     STACK_OPERATIONS},
    {.name = "tif", .slice = &format_tif, TIFF_STACK},
    {.name = "tiff", .slice = &format_tiff, TIFF_STACK},
    {.name = "raw", .slice = &format_raw, STACK_OPERATIONS},
};

const struct format *stack_of_name(const char *path)
{
    const struct format *named = path == NULL || !pattern_is(path) ? NULL : format_of_name(path);

    for (size_t i = 0; named != NULL && i < sizeof stacks / sizeof *stacks; i++) {
        if (stacks[i].slice == named)
            return &stacks[i];
    }
    return NULL;
}
