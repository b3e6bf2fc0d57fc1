/* Inputs: files of samples that a run reads, the one that it filters and its mask.

   What an input begins with says what it is, unless the request does. The file of a stack is its first
   one. Raw samples need extents, from the command line or, of a mask, from what it is a mask of. */
#include "input.h"

#include "base/mem.h"
#include "format/foreign_type.h"
#include "format/stack.h"
#include "zarr/store.h"

/* ---- opening ---- */

/* The file of a stack is its first one, and that of a Zarr store its metadata. Whoever gives another --format
   means a single file. */
static bool name_first(struct input *input, const struct input_request *request, struct fault *fault)
{
    enum store_metadata metadata = STORE_NO_METADATA;
    char name[PATTERN_NAME_MOST];
    uint64_t first;

    if (!request->pictures && (request->format == NULL || request->format->folder))
        metadata = store_metadata_at(request->path);
    input->is_folder = metadata != STORE_NO_METADATA;
    if (input->is_folder) {
        snprintf(name, sizeof name, "%s/%s", request->path, store_metadata[metadata]);
    } else {
        if (request->pictures || request->format != NULL || stack_of_name(request->path) == NULL)
            return true;
        if (!stack_find(request->path, &first, name, fault))
            return false;
    }
    input->first = mem_text(name, fault);
    return input->first != NULL;
}

static bool open_file(struct input *input, const struct input_request *request, struct fault *fault)
{
    bool raw = request->source.has_dims || request->format == &format_raw;

    /* A folder that is meant as raw samples is no file at all. */
    if (!name_first(input, request, fault) ||
        !(raw || input->is_folder || foreign_type_check_folder(request->path, fault)) ||
        !file_in_open(&input->file, input->first != NULL ? input->first : request->path, fault))
        return false;
    if (input->is_folder)
        file_in_call(input->file, request->path);
    return true;
}

bool input_open_file(struct input *input, const struct input_request *request, struct ranks *ranks,
                     struct fault *fault)
{
    return peers_agree(ranks->all, open_file(input, request, fault), fault) &&
           ranks_compare_files(ranks, input->file, fault);
}

/* NULL where there is none, or one that is refused. */
static const struct format *find_format(const struct input *input, const struct input_request *request,
                                        struct fault *fault)
{
    const struct format *format;

    if (request->pictures)
        return format_of_picture(input->file, fault);
    format = request->format != NULL ? request->format
             : input->is_folder      ? &format_zarr
             : input->first != NULL  ? stack_of_name(request->path)
                                     : format_of_input(input->file, &request->source, fault);
    if (format == NULL || format->picture == NULL)
        return format;
    fault_set_for(fault, STATUS_INPUT, file_in_name(input->file), "%s: imgheat filters pictures",
                  format->picture);
    return NULL;
}

/* Raw samples that are like those of another header: its grid, of one channel, in its order of bytes. The
   length of the file tells their type; where it does not show, they are u8. */
static void describe(const struct input *input, const struct format *format, const struct header *like,
                     struct source_request *request)
{
    static const enum sample_type types[] = {SAMPLE_F64, SAMPLE_F32, SAMPLE_U16, SAMPLE_U8};
    uint64_t bytes = 0;
    bool told = !format->compressed && file_in_remaining(input->file, &bytes);

    request->has_dims = request->has_endian = request->described = true;
    request->grid = like->grid;
    request->grid.channels = 1;
    /* The files of a stack have one axis less. */
    if (format->slice != NULL)
        *(request->grid.axes-- == 3 ? &request->grid.nz : &request->grid.ny) = 1;
    request->endian = like->endian;
    request->has_type = !told;
    request->type = SAMPLE_U8;
    for (size_t i = 0; told && !request->has_type && i < sizeof types / sizeof *types; i++) {
        request->type = types[i];
        request->has_type = bytes == grid_samples(&request->grid) * sample_size(types[i]);
    }
}

bool input_open_source(struct input *input, const struct input_request *request, struct fault *fault)
{
    const struct format *format = find_format(input, request, fault);
    struct source_request source = request->source;

    source.pattern = request->path;
    if (format != NULL && format->title == NULL && request->like != NULL)
        describe(input, format, request->like, &source);
    if (format != NULL && source_open(&input->source, input->file, format, &source, fault))
        return true;
    input->source.format = NULL;
    return false;
}

/* ---- changes ---- */

/* If one of the files changes during the run, the output may mix samples. */
static bool watch(struct input *input, struct fault *fault)
{
    const struct source *source = &input->source;

    input->state = file_in_state(input->file);
    input->watched = mem_zeroed(source->data_files, sizeof *input->watched, "the files of the input", fault);
    for (size_t i = 0; input->watched != NULL && i < source->data_files; i++) {
        struct input_watched *watched = &input->watched[input->watched_count];
        watched->path = source->format->name_file(source, i, fault);
        if (watched->path == NULL)
            return false;
        watched->state = file_in_state_at(watched->path);
        input->watched_count++;
    }
    return input->watched != NULL;
}

bool input_watch(struct input *input, struct ranks *ranks, struct fault *fault)
{
    return ranks_compare_headers(ranks, &input->source, fault) &&
           ranks_compare_samples(ranks, &input->source, fault) &&
           peers_agree(ranks->all, watch(input, fault), fault);
}

static bool differs(struct file_in_state one, struct file_in_state other)
{
    return one.bytes != other.bytes || one.changed != other.changed;
}

const char *input_find_change(const struct input *input)
{
    if (input->file == NULL)
        return NULL;
    if (differs(input->state, file_in_state(input->file)))
        return file_in_name(input->file);
    for (size_t i = 0; i < input->watched_count; i++) {
        const struct input_watched *watched = &input->watched[i];
        if (differs(watched->state, file_in_state_at(watched->path)))
            return watched->path;
    }
    return NULL;
}

/* ---- the end ---- */

bool input_rewind(struct input *input)
{
    return input->file == NULL || file_in_rewind(input->file);
}

void input_close_source(struct input *input)
{
    if (input->source.format != NULL)
        source_close(&input->source);
    input->source.format = NULL;
}

void input_close(struct input *input)
{
    input_close_source(input);
    for (size_t i = 0; i < input->watched_count; i++)
        mem_free(input->watched[i].path);
    mem_free(input->watched);
    file_in_close(input->file);
    mem_free(input->first);
    *input = (struct input){.file = NULL};
}
