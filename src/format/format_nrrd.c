/* NRRD: a header in text, with the samples after it or in files of their own. */
#include "base/file_in.h"
#include "base/number.h"
#include "format.h"
#include "dropped_fields.h"
#include "units.h"
#include "volume_sink.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MAGIC_SIZE = 8, VERSION_MOST = 6, LINE_MOST = 1024 };

static const char magic[] = "NRRD000";

/* Each type by all its names, the first of which is written. */
static const struct type_names {
    enum sample_type type;
    const char *names; /* with commas between them */
} type_names[] = {
    {SAMPLE_U8, "uint8,uchar,unsigned char,uint8_t"},
    {SAMPLE_I8, "int8,signed char,int8_t"},
    {SAMPLE_U16, "uint16,ushort,unsigned short,unsigned short int,uint16_t"},
    {SAMPLE_I16, "int16,short,short int,signed short,signed short int,int16_t"},
    {SAMPLE_U32, "uint32,uint,unsigned int,uint32_t"},
    {SAMPLE_I32, "int32,int,signed int,int32_t"},
    {SAMPLE_U64, "uint64,ulonglong,unsigned long long,unsigned long long int,uint64_t"},
    {SAMPLE_I64, "int64,longlong,long long,long long int,signed long long,signed long long int,int64_t"},
    {SAMPLE_F32, "float"},
    {SAMPLE_F64, "double"},
};
enum { TYPES = sizeof type_names / sizeof *type_names };

static const struct encoding_names {
    enum coding coding;
    const char *names;
} encoding_names[] = {
    {CODING_NONE, "raw"}, {CODING_GZIP, "gzip,gz"},        {CODING_BZIP2, "bzip2,bz2"},
    {CODING_HEX, "hex"},  {CODING_TEXT, "ascii,text,txt"},
};
enum { ENCODINGS = sizeof encoding_names / sizeof *encoding_names };

/* Kinds of axes along which samples are apart in space or time; along others they are channels. */
static const char domain_kinds[] = "domain,space,time,none,???";

/* A list of volumes is a series. */
static const char series_kinds[] = "list";

/* What a channel is in any format, and where channels are colours. */
static const char vector_kinds[] = "vector,2-vector,3-vector,4-vector";
static const char colour_kinds[] = "RGB-color,RGBA-color,3-color,4-color";

static bool is_one_of(const char *names, const char *word, size_t length)
{
    for (size_t own; *names != '\0'; names += own + (names[own] == ',')) {
        own = strcspn(names, ",");
        if (own == length && strncasecmp(names, word, length) == 0)
            return true;
    }
    return false;
}

/* ---- reading ---- */

static bool sniff(const unsigned char *start, size_t size)
{
    return size >= MAGIC_SIZE && memcmp(start, magic, sizeof magic - 1) == 0;
}

static struct text_header *fields_of(struct source *source)
{
    return &((struct volume *)source->state)->fields;
}

static bool check_magic(const struct text_header *fields, struct fault *fault)
{
    const char *line = fields->items[0].line;

    if (strncmp(line, magic, sizeof magic - 1) != 0 || line[MAGIC_SIZE - 1] < '1' ||
        line[MAGIC_SIZE - 1] > '0' + VERSION_MOST || line[MAGIC_SIZE] != '\0')
        return fault_raise_about(fault, STATUS_INPUT, fields->file, "magic: not NRRD0001 to NRRD000%d",
                                 VERSION_MOST);
    return true;
}

static bool is_key_value(const char *line)
{
    const char *pair = strstr(line, ":="), *field = strstr(line, ": ");

    return pair != NULL && (field == NULL || pair < field);
}

/* Comments and key/value pairs are kept, but mean nothing here. */
static bool take_line(struct text_header *fields, struct fault *fault)
{
    const char *line = fields->items[fields->count - 1].line;

    if (line[0] == '#' || is_key_value(line))
        return true;
    if (!text_header_split_last(fields, ":", fault))
        return false;
    return fields->items[fields->count - 1].name != NULL ||
           fault_raise_about(fault, STATUS_INPUT, fields->file,
                             "header: line %zu: neither a field nor a comment", fields->count);
}

/* Names of files follow at once. */
static bool begins_list(const struct field *field)
{
    return field->name != NULL && is_one_of("data file,datafile", field->name, strlen(field->name)) &&
           strncmp(field->value, "LIST", 4) == 0;
}

/* The header ends with an empty line, before a list of files, or where the file does. */
static bool read_lines(struct source *source, bool *attached, struct fault *fault)
{
    struct text_header *fields = fields_of(source);
    struct byte_stream *stream = ((struct volume *)source->state)->stream;
    bool ended;

    *attached = false;
    do {
        if (!text_header_read_line(fields, stream, &ended, fault))
            return false;
        if (ended)
            return fields->count > 0 ||
                   fault_raise_about(fault, STATUS_INPUT, fields->file, "magic: the file is empty");
        *attached = fields->count > 1 && fields->items[fields->count - 1].line[0] == '\0';
        if (!*attached && !(fields->count == 1 ? check_magic(fields, fault) : take_line(fields, fault)))
            return false;
    } while (!*attached && !begins_list(&fields->items[fields->count - 1]));
    return true;
}

