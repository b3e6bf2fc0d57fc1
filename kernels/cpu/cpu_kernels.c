/* The loops of the CPU backend, built once for each instruction set (CPU_ISA names it) and work type. */
#include "cpu_kernels.h"

#include "model/arith.h"
#include "cpu_isa.h"

#include <stdatomic.h>
#include <string.h>

/* Samples of a row that are computed together: their chains stay in the first-level cache. */
#define BLOCK 1024

#define JOIN_(a, b) a##b
#define JOIN(a, b)  JOIN_(a, b)

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Where a plane stands among those of a field. */
static size_t place_in(const struct field *field, size_t plane)
{
    size_t place = field->start + (plane - field->planes.first);

    return place < field->planes.count ? place : place - field->planes.count;
}

/* A row of a field or of a file: channels, or groups of them, follow one another in a plane. */
struct place {
    size_t plane, row;
    unsigned channel;
};

static struct place place_of(size_t index, size_t channels, size_t rows)
{
    return (struct place){index / rows / channels, index % rows, (unsigned)(index / rows % channels)};
}

#include "cpu_axis.inl"
#include "cpu_pump.inl"
#include "cpu_survey.inl"
#include "cpu_outcome.inl"

/* COUNTER is as wide as REAL, so that a vector of comparisons is added to one of counts as it stands. */
#define REAL     float
#define COUNTER  uint32_t
#define FN(name) JOIN(name, _f32)
#include "cpu_field.inl"
#include "cpu_rows.inl"
#include "cpu_convert.inl"
#include "cpu_naive.inl"
#include "cpu_chain.inl"
#include "cpu_multiply.inl"
#include "cpu_direct.inl"
#include "cpu_line.inl"
#include "cpu_star.inl"
#include "cpu_box.inl"
#include "cpu_picture.inl"
#include "cpu_tiles.inl"
#undef REAL
#undef COUNTER
#undef FN

#define REAL     double
#define COUNTER  uint64_t
#define FN(name) JOIN(name, _f64)
#include "cpu_field.inl"
#include "cpu_rows.inl"
#include "cpu_convert.inl"
#include "cpu_naive.inl"
#include "cpu_chain.inl"
#include "cpu_multiply.inl"
#include "cpu_direct.inl"
#include "cpu_line.inl"
#include "cpu_star.inl"
#include "cpu_box.inl"
#include "cpu_picture.inl"
#include "cpu_tiles.inl"
#undef REAL
#undef COUNTER
#undef FN

static void load(struct field *field, const struct encoding *encoding, const void *samples,
                 struct range planes, struct range counted, const struct cpu_crew *crew,
                 struct outcomes *outcomes)
{
    if (field->work == WORK_F32)
        load_planes_f32(field, encoding, samples, planes, counted, crew, outcomes);
    else
        load_planes_f64(field, encoding, samples, planes, counted, crew, outcomes);
}

static void store(const struct field *field, const struct encoding *encoding, void *samples,
                  struct range planes, const struct cpu_crew *crew, struct outcomes *outcomes)
{
    if (field->work == WORK_F32)
        store_planes_f32(field, encoding, samples, planes, crew, outcomes);
    else
        store_planes_f64(field, encoding, samples, planes, crew, outcomes);
}

static void measure(const struct field *field, const struct encoding *encoding, struct range planes,
                    const struct cpu_crew *crew, struct extremes *extremes)
{
    if (field->work == WORK_F32)
        measure_planes_f32(field, encoding, planes, crew, extremes);
    else
        measure_planes_f64(field, encoding, planes, crew, extremes);
}

static void advance(const struct op *op, const struct field *from, const struct field *kept, struct field *to,
                    struct range planes, const struct cpu_crew *crew)
{
    if (op->work == WORK_F32)
        advance_planes_f32(op, from, kept, to, planes, crew);
    else
        advance_planes_f64(op, from, kept, to, planes, crew);
}

static void sweep(const struct cpu_sweep *sweep)
{
    if (sweep->op->work == WORK_F32)
        sweep_f32(sweep);
    else
        sweep_f64(sweep);
}

static void change_rows(const struct field *a, const struct field *b, unsigned channels, struct range planes,
                        double *sums, const struct cpu_crew *crew)
{
    if (a->work == WORK_F32)
        change_planes_f32(a, b, channels, planes, sums, crew);
    else
        change_planes_f64(a, b, channels, planes, sums, crew);
}

static double multiply_add(enum work_type work, double factor, uint64_t *count)
{
    return work == WORK_F32 ? multiply_add_f32(factor, count) : multiply_add_f64(factor, count);
}

#define NAME_OF_(isa) #isa
#define NAME_OF(isa)  NAME_OF_(isa)

const struct cpu_kernels JOIN(cpu_kernels_, CPU_ISA) = {
    .name = NAME_OF(CPU_ISA),
    .load = load,
    .store = store,
    .measure = measure,
    .advance = advance,
    .sweep = sweep,
    .change_rows = change_rows,
    .survey_rows = survey_rows,
    .multiply_add = multiply_add,
};
