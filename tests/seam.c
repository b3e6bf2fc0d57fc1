/* Computing through the seam alone, in one of the ways: fields, planes cut up, and kernels chosen for them.
 */
#include "seam.h"

#include "model/sample.h"
#include "assertions.h"
#include "fixture.h"

#include <string.h>

size_t way_count;

/* The number of a trial is a hash already; ways shall not have their turns together. */
bool way_has_turn(const struct way *way, uint64_t number)
{
    return (number + 7 * (uint64_t)(way - ways)) % way->turns == 0;
}

bool cut_next(enum cut cut, size_t planes, struct range *range)
{
    size_t size = cut == CUT_NONE ? planes : cut == CUT_ONE ? 1 : range->count % 3 + 2;

    range->first += range->count;
    range->count = planes - range->first < size ? planes - range->first : size;
    return range->count > 0;
}

struct encoding plain_encoding(enum work_type work, unsigned channels)
{
    return (struct encoding){.type = work_sample(work), .channels = channels, .gamma = 1.0};
}

unsigned char *encoded_copy(const struct encoding *encoding, const unsigned char *samples, size_t count)
{
    size_t size = sample_size(encoding->type);
    unsigned char *copy = fixture_memory(count, size);

    memcpy(copy, samples, count * size);
    if (encoding->swapped)
        sample_swap(encoding->type, copy, count);
    return copy;
}

/* ---- fields ---- */

/* What earlier uploads have left on the device, and nobody has asked for, is none of this seam's. */
static void forget_outcomes(const struct way *way)
{
    struct outcomes others = {0};
    struct fault fault;

    ck_assert_msg(way->backend->tell_outcomes(way->device, &others, &fault), "%s", fault.text);
}

void seam_open(struct seam *seam)
{
    const struct range all = {0, seam->shape.planes};
    struct fault fault;

    forget_outcomes(seam->way);
    for (size_t i = 0; i < LENGTH(seam->fields); i++)
        ck_assert_msg(seam->way->backend->field_create(seam->way->device, &seam->fields[i], &seam->shape,
                                                       seam->work, all, &fault),
                      "%s", fault.text);
}

void seam_close(struct seam *seam)
{
    for (size_t i = 0; i < LENGTH(seam->fields); i++)
        seam->way->backend->field_destroy(seam->way->device, seam->fields[i]);
}

static size_t plane_bytes(const struct seam *seam, const struct encoding *encoding)
{
    return seam->shape.nx * seam->shape.rows * encoding->channels * sample_size(encoding->type);
}

static struct staging *take_staging(const struct way *way, size_t bytes)
{
    struct fault fault;
    struct staging *staging = ways_take_staging(way, bytes, &fault);

    ck_assert_msg(staging != NULL, "%s", fault.text);
    return staging;
}

static void await_staging(const struct way *way, struct staging *staging)
{
    struct fault fault;
    double seconds = 0.0;

    ck_assert_msg(way->backend->staging_wait(way->device, staging, &seconds, &fault), "%s", fault.text);
    ck_assert_double_ge(seconds, 0.0);
}

void seam_send(const struct way *way, struct field *field, const struct encoding *encoding,
               const unsigned char *samples, const unsigned char *mask, size_t plane_bytes,
               struct range planes)
{
    size_t pixels = planes.count * plane_bytes / encoding->channels / sample_size(encoding->type);
    size_t place = encoding_mask_place(encoding, pixels);
    size_t bytes = mask != NULL ? place + pixels : planes.count * plane_bytes;
    struct staging *staging = take_staging(way, bytes);
    struct fault fault;

    memcpy(staging->samples, samples, planes.count * plane_bytes);
    if (mask != NULL)
        memcpy((unsigned char *)staging->samples + place, mask, pixels);
    ck_assert_msg(way->backend->upload(way->device, field, encoding, staging, planes, planes, &fault), "%s",
                  fault.text);
    await_staging(way, staging);
    memset(staging->samples, 0xa5, bytes);
    ways_leave_staging(way, staging);
}

