/* Stencils: taps in raster order of their offsets. */
#include "stencil.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

bool stencil_comes_before(const struct tap *a, const struct tap *b)
{
    if (a->dz != b->dz)
        return a->dz < b->dz;
    if (a->dy != b->dy)
        return a->dy < b->dy;
    return a->dx < b->dx;
}

/* Where the tap belongs: the first place whose tap does not come before it. */
static size_t place_of(const struct stencil *stencil, const struct tap *tap)
{
    size_t low = 0, high = stencil->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (stencil_comes_before(&stencil->taps[middle], tap))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool stencil_add(struct stencil *stencil, int dx, int dy, int dz, double weight, struct fault *fault)
{
    struct tap tap = {dx, dy, dz, weight}, *taps;
    size_t place = place_of(stencil, &tap);

    if (abs(dx) > STENCIL_REACH || abs(dy) > STENCIL_REACH || abs(dz) > STENCIL_REACH)
        return fault_raise(fault, STATUS_USAGE, "the tap at %d %d %d reaches farther than %d samples", dx, dy,
                           dz, STENCIL_REACH);
    if (place < stencil->count && !stencil_comes_before(&tap, &stencil->taps[place]))
        return fault_raise(fault, STATUS_USAGE, "the tap at %d %d %d is given twice", dx, dy, dz);
    if (weight == 0.0)
        return true;
    taps = mem_grown(stencil->taps, stencil->count, &stencil->capacity, sizeof tap, "the taps", fault);
    if (taps == NULL)
        return false;
    stencil->taps = taps;
    memmove(stencil->taps + place + 1, stencil->taps + place, (stencil->count - place) * sizeof tap);
    stencil->taps[place] = tap;
    stencil->count++;
    return true;
}

void stencil_flip(struct stencil *stencil)
{
    for (size_t i = 0; i < stencil->count; i++) {
        struct tap *tap = &stencil->taps[i];
        tap->dx = -tap->dx;
        tap->dy = -tap->dy;
        tap->dz = -tap->dz;
    }
    /* Negation reverses raster order exactly. */
    for (size_t i = 0; i < stencil->count / 2; i++) {
        struct tap swapped = stencil->taps[i];
        stencil->taps[i] = stencil->taps[stencil->count - 1 - i];
        stencil->taps[stencil->count - 1 - i] = swapped;
    }
}

/* Raster order puts a tap as far from the start as its mirror image lies from the end. */
bool stencil_is_symmetric(const struct stencil *stencil)
{
    for (size_t i = 0; i < stencil->count; i++) {
        const struct tap *tap = &stencil->taps[i], *image = &stencil->taps[stencil->count - 1 - i];
        if (tap->dx != -image->dx || tap->dy != -image->dy || tap->dz != -image->dz ||
            tap->weight != image->weight)
            return false;
    }
    return true;
}

double stencil_sum(const struct stencil *stencil)
{
    double sum = 0.0;

    for (size_t i = 0; i < stencil->count; i++)
        sum += stencil->taps[i].weight;
    return sum;
}

bool stencil_leaves_centre(const struct stencil *stencil)
{
    for (size_t i = 0; i < stencil->count; i++) {
        const struct tap *tap = &stencil->taps[i];
        if (tap->dx != 0 || tap->dy != 0 || tap->dz != 0)
            return true;
    }
    return false;
}

unsigned stencil_axes(const struct stencil *stencil)
{
    unsigned axes = 1;

    for (size_t i = 0; i < stencil->count && axes < 3; i++) {
        if (stencil->taps[i].dz != 0)
            axes = 3;
        else if (stencil->taps[i].dy != 0)
            axes = 2;
    }
    return axes;
}

void stencil_free(struct stencil *stencil)
{
    mem_free(stencil->taps);
    *stencil = (struct stencil){0};
}
