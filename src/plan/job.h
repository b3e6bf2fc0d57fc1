/* Jobs: a chain of stages from a source to a sink, with every choice made that the data's header decides. */
#ifndef JOB_H
#define JOB_H

#include "base/diag.h"
#include "model/region.h"
#include "model/stage.h"
#include "kernels/backend.h"
#include "format/format.h"
#include "halo.h"

#include <stdbool.h>
#include <stddef.h>

enum alpha_mode { ALPHA_PREMULTIPLY, ALPHA_SEPARATE };

/* The options of a job, before the input has been seen. */
struct job_request {
    const struct stage_request *stages;
    size_t stage_count;
    bool force;
    bool has_work;
    enum work_type work;
    bool has_out_type;
    enum sample_type out_type;
    bool has_out_endian;
    enum endian out_endian;
    bool linear_light;
    bool has_alpha_mode;
    enum alpha_mode alpha_mode; /* without has_alpha_mode, too: the default */
    bool has_missing;
    double missing;          /* the value of samples that are missing; NaN: NaN alone */
    bool ranged, auto_range; /* --out-range; low and high are given, or those of the result */
    double low, high;
    struct region_request region; /* of the result, that is written */
};

/* Columns: the region cut along x and y into boxes that go through all planes, and are read, computed and
   written one after the other. */
struct columns {
    size_t count[HALO_AXES];  /* along x and y; 1 and 1: the region is not cut */
    size_t extent[HALO_AXES]; /* of each but the last, which may be narrower */
    struct halo halos[HALO_AXES];
    size_t index;          /* of the column that the job is at */
    struct region written; /* where it is in the region */
};

/* A job that is settled for its input. job_make fills it in, and job_free releases it. */
struct job {
    struct header in,
        out; /* of the whole grid; in has the spacing that filters take, out that of the output */
    struct columns columns;
    struct region box; /* of the grid, that is read and computed for a column: of each plane what is needed.
                          Where it goes past the end of an axis, it goes on at the beginning */
    struct grid computed;                      /* the grid of the box, alike for all columns */
    struct region kept;                        /* of that, what is written */
    size_t in_plane_bytes, out_plane_bytes;    /* of a plane of the box, as it is read and before it is cut */
    bool masked;                               /* samples outside a mask neither take part nor change */
    size_t mask_pixel_bytes, mask_plane_bytes; /* of the box in the mask's file; 0: the mask is not read */
    struct region region;                      /* of the grid, that is written */
    enum region_kind region_kind;
    struct header written;  /* of the file: of a slice a picture, whose planes are rows */
    struct range planes;    /* of the grid, that are written */
    struct range window;    /* those of them that this process writes */
    size_t written_planes;  /* planes of the file for each plane of the grid that is written */
    size_t member, members; /* of those that write it together; 0 of 1 where one does */
    enum work_type work;
    struct encoding decode, encode; /* of in and out, as the first stage takes colour, and as the last leaves
                                       it */
    struct encoding field;          /* of in, with all channels that a field must have */
    struct stage *stages; /* those asked for, and between them what turns colour into what the next takes */
    size_t stage_count;
    struct intensity intensity; /* of the result, before it is mapped to a range */
    bool copies;                /* identity alone that keeps its type: bits pass untouched */
    bool measures;              /* the extremes of the result must be known before any of it is encoded */
};

/* Make this process member `member` of `members` that write the job together, of which it writes the planes
   of `window`. */
void job_divide(struct job *job, struct range window, size_t member, size_t members);

/* Cut the region into columns of such extents along x and y, or make it whole again by its own extents; the
   job is then at the first column. When it goes to another one, only the extents of what is kept change. */
bool job_cut(struct job *job, const size_t extent[HALO_AXES], struct fault *fault);
void job_go_to_column(struct job *job, size_t index);
size_t job_columns(const struct job *job);

/* The pixels that are written, in all volumes. */
uint64_t job_pixels(const struct job *job);

/* The last of its stages. A job that has been made has at least one. */
const struct stage *job_last_stage(const struct job *job);

/* Whether how many steps it takes depends on how little they change: --until. */
bool job_waits_for_change(const struct job *job);

/* The header of a file that has the state after `steps` steps of the last stage. */
struct header job_written_after(const struct job *job, uint64_t steps);

/* Settle the job for an open source and a mask, which is open as well, or NULL. Options that the input does
   not allow are refused, and so is a mask of other extents; on failure nothing is left. */
bool job_make(const struct job_request *request, const struct source *source, const struct source *mask,
              struct job *job, struct fault *fault);
void job_free(struct job *job);

#endif