void seam_fetch(const struct way *way, const struct field *field, const struct encoding *encoding,
                unsigned char *samples, size_t plane_bytes, struct range planes)
{
    struct staging *staging = take_staging(way, planes.count * plane_bytes);
    struct fault fault;

    memset(staging->samples, 0xa5, planes.count * plane_bytes);
    ck_assert_msg(way->backend->download(way->device, field, encoding, staging, planes, &fault), "%s",
                  fault.text);
    await_staging(way, staging);
    memcpy(samples, staging->samples, planes.count * plane_bytes);
    ways_leave_staging(way, staging);
}

void seam_upload(struct seam *seam, struct field *field, const struct encoding *encoding,
                 const unsigned char *samples)
{
    size_t plane = plane_bytes(seam, encoding), pixels = seam->shape.nx * seam->shape.rows;
    struct range planes = {0, 0};

    while (cut_next(seam->cut, seam->shape.planes, &planes))
        seam_send(seam->way, field, encoding, samples + planes.first * plane,
                  encoding->masked ? seam->mask + planes.first * pixels : NULL, plane, planes);
}

struct outcomes seam_download(struct seam *seam, const struct encoding *encoding, unsigned char *samples)
{
    size_t plane = plane_bytes(seam, encoding);
    struct range planes = {0, 0};
    struct fault fault;
    struct outcomes outcomes = {0};

    while (cut_next(seam->cut, seam->shape.planes, &planes))
        seam_fetch(seam->way, seam->fields[0], encoding, samples + planes.first * plane, plane, planes);
    ck_assert_msg(seam->way->backend->tell_outcomes(seam->way->device, &outcomes, &fault), "%s", fault.text);
    return outcomes;
}

/* ---- kernels ---- */

/* 0 leaves it to the rung. A 32x32 tile has more cells with its halo than a block has threads. */
static const unsigned tiles[][2] = {{0, 0}, {32, 32}, {5, 3}, {1, 1}, {33, 7}, {8, 25}, {64, 2}};
static const unsigned coarsenings[] = {0, 1, 2, 3, 8, 32};

static bool try_wish(const struct seam *seam, const struct op *op, const struct rung_wish *wish,
                     struct form *form)
{
    const struct way *way = seam->way;
    struct fault fault;

    if (way->backend->settle(way->device, op, &seam->shape, wish, form, &fault))
        return true;
    ck_assert_msg(fault.status == STATUS_USAGE && wish->rung != NULL, "%s: %s", way->name, fault.text);
    return false;
}

/* A form that the rung can take; it may still be too large for the device. */
static struct rung_wish vary_form(const struct way *way, const struct form *form, uint64_t number)
{
    struct rung_wish wish = {.rung = way->rung};

    if (form->tiles) {
        const unsigned *tile = tiles[number / 2 % LENGTH(tiles)];
        wish.tile_x = tile[0];
        wish.tile_y = tile[1];
    }
    if (form->coarsens)
        wish.coarsen = coarsenings[number / 3 % LENGTH(coarsenings)];
    if (number % 4 == 1)
        wish.steps = 1 + (unsigned)(number / 4 % form->steps);
    return wish;
}

bool seam_settle(const struct seam *seam, const struct op *op, uint64_t number, struct form *form)
{
    const struct rung_wish plain = {.rung = seam->way->rung};
    struct rung_wish varied;
    struct form other;

    if (!try_wish(seam, op, &plain, form))
        return false;
    if (seam->way->rung == NULL)
        return true;
    varied = vary_form(seam->way, form, number);
    if (try_wish(seam, op, &varied, &other))
        *form = other;
    return true;
}

struct routine *seam_prepare(const struct way *way, const struct form *form)
{
    struct routine *routine = NULL;
    struct fault fault;

    ck_assert_msg(way->backend->prepare(way->device, form, &routine, &fault), "%s: %s", way->name,
                  fault.text);
    return routine;
}

static void swap_fields(struct field **a, struct field **b)
{
    struct field *swapped = *a;

    *a = *b;
    *b = swapped;
}

