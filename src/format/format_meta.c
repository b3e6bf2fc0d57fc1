/* MetaImage: a header in text, with the samples after it or in files of their own. */
#include "base/number.h"
#include "format.h"
#include "dropped_fields.h"
#include "units.h"
#include "volume_sink.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { LINE_MOST = 1024, DIMS_MOST = 10 };

/* The first name of a type is written. */
static const struct element {
    const char *name;
    enum sample_type type;
} elements[] = {
    {"MET_UCHAR", SAMPLE_U8},   {"MET_CHAR", SAMPLE_I8},        {"MET_USHORT", SAMPLE_U16},
    {"MET_SHORT", SAMPLE_I16},  {"MET_UINT", SAMPLE_U32},       {"MET_INT", SAMPLE_I32},
    {"MET_ULONG", SAMPLE_U32},  {"MET_LONG", SAMPLE_I32},       {"MET_FLOAT", SAMPLE_F32},
    {"MET_DOUBLE", SAMPLE_F64}, {"MET_ULONG_LONG", SAMPLE_U64}, {"MET_LONG_LONG", SAMPLE_I64},
};
enum { ELEMENTS = sizeof elements / sizeof *elements };

static bool is_field(const struct field *field, const char *const *names)
{
    for (; field->name != NULL && *names != NULL; names++) {
        if (strcasecmp(field->name, *names) == 0)
            return true;
    }
    return false;
}

/* ---- reading ---- */

static bool begins(const unsigned char *start, size_t size, const char *name)
{
    size_t length = strlen(name);

    if (size <= length || memcmp(start, name, length) != 0)
        return false;
    while (length < size && (start[length] == ' ' || start[length] == '\t'))
        length++;
    return length < size && start[length] == '=';
}

static bool sniff(const unsigned char *start, size_t size)
{
    return begins(start, size, "ObjectType") || begins(start, size, "NDims");
}

static struct text_header *fields_of(struct source *source)
{
    return &((struct volume *)source->state)->fields;
}

/* The header ends with the field that says where the samples are. */
static bool read_lines(struct source *source, struct fault *fault)
{
    struct text_header *fields = fields_of(source);
    struct byte_stream *stream = ((struct volume *)source->state)->stream;
    const struct field *last;
    bool ended;

    do {
        if (!text_header_read_line(fields, stream, &ended, fault))
            return false;
        if (ended)
            return fault_raise_about(fault, STATUS_INPUT, fields->file, "ElementDataFile: missing");
        if (!text_header_split_last(fields, "=", fault))
            return false;
        last = &fields->items[fields->count - 1];
        if (last->name == NULL && last->line[0] != '\0')
            return fault_raise_about(fault, STATUS_INPUT, fields->file, "header: line %zu: no field",
                                     fields->count);
    } while (last->name == NULL || strcasecmp(last->name, "ElementDataFile") != 0);
    return true;
}

static bool read_flag(const struct text_header *fields, const char *name, bool *flag, struct fault *fault)
{
    const char *value = text_header_find(fields, name);

    if (value == NULL)
        return true;
    *flag = strcasecmp(value, "True") == 0 || strcmp(value, "1") == 0;
    return *flag || strcasecmp(value, "False") == 0 || strcmp(value, "0") == 0 ||
           text_header_refuse(fields, name, value, "neither True nor False", fault);
}

static bool read_type(struct source *source, struct fault *fault)
{
    const struct text_header *fields = fields_of(source);
    const char *value;

    if (!text_header_require(fields, "ElementType", &value, fault))
        return false;
    for (size_t i = 0; i < ELEMENTS; i++) {
        size_t length = strlen(elements[i].name);
        if (strncmp(value, elements[i].name, length) == 0 &&
            (value[length] == '\0' || strcmp(value + length, "_ARRAY") == 0)) {
            source->header.type = elements[i].type;
            return true;
        }
    }
    return text_header_refuse(fields, "ElementType", value, "not supported", fault);
}

