/* Tests of the formats of volumes: what is written is read back, in every format, type, byte order and shape;
   the bytes do not depend on threads; headers that have been tampered with are read or refused, and nothing
   else; what cannot be read is told. */
#include "base/file_in.h"
#include "base/file_out.h"
#include "base/mem.h"
#include "format/format.h"
#include "format/transpose.h"
#include "fixture.h"
#include "harness.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PATIENCE = 120, PATH_BYTES = 64, CODINGS = 3 };

/* ---- the formats that describe their samples ---- */

/* Without libtiff no TIFF is read. */
static bool describes(const struct format *format)
{
    if (format->folder) /* it is not a file of bytes, of which these tests know */
        return false;
#ifndef HAVE_TIFF
    if (format->create == format_tif.create)
        return false;
#endif
    return format->title != NULL;
}

static size_t described_count(void)
{
    size_t count = 0;

    for (size_t i = 0; format_list[i] != NULL; i++)
        count += describes(format_list[i]);
    return count;
}

static const struct format *described(size_t index)
{
    for (size_t i = 0; format_list[i] != NULL; i++) {
        if (describes(format_list[i]) && index-- == 0)
            return format_list[i];
    }
    return NULL;
}

static const char *path_in(const struct format *format, char path[PATH_BYTES])
{
    snprintf(path, PATH_BYTES, "volume.%s", format->name);
    return path;
}

/* ---- writing and reading ---- */

struct volume_case {
    struct header header;
    unsigned char *samples;
    size_t bytes;
};

static struct volume_case make_case(const struct grid *grid, enum sample_type type, enum endian endian)
{
    struct volume_case made = {.header = {.grid = *grid, .volumes = 1, .type = type, .endian = endian}};
    size_t samples = grid_samples(grid);

    made.bytes = samples * sample_size(type);
    made.samples = fixture_memory(made.bytes, 1);
    fill_samples(FILL_RANDOM, type, made.samples, samples, 1 + (uint64_t)type);
    if (endian != endian_native())
        sample_swap(type, made.samples, samples);
    return made;
}

static bool name_files(const struct sink *sink, struct fault *fault)
{
    struct file_set set = {.count = 0};
    bool done = sink_add_files(sink, &set, fault) && file_set_commit(&set, fault);

    file_set_free(&set);
    return done;
}

static bool write_case(const struct volume_case *volume, const struct format *format, const char *path,
                       const struct sink_request *request, struct fault *fault)
{
    size_t planes = grid_planes(&volume->header.grid), plane = header_plane_bytes(&volume->header);
    struct file_out *file;
    struct sink sink;
    bool done;

    ck_assert_msg(file_out_open(&file, path, fault), "%s", fault->text);
    if (!sink_open(&sink, file, format, &volume->header, request, fault)) {
        file_out_close(file);
        return false;
    }
    done = sink_write(&sink, volume->samples, 1, fault) &&
           (planes == 1 || sink_write(&sink, volume->samples + plane, planes - 1, fault)) &&
           sink_finish(&sink, fault) && name_files(&sink, fault);
    sink_close(&sink);
    file_out_close(file);
    return done;
}

static bool open_source(struct source *source, struct file_in **file, const char *path, struct fault *fault)
{
    const struct source_request request = {.grid = grid_make(3, 0, 0, 0), .threads = 1};
    const struct format *format;

    ck_assert_msg(file_in_open(file, path, fault), "%s", fault->text);
    format = format_of_input(*file, &request, fault);
    if (format != NULL && source_open(source, *file, format, &request, fault))
        return true;
    file_in_close(*file);
    return false;
}

/* Boxes of what has been read: a corner, the middle, one sample, whole rows, whole planes. */
static bool read_boxes(struct source *source, const unsigned char *samples, struct fault *fault)
{
    const struct grid *grid = &source->header.grid;
    const size_t nx = grid->nx, ny = grid->ny, nz = grid->nz, size = sample_size(source->header.type);
    const struct region boxes[] = {
        {{0, 0, 0}, {(nx + 1) / 2, (ny + 1) / 2, (nz + 1) / 2}},
        {{nx / 3, ny / 3, nz / 3}, {(nx + 2) / 3, (ny + 2) / 3, (nz + 2) / 3}},
        {{nx - 1, ny - 1, nz - 1}, {1, 1, 1}},
        {{0, ny / 2, 0}, {nx, 1, nz}},
        {{0, 0, nz / 2}, {nx, ny, nz - nz / 2}},
    };
    unsigned char *got = fixture_memory(grid_samples(grid), size),
                  *kept = fixture_memory(grid_samples(grid), size);
    bool done = true;

    for (size_t i = 0; done && i < LENGTH(boxes); i++) {
        size_t first = region_first_plane(&boxes[i], grid), planes = region_planes(&boxes[i], grid);
        size_t bytes = region_samples(&boxes[i], grid) * size;
        region_cut(&boxes[i], grid, size, samples + first * header_plane_bytes(&source->header), planes,
                   kept);
        done = source_read_box(source, got, 0, &boxes[i], fault);
        ck_assert_msg(!done || memcmp(got, kept, bytes) == 0, "%s: box %zu", source->format->name, i);
    }
    free(got);
    free(kept);
    return done;
}

