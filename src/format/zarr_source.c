/* Zarr, versions 2 and 3: OME-Zarr images at one of their resolutions, and arrays alone.

   The file that is opened is the metadata of the folder, and what it says of axes becomes the grid. Axes in
   space are x, y and z by their names, in whatever order the array has them; all others together count the
   volumes of a series. An array alone has no such names: its last axes are z, y and x, as those of NumPy's
   files. Samples are read box by box (array_reader.h). */
#include "zarr_source.h"

#include "base/file_in.h"
#include "base/mem.h"
#include "base/path.h"

#include <stdio.h>
#include <string.h>

/* ---- metadata ---- */

/* Read a file of metadata; the tree stays empty if there is none. */
static bool read_tree(const struct store *store, const char *key, struct json_tree *tree, struct fault *fault)
{
    char *text;
    size_t size;
    bool done = store_load(store, key, JSON_MOST_BYTES, &text, &size, fault) &&
                (text == NULL || json_read(tree, text, size, fault) || store_prefix(store, key, fault));

    mem_free(text);
    return done;
}

/* The folder is that which the file speaks for. */
static bool open_folder(struct source *source, struct zarr_source *zarr, const struct source_request *request,
                        enum store_metadata *kind, struct fault *fault)
{
    *kind = store_metadata_at(file_in_name(source->file));
    if (*kind == STORE_NO_METADATA)
        return source_refuse(source, fault,
                             "a Zarr store is a folder, with metadata in zarr.json, .zarray or "
                             ".zattrs");
    zarr->folder = mem_text(file_in_name(source->file), fault);
    if (zarr->folder == NULL)
        return false;
    zarr->folder[path_length_before_slashes(zarr->folder)] = '\0';
    return store_open(&zarr->store, zarr->folder, request->allow_outside, fault);
}

/* The image of a group: the array of the resolution that is asked for. */
static bool read_image(struct zarr_source *zarr, const char *key, const char *inside, uint64_t resolution,
                       struct fault *fault)
{
    if (!multiscale_read(&zarr->image, zarr->attributes, resolution, fault))
        return store_prefix(&zarr->store, key, fault);
    zarr->is_image = true;
    if ((size_t)snprintf(zarr->prefix, sizeof zarr->prefix, "%s/", zarr->image.path) >= ARRAY_FOLDER_MOST ||
        (size_t)snprintf(zarr->key, sizeof zarr->key, "%s%s", zarr->prefix, inside) >= sizeof zarr->key)
        return store_refuse(&zarr->store, key, fault, "path: too long");
    if (!read_tree(&zarr->store, zarr->key, &zarr->more, fault))
        return false;
    if (zarr->more.values == NULL)
        return store_refuse(&zarr->store, zarr->key, fault, "missing, though it is an array of the image");
    if (!array_read(&zarr->array, zarr->more.values, fault))
        return store_prefix(&zarr->store, zarr->key, fault);
    return zarr->array.axes == zarr->image.axes ||
           store_refuse(&zarr->store, zarr->key, fault, "shape: %zu axes, and the image has %zu",
                        zarr->array.axes, zarr->image.axes);
}

static bool read_array(struct zarr_source *zarr, const char *key, uint64_t resolution, struct fault *fault)
{
    if (resolution > 0) {
        fault_raise(fault, STATUS_USAGE, "--resolution: an array has the full one alone");
        return store_prefix(&zarr->store, key, fault);
    }
    snprintf(zarr->key, sizeof zarr->key, "%s", key);
    return array_read(&zarr->array, zarr->root.values, fault) || store_prefix(&zarr->store, key, fault);
}

/* Read the metadata of the folder, and those of its array. */
static bool read_metadata(struct source *source, struct zarr_source *zarr,
                          const struct source_request *request, struct fault *fault)
{
    const char *key;
    enum store_metadata kind;

    if (!open_folder(source, zarr, request, &kind, fault))
        return false;
    key = store_metadata[kind];
    if (!read_tree(&zarr->store, key, &zarr->root, fault) ||
        (kind == STORE_ARRAY_2 &&
         !read_tree(&zarr->store, store_metadata[STORE_ATTRIBUTES_2], &zarr->more, fault)))
        return false;
    if (zarr->root.values == NULL)
        return store_refuse(&zarr->store, key, fault, "it has gone");
    zarr->attributes = kind == STORE_VERSION_3      ? json_member(zarr->root.values, "attributes")
                       : kind == STORE_ARRAY_2      ? zarr->more.values
                       : kind == STORE_ATTRIBUTES_2 ? zarr->root.values
                                                    : NULL;
    if (kind == STORE_ARRAY_2 ||
        (kind == STORE_VERSION_3 && json_is_text(json_member(zarr->root.values, "node_type"), "array")))
        return read_array(zarr, key, request->resolution, fault);
    return read_image(zarr, key, store_metadata[kind == STORE_VERSION_3 ? STORE_VERSION_3 : STORE_ARRAY_2],
                      request->resolution, fault);
}

/* ---- the header ---- */

