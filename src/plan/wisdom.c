/* Wisdom: what was measured to be fastest on a device, kept for plans to come.

   It is one text file in the user's caches, with a line for each device and problem. --tune replaces a line
   by writing the whole file anew and renaming it, so that a run never reads half of it. Two that write at
   once both leave a whole file, of which one lacks the other's line. Wisdom never decides what is right, only
   what is fast: a form that the device refuses is passed over, and a damaged file counts as none. */
#include "wisdom.h"

#include "base/file_set.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The first line of the file. Another version of the program has other kernels: its file is not read, and is
   replaced when wisdom is next kept. */
#define WISDOM_MARK  "voxfilt wisdom "
#define WISDOM_FIRST WISDOM_MARK "3 of " PACKAGE_VERSION "\n"

#define LINE_BYTES 640
#define MOST_LINES 4096
#define MOST_SHAPE 65536 /* of any number that makes up a form */

/* Fields are kept apart by tabs, which no name holds. */
#define WISDOM_SCAN   "%255[^\t]\t%127[^\t]\t%31[^\t]\t%u\t%u\t%u\t%u\t%u\t%lf%c"
#define WISDOM_PRINT  "%s\t%s\t%s\t%u\t%u\t%u\t%u\t%u\t%.6g\n"
#define WISDOM_FIELDS 10

/* Extents of one power of two share wisdom: what is fastest changes slowly with the size. */
static unsigned extent_class(size_t extent)
{
    unsigned class = 0;

    while (extent >>= 1)
        class ++;
    return class;
}

void wisdom_name_device(struct wisdom_entry *entry, const struct backend *backend, int index,
                        unsigned threads, size_t together)
{
    backend->describe(index, entry->device, sizeof entry->device);
    /* The fastest form may be another one for other numbers of threads or devices, so they are part of the
       name. */
    if (backend == &backend_cpu && threads > 0)
        diag_append(entry->device, sizeof entry->device, ", -j %u", threads);
    else if (together > 1)
        diag_append(entry->device, sizeof entry->device, ", %zu together", together);
}

void wisdom_name_problem(struct wisdom_entry *entry, const struct op *op, const struct shape *shape,
                         bool single)
{
    snprintf(entry->problem, sizeof entry->problem,
             "%s %zu flux %d joint %u inner %llu reach %d..%d %d..%d %d..%d %s%s %s on %u %u %u", op_name(op),
             op->tap_count, (int)op->flux, op->joint, (unsigned long long)op->inner, op->x.low, op->x.high,
             op->row.low, op->row.high, op->plane.low, op->plane.high, op->missing ? "missing " : "",
             work_name(op->work), single ? "once" : "often", extent_class(shape->nx),
             extent_class(shape->rows), extent_class(shape->planes));
}

/* The name of the folder, of this user's caches; false where the environment names none. */
static bool folder_name(char *path, size_t size)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int length;

    if (cache != NULL && cache[0] == '/')
        length = snprintf(path, size, "%s/voxfilt", cache);
    else if (home != NULL && home[0] == '/')
        length = snprintf(path, size, "%s/.cache/voxfilt", home);
    else
        return false;
    return length > 0 && (size_t)length < size;
}

static bool file_name(char *path, size_t size)
{
    size_t used;

    if (!folder_name(path, size))
        return false;
    used = strlen(path);
    return snprintf(path + used, size - used, "/wisdom") < (int)(size - used);
}

static bool is_form(const struct wisdom_entry *entry)
{
    return entry->tile_x <= MOST_SHAPE && entry->tile_y <= MOST_SHAPE && entry->coarsen <= MOST_SHAPE &&
           entry->stride <= MOST_SHAPE && entry->steps <= MOST_SHAPE && isfinite(entry->updates) &&
           entry->updates > 0.0;
}

static bool scan(const char *line, struct wisdom_entry *entry)
{
    char end = '\0';

    return sscanf(line, WISDOM_SCAN, entry->device, entry->problem, entry->rung, &entry->tile_x,
                  &entry->tile_y, &entry->coarsen, &entry->stride, &entry->steps, &entry->updates,
                  &end) == WISDOM_FIELDS &&
           end == '\n' && is_form(entry);
}

static bool same_problem(const struct wisdom_entry *a, const struct wisdom_entry *b)
{
    return strcmp(a->device, b->device) == 0 && strcmp(a->problem, b->problem) == 0;
}

/* A file that grows beyond all that --tune writes is not ours. */
static bool add_entry(struct wisdom *wisdom, const struct wisdom_entry *entry)
{
    struct wisdom_entry *grown;

    if (wisdom->count == MOST_LINES)
        return false;
    grown = realloc(wisdom->entries, (wisdom->count + 1) * sizeof *grown);
    if (grown == NULL)
        return false;
    wisdom->entries = grown;
    wisdom->entries[wisdom->count++] = *entry;
    return true;
}