/* Some fields have two spellings. */
static const char *find_either(const struct text_header *fields, const char *name, const char *other,
                               const char **found)
{
    const char *value = text_header_find(fields, name);

    *found = value != NULL ? name : other;
    return value != NULL ? value : text_header_find(fields, other);
}

static bool read_type(struct source *source, struct fault *fault)
{
    const struct text_header *fields = fields_of(source);
    const char *value;

    if (!text_header_require(fields, "type", &value, fault))
        return false;
    for (size_t i = 0; i < TYPES; i++) {
        if (is_one_of(type_names[i].names, value, strlen(value))) {
            source->header.type = type_names[i].type;
            return true;
        }
    }
    return text_header_refuse(fields, "type", value, "not supported", fault);
}

static bool read_encoding(struct source *source, struct fault *fault)
{
    const struct text_header *fields = fields_of(source);
    struct volume *volume = source->state;
    const char *value;

    if (!text_header_require(fields, "encoding", &value, fault))
        return false;
    for (size_t i = 0; i < ENCODINGS; i++) {
        if (is_one_of(encoding_names[i].names, value, strlen(value))) {
            volume->coding.coding = encoding_names[i].coding;
            return true;
        }
    }
    return text_header_refuse(fields, "encoding", value, "not supported", fault);
}

static bool read_endian(struct source *source, struct fault *fault)
{
    const struct text_header *fields = fields_of(source);
    const struct volume *volume = source->state;
    const char *value = text_header_find(fields, "endian");

    source->header.endian = endian_native();
    if (value == NULL)
        return sample_size(source->header.type) == 1 || volume->coding.coding == CODING_TEXT ||
               text_header_require(fields, "endian", &value, fault);
    if (strcasecmp(value, "little") != 0 && strcasecmp(value, "big") != 0)
        return text_header_refuse(fields, "endian", value, "neither little nor big", fault);
    source->header.endian = strcasecmp(value, "big") == 0 ? ENDIAN_BIG : ENDIAN_LITTLE;
    return true;
}

/* The most dimensions of the space that an array is in, and so the longest line of vectors that is written.
 */
enum { SPACE_MOST = 8, VECTORS_MOST = 32 + VOLUME_AXES_MOST * (4 + SPACE_MOST * 32) };

/* The axes of the file, fastest first. */
struct axes {
    size_t count;
    uint64_t sizes[VOLUME_AXES_MOST];
    bool is_channel[VOLUME_AXES_MOST];
    bool has_alpha; /* the last channel */
    /* NaN where nothing is said: by spacings, by the lengths of space directions, and by either. */
    double spacings[VOLUME_AXES_MOST], lengths[VOLUME_AXES_MOST], spacing[VOLUME_AXES_MOST];
};

static bool read_sizes(const struct text_header *fields, struct axes *axes, struct fault *fault)
{
    const char *dimension, *sizes;
    uint64_t count;
    size_t found;

    if (!text_header_require(fields, "dimension", &dimension, fault) ||
        !text_header_require(fields, "sizes", &sizes, fault))
        return false;
    if (!number_parse_count(dimension, &count) || count < 1 || count > VOLUME_AXES_MOST)
        return text_header_refuse(fields, "dimension", dimension, "not a number from 1 to 16", fault);
    axes->count = (size_t)count;
    if (!text_header_counts(sizes, VOLUME_AXES_MOST, axes->sizes, &found))
        return text_header_refuse(fields, "sizes", sizes, "not whole numbers, or too large ones", fault);
    return found == axes->count ||
           fault_raise_about(fault, STATUS_INPUT, fields->file, "sizes: %zu value%s for dimension %zu", found,
                             number_plural(found), axes->count);
}

/* The fastest axis may be one of channels. */
static size_t channel_axes(const struct axes *axes)
{
    return axes->is_channel[0] && axes->count > 1;
}

static bool begins_with_alpha(const char *kinds)
{
    return is_one_of("RGBA-color", kinds, strcspn(kinds, " \t"));
}

static bool read_kinds(const struct text_header *fields, struct axes *axes, struct fault *fault)
{
    const char *value = text_header_find(fields, "kinds"), *rest = value;
    size_t found = 0;

    if (value == NULL)
        return true;
    for (size_t length; *(rest += strspn(rest, " \t")) != '\0'; rest += length, found++) {
        length = strcspn(rest, " \t");
        if (found < axes->count)
            axes->is_channel[found] =
                !is_one_of(domain_kinds, rest, length) &&
                !(found >= 3 + channel_axes(axes) && is_one_of(series_kinds, rest, length));
    }
    axes->has_alpha = axes->count > 1 && axes->sizes[0] == 4 && begins_with_alpha(value);
    return found == axes->count || text_header_refuse(fields, "kinds", value, "not one for each axis", fault);
}

/* Of no parts: none. */
struct vector {
    double parts[SPACE_MOST];
    size_t count;
};

