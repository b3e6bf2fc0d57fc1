/* Descriptions of TIFF stacks: what ImageJ, OME and tifffile tell in the ImageDescription of the first page.

   ImageJ writes lines "key=value", OME a document in XML, and tifffile an object in JSON with the array's
   shape. No parser of XML or JSON is needed for the few values that matter here: how many pages stand for
   slices, channels and times, how far apart samples are, and, in OME's, which page is which slice. What
   cannot be found counts as not told; the reader refuses what does not go together with the pages. */
#include "tiff_text.h"

#include "format.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHAPE_MOST = 16 };

static uint64_t count_at(const char *text)
{
    return text == NULL ? 0 : strtoull(text, NULL, 10);
}

static double distance_at(const char *text)
{
    double distance = text == NULL ? 0.0 : fabs(strtod(text, NULL));

    return isfinite(distance) ? distance : 0.0;
}

/* ---- ImageJ: lines "key=value" ---- */

/* The value of a key, which begins a line; NULL: there is none. */
static const char *line_value(const char *text, const char *key)
{
    size_t length = strlen(key);

    for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, key, length) == 0 && line[length] == '=')
            return line + length + 1;
    }
    return NULL;
}

/* Whether a key is about the stack itself, or about how it was shown. */
static bool is_of_stack(const char *key, size_t length)
{
    static const char *const keys[] = {"ImageJ",     "images", "channels", "slices", "frames",
                                       "hyperstack", "mode",   "spacing",  "unit",   "loop"};

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (strlen(keys[i]) == length && strncmp(key, keys[i], length) == 0)
            return true;
    }
    return false;
}

/* A line without a key is not ImageJ's. */
static void read_others(const char *text, struct tiff_text *told)
{
    char name[TIFF_TEXT_UNIT_BYTES];

    for (const char *line = text; *line != '\0'; line += *line == '\n') {
        size_t length = strcspn(line, "\r\n"), key = strcspn(line, "=\r\n");
        told->is_stack = told->is_stack && (length == 0 || (key < length && key < sizeof name));
        if (told->is_stack && length > 0 && !is_of_stack(line, key)) {
            snprintf(name, sizeof name, "%.*s", (int)key, line);
            format_drop(told->others, sizeof told->others, name);
        }
        line += strcspn(line, "\n");
    }
}

static void read_imagej(const char *text, struct tiff_text *told)
{
    const char *unit = line_value(text, "unit");
    size_t length = unit == NULL ? 0 : strcspn(unit, "\r\n");

    told->imagej = told->is_stack = true;
    told->pages = count_at(line_value(text, "images"));
    told->channels = count_at(line_value(text, "channels"));
    told->slices = count_at(line_value(text, "slices"));
    told->frames = count_at(line_value(text, "frames"));
    told->spacing[2] = distance_at(line_value(text, "spacing"));
    if (length < sizeof told->unit)
        memcpy(told->unit, unit == NULL ? "" : unit, length);
    read_others(text, told);
}

/* ---- OME: attributes of XML ---- */

static const char *tag_end(const char *text)
{
    const char *end = strchr(text, '>');

    return end == NULL ? text + strlen(text) : end;
}

/* The value of an attribute in the text before its end, behind its quotation mark; NULL: there is none. */
static const char *attribute_within(const char *text, const char *end, const char *name)
{
    size_t length = strlen(name);

    for (const char *at = strstr(text, name); at != NULL && at < end; at = strstr(at + length, name)) {
        const char *value = at + length;
        value += strspn(value, " \t\r\n");
        if (at == text || strchr(" \t\r\n", at[-1]) == NULL || *value != '=')
            continue;
        value += 1 + strspn(value + 1, " \t\r\n");
        if (*value == '"' || *value == '\'')
            return value + 1;
    }
    return NULL;
}

static const char *attribute(const char *text, const char *name)
{
    return attribute_within(text, text + strlen(text), name);
}

/* The next element of a name, with or without a prefix, that is in no comment: where its attributes begin;
 * NULL: there is none. */
static const char *element(const char *text, const char *name)
{
    size_t length = strlen(name);

    for (const char *at = strchr(text, '<'); at != NULL; at = strchr(at, '<')) {
        if (strncmp(at, "<!--", 4) == 0) {
            at = strstr(at, "-->");
            if (at == NULL)
                return NULL;
            continue;
        }
        at++;
        size_t prefix = strcspn(at, ":<>/ \t\r\n\"'=");
        at += at[prefix] == ':' ? prefix + 1 : 0;
        if (strncmp(at, name, length) == 0 && strchr(" \t\r\n/>", at[length]) != NULL)
            return at + length;
    }
    return NULL;
}

/* Micrometres unless it says otherwise. */
static void read_unit(const char *value, char unit[TIFF_TEXT_UNIT_BYTES])
{
    const struct length_unit *known;

    snprintf(unit, TIFF_TEXT_UNIT_BYTES, "%.*s", value == NULL ? 2 : (int)strcspn(value, "\"'"),
             value == NULL ? "um" : value);
    known = unit_of_name(unit);
    if (known != NULL)
        snprintf(unit, TIFF_TEXT_UNIT_BYTES, "%s", known->names[0]);
}

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

