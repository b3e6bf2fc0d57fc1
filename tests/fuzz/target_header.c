/* Headers: a file of any format is read, its samples too, and a header of any format is written for the
   result, with what the file tells. */
#include "fuzz.h"

#include "base/path.h"
#include "plan/job.h"
#include "cli/command_line.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { SAMPLES_MOST = 1 << 15, BESIDE_MOST = 64 << 20, WAYS = 5 };

/* What is asked of the results. */
static struct options ways[WAYS];

static void parse_ways(void)
{
    static char name[] = "voxfilt", filter[] = "-f", identity[] = "identity",
                crop[] = "--crop=1:", planes[] = "--planes=1:", sobel[] = "sobel:x", gauss[] = "gauss:1",
                type[] = "--out-type=f32";
    static char *words[WAYS][5] = {{name, filter, identity},
                                   {name, filter, identity, crop},
                                   {name, filter, identity, planes},
                                   {name, filter, sobel, type},
                                   {name, filter, gauss, crop}};
    struct fault fault;

    for (size_t i = 0; i < WAYS; i++) {
        int count = 0;
        while (words[i][count] != NULL)
            count++;
        if (!command_line_parse(count, words[i], PROGRAM_VOXFILT, &ways[i], &fault))
            fuzz_fail(fault.text);
    }
}

/* Headers name them: those of NIfTI by the name of the input. */
static void put_samples(void)
{
    static const char *const names[] = {"samples", "samples0", "samples1", "in.img"};
    unsigned char bytes[96];

    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(i * 37);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        fuzz_put_file(names[i], bytes, i == 0 || i == 3 ? 24 : 12);
}

static const struct format *choose(size_t draw, const struct format *own)
{
    size_t count = 0;

    while (format_list[count] != NULL)
        count++;
    return draw % 2 == 0 ? own : format_list[draw / 2 % count];
}

static bool write_samples(struct sink *sink, struct fault *fault)
{
    size_t planes = grid_planes(&sink->header.grid), plane = header_plane_bytes(&sink->header);
    unsigned char *samples = plane * planes > SAMPLES_MOST * sizeof(double) ? NULL : calloc(plane, planes);
    bool done = samples == NULL || (sink_write(sink, samples, planes, fault) && sink_finish(sink, fault));

    free(samples);
    return done;
}

static void write_file(const struct job *job, const struct source *source, const struct format *format)
{
    const struct sink_request request = {.level = -1, .threads = 1, .origin = source, .pattern = "out"};
    struct file_out *file;
    struct sink sink;
    struct fault fault;

    if (!(format->folder ? file_out_open_folder : file_out_open)(&file, "out", &fault))
        fuzz_fail(fault.text);
    if (sink_open(&sink, file, format, &job->written, &request, &fault)) {
        if (!write_samples(&sink, &fault))
            fuzz_check_fault(&fault);
        sink_close(&sink);
    } else {
        fuzz_check_fault(&fault);
    }
    file_out_close(file);
}

static void write_result(const struct source *source, size_t draw)
{
    const struct format *format = choose(draw / WAYS, source->format);
    struct dropped dropped = {""};
    struct fault fault;
    struct job job;
    const struct receiver to = {format, "result", &job.written};

    if (!job_make(&ways[draw % WAYS].job, source, NULL, &job, &fault)) {
        fuzz_check_fault(&fault);
        return;
    }
    write_file(&job, source, format);
    if (source->format->list_dropped != NULL)
        source->format->list_dropped(source, &to, &dropped);
    job_free(&job);
}

/* The last volume first, and of each the last half of the planes. */
static bool read_halves(struct source *source, unsigned char *samples, size_t plane, struct fault *fault)
{
    const struct grid *grid = &source->header.grid;
    size_t planes = grid_planes(grid), first = planes / 2;
    const struct region before = region_of_planes(grid, 0, first),
                        after = region_of_planes(grid, first, planes - first);

    for (size_t volume = source->header.volumes; volume-- > 0;) {
        unsigned char *to = samples + volume * planes * plane;
        if (!source_read_box(source, to + first * plane, volume, &after, fault) ||
            (first > 0 && !source_read_box(source, to, volume, &before, fault)))
            return false;
    }
    return source_end(source, fault);
}

/* In halves, the last one first where that is possible. */
static bool read_planes(struct source *source, unsigned char *samples, size_t planes, size_t plane,
                        struct fault *fault)
{
    size_t first = planes / 2;

    if (source->random)
        return read_halves(source, samples, plane, fault);
    return (first == 0 || source_read(source, samples, first, fault)) &&
           source_read(source, samples + first * plane, planes - first, fault) && source_end(source, fault);
}

static bool read_samples(struct source *source, struct fault *fault)
{
    size_t planes = grid_planes(&source->header.grid) * source->header.volumes;
    size_t plane = header_plane_bytes(&source->header);
    unsigned char *samples;
    bool done;

    if (header_samples(&source->header) > SAMPLES_MOST || source->beside_bytes > BESIDE_MOST)
        return true;
    samples = malloc(plane * planes);
    done = samples != NULL && read_planes(source, samples, planes, plane, fault);
    free(samples);
    return done;
}

static bool read_file(const char *path, const struct format *format, size_t draw, struct fault *fault)
{
    const struct source_request request = {.grid = grid_make(3, 0, 0, 0), .threads = 1};
    struct file_in *file;
    struct source source;
    char folder[64];
    bool done;

    if (!file_in_open(&file, path, fault))
        return false;
    snprintf(folder, sizeof folder, "%.*s", (int)path_folder_length(path), path);
    if (format != NULL && format->folder)
        file_in_call(file, folder);
    if (format == NULL)
        format = format_of_input(file, &request, fault);
    done = format != NULL && source_open(&source, file, format, &request, fault);
    if (done) {
        done = read_samples(&source, fault);
        /* A page of each of so many volumes would take long; only metadata alone can tell of them. */
        if (source.header.volumes <= SAMPLES_MOST)
            write_result(&source, draw);
        source_close(&source);
    }
    file_in_close(file);
    return done;
}

void fuzz_read(const char *path, const struct format *format, size_t draw)
{
    struct fault fault;

    if (ways[0].stages == NULL)
        parse_ways();
    if (!read_file(path, format, draw, &fault))
        fuzz_check_fault(&fault);
}

void fuzz_header(const uint8_t *bytes, size_t size)
{
    put_samples();
    fuzz_put_file("in.hdr", bytes, size);
    fuzz_read("in.hdr", NULL, crc32(0, bytes, (uInt)size));
}