static bool read_extents(struct source *source, struct fault *fault)
{
    const struct text_header *fields = fields_of(source);
    const char *dims, *sizes, *channels = text_header_find(fields, "ElementNumberOfChannels");
    uint64_t extents[DIMS_MOST], count, of_sample = 1;
    size_t found;

    if (!text_header_require(fields, "NDims", &dims, fault) ||
        !text_header_require(fields, "DimSize", &sizes, fault))
        return false;
    if (!number_parse_count(dims, &count) || count < 1 || count > DIMS_MOST)
        return text_header_refuse(fields, "NDims", dims, "not a number from 1 to 10", fault);
    if (!text_header_counts(sizes, DIMS_MOST, extents, &found))
        return text_header_refuse(fields, "DimSize", sizes, "not whole numbers, or too large ones", fault);
    if (found != count)
        return fault_raise_about(fault, STATUS_INPUT, fields->file, "DimSize: %zu value%s for NDims %llu",
                                 found, number_plural(found), (unsigned long long)count);
    if (channels != NULL && (!number_parse_count(channels, &of_sample) || of_sample == 0))
        return text_header_refuse(fields, "ElementNumberOfChannels", channels, "not a number above 0", fault);
    return volume_set_extents(source, "DimSize", extents, found, of_sample, fault);
}

/* A field by its names, of which the first counts that the header has. */
struct field_alias {
    const char *names[4];
    bool is_matrix;
    double beyond; /* what holds for an axis of which it tells nothing */
};

/* A size of elements need not be the distance between them. */
static const struct field_alias spacings = {{"ElementSpacing", "ElementSize"}, .beyond = 1.0};
static const struct field_alias offsets = {{"Offset", "Origin", "Position"}, .beyond = 0.0};
static const struct field_alias matrices = {
    {"TransformMatrix", "Rotation", "Orientation"}, .is_matrix = true, .beyond = 1.0};

static const char *find_name(const struct text_header *fields, const struct field_alias *told)
{
    const char *const *names = told->names;

    while (*names != NULL && text_header_find(fields, *names) == NULL)
        names++;
    return *names;
}

enum { NUMBERS_MOST = DIMS_MOST * DIMS_MOST };

static size_t count_dims(const struct text_header *fields)
{
    uint64_t dims = 0;

    number_parse_count(text_header_find(fields, "NDims"), &dims);
    return (size_t)dims;
}

static size_t count_of(const struct field_alias *told, size_t axes)
{
    return told->is_matrix ? axes * axes : axes;
}

/* Of how many axes so many numbers tell; 0: of none. As in ITK, those after the last axis mean nothing, and
   writers of series tell of the axes in space alone. */
static size_t axes_told(const struct field_alias *told, size_t found, size_t dims)
{
    if (found == count_of(told, dims) || (!told->is_matrix && found > dims))
        return dims;
    return dims > 3 && found == count_of(told, 3) ? 3 : 0;
}

/* The numbers of a field under one of its names, for each axis of the header; false where they are not
   there. */
static bool read_numbers(const struct text_header *fields, const struct field_alias *told, const char *name,
                         double numbers[NUMBERS_MOST])
{
    const char *value = text_header_find(fields, name);
    size_t found, dims = count_dims(fields), columns = told->is_matrix ? dims : 1, known;
    double given[NUMBERS_MOST];

    if (value == NULL || !text_header_numbers(value, NUMBERS_MOST, given, &found))
        return false;
    known = axes_told(told, found, dims);
    for (size_t i = 0; i < dims; i++) {
        for (size_t k = 0; k < columns; k++)
            numbers[i * columns + k] = i < known && k < known   ? given[told->is_matrix ? i * known + k : i]
                                       : columns == 1 || i == k ? told->beyond
                                                                : 0.0;
    }
    return known > 0;
}

static bool find_numbers(const struct volume *volume, const struct field_alias *told,
                         double numbers[NUMBERS_MOST])
{
    const char *name = find_name(&volume->fields, told);

    return name != NULL && read_numbers(&volume->fields, told, name, numbers);
}

static bool are_finite(const double *numbers, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(numbers[i]))
            return false;
    }
    return true;
}

static bool are_same(const double *numbers, const double *others, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (numbers[i] != others[i])
            return false;
    }
    return true;
}

/* A name that the header has needs its numbers. */
static bool check_name(const struct text_header *fields, const struct field_alias *told, const char *name,
                       struct fault *fault)
{
    size_t count = count_of(told, count_dims(fields));
    const char *value = text_header_find(fields, name);
    double numbers[NUMBERS_MOST];
    char expected[64];

    if (value == NULL || (read_numbers(fields, told, name, numbers) && are_finite(numbers, count)))
        return true;
    snprintf(expected, sizeof expected, "not %zu finite number%s", count, number_plural(count));
    return text_header_refuse(fields, name, value, expected, fault);
}

