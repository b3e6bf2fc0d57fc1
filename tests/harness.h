/* The program of a suite whose tests stay in one process: a device that the parent has opened is of no use to
   a child, where its threads are not, nor its GPU. */
#ifndef HARNESS_H
#define HARNESS_H

#include "assertions.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Run the cases in a folder of the program's own, and return its exit status. A test may take so many
   seconds; check's own time-out works on children alone. */
int harness_run(const char *name, TCase *const cases[], size_t count, unsigned patience);

/* Whether this run takes the trial of a number, of a large set of them. It leaves out most where it repeats
   what another has shown, only slower: under sanitizers, and where VOXFILT_THIN=N is set. */
bool harness_takes(uint64_t number);

/* Whether it is the turn of a number, of a set of which one in so many has one. */
bool harness_has_turn(uint64_t number, unsigned turns);

/* Of so many trials, it takes about one. */
unsigned harness_thinning(void);

/* The exit status of a suite that was skipped. */
#define HARNESS_SKIPPED 77

/* The same where this machine lacks the device: skipped, and failed under REQUIRE_GPU=1. */
int harness_without_device(void);

#endif