/* In the unit of x. Distances that cannot be compared are none. */
static void read_sizes(const char *text, struct tiff_text *told)
{
    static const char *const sizes[3] = {"PhysicalSizeX", "PhysicalSizeY", "PhysicalSizeZ"},
                             *const names[3] = {"PhysicalSizeXUnit", "PhysicalSizeYUnit",
                                                "PhysicalSizeZUnit"};
    char units[3][TIFF_TEXT_UNIT_BYTES];
    bool comparable = true;

    for (int i = 0; i < 3; i++) {
        told->spacing[i] = distance_at(attribute(text, sizes[i]));
        read_unit(attribute(text, names[i]), units[i]);
        if (told->spacing[i] > 0.0)
            comparable = convert(&told->spacing[i], units[i], units[0]) && comparable;
    }
    if (!comparable)
        memset(told->spacing, 0, sizeof told->spacing);
    if (told->spacing[0] > 0.0)
        memcpy(told->unit, units[0], sizeof units[0]);
}

static void read_ome(const char *text, unsigned page_channels, struct tiff_text *told)
{
    told->places_pages = element(text, "TiffData") != NULL;
    told->places_apart = element(text, "BinaryOnly") != NULL;
    told->channels = count_at(attribute(text, "SizeC")) / page_channels;
    told->slices = count_at(attribute(text, "SizeZ"));
    told->frames = count_at(attribute(text, "SizeT"));
    read_sizes(text, told);
}

/* A run that gives no page begins with the first one and, unless it tells how many, takes all. */
bool tiff_text_next_run(const char **at, struct tiff_text_run *run)
{
    const char *found = element(*at, "TiffData"), *end, *page, *count;

    if (found == NULL)
        return false;
    end = tag_end(found);
    page = attribute_within(found, end, "IFD");
    count = attribute_within(found, end, "PlaneCount");
    *run = (struct tiff_text_run){
        .page = count_at(page),
        .slice = count_at(attribute_within(found, end, "FirstZ")),
        .elsewhere = count_at(attribute_within(found, end, "FirstC")) > 0 ||
                     count_at(attribute_within(found, end, "FirstT")) > 0,
        .count = count != NULL  ? count_at(count)
                 : page != NULL ? 1
                                : UINT64_MAX,
    };
    *at = end;
    return true;
}

/* ---- tifffile: {"shape": [4, 5, 6], "axes": "ZYX"} ---- */

/* The list of a key. Returns how many numbers it has; 0: there is none, or it is too long. */
static size_t read_shape(const char *text, uint64_t shape[SHAPE_MOST])
{
    const char *at = strstr(text, "\"shape\": [");
    size_t count = 0;

    if (at == NULL)
        return 0;
    at = strchr(at, '[') + 1;
    for (char *end; count < SHAPE_MOST; at = end + strspn(end, ", ")) {
        shape[count] = strtoull(at, &end, 10);
        if (end == at)
            return count;
        count++;
    }
    return 0;
}

/* The count that an axis of the shape belongs to. An axis without a letter, or with one that says nothing, is
   z if no axis after it is. */
static uint64_t *axis_of(struct tiff_text *told, char letter)
{
    if (letter == 'C' || letter == 'S')
        return &told->channels;
    return letter == 'Z' || (letter != 'T' && told->slices == 1) ? &told->slices : &told->frames;
}

/* With the axes, or without them. */
static bool is_shape_alone(const char *text)
{
    static const char shape[] = "{\"shape\": [", axes[] = ", \"axes\": \"";
    const char *at = strncmp(text, shape, strlen(shape)) == 0 ? strchr(text, ']') : NULL;

    if (at != NULL && strncmp(++at, axes, strlen(axes)) == 0) {
        at += strlen(axes);
        at += strcspn(at, "\"");
        at += *at == '"';
    }
    return at != NULL && strcmp(at, "}") == 0;
}

/* The shape counts samples within a page as well, which come last. */
static void read_tifffile(const char *text, unsigned page_channels, struct tiff_text *told)
{
    const char *axes = strstr(text, "\"axes\": \"");
    uint64_t shape[SHAPE_MOST];
    size_t within = page_channels > 1 ? 3 : 2, count = read_shape(text, shape);

    axes = axes == NULL ? NULL : axes + strlen("\"axes\": \"");
    told->is_stack = is_shape_alone(text);
    if (count <= within || (axes != NULL && strcspn(axes, "\"") != count))
        return;
    told->channels = told->slices = told->frames = 1;
    for (size_t i = count - within; i-- > 0;)
        *axis_of(told, axes == NULL ? '\0' : axes[i]) *= shape[i];
}

/* ---- all of them ---- */

struct tiff_text tiff_text_read(const char *description, unsigned page_channels)
{
    struct tiff_text told = {.imagej = false};

    if (description == NULL)
        return told;
    if (strncmp(description, "ImageJ=", 7) == 0)
        read_imagej(description, &told);
    else if (description[0] == '{')
        read_tifffile(description, page_channels, &told);
    else if (strstr(description, "<OME") != NULL)
        read_ome(description, page_channels, &told);
    return told;
}

void tiff_text_write(uint64_t pages, double distance, const char *unit, char *text, size_t size)
{
    snprintf(text, size, "ImageJ=1.53t\nimages=%llu\nslices=%llu\n%s%s%sspacing=%.17g\nloop=false\n",
             (unsigned long long)pages, (unsigned long long)pages, unit[0] != '\0' ? "unit=" : "", unit,
             unit[0] != '\0' ? "\n" : "", distance);
}
