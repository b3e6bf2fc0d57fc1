/* Volumes of any length through pipes: one is made, another added up, and what ten steps of heat make of the
   first is known from slabs that are computed one by one. */
#include "base/threads.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHUNK_BYTES ((size_t)1 << 20)
#define SLAB_BYTES  ((size_t)128 << 20)
#define LANES       8

static _Noreturn void fail(const char *what)
{
    fprintf(stderr, "long_volume: %s: %s\n", what, errno != 0 ? strerror(errno) : "not understood");
    exit(EXIT_FAILURE);
}

static void *room(size_t bytes)
{
    void *memory = malloc(bytes);

    if (memory == NULL)
        fail("memory");
    return memory;
}

/* ---- the volume ---- */

/* Two samples from 0 to 1, of 24 bits each, from where they stand. */
static void make_pair(uint64_t index, float *samples)
{
    uint64_t h = index * 0x9e3779b97f4a7c15u;

    h = (h ^ h >> 30) * 0xbf58476d1ce4e5b9u;
    h = (h ^ h >> 27) * 0x94d049bb133111ebu;
    samples[0] = (float)(int32_t)(h >> 40) * 0x1p-24f;
    samples[1] = (float)(int32_t)(h >> 8 & 0xffffff) * 0x1p-24f;
}

static void make_samples(uint64_t first, float *samples, size_t count)
{
    for (size_t i = 0; i < count; i += 2)
        make_pair((first + i) / 2, samples + i);
}

static void make(uint64_t total)
{
    float *samples = room(CHUNK_BYTES);
    size_t most = CHUNK_BYTES / sizeof *samples, count;

    for (uint64_t done = 0; done < total; done += count) {
        count = total - done < most ? (size_t)(total - done) : most;
        make_samples(done, samples, count);
        if (fwrite(samples, sizeof *samples, count, stdout) != count)
            fail("standard output");
    }
    free(samples);
}

/* ---- a checksum ---- */

struct sum {
    uint64_t lanes[LANES], words;
};

static void add(struct sum *sum, const void *bytes, size_t size)
{
    uint64_t word;

    for (size_t i = 0; i < size; i += sizeof word) {
        uint64_t *lane = &sum->lanes[sum->words++ % LANES];
        memcpy(&word, (const char *)bytes + i, sizeof word);
        *lane = (*lane ^ word) * 0x9e3779b97f4a7c15u;
        *lane ^= *lane >> 32;
    }
}

static void print(const struct sum *sum)
{
    uint64_t whole = sum->words;

    for (size_t i = 0; i < LANES; i++)
        whole = (whole ^ sum->lanes[i]) * 0xbf58476d1ce4e5b9u;
    printf("%016llx %llu\n", (unsigned long long)whole, (unsigned long long)sum->words);
}

static void add_input(void)
{
    char *bytes = room(CHUNK_BYTES);
    struct sum sum = {0};
    size_t got;

    while ((got = fread(bytes, 1, CHUNK_BYTES, stdin)) > 0) {
        memset(bytes + got, 0, (8 - got % 8) % 8);
        add(&sum, bytes, got);
    }
    print(&sum);
    free(bytes);
}

/* ---- what heat makes of it ---- */

struct extents {
    size_t nx, ny, nz;
};

static size_t clamped(size_t index, int offset, size_t n)
{
    if ((offset < 0 && index == 0) || (offset > 0 && index == n - 1))
        return index;
    return offset < 0 ? index - 1 : index + 1;
}

/* All weights are powers of two, so that products are exact and fma is an addition. */
static float heat(float below, float before, float left, float centre, float right, float behind, float above)
{
    float u = 0.125f * below;

    u += 0.125f * before;
    u += 0.125f * left;
    u += 0.25f * centre;
    u += 0.125f * right;
    u += 0.125f * behind;
    return u + 0.125f * above;
}

static void step_row(const struct extents *extents, const float *rows[5], float *out)
{
    const float *below = rows[0], *before = rows[1], *own = rows[2], *behind = rows[3], *above = rows[4];
    size_t last = extents->nx - 1;

    out[0] = heat(below[0], before[0], own[0], own[0], own[clamped(0, 1, extents->nx)], behind[0], above[0]);
    for (size_t x = 1; x < last; x++)
        out[x] = heat(below[x], before[x], own[x - 1], own[x], own[x + 1], behind[x], above[x]);
    if (last > 0)
        out[last] =
            heat(below[last], before[last], own[last - 1], own[last], own[last], behind[last], above[last]);
}

