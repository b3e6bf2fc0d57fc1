/* Sample types: what a file stores, and the work type that arithmetic uses. */
#ifndef SAMPLE_H
#define SAMPLE_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum sample_type {
    SAMPLE_U8,
    SAMPLE_I8,
    SAMPLE_U16,
    SAMPLE_I16,
    SAMPLE_U32,
    SAMPLE_I32,
    SAMPLE_F32,
    SAMPLE_F64,
    SAMPLE_TYPES /* how many there are */
};

enum work_type { WORK_F32, WORK_F64 };

size_t sample_size(enum sample_type type);
const char *sample_name(enum sample_type type);
bool sample_parse(const char *name, enum sample_type *type);

/* The name that somebody may have meant who gave a word that is none; NULL: nobody knows. */
const char *sample_meant(const char *word);

bool sample_is_integer(enum sample_type type);

/* The largest value of an integer type: what full intensity means in a picture. */
double sample_max(enum sample_type type);

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

size_t work_size(enum work_type work);
const char *work_name(enum work_type work);
bool work_parse(const char *name, enum work_type *work);
const char *work_meant(const char *word);

/* A double as the work type holds it: rounded once, to nearest even. */
double work_round(enum work_type work, double value);

#ifdef __cplusplus
}
#endif

#endif
