/* The outputs of a command: what each is called, and that no file which a command writes is another one that
   it reads or writes.

   A path set holds the paths of a command, each with its role: taps files and the mask, then outputs, each
   followed by its input, then report, preview and plot, then tees. Each path is looked up once, links
   followed, so that a file is the same whatever it is called. Checks compare each path with those before it,
   which is why the order matters. Of outputs in a folder there may be thousands, and these are sorted
   instead. A file that is yet to be made is known by its folder and its name; a stack, by all names that its
   pattern may have. */
#include "outputs.h"

#include "base/file_in.h"
#include "base/mem.h"
#include "base/path.h"
#include "format/stack.h"
#include "format/volume.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_directory(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

/* Whether it is the name of an output that is itself a folder; it may have slashes at its end. */
static bool names_folder(const struct options *options, const char *path)
{
    const struct format *format = format_of_name(path);

    return options->program == PROGRAM_VOXFILT && format != NULL && format->folder &&
           (options->out_format == NULL || options->out_format->folder);
}

/* Whether it is the name of a folder for outputs, there yet or not. */
static bool names_directory(const struct options *options, const char *path)
{
    return path != NULL && *path != '\0' && !names_folder(options, path) &&
           (path[strlen(path) - 1] == '/' || is_directory(path));
}

/* In a folder an output has the input's name, with the ending of the format that is asked for. */
static char *join_name(const struct options *options, const char *name, struct fault *fault)
{
    const char *directory = options->output, *ending = "";
    const struct format *format = options->out_format;
    size_t length = strlen(name), size;
    char *path;

    if (format != NULL && format != format_of_name(name)) {
        length = format_stem_length(name);
        ending = format->name;
    }
    size = strlen(directory) + length + strlen(ending) + 3;
    path = mem_alloc(size, 1, "a file name", fault);
    if (path != NULL)
        snprintf(path, size, "%s%s%.*s%s%s", directory, directory[strlen(directory) - 1] == '/' ? "" : "/",
                 (int)length, name, *ending == '\0' ? "" : ".", ending);
    return path;
}

/* The name of an input that is a folder may have slashes behind it. */
static char *name_in_directory(const struct options *options, const char *input, struct fault *fault)
{
    char *name = mem_text(input, fault), *path;

    if (name == NULL)
        return NULL;
    name[path_length_before_slashes(name)] = '\0';
    path = join_name(options, path_base_name(name), fault);
    mem_free(name);
    return path;
}

/* The name of the output as it was given, but for slashes at the end of a folder's. */
static char *name_as_given(const struct options *options, struct fault *fault)
{
    char *name = mem_text(options->output == NULL ? "-" : options->output, fault);

    if (name != NULL && names_folder(options, name))
        name[path_length_before_slashes(name)] = '\0';
    return name;
}

bool outputs_name(struct outputs *outputs, const struct options *options, struct fault *fault)
{
    bool directory = names_directory(options, options->output), done;

    *outputs = (struct outputs){.count = 0};
    if (!peers_broadcast(options->peers, &directory, sizeof directory, fault))
        return false;
    outputs->paths = mem_zeroed(options->input_count, sizeof *outputs->paths, "file names", fault);
    done = outputs->paths != NULL;
    for (size_t i = 0; done && i < options->input_count; i++) {
        outputs->paths[i] =
            directory ? name_in_directory(options, options->inputs[i], fault) : name_as_given(options, fault);
        done = outputs->paths[i] != NULL;
        outputs->count += done;
    }
    if (!done)
        outputs_free(outputs);
    return done;
}

void outputs_free(struct outputs *outputs)
{
    for (size_t i = 0; i < outputs->count; i++)
        mem_free(outputs->paths[i]);
    mem_free(outputs->paths);
    *outputs = (struct outputs){0};
}

/* ---- the paths of a command ---- */

/* Longer paths cannot be opened. */
#define MOST_PATH 4096

/* The use of a path; a set is in this order, with each input behind its output. */
enum role { TAPS, MASK, OUTPUT, INPUT, EXTRA, TEE };

