/* The CPU backend: fields in the memory of the process, what moves between them and files, what is added up,
   and the table that the seam (kernels/backend.h) reaches all of it by. */
#include "cpu_device.h"

#include "base/clock.h"
#include "base/mem.h"

#include <string.h>

/* ---- fields ---- */

/* Addresses that are a multiple of CACHE_PERIOD apart compete for the same set of a first-level cache. Planes
   of at least LEAST_APART bytes whose size is such a multiple get a gap of some lines behind them, one line
   if a plane is a single row. */
#define CACHE_PERIOD ((size_t)4 << 10)
#define LEAST_APART  ((size_t)64 << 10)
#define PLANE_GAP    ((size_t)33 << 6)
#define ROW_GAP      ((size_t)1 << 6)

/* Bytes that one thread copies at a time. */
#define COPY_CHUNK ((size_t)256 << 10)

/* Copies are done when upload and download return; staging_wait only reports how long they took. */
struct cpu_staging {
    struct staging staging;
    void *own;      /* memory; NULL: the caller's */
    double seconds; /* of copies, not yet reported */
};

/* The gap behind a plane, in bytes. */
static size_t gap_behind(size_t plane_bytes, size_t rows)
{
    if (plane_bytes % CACHE_PERIOD != 0 || plane_bytes < LEAST_APART)
        return 0;
    return rows > 1 ? PLANE_GAP : ROW_GAP;
}

/* Bytes of planes with their gaps. */
static size_t field_bytes(const struct shape *shape, enum work_type work, size_t planes)
{
    size_t plane = shape->channels * shape->rows * shape->nx * sample_bytes(shape, work);

    return planes * (plane + gap_behind(plane, shape->rows));
}

static void staging_destroy(struct device *device, struct staging *staging)
{
    (void)device;
    if (staging == NULL)
        return;
    mem_free(((struct cpu_staging *)staging)->own);
    mem_free((struct cpu_staging *)staging);
}

static struct staging *staging_create(struct device *device, size_t bytes, void *memory, struct fault *fault)
{
    struct cpu_staging *created = mem_zeroed(1, sizeof *created, "the batch", fault);

    if (created == NULL)
        return NULL;
    if (memory == NULL)
        memory = created->own = mem_large(bytes, 1, "the batch", fault);
    created->staging.samples = memory;
    if (memory != NULL)
        return &created->staging;
    staging_destroy(device, &created->staging);
    return NULL;
}

static bool staging_wait(struct device *device, struct staging *staging, double *seconds, struct fault *fault)
{
    struct cpu_staging *moved = (struct cpu_staging *)staging;

    (void)device, (void)fault;
    *seconds += moved->seconds;
    moved->seconds = 0.0;
    return true;
}

static void field_destroy(struct device *device, struct field *field)
{
    (void)device;
    if (field == NULL)
        return;
    mem_free(field->samples);
    mem_free(field);
}

static bool field_create(struct device *device, struct field **result, const struct shape *shape,
                         enum work_type work, struct range planes, struct fault *fault)
{
    struct field *field = mem_zeroed(1, sizeof *field, "a field", fault);

    if (field == NULL)
        return false;
    field->shape = *shape;
    field->work = work;
    field->planes = planes;
    field->pitch = field_bytes(shape, work, 1) / sample_bytes(shape, work);
    field->samples = mem_large(planes.count, field_bytes(shape, work, 1), "the planes", fault);
    if (field->samples == NULL) {
        field_destroy(device, field);
        return false;
    }
    *result = field;
    return true;
}

/* A new first plane, and a new place in the ring of slots for it: no sample moves. */
static bool field_slide(struct device *device, struct field *field, size_t first, struct range keep,
                        struct fault *fault)
{
    (void)device, (void)fault;
    field->start = keep.count == 0 ? 0 : (field->start + first - field->planes.first) % field->planes.count;
    field->planes.first = first;
    return true;
}

/* Uploads and downloads are done on return, by all threads that the samples are worth. */
static bool upload(struct device *device, struct field *field, const struct encoding *encoding,
                   struct staging *staging, struct range planes, struct range counted, struct fault *fault)
{
    const struct cpu_threads threads = cpu_device_threads(device, samples_of(&field->shape, planes.count));
    double begun = clock_seconds();

    (void)fault;
    device->build->kernels[field->work]->load(field, encoding, staging->samples, planes, counted, &threads,
                                              &device->outcomes);
    ((struct cpu_staging *)staging)->seconds += clock_seconds() - begun;
    return true;
}

static bool download(struct device *device, const struct field *field, const struct encoding *encoding,
                     struct staging *staging, struct range planes, struct fault *fault)
{
    const struct cpu_threads threads = cpu_device_threads(device, samples_of(&field->shape, planes.count));
    double begun = clock_seconds();

    (void)fault;
    device->build->kernels[field->work]->store(field, encoding, staging->samples, planes, &threads,
                                               &device->outcomes);
    ((struct cpu_staging *)staging)->seconds += clock_seconds() - begun;
    return true;
}

static bool tell_outcomes(struct device *device, struct outcomes *outcomes, struct fault *fault)
{
    (void)fault;
    cpu_add_outcomes(outcomes, &device->outcomes);
    device->outcomes = (struct outcomes){0};
    return true;
}

static bool measure_planes(struct device *device, const struct field *field, const struct encoding *encoding,
                           struct range planes, struct fault *fault)
{
    const struct cpu_threads threads = cpu_device_threads(device, samples_of(&field->shape, planes.count));

