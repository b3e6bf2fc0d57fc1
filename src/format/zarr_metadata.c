/* What OME-Zarr tells of an image that is written.

   Axes of an input in the same format keep their names, units and places. Of other series, channels and times
   are axes where the input tells of these, as TIFF does; else all volumes are frames. Of the input's
   metadata, a name of its own stays, and "omero" where every sample that it may speak of is there and the
   ranges that it shows still hold. */
#include "zarr_metadata.h"

#include "model/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of a list of counts, one of each axis. */
#define LIST_BYTES (ZARR_AXES_MOST * 22 + 3)

/* ---- axes ---- */

/* Those of the input that make its series. */
static void begin_series(struct zarr_image *image)
{
    const struct zarr_source *zarr = image->zarr;
    const struct json_value *images = json_member(multiscale_home(zarr->attributes), "multiscales");
    const struct json_value *told = json_first(json_member(json_first(images), "axes"));

    for (size_t i = 0; i < zarr->image.axes; i++, told = json_next(told)) {
        const struct axis *axis = &zarr->image.axis[i];
        if (axis->kind > AXIS_Z && image->count < ZARR_SERIES_MOST)
            image->axes[image->count++] = (struct zarr_axis){.name = json_text_of(json_member(told, "name")),
                                                             .type = json_text_of(json_member(told, "type")),
                                                             .unit = axis->unit,
                                                             .extent = (size_t)zarr->array.shape[i],
                                                             .scale = axis->scale,
                                                             .place = axis->place};
    }
}

/* An axis of frames or channels, where there are several. */
static void add_axis(struct zarr_image *image, const char *name, const char *type, size_t extent)
{
    if (extent > 1)
        image->axes[image->count++] =
            (struct zarr_axis){.name = name, .type = type, .extent = extent, .scale = 1.0};
}

/* The unit of an axis in space; the input may have one that is known to it alone. */
static const char *unit_of(const struct zarr_image *image, const struct header *header, unsigned axis)
{
    if (header->millimetres > 0.0 || image->zarr == NULL)
        return unit_udunits(header->millimetres);
    return image->zarr->space[axis] == ARRAY_NO_AXIS ? NULL
                                                     : image->zarr->image.axis[image->zarr->space[axis]].unit;
}

void zarr_metadata_begin(struct zarr_image *image, const struct header *header, const struct source *origin)
{
    static const char *const names[] = {"x", "y", "z"};
    const bool is_same = origin != NULL && origin->format->family == FAMILY_ZARR;
    const struct zarr_source *zarr = is_same ? origin->state : NULL;
    const size_t channels = header_series_channels(header);

    *image = (struct zarr_image){.zarr = zarr != NULL && zarr->is_image ? zarr : NULL};
    image->keeps_display = image->zarr != NULL && zarr_source_display_holds(origin, header);
    if (header->volumes > 1 && image->zarr != NULL) {
        begin_series(image);
    } else {
        /* OME-Zarr has times before channels, and one axis of channels. */
        add_axis(image, "t", "time", header->volumes / channels);
        add_axis(image, "c", "channel", channels);
    }
    image->series = image->count;
    add_axis(image, "c", "channel", header->grid.channels);
    /* A rod is a picture of one row. */
    for (unsigned axis = header->grid.axes == 3 ? 3 : 2; axis-- > 0;)
        image->axes[image->count++] =
            (struct zarr_axis){.name = names[axis],
                               .type = "space",
                               .unit = unit_of(image, header, axis),
                               .extent = grid_extent(&header->grid, axis),
                               .scale = header->grid.spacing[axis],
                               .place = (double)header->first[axis] * header->grid.spacing[axis] +
                                        (image->zarr != NULL ? origin->header.geometry.origin[axis] : 0.0)};
}

/* ---- the array ---- */

/* "[1, 2, 3]": a number of each axis, the member of struct zarr_axis at this offset. */
static const char *list_counts(const struct zarr_image *image, size_t member, char list[LIST_BYTES])
{
    *list = '\0';
    for (size_t i = 0; i < image->count; i++)
        diag_append(list, LIST_BYTES, "%s%zu", i == 0 ? "[" : ", ",
                    *(const size_t *)(const void *)((const char *)&image->axes[i] + member));
    diag_append(list, LIST_BYTES, "]");
    return list;
}

/* The one codec of the array: shards, with the codecs of their chunks and of their indexes. */
static void write_sharding(struct json *json, const struct zarr_image *image)
{
    const struct codec *codecs = image->chain->codecs;
    char list[LIST_BYTES], zstd[128] = "";

    if (codecs[1].kind == CODEC_ZSTD)
        snprintf(zstd, sizeof zstd,
                 "{\"name\": \"zstd\", \"configuration\": {\"level\": %d, \"checksum\": false}}, ",
                 codecs[1].level);
    json_format(json, "codecs",
                "[{\"name\": \"sharding_indexed\", \"configuration\": {\"chunk_shape\": %s, "
                "\"codecs\": [{\"name\": \"bytes\", \"configuration\": {\"endian\": \"%s\"}}, "
                "%s{\"name\": \"crc32c\"}], "
                "\"index_codecs\": [{\"name\": \"bytes\", \"configuration\": {\"endian\": \"little\"}}, "
                "{\"name\": \"crc32c\"}], \"index_location\": \"end\"}}]",
                list_counts(image, offsetof(struct zarr_axis, chunk), list), codecs[0].big ? "big" : "little",
                zstd);
}

