/* MetaImage: a header in text, with the samples after it or in files of their own.

   Some fields have several names (struct field_alias). The first name counts that the header has, and what
   stands under others must agree with it. ElementSize alone may differ from ElementSpacing: a sample need not
   fill the distance. As in ITK, a distance below 0 makes an axis run against its direction. Axes after the
   third are a series. They have no part in the matrix, and many writers give numbers for the three axes in
   space alone (axes_told).

   What the header says about axes is parsed once, into struct axes, which stays with the source. An output
   that is a MetaImage file too gets all other lines as they are. */
#include "base/mem.h"
#include "base/number.h"
#include "format.h"
#include "volume_sink.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* MetaIO, the library of the format, has no more axes either. */
enum { DIMS_MOST = 10, NUMBERS_MOST = DIMS_MOST * DIMS_MOST };

/* A LONG has 32 bits in MetaImage, whatever it has on the machine that wrote the file. Outputs take the first
   name of a type. */
static const struct word elements[] = {
    {SAMPLE_U8, "MET_UCHAR"},   {SAMPLE_I8, "MET_CHAR"},        {SAMPLE_U16, "MET_USHORT"},
    {SAMPLE_I16, "MET_SHORT"},  {SAMPLE_U32, "MET_UINT"},       {SAMPLE_I32, "MET_INT"},
    {SAMPLE_U32, "MET_ULONG"},  {SAMPLE_I32, "MET_LONG"},       {SAMPLE_F32, "MET_FLOAT"},
    {SAMPLE_F64, "MET_DOUBLE"}, {SAMPLE_U64, "MET_ULONG_LONG"}, {SAMPLE_I64, "MET_LONG_LONG"},
};
enum { ELEMENTS = sizeof elements / sizeof *elements };

static const char slope_field[] = "ElementToIntensityFunctionSlope",
                  intercept_field[] = "ElementToIntensityFunctionOffset";

static const struct known_field known_fields[] = {
    {"BinaryData,BinaryDataByteOrderMSB,ElementByteOrderMSB,CompressedData,CompressedDataSize,HeaderSize,"
     "ElementType,ElementDataFile",
     FIELD_OWN},
    {"ObjectType,NDims,ElementNumberOfChannels", FIELD_GRID},
    {"DimSize", FIELD_GRID | FIELD_EXTENTS},
    {"ElementSpacing,ElementSize", FIELD_GRID | FIELD_SPACING},
    {"Offset,Origin,Position", FIELD_POSITION | FIELD_ORIGIN},
    {"TransformMatrix,Rotation,Orientation,CenterOfRotation,AnatomicalOrientation", FIELD_POSITION},
    {"DistanceUnits", FIELD_UNIT},
    {"ElementToIntensityFunctionSlope,ElementToIntensityFunctionOffset", FIELD_INTENSITY},
    {"ElementMin,ElementMax", FIELD_EXTREMES},
    {NULL, 0},
};

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

