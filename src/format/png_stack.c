/* Stacks of PNG pictures: files whose names differ in a number, each a plane.

   Opening a stack reads the headers of all pictures from number 0 or 1 on: they must be alike, no number may
   be missing before the last one, and their count is the extent along z. To be read, the pictures are opened
   again one by one, and compared with the first once more, since files may change meanwhile.

   A stack is written picture by picture, each under a temporary name until the last one is complete. A
   picture that is already there behind the last number is refused, since readers would take it for a part of
   the stack. */
#include "png_stack.h"

#include "base/file_in.h"
#include "base/file_out.h"
#include "base/mem.h"
#include "base/number.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- names ---- */

/* Whether there is a picture of a number. One that cannot be looked at counts, so that opening it says
   why. */
static bool exists(const char *pattern, uint64_t number, char name[PATTERN_NAME_MOST])
{
    pattern_expand(pattern, number, name);
    return access(name, F_OK) == 0 || (errno != ENOENT && errno != ENOTDIR);
}

bool png_stack_find(const char *pattern, uint64_t *first, char name[PATTERN_NAME_MOST], struct fault *fault)
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

/* A stack that is being read: one picture is open at a time. */
struct stack {
    const char *pattern;
    uint64_t first, next; /* the numbers of the first picture, and of the one to open next */
    struct source_request request;
    struct file_in *file; /* NULL: of the first picture, the source's */
    char name[PATTERN_NAME_MOST];
    struct source picture;
    bool is_open;
    size_t rows_left; /* of the picture that is open */
};

static void close_picture(struct stack *stack)
{
    if (stack->is_open)
        source_close(&stack->picture);
    stack->is_open = false;
    file_in_close(stack->file);
    stack->file = NULL;
}

/* The picture of a number, whose header is read. */
static bool open_picture(struct stack *stack, uint64_t number, struct fault *fault)
{
    close_picture(stack);
    pattern_expand(stack->pattern, number, stack->name);
    if (!file_in_open(&stack->file, stack->name, fault))
        return false;
    stack->is_open = source_open(&stack->picture, stack->file, &format_png, &stack->request, fault);
    stack->rows_left = stack->is_open ? stack->picture.header.grid.ny : 0;
    return stack->is_open;
}

/* Refuse a picture that is unlike the first one. */
static bool check_like_first(const struct source *source, struct fault *fault)
{
    const struct stack *stack = source->state;
    const struct header *all = &source->header, *own = &stack->picture.header;

    if (own->grid.nx == all->grid.nx && own->grid.ny == all->grid.ny &&
        own->grid.channels == all->grid.channels && own->type == all->type)
        return true;
    return fault_set_for(fault, STATUS_INPUT, stack->name,
                         "IHDR: %zu x %zu, %u channel%s of %s, but the stack has %zu x %zu, %u of %s",
                         own->grid.nx, own->grid.ny, own->grid.channels, number_plural(own->grid.channels),
                         sample_name(own->type), all->grid.nx, all->grid.ny, all->grid.channels,
                         sample_name(all->type));
}

/* The header of the stack is that of its first picture, with an extent along z. */
static void describe(struct source *source)
{
    const struct stack *stack = source->state;
    const struct header *picture = &stack->picture.header;

    source->header.grid = grid_make(3, picture->grid.nx, picture->grid.ny, 0);
    source->header.grid.channels = picture->grid.channels;
    source->header.alpha = picture->alpha;
    source->header.type = picture->type;
    source->header.endian = picture->endian;
}

/* All pictures are of one kind, and none is missing between two others. */
static bool survey(struct source *source, struct fault *fault)
{
    struct stack *stack = source->state;
    size_t planes = 0;
    uint64_t last = 0;

    while (planes == 0 || exists(stack->pattern, stack->first + planes, stack->name)) {
        if (!open_picture(stack, stack->first + planes, fault))
            return false;
        if (planes++ == 0)
            describe(source);
        if (!check_like_first(source, fault))
            return false;
        if (stack->picture.held_bytes > source->beside_bytes)
            source->beside_bytes = stack->picture.held_bytes;
    }
    close_picture(stack);
    source->header.grid.nz = planes;
    /* A number beyond the last picture that was found means that one between is missing. */
    if (!pattern_find_last(stack->pattern, &last) || last < stack->first + planes)
        return true;
    pattern_expand(stack->pattern, stack->first + planes, stack->name);
    return fault_set_for(fault, STATUS_INPUT, stack->name, "missing, but the stack goes on to number %llu",
                         (unsigned long long)last);
}

