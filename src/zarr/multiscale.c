/* Multiscales of OME-Zarr. Transformations are scales and translations alone: first those of the array that
   is read, then those of the image as a whole. */
#include "multiscale.h"

#include "model/limits.h"

#include <math.h>
#include <string.h>

const struct json_value *multiscale_home(const struct json_value *attributes)
{
    const struct json_value *ome = json_member(attributes, "ome");

    return ome != NULL ? ome : attributes;
}

/* ---- axes ---- */

static bool find_kind(const char *name, const char *type, enum axis_kind *kind)
{
    static const struct {
        const char *name, *type;
        enum axis_kind kind;
    } known[] = {{"x", "space", AXIS_X},
                 {"y", "space", AXIS_Y},
                 {"z", "space", AXIS_Z},
                 {"c", "channel", AXIS_CHANNEL},
                 {"t", "time", AXIS_TIME}};

    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        /* A channel or a time may have any name if the type says that it is one. */
        bool named = strcmp(known[i].name, name) == 0,
             typed = type != NULL && strcmp(known[i].type, type) == 0;
        if (type == NULL ? named : typed && (named || known[i].kind > AXIS_Z)) {
            *kind = known[i].kind;
            return true;
        }
    }
    *kind = AXIS_OTHER;
    return type == NULL || strcmp(type, "space") != 0;
}

/* Axes of one kind would have to be told apart in the grid, so there is one of each at most. */
static bool read_axis(struct multiscale *multiscale, const struct json_value *value, bool has[AXIS_OTHER + 1],
                      struct fault *fault)
{
    const char *name = json_text_of(json_member(value, "name"));
    struct axis axis = {.unit = json_text_of(json_member(value, "unit")), .scale = 1.0};

    if (name == NULL)
        return fault_set_for(fault, STATUS_INPUT, "axes", "one without a name");
    if (!find_kind(name, json_text_of(json_member(value, "type")), &axis.kind))
        return fault_raise(fault, STATUS_INPUT, "axes: %.100s: an axis of space is x, y or z", name);
    if (has[axis.kind])
        return fault_raise(fault, STATUS_INPUT,
                           "axes: %.100s: a second axis of its kind, which is not supported", name);
    has[axis.kind] = true;
    multiscale->axis[multiscale->axes++] = axis;
    return true;
}

static bool read_axes(struct multiscale *multiscale, const struct json_value *axes, struct fault *fault)
{
    bool has[AXIS_OTHER + 1] = {false};

    if (axes == NULL || axes->kind != JSON_ARRAY || axes->count == 0 || axes->count > ARRAY_MOST_AXES)
        return fault_set_for(fault, STATUS_INPUT, "axes", "missing, or not a list of axes");
    for (const struct json_value *axis = json_first(axes); axis != NULL; axis = json_next(axis)) {
        if (!read_axis(multiscale, axis, has, fault))
            return false;
    }
    return (has[AXIS_X] && (has[AXIS_Y] || !has[AXIS_Z])) ||
           fault_set_for(fault, STATUS_INPUT, "axes", "without x, or z without y");
}

/* ---- transformations ---- */

/* A number for each axis. */
static bool read_numbers(const struct multiscale *multiscale, const struct json_value *list,
                         double numbers[ARRAY_MOST_AXES])
{
    size_t count = 0;

    for (const struct json_value *number = json_first(list); number != NULL; number = json_next(number)) {
        if (count == multiscale->axes || number->kind != JSON_NUMBER || !isfinite(number->number))
            return false;
        numbers[count++] = number->number;
    }
    return list != NULL && list->kind == JSON_ARRAY && count == multiscale->axes;
}

/* A scale also moves what was placed before. */
static bool transform(struct multiscale *multiscale, const struct json_value *value, struct fault *fault)
{
    const struct json_value *type = json_member(value, "type");
    const bool scales = json_is_text(type, "scale"), moves = json_is_text(type, "translation");
    double numbers[ARRAY_MOST_AXES];

    if (json_is_text(type, "identity"))
        return true;
    if (!scales && !moves)
        return fault_set_for(fault, STATUS_INPUT, "coordinateTransformations",
                             "neither a scale nor a translation, which is not supported");
    if (!read_numbers(multiscale, json_member(value, json_text_of(type)), numbers))
        return fault_set_for(fault, STATUS_INPUT, "coordinateTransformations", "not a number for each axis");
    for (size_t i = 0; i < multiscale->axes; i++) {
        struct axis *axis = &multiscale->axis[i];
        axis->scale *= scales ? numbers[i] : 1.0;
        axis->place = scales ? axis->place * numbers[i] : axis->place + numbers[i];
    }
    return true;
}