/* The next of "(1,0,0) none (0,2,0)". */
static bool next_vector(const char **rest, struct vector *vector)
{
    char *end;

    *rest += strspn(*rest, " \t");
    vector->count = 0;
    if (strncmp(*rest, "none", 4) == 0) {
        *rest += 4;
        return true;
    }
    if (**rest != '(')
        return false;
    do {
        if (vector->count == SPACE_MOST)
            return false;
        vector->parts[vector->count++] = strtod(++*rest, &end);
        if (end == *rest)
            return false;
        *rest = end + strspn(end, " \t");
    } while (**rest == ',');
    if (**rest != ')')
        return false;
    ++*rest;
    return true;
}

/* How long the next one is, NaN for none. */
static bool next_length(const char **rest, double *length)
{
    struct vector vector;
    double squares = 0.0;

    if (!next_vector(rest, &vector))
        return false;
    for (size_t i = 0; i < vector.count; i++)
        squares += vector.parts[i] * vector.parts[i];
    *length = vector.count == 0 ? NAN : sqrt(squares);
    return true;
}

static int print_vector(const struct vector *vector, char *text, size_t size)
{
    int used = 0;

    if (vector->count == 0)
        return snprintf(text, size, " none");
    for (size_t i = 0; i < vector->count; i++)
        used += snprintf(text + used, size - (size_t)used, "%s%.17g", i == 0 ? " (" : ",", vector->parts[i]);
    return used + snprintf(text + used, size - (size_t)used, ")");
}

static bool refuse_directions(const struct text_header *fields, const char *value, struct fault *fault)
{
    return text_header_refuse(fields, "space directions", value, "not a vector or none for each axis", fault);
}

static bool read_directions(const struct text_header *fields, struct axes *axes, struct fault *fault)
{
    const char *value = text_header_find(fields, "space directions"), *rest = value;

    for (size_t i = 0; value != NULL && i < axes->count; i++) {
        if (!next_length(&rest, &axes->lengths[i]) || axes->lengths[i] == 0.0 || isinf(axes->lengths[i]))
            return refuse_directions(fields, value, fault);
    }
    return value == NULL || rest[strspn(rest, " \t")] == '\0' || refuse_directions(fields, value, fault);
}

static bool read_spacings(const struct text_header *fields, struct axes *axes, struct fault *fault)
{
    const char *value = text_header_find(fields, "spacings");
    size_t found;

    if (value == NULL)
        return true;
    if (!text_header_numbers(value, VOLUME_AXES_MOST, axes->spacings, &found) || found != axes->count)
        return text_header_refuse(fields, "spacings", value, "not a number for each axis", fault);
    for (size_t i = 0; i < axes->count; i++) {
        if (axes->spacings[i] == 0.0 || isinf(axes->spacings[i]))
            return text_header_refuse(fields, "spacings", value, "a distance that is 0 or infinite", fault);
    }
    return true;
}

/* The format does not allow both for an axis, and teem refuses them; here they may agree. */
static bool unite_spacings(const struct text_header *fields, struct axes *axes, struct fault *fault)
{
    for (size_t i = 0; i < axes->count; i++) {
        double spacing = axes->spacings[i], length = axes->lengths[i];
        if (fabs(fabs(spacing) - length) > 1e-5 * length)
            return fault_raise_about(fault, STATUS_INPUT, fields->file,
                                     "spacings: %g on axis %zu, but its vector of space directions has the "
                                     "length %g",
                                     spacing, i + 1, length);
        axes->spacing[i] = isnan(spacing) ? length : spacing;
    }
    return true;
}

static bool read_distances(const struct text_header *fields, struct axes *axes, struct fault *fault)
{
    for (size_t i = 0; i < axes->count; i++)
        axes->spacings[i] = axes->lengths[i] = NAN;
    return read_spacings(fields, axes, fault) && read_directions(fields, axes, fault) &&
           unite_spacings(fields, axes, fault);
}

/* It has as many parts as each direction has. */
static bool check_origin(const struct text_header *fields, const struct axes *axes, struct fault *fault)
{
    const char *value = text_header_find(fields, "space origin"), *rest = value;
    const char *directions = text_header_find(fields, "space directions");
    struct vector place, direction;

    if (value == NULL)
        return true;
    if (!next_vector(&rest, &place) || rest[strspn(rest, " \t")] != '\0')
        return text_header_refuse(fields, "space origin", value, "not a vector", fault);
    for (size_t i = 0; directions != NULL && i < axes->count && next_vector(&directions, &direction); i++) {
        if (place.count > 0 && direction.count > 0 && direction.count != place.count)
            return text_header_refuse(fields, "space origin", value,
                                      "not as many parts as the space directions", fault);
    }
    return true;
}

static bool read_axes(const struct text_header *fields, struct axes *axes, struct fault *fault)
{
    *axes = (struct axes){.count = 0};
    return read_sizes(fields, axes, fault) && read_kinds(fields, axes, fault) &&
           read_distances(fields, axes, fault) && check_origin(fields, axes, fault);
}

/* Spaces that other formats know as well; those with time have it as the fourth dimension. */
static const struct space {
    const char *names;
    const double *signs;
} spaces[] = {
    {"left-posterior-superior,LPS,left-posterior-superior-time,LPST", geometry_lps},
    {"right-anterior-superior,RAS,right-anterior-superior-time,RAST", geometry_ras},
    {"left-anterior-superior,LAS,left-anterior-superior-time,LAST", geometry_las},
};
enum { SPACES = sizeof spaces / sizeof *spaces };

