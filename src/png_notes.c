/* Notes of a PNG: the ancillary chunks that still hold for a filtered copy of it, kept byte for byte. */
#include "png_notes.h"

#include "mem.h"

#include <stdint.h>
#include <string.h>

enum { NOTES_MOST = 1000, NOTES_BYTES_MOST = 64 << 20, KEYWORD_MOST = 79 };

/* What libpng takes for a gamma, in units of 1/100000, and the last rendering intent. */
enum { GAMMA_LEAST = 16, GAMMA_MOST = 625000000, INTENT_LAST = 3 };

/* What is not listed is dropped: it describes samples that are no more (bKGD, hIST, sBIT, sPLT, tIME, frames
   of an animation) or nobody here knows what it describes. */
struct rule {
    char type[5];
    enum png_notes_place last_place;
    bool repeats;
    bool has_keyword; /* begins with a keyword and a zero */
    size_t size;      /* 0: any */
};

static const struct rule rules[] = {
    {"gAMA", PNG_NOTES_BEFORE_PALETTE, false, false, 4}, {"cHRM", PNG_NOTES_BEFORE_PALETTE, false, false, 32},
    {"sRGB", PNG_NOTES_BEFORE_PALETTE, false, false, 1}, {"iCCP", PNG_NOTES_BEFORE_PALETTE, false, true, 0},
    {"cICP", PNG_NOTES_BEFORE_PALETTE, false, false, 4}, {"mDCV", PNG_NOTES_BEFORE_PALETTE, false, false, 24},
    {"cLLI", PNG_NOTES_BEFORE_PALETTE, false, false, 8}, {"pHYs", PNG_NOTES_BEFORE_IMAGE, false, false, 9},
    {"eXIf", PNG_NOTES_AFTER_IMAGE, false, false, 0},    {"tEXt", PNG_NOTES_AFTER_IMAGE, true, true, 0},
    {"zTXt", PNG_NOTES_AFTER_IMAGE, true, true, 0},      {"iTXt", PNG_NOTES_AFTER_IMAGE, true, true, 0},
};

static const struct rule *find_rule(const char *type)
{
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        if (strcmp(rules[i].type, type) == 0)
            return &rules[i];
    return NULL;
}

static bool begins_with_keyword(const unsigned char *bytes, size_t size)
{
    if (size == 0)
        return false;
    const unsigned char *zero = memchr(bytes, 0, size < KEYWORD_MOST + 1 ? size : KEYWORD_MOST + 1);
    return zero != NULL && zero != bytes;
}

static bool in_range(const char *type, const unsigned char *bytes)
{
    if (strcmp(type, "sRGB") == 0)
        return bytes[0] <= INTENT_LAST;
    if (strcmp(type, "gAMA") != 0)
        return true;
    uint32_t gamma = (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
    return gamma >= GAMMA_LEAST && gamma <= GAMMA_MOST;
}

static const char *why_not(const struct png_notes *notes, const struct rule *rule, enum png_notes_place place,
                           const unsigned char *bytes, size_t size)
{
    if (rule == NULL)
        return "does not describe a filtered picture";
    if (place > rule->last_place)
        return "out of place";
    if (!rule->repeats && png_notes_find(notes, rule->type) != NULL)
        return "duplicate";
    if (rule->size != 0 && rule->size != size)
        return "wrong length";
    if (rule->has_keyword && !begins_with_keyword(bytes, size))
        return "no keyword";
    if (!in_range(rule->type, bytes))
        return "out of range";
    return NULL;
}

static void append(struct png_notes *notes, struct png_note *note)
{
    if (notes->last == NULL)
        notes->first = note;
    else
        notes->last->next = note;
    notes->last = note;
    notes->count++;
    notes->bytes += note->size;
}

static bool tells_colours(const char *type)
{
    return strcmp(type, "gAMA") == 0 || strcmp(type, "sRGB") == 0 || strcmp(type, "iCCP") == 0 ||
           strcmp(type, "cICP") == 0;
}

void png_notes_drop(struct png_notes *notes, const char *type, const char *reason)
{
    diag_detail("%s: %s: dropped: %s", notes->file_name, type, reason);
    if (tells_colours(type) && notes->damaged[0] == '\0')
        memcpy(notes->damaged, type, sizeof notes->damaged);
}

bool png_notes_offer(struct png_notes *notes, const char *type, enum png_notes_place place, const void *bytes,
                     size_t size, struct fault *fault)
{
    const char *reason = why_not(notes, find_rule(type), place, bytes, size);
    if (reason != NULL) {
        png_notes_drop(notes, type, reason);
        return true;
    }
    if (notes->count == NOTES_MOST)
        return fault_raise(fault, STATUS_LIMIT, "%s: %s: more than %d chunks of metadata", notes->file_name,
                           type, NOTES_MOST);
    if (size > NOTES_BYTES_MOST - notes->bytes)
        return fault_raise(fault, STATUS_LIMIT, "%s: %s: more than %d bytes of metadata", notes->file_name,
                           type, NOTES_BYTES_MOST);
    struct png_note *note = mem_alloc(1, sizeof *note + size, "metadata", fault);
    if (note == NULL)
        return fault_prefix(fault, notes->file_name);
    note->next = NULL;
    note->place = place;
    memcpy(note->type, find_rule(type)->type, sizeof note->type);
    note->size = size;
    if (size != 0)
        memcpy(note->bytes, bytes, size);
    append(notes, note);
    return true;
}

const struct png_note *png_notes_find(const struct png_notes *notes, const char *type)
{
    for (const struct png_note *note = notes->first; note != NULL; note = note->next)
        if (strcmp(note->type, type) == 0)
            return note;
    return NULL;
}

void png_notes_release(struct png_notes *notes)
{
    while (notes->first != NULL) {
        struct png_note *next = notes->first->next;
        mem_free(notes->first);
        notes->first = next;
    }
    notes->last = NULL;
    notes->count = 0;
    notes->bytes = 0;
}
