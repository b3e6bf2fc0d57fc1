/* The scheduler: the first way to run that fits the memory, in the roomiest sizes. */
#ifndef SCHEDULER_H
#define SCHEDULER_H

#include "base/diag.h"
#include "schedule.h"

#include <stdbool.h>
#include <stddef.h>

/* All planes at once, shared by so many devices; false where they do not fit. */
bool scheduler_share(const struct schedule_request *request, size_t devices, struct schedule *schedule);

/* A schedule that does not fit is refused with STATUS_LIMIT, and the refusal names the least memory that one
   needs. */
bool scheduler_make(const struct schedule_request *request, struct schedule *schedule, struct fault *fault);

#endif
