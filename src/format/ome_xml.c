/* OME-XML: what an Image tells of its pages, and the same text for an output.

   The text is walked tag by tag; comments, CDATA and instructions are passed over. Reading needs the
   attributes of a few elements: Image, Pixels, Channel and TiffData. For an output the text is copied from
   one tag to the next, and on the way elements are left out or attributes get other values: UUIDs, because
   the output is another file; TiffData, because pages stand in the order of the axes; extents, type, spacing
   and byte order; and, where the output has not all samples of the Image, what stands for single planes or
   lies at coordinates. */
#include "ome_xml.h"

#include "base/mem.h"
#include "base/number.h"
#include "model/unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char space[] = " \t\r\n";

/* ---- tags ---- */

/* Behind the ">" of a tag; one that stands in the value of an attribute is none. */
static const char *end_of_tag(const char *at)
{
    for (char quote = '\0'; *at != '\0'; at++) {
        if (quote == '\0' && *at == '>')
            return at + 1;
        if (quote == *at)
            quote = '\0';
        else if (quote == '\0' && (*at == '"' || *at == '\''))
            quote = *at;
    }
    return at;
}

/* Behind a comment, CDATA or an instruction that begins here; NULL: none does. */
static const char *behind_aside(const char *at)
{
    static const struct {
        const char *begin, *end;
    } asides[] = {{"<!--", "-->"}, {"<![CDATA[", "]]>"}, {"<?", "?>"}};

    for (size_t i = 0; i < sizeof asides / sizeof *asides; i++) {
        if (strncmp(at, asides[i].begin, strlen(asides[i].begin)) == 0) {
            const char *end = strstr(at + strlen(asides[i].begin), asides[i].end);
            return end == NULL ? at + strlen(at) : end + strlen(asides[i].end);
        }
    }
    return NULL;
}

/* The next tag from *at on and before `limit`, NULL for the end of the text; false: there is none. */
static bool next_tag(const char **at, const char *limit, struct ome_tag *tag)
{
    const char *begin = strchr(*at, '<'), *aside;
    size_t prefix;

    while (begin != NULL && (aside = behind_aside(begin)) != NULL)
        begin = strchr(aside, '<');
    if (begin == NULL || (limit != NULL && begin >= limit))
        return false;
    *tag = (struct ome_tag){.begin = begin, .end = end_of_tag(begin), .closes = begin[1] == '/'};
    tag->is_empty = tag->end - begin > 2 && tag->end[-1] == '>' && tag->end[-2] == '/';
    tag->name = begin + 1 + tag->closes;
    prefix = strcspn(tag->name, ":<>/ \t\r\n\"'=");
    tag->name += tag->name[prefix] == ':' ? prefix + 1 : 0;
    tag->length = strcspn(tag->name, "<>/ \t\r\n");
    *at = tag->end;
    return true;
}

static bool is_named(const struct ome_tag *tag, const char *name)
{
    return tag->length == strlen(name) && strncmp(tag->name, name, tag->length) == 0;
}

/* The next element of a name. */
static bool find(const char **at, const char *limit, const char *name, struct ome_tag *tag)
{
    while (next_tag(at, limit, tag)) {
        if (!tag->closes && is_named(tag, name))
            return true;
    }
    return false;
}

/* Behind the end of the element that a tag begins. Elements within it may have its name. */
static const char *behind_element(const struct ome_tag *tag)
{
    const char *at = tag->end;
    struct ome_tag other;

    for (size_t depth = tag->is_empty ? 0 : 1; depth > 0 && next_tag(&at, NULL, &other);) {
        if (other.length == tag->length && strncmp(other.name, tag->name, tag->length) == 0 &&
            !other.is_empty)
            depth += other.closes ? (size_t)-1 : 1;
    }
    return at;
}

/* An attribute of a tag; all of it is within the tag. */
struct attribute {
    const char *name, *value, *end; /* behind the closing quotation mark */
    size_t name_length, length;
};

/* The next attribute from *at on; false: there are no more that are well formed. */
static bool next_attribute(const char **at, const struct ome_tag *tag, struct attribute *attribute)
{
    const char *name = *at + strspn(*at, space), *end;

    *attribute = (struct attribute){.name = name, .name_length = strcspn(name, "=<>/ \t\r\n\"'")};
    end = name + attribute->name_length;
    end += strspn(end, space);
    if (attribute->name_length == 0 || *end != '=')
        return false;
    end++;
    end += strspn(end, space);
    if (*end != '"' && *end != '\'')
        return false;
    attribute->value = end + 1;
    end = strchr(attribute->value, *end);
    if (end == NULL || end >= tag->end)
        return false;
    attribute->length = (size_t)(end - attribute->value);
    attribute->end = *at = end + 1;
    return true;
}