static bool read_planes(struct source *source, unsigned char *samples, struct fault *fault)
{
    size_t planes = grid_planes(&source->header.grid), plane = header_plane_bytes(&source->header);
    size_t first = planes / 2;
    const struct region before = region_of_planes(&source->header.grid, 0, first),
                        after = region_of_planes(&source->header.grid, first, planes - first);

    if (source->random)
        return source_read_box(source, samples + first * plane, 0, &after, fault) &&
               (first == 0 || source_read_box(source, samples, 0, &before, fault)) &&
               read_boxes(source, samples, fault) && source_end(source, fault);
    return (first == 0 || source_read(source, samples, first, fault)) &&
           source_read(source, samples + first * plane, planes - first, fault) && source_end(source, fault);
}

static void check_equal(const struct volume_case *volume, const char *path)
{
    struct source source;
    struct file_in *file;
    struct fault fault;
    unsigned char *samples = fixture_memory(volume->bytes, 1);

    ck_assert_msg(open_source(&source, &file, path, &fault), "%s", fault.text);
    ck_assert_uint_eq(source.header.grid.axes, volume->header.grid.axes);
    ck_assert_uint_eq(source.header.grid.nx, volume->header.grid.nx);
    ck_assert_uint_eq(source.header.grid.ny, volume->header.grid.ny);
    ck_assert_uint_eq(source.header.grid.nz, volume->header.grid.nz);
    ck_assert_uint_eq(source.header.grid.channels, volume->header.grid.channels);
    ck_assert_int_eq(source.header.type, volume->header.type);
    for (unsigned i = 0; i < volume->header.grid.axes && format_of_name(path)->holds_spacing; i++)
        ck_assert_double_eq(source.header.grid.spacing[i], volume->header.grid.spacing[i]);
    ck_assert_msg(read_planes(&source, samples, &fault), "%s", fault.text);
    if (source.header.endian != volume->header.endian)
        sample_swap(volume->header.type, samples, volume->bytes / sample_size(volume->header.type));
    ck_assert_int_eq(memcmp(samples, volume->samples, volume->bytes), 0);
    source_close(&source);
    file_in_close(file);
    free(samples);
}

/* ---- round trips ---- */

static const struct shape_case {
    unsigned axes;
    size_t nx, ny, nz;
    unsigned channels;
} shapes[] = {{3, 5, 3, 4, 1}, {3, 1, 1, 1, 1}, {3, 7, 1, 2, 3}, {2, 6, 9, 1, 1}, {3, 130, 70, 40, 1}};

/* Compression as sinks take it. */
static const int levels[CODINGS] = {-1, 0, 1};

/* Headers of most formats cannot name f16. */
static bool has_type(const struct format *format, enum sample_type type)
{
    return type != SAMPLE_F16 || format == &format_npy || format->create == format_tif.create;
}

static bool may_refuse(const struct format *format, const struct shape_case *shape, enum sample_type type,
                       int level)
{
    return shape->channels > 1 || (level >= 0 && !format->compresses) || !has_type(format, type);
}

static void round_trip(const struct format *format, const struct shape_case *shape, enum sample_type type,
                       enum endian endian, int level)
{
    struct grid grid = grid_make(shape->axes, shape->nx, shape->ny, shape->nz);
    const struct sink_request request = {.level = level, .threads = 2};
    struct volume_case volume;
    struct fault fault;
    char path[PATH_BYTES];

