/* Looks: the steps of a stage with --until whose change is looked at. */
#ifndef LOOKS_H
#define LOOKS_H

#include <stdbool.h>
#include <stdint.h>

/* Every so many steps, and after the last one. */
struct looks {
    uint64_t every; /* 0: nobody looks */
    uint64_t last;
};

/* So many steps apart that looking costs less than a tenth of the steps themselves, on any device, for a step
   of so many multiply-adds a sample that goes through memory once for each of so many axes. It must depend on
   nothing else: where a run stops follows from it. */
uint64_t looks_spacing(double taps, unsigned axes);

/* Whether the step is looked at; steps count from 1. */
bool looks_at(const struct looks *looks, uint64_t step);

/* The first step that is looked at once `step` steps are behind, which is before the last. */
uint64_t looks_next(const struct looks *looks, uint64_t step);

/* Steps that are looked at, and the most in a row that are not. */
uint64_t looks_count(const struct looks *looks);
uint64_t looks_stretch(const struct looks *looks);

#endif