static bool check_names(const struct text_header *fields, const struct field_alias *told, struct fault *fault)
{
    for (const char *const *name = told->names; *name != NULL; name++) {
        if (!check_name(fields, told, *name, fault))
            return false;
    }
    return true;
}

/* Names of one field must not contradict each other. */
static bool check_field(const struct text_header *fields, const struct field_alias *told, struct fault *fault)
{
    const char *first = find_name(fields, told);
    double numbers[NUMBERS_MOST], others[NUMBERS_MOST];

    if (!check_names(fields, told, fault))
        return false;
    for (const char *const *name = told->names; first != NULL && *name != NULL; name++) {
        if (read_numbers(fields, told, first, numbers) && read_numbers(fields, told, *name, others) &&
            !are_same(numbers, others, count_of(told, count_dims(fields))))
            return fault_raise_about(fault, STATUS_INPUT, fields->file, "%s: other numbers than in %s", *name,
                                     first);
    }
    return true;
}

static bool read_spacing(struct source *source, struct fault *fault)
{
    const struct text_header *fields = fields_of(source);
    const char *name = find_name(fields, &spacings);
    size_t dims = count_dims(fields);
    double spacing[NUMBERS_MOST];

    if (!check_names(fields, &spacings, fault))
        return false;
    if (!find_numbers(source->state, &spacings, spacing))
        return true;
    for (size_t i = 0; i < dims; i++) {
        if (spacing[i] == 0.0)
            return text_header_refuse(fields, name, text_header_find(fields, name), "a distance of 0", fault);
    }
    volume_set_spacing(source, spacing, dims);
    return true;
}

/* -1 for an axis along which the distance is below 0: as in ITK, it runs against its direction. */
static void read_signs(const struct volume *volume, double signs[3])
{
    double spacing[NUMBERS_MOST];
    bool found = find_numbers(volume, &spacings, spacing);

    for (size_t i = 0, dims = count_dims(&volume->fields); i < 3; i++)
        signs[i] = found && i < dims && spacing[i] < 0.0 ? -1.0 : 1.0;
}

/* Whether the axes of a series have no part in the matrix. */
static bool is_in_space(const double *matrix, size_t dims)
{
    for (size_t i = 0; i < dims; i++) {
        for (size_t k = 0; k < dims; k++) {
            if ((i >= 3 || k >= 3) && matrix[i * dims + k] != (i == k ? 1.0 : 0.0))
                return false;
        }
    }
    return true;
}

/* Where the grid is in space, by the vectors along its axes. */
struct place {
    bool known;
    double origin[3], vectors[3][3];
};

static struct place read_place(const struct volume *volume)
{
    double offset[NUMBERS_MOST] = {0.0}, matrix[NUMBERS_MOST] = {0.0}, signs[3];
    size_t dims = count_dims(&volume->fields);
    bool placed = find_numbers(volume, &offsets, offset), turned = find_numbers(volume, &matrices, matrix);
    struct place place;

    read_signs(volume, signs);
    place.known = (placed || turned || signs[0] < 0.0 || signs[1] < 0.0 || signs[2] < 0.0) &&
                  (!turned || is_in_space(matrix, dims));
    for (size_t i = 0; i < 3; i++) {
        place.origin[i] = placed && i < dims ? offset[i] : 0.0;
        for (size_t k = 0; k < 3; k++)
            place.vectors[i][k] = signs[i] * (turned && i < dims && k < dims ? matrix[i * dims + k]
                                              : i == k                       ? 1.0
                                                                             : 0.0);
    }
    return place;
}

/* Other vectors change the distances, which then are not those of the spacing. */
static bool has_unit_vectors(const struct place *place)
{
    for (size_t i = 0; i < 3; i++) {
        const double *vector = place->vectors[i];
        double squares = vector[0] * vector[0] + vector[1] * vector[1] + vector[2] * vector[2];
        if (!(fabs(sqrt(squares) - 1.0) <= 1e-3))
            return false;
    }
    return true;
}

/* Letters name the sides that axes come from. */
static void read_orientation(const struct text_header *fields, char sides[4])
{
    static const char from[] = "LRPASI", towards[] = "RLAPIS";
    const char *value = text_header_find(fields, "AnatomicalOrientation");
    unsigned seen = 0;

    if (value == NULL || strspn(value, from) != 3 || value[3] != '\0')
        return;
    for (size_t i = 0; i < 3; i++) {
        size_t letter = (size_t)(strchr(from, value[i]) - from);
        seen |= 1U << letter / 2;
        sides[i] = towards[letter];
    }
    if (seen != 7)
        sides[0] = '\0';
}

