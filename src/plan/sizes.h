/* Sizes: how much a run takes at a time, from roomy to tight. */
#ifndef SIZES_H
#define SIZES_H

#include "schedule.h"

#include <stdbool.h>
#include <stddef.h>

/* Seams in a slab, below which more is lost by what is computed twice than is won by taking several steps at
   once. */
#define SIZES_LEAST_SEAMS 2

struct schedule_size sizes_roomy(const struct schedule_request *request, const struct levels_walk *survey);
struct schedule_size sizes_tightest(void);

/* Less of everything; false where there is no less. */
bool sizes_tighten(struct schedule_size *size);

/* Planes of a slab: enough of them that little is computed twice where two slabs meet. */
size_t sizes_roomy_slab(const struct schedule_request *request, const struct levels_walk *survey);

/* Whether little enough is computed twice in such slabs; nothing is where all planes have to be there before
   a level begins. */
bool sizes_are_worth_seams(const struct schedule_request *request, const struct levels_walk *survey,
                           size_t slab);

#endif
