/* NRRD: a header in text, with the samples after it or in files of their own.

   An array has up to 16 axes, the fastest first. If the first axis holds channels, as its kind says, it
   becomes the channels of the grid; the next three are x, y and z; those after them count the volumes of a
   series. Distances come from "spacings" or from the lengths of the vectors in "space directions"; an axis
   that has both is refused unless they agree. Where the grid is in space is known in the three spaces that
   other formats know as well (spaces), and only if directions have three parts, or four with time.

   What the header says about axes is parsed once, into struct axes. It stays with the source, for an output
   that is an NRRD file too: there all other lines are passed on as they are, comments and pairs of keys and
   values included. */
#include "base/mem.h"
#include "base/number.h"
#include "format.h"
#include "volume_sink.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MAGIC_SIZE = 8, VERSION_MOST = 6 };

static const char magic[] = "NRRD000";

/* Each type by all its names, with commas between them, of which the first is written. */
static const struct word types[] = {
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
enum { TYPES = sizeof types / sizeof *types };

/* All names that the format has for each encoding. */
static const struct word encodings[] = {
    {CODING_NONE, "raw"}, {CODING_GZIP, "gzip,gz"},        {CODING_BZIP2, "bzip2,bz2"},
    {CODING_HEX, "hex"},  {CODING_TEXT, "ascii,text,txt"},
};
enum { ENCODINGS = sizeof encodings / sizeof *encodings };

/* Kinds of axes along which samples are apart in space or time; along others they are channels. */
static const char domain_kinds[] = "domain,space,time,none,???";

/* A list of volumes is a series. */
static const char series_kinds[] = "list";

/* Kinds of axes whose channels any format keeps, and kinds that say which channels are colours. */
static const char vector_kinds[] = "vector,2-vector,3-vector,4-vector";
static const char colour_kinds[] = "RGB-color,RGBA-color,3-color,4-color";

/* The first line counts as a field of the grid. */
static const struct known_field known_fields[] = {
    {"NRRD0001,NRRD0002,NRRD0003,NRRD0004,NRRD0005,NRRD0006,dimension", FIELD_GRID},
    {"type,encoding,endian,data file,datafile,line skip,lineskip,byte skip,byteskip", FIELD_OWN},
    {"sizes", FIELD_GRID | FIELD_EXTENTS},
    {"kinds", FIELD_GRID | FIELD_CHANNELS},
    {"spacings", FIELD_GRID | FIELD_SPACING},
    {"space,space dimension", FIELD_POSITION},
    {"space directions", FIELD_POSITION | FIELD_SPACING},
    {"space origin", FIELD_POSITION | FIELD_ORIGIN},
    {"space units,units", FIELD_UNIT},
    {"axis mins,axismins,axis maxs,axismaxs", FIELD_ENDS},
    {"min,max", FIELD_EXTREMES},
    {"old min,oldmin,old max,oldmax", FIELD_RANGE},
    {NULL, 0},
};

/* ---- reading ---- */

static bool sniff(const unsigned char *start, size_t size)
{
    return size >= MAGIC_SIZE && memcmp(start, magic, sizeof magic - 1) == 0;
}

static bool check_magic(const struct source *source, struct fault *fault)
{
    const char *line = volume_fields(source)->items[0].line;

    if (strncmp(line, magic, sizeof magic - 1) != 0 || line[MAGIC_SIZE - 1] < '1' ||
        line[MAGIC_SIZE - 1] > '0' + VERSION_MOST || line[MAGIC_SIZE] != '\0')
        return source_refuse(source, fault, "magic: not NRRD0001 to NRRD000%d", VERSION_MOST);
    return true;
}

/* Comments and key/value pairs are kept, but mean nothing here. */
static bool take_line(const struct source *source, struct fault *fault)
{
    struct text_header *fields = volume_fields(source);
    const char *line = fields->items[fields->count - 1].line;
    const char *pair = strstr(line, ":="), *field = strstr(line, ": ");

    if (line[0] == '#' || (pair != NULL && (field == NULL || pair < field)))
        return true;
    if (!text_header_split_last(fields, ":", fault))
        return false;
    return fields->items[fields->count - 1].name != NULL ||
           source_refuse(source, fault, "header: line %zu: neither a field nor a comment", fields->count);
}

/* The header ends with an empty line, before a list of files, or where the file does. */
static bool read_lines(struct source *source, bool *attached, struct fault *fault)
{
    struct text_header *fields = volume_fields(source);
    struct byte_stream *stream = ((struct volume *)source->state)->stream;
    const struct field *last;
    bool ended, lists; /* lists: names of files follow at once */

    *attached = false;
    do {
        if (!text_header_read_line(fields, stream, &ended, fault))
            return false;
        if (ended)
            return fields->count > 0 || source_refuse(source, fault, "magic: the file is empty");
        *attached = fields->count > 1 && fields->items[fields->count - 1].line[0] == '\0';
        if (!*attached && !(fields->count == 1 ? check_magic(source, fault) : take_line(source, fault)))
            return false;
        last = &fields->items[fields->count - 1];
        lists = last->name != NULL &&
                text_header_is_one_of("data file,datafile", last->name, strlen(last->name)) &&
                strncmp(last->value, "LIST", 4) == 0;
    } while (!*attached && !lists);
    fields->behind = *attached;
    return true;
}

/* The value of a field that has two spellings; *found is the one that the header has. */
static const char *find_either(const struct text_header *fields, const char *name, const char *other,
                               const char **found)
{
    const char *value = text_header_find(fields, name);

    *found = value != NULL ? name : other;
    return value != NULL ? value : text_header_find(fields, other);
}

/* The byte order must be there where samples have several bytes. */
static bool read_endian(struct source *source, struct fault *fault)
{
    const struct text_header *fields = volume_fields(source);
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

/* The most dimensions of the space that an array is in. */
enum { SPACE_MOST = 8 };

/* A vector as the header writes it, with a part for each dimension of the space. "none" has no parts. */
struct vector {
    double parts[SPACE_MOST];
    size_t count;
};

/* The axes as the header has them, fastest first. */
struct axes {
    size_t count, first; /* first: 1 if the fastest axis is one of channels, else 0 */
    uint64_t sizes[VOLUME_AXES_MOST];
    bool is_channel[VOLUME_AXES_MOST];
    bool has_alpha; /* the last channel */
    bool has_directions, has_origin;
    struct vector directions[VOLUME_AXES_MOST], origin;
    /* NaN where nothing is said: by spacings, by the lengths of space directions, and by either. */
    double spacings[VOLUME_AXES_MOST], lengths[VOLUME_AXES_MOST], spacing[VOLUME_AXES_MOST];
};

/* Whether the first axis has the kind of channels whose last is alpha. */
static bool begins_with_alpha(const char *kinds)
{
    return text_header_is_one_of("RGBA-color", kinds, strcspn(kinds, " \t"));
}

/* Find out which axes hold channels: those whose kind is not one of space, time or a list. */
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
                !text_header_is_one_of(domain_kinds, rest, length) &&
                !(found >= 3 + axes->first && text_header_is_one_of(series_kinds, rest, length));
        /* An array of one axis is a row of samples even where its kind says channels. */
        axes->first = axes->is_channel[0] && axes->count > 1;
    }
    axes->has_alpha = axes->count > 1 && axes->sizes[0] == 4 && begins_with_alpha(value);
    return found == axes->count || text_header_refuse(fields, "kinds", value, "not one for each axis", fault);
}

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