/* Why a file may not be written to the place of an earlier path. */
static const char *const reasons[] = {
    [TAPS] = "a taps file would be replaced", [MASK] = "the mask would be replaced",
    [OUTPUT] = "an output goes there",        [INPUT] = "an input would be replaced",
    [TEE] = "another state goes there",
};

struct entry {
    enum role role;
    char *path;
    const char *given;  /* the path of the command line that it is or, of samples, goes with */
    const char *option; /* of an extra */
    size_t owner;       /* paths of the same role and owner are not in each other's way */
    bool samples;       /* those of the owner, whose header is a file of its own */
    bool stack;         /* the path is a pattern: all pictures that it may name */
    char *name;         /* of the file, without links; NULL: its folder is not there */
    const char *key;    /* that it is sorted by: its path, or its name */
    bool there, device;
    dev_t dev; /* these two where it is there */
    ino_t ino;
};

struct path_set {
    const struct options *options;
    struct entry *entries;
    size_t count, capacity;
};

/* Without links, the name of a file that is yet to be made: that of its folder, and its own in there. */
static char *coming_name(const char *path)
{
    char *target = path_target(path), *folder, name[MOST_PATH];
    const char *own = target == NULL ? NULL : path_base_name(target);

    if (target == NULL)
        return NULL;
    snprintf(name, sizeof name, "%.*s.", (int)(own - target), target);
    folder = realpath(name, NULL);
    if (folder != NULL)
        snprintf(name, sizeof name, "%s/%s", folder, own);
    free(target);
    free(folder);
    return folder == NULL ? NULL : strdup(name);
}

/* Find out which file a path leads to; "-" is the file behind a descriptor. */
static void locate(struct entry *entry, int descriptor)
{
    const char *path = entry->path;
    struct stat info;

    entry->there = (path_is_standard(path) ? fstat(descriptor, &info) : stat(path, &info)) == 0;
    if (entry->there) {
        entry->device = S_ISCHR(info.st_mode);
        entry->dev = info.st_dev;
        entry->ino = info.st_ino;
    }
    entry->name = entry->there && !entry->stack ? realpath(path, NULL) : coming_name(path);
}

/* Add a path to the set, and look it up. */
static bool add(struct path_set *set, struct entry entry, const char *path, struct fault *fault)
{
    struct entry *grown =
        mem_grow(set->entries, set->count, &set->capacity, sizeof *grown, "file names", fault);

    if (grown == NULL)
        return false;
    set->entries = grown;
    entry.path = mem_text(path, fault);
    if (entry.path == NULL)
        return false;
    /* A picture alone has such a name as it is. */
    entry.stack = set->options->program == PROGRAM_VOXFILT && stack_of_name(path) != NULL;
    locate(&entry, entry.role == OUTPUT || entry.role == TEE ? STDOUT_FILENO : STDIN_FILENO);
    set->entries[set->count++] = entry;
    return true;
}

static void free_set(struct path_set *set)
{
    for (size_t i = 0; i < set->count; i++) {
        mem_free(set->entries[i].path);
        free(set->entries[i].name);
    }
    mem_free(set->entries);
}

/* A file to write and, if the header is a file of its own, where samples may go beside it: compressed or not,
   links followed. */
static bool add_written(struct path_set *set, enum role role, size_t owner, const char *path,
                        struct fault *fault)
{
    const struct format *asked = set->options->out_format;
    const struct format *format = asked != NULL ? asked : format_of_name(path);
    char *target = format != NULL && format->data_suffix != NULL ? path_target(path) : NULL;
    char samples[MOST_PATH];
    bool added = true;

    for (int packed = 0; added && target != NULL && packed < 2; packed++) {
        if ((packed == 0 || format->data_suffix_compressed != NULL) &&
            format_name_data(format, target, packed == 1, samples, sizeof samples))
            added = add(set, (struct entry){.role = role, .given = path, .owner = owner, .samples = true},
                        samples, fault);
    }
    free(target);
    return added && add(set, (struct entry){.role = role, .given = path, .owner = owner}, path, fault);
}

