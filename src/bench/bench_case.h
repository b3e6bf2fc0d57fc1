/* The case of a bench: the same noise on the device that is measured and on its judge, the judge's bytes, and
 * how long a call takes. */
#ifndef BENCH_CASE_H
#define BENCH_CASE_H

#include "base/diag.h"
#include "model/grid.h"
#include "model/stage.h"
#include "kernels/backend.h"
#include "plan/lower.h"
#include "plan/plan.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define BENCH_FIELDS 3 /* the input, and two that take turns */

struct plot;
struct pool;

/* A bench as the command line asks for it. */
struct bench_request {
    const struct stage_request *stages; /* each is a table of its own */
    size_t stage_count;
    bool force;
    struct grid grid;
    struct encoding encoding; /* says what the channels of the grid are to each other */
    enum work_type work;
    struct plan_request plan; /* the device, threads, and a wish that narrows the ladder */
    bool pictures;            /* rates are told in pixels */
    struct plot *plot;        /* or NULL */
    bool json;
    bool keep; /* the fastest as wisdom */
};

/* One device with fields of the case at hand. */
struct bench_stand {
    const struct backend *backend;
    struct device *device;
    struct field *fields[BENCH_FIELDS];
    struct staging *staging;
};

/* A routine, and the form that it was prepared in. */
struct bench_kernel {
    struct form form;
    struct routine *routine;
};

struct bench_row {
    struct rung_wish wish;
    struct form form;
    double seconds; /* of one step */
    bool equal;
};

/* All operations of a step as a plan takes them, one after the other. */
struct bench_whole {
    size_t operations;
    char rungs[64]; /* their names */
    double seconds; /* of one step */
    double bytes;   /* of memory traffic for an update */
};

struct bench_case {
    const struct bench_request *request;
    const char *title; /* of the table at hand: a stage, or sums */
    struct shape shape;
    struct encoding encoding; /* of the samples that go in and come out: the work type itself */
    size_t plane_bytes, batch;
    struct step step;
    const struct op *op; /* of the step, the one at hand */
    bool single;         /* a pass takes one step */
    struct bench_row best;
    struct form planned;    /* what a plan takes of itself */
    struct bench_row taken; /* its row; without a rung where none was measured */
    double plan_seconds;    /* of a step, by the kernel that a plan takes; INFINITY: not known */
    struct bench_stand judge, device;
    struct pool *pool;       /* all threads of the host */
    struct devices devices;  /* that were named: the first is measured, and then several together */
    unsigned char *expected; /* by the judge after `expected_steps` steps */
    unsigned expected_steps;
    struct field *expected_field; /* the judge's that they stand in */
    double copy_speed;            /* bytes read and written a second */
    double multiply_adds;         /* a second; NAN: not measured on this device */
    FILE *stream;
    bool json_begun;
    bool differs; /* some row's bytes are wrong */
    struct fault *fault;
};

/* Set up the case of a stage, whose step the caller frees. Stands of the stage before are kept if they serve;
   otherwise new ones are opened, with noise in their first fields, and the device's copy is measured. After
   the last stage, and after a failure, the caller closes the case. */
bool bench_case_open(struct bench_case *bench, const struct stage *stage);
void bench_case_close(struct bench_case *bench);

/* Whether a plan takes the form of itself. */
bool bench_case_is_planned(const struct bench_case *bench, const struct form *form);

/* Cells, or pixels with all their channels, a second. Weights of samples that may be missing are no cells. */
double bench_case_rate(const struct bench_case *bench, double seconds);

/* Samples of a field, with all channels. */
double bench_case_cells(const struct bench_case *bench);
struct range bench_case_planes(const struct bench_case *bench);

/* Fill a field with noise, which is the same on every stand; or some planes of it, which the field numbers
 * higher. */
bool bench_case_fill(struct bench_case *bench, struct bench_stand *stand, size_t field);
bool bench_case_fill_planes(struct bench_case *bench, struct bench_stand *stand, size_t field,
                            struct range planes, size_t higher);

/* The form that a wish gets on the device, for the operation at hand; and a routine of any operation on a
   stand. A wish that cannot be met fills the fault, which then says why the rung does not apply. A prepared
   routine is the caller's to release. */
bool bench_case_settle(const struct bench_case *bench, const struct rung_wish *wish, struct form *form,
                       struct fault *fault);
bool bench_case_prepare(const struct bench_case *bench, const struct bench_stand *stand, const struct op *op,
                        const struct rung_wish *wish, struct bench_kernel *kernel, struct fault *fault);

/* Take `steps` steps. *last is the field to begin with, and becomes the one that holds the result. */
bool bench_case_take_steps(struct bench_case *bench, struct bench_stand *stand,
                           const struct bench_kernel *kernel, unsigned steps, struct field **last);

/* The judge's bytes after this many steps; a higher number than the last one takes the steps between. Once
   they are forgotten, whoever asks next begins anew. */
bool bench_case_expect(struct bench_case *bench, unsigned steps);
void bench_case_forget(struct bench_case *bench);

/* Whether some planes of a stand's field, which numbers them higher, have the judge's bytes. */
bool bench_case_compare(struct bench_case *bench, struct bench_stand *stand, const struct field *field,
                        struct range planes, size_t higher, bool *equal);

/* A call that is timed. */
typedef bool bench_call(struct bench_case *bench, void *context);

/* Fill the field that a kernel's passes find the step's input in, if they read it beside what they blur. */
bool bench_case_fill_kept(struct bench_case *bench, struct bench_stand *stand,
                          const struct bench_kernel *kernel);

/* One pass of a kernel that takes as many steps as it can; and the changes between two fields, added up. */
bool bench_case_pass(struct bench_case *bench, void *kernel);
bool bench_case_add_changes(struct bench_case *bench, void *sums);

/* The median time of a call by the device's stopwatch, or by others: of nine runs, or of three if it takes
   more than `slow` seconds. The call must be repeatable: it may run thousands of times. False when a call
   failed, with the bench's fault filled. */
bool bench_case_measure(struct bench_case *bench, bench_call *call, void *context, double slow,
                        double *seconds);

/* Another stopwatch, for calls that run on several devices: `end` waits for all of them and adds the
   seconds. */
struct bench_watch {
    bench_call *begin;
    bool (*end)(struct bench_case *bench, void *context, double *seconds);
};
bool bench_case_measure_by(struct bench_case *bench, const struct bench_watch *watch, bench_call *call,
                           void *context, double slow, double *seconds);

#endif