static bool is_in_space(const struct vector *vector)
{
    return vector->count == 3 || (vector->count == 4 && vector->parts[3] == 0.0);
}

/* Where the grid is in a space of three dimensions: the vectors along its axes. False if it does not say. */
static bool read_place(const struct text_header *fields, const struct axes *axes, double origin[3],
                       double vectors[3][3])
{
    const char *directions = text_header_find(fields, "space directions"),
               *place = text_header_find(fields, "space origin");
    size_t first = channel_axes(axes);
    struct vector vector = {.parts = {0.0}, .count = 3};

    if (directions == NULL || axes->count < first + 3)
        return false;
    if (place != NULL && (!next_vector(&place, &vector) || vector.count < 3))
        return false;
    memcpy(origin, vector.parts, 3 * sizeof *origin);
    for (size_t i = 0; i < first + 3; i++) {
        if (!next_vector(&directions, &vector) || (i >= first && !is_in_space(&vector)))
            return false;
        if (i >= first)
            memcpy(vectors[i - first], vector.parts, 3 * sizeof *origin);
    }
    return true;
}

static struct geometry find_geometry(const struct text_header *fields, const struct axes *axes)
{
    const char *space = text_header_find(fields, "space");
    double origin[3], vectors[3][3];

    for (size_t i = 0; space != NULL && i < SPACES; i++) {
        if (is_one_of(spaces[i].names, space, strlen(space)) && read_place(fields, axes, origin, vectors))
            return geometry_make(origin, vectors, spaces[i].signs);
    }
    return (struct geometry){.known = false};
}

/* The unit that each of these words in quotation marks is, or NULL. */
static const struct unit *unit_of_each(const char *value, size_t first, size_t count)
{
    const struct unit *unit = NULL;
    char name[32];

    for (size_t i = 0; i < first + count; i++) {
        int length = 0;
        if (sscanf(value, " \"%31[^\"]\"%n", name, &length) != 1 || length == 0)
            return NULL;
        value += length;
        if (i < first)
            continue;
        if (i > first && unit_of_name(name) != unit)
            return NULL;
        unit = unit_of_name(name);
    }
    return unit;
}

/* That of the space, or else of its axes. */
static const struct unit *find_unit(const struct text_header *fields, size_t first)
{
    const char *space = text_header_find(fields, "space units"), *axes = text_header_find(fields, "units");

    return space != NULL ? unit_of_each(space, 0, 3) : axes != NULL ? unit_of_each(axes, first, 3) : NULL;
}

static bool set_axes(struct source *source, const struct source_request *request, struct axes *axes,
                     struct fault *fault)
{
    size_t first = channel_axes(axes);

    (void)request;
    for (size_t i = 1; i < axes->count; i++) {
        if (axes->is_channel[i] && axes->sizes[i] > 1)
            return fault_raise_about(fault, STATUS_INPUT, file_in_name(source->file),
                                     "kinds: axis %zu holds channels, but only the first axis may", i + 1);
    }
    source->header.alpha = axes->has_alpha;
    volume_set_spacing(source, axes->spacing + first, axes->count - first);
    source->header.geometry = find_geometry(fields_of(source), axes);
    if (source->header.geometry.known)
        geometry_orientation(&source->header.geometry, source->header.orientation);
    source->header.millimetres = unit_millimetres(find_unit(fields_of(source), first));
    return volume_set_extents(source, "sizes", axes->sizes + first, axes->count - first,
                              first ? axes->sizes[0] : 1, fault);
}

static bool read_skip(const struct text_header *fields, const char *name, const char *other, uint64_t *skip,
                      bool *at_end, struct fault *fault)
{
    const char *found, *value = find_either(fields, name, other, &found);

    if (value == NULL)
        return true;
    if (at_end != NULL && strcmp(value, "-1") == 0)
        return *at_end = true;
    return number_parse_count(value, skip) || text_header_refuse(fields, found, value, "not a count", fault);
}

static bool read_skips(struct source *source, struct fault *fault)
{
    struct volume *volume = source->state;
    struct volume_coding *coding = &volume->coding;
    const struct text_header *fields = &volume->fields;

    coding->skipped_by = "byte skip";
    return read_skip(fields, "line skip", "lineskip", &coding->line_skip, NULL, fault) &&
           read_skip(fields, "byte skip", "byteskip", &coding->byte_skip, &coding->at_end, fault);
}

static bool settle_files(struct source *source, bool attached, struct fault *fault)
{
    struct volume *volume = source->state;
    const char *value = find_either(&volume->fields, "data file", "datafile", &volume->files.field);

    if (value != NULL)
        return volume_name_files(source, value, fault);
    return attached || fault_raise_about(fault, STATUS_INPUT, file_in_name(source->file),
                                         "header: the file ends before an empty line, which ends a "
                                         "header");
}