static bool set_position(struct source *source, struct fault *fault)
{
    const struct text_header *fields = fields_of(source);
    struct header *header = &source->header;
    const char *unit = text_header_find(fields, "DistanceUnits");
    struct place place;

    if (unit != NULL)
        header->millimetres = unit_millimetres(unit_of_name(unit));
    if (!check_field(fields, &offsets, fault) || !check_field(fields, &matrices, fault))
        return false;
    place = read_place(source->state);
    if (source->header.grid.axes < 3)
        return true;
    if (place.known)
        header->geometry = geometry_make(place.origin, place.vectors, geometry_lps);
    if (header->geometry.known && find_name(fields, &matrices) != NULL)
        geometry_orientation(&header->geometry, header->orientation);
    else if (find_name(fields, &matrices) == NULL)
        read_orientation(fields, header->orientation);
    header->geometry.known = header->geometry.known && has_unit_vectors(&place);
    return true;
}

/* What samples stand for. */
static const char slope_field[] = "ElementToIntensityFunctionSlope",
                  intercept_field[] = "ElementToIntensityFunctionOffset";
static const char *const intensity_fields[] = {slope_field, intercept_field, NULL};

static bool read_factor(const struct text_header *fields, const char *name, double *factor,
                        struct fault *fault)
{
    const char *value = text_header_find(fields, name);

    return value == NULL || number_parse_double(value, factor) ||
           text_header_refuse(fields, name, value, "not a finite number", fault);
}

static bool read_intensity(const struct text_header *fields, struct intensity *intensity, struct fault *fault)
{
    const char *slope = text_header_find(fields, slope_field);

    *intensity = (struct intensity){0.0, 0.0};
    if (slope == NULL && text_header_find(fields, intercept_field) == NULL)
        return true;
    intensity->slope = 1.0;
    if (!read_factor(fields, slope_field, &intensity->slope, fault) ||
        !read_factor(fields, intercept_field, &intensity->intercept, fault))
        return false;
    return intensity->slope != 0.0 ||
           text_header_refuse(fields, slope_field, slope, "all samples would stand for one value", fault);
}

static bool read_layout(struct source *source, struct fault *fault)
{
    struct volume *volume = source->state;
    const struct text_header *fields = &volume->fields;
    const char *skip = text_header_find(fields, "HeaderSize");
    bool big = false, binary = true, compressed = false;

    if (!read_flag(fields, "BinaryDataByteOrderMSB", &big, fault) ||
        !read_flag(fields, "ElementByteOrderMSB", &big, fault) ||
        !read_flag(fields, "BinaryData", &binary, fault) ||
        !read_flag(fields, "CompressedData", &compressed, fault))
        return false;
    source->header.endian = big ? ENDIAN_BIG : ENDIAN_LITTLE;
    volume->coding.coding = compressed ? CODING_ZLIB : binary ? CODING_NONE : CODING_TEXT;
    if (skip == NULL)
        return true;
    volume->coding.skipped_by = "HeaderSize";
    volume->coding.before_code = true;
    volume->coding.at_end = strcmp(skip, "-1") == 0;
    return volume->coding.at_end || number_parse_count(skip, &volume->coding.byte_skip) ||
           text_header_refuse(fields, "HeaderSize", skip, "neither a count nor -1", fault);
}

/* A size that is claimed is held against what is there. */
static bool check_compressed(struct source *source, struct fault *fault)
{
    const struct volume *volume = source->state;
    const char *value = text_header_find(&volume->fields, "CompressedDataSize");
    uint64_t claimed, left;

    if (value == NULL || volume->coding.coding != CODING_ZLIB)
        return true;
    if (!number_parse_count(value, &claimed))
        return text_header_refuse(&volume->fields, "CompressedDataSize", value, "not a count", fault);
    return volume->files.count > 0 || !byte_stream_is_plain(volume->stream) ||
           !byte_stream_most(volume->stream, &left) || claimed + volume->coding.byte_skip == left ||
           fault_raise_about(fault, STATUS_INPUT, volume->fields.file,
                             "CompressedDataSize: %llu, but %llu bytes follow the header",
                             (unsigned long long)claimed, (unsigned long long)left);
}

