/* Wisdom: what was measured to be fastest on a device, kept for plans to come. */
#include "wisdom.h"

#include "file.h"
#include "mem.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The first line of the file; one of another version is not read, and is replaced when wisdom is next kept.
 */
#define WISDOM_VERSION "voxfilt wisdom 1\n"

#define LINE_BYTES 512

/* Fields are kept apart by tabs, which no name holds. */
#define WISDOM_SCAN   "%159[^\t]\t%95[^\t]\t%31[^\t]\t%u\t%u\t%u\t%u\t%lf"
#define WISDOM_PRINT  "%s\t%s\t%s\t%u\t%u\t%u\t%u\t%.6g\n"
#define WISDOM_FIELDS 8

static unsigned extent_class(size_t extent)
{
    unsigned class = 0;

    while (extent >>= 1)
        class ++;
    return class;
}

static const char *kind_name(enum op_kind kind)
{
    switch (kind) {
    case OP_TAPS:
        return "taps";
    case OP_HEAT:
        return "heat";
    case OP_UNSHARP:
        return "unsharp";
    case OP_GRADIENT:
        return "gradient";
    }
    return "";
}

void wisdom_name(struct wisdom_entry *entry, const char *device, const struct op *op,
                 const struct shape *shape)
{
    snprintf(entry->device, sizeof entry->device, "%s", device);
    snprintf(entry->problem, sizeof entry->problem,
             "%s %zu flux %d inner %llu reach %d..%d %d..%d %d..%d %s on %u %u %u", kind_name(op->kind),
             op->tap_count, (int)op->flux, (unsigned long long)op->inner, op->x.low, op->x.high, op->row.low,
             op->row.high, op->plane.low, op->plane.high, work_name(op->work), extent_class(shape->nx),
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

static bool scan(const char *line, struct wisdom_entry *entry)
{
    return sscanf(line, WISDOM_SCAN, entry->device, entry->problem, entry->rung, &entry->tile_x,
                  &entry->tile_y, &entry->coarsen, &entry->stride, &entry->updates) == WISDOM_FIELDS;
}

static bool same_problem(const struct wisdom_entry *a, const struct wisdom_entry *b)
{
    return strcmp(a->device, b->device) == 0 && strcmp(a->problem, b->problem) == 0;
}

/* The file, past its first line; NULL where there is none of this version. */
static FILE *open_wisdom(void)
{
    char path[4096], line[LINE_BYTES];
    FILE *file = file_name(path, sizeof path) ? fopen(path, "r") : NULL;

    if (file == NULL)
        return NULL;
    if (fgets(line, sizeof line, file) != NULL && strcmp(line, WISDOM_VERSION) == 0)
        return file;
    fclose(file);
    return NULL;
}

bool wisdom_find(struct wisdom_entry *entry)
{
    FILE *file = open_wisdom();
    char line[LINE_BYTES];
    bool found = false;

    if (file == NULL)
        return false;
    while (!found && fgets(line, sizeof line, file) != NULL) {
        struct wisdom_entry known;
        found = scan(line, &known) && same_problem(&known, entry);
        if (found)
            *entry = known;
    }
    fclose(file);
    return found;
}

/* Every folder on the way; those that exist are fine. */
static bool make_folders(struct fault *fault)
{
    char path[4096];

    if (!folder_name(path, sizeof path))
        return fault_raise(fault, STATUS_IO,
                           "--tune: neither XDG_CACHE_HOME nor HOME names a folder for wisdom");
    for (char *slash = strchr(path + 1, '/');; slash = strchr(slash + 1, '/')) {
        if (slash != NULL)
            *slash = '\0';
        if (mkdir(path, 0777) != 0 && errno != EEXIST)
            return fault_raise(fault, STATUS_IO, "%s: %s", path, strerror(errno));
        if (slash == NULL)
            return true;
        *slash = '/';
    }
}

static bool write_text(struct file_out *out, const char *text, struct fault *fault)
{
    return file_out_write(out, text, strlen(text), fault);
}

/* The old lines that speak of other problems, then the new one. */
static bool write_wisdom(struct file_out *out, const struct wisdom_entry *entry, struct fault *fault)
{
    FILE *old = open_wisdom();
    char line[LINE_BYTES];
    bool written = write_text(out, WISDOM_VERSION, fault);

    while (written && old != NULL && fgets(line, sizeof line, old) != NULL) {
        struct wisdom_entry known;
        if (scan(line, &known) && !same_problem(&known, entry))
            written = write_text(out, line, fault);
    }
    if (old != NULL)
        fclose(old);
    snprintf(line, sizeof line, WISDOM_PRINT, entry->device, entry->problem, entry->rung, entry->tile_x,
             entry->tile_y, entry->coarsen, entry->stride, entry->updates);
    return written && write_text(out, line, fault);
}

bool wisdom_keep(const struct wisdom_entry *entry, struct fault *fault)
{
    char path[4096];
    struct file_out *out;
    bool kept;

    if (!make_folders(fault) || !file_name(path, sizeof path) || !file_open_output(&out, path, fault))
        return false;
    kept = write_wisdom(out, entry, fault) && file_out_commit(out, fault);
    file_out_close(out);
    return kept;
}