    grid.channels = shape->channels;
    grid.spacing[0] = 0.5;
    grid.spacing[2] = shape->axes == 3 ? 3.0 : 1.0;
    volume = make_case(&grid, type, endian);
    if (!write_case(&volume, format, path_in(format, path), &request, &fault)) {
        ck_assert_msg(fault.status == STATUS_USAGE && may_refuse(format, shape, type, level), "%s: %s",
                      format->name, fault.text);
    } else {
        ck_assert_msg(has_type(format, type), "%s has no %s", format->name, sample_name(type));
        check_equal(&volume, path);
    }
    free(volume.samples);
}

START_TEST(what_is_written_is_read_back)
{
    const struct format *format = described((size_t)_i);

    for (size_t shape = 0; shape < LENGTH(shapes); shape++) {
        for (int type = 0; type < SAMPLE_TYPES; type++) {
            for (int order = 0; order < 2; order++) {
                for (int level = 0; level < CODINGS; level++)
                    round_trip(format, &shapes[shape], (enum sample_type)type,
                               order == 0 ? ENDIAN_LITTLE : ENDIAN_BIG, levels[level]);
            }
        }
    }
}
END_TEST

/* The same volume by one thread and by five: the file, and that of samples beside it. */
static void compare_threads(const struct format *format, const struct volume_case *volume, int level)
{
    static const size_t threads[] = {1, 2, 5};
    unsigned char *first = NULL;
    size_t first_size = 0;
    char path[PATH_BYTES];

    for (size_t i = 0; i < LENGTH(threads); i++) {
        const struct sink_request request = {.level = level, .threads = threads[i]};
        struct fault fault;
        unsigned char *content;
        size_t size;
        ck_assert_msg(write_case(volume, format, path_in(format, path), &request, &fault), "%s", fault.text);
        content = file_content(path, &size);
        if (first == NULL) {
            first = content;
            first_size = size;
            continue;
        }
        ck_assert_uint_eq(size, first_size);
        ck_assert_int_eq(memcmp(content, first, size), 0);
        free(content);
    }
    free(first);
}

/* Several strips, and a last one of one byte. */
START_TEST(threads_do_not_change_a_byte)
{
    const struct format *format = described((size_t)_i);
    struct grid grid = grid_make(3, 1024, 1024, 3);
    struct volume_case volume = make_case(&grid, SAMPLE_U8, ENDIAN_LITTLE);

    if (format->compresses)
        compare_threads(format, &volume, 1);
    free(volume.samples);
}
END_TEST

/* ---- planes in any order ---- */

START_TEST(planes_are_written_in_any_order)
{
    const struct format *format = described((size_t)_i);
    struct grid grid = grid_make(3, 11, 5, 6);
    struct volume_case volume = make_case(&grid, SAMPLE_U16, ENDIAN_BIG);
    const struct sink_request request = {.level = -1, .threads = 1};
    size_t plane = header_plane_bytes(&volume.header);
    struct file_out *file;
    struct fault fault;
    struct sink sink;
    char path[PATH_BYTES];

    ck_assert(file_out_open(&file, path_in(format, path), &fault));
    ck_assert_msg(sink_open(&sink, file, format, &volume.header, &request, &fault), "%s", fault.text);
    ck_assert((sink.samples.file != NULL) == !format->in_turn);
    for (size_t i = 6; sink.samples.file != NULL && i-- > 0;)
        ck_assert(sink_write_at(&sink, volume.samples + i * plane, i, 1, &fault));
    if (sink.samples.file == NULL)
        ck_assert(sink_write(&sink, volume.samples, 6, &fault));
    ck_assert(sink_finish(&sink, &fault) && name_files(&sink, &fault));
    sink_close(&sink);
    file_out_close(file);
    check_equal(&volume, path);
    free(volume.samples);
}
END_TEST

/* ---- Fortran's order ---- */

/* A sample tells where it is. */
static unsigned char turned_sample(size_t x, size_t y, size_t z)
{
    return (unsigned char)(x * 7 + y * 31 + z * 101 + x * y * z);
}

struct turned_file {
    const struct transpose_shape *shape;
    size_t next;
};

static bool read_turned(void *context, void *bytes, size_t size, struct fault *fault)
{
    struct turned_file *file = context;
    unsigned char *to = bytes;

    (void)fault;
    for (size_t i = 0; i < size; i++, file->next++)
        to[i] = turned_sample(file->next / file->shape->planes / file->shape->rows,
                              file->next / file->shape->planes % file->shape->rows,
                              file->next % file->shape->planes);
    return true;
}

/* One block; several, the last of them narrow; blocks of one column. */
static const struct transpose_shape turned_shapes[] = {{5, 3, 4, 1}, {300, 200, 200, 1}, {3, 3000, 3000, 1}};

