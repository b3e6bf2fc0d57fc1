/* Ancillary chunks of a PNG. Those that still hold for a filtered picture are kept byte for byte, if they are
   sound: at their place in the file, of their length, and once only if they may not repeat. The types of all
   others are listed as dropped. */
#include "png_chunks.h"

#include "base/mem.h"
#include "base/number.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Limits on what a hostile file can make us hold; the longest keyword is that of the standard. */
enum { CHUNKS_MOST = 1000, CHUNKS_BYTES_MOST = 64 << 20, KEYWORD_MOST = 79 };

/* The gammas that libpng accepts, in units of 1/100000, and the last rendering intent. */
enum { GAMMA_LEAST = 16, GAMMA_MOST = 625000000, INTENT_LAST = 3 };

/* The chunk before each frame of an animation; the frames themselves come in fdAT. */
static const char frame_head[] = "fcTL";

/* Chunks of other types are dropped: they describe samples that are no more (bKGD, hIST, sBIT, sPLT, tIME,
   frames of an animation), or nobody here knows what they describe. */
struct rule {
    char type[5];
    enum png_chunks_section last_section;
    bool repeats;
    bool has_keyword; /* begins with a keyword and a zero */
    size_t size;      /* 0: any */
};

/* Places and lengths are those of the standard. Colours must be told before the palette, the distances of
   pixels before the image; text may stand anywhere. */
