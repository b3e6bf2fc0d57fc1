/* Divisions: how several processes divide the planes of a job among them, and how many of them. */
#ifndef DIVISION_H
#define DIVISION_H

#include "peers/link.h"
#include "job.h"
#include "levels.h"
#include "prediction.h"

#include <stdbool.h>
#include <stddef.h>

enum division_kind {
    DIVISION_CHEAPEST, /* as a wish: whatever is predicted to be done first */
    DIVISION_ALONE,    /* one computes all planes */
    DIVISION_PARTS,    /* each computes some in one pass, and beside them again what others compute */
    DIVISION_SHARES,   /* each holds some, and hands over what others read of them before each level */
    DIVISION_KINDS
};

/* What is known of a kind. */
enum division_fate {
    DIVISION_CANNOT,    /* it does not suit the job */
    DIVISION_CAN,       /* it does */
    DIVISION_TOO_LARGE, /* there was too little memory for it */
    DIVISION_UNLIKE     /* processes would compute different levels */
};

struct division_option {
    enum division_fate fate;
    size_t members;    /* processes that compute, if it is possible; the others do nothing */
    double seconds;    /* predicted */
    double step_bytes; /* that a process gets from others, on average of the steps */
};

struct division {
    enum division_kind kind; /* that is chosen, */
    size_t members;          /* by so many, */
    double seconds;          /* in such a time */
    struct division_option options[DIVISION_KINDS];
    const char *why;     /* why only one computes; NULL: more do */
    const char *setback; /* why another kind failed unexpectedly; NULL: none did */
};

/* What is to be divided. */
struct division_case {
    const struct prediction_case *expected;
    const struct backend *backend; /* that each process computes on */
    const struct levels *levels;   /* of the steps, before forms are settled */
    struct link link;              /* between them */
    size_t processes;
};

/* The wish is followed where that can be. */
struct division division_choose(const struct division_case *dividing, enum division_kind wish);

/* The chosen kind has met such a fate: choose the cheapest that is left. False if one computes alone
   already. */
bool division_step_down(struct division *division, enum division_fate fate);

/* The least seconds that the processes should need, if the link matters; else 0. */
double division_stakes(const struct division *division, size_t processes);

/* The planes of the process that has the most. */
size_t division_most_planes(const struct division *division, const struct job *job);

/* The planes of the result that a member writes; those of the next one follow. */
struct range division_window(const struct division *division, size_t member, const struct job *job);

/* Reduce the job to what a member computes. */
void division_apply(const struct division *division, size_t member, struct job *job);

#endif