START_TEST(planes_come_out_of_reversed_files)
{
    const struct transpose_shape *shape = &turned_shapes[_i / 2];
    struct spool spool = {.descriptor = -1, .output = "out"};
    struct turned_file file = {shape, 0};
    unsigned char *plane = fixture_memory(shape->columns * shape->rows, 1);
    FILE *held = tmpfile();
    struct fault fault;
    struct transpose *turn;

    ck_assert_ptr_nonnull(held);
    ck_assert(transpose_create(&turn, shape, &fault));
    spool.descriptor = fileno(held);
    if (_i % 2 == 1)
        transpose_hold_in_spool(turn, &spool);
    for (size_t z = 0; z < shape->planes; z++) {
        ck_assert_msg(transpose_read(turn, plane, 1, read_turned, &file, &fault), "%s", fault.text);
        for (size_t y = 0; y < shape->rows && (z < 3 || z + 1 == shape->planes); y++) {
            for (size_t x = 0; x < shape->columns; x++)
                ck_assert_uint_eq(plane[y * shape->columns + x], turned_sample(x, y, z));
        }
    }
    ck_assert_uint_eq(file.next, shape->columns * shape->rows * shape->planes);
    transpose_free(turn);
    fclose(held);
    free(plane);
}
END_TEST

/* ---- headers that have been tampered with ---- */

static uint64_t next_chance(uint64_t *state)
{
    *state = *state * 6364136223846793005U + 1442695040888963407U;
    return *state >> 33;
}

/* A byte changed, a piece doubled, a piece left out, or the end cut off. */
static size_t tamper(unsigned char *bytes, size_t size, size_t capacity, uint64_t *chance)
{
    for (uint64_t changes = 1 + next_chance(chance) % 3; changes > 0 && size > 0; changes--) {
        size_t at = (size_t)(next_chance(chance) % (size < 700 ? size : 700)), rest = size - at;
        size_t piece = 1 + (size_t)(next_chance(chance) % 8);
        switch (next_chance(chance) % 6) {
        case 0:
            bytes[at] = (unsigned char)next_chance(chance);
            break;
        case 1:
            bytes[at] ^= (unsigned char)(1U << next_chance(chance) % 8);
            break;
        case 2:
            bytes[at] = (unsigned char)"0123456789-.,:= \n%"[next_chance(chance) % 18];
            break;
        case 3:
            if (size + piece <= capacity && rest >= piece) {
                memmove(bytes + at + piece, bytes + at, rest);
                size += piece;
            }
            break;
        case 4:
            if (rest > piece) {
                memmove(bytes + at, bytes + at + piece, rest - piece);
                size -= piece;
            }
            break;
        default:
            if (next_chance(chance) % 8 == 0)
                size = at;
        }
    }
    return size;
}

/* What is read of it is bounded by what the file can hold. */
static void read_tampered(const char *path, size_t size)
{
    const uint64_t most = ((uint64_t)size + 64) * (4 << 20);
    struct source source;
    struct file_in *file;
    struct fault fault = {.status = STATUS_DONE};
    unsigned char *samples;
    size_t bytes;

    if (!open_source(&source, &file, path, &fault)) {
        ck_assert_msg(fault.status == STATUS_INPUT || fault.status == STATUS_USAGE ||
                          fault.status == STATUS_LIMIT || fault.status == STATUS_IO,
                      "%s", fault.text);
        ck_assert_ptr_nonnull(strstr(fault.text, ": "));
        return;
    }
    bytes = header_plane_bytes(&source.header) * grid_planes(&source.header.grid);
    ck_assert_msg(bytes <= most, "%zu bytes of samples in %zu", bytes, size);
    if (bytes <= (size_t)1 << 24) {
        samples = fixture_memory(bytes, 1);
        if (!read_planes(&source, samples, &fault))
            ck_assert_msg(fault.status == STATUS_INPUT || fault.status == STATUS_IO, "%s", fault.text);
        free(samples);
    }
    source_close(&source);
    file_in_close(file);
}

enum { MUTATIONS = 800 }; /* of each format; fuzzing makes far more */