/* A plane of a slab; planes beside the volume are those at its ends. */
static void step_plane(const struct extents *extents, const float *from, float *to, size_t plane,
                       size_t below, size_t above)
{
    size_t nx = extents->nx, ny = extents->ny;

    for (size_t y = 0; y < ny; y++) {
        const float *rows[5] = {from + (below * ny + y) * nx, from + (plane * ny + clamped(y, -1, ny)) * nx,
                                from + (plane * ny + y) * nx, from + (plane * ny + clamped(y, 1, ny)) * nx,
                                from + (above * ny + y) * nx};
        step_row(extents, rows, to + (plane * ny + y) * nx);
    }
}

/* A step of a slab whose first plane is `base` of the volume. */
struct stepping {
    const struct extents *extents;
    const float *from;
    float *to;
    size_t base, first;
};

static void step_planes(void *context, size_t first, size_t count, unsigned member)
{
    const struct stepping *step = context;
    size_t nz = step->extents->nz;

    (void)member;
    for (size_t plane = step->first + first; plane < step->first + first + count; plane++)
        step_plane(step->extents, step->from, step->to, plane,
                   clamped(step->base + plane, -1, nz) - step->base,
                   clamped(step->base + plane, 1, nz) - step->base);
}

/* A slab with as many planes beside it as there are steps, of which each step makes one fewer right. */
static void add_slab(const struct extents *extents, size_t steps, size_t first, size_t end, float *fields[2],
                     struct sum *sum)
{
    size_t base = first > steps ? first - steps : 0;
    size_t behind = extents->nz - end > steps ? end + steps : extents->nz;
    size_t plane = extents->nx * extents->ny;
    struct pool *pool;
    struct fault fault;

    if (!pool_create(&pool, (unsigned)thread_count(0) - 1, THREAD_FULL_STACK, &fault))
        fail(fault.text);
    make_samples((uint64_t)base * plane, fields[0], (behind - base) * plane);
    for (size_t k = 1; k <= steps; k++) {
        size_t left = steps - k, low = first > left ? first - left : 0;
        size_t high = extents->nz - end > left ? end + left : extents->nz;
        struct stepping step = {extents, fields[(k + 1) % 2], fields[k % 2], base, low - base};
        pool_share(pool, (unsigned)thread_count(0), high - low, 1, step_planes, &step);
    }
    pool_destroy(pool);
    add(sum, fields[steps % 2] + (first - base) * plane, (end - first) * plane * sizeof(float));
}

static void expect(const struct extents *extents, size_t steps)
{
    size_t plane = extents->nx * extents->ny * sizeof(float), slab = SLAB_BYTES / plane + 1;
    float *fields[2] = {room((slab + 2 * steps) * plane), room((slab + 2 * steps) * plane)};
    struct sum sum = {0};

    for (size_t first = 0; first < extents->nz; first += slab)
        add_slab(extents, steps, first, extents->nz - first < slab ? extents->nz : first + slab, fields,
                 &sum);
    print(&sum);
    free(fields[0]);
    free(fields[1]);
}

/* ---- a command's memory ---- */

/* Run it, and print the most KiB that it had in memory at once. */
static int watch(char **command)
{
    struct rusage usage;
    pid_t child = fork();
    int status;

    if (child == 0) {
        execvp(command[0], command);
        _exit(127);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || getrusage(RUSAGE_CHILDREN, &usage) != 0)
        fail(command[0]);
    fprintf(stderr, "%ld\n", usage.ru_maxrss);
    return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILURE;
}

/* ---- the command line ---- */

static size_t number(const char *text)
{
    char *end;
    unsigned long long value = strtoull(text, &end, 10);

    if (end == text || *end != '\0' || value == 0 || value % 2 != 0)
        fail(text);
    return (size_t)value;
}

static struct extents extents_of(char **texts)
{
    return (struct extents){number(texts[0]), number(texts[1]), number(texts[2])};
}

int main(int argc, char **argv)
{
    const char *verb = argc > 1 ? argv[1] : "";

    errno = 0;
    if (strcmp(verb, "make") == 0 && argc == 5) {
        struct extents extents = extents_of(argv + 2);
        make((uint64_t)extents.nx * extents.ny * extents.nz);
    } else if (strcmp(verb, "sum") == 0 && argc == 2) {
        add_input();
    } else if (strcmp(verb, "heat") == 0 && argc == 6) {
        struct extents extents = extents_of(argv + 2);
        expect(&extents, number(argv[5]));
    } else if (strcmp(verb, "watch") == 0 && argc > 2) {
        return watch(argv + 2);
    } else {
        fputs("Usage: long_volume make X Y Z | sum | heat X Y Z STEPS | watch COMMAND... (even numbers)\n",
              stderr);
        return EXIT_FAILURE;
    }
    if (fflush(stdout) != 0)
        fail("standard output");
    return EXIT_SUCCESS;
}