/* In the file of the header, HeaderSize counts from the start. */
static bool skip_header(struct volume *volume, struct fault *fault)
{
    uint64_t *skip = &volume->coding.byte_skip;

    if (*skip > 0 && *skip < volume->fields.bytes)
        return fault_raise_about(fault, STATUS_INPUT, volume->fields.file,
                                 "HeaderSize: %llu: the header itself has %zu bytes",
                                 (unsigned long long)*skip, volume->fields.bytes);
    *skip -= *skip > 0 ? volume->fields.bytes : 0;
    return true;
}

static bool settle_files(struct source *source, struct fault *fault)
{
    struct volume *volume = source->state;
    const char *value = text_header_find(&volume->fields, "ElementDataFile");

    volume->files.field = "ElementDataFile";
    return strcasecmp(value, "LOCAL") == 0 ? skip_header(volume, fault)
                                           : volume_name_files(source, value, fault);
}

static bool read_header(struct source *source, const struct source_request *request, struct fault *fault)
{
    (void)request;
    if (!read_lines(source, fault) || !text_header_check_once(fields_of(source), fault) ||
        !read_type(source, fault) || !read_extents(source, fault) || !read_spacing(source, fault) ||
        !set_position(source, fault) || !read_intensity(fields_of(source), &source->header.intensity, fault))
        return false;
    return read_layout(source, fault) && settle_files(source, fault) && check_compressed(source, fault);
}

/* What is written anew, whatever the origin has. */
static const char *const own_fields[] = {"BinaryData",     "BinaryDataByteOrderMSB", "ElementByteOrderMSB",
                                         "CompressedData", "CompressedDataSize",     "HeaderSize",
                                         "ElementType",    "ElementDataFile",        NULL};

static const char *const extreme_fields[] = {"ElementMin", "ElementMax", NULL};

/* ---- what other formats do not keep ---- */

static const char *const grid_fields[] = {"ObjectType", "NDims", "DimSize", "ElementNumberOfChannels", NULL};

/* And what ITK writes beside them. */
static const char *const position_fields[] = {
    "Offset",   "Origin",      "Position",         "TransformMatrix",
    "Rotation", "Orientation", "CenterOfRotation", "AnatomicalOrientation",
    NULL};

/* Whether it tells of values that the output has no longer. */
static bool is_outdated(const struct field *field, const struct header *written)
{
    return (written->values > VALUES_COPIED && is_field(field, extreme_fields)) ||
           (written->values == VALUES_MAPPED && is_field(field, intensity_fields));
}

static const char *const unit_fields[] = {"DistanceUnits", NULL};

static const struct field_alias element_sizes = {{"ElementSize"}, .beyond = 1.0};
static const struct field_alias centers = {{"CenterOfRotation"}, .beyond = 0.0};

/* Of axes that run backwards, and of a size that is not the distance. */
static void tell_spacings(const struct source *source, bool keeps_position, char *dropped, size_t size)
{
    const struct volume *volume = source->state;
    const char *name = find_name(&volume->fields, &spacings);
    double spacing[NUMBERS_MOST], sized[NUMBERS_MOST], signs[3];
    size_t dims = count_dims(&volume->fields);

    read_signs(volume, signs);
    if (!keeps_position && (signs[0] < 0.0 || signs[1] < 0.0 || signs[2] < 0.0))
        dropped_fields_add(dropped, size, name);
    if (!find_numbers(volume, &spacings, spacing))
        return;
    if (find_numbers(volume, &element_sizes, sized) && !are_same(spacing, sized, dims))
        dropped_fields_add(dropped, size, element_sizes.names[0]);
    if (source->header.volumes > 1)
        dropped_fields_add_distances(dropped, size, name, spacing, 3, dims);
}

/* What is left out even if the position is kept: the time of the first volume, and a center that ITK does not
   use either. */
static void tell_rest(const struct volume *volume, char *dropped, size_t size)
{
    const char *name = find_name(&volume->fields, &offsets);
    double numbers[NUMBERS_MOST] = {0.0};
    size_t dims = count_dims(&volume->fields);
    bool centered = false;
    char indexed[64];

    for (size_t i = 3; find_numbers(volume, &offsets, numbers) && i < dims; i++) {
        snprintf(indexed, sizeof indexed, "%s[%zu]", name, i);
        if (numbers[i] != 0.0)
            dropped_fields_add(dropped, size, indexed);
    }
    for (size_t i = 0; find_numbers(volume, &centers, numbers) && i < dims; i++)
        centered = centered || numbers[i] != 0.0;
    if (centered)
        dropped_fields_add(dropped, size, centers.names[0]);
}

