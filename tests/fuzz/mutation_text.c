/* Mutations of text: the headers of NRRD and MetaImage, and taps. */
#include "mutation.h"

#include <stdio.h>
#include <string.h>

enum { TEXT_MOST = 256 };

/* A field of a header and values that it may have. */
struct text_field {
    const char *name, *values;
};

/* A header in lines. */
struct text_format {
    const char *between; /* name and value */
    const struct text_field *fields;
    size_t count;
};

static const struct text_field nrrd_fields[] = {
    {"type", "uint8|uchar|signed char|short|ushort|int|uint32|int64|uint64|float|double|block|half"},
    {"dimension", "1|2|3|4|5|16|17|0"},
    {"sizes", "4 3 2|12|6 2|3 2 2 2|3 4 2|4 3 1 2|24 1 1|0 1 2|4 3 18446744073709551615|2 2 2 3"},
    {"encoding", "raw|gzip|gz|hex|ascii|txt|bzip2|bz2|zrl"},
    {"endian", "little|big|middle"},
    {"space",
     "left-posterior-superior|LPS|RAS|right-anterior-superior|3D-right-handed|scanner-xyz-time|nowhere"},
    {"space dimension", "1|2|3|4|8|9|0"},
    {"space directions",
     "(1,0,0) (0,1,0) (0,0,1)|none (1,0,0) (0,1,0) (0,0,2)|(1,0) (0,1)|(0,0,0) none none|(1,2,3|"
     "(0.5,0.1,0) (-0.1,0.5,0) (0,0,3)|(nan,0,0) (0,1,0) (0,0,1)|(1,0,0)(0,1,0)(0,0,1)"},
    {"space origin", "(0,0,0)|(1.5,-2,3e10)|(1,2,3|(1,2)|none|(nan,nan,nan)|()|(1,,2)|(1,2,3) 4"},
    {"space units",
     "\"mm\" \"mm\" \"mm\"|\"um\" \"um\" \"um\"|\"mm|\"inch\" \"\" \"m\"|\"a\\\"b\" \"mm\" \"mm\""},
    {"units", "\"mm\" \"mm\" \"mm\"|\"mm\" \"\" \"s\"|mm mm mm|\"cm"},
    {"spacings", "1 1 1|0.5 0.5 2|nan 1 1 2|-1 1 1|0 1 1|1e-200 1 1|inf 1 1|1 1"},
    {"thicknesses", "1 nan 3|2 2 2"},
    {"axis mins", "0 0 0|nan 1 2"},
    {"axismins", "0 0 0|-1 -1 -1"},
    {"axis maxs", "1 2 3|nan nan nan"},
    {"centers", "cell cell cell|node node node|??? cell node|centers"},
    {"centerings", "cell node none"},
    {"kinds", "space space space|domain domain domain|vector space space space|RGBA-color domain domain|list "
              "space space "
              "space|space space space list|complex domain domain|??? none 3-color"},
    {"labels", "\"x\" \"y\" \"z\"|\"a|\"\\\"\" \"\" \"\""},
    {"line skip", "0|1|2|1000000|-1"},
    {"byte skip", "0|1|4|-1|-2|18446744073709551615"},
    {"data file", "samples|LIST|LIST 2|samples%d 0 1 1|samples%02d 1 3 1 2|./samples|missing|in|%s%n 0 1 1"},
    {"content", "a|\\n\\\\|"},
    {"min", "0|-5|nan"},
    {"max", "255|1e400"},
    {"old min", "0|1"},
    {"oldmax", "4095"},
    {"sample units", "HU"},
    {"measurement frame", "(1,0,0) (0,1,0) (0,0,1)|(1,0) (0,1)|(1"},
    {"number", "24"},
};

static const struct text_format nrrd = {": ", nrrd_fields, sizeof nrrd_fields / sizeof *nrrd_fields};

