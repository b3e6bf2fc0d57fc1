/* Notes of a PNG: the ancillary chunks that still hold for a filtered copy of it, kept byte for byte. */
#include "png_notes.h"

#include "base/mem.h"
#include "base/number.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { NOTES_MOST = 1000, NOTES_BYTES_MOST = 64 << 20, KEYWORD_MOST = 79 };

/* What libpng takes for a gamma, in units of 1/100000, and the last rendering intent. */
enum { GAMMA_LEAST = 16, GAMMA_MOST = 625000000, INTENT_LAST = 3 };

/* Of an animation; the frames themselves come in fdAT. */
static const char frame_head[] = "fcTL";

/* What is not listed is dropped: it describes samples that are no more (bKGD, hIST, sBIT, sPLT, tIME, frames
   of an animation) or nobody here knows what it describes. */
struct rule {
    char type[5];
    enum png_notes_section last_section;
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

/* NULL where a chunk that has a rule is as the rule says. */
static const char *damage_of(const struct png_notes *notes, const struct rule *rule,
                             enum png_notes_section section, const unsigned char *bytes, size_t size)
{
    if (section > rule->last_section)
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

static void mark_damaged(struct png_notes *notes, const char *type)
{
    if (notes->damaged[0] == '\0')
        memcpy(notes->damaged, type, sizeof notes->damaged);
}

static void remember_loss(struct png_notes *notes, const char *type, const char *damage)
{
    for (size_t i = 0; i < notes->loss_count; i++)
        if (strcmp(notes->losses[i].type, type) == 0)
            return;
    if (notes->loss_count == PNG_LOSSES_MOST)
        return;
    struct png_loss *loss = &notes->losses[notes->loss_count++];
    memcpy(loss->type, type, sizeof loss->type);
    loss->damage = damage;
}

static void drop(struct png_notes *notes, const char *type, const char *damage)
{
    diag_detail("%s: %s: dropped: %s", notes->file_name, type,
                damage != NULL ? damage : "does not describe a filtered picture");
    remember_loss(notes, type, damage);
}

void png_notes_lose(struct png_notes *notes, const char *type, const char *damage)
{
    drop(notes, type, damage);
    mark_damaged(notes, type);
}

/* The image itself may be the first frame: then a head of a frame stands before it. */
static void count_frame(struct png_notes *notes, const char *type, enum png_notes_section section)
{
    if (strcmp(type, frame_head) == 0 && section == PNG_NOTES_AFTER_IMAGE)
        notes->frames_lost++;
}

bool png_notes_offer(struct png_notes *notes, const char *type, enum png_notes_section section,
                     const void *bytes, size_t size, struct fault *fault)
{
    const struct rule *rule = find_rule(type);
    const char *damage = rule == NULL ? NULL : damage_of(notes, rule, section, bytes, size);
    if (rule == NULL || damage != NULL) {
        drop(notes, type, damage);
        count_frame(notes, type, section);
        if (damage != NULL && tells_colours(type))
            mark_damaged(notes, type);
        return true;
    }
    if (notes->count == NOTES_MOST)
        return fault_raise_about(fault, STATUS_LIMIT, notes->file_name, "%s: more than %d chunks of metadata",
                                 type, NOTES_MOST);
    if (size > NOTES_BYTES_MOST - notes->bytes)
        return fault_raise_about(fault, STATUS_LIMIT, notes->file_name, "%s: more than %d bytes of metadata",
                                 type, NOTES_BYTES_MOST);
    struct png_note *note = mem_alloc(1, sizeof *note + size, "metadata", fault);
    if (note == NULL)
        return fault_prefix(fault, notes->file_name);
    note->next = NULL;
    note->section = section;
    memcpy(note->type, rule->type, sizeof note->type);
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

static bool tells_frames(const struct png_notes *notes, const char *type)
{
    return notes->frames_lost > 0 &&
           (strcmp(type, "acTL") == 0 || strcmp(type, frame_head) == 0 || strcmp(type, "fdAT") == 0);
}

/* Put another item on a list in words; what does not fit is cut off. */
static void list(char *text, size_t size, const char *format, ...) DIAG_PRINTF(3, 4);

static void list(char *text, size_t size, const char *format, ...)
{
    size_t used = strlen(text);
    va_list arguments;
    if (used > 0 && used < size)
        used += (size_t)snprintf(text + used, size - used, ", ");
    if (used >= size)
        return;
    va_start(arguments, format);
    vsnprintf(text + used, size - used, format, arguments);
    va_end(arguments);
}

void png_notes_tell_losses(const struct png_notes *notes, char *text, size_t size)
{
    text[0] = '\0';
    if (notes->frames_lost > 0)
        list(text, size, "%zu frame%s of an animation", notes->frames_lost,
             number_plural(notes->frames_lost));
    for (size_t i = 0; i < notes->loss_count; i++) {
        const struct png_loss *loss = &notes->losses[i];
        if (loss->damage != NULL)
            list(text, size, "%s (%s)", loss->type, loss->damage);
        else if (!tells_frames(notes, loss->type))
            list(text, size, "%s", loss->type);
    }
    if (notes->loss_count == PNG_LOSSES_MOST)
        list(text, size, "perhaps more");
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
