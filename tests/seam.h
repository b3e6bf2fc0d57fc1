/* Computing through the seam alone, in one of the ways: fields, planes cut up, and kernels chosen for them.
 */
#ifndef SEAM_H
#define SEAM_H

#include "kernels/backend.h"
#include "plan/lower.h"
#include "ways.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Ways that are open. */
extern size_t way_count;

/* Whether it is this way's turn with the trial of this number. */
bool way_has_turn(const struct way *way, uint64_t number);

/* How the planes of a grid are cut up for upload, advance and download. */
enum cut { CUT_NONE, CUT_ONE, CUT_UNEVEN, CUTS };

/* The next of the ranges that cut up so many planes; the first after {0, 0}. */
bool cut_next(enum cut cut, size_t planes, struct range *range);

/* Samples of the work type, as they stand in a field. */
struct encoding plain_encoding(enum work_type work, unsigned channels);

/* A copy of samples in this machine's order of bytes, as a file of the encoding has them; to be freed. */
unsigned char *encoded_copy(const struct encoding *encoding, const unsigned char *samples, size_t count);

struct seam {
    const struct way *way;
    struct shape shape;
    enum work_type work;
    enum cut cut;
    struct field *fields[4];   /* the first holds the state; the second is written; the others keep */
    const unsigned char *mask; /* of uploads that are masked: a byte a pixel of the grid */
};

/* Fields for the shape; way, shape, work and cut are set. */
void seam_open(struct seam *seam);
void seam_close(struct seam *seam);

/* Packed planes, and their mask or NULL, into a field of a way's device; and planes out of it. */
void seam_send(const struct way *way, struct field *field, const struct encoding *encoding,
               const unsigned char *samples, const unsigned char *mask, size_t plane_bytes,
               struct range planes);
void seam_fetch(const struct way *way, const struct field *field, const struct encoding *encoding,
                unsigned char *samples, size_t plane_bytes, struct range planes);

void seam_upload(struct seam *seam, struct field *field, const struct encoding *encoding,
                 const unsigned char *samples);

/* Of the state. The outcomes are those of uploads, too. */
struct outcomes seam_download(struct seam *seam, const struct encoding *encoding, unsigned char *samples);

/* The form of the way's rung, varied with the number as far as the rung lets wishes choose it. False where
   the rung does not serve the op. */
bool seam_settle(const struct seam *seam, const struct op *op, uint64_t number, struct form *form);

/* To be released. */
struct routine *seam_prepare(const struct way *way, const struct form *form);

/* So many steps of a stage, several a pass where the routine takes them. False where the way's rung serves
   none of its ops; otherwise `form` is that of the last one it serves, for messages. */
bool seam_run(struct seam *seam, const struct step *step, uint64_t steps, uint64_t number, struct form *form);

#endif