static const struct rule rules[] = {
    {"gAMA", PNG_CHUNKS_BEFORE_PALETTE, false, false, 4},
    {"cHRM", PNG_CHUNKS_BEFORE_PALETTE, false, false, 32},
    {"sRGB", PNG_CHUNKS_BEFORE_PALETTE, false, false, 1},
    {"iCCP", PNG_CHUNKS_BEFORE_PALETTE, false, true, 0},
    {"cICP", PNG_CHUNKS_BEFORE_PALETTE, false, false, 4},
    {"mDCV", PNG_CHUNKS_BEFORE_PALETTE, false, false, 24},
    {"cLLI", PNG_CHUNKS_BEFORE_PALETTE, false, false, 8},
    {"pHYs", PNG_CHUNKS_BEFORE_IMAGE, false, false, 9},
    {"eXIf", PNG_CHUNKS_AFTER_IMAGE, false, false, 0},
    {"tEXt", PNG_CHUNKS_AFTER_IMAGE, true, true, 0},
    {"zTXt", PNG_CHUNKS_AFTER_IMAGE, true, true, 0},
    {"iTXt", PNG_CHUNKS_AFTER_IMAGE, true, true, 0},
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

/* Whether libpng would take the value; only these two types have values that it refuses. */
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
static const char *damage_of(const struct png_chunks *chunks, const struct rule *rule,
                             enum png_chunks_section section, const unsigned char *bytes, size_t size)
{
    if (section > rule->last_section)
        return "out of place";
    if (!rule->repeats && png_chunks_find(chunks, rule->type) != NULL)
        return "duplicate";
    if (rule->size != 0 && rule->size != size)
        return "wrong length";
    if (rule->has_keyword && !begins_with_keyword(bytes, size))
        return "no keyword";
    if (!in_range(rule->type, bytes))
        return "out of range";
    return NULL;
}

static void append(struct png_chunks *chunks, struct png_chunk *chunk)
{
    if (chunks->last == NULL)
        chunks->first = chunk;
    else
        chunks->last->next = chunk;
    chunks->last = chunk;
    chunks->count++;
    chunks->bytes += chunk->size;
}

/* A picture whose colours were described by such a chunk must not pass for one that has no description. */
static bool tells_colours(const char *type)
{
    return strcmp(type, "gAMA") == 0 || strcmp(type, "sRGB") == 0 || strcmp(type, "iCCP") == 0 ||
           strcmp(type, "cICP") == 0;
}

static void mark_damaged(struct png_chunks *chunks, const char *type)
{
    if (chunks->damaged[0] == '\0')
        memcpy(chunks->damaged, type, sizeof chunks->damaged);
}

static void drop(struct png_chunks *chunks, const char *type, const char *damage)
{
    diag_detail("%s: %s: dropped: %s", chunks->file_name, type,
                damage != NULL ? damage : "does not describe a filtered picture");
    for (size_t i = 0; i < chunks->loss_count; i++)
        if (strcmp(chunks->losses[i].type, type) == 0)
            return;
    if (chunks->loss_count == PNG_LOSSES_MOST)
        return;
    struct png_loss *loss = &chunks->losses[chunks->loss_count++];
    memcpy(loss->type, type, sizeof loss->type);
    loss->damage = damage;
}

void png_chunks_drop(struct png_chunks *chunks, const char *type, const char *damage)
{
    drop(chunks, type, damage);
    mark_damaged(chunks, type);
}

bool png_chunks_offer(struct png_chunks *chunks, const char *type, enum png_chunks_section section,
                      const void *bytes, size_t size, struct fault *fault)
{
    const struct rule *rule = find_rule(type);
    const char *damage = rule == NULL ? NULL : damage_of(chunks, rule, section, bytes, size);
    /* A chunk that is not kept is no error: it is remembered, so that the notes can say what was left out. */
    if (rule == NULL || damage != NULL) {
        drop(chunks, type, damage);
        /* The image itself may be the first frame: then a head of a frame stands before it. */
        if (strcmp(type, frame_head) == 0 && section == PNG_CHUNKS_AFTER_IMAGE)
            chunks->frames_lost++;
        if (damage != NULL && tells_colours(type))
            mark_damaged(chunks, type);
        return true;
    }
    if (chunks->count == CHUNKS_MOST)
        return fault_set_for(fault, STATUS_LIMIT, chunks->file_name, "%s: more than %d chunks of metadata",
                             type, CHUNKS_MOST);
    if (size > CHUNKS_BYTES_MOST - chunks->bytes)
        return fault_set_for(fault, STATUS_LIMIT, chunks->file_name, "%s: more than %d bytes of metadata",
                             type, CHUNKS_BYTES_MOST);
    struct png_chunk *chunk = mem_alloc(1, sizeof *chunk + size, "metadata", fault);
    if (chunk == NULL)
        return fault_prefix(fault, chunks->file_name);
    chunk->next = NULL;
    chunk->section = section;
    memcpy(chunk->type, rule->type, sizeof chunk->type);
    chunk->size = size;
    if (size != 0)
        memcpy(chunk->bytes, bytes, size);
    append(chunks, chunk);
    return true;
}

const struct png_chunk *png_chunks_find(const struct png_chunks *chunks, const char *type)
{
    for (const struct png_chunk *chunk = chunks->first; chunk != NULL; chunk = chunk->next)
        if (strcmp(chunk->type, type) == 0)
            return chunk;
    return NULL;
}

/* The count of frames stands for the chunks of an animation, which are not listed once more by their
   types. */
static bool tells_frames(const struct png_chunks *chunks, const char *type)
{
    return chunks->frames_lost > 0 &&
           (strcmp(type, "acTL") == 0 || strcmp(type, frame_head) == 0 || strcmp(type, "fdAT") == 0);
}

void png_chunks_list_dropped(const struct png_chunks *chunks, char *text, size_t size)
{
    text[0] = '\0';
    if (chunks->frames_lost > 0)
        diag_append(text, size, "%zu frame%s of an animation", chunks->frames_lost,
                    number_plural(chunks->frames_lost));
    for (size_t i = 0; i < chunks->loss_count; i++) {
        const struct png_loss *loss = &chunks->losses[i];
        if (loss->damage != NULL)
            diag_append(text, size, "%s%s (%s)", diag_comma(text), loss->type, loss->damage);
        else if (!tells_frames(chunks, loss->type))
            diag_append(text, size, "%s%s", diag_comma(text), loss->type);
    }
    if (chunks->loss_count == PNG_LOSSES_MOST)
        diag_append(text, size, "%sperhaps more", diag_comma(text));
}

void png_chunks_release(struct png_chunks *chunks)
{
    while (chunks->first != NULL) {
        struct png_chunk *next = chunks->first->next;
        mem_free(chunks->first);
        chunks->first = next;
    }
}