/* The length of a vector; NaN for "none". */
static double length_of(const struct vector *vector)
{
    double squares = 0.0;

    for (size_t i = 0; i < vector->count; i++)
        squares += vector->parts[i] * vector->parts[i];
    return vector->count == 0 ? NAN : sqrt(squares);
}

static void print_vector(struct sink *sink, const struct vector *vector)
{
    volume_sink_print(sink, vector->count == 0 ? " none" : " (");
    for (size_t i = 0; i < vector->count; i++)
        volume_sink_print(sink, "%s%s", i == 0 ? "" : ",", number_format_double(vector->parts[i]).text);
    volume_sink_print(sink, vector->count == 0 ? "" : ")");
}

/* Read a vector for each axis; one of length 0 gives no distance. */
static bool read_directions(const struct text_header *fields, struct axes *axes, struct fault *fault)
{
    const char *value = text_header_find(fields, "space directions"), *rest = value;
    bool fine = true;

    axes->has_directions = value != NULL;
    for (size_t i = 0; value != NULL && fine && i < axes->count; i++) {
        fine = next_vector(&rest, &axes->directions[i]);
        axes->lengths[i] = fine ? length_of(&axes->directions[i]) : NAN;
        fine = fine && axes->lengths[i] != 0.0 && !isinf(axes->lengths[i]);
    }
    return value == NULL || (fine && rest[strspn(rest, " \t")] == '\0') ||
           text_header_refuse(fields, "space directions", value, "not a vector or none for each axis", fault);
}

