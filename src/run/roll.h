/* Rolls: files whose planes are read as those of an unrolled grid, where the last come before the first and
   the first after the last. */
#ifndef ROLL_H
#define ROLL_H

#include "carrier.h"

#include <stddef.h>

struct roll {
    struct carrier_end carrier; /* of the file, which gives planes in any order */
    size_t plane_bytes;
    struct range own; /* the file's planes among those of the grid */
};

struct carrier_end roll_end(struct roll *roll);

#endif
