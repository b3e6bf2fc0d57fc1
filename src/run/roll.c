#include "roll.h"

/* Planes of an unrolled grid, which lie apart where it goes around. */
static bool read_around(void *file, void *samples, struct range planes, struct fault *fault)
{
    const struct roll *roll = file;
    const struct carrier_end *carrier = &roll->carrier;
    size_t count = roll->own.count, next = (planes.first + count - roll->own.first) % count;
    unsigned char *to = samples;

    while (planes.count > 0) {
        struct range piece = {next, planes.count < count - next ? planes.count : count - next};
        if (!carrier->move(carrier->file, to, piece, fault))
            return false;
        to += piece.count * roll->plane_bytes;
        planes.count -= piece.count;
        next = 0;
    }
    return true;
}

static bool end_around(void *file, struct fault *fault)
{
    const struct carrier_end *carrier = &((const struct roll *)file)->carrier;

    return carrier->finish == NULL || carrier->finish(carrier->file, fault);
}

static void stop_around(void *file)
{
    const struct carrier_end *carrier = &((const struct roll *)file)->carrier;

    if (carrier->interrupt != NULL)
        carrier->interrupt(carrier->file);
}

struct carrier_end roll_end(struct roll *roll)
{
    return (struct carrier_end){
        .file = roll, .move = read_around, .finish = end_around, .interrupt = stop_around};
}