static void list_dropped(const struct source *source, const struct format *sink, const struct header *written,
                         char *dropped, size_t size)
{
    const struct volume *volume = source->state;
    struct place place = read_place(volume);
    bool keeps_position =
        (sink->holds_geometry && source->header.geometry.known) ||
        (place.known && has_unit_vectors(&place) && geometry_is_plain(place.origin, place.vectors));
    bool keeps_unit = sink->holds_spacing && source->header.millimetres > 0.0;

    for (size_t i = 0; i + volume->listed < volume->fields.count; i++) {
        const struct field *field = &volume->fields.items[i];
        if (field->name != NULL && sink->family == source->format->family && is_outdated(field, written))
            dropped_fields_add(dropped, size, field->name);
    }
    if (sink->family == source->format->family)
        return;
    for (size_t i = 0; i + volume->listed < volume->fields.count; i++) {
        const struct field *field = &volume->fields.items[i];
        bool keeps_intensity = sink->holds_intensity && written->values != VALUES_MAPPED;
        if (field->name != NULL && !(keeps_intensity && is_field(field, intensity_fields)) &&
            !is_field(field, own_fields) && !is_field(field, spacings.names) &&
            !is_field(field, grid_fields) && !(keeps_position && is_field(field, position_fields)) &&
            !(keeps_unit && is_field(field, unit_fields)))
            dropped_fields_add(dropped, size, field->name);
    }
    if (keeps_position)
        tell_rest(volume, dropped, size);
    tell_spacings(source, keeps_position, dropped, size);
}

/* ---- writing ---- */

static bool put_line(struct sink *sink, const char *line, struct fault *fault)
{
    return volume_sink_put(sink, line, strlen(line), fault) && volume_sink_put(sink, "\n", 1, fault);
}

static const char *type_name(enum sample_type type)
{
    for (size_t i = 0; i < ELEMENTS; i++) {
        if (elements[i].type == type)
            return elements[i].name;
    }
    return NULL;
}

static const char *const crop_fields[] = {"DimSize", "Offset", "Origin", "Position", NULL};

/* What of the origin's header no longer holds. */
struct change {
    bool spaced, cropped, revalued;
};

static bool put_kept(struct sink *sink, const struct volume *origin, const struct change *change,
                     struct fault *fault)
{
    for (size_t i = 0; i + origin->listed < origin->fields.count; i++) {
        const struct field *field = &origin->fields.items[i];
        bool left_out = is_field(field, own_fields) || (change->spaced && is_field(field, spacings.names)) ||
                        (change->cropped && is_field(field, crop_fields)) ||
                        (change->revalued && is_field(field, intensity_fields)) ||
                        is_outdated(field, &sink->header);
        if (!left_out && !put_line(sink, field->line, fault))
            return false;
    }
    return true;
}

/* Of all volumes of a series. */
static unsigned axes_of(const struct header *header)
{
    return header->grid.axes + (header->volumes > 1);
}

static bool put_extents(struct sink *sink, struct fault *fault)
{
    const struct grid *grid = &sink->header.grid;
    char line[LINE_MOST];
    int used = snprintf(line, sizeof line, "ObjectType = Image\nNDims = %u\nDimSize = %zu",
                        axes_of(&sink->header), grid->nx);

    if (grid->axes > 1)
        used += snprintf(line + used, sizeof line - (size_t)used, " %zu", grid->ny);
    if (grid->axes == 3)
        used += snprintf(line + used, sizeof line - (size_t)used, " %zu", grid->nz);
    if (sink->header.volumes > 1)
        used += snprintf(line + used, sizeof line - (size_t)used, " %zu", sink->header.volumes);
    if (grid->channels > 1)
        snprintf(line + used, sizeof line - (size_t)used, "\nElementNumberOfChannels = %u", grid->channels);
    return put_line(sink, line, fault);
}

/* One for each axis of the header, which may have more than the grid, or one alone. That of a series stays,
   and so do the signs. */
