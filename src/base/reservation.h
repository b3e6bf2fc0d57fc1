/* Reservations: the room that a file will need, taken while others read and compute. */
#ifndef RESERVATION_H
#define RESERVATION_H

#include "diag.h"
#include "file_out.h"

#include <stdbool.h>
#include <stdint.h>

struct reservation;

/* Begin to take so much room for a file, beside the caller if a thread can be started, else at once. Until it
   is waited for, what is written into the file must stay in its buffer. NULL without memory: then nothing has
   been done. */
struct reservation *reservation_begin(struct file_out *file, uint64_t bytes);

/* Whether it has failed so far: no need to compute what has no place. */
bool reservation_has_failed(struct reservation *reservation, struct fault *fault);

/* Wait for it; false where it failed. It may be waited for again. */
bool reservation_wait(struct reservation *reservation, struct fault *fault);

/* Take no more room, if it is still being taken. NULL is none. */
void reservation_end(struct reservation *reservation);

#endif