/* The header ends with the field that says where the samples are. */
static bool read_lines(struct source *source, struct fault *fault)
{
    struct text_header *fields = volume_fields(source);
    struct byte_stream *stream = ((struct volume *)source->state)->stream;
    const struct field *last;
    bool ended;

    do {
        if (!text_header_read_line(fields, stream, &ended, fault))
            return false;
        if (ended)
            return source_refuse(source, fault, "ElementDataFile: missing");
        if (!text_header_split_last(fields, "=", fault))
            return false;
        last = &fields->items[fields->count - 1];
        if (last->name == NULL && last->line[0] != '\0')
            return source_refuse(source, fault, "header: line %zu: no field", fields->count);
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

/* The type is a name, which some writers end in _ARRAY where there are channels. */
static bool read_type(struct source *source, struct fault *fault)
{
    const struct text_header *fields = volume_fields(source);
    const char *value;

    if (!text_header_require(fields, "ElementType", &value, fault))
        return false;
    for (size_t i = 0; i < ELEMENTS; i++) {
        size_t length = strlen(elements[i].names);
        if (strncmp(value, elements[i].names, length) == 0 &&
            (value[length] == '\0' || strcmp(value + length, "_ARRAY") == 0)) {
            source->header.type = (enum sample_type)elements[i].meaning;
            return true;
        }
    }
    return text_header_refuse(fields, "ElementType", value, "not supported", fault);
}

/* The numbers of a field for each axis of the header, or for each two axes of a matrix. */
struct numbers {
    const char *name; /* under which they stand; NULL: they are what holds without the field */
    double at[NUMBERS_MOST];
};

/* The axes as the header has them. */
struct axes {
    size_t count;
    uint64_t sizes[DIMS_MOST];
    struct numbers spacing, offset, matrix;
    bool sized; /* ElementSize is another one than the spacing */
};

static bool read_extents(struct source *source, struct axes *axes, struct fault *fault)
{
    const struct text_header *fields = volume_fields(source);
    const char *channels = text_header_find(fields, "ElementNumberOfChannels");
    uint64_t of_sample = 1;

    if (!text_header_extents(fields, "NDims", "DimSize", DIMS_MOST, axes->sizes, &axes->count, fault))
        return false;
    if (channels != NULL && (!number_parse_count(channels, &of_sample) || of_sample == 0))
        return text_header_refuse(fields, "ElementNumberOfChannels", channels, "not a number above 0", fault);
    return volume_set_extents(source, "DimSize", axes->sizes, axes->count, of_sample, fault);
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

static size_t count_of(const struct field_alias *alias, size_t axes)
{
    return alias->is_matrix ? axes * axes : axes;
}

/* The number of axes that `found` numbers are for; 0: they fit none. As in ITK, numbers after the last axis
   mean nothing, and writers of series give those of the axes in space alone. */
static size_t axes_told(const struct field_alias *alias, size_t found, size_t dims)
{
    if (found == count_of(alias, dims) || (!alias->is_matrix && found > dims))
        return dims;
    return dims > 3 && found == count_of(alias, 3) ? 3 : 0;
}

/* The numbers of a field for each axis; false where its value tells of none. Without a value, what holds
 * then. */
static bool parse_numbers(const char *value, const struct field_alias *alias, size_t dims,
                          double numbers[NUMBERS_MOST])
{
    size_t columns = alias->is_matrix ? dims : 1, known = 0, found;
    double given[NUMBERS_MOST];

    if (value != NULL && text_header_numbers(value, NUMBERS_MOST, given, &found))
        known = axes_told(alias, found, dims);
    for (size_t i = 0; i < dims; i++) {
        for (size_t k = 0; k < columns; k++)
            numbers[i * columns + k] = i < known && k < known   ? given[alias->is_matrix ? i * known + k : i]
                                       : columns == 1 || i == k ? alias->beyond
                                                                : 0.0;
    }
    return known > 0;
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

/* Read a field under all its names. Each value must have the right count of finite numbers. *other is the
   first name whose numbers differ from those of the name that counts; NULL: all agree. */
static bool read_numbers(const struct text_header *fields, const struct field_alias *alias, size_t dims,
                         struct numbers *numbers, const char **other, struct fault *fault)
{
    const size_t count = count_of(alias, dims);
    double more[NUMBERS_MOST];
    char expected[64];

    *other = numbers->name = NULL;
    parse_numbers(NULL, alias, dims, numbers->at);
    for (const char *const *name = alias->names; *name != NULL; name++) {
        const char *value = text_header_find(fields, *name);
        if (value == NULL)
            continue;
        if (!parse_numbers(value, alias, dims, more) || !are_finite(more, count)) {
            snprintf(expected, sizeof expected, "not %zu finite number%s", count, number_plural(count));
            return text_header_refuse(fields, *name, value, expected, fault);
        }
        if (numbers->name == NULL) {
            numbers->name = *name;
            memcpy(numbers->at, more, sizeof more);
        } else if (*other == NULL && !are_same(numbers->at, more, count)) {
            *other = *name;
        }
    }
    return true;
}

/* Names of one field must not contradict each other. */
static bool read_agreed(const struct text_header *fields, const struct field_alias *alias, size_t dims,
                        struct numbers *numbers, struct fault *fault)
{
    const char *other;

    return read_numbers(fields, alias, dims, numbers, &other, fault) &&
           (other == NULL || fault_set_for(fault, STATUS_INPUT, fields->file, "%s: other numbers than in %s",
                                           other, numbers->name));
}

/* ElementSpacing, or without it ElementSize. That both are there and differ is remembered, since an output of
   another format keeps one of them. */
static bool read_spacing(struct source *source, struct axes *axes, struct fault *fault)
{
    const struct text_header *fields = volume_fields(source);
    struct numbers *spacing = &axes->spacing;
    const char *other;

    if (!read_numbers(fields, &spacings, axes->count, spacing, &other, fault))
        return false;
    axes->sized = other != NULL;
    for (size_t i = 0; i < axes->count; i++) {
        if (spacing->at[i] == 0.0)
            return text_header_refuse(fields, spacing->name, text_header_find(fields, spacing->name),
                                      "a distance of 0", fault);
    }
    volume_set_spacing(source, spacing->at, axes->count);
    return true;
}

/* -1 for an axis along which the distance is below 0: as in ITK, it runs against its direction. */
static double sign_of(const struct axes *axes, size_t axis)
{
    return axis < axes->count && axes->spacing.at[axis] < 0.0 ? -1.0 : 1.0;
}

static bool has_signs(const struct axes *axes)
{
    return sign_of(axes, 0) < 0.0 || sign_of(axes, 1) < 0.0 || sign_of(axes, 2) < 0.0;
}

/* An entry of the matrix, which is that of identity beyond the axes of the header. */
static double entry_of(const struct axes *axes, size_t row, size_t column)
{
    if (row < axes->count && column < axes->count)
        return axes->matrix.at[row * axes->count + column];
    return row == column ? 1.0 : 0.0;
}

/* Whether the axes of a series have no part in the matrix. */
static bool is_in_space(const struct axes *axes)
{
    for (size_t i = 0; i < axes->count; i++) {
        for (size_t k = 0; k < axes->count; k++) {
            if ((i >= 3 || k >= 3) && entry_of(axes, i, k) != (i == k ? 1.0 : 0.0))
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

/* The place of the grid: its first sample, and vectors of the matrix with the signs of distances. */
static struct place place_of(const struct axes *axes)
{
    struct place place = {.known =
                              (axes->offset.name != NULL || axes->matrix.name != NULL || has_signs(axes)) &&
                              is_in_space(axes)};

    for (size_t i = 0; i < 3; i++) {
        place.origin[i] = i < axes->count ? axes->offset.at[i] : 0.0;
        for (size_t k = 0; k < 3; k++)
            place.vectors[i][k] = sign_of(axes, i) * entry_of(axes, i, k);
    }
    return place;
}

/* Other vectors change the distances, which then are not those of the spacing. */
static bool has_unit_vectors(const struct place *place)
{
    for (size_t i = 0; i < 3; i++) {
        if (!(fabs(geometry_length(place->vectors[i]) - 1.0) <= 1e-3))
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

/* Where the grid is in space. Only a header with a matrix, or with letters for the sides, tells its
   orientation. */
static bool read_position(struct source *source, struct axes *axes, struct fault *fault)
{
    const struct text_header *fields = volume_fields(source);
    struct header *header = &source->header;
    const char *unit = text_header_find(fields, "DistanceUnits");
    struct place place;

    if (unit != NULL)
        header->millimetres = unit_millimetres(unit_of_name(unit));
    if (!read_agreed(fields, &offsets, axes->count, &axes->offset, fault) ||
        !read_agreed(fields, &matrices, axes->count, &axes->matrix, fault))
        return false;
    if (header->grid.axes < 3)
        return true;
    place = place_of(axes);
    if (place.known)
        header->geometry = geometry_make(place.origin, place.vectors, geometry_lps);
    if (axes->matrix.name == NULL)
        read_orientation(fields, header->orientation);
    else if (header->geometry.known)
        geometry_orientation(&header->geometry, header->orientation);
    header->geometry.known = header->geometry.known && has_unit_vectors(&place);
    return true;
}

static bool read_axes(struct source *source, struct fault *fault)
{
    struct volume *volume = source->state;
    struct axes *axes = mem_zeroed(1, sizeof *axes, "a header", fault);

    volume->parsed = axes;
    return axes != NULL && read_extents(source, axes, fault) && read_spacing(source, axes, fault) &&
           read_position(source, axes, fault);
}

static bool read_factor(const struct text_header *fields, const char *name, double *factor,
                        struct fault *fault)
{
    const char *value = text_header_find(fields, name);

    return value == NULL || number_parse_double(value, factor) ||
           text_header_refuse(fields, name, value, "not a finite number", fault);
}

/* Slope and intercept: either alone is enough to tell. */
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

/* How samples are stored: byte order, text or compressed, and what is skipped before them. */
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
           source_refuse(source, fault, "CompressedDataSize: %llu, but %llu bytes follow the header",
                         (unsigned long long)claimed, (unsigned long long)left);
}

/* In the file of the header, HeaderSize counts from the start. */
static bool skip_header(const struct source *source, struct fault *fault)
{
    struct volume *volume = source->state;
    uint64_t *skip = &volume->coding.byte_skip;

    if (*skip > 0 && *skip < volume->fields.bytes)
        return source_refuse(source, fault, "HeaderSize: %llu: the header itself has %zu bytes",
                             (unsigned long long)*skip, volume->fields.bytes);
    *skip -= *skip > 0 ? volume->fields.bytes : 0;
    return true;
}

static bool settle_files(struct source *source, struct fault *fault)
{
    struct volume *volume = source->state;
    const char *value = text_header_find(&volume->fields, "ElementDataFile");

    volume->files.field = "ElementDataFile";
    return strcasecmp(value, "LOCAL") == 0 ? skip_header(source, fault)
                                           : volume_name_files(source, value, fault);
}

static bool read_header(struct source *source, const struct source_request *request, struct fault *fault)
{
    (void)request;
    if (!read_lines(source, fault) || !text_header_check_once(volume_fields(source), fault) ||
        !read_type(source, fault) || !read_axes(source, fault) ||
        !read_intensity(volume_fields(source), &source->header.intensity, fault))
        return false;
    return read_layout(source, fault) && settle_files(source, fault) && check_compressed(source, fault);
}

/* ---- what other formats do not keep ---- */

/* Not the time of the first volume, nor a center, which ITK does not use either. */
static void list_rest(const struct volume *volume, struct dropped *dropped)
{
    static const struct field_alias centers = {{"CenterOfRotation"}, .beyond = 0.0};
    const char *center = text_header_find(&volume->fields, centers.names[0]);
    const struct axes *axes = volume->parsed;
    double numbers[NUMBERS_MOST];
    bool centered = false;

    for (size_t i = 3; i < axes->count; i++) {
        if (axes->offset.at[i] != 0.0)
            format_drop(dropped, "%s[%zu]", axes->offset.name, i);
    }
    parse_numbers(center, &centers, axes->count, numbers);
    for (size_t i = 0; i < axes->count; i++)
        centered = centered || numbers[i] != 0.0;
    if (centered)
        format_drop(dropped, "%s", centers.names[0]);
}

/* Fields by their roles; then what is lost of fields that an output keeps in part. */
static void list_dropped(const struct source *source, const struct receiver *to, struct dropped *dropped)
{
    const struct volume *volume = source->state;
    const struct axes *axes = volume->parsed;
    struct place place = place_of(axes);
    bool keeps_position =
        (to->format->holds_geometry && source->header.geometry.known) ||
        (place.known && has_unit_vectors(&place) && geometry_is_plain(place.origin, place.vectors));

    if (to->format->family == source->format->family) {
        text_header_list(&volume->fields, known_fields, volume_sink_outdated(to->header), false, dropped);
        return;
    }
    text_header_list(&volume->fields, known_fields, volume_sink_kept(source, to, keeps_position), true,
                     dropped);
    if (keeps_position)
        list_rest(volume, dropped);
    else if (has_signs(axes))
        format_drop(dropped, "%s", axes->spacing.name);
    if (axes->sized)
        format_drop(dropped, "ElementSize");
    if (source->header.volumes > 1 && axes->spacing.name != NULL)
        format_drop_distances(dropped, axes->spacing.name, axes->spacing.at, 3, axes->count);
}

/* ---- writing ---- */

/* Extents of a new header; a series has one axis more. */
static void put_extents(struct sink *sink)
{
    const struct grid *grid = &sink->header.grid;
    unsigned dims = volume_sink_axes(&sink->header);
    const uint64_t extents[4] = {grid->nx, grid->ny, grid->nz, sink->header.volumes};

    volume_sink_print(sink, "ObjectType = Image\nNDims = %u\n", dims);
    volume_sink_print_counts(sink, "DimSize =", extents, dims);
    if (grid->channels > 1)
        volume_sink_print(sink, "ElementNumberOfChannels = %u\n", grid->channels);
}

/* One for each axis of the origin's header, which may have more than the grid, or of the sink's. That of a
   series stays, and so do the signs. */
static void put_spacing(struct sink *sink, const struct axes *origin)
{
    size_t count = origin != NULL ? origin->count : volume_sink_axes(&sink->header);
    double spacing[DIMS_MOST];

    for (size_t i = 0; i < count; i++)
        spacing[i] = i >= 3 ? (origin != NULL ? origin->spacing.at[i] : 1.0)
                            : (origin != NULL ? sign_of(origin, i) : 1.0) * sink->header.grid.spacing[i];
    volume_sink_print_reals(sink, "ElementSpacing =", spacing, count);
}

/* The sample that comes first has moved along the axes, each of which the matrix has a row for. */
static void put_region(struct sink *sink, const struct axes *axes)
{
    const struct header *header = &sink->header;
    uint64_t extents[DIMS_MOST];
    double offset[DIMS_MOST];

    volume_sink_extents(header, 0, axes->sizes, axes->count, extents);
    for (size_t k = 0; k < axes->count; k++) {
        offset[k] = axes->offset.at[k];
        for (size_t i = 0; i < axes->count && i < 3; i++)
            offset[k] +=
                (double)header->first[i] * sign_of(axes, i) * header->grid.spacing[i] * entry_of(axes, i, k);
        if (k >= 3)
            offset[k] += (double)volume_sink_choice(header, axes->sizes + 3, k - 3) * axes->spacing.at[k];
    }
    volume_sink_print_counts(sink, "DimSize =", extents, axes->count);
    volume_sink_print_reals(sink, "Offset =", offset, axes->count);
}

/* Each axis has a row of the matrix; that of a series has no part in it. */
static void put_geometry(struct sink *sink, const struct geometry *geometry)
{
    unsigned dims = volume_sink_axes(&sink->header);
    double offset[4] = {0.0}, matrix[16];

    memcpy(offset, geometry->origin, sizeof geometry->origin);
    for (unsigned i = 0; i < dims * dims; i++) {
        unsigned row = i / dims, column = i % dims;
        matrix[i] = row < 3 && column < 3 ? geometry->direction[row][column] : row == column ? 1.0 : 0.0;
    }
    volume_sink_print_reals(sink, "Offset =", offset, dims);
    volume_sink_print_reals(sink, "TransformMatrix =", matrix, dims * dims);
}

static void put_intensity(struct sink *sink)
{
    const struct intensity *intensity = &sink->header.intensity;

    if (intensity->slope != 0.0)
        volume_sink_print(sink, "%s = %s\n%s = %s\n", slope_field,
                          number_format_double(intensity->slope).text, intercept_field,
                          number_format_double(intensity->intercept).text);
}

/* The header of samples that come from another family of formats, or from a file without a header. */
static void put_anew(struct sink *sink, const struct sink_request *request)
{
    struct geometry place;
    const struct geometry *geometry = volume_sink_geometry(sink, request, &place);

    put_extents(sink);
    if (geometry != NULL)
        put_geometry(sink, geometry);
    put_spacing(sink, NULL);
    if (!intensity_is_plain(&sink->header.intensity))
        put_intensity(sink);
}

/* The origin's header, but for what no longer holds. */
static void put_kept(struct sink *sink, const struct sink_request *request, const struct volume *origin)
{
    const struct header *before = &request->origin->header;
    bool cropped = volume_sink_is_cropped(sink, request),
         revalued = !intensity_is_same(&sink->header.intensity, &before->intensity);

    volume_sink_print_kept(
        sink, &origin->fields, known_fields,
        FIELD_OWN | volume_sink_outdated(&sink->header) | (before->respaced ? FIELD_SPACING : 0U) |
            (cropped ? FIELD_EXTENTS | FIELD_ORIGIN : 0U) | (revalued ? FIELD_INTENSITY : 0U));
    if (cropped)
        put_region(sink, origin->parsed);
    if (before->respaced)
        put_spacing(sink, origin->parsed);
    if (revalued)
        put_intensity(sink);
}

static bool write_header(struct sink *sink, const struct sink_request *request, struct fault *fault)
{
    const struct volume *origin = volume_sink_origin(sink, request);
    bool compressed = volume_sink_compresses(origin, request), detached = sink->format->data_suffix != NULL;
    const char *type = volume_sink_type(sink, elements, ELEMENTS, fault);

    if (type == NULL)
        return false;
    if (origin != NULL)
        put_kept(sink, request, origin);
    else
        put_anew(sink, request);
    volume_sink_print(
        sink, "BinaryData = True\nBinaryDataByteOrderMSB = %s\nCompressedData = %s\nElementType = %s\n",
        sink->header.endian == ENDIAN_BIG ? "True" : "False", compressed ? "True" : "False", type);
    /* ITK requires the size of compressed samples that follow their header. */
    if (compressed && !detached) {
        volume_sink_print(sink, "CompressedDataSize = ");
        if (!volume_sink_printed(sink, fault) || !volume_sink_reserve_size(sink, fault))
            return false;
        volume_sink_print(sink, "\n");
    }
    if (!detached)
        volume_sink_print(sink, "ElementDataFile = LOCAL\n");
    return volume_sink_begin_data(sink, request, "ElementDataFile = ", compressed, GZIP_WRITER_ZLIB, fault);
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