    (void)fault;
    device->build->kernels[field->work]->measure(field, encoding, planes, &threads, &device->extremes);
    return true;
}

static bool tell_extremes(struct device *device, struct extremes *extremes, struct fault *fault)
{
    (void)fault;
    *extremes = device->extremes;
    device->extremes = (struct extremes){0};
    return true;
}

struct copying {
    char *to;
    const char *from;
};

static void copy_some(void *context, size_t first, size_t count, unsigned member)
{
    const struct copying *copying = context;

    (void)member;
    memcpy(copying->to + first, copying->from + first, count);
}

static bool copy_field(struct device *device, const struct field *from, struct field *to, struct fault *fault)
{
    const struct cpu_threads threads = {device->pool, (unsigned)device->threads};
    struct copying copying = {to->samples, from->samples};

    (void)fault;
    cpu_threads_share(&threads, field_bytes(&from->shape, from->work, from->planes.count), COPY_CHUNK,
                      copy_some, &copying);
    to->start = from->start;
    return true;
}

/* ---- sums ---- */

/* The most sums of rows that are held at once. */
#define ROW_SUMS ((size_t)1 << 16)

static const struct rung sum_rungs[] = {{NULL, NULL}};

/* Planes whose rows are summed by one call of the kernels: enough for all threads, and not too many row sums.
 */
static size_t planes_together(size_t rows, size_t planes)
{
    size_t together = rows >= ROW_SUMS ? 1 : ROW_SUMS / rows;

    return together < planes ? together : planes;
}

static bool change_planes(struct device *device, const struct field *a, const struct field *b,
                          unsigned channels, bool missing, struct range planes, double *sums,
                          struct fault *fault)
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
        device->build->kernels[a->work]->change_rows(a, b, channels, missing, part, row_sums, &threads);
        /* Rows are added in order, whoever has summed them. */
        for (size_t i = 0; i < part.count * channels; i++, sums++) {
            *sums = 0.0;
            for (size_t row = 0; row < rows; row++)
                *sums += row_sums[i * rows + row];
        }
    }
    mem_free(row_sums);
    return true;
}

/* Packed planes of a file that are tallied by one call of the kernels. */
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

/* Begin the tallies of planes and of rows: each channel of each plane has an anchor, which its rows share. */
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

/* Rows by all threads, then planes from rows, in order. */
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

static bool tally_samples(struct device *device, const struct encoding *encoding, const struct shape *shape,
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

/* Row sums that are held at once. */
static size_t rows_together(const struct shape *shape, size_t planes)
{
    size_t rows = shape->channels * shape->rows;

    return planes_together(rows, planes) * rows;
}

static size_t tally_bytes(const struct shape *shape, size_t planes)
{
    return rows_together(shape, planes) * sizeof(struct tally);
}

static size_t change_bytes(const struct shape *shape, size_t planes)
{
    return rows_together(shape, planes) * sizeof(double);
}

static bool settle_sums(const struct device *device, const struct shape *shape, enum work_type work,
                        const struct rung_wish *wish, struct form *form, struct fault *fault)
{
    (void)device, (void)work;
    *form = (struct form){.shape = *shape};
    return wish->rung == NULL ||
           fault_set_for(fault, STATUS_USAGE, "--rung", "%s: the CPU has one way to add", wish->rung);
}

static void add_by(struct device *device, const struct form *form)
{
    (void)device, (void)form;
}

/* ---- what is simple on a CPU: there is one, its memory is the process's own, and its work is done on return
 * ---- */

static unsigned device_count(void)
{
    return 1;
}

static void warm_up(int index)
{
    (void)index;
}

static uint64_t device_memory(const struct device *device)
{
    (void)device;
    return 0;
}

static bool begin_span(struct device *device, struct fault *fault)
{
    (void)fault;
    device->span = clock_seconds();
    return true;
}

static bool end_span(struct device *device, double *seconds, struct fault *fault)
{
    (void)fault;
    *seconds += clock_seconds() - device->span;
    return true;
}

static bool sync_device(struct device *device, double *seconds, struct fault *fault)
{
    (void)device, (void)seconds, (void)fault;
    return true;
}

const struct backend backend_cpu = {
    .name = "cpu",
    .rungs = cpu_routine_rungs,
    .narrows = true,
    .count = device_count,
    .describe = cpu_device_describe,
    .warm_up = warm_up,
    .predict = cpu_routine_predict,
    .open = cpu_device_open,
    .close = cpu_device_close,
    .memory = device_memory,
    .field_bytes = field_bytes,
    .settle = cpu_routine_settle,
    .prepare = cpu_routine_prepare,
    .release = cpu_routine_release,
    .field_create = field_create,
    .field_destroy = field_destroy,
    .field_slide = field_slide,
    .staging_create = staging_create,
    .staging_destroy = staging_destroy,
    .upload = upload,
    .download = download,
    .staging_wait = staging_wait,
    .tell_outcomes = tell_outcomes,
    .measure = measure_planes,
    .tell_extremes = tell_extremes,
    .advance = cpu_routine_advance,
    .begin_span = begin_span,
    .end_span = end_span,
    .sync = sync_device,
    .copy = copy_field,
    .multiply_adds = cpu_device_multiply_adds,
    .change = change_planes,
    .tally = tally_samples,
    .sum_rungs = sum_rungs,
    .settle_sums = settle_sums,
    .add_by = add_by,
    .tally_bytes = tally_bytes,
    .change_bytes = change_bytes,
};