static bool read_header(struct source *source, const struct source_request *request, struct fault *fault)
{
    struct axes axes;
    struct text_header *fields = fields_of(source);
    bool attached;

    return read_lines(source, &attached, fault) && text_header_check_once(fields, fault) &&
           read_type(source, fault) && read_axes(fields, &axes, fault) && read_encoding(source, fault) &&
           read_endian(source, fault) && read_skips(source, fault) &&
           set_axes(source, request, &axes, fault) && settle_files(source, attached, fault);
}

/* What is written anew, whatever the origin has. */
static const char own_fields[] =
    "type,encoding,endian,data file,datafile,line skip,lineskip,byte skip,byteskip";

/* ---- what other formats do not keep ---- */

static const char axis_fields[] = "dimension,sizes,spacings,kinds";
static const char position_fields[] = "space,space dimension,space directions,space origin";

static bool holds_colours(const struct format *format, const struct header *header)
{
    return format->holds_colours || (header->alpha && format_tells_alpha(format, header));
}

/* What channels are. Raw samples do not even tell how many there are. */
static void tell_kinds(const struct source *source, const struct format *sink, char *dropped, size_t size)
{
    const char *kind = text_header_find(&((const struct volume *)source->state)->fields, "kinds");
    size_t length = kind == NULL ? 0 : strcspn(kind, " \t");

    if (source->header.grid.channels > 1 && sink->title != NULL && !is_one_of(vector_kinds, kind, length) &&
        !(is_one_of(colour_kinds, kind, length) && holds_colours(sink, &source->header)))
        dropped_fields_add(dropped, size, "kinds");
}

/* In a space with time, that of the first volume. */
static void tell_time(const struct source *source, char *dropped, size_t size)
{
    const char *value = text_header_find(&((const struct volume *)source->state)->fields, "space origin");
    struct vector place;

    if (value != NULL && next_vector(&value, &place) && place.count > 3 && place.parts[3] != 0.0)
        dropped_fields_add(dropped, size, "space origin[3]");
}

static void tell_spacings(const struct source *source, char *dropped, size_t size)
{
    struct axes axes;
    struct fault fault;
    bool backwards = false;

    if (!read_axes(&((const struct volume *)source->state)->fields, &axes, &fault))
        return;
    for (size_t i = channel_axes(&axes); i < axes.count; i++)
        backwards = backwards || axes.spacings[i] < 0.0;
    if (backwards)
        dropped_fields_add(dropped, size, "spacings");
}

static bool tells_position(const struct source *source)
{
    const struct volume *volume = source->state;
    struct axes axes;
    struct fault fault;
    double origin[3], vectors[3][3];

    return !read_axes(&volume->fields, &axes, &fault) ||
           !read_place(&volume->fields, &axes, origin, vectors) || !geometry_is_plain(origin, vectors);
}

/* Where the first and the last sample are on each axis, which a part of the samples has elsewhere. */
static const char end_fields[] = "axis mins,axismins,axis maxs,axismaxs";

/* Whether it tells of values that the output has no longer: their extremes, or those that the ends of the
   type's range stand for. */
static bool is_outdated(const char *name, size_t length, const struct header *written)
{
    return (written->values > VALUES_COPIED && is_one_of("min,max", name, length)) ||
           (written->values >= VALUES_DERIVED && is_one_of("old min,oldmin,old max,oldmax", name, length));
}

/* And what it does not tell of the place of a part of the samples: where its first and last are on each axis,
   and without directions, where it is in space. */
static void tell_outdated(const struct source *source, const struct header *written, char *dropped,
                          size_t size)
{
    const struct volume *volume = source->state;
    const struct text_header *fields = &volume->fields;
    bool moved = written->choice.count > 0 || !grid_same_extents(&written->grid, &source->header.grid);
    bool directed = text_header_find(fields, "space directions") != NULL;

    for (size_t i = 1; i < fields->count - volume->listed; i++) {
        const char *name = fields->items[i].name;
        size_t length = name == NULL ? 0 : strlen(name);
        if (length > 0 &&
            (is_outdated(name, length, written) || (moved && is_one_of(end_fields, name, length)) ||
             (moved && !directed && is_one_of("space origin", name, length))))
            dropped_fields_add(dropped, size, name);
    }
}

static void tell_loss(const struct field *field, bool keeps_position, char *dropped, size_t size)
{
    size_t length = field->name == NULL ? strcspn(field->line, ":") : strlen(field->name);
    const char *name = field->name == NULL ? field->line : field->name;
    char shown[64];

    if (name[0] == '#' || name[0] == '\0' || is_one_of(own_fields, name, length) ||
        is_one_of(axis_fields, name, length) || (keeps_position && is_one_of(position_fields, name, length)))
        return;
    snprintf(shown, sizeof shown, "%.*s", (int)length, name);
    dropped_fields_add(dropped, size, shown);
}

/* The distances between volumes; the directions may have been named as a whole. */
static void tell_steps(const struct source *source, bool keeps_position, char *dropped, size_t size)
{
    const struct text_header *fields = &((const struct volume *)source->state)->fields;
    struct axes axes;
    struct fault fault;

    if (source->header.volumes == 1 || !read_axes(fields, &axes, &fault))
        return;
    dropped_fields_add_distances(dropped, size, "spacings", axes.spacings, channel_axes(&axes) + 3,
                                 axes.count);
    if (keeps_position)
        dropped_fields_add_distances(dropped, size, "space directions", axes.lengths, channel_axes(&axes) + 3,
                                     axes.count);
}