static bool is_attribute(const struct attribute *attribute, const char *name)
{
    return attribute->name_length == strlen(name) &&
           strncmp(attribute->name, name, attribute->name_length) == 0;
}

/* The attribute of a name; false: there is none. */
static bool attribute_of(const struct ome_tag *tag, const char *name, struct attribute *attribute)
{
    const char *at = tag->name + tag->length;

    while (next_attribute(&at, tag, attribute)) {
        if (is_attribute(attribute, name))
            return true;
    }
    return false;
}

/* A number of digits; 0: there is none. */
static uint64_t count_of(const struct ome_tag *tag, const char *name)
{
    struct attribute attribute;

    return attribute_of(tag, name, &attribute) ? strtoull(attribute.value, NULL, 10) : 0;
}

/* ---- an Image ---- */

/* Whether a distance can be told in another unit, as it then is. */
static bool convert(double *distance, const char *unit, const char *other)
{
    const struct length_unit *from = unit_of_name(unit), *to = unit_of_name(other);

    if (strcmp(unit, other) == 0)
        return true;
    if (from == NULL || to == NULL)
        return false;
    *distance *= from->millimetres / to->millimetres;
    return true;
}

/* Distances in the unit of x; those that cannot be compared are none. Units are micrometres unless they are
   told. */
static void read_spacing(struct ome_image *image)
{
    static const char *const names[3][2] = {{"PhysicalSizeX", "PhysicalSizeXUnit"},
                                            {"PhysicalSizeY", "PhysicalSizeYUnit"},
                                            {"PhysicalSizeZ", "PhysicalSizeZUnit"}};
    char units[3][OME_UNIT_BYTES];
    bool comparable = true;

    for (int i = 0; i < 3; i++) {
        struct attribute size, unit;
        const struct length_unit *known;
        double distance = attribute_of(&image->pixels, names[i][0], &size) ? strtod(size.value, NULL) : 0.0;
        image->spacing[i] = isfinite(distance) ? fabs(distance) : 0.0;
        if (attribute_of(&image->pixels, names[i][1], &unit))
            snprintf(units[i], sizeof units[i], "%.*s", (int)unit.length, unit.value);
        else
            snprintf(units[i], sizeof units[i], "um");
        known = unit_of_name(units[i]);
        if (known != NULL)
            snprintf(units[i], sizeof units[i], "%s", known->names[0]);
        if (image->spacing[i] > 0.0)
            comparable = convert(&image->spacing[i], units[i], units[0]) && comparable;
    }
    if (!comparable)
        memset(image->spacing, 0, sizeof image->spacing);
    memcpy(image->unit, image->spacing[0] > 0.0 ? units[0] : "",
           image->spacing[0] > 0.0 ? sizeof units[0] : 1);
}

/* The axes of pages after X and Y, each of them once. */
static void read_order(struct ome_image *image)
{
    struct attribute order;

    memcpy(image->order, "ZCT", sizeof "ZCT");
    if (!attribute_of(&image->pixels, "DimensionOrder", &order))
        return;
    image->order[0] = '\0';
    if (order.length == 5 && strncmp(order.value, "XY", 2) == 0 && memchr(order.value, 'Z', 5) != NULL &&
        memchr(order.value, 'C', 5) != NULL && memchr(order.value, 'T', 5) != NULL)
        memcpy(image->order, order.value + 2, 3);
}

bool ome_next_image(const char **at, struct ome_image *image)
{
    struct ome_tag channel;
    const char *within;

    *image = (struct ome_image){.samples = 0};
    if (!find(at, NULL, "Image", &image->tag))
        return false;
    image->end = *at = behind_element(&image->tag);
    within = image->tag.end;
    if (!find(&within, image->end, "Pixels", &image->pixels))
        image->pixels = image->tag; /* without Pixels it tells nothing */
    image->channels = count_of(&image->pixels, "SizeC");
    image->slices = count_of(&image->pixels, "SizeZ");
    image->frames = count_of(&image->pixels, "SizeT");
    if (find(&within, image->end, "Channel", &channel))
        image->samples = (unsigned)count_of(&channel, "SamplesPerPixel");
    read_order(image);
    read_spacing(image);
    return true;
}

bool ome_is_whole(const char *text)
{
    struct ome_tag tag;
    size_t depth = 0;

    while (next_tag(&text, NULL, &tag)) {
        if (tag.end[-1] != '>' || (tag.closes && depth == 0))
            return false;
        depth += tag.closes ? (size_t)-1 : tag.is_empty ? 0 : 1;
    }
    return depth == 0;
}