static void find_space(struct zarr_source *zarr)
{
    const size_t axes = zarr->array.axes;

    for (unsigned axis = 0; axis < 3; axis++)
        zarr->space[axis] = !zarr->is_image && axis < axes ? axes - 1 - axis : ARRAY_NO_AXIS;
    for (size_t i = 0; zarr->is_image && i < axes; i++) {
        if (zarr->image.axis[i].kind <= AXIS_Z)
            zarr->space[zarr->image.axis[i].kind] = i;
    }
    for (unsigned axis = 0; axis < 3; axis++)
        zarr->axes += zarr->space[axis] != ARRAY_NO_AXIS;
}

static void set_grid(struct header *header, const struct zarr_source *zarr)
{
    static const enum series_kind kinds[] = {
        [AXIS_CHANNEL] = SERIES_CHANNEL, [AXIS_TIME] = SERIES_TIME, [AXIS_OTHER] = SERIES_OTHER};
    const uint64_t *shape = zarr->array.shape;
    const size_t *space = zarr->space;
    size_t extents[3] = {1, 1, 1};

    for (size_t i = 0; i < zarr->array.axes; i++)
        header->volumes *= i == space[0] || i == space[1] || i == space[2] ? 1 : (size_t)shape[i];
    for (unsigned axis = 0; axis < zarr->axes; axis++)
        extents[axis] = (size_t)shape[space[axis]];
    header->grid = grid_make(zarr->axes, extents[0], extents[1], extents[2]);
    /* An array alone does not say what its axes are. */
    for (size_t i = zarr->is_image ? zarr->array.axes : 0; i-- > 0;) {
        if (zarr->image.axis[i].kind > AXIS_Z)
            header_add_series(header, kinds[zarr->image.axis[i].kind], shape[i]);
    }
    header->type = zarr->array.chain.type;
    header->endian = endian_native();
}

/* Distances and places are in the unit of x, if there is one for each axis. */
static void set_space(struct header *header, const struct zarr_source *zarr)
{
    double origin[3] = {0.0, 0.0, 0.0}, vectors[3][3] = {{1.0, 0.0, 0.0}, {0.0, 1.0, 0.0}, {0.0, 0.0, 1.0}};
    double millimetres[3] = {0.0}, unit;
    bool told = true, moved = false;

    for (unsigned axis = 0; axis < zarr->axes; axis++) {
        const char *name = zarr->image.axis[zarr->space[axis]].unit;
        millimetres[axis] = name == NULL ? 0.0 : unit_millimetres(unit_of_name(name));
        told = told && millimetres[axis] > 0.0;
    }
    header->millimetres = told ? millimetres[0] : 0.0;
    for (unsigned axis = 0; axis < zarr->axes; axis++) {
        const struct axis *own = &zarr->image.axis[zarr->space[axis]];
        unit = told ? millimetres[axis] / millimetres[0] : 1.0;
        header->grid.spacing[axis] = own->scale * unit;
        origin[axis] = own->place * unit;
        moved = moved || origin[axis] != 0.0;
    }
    if (moved)
        header->geometry = geometry_make(origin, vectors, geometry_lps);
}

static bool open_reader(struct source *source, struct zarr_source *zarr, const struct source_request *request,
                        struct fault *fault)
{
    struct array_reader_request reading = {
        .array = &zarr->array, .store = &zarr->store, .folder = zarr->prefix, .threads = request->threads};
    struct region whole;

    find_space(zarr);
    memcpy(reading.space, zarr->space, sizeof zarr->space);
    set_grid(&source->header, zarr);
    if (zarr->is_image)
        set_space(&source->header, zarr);
    if (!array_reader_open(&zarr->reader, &reading, fault))
        return false;
    for (unsigned axis = 0; axis < source->header.grid.axes; axis++)
        source->grain[axis] = zarr->array.chain.extents[zarr->space[axis]];
    whole = region_of_planes(&source->header.grid, 0, grid_planes(&source->header.grid));
    source->beside_bytes = zarr_source_box_bytes(source, &whole);
    return true;
}

void zarr_source_close(struct source *source)
{
    struct zarr_source *zarr = source->state;

    if (zarr == NULL)
        return;
    array_reader_close(zarr->reader);
    json_free(&zarr->more);
    json_free(&zarr->root);
    store_close(&zarr->store);
    mem_free(zarr->folder);
    mem_free(zarr);
    source->state = NULL;
}

bool zarr_source_open(struct source *source, const struct source_request *request, struct fault *fault)
{
    struct zarr_source *zarr = mem_zeroed(1, sizeof *zarr, "a Zarr store", fault);

    source->state = zarr;
    if (zarr != NULL)
        zarr->store.folder = -1;
    if (zarr != NULL && read_metadata(source, zarr, request, fault) &&
        open_reader(source, zarr, request, fault)) {
        source->random = source->one_reader = true;
        source->data_files = zarr->is_image;
        if (zarr->is_image && request->resolution == 0)
            source_note_left_out(source, zarr->image.resolutions - 1, "smaller resolution",
                                 " (--resolution)");
        if (zarr->is_image)
            source_note_left_out(source, zarr->image.others, "image", "");
        return true;
    }
    zarr_source_close(source);
    return false;
}

