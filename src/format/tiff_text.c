/* Descriptions of TIFF stacks: what ImageJ, OME and tifffile tell in the ImageDescription of the first page.

   ImageJ writes lines "key=value", OME a document in XML (ome_xml.h), and tifffile an object in JSON with the
   array's shape. Few values matter here: how many pages stand for slices, channels and times, and how far
   apart samples are. What cannot be found counts as not told; the reader refuses what does not go together
   with the pages. */
#include "tiff_text.h"

#include "base/json.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/size.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHAPE_MOST = 16, SHAPE_BYTES = 1024 };

/* Our own word in tifffile's description. */
static const char spacing_key[] = "spacing";

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

/* ImageJ's words, and in which outputs they still hold. */
enum role {
    ROLE_OURS,    /* those of a stack, which are written anew */
    ROLE_KEPT,    /* any */
    ROLE_EXTREME, /* of the same samples */
    ROLE_VALUE,   /* whose samples stand for what they stood for */
    ROLE_TIME,    /* of all volumes */
    ROLE_PLACE,   /* of the same grid */
    ROLE_NONE     /* words that are not known */
};
static const struct word {
    const char *key;
    enum role role;
} words[] = {
    {"ImageJ", ROLE_OURS},    {"images", ROLE_OURS},     {"channels", ROLE_OURS}, {"slices", ROLE_OURS},
    {"frames", ROLE_OURS},    {"hyperstack", ROLE_OURS}, {"spacing", ROLE_OURS},  {"unit", ROLE_OURS},
    {"loop", ROLE_OURS},      {"mode", ROLE_KEPT},       {"min", ROLE_EXTREME},   {"max", ROLE_EXTREME},
    {"vunit", ROLE_VALUE},    {"cf", ROLE_VALUE},        {"c0", ROLE_VALUE},      {"c1", ROLE_VALUE},
    {"c2", ROLE_VALUE},       {"c3", ROLE_VALUE},        {"c4", ROLE_VALUE},      {"fps", ROLE_TIME},
    {"finterval", ROLE_TIME}, {"tunit", ROLE_TIME},      {"xorigin", ROLE_PLACE}, {"yorigin", ROLE_PLACE},
    {"zorigin", ROLE_PLACE},  {"yunit", ROLE_PLACE},     {"zunit", ROLE_PLACE},
};

static enum role role_of(const char *key, size_t length)
{
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strlen(words[i].key) == length && strncmp(key, words[i].key, length) == 0)
            return words[i].role;
    }
    return ROLE_NONE;
}

static bool holds(enum role role, const struct header *written)
{
    const bool outcomes[] = {
        [ROLE_KEPT] = true,
        [ROLE_EXTREME] = written->values == VALUES_COPIED,
        [ROLE_VALUE] = written->values <= VALUES_FILTERED,
        [ROLE_TIME] = written->choice.count == 0,
        [ROLE_PLACE] = !written->respaced && written->first[0] + written->first[1] + written->first[2] == 0,
        [ROLE_NONE] = false,
    };

    return outcomes[role];
}

/* Go through ImageJ's words: `kept` gets the lines of those that hold for an output, `dropped` the names of
   others. Where nothing is written, the way of showing is none that was lost. */
static void sort_words(const char *text, const struct header *written, FILE *kept, struct dropped *dropped)
{
    for (const char *line = text; *line != '\0'; line += *line == '\n') {
        size_t length = strcspn(line, "\r\n"), key = strcspn(line, "=\r\n");
        enum role role = role_of(line, key);
        bool is_kept = written != NULL ? holds(role, written) : role == ROLE_KEPT;
        if (is_kept && kept != NULL)
            fprintf(kept, "%.*s\n", (int)length, line);
        else if (!is_kept && dropped != NULL && role != ROLE_OURS && length > 0)
            format_drop(dropped, "%.*s", (int)size_least(key, TIFF_TEXT_UNIT_BYTES - 1), line);
        line += strcspn(line, "\n");
    }
}

void tiff_text_drop(const char *description, const struct header *written, struct dropped *dropped)
{
    sort_words(description, written, NULL, dropped);
}

/* A line without a key is not ImageJ's. */
static bool has_keys_alone(const char *text)
{
    for (const char *line = text; *line != '\0'; line += *line == '\n') {
        size_t length = strcspn(line, "\r\n"), key = strcspn(line, "=\r\n");
        if (length > 0 && (key == length || key >= TIFF_TEXT_UNIT_BYTES))
            return false;
        line += strcspn(line, "\n");
    }
    return true;
}