START_TEST(a_header_that_was_tampered_with_is_read_or_refused)
{
    const struct format *format = described((size_t)_i);
    struct grid grid = grid_make(3, 5, 3, 4);
    struct volume_case volume = make_case(&grid, SAMPLE_I16, ENDIAN_LITTLE);
    const struct sink_request request = {.level = format->compresses ? 1 : -1, .threads = 1};
    struct fault fault;
    char path[PATH_BYTES];
    unsigned char *whole, *bytes;
    uint64_t chance = 12345 + (uint64_t)_i;
    size_t size;

    ck_assert_msg(write_case(&volume, format, path_in(format, path), &request, &fault), "%s", fault.text);
    whole = file_content(path, &size);
    bytes = fixture_memory(size + 64, 1);
    for (int i = 0; i < MUTATIONS; i++) {
        memcpy(bytes, whole, size);
        size_t left = tamper(bytes, size, size + 64, &chance);
        file_fill(path, bytes, left);
        read_tampered(path, left);
    }
    free(bytes);
    free(whole);
    free(volume.samples);
}
END_TEST

/* ---- reads that fail ---- */

static unsigned long reads_left; /* until one fails; 0: none does */

/* Stands before that of the library. */
ssize_t pread(int descriptor, void *bytes, size_t size, off_t offset)
{
    if (reads_left > 0 && --reads_left == 0) {
        errno = EIO;
        return -1;
    }
    return syscall(SYS_pread64, descriptor, bytes, size, offset);
}

/* Whether that read was needed. */
static bool fail_read(const char *path, unsigned long read, const struct volume_case *volume)
{
    unsigned char *samples = fixture_memory(volume->bytes, 1);
    struct source source;
    struct file_in *file;
    struct fault fault;
    bool done, failed;

    reads_left = read;
    done = open_source(&source, &file, path, &fault);
    if (done) {
        done = read_planes(&source, samples, &fault);
        source_close(&source);
        file_in_close(file);
    }
    failed = reads_left == 0;
    reads_left = 0;
    if (failed)
        ck_assert_msg(!done && fault.status == STATUS_IO && strstr(fault.text, strerror(EIO)) != NULL,
                      "%s: read %lu: %s", path, read, done ? "no fault" : fault.text);
    else
        ck_assert_msg(done, "%s", fault.text);
    free(samples);
    return failed;
}

/* Each in turn, whoever asks for it. */
START_TEST(a_read_that_fails_is_told)
{
    const struct format *format = described((size_t)_i);
    struct grid grid = grid_make(3, 5, 3, 4);
    struct volume_case volume = make_case(&grid, SAMPLE_I16, ENDIAN_BIG);
    struct fault fault;
    char path[PATH_BYTES];

    for (int level = format->compresses ? 1 : 0; level >= 0; level--) {
        const struct sink_request request = {.level = level > 0 ? level : -1, .threads = 1};
        unsigned long read = 1;
        ck_assert_msg(write_case(&volume, format, path_in(format, path), &request, &fault), "%s", fault.text);
        while (fail_read(path, read, &volume))
            read++;
    }
    free(volume.samples);
}
END_TEST

/* ---- lists of formats ---- */

START_TEST(names_promise_formats)
{
    char path[PATH_BYTES];

    for (size_t i = 0; format_list[i] != NULL; i++)
        ck_assert_ptr_eq(format_of_name(path_in(format_list[i], path)), format_list[i]);
    ck_assert_ptr_eq(format_of_name("a/b.NII.GZ"), format_of_name("x.nii.gz"));
    ck_assert_ptr_eq(format_of_name("store.zarr//"), &format_zarr);
    ck_assert_ptr_null(format_of_name("folder.nii/"));
    ck_assert_ptr_null(format_of_name("nii"));
    ck_assert_ptr_null(format_of_name("volume.nii.bak"));
}
END_TEST

int main(void)
{
    TCase *trips = tcase_create("trips"), *damage = tcase_create("damage");
    TCase *const cases[] = {trips, damage};
    int formats = (int)described_count();

    tcase_add_test(trips, names_promise_formats);
    tcase_add_loop_test(trips, what_is_written_is_read_back, 0, formats);
    tcase_add_loop_test(trips, threads_do_not_change_a_byte, 0, formats);
    tcase_add_loop_test(trips, planes_are_written_in_any_order, 0, formats);
    tcase_add_loop_test(trips, planes_come_out_of_reversed_files, 0, (int)(2 * LENGTH(turned_shapes)));
    tcase_add_loop_test(damage, a_read_that_fails_is_told, 0, formats);
    tcase_add_loop_test(damage, a_header_that_was_tampered_with_is_read_or_refused, 0, formats);
    return harness_run("format", cases, LENGTH(cases), PATIENCE);
}