static void write_array(struct json *json, const struct zarr_image *image, const char *name)
{
    char list[LIST_BYTES];

    (void)name;
    json_text(json, "node_type", "array");
    json_format(json, "shape", "%s", list_counts(image, offsetof(struct zarr_axis, extent), list));
    json_text(json, "data_type", array_type_name(image->chain->type));
    json_format(json, "chunk_grid", "{\"name\": \"regular\", \"configuration\": {\"chunk_shape\": %s}}",
                list_counts(image, offsetof(struct zarr_axis, shard), list));
    json_format(json, "chunk_key_encoding", "{\"name\": \"default\"}");
    json_count(json, "fill_value", 0);
    write_sharding(json, image);
    json_begin_array(json, "dimension_names");
    for (size_t i = 0; i < image->count; i++)
        json_text(json, NULL, image->axes[i].name);
    json_end_array(json);
}

/* ---- the group ---- */

static void write_axes(struct json *json, const struct zarr_image *image)
{
    json_begin_array(json, "axes");
    for (size_t i = 0; i < image->count; i++) {
        const struct zarr_axis *axis = &image->axes[i];
        json_begin_object(json, NULL);
        json_text(json, "name", axis->name);
        if (axis->type != NULL)
            json_text(json, "type", axis->type);
        if (axis->unit != NULL)
            json_text(json, "unit", axis->unit);
        json_end_object(json);
    }
    json_end_array(json);
}

/* A number of each axis: the member of struct zarr_axis at this offset. */
static void write_transformation(struct json *json, const char *type, const struct zarr_image *image,
                                 size_t member)
{
    json_begin_object(json, NULL);
    json_text(json, "type", type);
    json_begin_array(json, type);
    for (size_t i = 0; i < image->count; i++)
        json_number(json, NULL, *(const double *)(const void *)((const char *)&image->axes[i] + member));
    json_end_array(json);
    json_end_object(json);
}

static void write_dataset(struct json *json, const struct zarr_image *image)
{
    bool is_placed = false;

    for (size_t i = 0; i < image->count; i++)
        is_placed = is_placed || image->axes[i].place < 0.0 || image->axes[i].place > 0.0;
    json_begin_object(json, NULL);
    json_text(json, "path", ZARR_ARRAY);
    json_begin_array(json, "coordinateTransformations");
    write_transformation(json, "scale", image, offsetof(struct zarr_axis, scale));
    if (is_placed)
        write_transformation(json, "translation", image, offsetof(struct zarr_axis, place));
    json_end_array(json);
    json_end_object(json);
}

static void write_group(struct json *json, const struct zarr_image *image, const char *name)
{
    const struct json_value *home = image->zarr == NULL ? NULL : multiscale_home(image->zarr->attributes);
    const char *own = image->zarr == NULL ? NULL : zarr_source_own_name(image->zarr);
    const struct json_value *display = json_member(home, "omero");

    json_text(json, "node_type", "group");
    json_begin_object(json, "attributes");
    json_begin_object(json, "ome");
    json_text(json, "version", "0.5");
    json_begin_array(json, "multiscales");
    json_begin_object(json, NULL);
    json_text(json, "name", own != NULL ? own : name);
    write_axes(json, image);
    json_begin_array(json, "datasets");
    write_dataset(json, image);
    json_end_array(json);
    json_end_object(json);
    json_end_array(json);
    if (image->keeps_display && display != NULL)
        json_copy(json, "omero", display);
    json_end_object(json);
    json_end_object(json);
}

/* Write a file of metadata. */
static bool put(const struct zarr_image *image, const char *name, const char *key,
                void (*write)(struct json *json, const struct zarr_image *image, const char *name),
                struct folder_out *folder, struct fault *fault)
{
    char *text = NULL;
    size_t size;
    FILE *stream = open_memstream(&text, &size);
    struct json json = {.stream = stream};
    bool done;

    if (stream != NULL) {
        json_begin_object(&json, NULL);
        json_count(&json, "zarr_format", 3);
        write(&json, image, name);
        json_end_object(&json);
    }
    done = stream != NULL && fclose(stream) == 0;
    if (!done)
        fault_raise(fault, STATUS_LIMIT, "not enough memory for the metadata of an output");
    done = done && folder_out_append(folder, key, true, text, size, fault);
    free(text);
    return done;
}

bool zarr_metadata_put(const struct zarr_image *image, const char *name, struct folder_out *folder,
                       struct fault *fault)
{
    return put(image, name, ZARR_ARRAY "/zarr.json", write_array, folder, fault) &&
           put(image, name, "zarr.json", write_group, folder, fault);
}