static void read_imagej(const char *text, struct tiff_text *told)
{
    const char *unit = line_value(text, "unit");
    size_t length = unit == NULL ? 0 : strcspn(unit, "\r\n");

    told->kind = TIFF_TEXT_IMAGEJ;
    told->is_stack = has_keys_alone(text);
    told->follow = true;
    told->pages = count_at(line_value(text, "images"));
    told->channels = count_at(line_value(text, "channels"));
    told->slices = count_at(line_value(text, "slices"));
    told->frames = count_at(line_value(text, "frames"));
    told->is_volume = told->slices > 0;
    /* The pages of a stack are slices, unless there are other axes. */
    if (told->channels > 1 || told->frames > 1 || told->slices > 1) {
        told->channels += told->channels == 0;
        told->slices += told->slices == 0;
        told->frames += told->frames == 0;
    } else {
        told->channels = told->slices = told->frames = 0;
    }
    memcpy(told->order, "CZT", sizeof "CZT");
    told->spacing[2] = distance_at(line_value(text, "spacing"));
    if (length < sizeof told->unit)
        memcpy(told->unit, unit == NULL ? "" : unit, length);
}

/* ---- OME: an Image of several ---- */

/* Pages of an Image: samples of several channels may share one. */
static void read_image(const struct ome_image *image, unsigned page_channels, struct tiff_text *told)
{
    uint64_t samples = image->samples > 0 ? image->samples : page_channels;

    told->image = image->tag.begin;
    told->channels = image->channels > samples ? image->channels / samples : 1;
    told->slices = image->slices > 0 ? image->slices : 1;
    told->frames = image->frames > 0 ? image->frames : 1;
    memcpy(told->order, image->order, sizeof told->order);
    memcpy(told->spacing, image->spacing, sizeof told->spacing);
    memcpy(told->unit, image->unit, sizeof told->unit);
    if (image->order[0] == '\0')
        snprintf(told->refusal, sizeof told->refusal, "DimensionOrder: not one of the six that there are");
    if (image->pixels.begin == image->tag.begin)
        snprintf(told->refusal, sizeof told->refusal, "Image: without Pixels");
}

static void read_ome(const char *text, unsigned page_channels, uint64_t volume, struct tiff_text *told)
{
    struct ome_image image;
    const char *at = text;
    char file[96];

    told->kind = TIFF_TEXT_OME;
    if (strstr(text, "<!DOCTYPE") != NULL)
        snprintf(told->refusal, sizeof told->refusal, "OME-XML with a DTD, which is not supported");
    else if (ome_has(text, "BinaryOnly"))
        snprintf(told->refusal, sizeof told->refusal,
                 "BinaryOnly: another file tells the order of the pages, which is not supported");
    else if (ome_names_file(text, file, sizeof file))
        snprintf(told->refusal, sizeof told->refusal,
                 "TiffData: pages in another file, %s, which is not supported", file);
    else if (!ome_is_whole(text))
        snprintf(told->refusal, sizeof told->refusal, "OME-XML in which tags or elements have no end");
    while (told->refusal[0] == '\0' && ome_next_image(&at, &image)) {
        uint64_t volumes = told->channels * told->frames;
        /* The Image before it had fewer volumes. */
        if (told->images == 0 || volume - told->before >= volumes) {
            told->before += told->images == 0 ? 0 : volumes;
            told->number = told->images;
            read_image(&image, page_channels, told);
        }
        told->images++;
    }
}

/* ---- tifffile: {"shape": [4, 5, 6], "axes": "ZYX"} ---- */

/* What a description tells: extents, the slowest axis first, and a letter for each. */
struct tifffile_shape {
    uint64_t extents[SHAPE_MOST];
    size_t pages;              /* axes that are not within a page */
    char axes[SHAPE_MOST + 1]; /* empty: it has no letters */
};

/* The axis z of pages: the one with that letter; else the fastest that has more than one page, unless it is a
   channel or time. `count` if there is none. */
static size_t axis_z(const struct tifffile_shape *shape)
{
    size_t found = shape->pages;

    for (size_t i = shape->pages; i-- > 0;) {
        char letter = shape->axes[0] == '\0' ? '\0' : shape->axes[i];
        if (letter == 'Z')
            return i;
        if (found == shape->pages && shape->extents[i] > 1 && memchr("CST", letter, 3) == NULL)
            found = i;
    }
    return found;
}