bool ome_has(const char *text, const char *name)
{
    struct ome_tag tag;

    return find(&text, NULL, name, &tag);
}

/* A run that gives no page begins with the first one and, unless it tells how many, takes all. */
bool ome_next_run(const struct ome_image *image, const char **at, struct ome_run *run)
{
    struct attribute attribute;
    struct ome_tag tag;
    bool has_page;

    if (*at == NULL)
        *at = image->pixels.end;
    if (!find(at, image->end, "TiffData", &tag))
        return false;
    has_page = attribute_of(&tag, "IFD", &attribute);
    *run = (struct ome_run){
        .page = count_of(&tag, "IFD"),
        .first = {count_of(&tag, "FirstZ"), count_of(&tag, "FirstC"), count_of(&tag, "FirstT")},
        .count = attribute_of(&tag, "PlaneCount", &attribute)  ? count_of(&tag, "PlaneCount")
                 : attribute_of(&tag, "NumPlanes", &attribute) ? count_of(&tag, "NumPlanes")
                 : has_page                                    ? 1
                                                               : UINT64_MAX};
    return true;
}

/* Each UUID must be that of the document, or, if that has none, like the first one. */
bool ome_names_file(const char *text, char *name, size_t size)
{
    struct attribute attribute;
    struct ome_tag tag;
    const char *own = NULL, *at = text;
    size_t own_length = 0;

    if (find(&at, NULL, "OME", &tag) && attribute_of(&tag, "UUID", &attribute)) {
        own = attribute.value;
        own_length = attribute.length;
    }
    while (find(&at, NULL, "UUID", &tag)) {
        const char *value = tag.end + strspn(tag.end, space);
        size_t length = strcspn(value, "< \t\r\n");
        if (own == NULL) {
            own = value;
            own_length = length;
        }
        if (length == own_length && strncmp(value, own, length) == 0)
            continue;
        if (!attribute_of(&tag, "FileName", &attribute))
            attribute = (struct attribute){.value = value, .length = length};
        snprintf(name, size, "%.*s", (int)attribute.length, attribute.value);
        return true;
    }
    return false;
}

/* ---- writing ---- */

const char *ome_type(enum sample_type type)
{
    static const char *const names[] = {
        [SAMPLE_U8] = "uint8",   [SAMPLE_I8] = "int8",   [SAMPLE_U16] = "uint16", [SAMPLE_I16] = "int16",
        [SAMPLE_U32] = "uint32", [SAMPLE_I32] = "int32", [SAMPLE_F32] = "float",  [SAMPLE_F64] = "double"};

    return (size_t)type < sizeof names / sizeof *names ? names[type] : NULL;
}

/* OME's symbol of a unit; one that is not known is that of the frame of reference. */
static const char *symbol_of(const char *unit)
{
    const struct length_unit *known = unit_of_name(unit);

    if (known == NULL)
        return "reference frame";
    return strcmp(known->symbol, "um") == 0 ? "\302\265m" : known->symbol;
}

/* Attributes of Pixels that follow from the output, or of which the last ones, which are optional, do:
   samples of a pixel stand together, and bits that are not used may become so. */
static bool is_ours(const struct attribute *attribute, const struct header *written)
{
    static const char *const ours[] = {"DimensionOrder", "Type",           "SizeX", "SizeY",
                                       "SizeC",          "SizeZ",          "SizeT", "BigEndian",
                                       "Interleaved",    "SignificantBits"};
    size_t count = sizeof ours / sizeof *ours - (written->values == VALUES_COPIED);

    for (size_t i = 0; i < count; i++) {
        if (is_attribute(attribute, ours[i]))
            return true;
    }
    return false;
}

/* The axis, as a bit, whose distance or its unit an attribute is; 0: it is neither. */
static unsigned distance_axis(const struct attribute *attribute)
{
    static const char name[] = "PhysicalSize";
    size_t length = sizeof name - 1;
    const char *axes = "XYZ", *axis;

    if (attribute->name_length <= length || strncmp(attribute->name, name, length) != 0)
        return 0;
    axis = strchr(axes, attribute->name[length]);
    return axis == NULL ? 0 : 1U << (axis - axes);
}

/* The axes, as bits, whose distances are told anew: of Pixels that are new those of the grid, if it has any;
   else all that --spacing gives or, at a smaller resolution, those that the Pixels told. */