static void advance(struct seam *seam, struct routine *routine, unsigned steps, const struct field *from,
                    const struct field *kept)
{
    struct range planes = {0, 0};
    struct fault fault;

    while (cut_next(seam->cut, seam->shape.planes, &planes))
        ck_assert_msg(seam->way->backend->advance(seam->way->device, routine, steps, from, kept,
                                                  seam->fields[1], planes, &fault),
                      "%s", fault.text);
}

/* One pass. The step's input moves to the third field, and what a chain has made to the fourth when another
   one begins; the others take turns. */
static void advance_all(struct seam *seam, const struct step *step, struct routine *const *routines,
                        unsigned steps)
{
    struct field **state = &seam->fields[0], **input = &seam->fields[2], **chain = &seam->fields[3];
    bool single = true;

    swap_fields(state, input);
    for (size_t i = 0; i < step->count; i++) {
        const struct op *op = &step->ops[i];
        if (op->begins && i > 0) {
            swap_fields(state, chain);
            single = false;
        }
        advance(seam, routines[i], steps, op->begins ? *input : *state,
                op_reads_kept(op) ? single ? *input : *chain : NULL);
        swap_fields(state, &seam->fields[1]);
    }
}

/* The operations of a step, ready to run. */
struct kit {
    struct form forms[LOWER_OPS];
    struct routine *routines[LOWER_OPS];
};

/* As many steps as one pass takes, or some number of them. */
static unsigned steps_together(const struct step *step, const struct kit *kit, uint64_t left, uint64_t number)
{
    unsigned most = step->count == 1 ? kit->forms[0].steps : 1;
    unsigned together = number % 2 == 0 ? most : 1 + (unsigned)((number / 2 + left) % most);

    return left < together ? (unsigned)left : together;
}

/* A routine for each op of the step; how many the way's own rung serves. The backend chooses for the others.
 */
static size_t prepare_all(const struct seam *seam, const struct step *step, uint64_t number, struct kit *kit,
                          struct form *form)
{
    const struct rung_wish free_wish = {.rung = NULL};
    size_t served = 0;

    for (size_t i = 0; i < step->count; i++) {
        if (seam_settle(seam, &step->ops[i], number + i, &kit->forms[i])) {
            *form = kit->forms[i];
            served++;
        } else {
            ck_assert(try_wish(seam, &step->ops[i], &free_wish, &kit->forms[i]));
        }
        kit->routines[i] = seam_prepare(seam->way, &kit->forms[i]);
    }
    return served;
}

/* A step with its passes joined, if the way's rung serves that and it is its turn; else as it was. */
static struct step *join(const struct seam *seam, struct step *step, uint64_t number)
{
    const struct way *way = seam->way;
    const struct rung_wish wish = {.rung = way->rung};
    struct fault refusal;
    struct form form;
    size_t count;

    for (size_t i = 0; number % 4 != 3 && i < step->count; i++) {
        for (size_t most = LOWER_OPS; (count = lower_join(step, i, most)) > 0; most = count - 1) {
            if (way->backend->settle(way->device, &step->ops[i], &seam->shape, &wish, &form, &refusal))
                break;
            lower_part(step, i);
        }
    }
    return step;
}

bool seam_run(struct seam *seam, const struct step *given, uint64_t steps, uint64_t number, struct form *form)
{
    struct step own = *given;
    const struct step *step = join(seam, &own, number);
    struct kit kit;
    size_t served = prepare_all(seam, step, number, &kit, form);
    uint64_t left = steps;
    double unused = 0.0;
    struct fault fault;

    while (left > 0 && served > 0) {
        unsigned together = steps_together(step, &kit, left, number);
        advance_all(seam, step, kit.routines, together);
        left -= together;
    }
    ck_assert_msg(seam->way->backend->sync(seam->way->device, &unused, &fault), "%s", fault.text);
    for (size_t i = 0; i < step->count; i++)
        seam->way->backend->release(seam->way->device, kit.routines[i]);
    return served > 0;
}
