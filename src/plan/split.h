/* Splits: how several processes divide the planes of a job among them, and how many processes compute. */
#ifndef SPLIT_H
#define SPLIT_H

#include "peers/link.h"
#include "job.h"
#include "levels.h"
#include "prediction.h"

#include <stdbool.h>
#include <stddef.h>

enum split_kind {
    SPLIT_CHEAPEST, /* as a wish: whatever is predicted to be done first */
    SPLIT_ALONE,    /* one computes all planes */
    SPLIT_PARTS,    /* each computes some in one pass, and beside them again what others compute */
    SPLIT_SHARES,   /* each holds some, and hands over what others read of them before each level */
    SPLIT_KINDS
};

/* Whether a kind is possible. */
enum split_fate {
    SPLIT_CANNOT,    /* it does not suit the job */
    SPLIT_CAN,       /* it does */
    SPLIT_TOO_LARGE, /* there was too little memory for it */
    SPLIT_UNLIKE     /* processes would compute different levels */
};

/* One kind of split: whether it is possible, and what it would cost. */
struct split_option {
    enum split_fate fate;
    size_t members;    /* processes that compute, if it is possible; the others do nothing */
    double seconds;    /* predicted */
    double step_bytes; /* that a process gets from others, on average of the steps */
};

struct split {
    enum split_kind kind; /* that is chosen, */
    size_t members;       /* by so many, */
    double seconds;       /* in such a time */
    struct split_option options[SPLIT_KINDS];
    double undivided;    /* the seconds of one that has the processors of all of its node */
    const char *why;     /* why only one computes; NULL: more do */
    const char *setback; /* why another kind failed unexpectedly; NULL: none did */
};

/* The job that is divided, and who divides it. */
struct split_case {
    const struct prediction_case *expected;
    const struct backend *backend; /* that each process computes on */
    const struct levels *levels;   /* of the steps, before forms are settled */
    struct link link;              /* between them */
    size_t processes;
    unsigned threads_of_all; /* of one that computes alone because nothing else is possible; 0: its own */
};

/* Choose the kind of split and the number of members. A wish other than SPLIT_CHEAPEST is followed if the job
   allows it. */
struct split split_choose(const struct split_case *splitting, enum split_kind wish);

/* The chosen kind has met such a fate: choose the cheapest that is left. False if one computes alone
   already. */
bool split_step_down(struct split *split, enum split_fate fate);

/* The least seconds that the processes should need, if the link matters; else 0. */
double split_stakes(const struct split *split, size_t processes);

/* The planes of the process that has the most. */
size_t split_most_planes(const struct split *split, const struct job *job);

/* The planes of the result that a member writes; those of the next one follow. */
struct range split_window(const struct split *split, size_t member, const struct job *job);

/* Reduce the job to what a member computes. */
void split_apply(const struct split *split, size_t member, struct job *job);

#endif
