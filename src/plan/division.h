/* Divisions: how several processes divide the planes of a job among them, and how many of them. */
#ifndef DIVISION_H
#define DIVISION_H

#include "job.h"
#include "levels.h"
#include "prediction.h"

#include <stdbool.h>
#include <stddef.h>

enum division_kind {
    DIVISION_CHEAPEST, /* as a wish: whatever is predicted to be done first */
    DIVISION_ALONE,    /* one computes all planes */
    DIVISION_PARTS,    /* each computes some in one pass, and beside them again what others compute */
    DIVISION_SHARES    /* each holds some, and hands over what others read of them before each level */
};

struct division {
    enum division_kind kind;
    size_t members;     /* processes that compute; the others do nothing */
    bool parts, shares; /* which of the two can be */
    bool unlike;        /* processes that share would compute other levels each */
    const char *why;    /* only one computes; NULL: more do */
    double seconds;     /* predicted */
};

/* What is to be divided. */
struct division_case {
    const struct prediction_case *expected;
    const struct backend *backend; /* that each process computes on */
    const struct levels *levels;   /* of the steps, before forms are settled */
    size_t states;                 /* on the way, that are written as well */
    bool random;                   /* the source gives planes in any order */
    size_t processes;
};

/* The wish is followed where that can be. */
struct division division_choose(const struct division_case *dividing, enum division_kind wish);

/* What can be where there is no memory for such a division; false where nothing else can. */
bool division_step_down(struct division *division);

/* Let the job be one of them's. */
void division_apply(const struct division *division, size_t member, struct job *job);

#endif