static void close_source(struct source *source)
{
    struct stack *stack = source->state;

    if (stack == NULL)
        return;
    close_picture(stack);
    mem_free(stack);
    source->state = NULL;
}

static bool open_source(struct source *source, const struct source_request *request, struct fault *fault)
{
    struct stack *stack = mem_zeroed(1, sizeof *stack, "a stack of pictures", fault);

    if (stack == NULL)
        return false;
    source->state = stack;
    stack->pattern = request->pattern;
    stack->request = *request;
    /* --spacing is about the stack, and is applied to it (format.c), not to each picture. */
    stack->request.spacing_count = 0;
    if (png_stack_find(stack->pattern, &stack->first, stack->name, fault) && survey(source, fault)) {
        stack->next = stack->first;
        /* The first picture is the file that was opened; the others count as files of samples. */
        source->data_files = source->header.grid.nz - 1;
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

/* Open the next picture, which may have changed since all were looked at. */
static bool begin_picture(struct source *source, struct fault *fault)
{
    struct stack *stack = source->state;

    return open_picture(stack, stack->next++, fault) && check_like_first(source, fault);
}

/* A plane is a picture, which is opened, read to its end and checked. */
static bool read_samples(struct source *source, void *samples, size_t planes, struct fault *fault)
{
    struct stack *stack = source->state;
    size_t plane = header_plane_bytes(&source->header);
    unsigned char *to = samples;

    for (; planes > 0; planes--, to += plane) {
        if (!begin_picture(source, fault) || !source_read(&stack->picture, to, stack->rows_left, fault) ||
            !source_end(&stack->picture, fault))
            return false;
    }
    return true;
}

static bool end_source(struct source *source, struct fault *fault)
{
    (void)fault;
    close_picture(source->state);
    return true;
}

/* Raw samples tell nothing of themselves. */
static void list_dropped(const struct source *source, const struct format *sink, const struct header *written,
                         char *dropped, size_t size)
{
    (void)written;
    if (source->header.alpha && sink->title != NULL && !format_tells_alpha(sink, &source->header))
        format_drop(dropped, size, "IHDR: alpha");
}

/* ---- writing ---- */

uint64_t png_stack_first(const struct source *origin)
{
    return origin != NULL && origin->format == &format_png_stack
               ? ((const struct stack *)origin->state)->first
               : 0;
}

struct png_encoder_picture png_stack_picture(const struct header *header, const struct sink_request *request)
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

/* Pictures are complete, but for their names, until all are. */
struct series {
    const char *pattern;
    uint64_t first;
    struct png_encoder_picture picture;
    struct png_encoder *encoder; /* of the picture under way */
    size_t rows_left;
    struct file_out **files; /* of the pictures after the first */
    size_t begun;            /* pictures */
};

/* The file of the picture under way: the sink's own for the first one. */
static struct file_out *current_file(const struct sink *sink)
{
    const struct series *series = sink->state;

    return series->begun == 1 ? sink->file : series->files[series->begun - 2];
}

static bool check_writable(const struct sink *sink, const struct sink_request *request, struct fault *fault)
{
    const struct header *header = &sink->header;
    const char *name = file_out_name(sink->file);

    if (!pattern_is_png(request->pattern))
        return fault_set_for(
            fault, STATUS_USAGE, name,
            "pictures need names with a number, as slices/%%04d.png; --out-format chooses another format");
    if (header->type != SAMPLE_U8 && header->type != SAMPLE_U16)
        return fault_set_for(fault, STATUS_USAGE, request->pattern,
                             "a PNG holds u8 or u16, not %s (--out-type, --out-range)",
                             sample_name(header->type));
    if (header->grid.channels > 4)
        return fault_set_for(fault, STATUS_USAGE, request->pattern, "a PNG has at most 4 channels, not %u",
                             header->grid.channels);
    if (header->grid.nx > PNG_ENCODER_EXTENT_MOST || header->grid.ny > PNG_ENCODER_EXTENT_MOST)
        return fault_set_for(fault, STATUS_LIMIT, request->pattern,
                             "a PNG is at most %d samples wide and high", PNG_ENCODER_EXTENT_MOST);
    return true;
}

/* Refuse a picture behind the last number, as of an earlier run: readers would take it for a part of the
   stack. */
static bool check_room(const struct sink *sink, const struct series *series, struct fault *fault)
{
    char name[PATTERN_NAME_MOST];

    return !exists(series->pattern, series->first + sink->header.grid.nz, name) ||
           fault_set_for(fault, STATUS_USAGE, name, "it would continue the stack of %zu; remove it first",
                         sink->header.grid.nz);
}

/* Open the next picture of the stack and begin to encode it. */
static bool begin_file(struct sink *sink, struct fault *fault)
{
    struct series *series = sink->state;
    char name[PATTERN_NAME_MOST];

    if (series->begun > 0) {
        pattern_expand(series->pattern, series->first + series->begun, name);
        if (!file_out_open_beside(&series->files[series->begun - 1], sink->file, name, fault))
            return false;
    }
    series->begun++;
    series->rows_left = series->picture.height;
    return png_encoder_begin(&series->encoder, current_file(sink), &series->picture, fault);
}

static bool end_file(struct sink *sink, struct fault *fault)
{
    struct series *series = sink->state;

    if (!png_encoder_end(series->encoder, fault))
        return false;
    png_encoder_free(series->encoder);
    series->encoder = NULL;
    return file_out_complete(current_file(sink), fault);
}

static void discard_sink(struct sink *sink)
{
    struct series *series = sink->state;

    if (series == NULL)
        return;
    png_encoder_free(series->encoder);
    for (size_t i = 0; series->files != NULL && i < sink->header.grid.nz; i++)
        file_out_close(series->files[i]);
    mem_free(series->files);
    mem_free(series);
    sink->state = NULL;
}

static bool start(struct sink *sink, const struct sink_request *request, struct fault *fault)
{
    const struct header *header = &sink->header;
    struct series *series = sink->state;

    series->pattern = request->pattern;
    series->first = png_stack_first(request->origin);
    series->picture = png_stack_picture(header, request);
    series->files = mem_zeroed(header->grid.nz, sizeof(struct file_out *), "the files of a stack", fault);
    return series->files != NULL && check_room(sink, series, fault) && begin_file(sink, fault);
}

static bool create_sink(struct sink *sink, const struct sink_request *request, struct fault *fault)
{
    if (!check_writable(sink, request, fault))
        return false;
    sink->state = mem_zeroed(1, sizeof(struct series), "a stack of pictures", fault);
    if (sink->state != NULL && start(sink, request, fault))
        return true;
    discard_sink(sink);
    return false;
}

/* Planes are pictures, or rows where a picture is all. */
static bool write_samples(struct sink *sink, const void *samples, size_t planes, struct fault *fault)
{
    struct series *series = sink->state;
    size_t rows = planes * grid_rows(&sink->header.grid);
    size_t row_bytes = header_plane_bytes(&sink->header) / grid_rows(&sink->header.grid);
    const unsigned char *from = samples;

    while (rows > 0) {
        size_t piece = rows < series->rows_left ? rows : series->rows_left;
        if (piece == 0) {
            if (!begin_file(sink, fault))
                return false;
            continue;
        }
        if (!png_encoder_rows(series->encoder, from, piece, fault))
            return false;
        from += piece * row_bytes;
        rows -= piece;
        series->rows_left -= piece;
        if (series->rows_left == 0 && !end_file(sink, fault))
            return false;
    }
    return true;
}

/* The first picture gets its name last: a stack that has one is all there. */
static bool add_others(const struct sink *sink, struct file_set *set, struct fault *fault)
{
    const struct series *series = sink->state;

    for (size_t i = series->begun - 1; i-- > 0;) {
        if (!file_set_add(set, series->files[i], fault))
            return false;
    }
    return true;
}

const struct format format_png_stack = {
    PNG_TRAITS,
    .summary = "pictures in files whose names differ in a number",
    .title = "a stack of PNG pictures",
    .is_stack = true,
    .open = open_source,
    .name_file = name_file,
    .read = read_samples,
    .end = end_source,
    .close = close_source,
    .list_dropped = list_dropped,
    .create = create_sink,
    .write = write_samples,
    .add_data_files = add_others,
    .discard = discard_sink,
};