static const struct text_field meta_fields[] = {
    {"ObjectType", "Image|Tube"},
    {"NDims", "1|2|3|4|10|11|0"},
    {"DimSize", "4 3 2|12|6 2|4 3 1 2|0 3 2|4 3 18446744073709551615|24 1 1"},
    {"ElementType",
     "MET_UCHAR|MET_CHAR|MET_SHORT|MET_USHORT|MET_INT|MET_LONG|MET_ULONG_LONG|MET_FLOAT|MET_DOUBLE|"
     "MET_FLOAT_ARRAY|MET_STRING|MET_NONE"},
    {"ElementNumberOfChannels", "1|2|3|4|0|65537"},
    {"ElementSpacing", "1 1 1|0.5 0.5 2|0 1 1|-1 1 1|nan 1 1|1e300 1 1"},
    {"ElementSize", "1 1 1|0.5 0.5 2"},
    {"Offset", "0 0 0|1.5 -2 3|nan 0 0"},
    {"Origin", "0 0 0|1 2"},
    {"Position", "0 0 0|5 6 7"},
    {"TransformMatrix", "1 0 0 0 1 0 0 0 1|0 1 0 -1 0 0 0 0 1|1 0 0 1|0 0 0 0 0 0 0 0 0|nan 0 0 0 1 0 0 0 1"},
    {"Rotation", "1 0 0 0 1 0 0 0 1"},
    {"Orientation", "1 0 0 0 1 0 0 0 1"},
    {"CenterOfRotation", "0 0 0|1 2 3"},
    {"AnatomicalOrientation", "RAI|LPS|???|RAIX|RR"},
    {"DistanceUnits", "mm|um|cm|inch|?"},
    {"ElementToIntensityFunctionSlope", "1|0.5|0|-2|nan|1e300"},
    {"ElementToIntensityFunctionOffset", "0|-1024|nan|1e300"},
    {"ElementMin", "0|-1024"},
    {"ElementMax", "255"},
    {"HeaderSize", "0|-1|4|99999999999999999999|-2"},
    {"BinaryData", "True|False|1|0|Maybe"},
    {"BinaryDataByteOrderMSB", "True|False"},
    {"ElementByteOrderMSB", "True|False"},
    {"CompressedData", "True|False"},
    {"CompressedDataSize", "0|20|-1|18446744073709551615"},
    {"ElementDataFile", "LOCAL|samples|LIST|LIST 2|samples%d 0 1 1|in|missing|Local"},
    {"Comment", "a = b|"},
    {"Modality", "MET_MOD_CT"},
    {"ElementOrigin", "0 0 0"},
};

static const struct text_format meta = {" = ", meta_fields, sizeof meta_fields / sizeof *meta_fields};

/* A line, its end included. */
struct line {
    size_t at, length;
};

static struct line line_at(const struct mutation *mutation, size_t at, size_t end)
{
    const uint8_t *found = end > at ? memchr(mutation->bytes + at, '\n', end - at) : NULL;

    return (struct line){at, (found == NULL ? end : (size_t)(found - mutation->bytes) + 1) - at};
}

static struct line draw_line(struct mutation *mutation, size_t end)
{
    size_t count = 0, place;
    struct line line = {0, 0};

    for (size_t at = 0; at < end; at += line_at(mutation, at, end).length)
        count++;
    place = mutation_draw(mutation, count + (count == 0));
    for (size_t i = 0; i <= place; i++)
        line = line_at(mutation, line.at + line.length, end);
    return line;
}

static int print_field(struct mutation *mutation, const struct text_format *format, char text[TEXT_MOST])
{
    const struct text_field *field = &format->fields[mutation_draw(mutation, format->count)];
    size_t length;
    const char *value = mutation_word(mutation, field->values, &length);

    return snprintf(text, TEXT_MOST, "%s%s%.*s\n", field->name, format->between, (int)length, value);
}