static unsigned spaced_axes(const struct ome_tag *tag, const struct ome_output *output)
{
    const struct grid *grid = &output->written->grid;
    unsigned axes = output->written->respaced, all = (1U << grid->axes) - 1, told = 0;
    struct attribute attribute;

    if (tag == NULL)
        return output->unit[0] != '\0' || grid->spacing[0] != 1.0 ? all : 0;
    for (const char *at = tag->name + tag->length; next_attribute(&at, tag, &attribute);)
        told |= distance_axis(&attribute);
    return axes == RESPACED_BY_OPTION ? all : axes & told;
}

/* Pixels of the input with other attributes, or of an output that has none. */
static void put_pixels(FILE *text, const struct ome_tag *tag, const struct ome_output *output,
                       struct dropped *dropped)
{
    const struct header *written = output->written;
    const struct grid *grid = &written->grid;
    const char *at = tag == NULL ? NULL : tag->name + tag->length;
    unsigned spaced = spaced_axes(tag, output);
    struct attribute attribute;

    while (tag != NULL && next_attribute(&at, tag, &attribute)) {
        bool replaced = is_ours(&attribute, written);
        if (replaced && is_attribute(&attribute, "SignificantBits") && dropped != NULL)
            format_drop(dropped, "SignificantBits");
        if (!replaced && (distance_axis(&attribute) & spaced) == 0)
            fprintf(text, " %.*s", (int)(attribute.end - attribute.name), attribute.name);
    }
    fprintf(text, " DimensionOrder=\"XY%s\" Type=\"%s\" BigEndian=\"%s\" SizeX=\"%zu\" SizeY=\"%zu\"",
            output->order, ome_type(written->type), written->endian == ENDIAN_BIG ? "true" : "false",
            grid->nx, grid->ny);
    fprintf(text, " SizeC=\"%llu\" SizeZ=\"%llu\" SizeT=\"%llu\"", (unsigned long long)output->channels,
            (unsigned long long)output->slices, (unsigned long long)output->frames);
    for (unsigned i = 0; i < grid->axes; i++) {
        if ((spaced >> i & 1) != 0)
            fprintf(text, " PhysicalSize%c=\"%s\" PhysicalSize%cUnit=\"%s\"", 'X' + (int)i,
                    number_format_double(grid->spacing[i]).text, 'X' + (int)i, symbol_of(output->unit));
    }
}

/* All pages, in the order of the axes. */
static void put_run(FILE *text, const struct ome_tag *like, const struct ome_output *output)
{
    size_t prefix = like == NULL ? 0 : (size_t)(like->name - like->begin) - 1 - like->closes;

    fprintf(text, "<%.*sTiffData IFD=\"0\" PlaneCount=\"%llu\"/>", (int)prefix,
            like == NULL ? "" : like->name - prefix,
            (unsigned long long)(output->channels / output->written->grid.channels * output->slices *
                                 output->frames));
}

/* Where the walk through an input's text is. */
struct walk {
    const struct ome_output *output;
    struct dropped *dropped;
    size_t images, channels; /* that have begun */
    bool in_image;           /* in the one that is written */
    bool has_run;            /* its pages are told */
};

static bool is_any(const struct ome_tag *tag, const char *const *names)
{
    for (; *names != NULL; names++) {
        if (is_named(tag, *names))
            return true;
    }
    return false;
}

/* Whether a list has a name already, of which another may be the beginning. */
static bool has_name(const char *list, const char *name)
{
    size_t length = strlen(name);

    for (const char *at = list; at != NULL; at = strchr(at, ',')) {
        at += strspn(at, ", ");
        if (strncmp(at, name, length) == 0 && (at[length] == ',' || at[length] == '\0'))
            return true;
    }
    return false;
}

/* Whether an element is left out; `is_loss` if it told something. */
static bool leaves_out(struct walk *walk, const struct ome_tag *tag, bool *is_loss)
{
    static const char *const places[] = {"TiffData", "BinData", "MetadataOnly", NULL};
    static const char *const at_planes[] = {"Plane", "ROI", "ROIRef", NULL};
    static const char *const of_images[] = {"Plate", "Screen", "Dataset", "Project", "Folder", NULL};
    const struct ome_output *output = walk->output;

    *is_loss = true;
    if (is_named(tag, "Image"))
        return walk->images++ != output->image;
    if (walk->in_image && is_any(tag, places)) {
        *is_loss = false;
        return true;
    }
    /* Whoever chooses a volume does not ask for those of other channels. */
    if (walk->in_image && is_named(tag, "Channel") && output->is_chosen) {
        *is_loss = false;
        return walk->channels++ != output->channel;
    }
    return ((output->is_cut || output->is_chosen) && is_any(tag, at_planes)) ||
           (output->is_several && is_any(tag, of_images));
}