/* Add an axis that is slower than those so far. What is neither z nor c stands for times. False: these would
   not be next to each other. */
static bool add_axis(char letter, uint64_t extent, struct tiff_text *told)
{
    size_t used = strlen(told->order);
    uint64_t *count = letter == 'Z' ? &told->slices : letter == 'C' ? &told->channels : &told->frames;

    if (extent == 1)
        return true;
    if (strchr(told->order, letter) == NULL)
        told->order[used] = letter;
    else if (told->order[used - 1] != letter)
        return false;
    *count *= extent;
    return true;
}

/* All axes that are faster than z as one, and all that are slower. */
static void add_around(const struct tifffile_shape *shape, size_t z, struct tiff_text *told)
{
    told->channels = told->slices = told->frames = 1;
    memcpy(told->order, "CZT", sizeof "CZT");
    for (size_t i = 0; i < shape->pages; i++)
        *(i < z ? &told->frames : i > z ? &told->channels : &told->slices) *= shape->extents[i];
}

/* Axes of one page stand anywhere. */
static void complete_order(char order[4])
{
    for (const char *letter = "CZT"; *letter != '\0'; letter++) {
        if (strchr(order, *letter) == NULL)
            order[strlen(order)] = *letter;
    }
}

/* Whether the object has nothing but what is read. */
static bool is_shape_alone(const struct json_value *object)
{
    static const char *const read[] = {"shape", "axes", "truncated", spacing_key};
    size_t known = 0;

    for (const struct json_value *member = json_first(object); member != NULL; member = json_next(member)) {
        for (size_t i = 0; i < sizeof read / sizeof *read; i++)
            known += strcmp(member->name, read[i]) == 0;
    }
    return known == object->count && json_member(object, read[0]) != NULL;
}

/* The shape counts samples within a page as well, which come last. */
static bool find_shape(const struct json_value *object, unsigned page_channels, struct tifffile_shape *shape)
{
    const char *axes = json_text_of(json_member(object, "axes"));
    size_t within = page_channels > 1 ? 3 : 2, count;

    *shape = (struct tifffile_shape){.pages = 0};
    if (!json_counts_of(json_member(object, "shape"), shape->extents, SHAPE_MOST, &count) ||
        count <= within || (axes != NULL && strlen(axes) != count))
        return false;
    shape->pages = count - within;
    if (axes != NULL)
        memcpy(shape->axes, axes, count);
    return true;
}

static void read_tifffile(const char *text, unsigned page_channels, struct tiff_text *told)
{
    const struct json_value *member;
    struct tifffile_shape shape;
    struct json_tree tree;
    struct fault unheard;
    bool found;
    size_t z;

    told->kind = TIFF_TEXT_TIFFFILE;
    if (!json_read(&tree, text, strlen(text), &unheard))
        return;
    told->is_stack = is_shape_alone(tree.values);
    member = json_member(tree.values, "truncated");
    told->follow = member != NULL && member->kind == JSON_TRUE;
    member = json_member(tree.values, spacing_key);
    told->spacing[2] = member != NULL && member->kind == JSON_NUMBER ? distance_at(member->text) : 0.0;
    found = find_shape(tree.values, page_channels, &shape);
    json_free(&tree);
    if (!found)
        return;
    z = axis_z(&shape);
    told->channels = told->slices = told->frames = 1;
    told->is_named = shape.axes[0] != '\0' && z < shape.pages && shape.axes[z] != 'Z';
    for (size_t i = shape.pages; i-- > 0;) {
        char letter = shape.axes[0] == '\0' ? '\0' : shape.axes[i];
        if (!add_axis(i == z ? 'Z' : letter == 'C' || letter == 'S' ? 'C' : 'T', shape.extents[i], told)) {
            add_around(&shape, z, told);
            break;
        }
    }
    complete_order(told->order);
}

/* ---- all of them ---- */

/* The counts are those of a file, so that their product may be anything. */
static void count_pages(struct tiff_text *told)
{
    size_t pages;

    if (told->channels == 0)
        return;
    if (!mem_product(&pages, (size_t)told->channels, (size_t)told->frames) ||
        !mem_product(&pages, pages, (size_t)told->slices) || pages == 0)
        snprintf(told->refusal, sizeof told->refusal, "no number of pages");
    else if (told->pages == 0)
        told->pages = pages;
}

struct tiff_text tiff_text_read(const char *description, unsigned page_channels, uint64_t volume)
{
    struct tiff_text told = {.is_volume = false};

