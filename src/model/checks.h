/* Checks: the steps of a stage with --until whose change is measured. */
#ifndef CHECKS_H
#define CHECKS_H

#include <stdbool.h>
#include <stdint.h>

/* Every so many steps, and after the last one. */
struct checks {
    uint64_t every; /* 0: none */
    uint64_t last;
};

/* Steps between checks, so many that checking costs less than a tenth of the steps, on any device, for a step
   of so many multiply-adds a sample that goes through memory once for each of so many axes. It must depend on
   nothing else: where a run stops follows from it. */
uint64_t checks_interval(double taps, unsigned axes);

/* Whether the step is checked; steps count from 1. */
bool checks_is_due(const struct checks *checks, uint64_t step);

/* The first step that is checked once `step` steps are behind, which is before the last. */
uint64_t checks_next(const struct checks *checks, uint64_t step);

/* Steps that are checked, and the most in a row that are not. */
uint64_t checks_count(const struct checks *checks);
uint64_t checks_longest_gap(const struct checks *checks);

#endif