/* Whether all of the file makes sense; one of another version says nothing, and rightly so. */
static bool read_wisdom(FILE *file, struct wisdom *wisdom)
{
    char line[LINE_BYTES];
    struct wisdom_entry entry;

    if (fgets(line, sizeof line, file) == NULL || strncmp(line, WISDOM_MARK, strlen(WISDOM_MARK)) != 0)
        return false;
    /* Not damaged, but of another version: none of its lines is known here. */
    if (strcmp(line, WISDOM_FIRST) != 0)
        return true;
    while (fgets(line, sizeof line, file) != NULL) {
        if (!scan(line, &entry) || !add_entry(wisdom, &entry))
            return false;
    }
    return !ferror(file);
}

void wisdom_load(struct wisdom *wisdom)
{
    char path[4096];
    FILE *file = file_name(path, sizeof path) ? fopen(path, "r") : NULL;

    *wisdom = (struct wisdom){.count = 0};
    if (file == NULL)
        return;
    if (!read_wisdom(file, wisdom)) {
        diag_note("%s: damaged wisdom is ignored; --tune replaces it", path);
        wisdom_free(wisdom);
    }
    fclose(file);
}

void wisdom_free(struct wisdom *wisdom)
{
    free(wisdom->entries);
    *wisdom = (struct wisdom){.count = 0};
}

const struct wisdom_entry *wisdom_find(const struct wisdom *wisdom, const struct wisdom_entry *entry)
{
    for (size_t i = 0; wisdom != NULL && i < wisdom->count; i++) {
        if (same_problem(&wisdom->entries[i], entry))
            return &wisdom->entries[i];
    }
    return NULL;
}

/* Every folder on the way; those that exist are fine. */
static bool make_folders(struct fault *fault)
{
    char path[4096];

    if (!folder_name(path, sizeof path))
        return fault_raise(fault, STATUS_IO,
                           "--tune: neither XDG_CACHE_HOME nor HOME names a folder for wisdom");
    /* The path is cut at each slash in turn, and made whole again behind it. */
    for (char *slash = strchr(path + 1, '/');; slash = strchr(slash + 1, '/')) {
        if (slash != NULL)
            *slash = '\0';
        if (mkdir(path, 0777) != 0 && errno != EEXIST)
            return fault_set_for(fault, STATUS_IO, path, "%s", strerror(errno));
        if (slash == NULL)
            return true;
        *slash = '/';
    }
}

static bool write_text(struct file_out *out, const char *text, struct fault *fault)
{
    return file_out_write(out, text, strlen(text), fault);
}

static bool write_entry(struct file_out *out, const struct wisdom_entry *entry, struct fault *fault)
{
    char line[LINE_BYTES];

    snprintf(line, sizeof line, WISDOM_PRINT, entry->device, entry->problem, entry->rung, entry->tile_x,
             entry->tile_y, entry->coarsen, entry->stride, entry->steps, entry->updates);
    return write_text(out, line, fault);
}

/* Write the entries of other problems, then the new one. */
static bool write_wisdom(struct file_out *out, const struct wisdom_entry *entry, struct fault *fault)
{
    struct wisdom known;
    bool written = write_text(out, WISDOM_FIRST, fault);

    wisdom_load(&known);
    for (size_t i = 0; written && i < known.count; i++) {
        if (!same_problem(&known.entries[i], entry))
            written = write_entry(out, &known.entries[i], fault);
    }
    wisdom_free(&known);
    return written && write_entry(out, entry, fault);
}

bool wisdom_keep(const struct wisdom_entry *entry, struct fault *fault)
{
    char path[4096];
    struct file_out *out;
    bool kept;

    if (!make_folders(fault) || !file_name(path, sizeof path) || !file_out_open(&out, path, fault))
        return false;
    kept = write_wisdom(out, entry, fault) && file_set_commit_one(out, fault);
    file_out_close(out);
    return kept;
}

/* ---- links ---- */

static const char bytes_a_second[] = "bytes a second", messages_a_second[] = "messages a second";

static struct wisdom_entry link_entry(const char *name, const char *problem, double rate)
{
    struct wisdom_entry entry = {.rung = "link", .updates = rate};

    snprintf(entry.device, sizeof entry.device, "%s", name);
    snprintf(entry.problem, sizeof entry.problem, "%s", problem);
    return entry;
}

static double find_rate(const struct wisdom *wisdom, const char *name, const char *problem)
{
    const struct wisdom_entry key = link_entry(name, problem, 0.0);
    const struct wisdom_entry *known = wisdom_find(wisdom, &key);

    return known == NULL ? 0.0 : known->updates;
}

bool wisdom_find_link(const struct wisdom *wisdom, const char *name, struct link *link)
{
    double bytes = find_rate(wisdom, name, bytes_a_second);
    double messages = find_rate(wisdom, name, messages_a_second);

    if (bytes == 0.0 || messages == 0.0)
        return false;
    *link = (struct link){bytes, 1.0 / messages};
    return true;
}

bool wisdom_keep_link(const char *name, const struct link *link, struct fault *fault)
{
    const struct wisdom_entry bytes = link_entry(name, bytes_a_second, link->bytes_per_second);
    const struct wisdom_entry messages = link_entry(name, messages_a_second, 1.0 / link->seconds);

    return wisdom_keep(&bytes, fault) && wisdom_keep(&messages, fault);
}