static bool is_unit(const struct field *field)
{
    return field->name != NULL && is_one_of("space units,units", field->name, strlen(field->name));
}

static void list_dropped(const struct source *source, const struct format *sink, const struct header *written,
                         char *dropped, size_t size)
{
    const struct volume *volume = source->state;
    bool keeps_position = (sink->holds_geometry && source->header.geometry.known) || !tells_position(source);
    bool keeps_unit = sink->holds_spacing && source->header.millimetres > 0.0;

    if (sink->family == source->format->family) {
        tell_outdated(source, written, dropped, size);
        return;
    }
    for (size_t i = 1; i < volume->fields.count - volume->listed; i++)
        if (!keeps_unit || !is_unit(&volume->fields.items[i]))
            tell_loss(&volume->fields.items[i], keeps_position, dropped, size);
    if (keeps_position)
        tell_time(source, dropped, size);
    tell_kinds(source, sink, dropped, size);
    tell_spacings(source, dropped, size);
    tell_steps(source, keeps_position, dropped, size);
}

/* ---- writing ---- */

static bool put_line(struct sink *sink, const char *line, struct fault *fault)
{
    return volume_sink_put(sink, line, strlen(line), fault) && volume_sink_put(sink, "\n", 1, fault);
}

static const char *type_name(const struct header *header)
{
    for (size_t i = 0; i < TYPES; i++) {
        if (type_names[i].type == header->type)
            return type_names[i].names;
    }
    return NULL;
}

/* These are written anew. */
static const char crop_fields[] = "sizes,space origin";

/* What of the origin's header no longer holds. */
struct change {
    bool spaced, cropped;
    bool levelled; /* alpha has become a channel like others */
};

static bool is_kept(const struct field *field, const struct header *written, const struct change *change)
{
    size_t length = field->name == NULL ? 0 : strlen(field->name);

    if (field->line[0] == '\0')
        return false;
    if (field->name == NULL)
        return true;
    return !is_one_of(own_fields, field->name, length) && !is_outdated(field->name, length, written) &&
           !(change->levelled && is_one_of("kinds", field->name, length)) &&
           !(change->spaced && is_one_of("spacings,space directions", field->name, length)) &&
           !(change->cropped &&
             (is_one_of(crop_fields, field->name, length) || is_one_of(end_fields, field->name, length)));
}

/* Fields in their order, up to the file of samples and what follows it. */
static bool put_kept(struct sink *sink, const struct volume *origin, const struct change *change,
                     struct fault *fault)
{
    for (size_t i = 0; i < origin->fields.count - origin->listed; i++) {
        const struct field *field = &origin->fields.items[i];
        if (is_kept(field, &sink->header, change) && !put_line(sink, field->line, fault))
            return false;
    }
    return true;
}

static bool levels_alpha(const struct sink *sink, const struct volume *origin)
{
    const char *kinds = text_header_find(&origin->fields, "kinds");

    return kinds != NULL && begins_with_alpha(kinds) && !sink->header.alpha;
}

static bool put_levelled(struct sink *sink, const struct volume *origin, struct fault *fault)
{
    const char *kinds = text_header_find(&origin->fields, "kinds");
    char line[LINE_MOST];

    snprintf(line, sizeof line, "kinds: vector%s", kinds + strcspn(kinds, " \t"));
    return put_line(sink, line, fault);
}

/* Of all volumes of a series. */
static unsigned axes_of(const struct header *header)
{
    return header->grid.axes + (header->volumes > 1);
}

static bool put_extents(struct sink *sink, bool has_position, struct fault *fault)
{
    const struct grid *grid = &sink->header.grid;
    const size_t sizes[] = {grid->channels, grid->nx, grid->ny, grid->nz, sink->header.volumes};
    size_t first = grid->channels > 1 ? 0 : 1, end = 1 + axes_of(&sink->header);
    char line[LINE_MOST];
    int used;

    snprintf(line, sizeof line, "NRRD000%d\ndimension: %zu", first == 0 || has_position ? 4 : 1, end - first);
    if (!put_line(sink, line, fault))
        return false;
    used = snprintf(line, sizeof line, "sizes:");
    for (size_t i = first; i < end; i++)
        used += snprintf(line + used, sizeof line - (size_t)used, " %zu", sizes[i]);
    if (!put_line(sink, line, fault))
        return false;
    snprintf(line, sizeof line, "kinds: %s domain%s%s%s",
             sink->header.alpha && format_tells_alpha(sink->format, &sink->header) ? "RGBA-color" : "vector",
             end > 2 ? " domain" : "", end > 3 ? " domain" : "", end > 4 ? " time" : "");
    return first > 0 || put_line(sink, line, fault);
}