/* The value of the field that the line has, or another field. */
static void change_value(struct mutation *mutation, const struct text_format *format, const struct line *line)
{
    char text[TEXT_MOST];
    int length = print_field(mutation, format, text);

    for (size_t i = 0; i < format->count; i++) {
        const struct text_field *field = &format->fields[i];
        size_t size = strlen(field->name), word;
        if (line->length > size && memcmp(mutation->bytes + line->at, field->name, size) == 0) {
            const char *value = mutation_word(mutation, field->values, &word);
            length =
                snprintf(text, sizeof text, "%s%s%.*s\n", field->name, format->between, (int)word, value);
        }
    }
    mutation_replace(mutation, line->at, line->length, text, (size_t)length);
}

static void repeat(struct mutation *mutation, const struct line *line)
{
    uint8_t copy[TEXT_MOST];
    size_t length = line->length < sizeof copy ? line->length : sizeof copy;

    memcpy(copy, mutation->bytes + line->at, length);
    mutation_replace(mutation, line->at, 0, copy, length);
}

static void mutate_line(struct mutation *mutation, const struct text_format *format, size_t end)
{
    struct line line = draw_line(mutation, end);
    char text[TEXT_MOST];

    switch (mutation_draw(mutation, 8)) {
    case 0:
    case 1:
        change_value(mutation, format, &line);
        break;
    case 2:
        mutation_replace(mutation, line.at + line.length, 0, text,
                         (size_t)print_field(mutation, format, text));
        break;
    case 3:
        mutation_replace(mutation, line.at, line.length, NULL, 0);
        break;
    case 4:
        repeat(mutation, &line);
        break;
    case 5:
        mutation_scramble(mutation, line.at, line.length);
        break;
    default:
        mutation_renumber(mutation, line.at, line.length);
    }
}

bool mutate_nrrd(struct mutation *mutation)
{
    size_t end = 0;

    if (mutation->size < 8 || memcmp(mutation->bytes, "NRRD", 4) != 0)
        return false;
    while (end < mutation->size && mutation->bytes[end] != '\n')
        end += line_at(mutation, end, mutation->size).length;
    mutate_line(mutation, &nrrd, end);
    return true;
}

bool mutate_meta(struct mutation *mutation)
{
    static const char last[] = "ElementDataFile";
    size_t end = 0;
    bool ends = false;

    if (mutation->size < 8 ||
        (memcmp(mutation->bytes, "ObjectTy", 8) != 0 && memcmp(mutation->bytes, "NDims", 5) != 0))
        return false;
    while (end < mutation->size && !ends) {
        struct line line = line_at(mutation, end, mutation->size);
        ends = line.length > sizeof last && memcmp(mutation->bytes + end, last, sizeof last - 1) == 0;
        end += line.length;
    }
    mutate_line(mutation, &meta, end);
    return true;
}

void mutate_taps(struct mutation *mutation)
{
    static const char taps[] =
        "0 0 0 1\n|1 0 0 -0.5\n|-1 0 0 nan\n|0 1 0 1e400\n|0 0 1 0x1p3\n|# text\n|1048576 0 0 1\n|"
        "1048577 0 0 1\n|1 2 3\n|\t1\t1\t1\t1\r\n|0 0 0 0\n|1 2 3 4 5\n|3 -2 1 .25 # a tap\n|1e0 0 0 1\n";
    struct line line = draw_line(mutation, mutation->size);
    const char *tap;
    size_t length;

    switch (mutation_draw(mutation, 6)) {
    case 0:
        tap = mutation_word(mutation, taps, &length);
        mutation_replace(mutation, line.at + line.length, 0, tap, length);
        break;
    case 1:
        mutation_replace(mutation, line.at, line.length, NULL, 0);
        break;
    case 2:
        repeat(mutation, &line);
        break;
    case 3:
        mutation_scramble(mutation, line.at, line.length);
        break;
    default:
        mutation_renumber(mutation, line.at, line.length);
    }
}