static bool put_spacing(struct sink *sink, const struct volume *origin, struct fault *fault)
{
    const struct grid *grid = &sink->header.grid;
    size_t count = origin != NULL ? count_dims(&origin->fields) : axes_of(&sink->header);
    double kept[NUMBERS_MOST], signs[3] = {1.0, 1.0, 1.0};
    bool has_kept = origin != NULL && find_numbers(origin, &spacings, kept);
    char line[LINE_MOST];
    int used = snprintf(line, sizeof line, "ElementSpacing =");

    if (origin != NULL)
        read_signs(origin, signs);
    for (size_t i = 0; i < count; i++)
        used += snprintf(line + used, sizeof line - (size_t)used, " %.17g",
                         i < 3      ? signs[i] * grid->spacing[i]
                         : has_kept ? kept[i]
                                    : 1.0);
    return put_line(sink, line, fault);
}

/* The sample that comes first has moved along the axes, each of which the matrix has a row for. */
static bool put_offset(struct sink *sink, const struct volume *origin, const uint64_t *sizes, size_t dims,
                       struct fault *fault)
{
    const struct header *header = &sink->header;
    double offset[NUMBERS_MOST] = {0.0}, steps[NUMBERS_MOST], matrix[NUMBERS_MOST], signs[3];
    bool stepped = find_numbers(origin, &spacings, steps);
    bool turned = find_numbers(origin, &matrices, matrix);
    char line[LINE_MOST];
    int used = snprintf(line, sizeof line, "Offset =");

    find_numbers(origin, &offsets, offset);
    read_signs(origin, signs);
    for (size_t k = 0; k < dims; k++) {
        for (size_t i = 0; i < dims && i < 3; i++)
            offset[k] += (double)header->first[i] * signs[i] * header->grid.spacing[i] *
                         (turned   ? matrix[i * dims + k]
                          : i == k ? 1.0
                                   : 0.0);
        if (k >= 3)
            offset[k] += (double)volume_sink_choice(header, sizes + 3, k - 3) * (stepped ? steps[k] : 1.0);
        used += snprintf(line + used, sizeof line - (size_t)used, " %.17g", offset[k]);
    }
    return put_line(sink, line, fault);
}

static bool put_region(struct sink *sink, const struct volume *origin, struct fault *fault)
{
    const struct grid *grid = &sink->header.grid;
    const size_t extents[3] = {grid->nx, grid->ny, grid->nz};
    uint64_t sizes[DIMS_MOST];
    char line[LINE_MOST];
    int used = snprintf(line, sizeof line, "DimSize =");
    const char *value;
    size_t count;

    if (!text_header_require(&origin->fields, "DimSize", &value, fault))
        return false;
    if (!text_header_counts(value, DIMS_MOST, sizes, &count))
        return text_header_refuse(&origin->fields, "DimSize", value, "not whole numbers", fault);
    for (size_t i = 0; i < count; i++)
        used += snprintf(line + used, sizeof line - (size_t)used, " %llu",
                         (unsigned long long)(i < 3                           ? extents[i]
                                              : sink->header.choice.count > 0 ? 1
                                                                              : sizes[i]));
    return put_line(sink, line, fault) && put_offset(sink, origin, sizes, count, fault);
}

/* Each axis has a row of the matrix; that of a series has no part in it. */
static bool put_geometry(struct sink *sink, const struct geometry *geometry, struct fault *fault)
{
    unsigned dims = axes_of(&sink->header);
    char line[LINE_MOST];
    int used = snprintf(line, sizeof line, "Offset =");

    for (unsigned i = 0; i < dims; i++)
        used +=
            snprintf(line + used, sizeof line - (size_t)used, " %.17g", i < 3 ? geometry->origin[i] : 0.0);
    used += snprintf(line + used, sizeof line - (size_t)used, "\nTransformMatrix =");
    for (unsigned i = 0; i < dims; i++) {
        for (unsigned k = 0; k < dims; k++)
            used += snprintf(line + used, sizeof line - (size_t)used, " %.17g",
                             i < 3 && k < 3 ? geometry->direction[i][k]
                             : i == k       ? 1.0
                                            : 0.0);
    }
    return put_line(sink, line, fault);
}

static bool put_intensity(struct sink *sink, struct fault *fault)
{
    const struct intensity *intensity = &sink->header.intensity;
    char line[LINE_MOST];

    snprintf(line, sizeof line, "%s = %.17g\n%s = %.17g", slope_field, intensity->slope, intercept_field,
             intensity->intercept);
    return intensity->slope == 0.0 || put_line(sink, line, fault);
}

