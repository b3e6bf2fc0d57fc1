/* Sample types: the types of samples in files, the order of their bytes, the work type that arithmetic uses,
   and the values that headers give to stored samples. */
#ifndef SAMPLE_H
#define SAMPLE_H

#include "base/keyword.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/* The words that options take, in the order of the enumerations. */
extern const struct keyword sample_keywords[], work_keywords[];

size_t sample_size(enum sample_type type);
const char *sample_name(enum sample_type type);
bool sample_parse(const char *name, enum sample_type *type);

bool sample_is_integer(enum sample_type type);

/* The largest value of an integer type, which is full intensity in a picture. */
double sample_max(enum sample_type type);

/* The alpha of an opaque sample: the largest value, or 1 in a type that is no integer. */
double sample_opaque(enum sample_type type);

/* The smallest value of an integer type. */
double sample_min(enum sample_type type);

/* The range of values of a work type that a sample type stores with no more than rounding. Values beyond it
   are cut off at the ends of an integer type, and become infinite in any other. */
struct sample_limits {
    double low, high;
};
struct sample_limits sample_limits(enum sample_type type, enum work_type work);

/* The work type that holds every value of the sample type, or comes nearest to it. */
enum work_type sample_work_type(enum sample_type type);

/* The order of bytes in a sample, and that of this machine. */
enum endian { ENDIAN_LITTLE, ENDIAN_BIG };
enum endian endian_native(void);

/* Numbers of `size` bytes, at most 8, in such an order. */
uint64_t endian_get(enum endian endian, const unsigned char *bytes, size_t size);
void endian_put(enum endian endian, unsigned char *bytes, size_t size, uint64_t number);

/* Reverse the bytes of each of count samples. */
void sample_swap(enum sample_type type, void *samples, size_t count);

/* Copy count samples of so many bytes. Those of either side stand so many samples apart. */
void sample_move(size_t size, void *to, size_t to_stride, const void *from, size_t from_stride, size_t count);

/* The value of a sample as a file holds it, in this machine's byte order or swapped. */
double sample_number(enum sample_type type, bool swapped, const void *sample);

size_t work_size(enum work_type work);
const char *work_name(enum work_type work);

/* The sample type that stores a work type as it is. */
enum sample_type work_sample(enum work_type work);

/* Say what became of finite values from `low` to `high`, the ends of a range that `least` and `greatest` of
   the output stand for. `low` is NaN if no value is finite. */
void sample_tell_range(char *text, size_t size, double low, double high, double least, double greatest,
                       bool integers);

/* A double as the work type holds it: rounded once, to nearest even. */
double work_round(enum work_type work, double value);

/* A value is slope * sample + intercept, as headers tell. A slope of 0: the header does not tell, and samples
   are values. */
struct intensity {
    double slope, intercept;
};

/* Whether samples are values. */
bool intensity_is_plain(const struct intensity *intensity);

bool intensity_is_same(const struct intensity *intensity, const struct intensity *other);

/* The value of a sample, and the sample of a value. */
double intensity_value(const struct intensity *intensity, double sample);
double intensity_sample(const struct intensity *intensity, double value);

/* The difference between the values of samples that differ by 1. */
double intensity_unit(const struct intensity *intensity);

#ifdef __cplusplus
}
#endif

#endif