/* The metadata of the image's array. */
char *zarr_source_name_file(const struct source *source, size_t index, struct fault *fault)
{
    const struct zarr_source *zarr = source->state;
    size_t size = strlen(zarr->folder) + strlen(zarr->key) + 2;
    char *path = mem_alloc(size, 1, "a file name", fault);

    (void)index;
    if (path != NULL)
        snprintf(path, size, "%s/%s", zarr->folder, zarr->key);
    return path;
}

bool zarr_source_read_box(struct source *source, void *samples, size_t volume, const struct region *box,
                          struct fault *fault)
{
    const struct zarr_source *zarr = source->state;

    return array_reader_read(zarr->reader, samples, source->header.choice.volume + volume, box, fault);
}

size_t zarr_source_box_bytes(const struct source *source, const struct region *box)
{
    const struct zarr_source *zarr = source->state;

    return zarr->root.bytes + zarr->more.bytes +
           array_reader_bytes(zarr->reader, box->count[0], box->count[1]);
}

/* ---- what an output drops ---- */

/* Members of an object that are not among those that are read. */
static void drop_members(const struct json_value *object, const char *const *read, struct dropped *dropped)
{
    for (const struct json_value *member = json_first(object); member != NULL; member = json_next(member)) {
        const char *const *known = read;
        while (*known != NULL && strcmp(*known, member->name) != 0)
            known++;
        if (*known == NULL)
            format_drop(dropped, "%s", member->name);
    }
}

/* What is said of axes, but for the distances in space and where these have a unit. */
static void drop_axes(const struct source *source, const struct format *sink, struct dropped *dropped)
{
    const struct zarr_source *zarr = source->state;
    const struct header *header = &source->header;
    const size_t frames = header->volumes / header_series_channels(header);
    /* Pages of TIFF have channels as the faster axis, and times. */
    const bool keeps = sink->family == FAMILY_TIFF &&
                       (frames == 1 || (header->series_axes > 0 &&
                                        header->series[header->series_axes - 1].kind == SERIES_TIME &&
                                        header->series[header->series_axes - 1].extent == frames));
    bool series = false, timed = false, unit = false;

    for (size_t i = 0; i < zarr->image.axes; i++) {
        const struct axis *axis = &zarr->image.axis[i];
        timed = timed ||
                (axis->kind == AXIS_TIME && (axis->scale != 1.0 || axis->place != 0.0 || axis->unit != NULL));
        series = series || axis->kind > AXIS_Z;
        unit = unit || (axis->kind <= AXIS_Z && axis->unit != NULL);
    }
    if (series && !keeps)
        format_drop(dropped, "axes");
    else if (timed)
        format_drop(dropped, "frame interval");
    if (unit && source->header.millimetres == 0.0)
        format_drop(dropped, "unit");
    if (source->header.geometry.known && !sink->holds_geometry)
        format_drop(dropped, "translation");
}

const char *zarr_source_own_name(const struct zarr_source *zarr)
{
    const struct json_value *images = json_member(multiscale_home(zarr->attributes), "multiscales");
    const char *folder = path_base_name(zarr->folder);
    const char *name = json_text_of(json_member(json_first(images), "name"));
    const size_t length = format_stem_length(folder);

    return name == NULL || strcmp(name, "/") == 0 ||
                   (strlen(name) == length && strncmp(name, folder, length) == 0)
               ? NULL
               : name;
}

bool zarr_source_display_holds(const struct source *source, const struct header *written)
{
    return written->values <= VALUES_FILTERED && written->choice.count == 0 &&
           grid_same_extents(&written->grid, &source->header.grid);
}

void zarr_source_list_dropped(const struct source *source, const struct receiver *to, struct dropped *dropped)
{
    const struct zarr_source *zarr = source->state;
    const struct json_value *home = multiscale_home(zarr->attributes);
    /* The format itself keeps more than others do. */
    const bool same = to->format->family == source->format->family;
    const struct json_value *image = json_first(json_member(home, "multiscales"));
    const bool shown = same && zarr_source_display_holds(source, to->header);
    const char *const in_folder[] = {"ome", "multiscales", home == zarr->attributes && shown ? "omero" : NULL,
                                     NULL};
    const char *const in_home[] = {"multiscales", "version", shown ? "omero" : NULL, NULL};
    const char *const in_image[] = {"axes",
                                    "datasets",
                                    "coordinateTransformations",
                                    "version",
                                    same || zarr_source_own_name(zarr) == NULL ? "name" : NULL,
                                    NULL};

    if (zarr->is_image)
        drop_members(image, in_image, dropped);
    if (zarr->is_image && !same)
        drop_axes(source, to->format, dropped);
    if (home != zarr->attributes)
        drop_members(home, in_home, dropped);
    drop_members(zarr->attributes, in_folder, dropped);
    if (zarr->array.has_names && !zarr->is_image)
        format_drop(dropped, "dimension_names");
}
