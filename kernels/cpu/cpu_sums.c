/* Sums: the changes of steps, and the statistics of samples. */
#include "cpu_seam.h"

#include "base/mem.h"
#include "cpu_device.h"
#include "cpu_field.h"

#include <math.h>

/* Row sums that are held at once. */
#define ROW_SUMS ((size_t)1 << 16)

const struct rung cpu_sums_rungs[] = {{NULL, NULL}};

/* Planes whose rows are summed together, so that threads have work and the row sums stay few. */
static size_t planes_together(size_t rows, size_t planes)
{
    size_t together = rows >= ROW_SUMS ? 1 : ROW_SUMS / rows;

    return together < planes ? together : planes;
}

static double plane_sum(const double *row_sums, size_t rows)
{
    double sum = 0.0;

    for (size_t row = 0; row < rows; row++)
        sum += row_sums[row];
    return sum;
}

bool cpu_sums_change(struct device *device, const struct field *a, const struct field *b, unsigned channels,
                     struct range planes, double *sums, struct fault *fault)
{
    size_t rows = a->shape.rows, together = planes_together(channels * rows, planes.count);
    double *row_sums = mem_alloc(together, channels * rows * sizeof *row_sums, "row sums", fault);
    struct range part = {planes.first, 0};
    struct cpu_threads threads;

    if (row_sums == NULL)
        return false;
    for (size_t left = planes.count; left > 0; left -= part.count) {
        part.first += part.count;
        part.count = left < together ? left : together;
        threads = cpu_device_threads(device, samples_of(&a->shape, part.count));
        device->build->kernels[a->work]->change_rows(a, b, channels, part, row_sums, &threads);
        for (size_t i = 0; i < part.count * channels; i++)
            *sums++ = plane_sum(row_sums + i * rows, rows);
    }
    mem_free(row_sums);
    return true;
}

/* Planes of a file that are tallied together. */
struct tallied {
    const struct encoding *encoding;
    const struct shape *shape;
    const unsigned char *samples;
    size_t planes;
};

static size_t packed_plane_bytes(const struct encoding *encoding, const struct shape *shape)
{
    return shape->nx * shape->rows * encoding->channels * sample_size(encoding->type);
}

/* Each channel of each plane about its own anchor: of the plane, and of all its rows. */
static void begin_tallies(const struct tallied *tallied, struct tally *planes, struct tally *rows)
{
    const struct shape *shape = tallied->shape;
    unsigned channels = tallied->encoding->channels;
    size_t plane_bytes = packed_plane_bytes(tallied->encoding, shape);

    for (size_t i = 0; i < tallied->planes * channels; i++) {
        planes[i] =
            tally_empty(tally_anchor(tallied->encoding, (unsigned)(i % channels),
                                     tallied->samples + i / channels * plane_bytes, shape->nx * shape->rows));
        for (size_t row = 0; row < shape->rows; row++)
            rows[i * shape->rows + row] = planes[i];
    }
}

static void tally_planes(struct device *device, const struct tallied *tallied, struct tally *planes,
                         struct tally *rows)
{
    const struct cpu_threads threads =
        cpu_device_threads(device, samples_of(tallied->shape, tallied->planes));
    size_t row_count = tallied->shape->rows;

    begin_tallies(tallied, planes, rows);
    device->build->kernels[WORK_F64]->tally_rows(tallied->encoding, tallied->shape, tallied->samples,
                                                 tallied->planes, rows, &threads);
    for (size_t i = 0; i < tallied->planes * tallied->encoding->channels * row_count; i++)
        tally_add(&planes[i / row_count], &rows[i]);
}

bool cpu_sums_tally(struct device *device, const struct encoding *encoding, const struct shape *shape,
                    const void *samples, size_t planes, struct tally *tallies, struct fault *fault)
{
    size_t rows_a_plane = encoding->channels * shape->rows;
    size_t together = planes_together(rows_a_plane, planes);
    struct tally *rows = mem_alloc(together, rows_a_plane * sizeof *rows, "row sums", fault);
    struct tallied tallied = {encoding, shape, samples, 0};

    if (rows == NULL)
        return false;
    for (size_t left = planes; left > 0; left -= tallied.planes) {
        tallied.planes = left < together ? left : together;
        tally_planes(device, &tallied, tallies, rows);
        tallies += tallied.planes * encoding->channels;
        tallied.samples += tallied.planes * packed_plane_bytes(encoding, shape);
    }
    mem_free(rows);
    return true;
}

static size_t rows_together(const struct shape *shape, size_t planes)
{
    size_t rows = shape->channels * shape->rows;

    return planes_together(rows, planes) * rows;
}

size_t cpu_sums_tally_bytes(const struct shape *shape, size_t planes)
{
    return rows_together(shape, planes) * sizeof(struct tally);
}

size_t cpu_sums_change_bytes(const struct shape *shape, size_t planes)
{
    return rows_together(shape, planes) * sizeof(double);
}

bool cpu_sums_settle(const struct device *device, const struct shape *shape, enum work_type work,
                     const struct rung_wish *wish, struct form *form, struct fault *fault)
{
    (void)device, (void)work;
    *form = (struct form){.shape = *shape};
    return wish->rung == NULL ||
           fault_set_for(fault, STATUS_USAGE, "--rung", "%s: the CPU has one way to add", wish->rung);
}

void cpu_sums_add_by(struct device *device, const struct form *form)
{
    (void)device, (void)form;
}
