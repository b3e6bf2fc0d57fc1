/* Stages: one filter, applied a number of times under one edge rule. */
#ifndef STAGE_H
#define STAGE_H

#include "base/diag.h"
#include "edge.h"
#include "filter.h"
#include "grid.h"
#include "sample.h"
#include "stage_request.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Heat on a grid: the options of the stage, with alpha and dt settled, and what follows from them. */
struct heat {
#define STAGE_OPTION(constant, letter, name, argument, kind, type, member, standard, help)
#define HEAT_OPTION(constant, letter, name, argument, kind, type, member, standard, help) type member;
#include "stage_options.def"
    double rate[3]; /* alpha·dt/h² along x, y, z; 0 for an axis the grid does not have */
    bool joint;     /* FLUX_PM1, FLUX_PM2: channels of a pixel have one conductivity */
    bool reacts;
};

/* The steps of --until whose change is measured: every N-th, and the last. */
struct checks {
    uint64_t every; /* 0: none */
    uint64_t last;
};

/* A stage on a grid, with all that follows from the grid. stage_build fills it in, and stage_free releases
   it. */
struct stage {
    const struct filter *filter;
    const char *spec;
    uint64_t steps; /* the most, where until is above 0 */
    struct edge edge;
    struct filter_body body; /* FILTER_HEAT: taps are what the flux chains */
    struct heat heat;
    unsigned axes;     /* that it acts along: a bit each */
    double spacing[3]; /* of the grid; infinite along axes that it leaves alone */
    bool converted;    /* its steps are taken while samples are converted, not between fields */
    double until;      /* stop at the first checked step whose RMS change is below this; 0: never */
    /* The intensity of the samples that it takes. The edge's value, the scale of heat, the numbers of a
       point and until are values, not samples. The job decides. */
    struct intensity intensity;
    bool keeps_intensity; /* stage_keep_intensity has settled it */
    struct checks checks;
    unsigned given, own; /* as of the request */

    /* Alpha stays as it is, and colour is filtered as it stands: alpha is there, and the stage does not keep
       a constant (stage_keeps_constants). The job decides. */
    bool leaves_alpha;
};

/* Build a stage for a grid. Options that contradict each other or the filter are refused, and so is a step of
   heat that is unstable, with the limit, unless it is forced. */
bool stage_build(const struct stage_request *request, const struct grid *grid, bool force,
                 struct stage *stage, struct fault *fault);

/* The axes that it acts along, as --axes takes them, into room for 4. */
const char *stage_axes(const struct stage *stage, char text[4]);

/* Whether it leaves an axis of the grid alone. */
bool stage_leaves_axes(const struct stage *stage);

/* Whether a grid of one value comes out with that value, edges aside: by its kind, or of taps by their sum,
   which may be 1/512 off. So full alpha of 8 bits stays full, and weights given with three digits do. */
bool stage_keeps_constants(const struct stage *stage);

/* The value that a step makes of a constant of 1, edges aside: 0 of derivatives. Sums of taps that are 0 or 1
   but for rounding are 0 or 1. Not of FILTER_POINT. */
double stage_weight(const struct stage *stage);

/* The intensity of the samples after `steps` steps. A filter whose weights sum to w takes samples as they are
   stored, and so leaves w times the intercept. */
struct intensity stage_intensity(const struct stage *stage, uint64_t steps);

/* Whether the result has no single intensity: some samples keep theirs or come from the edge, the number of
   steps is not known in advance, or steps would take samples in different orders. */
bool stage_mixes_intensities(const struct stage *stage);

/* Settle what POINT_SCALE adds to samples, so that it leaves the intensity alone. Other stages stay. */
void stage_keep_intensity(struct stage *stage);

/* Whether the stage must be given values, since no slope and intercept follow it; and whether integers would
   round what it makes of them. */
bool stage_takes_values(const struct stage *stage);
bool stage_makes_fractions(const struct stage *stage);

/* What FILTER_POINT does to samples: its bounds, which are values, as samples. */
struct point stage_point(const struct stage *stage);

/* A stage after which samples are proportional to their values; and one after which they are values. */
struct stage stage_proportion(const struct intensity *intensity);
struct stage stage_values(const struct intensity *intensity);

/* A stage that the job inserts between two others, which take colour differently. */
struct stage stage_between(const struct filter *filter);

/* Whether the stage was asked for; else the job inserted it. */
bool stage_is_from_user(const struct stage *stage);

/* Whether the stage gives every sample back as it is. */
bool stage_is_identity(const struct stage *stage);

/* Whether a result depends on other samples than its own, and so on the edge rule. */
bool stage_reads_neighbours(const struct stage *stage);

/* Whether the result is an average of neighbours: no weight is below 0. Where samples may be missing it is
   that of those which are there. */
bool stage_averages(const struct stage *stage);

/* Whether the stage gives other results when its taps are flipped. */
bool stage_is_asymmetric(const struct stage *stage);

void stage_free(struct stage *stage);

/* Whether the step is checked; steps count from 1. */
bool checks_is_due(const struct checks *checks, uint64_t step);

/* The first step that is checked once `step` steps are behind, which is before the last. */
uint64_t checks_next(const struct checks *checks, uint64_t step);

/* How many steps are checked, and the most in a row that are not. */
uint64_t checks_count(const struct checks *checks);
uint64_t checks_longest_gap(const struct checks *checks);

/* ---- what the checks of a run found ---- */

#define CONVERGENCE_KEPT 4096 /* the latest checks; earlier ones are only counted */

struct convergence_check {
    uint64_t step;
    double change; /* RMS, of this step alone */
};

/* Begins as {0}. */
struct convergence {
    struct convergence_check *checks; /* in a ring */
    size_t room;
    uint64_t count; /* of all checks so far */
};

/* Allocate room for `most` checks, or for the latest of them. */
bool convergence_open(struct convergence *convergence, uint64_t most, struct fault *fault);
void convergence_add(struct convergence *convergence, uint64_t step, double change);

/* How many checks are kept; and one of them, the earliest first. */
size_t convergence_kept(const struct convergence *convergence);
struct convergence_check convergence_at(const struct convergence *convergence, size_t index);

void convergence_close(struct convergence *convergence);

#endif