    if (description == NULL)
        return told;
    if (strncmp(description, "ImageJ=", 7) == 0)
        read_imagej(description, &told);
    else if (description[0] == '{')
        read_tifffile(description, page_channels, &told);
    else if (ome_has(description, "OME"))
        read_ome(description, page_channels, volume, &told);
    count_pages(&told);
    told.is_volume = told.is_volume || told.slices > 1;
    return told;
}

uint64_t tiff_text_in_turn(const struct tiff_text *text)
{
    uint64_t volumes = 1;

    for (const char *axis = text->order; *axis != '\0' && *axis != 'Z'; axis++)
        volumes *= *axis == 'C' ? text->channels : text->frames;
    return volumes;
}

uint64_t tiff_text_page(const struct tiff_text *text, uint64_t plane)
{
    uint64_t turn = tiff_text_in_turn(text), volume = plane / text->slices, slice = plane % text->slices;

    return volume % turn + turn * (slice + text->slices * (volume / turn));
}

/* ---- writing ---- */

/* What ImageJ says of pages. Volumes that stand in turn are channels there, whatever they are; the others are
   frames. */
static void put_pages(FILE *text, const struct tiff_stack *stack)
{
    const struct tiff_text *axes = stack->axes;
    bool has_channels_first = strchr(axes->order, 'C') < strchr(axes->order, 'T');
    uint64_t volumes = axes->channels * axes->frames, turn = axes->slices > 1     ? tiff_text_in_turn(axes)
                                                             : has_channels_first ? axes->channels
                                                                                  : 1;

    if (volumes > 1 || stack->header->grid.axes == 3)
        fprintf(text, "images=%llu\n", (unsigned long long)(volumes * stack->axes->slices));
    if (volumes > 1)
        fprintf(text, "channels=%llu\n", (unsigned long long)turn);
    if (stack->header->grid.axes == 3)
        fprintf(text, "slices=%llu\n", (unsigned long long)stack->axes->slices);
    if (volumes > 1)
        fprintf(text, "frames=%llu\nhyperstack=true\n", (unsigned long long)(volumes / turn));
}

char *tiff_text_imagej(const char *description, const struct tiff_stack *stack, struct fault *fault)
{
    const struct grid *grid = &stack->header->grid;
    char *bytes = NULL, *copy = NULL;
    size_t size;
    FILE *text = open_memstream(&bytes, &size);

    if (text != NULL) {
        fprintf(text, "ImageJ=1.53t\n");
        put_pages(text, stack);
        if (stack->unit[0] != '\0')
            fprintf(text, "unit=%s\n", stack->unit);
        if (grid->axes == 3 || grid->spacing[2] != 1.0)
            fprintf(text, "spacing=%s\n", number_format_double(grid->spacing[2]).text);
        fprintf(text, "loop=false\n");
        if (description != NULL)
            sort_words(description, stack->header, text, NULL);
    }
    if (text == NULL || fclose(text) != 0)
        fault_raise(fault, STATUS_LIMIT, "no memory for a description");
    else
        copy = mem_text(bytes, fault);
    free(bytes);
    return copy;
}

/* Axes of pages stay; within a page samples come last. */
char *tiff_text_tifffile(const char *description, const struct tiff_stack *stack, struct fault *fault)
{
    const struct grid *grid = &stack->header->grid;
    struct tifffile_shape shape = {.pages = 0};
    char text[SHAPE_BYTES] = "{\"shape\": [";
    struct json_tree tree;
    size_t z;

    if (!json_read(&tree, description, strlen(description), fault))
        return NULL;
    find_shape(tree.values, stack->page_channels, &shape);
    json_free(&tree);
    z = axis_z(&shape);
    for (size_t i = 0; i < shape.pages; i++)
        diag_append(text, sizeof text, "%llu, ",
                    (unsigned long long)(i == z ? stack->axes->slices : shape.extents[i]));
    diag_append(text, sizeof text, "%zu, %zu", grid->ny, grid->nx);
    if (grid->channels > 1)
        diag_append(text, sizeof text, ", %u", grid->channels);
    diag_append(text, sizeof text, "]");
    if (shape.axes[0] != '\0')
        diag_append(text, sizeof text, ", \"axes\": \"%.*s%.2s%s\"", (int)shape.pages, shape.axes,
                    shape.axes + shape.pages + stack->planar, grid->channels > 1 ? "S" : "");
    diag_append(text, sizeof text, ", \"%s\": %s}", spacing_key, number_format_double(grid->spacing[2]).text);
    return mem_text(text, fault);
}
