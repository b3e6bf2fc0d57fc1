/* Fringes: the ends of the bytes that a rank writes into a file, where blocks begin that are others' as well.
 */
#include "fringe.h"

#include "base/mem.h"

#include <string.h>

enum { LOW, HIGH, ENDS };

/* As it goes to rank 0: places and sizes, and the bytes behind them. */
struct fringe_ends {
    uint64_t at[ENDS], size[ENDS];
    unsigned char bytes[];
};

static size_t bytes_of(const struct fringe_ends *ends)
{
    return sizeof *ends + (size_t)(ends->size[LOW] + ends->size[HIGH]);
}

/* Where one block at least is the rank's alone, what is before it and after it; else all bytes are one end.
 */
static void find_ends(struct fringe *fringe, uint64_t begin, uint64_t end, struct fringe_ends *ends)
{
    uint64_t first = (begin + FRINGE_BLOCK - 1) / FRINGE_BLOCK * FRINGE_BLOCK;
    uint64_t last = end / FRINGE_BLOCK * FRINGE_BLOCK;

    fringe->begin = first < last ? first : end;
    fringe->end = first < last ? last : end;
    *ends =
        (struct fringe_ends){.at = {begin, fringe->end}, .size = {fringe->begin - begin, end - fringe->end}};
}

bool fringe_open(struct fringe *fringe, struct file_out *file, uint64_t begin, uint64_t end,
                 const struct peers *peers, struct fault *fault)
{
    struct fringe_ends ends;

    *fringe = (struct fringe){.file = file, .direct = peers_lead(peers), .begin = begin, .end = end};
    if (fringe->direct)
        return true;
    find_ends(fringe, begin, end, &ends);
    fringe->ends = mem_alloc(1, bytes_of(&ends), "the ends of a part", fault);
    if (fringe->ends == NULL)
        return false;
    memcpy(fringe->ends, &ends, sizeof ends);
    return true;
}

size_t fringe_most(uint64_t bytes)
{
    return (size_t)(bytes < ENDS * FRINGE_BLOCK ? bytes : ENDS * FRINGE_BLOCK);
}

/* What of the bytes lies in an end. */
static void keep(struct fringe_ends *ends, int which, uint64_t offset, const unsigned char *bytes,
                 size_t size)
{
    uint64_t from = ends->at[which] > offset ? ends->at[which] : offset;
    uint64_t to = ends->at[which] + ends->size[which];

    to = to < offset + size ? to : offset + size;
    if (from < to)
        memcpy(ends->bytes + (which == HIGH ? ends->size[LOW] : 0) + (from - ends->at[which]),
               bytes + (from - offset), (size_t)(to - from));
}

bool fringe_write(const struct fringe *fringe, uint64_t offset, const void *bytes, size_t size,
                  struct fault *fault)
{
    uint64_t from = offset > fringe->begin ? offset : fringe->begin;
    uint64_t to = offset + size < fringe->end ? offset + size : fringe->end;

    if (!fringe->direct) {
        keep(fringe->ends, LOW, offset, bytes, size);
        keep(fringe->ends, HIGH, offset, bytes, size);
    }
    return from >= to || file_out_write_at(fringe->file, from, (const unsigned char *)bytes + (from - offset),
                                           (size_t)(to - from), fault);
}

/* Rank 0 brings nothing to itself. */
static bool write_ends(void *data, const void *bytes, size_t size, struct fault *fault)
{
    const struct fringe *fringe = data;
    const struct fringe_ends *ends = bytes;

    return size == 0 ||
           (file_out_write_at(fringe->file, ends->at[LOW], ends->bytes, (size_t)ends->size[LOW], fault) &&
            file_out_write_at(fringe->file, ends->at[HIGH], ends->bytes + ends->size[LOW],
                              (size_t)ends->size[HIGH], fault));
}

bool fringe_gather(const struct fringe *fringe, struct peers *peers, struct fault *fault)
{
    size_t size = fringe->direct ? 0 : bytes_of(fringe->ends);

    return peers_gather(peers, fringe->ends, size, write_ends, (void *)fringe, fault);
}

void fringe_close(struct fringe *fringe)
{
    mem_free(fringe->ends);
    fringe->ends = NULL;
}