/* The direction of an axis takes the length of the grid's spacing, where it has one of its own. */
static void scale_vector(struct vector *vector, const struct axes *axes, const struct grid *grid, size_t axis)
{
    size_t first = channel_axes(axes);
    bool known = axis >= first && axis < first + grid->axes && axes->lengths[axis] > 0.0;

    for (size_t i = 0; known && i < vector->count; i++)
        vector->parts[i] *= grid->spacing[axis - first] / axes->lengths[axis];
}

/* The origin's vectors keep where they point, and take the length of the grid's spacing. */
static void scale_directions(const char *value, const struct axes *axes, const struct grid *grid, char *line,
                             size_t size)
{
    int used = snprintf(line, size, "space directions:");
    struct vector vector;

    for (size_t i = 0; i < axes->count && next_vector(&value, &vector); i++) {
        scale_vector(&vector, axes, grid, i);
        used += print_vector(&vector, line + used, size - (size_t)used);
    }
}

/* An axis whose direction tells it has none, unless it has both; false if there are no others. */
static bool name_spacings(const struct axes *axes, const struct grid *grid, char *line, size_t size)
{
    int used = snprintf(line, size, "spacings:");
    bool any = false;

    for (size_t i = 0, first = channel_axes(axes); i < axes->count; i++) {
        bool known =
            i >= first && i < first + grid->axes && (isnan(axes->lengths[i]) || !isnan(axes->spacings[i]));
        double spacing = known ? grid->spacing[i - first] : axes->spacings[i];
        any = any || !isnan(spacing);
        used += snprintf(line + used, size - (size_t)used, " %.17g", spacing);
    }
    return any;
}

/* One for each axis of the header, which may have more than the grid: channels before them, extents of 1
   after them. */
static bool put_spacings(struct sink *sink, const struct volume *origin, struct fault *fault)
{
    const struct grid *grid = &sink->header.grid;
    const char *directions = origin != NULL ? text_header_find(&origin->fields, "space directions") : NULL;
    bool channels = grid->channels > 1;
    struct axes axes = {.count = axes_of(&sink->header) + channels, .is_channel = {channels}};
    char line[VECTORS_MOST];

    for (size_t i = 0; i < axes.count; i++)
        axes.spacings[i] = axes.lengths[i] = NAN;
    if (origin != NULL && !read_axes(&origin->fields, &axes, fault))
        return false;
    if (directions != NULL) {
        scale_directions(directions, &axes, grid, line, sizeof line);
        if (!put_line(sink, line, fault))
            return false;
    }
    return !name_spacings(&axes, grid, line, sizeof line) || put_line(sink, line, fault);
}

/* A series has time as the fourth dimension of its space. */
static bool put_geometry(struct sink *sink, const struct geometry *geometry, struct fault *fault)
{
    const struct grid *grid = &sink->header.grid;
    bool is_series = sink->header.volumes > 1;
    struct vector vector = {.count = is_series ? 4 : 3};
    char line[VECTORS_MOST];
    int used = snprintf(line, sizeof line, "space: left-posterior-superior%s\nspace directions:%s",
                        is_series ? "-time" : "", grid->channels > 1 ? " none" : "");

    for (unsigned i = 0; i < 3; i++) {
        for (unsigned k = 0; k < 3; k++)
            vector.parts[k] = grid->spacing[i] * geometry->direction[i][k];
        used += print_vector(&vector, line + used, sizeof line - (size_t)used);
    }
    used +=
        snprintf(line + used, sizeof line - (size_t)used, "%s\nspace origin:", is_series ? " (0,0,0,1)" : "");
    memcpy(vector.parts, geometry->origin, sizeof geometry->origin);
    print_vector(&vector, line + used, sizeof line - (size_t)used);
    return put_line(sink, line, fault);
}

/* Whether the spacing that counts is another one than the origin's header has. */
static bool is_spaced_anew(const struct sink *sink, const struct volume *origin)
{
    return memcmp(sink->header.grid.spacing, origin->spacing, sizeof origin->spacing) != 0;
}

static bool has_spacing(const struct grid *grid)
{
    return grid->spacing[0] != 1.0 || grid->spacing[1] != 1.0 || grid->spacing[2] != 1.0;
}

/* Axes that the grid has not keep their sizes, or have one index of the volume that was chosen. */
static bool put_sizes(struct sink *sink, const struct axes *axes, struct fault *fault)
{
    const struct grid *grid = &sink->header.grid;
    const size_t extents[3] = {grid->nx, grid->ny, grid->nz};
    char line[LINE_MOST];
    int used = snprintf(line, sizeof line, "sizes:");

    for (size_t i = 0, first = channel_axes(axes); i < axes->count; i++) {
        bool known = i >= first && i < first + 3;
        used += snprintf(line + used, sizeof line - (size_t)used, " %llu",
                         (unsigned long long)(known                           ? extents[i - first]
                                              : sink->header.choice.count > 0 ? 1
                                                                              : axes->sizes[i]));
    }
    return put_line(sink, line, fault);
}

/* The index of the first sample along an axis, in the origin's grid. */
static size_t first_index(const struct header *header, const struct axes *axes, size_t axis)
{
    size_t first = channel_axes(axes);

    if (axis < first + 3)
        return axis < first ? 0 : header->first[axis - first];
    return volume_sink_choice(header, axes->sizes + first + 3, axis - first - 3);
}