/* The header of samples that come from another family of formats, or from a file without a header. */
static bool put_anew(struct sink *sink, const struct sink_request *request, struct fault *fault)
{
    struct geometry place;
    const struct geometry *geometry = volume_sink_geometry(sink, request, &place);

    return put_extents(sink, fault) && (geometry == NULL || put_geometry(sink, geometry, fault)) &&
           put_spacing(sink, NULL, fault) &&
           (intensity_is_plain(&sink->header.intensity) || put_intensity(sink, fault));
}

static bool put_description(struct sink *sink, const struct sink_request *request,
                            const struct volume *origin, struct fault *fault)
{
    const double *spacing = sink->header.grid.spacing;
    struct change change;

    if (origin == NULL)
        return put_anew(sink, request, fault);
    change = (struct change){
        .spaced = memcmp(spacing, origin->spacing, sizeof origin->spacing) != 0,
        .cropped = volume_sink_is_cropped(sink, request),
        .revalued = !intensity_is_same(&sink->header.intensity, &request->origin->header.intensity)};
    return put_kept(sink, origin, &change, fault) && (!change.cropped || put_region(sink, origin, fault)) &&
           (!change.spaced || put_spacing(sink, origin, fault)) &&
           (!change.revalued || put_intensity(sink, fault));
}

/* Compressed where it is asked for, or where the origin is. */
static bool is_compressed(const struct volume *origin, const struct sink_request *request)
{
    return request->level >= 0 ? request->level > 0 : origin != NULL && origin->coding.coding == CODING_ZLIB;
}

static bool put_layout(struct sink *sink, bool compressed, struct fault *fault)
{
    char line[LINE_MOST];

    snprintf(line, sizeof line,
             "BinaryData = True\nBinaryDataByteOrderMSB = %s\nCompressedData = %s\nElementType = %s",
             sink->header.endian == ENDIAN_BIG ? "True" : "False", compressed ? "True" : "False",
             type_name(sink->header.type));
    return put_line(sink, line, fault);
}

/* ITK requires the size of compressed samples that follow their header. */
static bool put_size(struct sink *sink, struct fault *fault)
{
    static const char field[] = "CompressedDataSize = ";

    return volume_sink_put(sink, field, sizeof field - 1, fault) && volume_sink_reserve_size(sink, fault) &&
           put_line(sink, "", fault);
}

static bool end_header(struct sink *sink, const struct sink_request *request, bool compressed,
                       struct fault *fault)
{
    char name[LINE_MOST], line[LINE_MOST + 32];

    if (sink->format->data_suffix == NULL)
        return (!compressed || put_size(sink, fault)) && put_line(sink, "ElementDataFile = LOCAL", fault);
    if (!volume_sink_cite_data(sink, compressed, name, sizeof name, fault))
        return false;
    snprintf(line, sizeof line, "ElementDataFile = %s", name);
    return put_line(sink, line, fault) && volume_sink_detach(sink, request, name, fault);
}

static bool write_header(struct sink *sink, const struct sink_request *request, struct fault *fault)
{
    const struct volume *origin = volume_sink_origin(sink, request);
    bool compressed = is_compressed(origin, request);

    if (type_name(sink->header.type) == NULL)
        return volume_sink_refuse_type(sink, fault);
    return put_description(sink, request, origin, fault) && put_layout(sink, compressed, fault) &&
           end_header(sink, request, compressed, fault) &&
           (!compressed || volume_sink_pack(sink, GZIP_WRITER_ZLIB, fault));
}

#define METAIMAGE                                                                                            \
    .family = FAMILY_METAIMAGE, .title = "a MetaImage file", .compresses = true, .holds_spacing = true,      \
    .holds_geometry = true, .holds_intensity = true, .list_dropped = list_dropped,                           \
    .read_header = read_header, .write_header = write_header, VOLUME_OPERATIONS

const struct format format_mha = {
    .name = "mha", .summary = "MetaImage", .joins = true, .sniff = sniff, METAIMAGE};

const struct format format_mhd = {.name = "mhd",
                                  .summary = "the same, with the samples in a file .raw beside it",
                                  .data_suffix = ".raw",
                                  .data_suffix_compressed = ".zraw",
                                  METAIMAGE};