/* Each input with its output. */
static bool add_runs(struct path_set *set, char *const *outputs, struct fault *fault)
{
    bool added = true;

    for (size_t i = 0; added && i < set->options->input_count; i++)
        added = add_written(set, OUTPUT, i, outputs[i], fault) &&
                add(set, (struct entry){.role = INPUT, .owner = i}, set->options->inputs[i], fault);
    return added;
}

/* "-" is shown as /dev/stdout. */
static const char *with_name(const char *path)
{
    return path_is_standard(path) ? "/dev/stdout" : path;
}

/* Files that all runs read. */
static bool add_shared(struct path_set *set, struct fault *fault)
{
    const char *mask = set->options->mask;
    bool added = true;

    for (size_t i = 0; added && i < set->options->job.stage_count; i++) {
        const struct filter_call *call = &set->options->stages[i].call;
        if (call->filter->arguments == ARGUMENTS_FILE)
            added = add(set, (struct entry){.role = TAPS}, call->text, fault);
    }
    return added && (mask == NULL || add(set, (struct entry){.role = MASK}, mask, fault));
}

static bool add_extra(struct path_set *set, const char *option, const char *path, struct fault *fault)
{
    const struct entry extra = {.role = EXTRA, .owner = set->count, .option = option};

    return path == NULL || add(set, extra, with_name(path), fault);
}

static bool add_extras(struct path_set *set, struct fault *fault)
{
    const struct options *options = set->options;

    return add_extra(set, "--report", options->report_path, fault) &&
           add_extra(set, "--preview", options->preview, fault) &&
           add_extra(set, "--plot", options->plot, fault);
}

/* ---- conflicts ---- */

/* A device is never in conflict: it takes any number of outputs. */
static bool is_same_file(const struct entry *entry, const struct entry *other)
{
    if (entry->there && other->there)
        return !entry->device && entry->dev == other->dev && entry->ino == other->ino;
    return !entry->there && !other->there && entry->name != NULL && other->name != NULL &&
           strcmp(entry->name, other->name) == 0;
}

/* Whether a path is a file of a stack, there yet or not, or a stack that may have one in common with it. */
static bool is_of_stack(const struct entry *entry, const struct entry *stack)
{
    return stack->stack && entry->name != NULL && stack->name != NULL &&
           path_same_folder(entry->name, stack->name) &&
           (entry->stack ? pattern_may_meet : pattern_has)(path_base_name(stack->name),
                                                           path_base_name(entry->name));
}

static bool meet(const struct entry *entry, const struct entry *other)
{
    return is_same_file(entry, other) || is_of_stack(entry, other) || is_of_stack(other, entry);
}

static bool refuse(const struct entry *entry, const struct entry *other, struct fault *fault)
{
    if (other->role == EXTRA)
        fault_set_for(fault, STATUS_USAGE, entry->path, "%s goes there", other->option);
    else
        fault_set_for(fault, STATUS_USAGE, other->role == TEE ? entry->given : with_name(entry->path), "%s",
                      reasons[other->role]);
    return entry->option != NULL && fault_prefix(fault, entry->option);
}

/* Compare entries from `first` on with those before; inputs and outputs only with files that all runs read.
 */
static bool check(const struct path_set *set, size_t first, struct fault *fault)
{
    for (size_t i = first; i < set->count; i++) {
        const struct entry *entry = &set->entries[i];
        bool of_run = entry->role == OUTPUT || entry->role == INPUT;
        for (const struct entry *other = set->entries; other < entry; other++) {
            bool own = other->role == entry->role && other->owner == entry->owner;
            if (of_run && other->role > MASK)
                break;
            if (entry->role != INPUT && !own && meet(entry, other))
                return refuse(entry, other, fault);
        }
    }
    return true;
}

bool outputs_check_extras(const struct options *options, char *const *outputs, struct fault *fault)
{
    struct path_set set = {.options = options};
    bool extras = options->report_path != NULL || options->preview != NULL || options->plot != NULL;
    bool fine = add_shared(&set, fault);

    if (fine && (extras || set.count > 0))
        fine = add_runs(&set, outputs, fault) && add_extras(&set, fault) && check(&set, 0, fault);
    free_set(&set);
    return fine;
}