/* Where the first sample of the region is; without directions nobody knows in space. */
static bool put_space_origin(struct sink *sink, const struct volume *origin, const struct axes *axes,
                             struct fault *fault)
{
    const char *value = text_header_find(&origin->fields, "space origin");
    const char *directions = text_header_find(&origin->fields, "space directions");
    struct vector place, direction;
    char line[LINE_MOST];

    if (value == NULL || directions == NULL || !next_vector(&value, &place) || place.count == 0)
        return true;
    for (size_t i = 0; i < axes->count && next_vector(&directions, &direction); i++) {
        scale_vector(&direction, axes, &sink->header.grid, i);
        for (size_t k = 0; k < direction.count; k++)
            place.parts[k] += (double)first_index(&sink->header, axes, i) * direction.parts[k];
    }
    snprintf(line, sizeof line, "space origin:");
    print_vector(&place, line + strlen(line), sizeof line - strlen(line));
    return put_line(sink, line, fault);
}

static bool put_region(struct sink *sink, const struct volume *origin, struct fault *fault)
{
    struct axes axes;

    return read_axes(&origin->fields, &axes, fault) && put_sizes(sink, &axes, fault) &&
           put_space_origin(sink, origin, &axes, fault);
}

/* The header of samples that come from another family of formats, or from a file without a header. */
static bool put_anew(struct sink *sink, const struct sink_request *request, struct fault *fault)
{
    struct geometry place;
    const struct geometry *geometry = volume_sink_geometry(sink, request, &place);

    if (!put_extents(sink, geometry != NULL, fault))
        return false;
    if (geometry != NULL)
        return put_geometry(sink, geometry, fault);
    return !has_spacing(&sink->header.grid) || put_spacings(sink, NULL, fault);
}

static bool put_description(struct sink *sink, const struct sink_request *request,
                            const struct volume *origin, struct fault *fault)
{
    const struct change change = {.spaced = origin != NULL && is_spaced_anew(sink, origin),
                                  .cropped = origin != NULL && volume_sink_is_cropped(sink, request),
                                  .levelled = origin != NULL && levels_alpha(sink, origin)};

    if (origin == NULL)
        return put_anew(sink, request, fault);
    return put_kept(sink, origin, &change, fault) &&
           (!change.levelled || put_levelled(sink, origin, fault)) &&
           (!change.cropped || put_region(sink, origin, fault)) &&
           (!change.spaced || put_spacings(sink, origin, fault));
}

/* Compressed where it is asked for, or where the origin is. */
static bool is_compressed(const struct volume *origin, const struct sink_request *request)
{
    if (request->level >= 0)
        return request->level > 0;
    return origin != NULL && (origin->coding.coding == CODING_GZIP || origin->coding.coding == CODING_BZIP2);
}

static bool put_layout(struct sink *sink, bool compressed, struct fault *fault)
{
    char line[LINE_MOST];

    snprintf(line, sizeof line, "type: %.*s\nencoding: %s\nendian: %s",
             (int)strcspn(type_name(&sink->header), ","), type_name(&sink->header),
             compressed ? "gzip" : "raw", sink->header.endian == ENDIAN_BIG ? "big" : "little");
    return put_line(sink, line, fault);
}

/* The header ends with the name of the file of samples, or with an empty line. */
static bool end_header(struct sink *sink, const struct sink_request *request, bool compressed,
                       struct fault *fault)
{
    char name[LINE_MOST], line[LINE_MOST + 16];

    if (sink->format->data_suffix == NULL)
        return put_line(sink, "", fault);
    if (!volume_sink_cite_data(sink, compressed, name, sizeof name, fault))
        return false;
    snprintf(line, sizeof line, "data file: %s", name);
    return put_line(sink, line, fault) && volume_sink_detach(sink, request, name, fault);
}

static bool write_header(struct sink *sink, const struct sink_request *request, struct fault *fault)
{
    const struct volume *origin = volume_sink_origin(sink, request);
    bool compressed = is_compressed(origin, request);

    if (type_name(&sink->header) == NULL)
        return volume_sink_refuse_type(sink, fault);
    return put_description(sink, request, origin, fault) && put_layout(sink, compressed, fault) &&
           end_header(sink, request, compressed, fault) &&
           (!compressed || volume_sink_pack(sink, GZIP_WRITER_GZIP, fault));
}

#define NRRD                                                                                                 \
    .family = FAMILY_NRRD, .title = "an NRRD file", .compresses = true, .holds_spacing = true,               \
    .holds_geometry = true, .alpha = FORMAT_RGBA, .list_dropped = list_dropped, .read_header = read_header,  \
    .write_header = write_header, VOLUME_OPERATIONS

const struct format format_nrrd = {
    .name = "nrrd", .summary = "Nearly Raw Raster Data", .joins = true, .sniff = sniff, NRRD};

const struct format format_nhdr = {.name = "nhdr",
                                   .summary = "the same, with the samples in a file .raw beside it",
                                   .data_suffix = ".raw",
                                   .data_suffix_compressed = ".raw.gz",
                                   NRRD};
