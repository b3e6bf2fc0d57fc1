/* Runs by several ranks, which are threads here, beside the run of one process. */
#ifndef RANKS_RUN_H
#define RANKS_RUN_H

#include "pipeline/pipeline.h"
#include "run/sections.h"
#include "fixture.h"
#include "peers_threads.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#define RANKS_RUN_MOST 8
#define RANKS_RUN_TEES 3

struct rank {
    struct pipeline_request request;
    struct peers peers;
    pthread_t thread;
    bool done, idle;
    struct split split;
    struct schedule schedule;
    double moved_bytes; /* as planned */
    int device;
    enum status status;
    struct fault fault;
    char changed[16]; /* the name of an input that is said to have changed; empty: none is */
    struct run_summary summary;
    struct outcomes of_tees[RANKS_RUN_TEES];
    struct sections sections; /* for --preview */
    struct observer observer;
    unsigned long lacks; /* which of its allocations; its threads lack none */
};

struct ranks_run {
    struct command command;
    struct peers_threads *threads;
    struct rank ranks[RANKS_RUN_MOST];
    size_t count;
};

/* Whether each rank of this program has an emulated GPU, which is slow. */
bool ranks_run_on_gpus(void);

/* Samples for the file named in. */
void ranks_run_fill(enum sample_type type, size_t samples);

/* Compress them, for --format raw.gz; and then damage their checksum. */
void ranks_run_pack(void);
void ranks_run_damage(void);

/* A run from there into the file named out, to be ended; between the two it may be changed, and is made. */
void ranks_run_begin(struct ranks_run *run, const char *options, size_t count, enum split_kind split);
void ranks_run_make(struct ranks_run *run);
void ranks_run_end(struct ranks_run *run);

/* Its outputs: the one named out, then the tees. */
size_t ranks_run_outputs(const struct ranks_run *run);
const char *ranks_run_output(const struct ranks_run *run, size_t index);
void ranks_run_remove(const struct ranks_run *run);

/* Those of one process, under other names, for comparison. */
const char *ranks_run_aside(const struct ranks_run *run, size_t index);
void ranks_run_set_aside(const struct ranks_run *run);
void ranks_run_remove_aside(const struct ranks_run *run);

/* The test fails where the bytes, or the figures, are others. */
void ranks_run_compare_file(const char *own, const char *wanted);
void ranks_run_compare(const struct ranks_run *run);
void ranks_run_compare_figures(const struct run_summary *own, const struct run_summary *wanted,
                               size_t channels);

/* By one process, then by different numbers of ranks, divided in one way or the other: the test fails where
   anything differs. */
void ranks_run_check(const char *options, enum sample_type type, size_t samples);

#endif