bool outputs_check_tees(const struct options *options, const struct pipeline_request *request,
                        struct fault *fault)
{
    struct path_set set = {.options = options};
    char *output = (char *)request->output;
    bool fine = add_shared(&set, fault) && add_runs(&set, &output, fault) && add_extras(&set, fault);
    size_t first = set.count;

    for (size_t i = 0; fine && i < request->tee_count; i++)
        fine = add_written(&set, TEE, request->tee_pattern != NULL ? 0 : i, request->tees[i].path, fault);
    fine = fine && check(&set, first, fault);
    free_set(&set);
    return fine;
}

/* ---- outputs in a directory ---- */

/* By the key, then inputs last, then as the inputs were given. */
static int compare_keys(const void *left, const void *right)
{
    const struct entry *a = *(const struct entry *const *)left, *b = *(const struct entry *const *)right;
    int keys = strcmp(a->key, b->key);

    if (keys != 0)
        return keys;
    if (a->role != b->role)
        return b->role == INPUT ? -1 : 1;
    return a->owner < b->owner ? -1 : 1;
}

static bool is_output(const struct entry *entry)
{
    return entry->role == OUTPUT && !entry->samples;
}

/* Two inputs of one name would overwrite each other in the directory. */
static bool check_paths(const struct path_set *set, struct entry **sorted, struct fault *fault)
{
    const struct options *options = set->options;
    size_t count = 0;

    for (size_t i = 0; i < set->count; i++) {
        struct entry *entry = &set->entries[i];
        entry->key = entry->path;
        if (is_output(entry))
            sorted[count++] = entry;
    }
    qsort(sorted, count, sizeof *sorted, compare_keys);
    for (size_t i = 1; i < count; i++) {
        if (strcmp(sorted[i - 1]->path, sorted[i]->path) == 0)
            return fault_raise(fault, STATUS_USAGE, "%s and %s would have the same name in %s",
                               options->inputs[sorted[i - 1]->owner], options->inputs[sorted[i]->owner],
                               options->output);
    }
    return true;
}

static bool refuse_file(const struct options *options, const struct entry *output, const struct entry *other,
                        struct fault *fault)
{
    if (other->role == INPUT)
        return fault_set_for(fault, STATUS_USAGE, options->inputs[other->owner],
                             "it would be replaced by the output for %s", options->inputs[output->owner]);
    if (output->samples || other->samples)
        return fault_raise(fault, STATUS_USAGE, "%s and %s could both be written into %s", output->given,
                           other->given, path_base_name(output->name));
    return fault_raise(fault, STATUS_USAGE, "%s and %s are the same file", output->given, other->given);
}

/* An input may be replaced by its own output, but by no other. A device may take several outputs. */
static bool check_files(const struct path_set *set, struct entry **sorted, struct fault *fault)
{
    size_t count = 0, first = 0;

    for (size_t i = 0; i < set->count; i++) {
        struct entry *entry = &set->entries[i];
        entry->key = entry->name;
        if (entry->name != NULL && !entry->device && (entry->role == OUTPUT || entry->there))
            sorted[count++] = entry;
    }
    qsort(sorted, count, sizeof *sorted, compare_keys);
    for (size_t i = 1; i < count; i++) {
        if (strcmp(sorted[first]->name, sorted[i]->name) != 0)
            first = i;
        else if (sorted[first]->role == OUTPUT && sorted[i]->owner != sorted[first]->owner)
            return refuse_file(set->options, sorted[first], sorted[i], fault);
    }
    return true;
}

/* A stack has many names; none is to be that of another output. */
static bool check_stacks(const struct path_set *set, struct fault *fault)
{
    for (size_t i = 0; i < set->count; i++) {
        const struct entry *stack = &set->entries[i];
        for (size_t k = 0; is_output(stack) && stack->stack && k < set->count; k++) {
            const struct entry *other = &set->entries[k];
            if (k != i && is_output(other) && meet(stack, other))
                return fault_raise(fault, STATUS_USAGE,
                                   "%s and %s could both have a picture of the same name", stack->path,
                                   other->path);
        }
    }
    return true;
}