static bool read_transformations(struct multiscale *multiscale, const struct json_value *holder,
                                 struct fault *fault)
{
    const struct json_value *list = json_member(holder, "coordinateTransformations");

    for (const struct json_value *value = json_first(list); value != NULL; value = json_next(value)) {
        if (!transform(multiscale, value, fault))
            return false;
    }
    return true;
}

/* A distance that makes no sense would become one that somebody takes for measured. */
static bool check_scales(const struct multiscale *multiscale, struct fault *fault)
{
    for (size_t i = 0; i < multiscale->axes; i++) {
        const struct axis *axis = &multiscale->axis[i];
        if (axis->kind <= AXIS_Z && !(axis->scale >= LEAST_SPACING && axis->scale <= MOST_SPACING))
            return fault_set_for(fault, STATUS_INPUT, "coordinateTransformations",
                                 "a scale that is not a distance");
        if (!isfinite(axis->place))
            return fault_set_for(fault, STATUS_INPUT, "coordinateTransformations",
                                 "a translation that is not finite");
    }
    return true;
}

/* ---- the image ---- */

/* The array of a resolution; they are listed from the full one on. */
static bool read_dataset(struct multiscale *multiscale, const struct json_value *datasets,
                         uint64_t resolution, struct fault *fault)
{
    const struct json_value *dataset = json_first(datasets);

    if (dataset == NULL || datasets->kind != JSON_ARRAY)
        return fault_set_for(fault, STATUS_INPUT, "datasets", "missing, or no list");
    multiscale->resolutions = datasets->count;
    if (resolution >= datasets->count)
        return fault_raise(fault, STATUS_USAGE, "--resolution: %llu: the last one is %u",
                           (unsigned long long)resolution, datasets->count - 1);
    while (resolution-- > 0)
        dataset = json_next(dataset);
    multiscale->path = json_text_of(json_member(dataset, "path"));
    if (multiscale->path == NULL || !store_is_key(multiscale->path))
        return fault_set_for(fault, STATUS_INPUT, "path", "missing, or not that of an array in the folder");
    return read_transformations(multiscale, dataset, fault);
}

/* The version stands beside the image, or in it. */
static bool check_version(const struct json_value *attributes, const struct json_value *image,
                          struct fault *fault)
{
    const bool ome = json_member(attributes, "ome") != NULL;
    const struct json_value *version = json_member(ome ? json_member(attributes, "ome") : image, "version");

    if (version == NULL && !ome)
        return true;
    return json_is_text(version, ome ? "0.5" : "0.4") ||
           fault_raise(
               fault, STATUS_INPUT,
               "version: %.20s of OME-Zarr, which is not supported: name one of its arrays to read it "
               "without axes",
               json_text_of(version) != NULL ? version->text : "none");
}

bool multiscale_read(struct multiscale *multiscale, const struct json_value *attributes, uint64_t resolution,
                     struct fault *fault)
{
    const struct json_value *home = multiscale_home(attributes), *images = json_member(home, "multiscales"),
                            *image = json_first(images);

    *multiscale = (struct multiscale){.axes = 0};
    if (json_member(home, "plate") != NULL || json_member(home, "well") != NULL)
        return fault_set_for(fault, STATUS_INPUT, "plate", "several images: name the folder of one");
    if (json_member(attributes, "bioformats2raw.layout") != NULL ||
        json_member(home, "bioformats2raw.layout") != NULL)
        return fault_set_for(fault, STATUS_INPUT, "bioformats2raw.layout",
                             "several images: name the folder of one, such as 0 in this one");
    if (image == NULL || images->kind != JSON_ARRAY)
        return fault_set_for(fault, STATUS_INPUT, "multiscales",
                             "missing, and a group has no samples: name an array in it");
    multiscale->others = images->count - 1;
    return check_version(attributes, image, fault) &&
           read_axes(multiscale, json_member(image, "axes"), fault) &&
           read_dataset(multiscale, json_member(image, "datasets"), resolution, fault) &&
           read_transformations(multiscale, image, fault) && check_scales(multiscale, fault);
}
