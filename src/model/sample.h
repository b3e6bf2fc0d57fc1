/* Sample types: what a file stores, and the work type that arithmetic uses. */
#ifndef SAMPLE_H
#define SAMPLE_H

#include "base/choice.h"

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum sample_type {
#define SAMPLE(constant, name, stored, bits, least, greatest, work, others) SAMPLE_##constant,
#include "samples.def"
    SAMPLE_TYPES /* how many there are */
};

enum work_type {
#define SAMPLE(constant, name, stored, bits, least, greatest, work, others)
#define WORK_SAMPLE(constant, name, stored, bits, least, greatest, work, others) WORK_##constant,
#include "samples.def"
    WORK_TYPES /* how many there are */
};

/* As options take them, in the order of the enumerations. */
extern const struct choice sample_choices[], work_choices[];

size_t sample_size(enum sample_type type);
const char *sample_name(enum sample_type type);
bool sample_parse(const char *name, enum sample_type *type);

bool sample_is_integer(enum sample_type type);

/* The largest value of an integer type: what full intensity means in a picture. */
double sample_max(enum sample_type type);

/* What an alpha that hides all behind it is: that, or 1 in a type that is no integer. */
double sample_opaque(enum sample_type type);

/* The least: 0, or what two's complement has beyond the negative of the largest. */
double sample_min(enum sample_type type);

/* The least and the greatest value of a work type that a sample type stores as what it is, but for rounding.
   What lies beyond is cut off at an end of an integer type, and infinite in any other. */
struct sample_limits {
    double low, high;
};
struct sample_limits sample_limits(enum sample_type type, enum work_type work);

/* The work type that holds every value of the sample type, or comes nearest to it. */
enum work_type sample_work_type(enum sample_type type);

/* Reverse the bytes of each of count samples. */
void sample_swap(enum sample_type type, void *samples, size_t count);

/* A sample that a file holds, in this machine's order of bytes or the other one, as a number. */
double sample_number(enum sample_type type, bool swapped, const void *sample);

size_t work_size(enum work_type work);
const char *work_name(enum work_type work);

/* The sample type that stores a work type as it is. */
enum sample_type work_sample(enum work_type work);

/* A double as the work type holds it: rounded once, to nearest even. */
double work_round(enum work_type work, double value);

#ifdef __cplusplus
}
#endif

#endif