/* Refuse outputs in a folder that would have one name, or be one file. */
static bool check_in_directory(const struct options *options, char *const *outputs, struct fault *fault)
{
    struct path_set set = {.options = options};
    struct entry **sorted = NULL;
    bool fine = add_runs(&set, outputs, fault);

    if (fine)
        sorted = mem_alloc(set.count, sizeof *sorted, "file names", fault);
    fine = sorted != NULL && check_paths(&set, sorted, fault) && check_files(&set, sorted, fault) &&
           check_stacks(&set, fault);
    mem_free(sorted);
    free_set(&set);
    return fine;
}

/* ---- several inputs ---- */

static bool refuse_directory(const struct options *options, const char *last, struct fault *fault)
{
    if (!is_directory(last))
        return fault_set_for(
            fault, STATUS_USAGE, last,
            "operands are inputs, and there is no such directory; --output needs one that exists");
    /* Standard input has no name to take in there. */
    if (strcmp(options->inputs[0], "-") == 0)
        return fault_set_for(fault, STATUS_USAGE, last, "operands are inputs, and this one is a directory");
    return fault_set_for(fault, STATUS_USAGE, last,
                         "operands are inputs, and this one is a directory; did you mean --output %s?", last);
}

/* Two operands are what cp and others take for an input and its output. Here all are inputs: `imgheat *.png`
   in a folder of two would destroy one of them. */
static bool refuse_second(const char *second, struct fault *fault)
{
    struct stat info;

    if (path_is_standard(second))
        return fault_raise(
            fault, STATUS_USAGE,
            "-: operands are inputs, and this one is standard input; did you mean --output -?");
    if (lstat(second, &info) != 0 && errno == ENOENT)
        return fault_set_for(fault, STATUS_USAGE, second,
                             "operands are inputs, and there is no such file; did you mean --output %s?",
                             second);
    return fault_raise(fault, STATUS_USAGE,
                       "2 inputs need a directory, --output DIR/; did you mean to replace %s with "
                       "--output %s?",
                       second, second);
}

/* Say what is wrong with several operands and no folder: mostly, the last was meant as the output. */
static bool refuse_several(const struct options *options, struct fault *fault)
{
    const char *last = options->inputs[options->input_count - 1];

    if (options->output == NULL && names_directory(options, last))
        return refuse_directory(options, last, fault);
    /* A folder that is an input is not replaced. */
    if (options->output == NULL && options->input_count == 2 && !is_directory(last))
        return refuse_second(last, fault);
    return fault_raise(fault, STATUS_USAGE, "%zu inputs need a directory: --output DIR/",
                       options->input_count);
}

bool outputs_check(const struct outputs *outputs, const struct options *options, struct fault *fault)
{
    struct stat info;

    if (!names_directory(options, options->output))
        return options->input_count == 1 || options->action != ACTION_RUN || refuse_several(options, fault);
    if (stat(options->output, &info) != 0)
        return fault_set_for(fault, STATUS_IO, options->output, "%s", strerror(errno));
    /* In a folder outputs have the names of inputs; standard input has none. */
    for (size_t i = 0; i < options->input_count; i++) {
        if (strcmp(options->inputs[i], "-") == 0)
            return fault_raise(fault, STATUS_USAGE, "standard input has no name for an output in %s",
                               options->output);
    }
    return check_in_directory(options, outputs->paths, fault);
}

/* ---- samples of the input ---- */

bool outputs_spare_samples(const struct source *source, const char *option, const char *path,
                           struct fault *fault)
{
    char *name = path_is_standard(path) || !source->format->folder ? NULL : coming_name(path);
    bool inside = name != NULL && path_is_inside(name, file_in_name(source->file));

    free(name);
    if (inside)
        return fault_set_for(fault, STATUS_USAGE, option, "%s: it lies within a store that is read", path);
    return path == NULL || file_in_is_at(source->file, path) || !volume_reads(source, path) ||
           fault_set_for(fault, STATUS_USAGE, option, "%s: samples of the input would be replaced", path);
}