/* A tag without one of its attributes, and with another text in its place. */
static void put_tag(FILE *text, const struct ome_tag *tag, const char *without, const char *with)
{
    const char *at = tag->name + tag->length;
    struct attribute attribute;

    fwrite(tag->begin, 1, (size_t)(at - tag->begin), text);
    while (next_attribute(&at, tag, &attribute)) {
        if (!is_attribute(&attribute, without))
            fprintf(text, " %.*s", (int)(attribute.end - attribute.name), attribute.name);
    }
    fprintf(text, "%s%s", with, tag->is_empty ? "/>" : ">");
}

/* Copy an input's text, with what has to change. */
static void rewrite(struct walk *walk, const char *from, FILE *text)
{
    const struct ome_output *output = walk->output;
    const char *at = from;
    struct ome_tag tag;
    bool is_loss;

    while (next_tag(&at, NULL, &tag)) {
        fwrite(from, 1, (size_t)(tag.begin - from), text);
        from = at;
        /* Pages are told after the channels and before the planes. */
        if (walk->in_image && !walk->has_run &&
            (tag.closes ? is_named(&tag, "Pixels") : is_named(&tag, "Plane"))) {
            put_run(text, &tag, output);
            walk->has_run = true;
        }
        if (!tag.closes && leaves_out(walk, &tag, &is_loss)) {
            char name[OME_UNIT_BYTES];
            snprintf(name, sizeof name, "%.*s", (int)tag.length, tag.name);
            if (is_loss && walk->dropped != NULL && !has_name(walk->dropped->names, name))
                format_drop(walk->dropped, "%s", name);
            from = at = behind_element(&tag);
        } else if (!tag.closes && is_named(&tag, "OME")) {
            /* The document's UUID is that of the input. */
            put_tag(text, &tag, "UUID", "");
        } else if (!tag.closes && walk->in_image && output->is_coloured && is_named(&tag, "Channel")) {
            put_tag(text, &tag, "SamplesPerPixel", " SamplesPerPixel=\"3\"");
        } else if (!tag.closes && is_named(&tag, "Pixels") && walk->images == output->image + 1) {
            fwrite(tag.begin, 1, (size_t)(tag.name + tag.length - tag.begin), text);
            put_pixels(text, &tag, output, walk->dropped);
            fprintf(text, ">");
            walk->in_image = !tag.is_empty;
            if (tag.is_empty) {
                put_run(text, &tag, output);
                fprintf(text, "</%.*s>", (int)(tag.name + tag.length - tag.begin - 1), tag.begin + 1);
            }
        } else {
            walk->in_image = walk->in_image && !(tag.closes && is_named(&tag, "Pixels"));
            fwrite(tag.begin, 1, (size_t)(tag.end - tag.begin), text);
        }
    }
    fwrite(from, 1, strlen(from), text);
}

/* The least that says what each page is. */
static void put_least(FILE *text, const struct ome_output *output)
{
    static const char name_space[] = "http://www.openmicroscopy.org/Schemas/OME/2016-06";
    unsigned samples = output->written->grid.channels;

    fprintf(text,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?><OME xmlns=\"%s\" "
            "xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" ",
            name_space);
    fprintf(text, "xsi:schemaLocation=\"%s %s/ome.xsd\">", name_space, name_space);
    fprintf(text, "<Image ID=\"Image:0\"><Pixels ID=\"Pixels:0\"");
    put_pixels(text, NULL, output, NULL);
    fprintf(text, ">");
    for (uint64_t i = 0; i < output->channels / samples; i++)
        fprintf(text, "<Channel ID=\"Channel:0:%llu\" SamplesPerPixel=\"%u\"/>", (unsigned long long)i,
                samples);
    put_run(text, NULL, output);
    fprintf(text, "</Pixels></Image></OME>");
}

char *ome_write(const char *from, const struct ome_output *output, struct dropped *dropped,
                struct fault *fault)
{
    struct walk walk = {.output = output, .dropped = dropped};
    char *bytes = NULL, *copy = NULL;
    size_t size;
    FILE *text = open_memstream(&bytes, &size);

    if (text != NULL && from == NULL)
        put_least(text, output);
    else if (text != NULL)
        rewrite(&walk, from, text);
    if (text == NULL || fclose(text) != 0)
        fault_raise(fault, STATUS_LIMIT, "no memory for a description");
    else
        copy = mem_text(bytes, fault);
    free(bytes);
    return copy;
}