/* Read a distance for each axis; NaN means that there is none. */
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
            return fault_set_for(fault, STATUS_INPUT, fields->file,
                                 "spacings: %g on axis %zu, but its vector of space directions has the "
                                 "length %g",
                                 spacing, i + 1, length);
        axes->spacing[i] = isnan(spacing) ? length : spacing;
    }
    return true;
}

/* It has as many parts as each direction has. */
static bool read_origin(const struct text_header *fields, struct axes *axes, struct fault *fault)
{
    const char *value = text_header_find(fields, "space origin"), *rest = value;

    axes->has_origin = value != NULL;
    if (value == NULL)
        return true;
    if (!next_vector(&rest, &axes->origin) || rest[strspn(rest, " \t")] != '\0')
        return text_header_refuse(fields, "space origin", value, "not a vector", fault);
    for (size_t i = 0; axes->origin.count > 0 && i < axes->count; i++) {
        if (axes->directions[i].count > 0 && axes->directions[i].count != axes->origin.count)
            return text_header_refuse(fields, "space origin", value,
                                      "not as many parts as the space directions", fault);
    }
    return true;
}

/* Read all that the header says about axes, before anything is made of it. */
static bool read_axes(struct source *source, struct fault *fault)
{
    const struct text_header *fields = volume_fields(source);
    struct axes *axes = mem_zeroed(1, sizeof *axes, "a header", fault);

    ((struct volume *)source->state)->parsed = axes;
    if (axes == NULL ||
        !text_header_extents(fields, "dimension", "sizes", VOLUME_AXES_MOST, axes->sizes, &axes->count,
                             fault) ||
        !read_kinds(fields, axes, fault))
        return false;
    for (size_t i = 0; i < axes->count; i++)
        axes->spacings[i] = axes->lengths[i] = NAN;
    return read_spacings(fields, axes, fault) && read_directions(fields, axes, fault) &&
           unite_spacings(fields, axes, fault) && read_origin(fields, axes, fault);
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

/* Where the grid is in a space of three dimensions: the vectors along its axes. False if it does not say. */
static bool find_place(const struct axes *axes, double origin[3], double vectors[3][3])
{
    if (!axes->has_directions || axes->count < axes->first + 3 ||
        (axes->has_origin && axes->origin.count < 3))
        return false;
    memcpy(origin, axes->origin.parts, 3 * sizeof *origin);
    for (size_t i = 0; i < 3; i++) {
        const struct vector *direction = &axes->directions[axes->first + i];
        if (direction->count != 3 && !(direction->count == 4 && direction->parts[3] == 0.0))
            return false;
        memcpy(vectors[i], direction->parts, 3 * sizeof *origin);
    }
    return true;
}

/* Where the grid is, if its space is one that other formats know. */
static struct geometry find_geometry(const struct text_header *fields, const struct axes *axes)
{
    const char *space = text_header_find(fields, "space");
    double origin[3], vectors[3][3];

    for (size_t i = 0; space != NULL && i < sizeof spaces / sizeof *spaces; i++) {
        if (text_header_is_one_of(spaces[i].names, space, strlen(space)) && find_place(axes, origin, vectors))
            return geometry_make(origin, vectors, spaces[i].signs);
    }
    return (struct geometry){.known = false};
}

/* The unit that each of these words in quotation marks is, or NULL. */
static const struct length_unit *unit_of_each(const char *value, size_t first, size_t count)
{
    const struct length_unit *unit = NULL;
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

/* Fill the source's header from the axes: only the fastest may hold channels, the next three are x, y and
   z. */
static bool set_axes(struct source *source, struct fault *fault)
{
    const struct axes *axes = ((const struct volume *)source->state)->parsed;
    const char *space = text_header_find(volume_fields(source), "space units"),
               *units = text_header_find(volume_fields(source), "units");
    const struct length_unit *unit;
    size_t first = axes->first;

    for (size_t i = 1; i < axes->count; i++) {
        if (axes->is_channel[i] && axes->sizes[i] > 1)
            return source_refuse(source, fault, "kinds: axis %zu holds channels, but only the first axis may",
                                 i + 1);
    }
    source->header.alpha = axes->has_alpha;
    volume_set_spacing(source, axes->spacing + first, axes->count - first);
    source->header.geometry = find_geometry(volume_fields(source), axes);
    if (source->header.geometry.known)
        geometry_orientation(&source->header.geometry, source->header.orientation);
    unit = space != NULL ? unit_of_each(space, 0, 3) : units != NULL ? unit_of_each(units, first, 3) : NULL;
    source->header.millimetres = unit_millimetres(unit);
    return volume_set_extents(source, "sizes", axes->sizes + first, axes->count - first,
                              first ? axes->sizes[0] : 1, fault);
}

static bool read_skip(const struct text_header *fields, const char *name, const char *other, uint64_t *skip,
                      bool *at_end, struct fault *fault)
{
    const char *found, *value = find_either(fields, name, other, &found);

    if (value == NULL)
        return true;
    /* -1 stands for whatever is before the last bytes, as many as there are samples. */
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

/* Samples follow the header, unless it names their files. */
static bool settle_files(struct source *source, bool attached, struct fault *fault)
{
    struct volume *volume = source->state;
    const char *value = find_either(&volume->fields, "data file", "datafile", &volume->files.field);

    if (value != NULL)
        return volume_name_files(source, value, fault);
    return attached || source_refuse(source, fault,
                                     "header: the file ends before an empty line, which ends a "
                                     "header");
}

static bool read_header(struct source *source, const struct source_request *request, struct fault *fault)
{
    struct volume *volume = source->state;
    const struct text_header *fields = &volume->fields;
    int type, coding;
    bool attached;

    (void)request;
    if (!read_lines(source, &attached, fault) || !text_header_check_once(fields, fault) ||
        !text_header_word(fields, "type", types, TYPES, &type, fault) || !read_axes(source, fault) ||
        !text_header_word(fields, "encoding", encodings, ENCODINGS, &coding, fault))
        return false;
    source->header.type = (enum sample_type)type;
    volume->coding.coding = (enum coding)coding;
    return read_endian(source, fault) && read_skips(source, fault) && set_axes(source, fault) &&
           settle_files(source, attached, fault);
}

/* ---- what other formats do not keep ---- */

/* Whether `sink` says what channels are. Raw samples do not even tell how many there are. */
static bool keeps_kinds(const struct source *source, const struct format *sink)
{
    const char *kind = text_header_find(volume_fields(source), "kinds");
    size_t length = kind == NULL ? 0 : strcspn(kind, " \t");
    bool holds_colours =
        sink->holds_colours || (source->header.alpha && format_tells_alpha(sink, &source->header));

    return source->header.grid.channels == 1 || sink->title == NULL ||
           text_header_is_one_of(vector_kinds, kind, length) ||
           (holds_colours && text_header_is_one_of(colour_kinds, kind, length));
}

/* Without directions nobody knows where in space a region begins. */
static void list_outdated(const struct source *source, const struct header *written, struct dropped *dropped)
{
    const struct volume *volume = source->state;
    const struct axes *axes = volume->parsed;
    bool moved = written->choice.count > 0 || !grid_same_extents(&written->grid, &source->header.grid);
    unsigned gone = !moved ? 0U : axes->has_directions ? FIELD_ENDS : FIELD_ENDS | FIELD_ORIGIN;

    text_header_list(&volume->fields, known_fields, volume_sink_outdated(written) | gone, false, dropped);
}

static void list_dropped(const struct source *source, const struct receiver *to, struct dropped *dropped)
{
    const struct volume *volume = source->state;
    const struct axes *axes = volume->parsed;
    double origin[3], vectors[3][3];
    bool keeps_position = (to->format->holds_geometry && source->header.geometry.known) ||
                          (find_place(axes, origin, vectors) && geometry_is_plain(origin, vectors)),
         reversed = false;

    if (to->format->family == source->format->family) {
        list_outdated(source, to->header, dropped);
        return;
    }
    text_header_list(&volume->fields, known_fields, volume_sink_kept(source, to, keeps_position), true,
                     dropped);
    /* In a space with time, that of the first volume. */
    if (keeps_position && axes->origin.count > 3 && axes->origin.parts[3] != 0.0)
        format_drop(dropped, "space origin[3]");
    if (!keeps_kinds(source, to->format))
        format_drop(dropped, "kinds");
    for (size_t i = axes->first; i < axes->count && !reversed; i++)
        reversed = axes->spacings[i] < 0.0;
    if (reversed)
        format_drop(dropped, "spacings");
    if (source->header.volumes == 1)
        return;
    format_drop_distances(dropped, "spacings", axes->spacings, axes->first + 3, axes->count);
    if (keeps_position)
        format_drop_distances(dropped, "space directions", axes->lengths, axes->first + 3, axes->count);
}

/* ---- writing ---- */

/* The first lines of a new header: version, extents, and what the first axis is. */
static void put_extents(struct sink *sink, bool has_position)
{
    const struct grid *grid = &sink->header.grid;
    const uint64_t sizes[] = {grid->channels, grid->nx, grid->ny, grid->nz, sink->header.volumes};
    size_t first = grid->channels > 1 ? 0 : 1, end = 1 + volume_sink_axes(&sink->header);

    volume_sink_print(sink, "NRRD000%d\ndimension: %zu\n", first == 0 || has_position ? 4 : 1, end - first);
    volume_sink_print_counts(sink, "sizes:", sizes + first, end - first);
    if (first == 0)
        volume_sink_print(sink, "kinds: %s domain%s%s%s\n",
                          sink->header.alpha && format_tells_alpha(sink->format, &sink->header) ? "RGBA-color"
                                                                                                : "vector",
                          end > 2 ? " domain" : "", end > 3 ? " domain" : "", end > 4 ? " time" : "");
}

/* The direction of an axis takes the length of the grid's spacing, where it has one of its own. */
static struct vector scaled_direction(const struct axes *axes, const struct grid *grid, size_t axis)
{
    struct vector vector = axes->directions[axis];
    bool known = axis >= axes->first && axis < axes->first + grid->axes && axes->lengths[axis] > 0.0;

    for (size_t i = 0; known && i < vector.count; i++)
        vector.parts[i] *= grid->spacing[axis - axes->first] / axes->lengths[axis];
    return vector;
}

/* One for each axis of the header, which may have more than the grid: channels before them, extents of 1
   after them. An axis whose direction tells it has none, unless it has both. */
static void put_spacings(struct sink *sink, const struct axes *axes)
{
    const struct grid *grid = &sink->header.grid;
    double spacings[VOLUME_AXES_MOST];
    bool any = false;

    for (size_t i = 0; i < axes->count; i++) {
        bool known = i >= axes->first && i < axes->first + grid->axes &&
                     (isnan(axes->lengths[i]) || !isnan(axes->spacings[i]));
        spacings[i] = known ? grid->spacing[i - axes->first] : axes->spacings[i];
        any = any || !isnan(spacings[i]);
    }
    if (any)
        volume_sink_print_reals(sink, "spacings:", spacings, axes->count);
}

/* A series has time as the fourth dimension of its space. */
static void put_geometry(struct sink *sink, const struct geometry *geometry)
{
    const struct grid *grid = &sink->header.grid;
    bool is_series = sink->header.volumes > 1;
    struct vector vector = {.count = is_series ? 4 : 3};

    volume_sink_print(sink, "space: left-posterior-superior%s\nspace directions:%s", is_series ? "-time" : "",
                      grid->channels > 1 ? " none" : "");
    for (unsigned i = 0; i < 3; i++) {
        for (unsigned k = 0; k < 3; k++)
            vector.parts[k] = grid->spacing[i] * geometry->direction[i][k];
        print_vector(sink, &vector);
    }
    volume_sink_print(sink, "%s\nspace origin:", is_series ? " (0,0,0,1)" : "");
    memcpy(vector.parts, geometry->origin, sizeof geometry->origin);
    print_vector(sink, &vector);
    volume_sink_print(sink, "\n");
}

/* The index of the first sample along an axis, in the origin's grid. */
static size_t first_index(const struct header *header, const struct axes *axes, size_t axis)
{
    if (axis < axes->first + 3)
        return axis < axes->first ? 0 : header->first[axis - axes->first];
    return volume_sink_choice(header, axes->sizes + axes->first + 3, axis - axes->first - 3);
}

/* Where the first sample of the region is. */
static void put_origin(struct sink *sink, const struct axes *axes)
{
    struct vector place = axes->origin;

    if (!axes->has_directions || place.count == 0)
        return;
    for (size_t i = 0; i < axes->count; i++) {
        const struct vector direction = scaled_direction(axes, &sink->header.grid, i);
        for (size_t k = 0; k < direction.count; k++)
            place.parts[k] += (double)first_index(&sink->header, axes, i) * direction.parts[k];
    }
    volume_sink_print(sink, "space origin:");
    print_vector(sink, &place);
    volume_sink_print(sink, "\n");
}

/* The header of samples that come from another family of formats, or from a file without a header. */
static void put_anew(struct sink *sink, const struct sink_request *request)
{
    const struct grid *grid = &sink->header.grid;
    struct geometry place;
    const struct geometry *geometry = volume_sink_geometry(sink, request, &place);
    struct axes axes = {.count = volume_sink_axes(&sink->header) + (grid->channels > 1),
                        .first = grid->channels > 1};

    put_extents(sink, geometry != NULL);
    for (size_t i = 0; i < axes.count; i++)
        axes.spacings[i] = axes.lengths[i] = NAN;
    if (geometry != NULL)
        put_geometry(sink, geometry);
    else if (grid->spacing[0] != 1.0 || grid->spacing[1] != 1.0 || grid->spacing[2] != 1.0)
        put_spacings(sink, &axes);
}

/* The origin's header, but for what no longer holds; alpha may have become a channel like others. */
static void put_kept(struct sink *sink, const struct sink_request *request, const struct volume *origin)
{
    const char *kinds = text_header_find(&origin->fields, "kinds");
    bool levelled = kinds != NULL && begins_with_alpha(kinds) && !sink->header.alpha,
         respaced = request->origin->header.respaced, cropped = volume_sink_is_cropped(sink, request);
    const struct axes *axes = origin->parsed;

    volume_sink_print_kept(sink, &origin->fields, known_fields,
                           FIELD_OWN | volume_sink_outdated(&sink->header) |
                               (levelled ? FIELD_CHANNELS : 0U) | (respaced ? FIELD_SPACING : 0U) |
                               (cropped ? FIELD_EXTENTS | FIELD_ORIGIN | FIELD_ENDS : 0U));
    if (levelled)
        volume_sink_print(sink, "kinds: vector%s\n", kinds + strcspn(kinds, " \t"));
    if (cropped) {
        uint64_t sizes[VOLUME_AXES_MOST];
        volume_sink_extents(&sink->header, axes->first, axes->sizes, axes->count, sizes);
        volume_sink_print_counts(sink, "sizes:", sizes, axes->count);
        put_origin(sink, axes);
    }
    /* The origin's vectors keep where they point, and take the length of the grid's spacing. */
    if (respaced && axes->has_directions) {
        volume_sink_print(sink, "space directions:");
        for (size_t i = 0; i < axes->count; i++) {
            const struct vector vector = scaled_direction(axes, &sink->header.grid, i);
            print_vector(sink, &vector);
        }
        volume_sink_print(sink, "\n");
    }
    if (respaced)
        put_spacings(sink, axes);
}

static bool write_header(struct sink *sink, const struct sink_request *request, struct fault *fault)
{
    const struct volume *origin = volume_sink_origin(sink, request);
    bool compressed = volume_sink_compresses(origin, request);
    const char *type = volume_sink_type(sink, types, TYPES, fault);

    if (type == NULL)
        return false;
    if (origin != NULL)
        put_kept(sink, request, origin);
    else
        put_anew(sink, request);
    volume_sink_print(sink, "type: %.*s\nencoding: %s\nendian: %s\n", (int)strcspn(type, ","), type,
                      compressed ? "gzip" : "raw", sink->header.endian == ENDIAN_BIG ? "big" : "little");
    if (sink->format->data_suffix == NULL)
        volume_sink_print(sink, "\n");
    return volume_sink_begin_data(sink, request, "data file: ", compressed, GZIP_WRITER_GZIP, fault);
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
