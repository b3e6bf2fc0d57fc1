/* The outputs of a command: what each is called, and that none gets into another's way. */
#include "outputs.h"

#include "base/file_in.h"
#include "base/mem.h"
#include "base/path.h"
#include "format/pattern.h"
#include "format/volume.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Of a path that is looked at; what is longer cannot be opened. */
#define MOST_PATH 4096

/* What of an input and its output a claim is for. */
enum role { ROLE_OUTPUT, ROLE_SAMPLES, ROLE_INPUT };

/* What an input claims: a file, by a name that tells it from others. */
struct claim {
    char *name;
    size_t owner; /* the number of that input */
    enum role role;
};

/* An input, its output, and the samples beside that, compressed and not. */
#define CLAIMS_EACH 4

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash == NULL ? path : slash + 1;
}

static bool is_directory(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

/* Whether it is the name of a folder, there yet or not. */
static bool names_directory(const char *path)
{
    return *path != '\0' && (path[strlen(path) - 1] == '/' || is_directory(path));
}

/* Whether --output names a folder for outputs. */
static bool wants_directory(const struct options *options)
{
    return options->output != NULL && names_directory(options->output);
}

static bool check_directory(const struct options *options, struct fault *fault)
{
    struct stat info;

    if (stat(options->output, &info) != 0)
        return fault_raise_about(fault, STATUS_IO, options->output, "%s", strerror(errno));
    return true;
}

/* By name, then inputs last, then as the inputs were given. */
static int compare_claims(const void *left, const void *right)
{
    const struct claim *a = left, *b = right;
    int names = strcmp(a->name, b->name);

    if (names != 0)
        return names;
    if ((a->role == ROLE_INPUT) != (b->role == ROLE_INPUT))
        return b->role == ROLE_INPUT ? -1 : 1;
    return a->owner < b->owner ? -1 : 1;
}

/* Two inputs of one name would overwrite each other in the directory. */
static bool check_names(const struct outputs *outputs, const struct options *options, struct claim *claims,
                        struct fault *fault)
{
    const char *const *inputs = options->inputs;

    for (size_t i = 0; i < options->input_count; i++) {
        if (strcmp(inputs[i], "-") == 0)
            return fault_raise(fault, STATUS_USAGE, "standard input has no name for an output in %s",
                               options->output);
        claims[i] = (struct claim){.name = outputs->paths[i], .owner = i};
    }
    qsort(claims, options->input_count, sizeof *claims, compare_claims);
    for (size_t i = 1; i < options->input_count; i++) {
        if (strcmp(claims[i - 1].name, claims[i].name) == 0)
            return fault_raise(fault, STATUS_USAGE, "%s and %s would have the same name in %s",
                               inputs[claims[i - 1].owner], inputs[claims[i].owner], options->output);
    }
    return true;
}

/* The name without links of a regular file that is there; NULL for any other. */
static char *true_name(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0 && S_ISREG(info.st_mode) ? realpath(path, NULL) : NULL;
}

/* The same of a file that is yet to be made: that of its folder, and its own in there. */
static char *coming_name(const char *path)
{
    char *target = path_target(path), *folder = NULL, *name = NULL, *slash;

    if (target == NULL)
        return NULL;
    slash = strrchr(target, '/');
    if (slash != NULL)
        *slash = '\0';
    folder = realpath(slash == NULL ? "." : slash == target ? "/" : target, NULL);
    if (folder != NULL) {
        const char *own = slash == NULL ? target : slash + 1;
        size_t size = strlen(folder) + strlen(own) + 2;
        name = malloc(size);
        if (name != NULL)
            snprintf(name, size, "%s/%s", folder, own);
    }
    free(folder);
    free(target);
    return name;
}

static char *output_name(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0 ? true_name(path) : coming_name(path);
}

/* The format of an output whose header is a file of its own; NULL: its samples follow their header, or only
   the input tells. */
static const struct format *detached_format(const struct options *options, const char *output)
{
    const struct format *format = options->out_format != NULL ? options->out_format : format_of_name(output);

    return format != NULL && format->data_suffix != NULL ? format : NULL;
}

/* Where the samples of such a format may go, compressed or not, links followed; false where they never do. */
static bool name_samples(const struct format *format, const char *output, bool packed, char *path,
                         size_t size)
{
    char *target = path_target(output);
    bool named = target != NULL && (!packed || format->data_suffix_compressed != NULL) &&
                 format_name_data(format, target, packed, path, size);

    free(target);
    return named;
}

static void add_claim(struct claim *claims, size_t *count, char *name, size_t owner, enum role role)
{
    if (name != NULL)
        claims[(*count)++] = (struct claim){name, owner, role};
}

static void add_samples(struct claim *claims, size_t *count, const struct format *format, const char *output,
                        size_t owner)
{
    char path[MOST_PATH];

    for (int packed = 0; packed < 2; packed++) {
        if (name_samples(format, output, packed == 1, path, sizeof path))
            add_claim(claims, count, output_name(path), owner, ROLE_SAMPLES);
    }
}

static size_t find_claims(const struct options *options, const struct outputs *outputs, struct claim *claims)
{
    size_t count = 0;

    for (size_t i = 0; i < options->input_count; i++) {
        const char *output = outputs->paths[i];
        const struct format *detached = detached_format(options, output);
        add_claim(claims, &count, true_name(options->inputs[i]), i, ROLE_INPUT);
        add_claim(claims, &count, output_name(output), i, ROLE_OUTPUT);
        if (detached != NULL)
            add_samples(claims, &count, detached, output, i);
    }
    return count;
}

static bool refuse_claim(const struct options *options, const struct outputs *outputs,
                         const struct claim *output, const struct claim *other, struct fault *fault)
{
    const char *first = outputs->paths[output->owner], *second = outputs->paths[other->owner];

    if (output->role == ROLE_OUTPUT && other->role == ROLE_OUTPUT)
        return fault_raise(fault, STATUS_USAGE, "%s and %s are the same file", first, second);
    if (other->role != ROLE_INPUT)
        return fault_raise(fault, STATUS_USAGE, "%s and %s could both be written into %s", first, second,
                           base_name(output->name));
    return fault_raise_about(fault, STATUS_USAGE, options->inputs[other->owner],
                             "it would be replaced by the output for %s", options->inputs[output->owner]);
}

/* An input may be replaced by its own output, which comes after it, but by no other. */
static bool check_claims(const struct options *options, const struct outputs *outputs,
                         const struct claim *claims, size_t count, struct fault *fault)
{
    const struct claim *first = claims;

    for (size_t i = 1; i < count; i++) {
        if (strcmp(first->name, claims[i].name) != 0)
            first = &claims[i];
        else if (first->role != ROLE_INPUT && claims[i].owner != first->owner)
            return refuse_claim(options, outputs, first, &claims[i], fault);
    }
    return true;
}

static bool check_links(const struct options *options, const struct outputs *outputs, struct claim *claims,
                        struct fault *fault)
{
    size_t count = find_claims(options, outputs, claims);
    bool fine;

    qsort(claims, count, sizeof *claims, compare_claims);
    fine = check_claims(options, outputs, claims, count, fault);
    for (size_t i = 0; i < count; i++)
        free(claims[i].name);
    return fine;
}

static bool name_one(struct outputs *outputs, const char *path, struct fault *fault)
{
    char *copy = mem_text(path, fault);

    outputs->paths[outputs->count] = copy;
    outputs->count += copy != NULL;
    return copy != NULL;
}

/* In the directory it has the input's name, with the ending of the format that is asked for. */
static bool name_in_directory(struct outputs *outputs, const struct options *options, const char *input,
                              struct fault *fault)
{
    const char *directory = options->output, *name = base_name(input), *ending = "";
    const struct format *format = options->out_format;
    size_t length = strlen(name);

    if (format != NULL && format != format_of_name(name)) {
        length = format_stem_length(name);
        ending = format->name;
    }
    size_t size = strlen(directory) + length + strlen(ending) + 3;
    char *path = mem_alloc(size, 1, "a file name", fault);
    if (path == NULL)
        return false;
    snprintf(path, size, "%s%s%.*s%s%s", directory, directory[strlen(directory) - 1] == '/' ? "" : "/",
             (int)length, name, *ending == '\0' ? "" : ".", ending);
    outputs->paths[outputs->count++] = path;
    return true;
}

static bool name_all(struct outputs *outputs, const struct options *options, bool directory,
                     struct fault *fault)
{
    for (size_t i = 0; i < options->input_count; i++) {
        const char *path = options->output == NULL ? "-" : options->output;
        if (directory ? !name_in_directory(outputs, options, options->inputs[i], fault)
                      : !name_one(outputs, path, fault))
            return false;
    }
    return true;
}

static bool refuse_directory(const struct options *options, const char *last, struct fault *fault)
{
    if (!is_directory(last))
        return fault_raise_about(
            fault, STATUS_USAGE, last,
            "operands are inputs, and there is no such directory; --output needs one that exists");
    /* Standard input has no name to take in there. */
    if (strcmp(options->inputs[0], "-") == 0)
        return fault_raise_about(fault, STATUS_USAGE, last,
                                 "operands are inputs, and this one is a directory");
    return fault_raise_about(fault, STATUS_USAGE, last,
                             "operands are inputs, and this one is a directory; did you mean --output %s?",
                             last);
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
        return fault_raise_about(fault, STATUS_USAGE, second,
                                 "operands are inputs, and there is no such file; did you mean --output %s?",
                                 second);
    return fault_raise(fault, STATUS_USAGE,
                       "2 inputs need a directory, --output DIR/; did you mean to replace %s with "
                       "--output %s?",
                       second, second);
}

static bool refuse_several(const struct options *options, struct fault *fault)
{
    const char *last = options->inputs[options->input_count - 1];

    if (options->output == NULL && names_directory(last))
        return refuse_directory(options, last, fault);
    if (options->output == NULL && options->input_count == 2)
        return refuse_second(last, fault);
    return fault_raise(fault, STATUS_USAGE, "%zu inputs need a directory: --output DIR/",
                       options->input_count);
}

bool outputs_name(struct outputs *outputs, const struct options *options, struct fault *fault)
{
    bool directory = wants_directory(options);

    *outputs = (struct outputs){.count = 0};
    if (!peers_broadcast(options->peers, &directory, sizeof directory, fault))
        return false;
    outputs->paths = mem_zeroed(options->input_count, sizeof *outputs->paths, "file names", fault);
    if (outputs->paths != NULL && name_all(outputs, options, directory, fault))
        return true;
    outputs_free(outputs);
    return false;
}

/* ---- a file beside them ---- */

/* What is there under a name, or behind a descriptor that "-" stands for. */
static bool look(const char *path, int descriptor, struct stat *info)
{
    return (path_is_standard(path) ? fstat(descriptor, info) : stat(path, info)) == 0;
}

static bool is_coming_name(const char *path, const char *other)
{
    char *name = coming_name(path), *other_name = coming_name(other);
    bool same = name != NULL && other_name != NULL && strcmp(name, other_name) == 0;

    free(name);
    free(other_name);
    return same;
}

/* Whether a path is the file of another one, which may be "-" for a descriptor. Devices take all that comes.
 */
static bool is_file_of(const char *path, const char *other, int descriptor)
{
    struct stat info, other_info;
    bool is_there = stat(path, &info) == 0, other_is_there = look(other, descriptor, &other_info);

    if (is_there && other_is_there)
        return !S_ISCHR(info.st_mode) && info.st_dev == other_info.st_dev && info.st_ino == other_info.st_ino;
    return !is_there && !other_is_there && is_coming_name(path, other);
}

/* Whether a name is that of a stack of pictures: a picture alone has it as it is. */
static bool names_stack(const struct options *options, const char *path)
{
    return options->program == PROGRAM_VOXFILT && pattern_is_png(path);
}

static bool is_same_folder(const char *name, const char *other)
{
    size_t length = (size_t)(base_name(name) - name);

    return length == (size_t)(base_name(other) - other) && strncmp(name, other, length) == 0;
}

/* Whether a path is a file of a stack, there yet or not, or a stack that may have one in common with it. */
static bool is_of_stack(const struct options *options, const char *path, const char *stack)
{
    char *name = output_name(path), *pattern = coming_name(stack);
    bool found =
        name != NULL && pattern != NULL && is_same_folder(name, pattern) &&
        (names_stack(options, path) ? pattern_may_meet : pattern_has)(base_name(pattern), base_name(name));

    free(name);
    free(pattern);
    return found;
}

/* The same as is_file_of, of paths that may be stacks. */
static bool meets(const struct options *options, const char *path, const char *other, int descriptor)
{
    return is_file_of(path, other, descriptor) ||
           (names_stack(options, other) && is_of_stack(options, path, other)) ||
           (names_stack(options, path) && is_of_stack(options, other, path));
}

/* A stack has many names; none is to be that of another output. */
static bool check_stacks(const struct options *options, const struct outputs *outputs, struct fault *fault)
{
    char *const *paths = outputs->paths;

    for (size_t stack = 0; stack < outputs->count; stack++) {
        for (size_t i = 0; names_stack(options, paths[stack]) && i < outputs->count; i++) {
            if (i != stack && meets(options, paths[stack], paths[i], -1))
                return fault_raise(fault, STATUS_USAGE,
                                   "%s and %s could both have a picture of the same name", paths[stack],
                                   paths[i]);
        }
    }
    return true;
}

bool outputs_check(const struct outputs *outputs, const struct options *options, struct fault *fault)
{
    struct claim *claims;
    bool fine;

    if (!wants_directory(options))
        return options->input_count == 1 || options->action != ACTION_RUN || refuse_several(options, fault);
    claims = mem_alloc(options->input_count, CLAIMS_EACH * sizeof *claims, "file names", fault);
    fine = claims != NULL && check_directory(options, fault) &&
           check_names(outputs, options, claims, fault) && check_links(options, outputs, claims, fault) &&
           check_stacks(options, outputs, fault);
    mem_free(claims);
    return fine;
}

static bool is_taps_file(const struct options *options, const char *path)
{
    for (size_t i = 0; i < options->job.stage_count; i++) {
        const struct filter_call *call = &options->stages[i].call;
        if (call->filter->arguments == ARGUMENTS_FILE && meets(options, path, call->text, -1))
            return true;
    }
    return false;
}

static bool spare_taps(const struct options *options, const char *path, struct fault *fault)
{
    return !is_taps_file(options, path) ||
           fault_raise_about(fault, STATUS_USAGE, path, "a taps file would be replaced");
}

/* Whether a path may be that of the samples of an output whose header is a file of its own. */
static bool may_be_samples_of(const struct options *options, const char *path, const char *output)
{
    const struct format *format = detached_format(options, output);
    char samples[MOST_PATH];

    for (int packed = 0; format != NULL && packed < 2; packed++) {
        if (name_samples(format, output, packed == 1, samples, sizeof samples) &&
            is_file_of(path, samples, -1))
            return true;
    }
    return false;
}

/* Of standard output, which "-" stands for, the name. */
static const char *with_name(const char *path)
{
    return path_is_standard(path) ? "/dev/stdout" : path;
}

/* Nor by the samples of an output whose header is a file of its own. */
static bool spare_taps_of_output(const struct options *options, const char *output, struct fault *fault)
{
    const struct format *detached = detached_format(options, output);
    char samples[MOST_PATH];

    for (int packed = 0; detached != NULL && packed < 2; packed++) {
        if (name_samples(detached, output, packed == 1, samples, sizeof samples) &&
            !spare_taps(options, samples, fault))
            return false;
    }
    return spare_taps(options, with_name(output), fault);
}

/* A file that an option asks for beside the outputs. */
struct extra {
    const char *option, *path;
};

#define MOST_EXTRAS 4

static void add_extra(struct extra *extras, size_t *count, const char *option, const char *path)
{
    if (path != NULL)
        extras[(*count)++] = (struct extra){option, with_name(path)};
}

static bool leaves_room(const struct outputs *outputs, const struct options *options, const char *path,
                        struct fault *fault)
{
    for (size_t i = 0; i < options->input_count; i++) {
        if (meets(options, path, outputs->paths[i], STDOUT_FILENO) ||
            may_be_samples_of(options, path, outputs->paths[i]))
            return fault_raise_about(fault, STATUS_USAGE, path, "an output goes there");
        if (meets(options, path, options->inputs[i], STDIN_FILENO))
            return fault_raise_about(fault, STATUS_USAGE, path, "an input would be replaced");
    }
    return spare_taps(options, path, fault);
}

/* Those before it have been looked at. */
static bool check_extra(const struct outputs *outputs, const struct options *options,
                        const struct extra *extras, size_t index, struct fault *fault)
{
    const struct extra *extra = &extras[index];

    for (size_t i = 0; i < index; i++) {
        if (is_file_of(extra->path, extras[i].path, -1))
            return fault_raise_about(fault, STATUS_USAGE, extra->option, "%s: %s goes there", extra->path,
                                     extras[i].option);
    }
    return leaves_room(outputs, options, extra->path, fault) || fault_prefix(fault, extra->option);
}

static size_t list_extras(const struct options *options, struct extra *extras)
{
    size_t count = 0;

    add_extra(extras, &count, "--report", options->report_path);
    add_extra(extras, &count, "--preview", options->preview);
    add_extra(extras, &count, "--plot", options->plot);
    return count;
}

bool outputs_leave_room(const struct outputs *outputs, const struct options *options, struct fault *fault)
{
    struct extra extras[MOST_EXTRAS];
    size_t count = list_extras(options, extras);

    for (size_t i = 0; i < outputs->count; i++) {
        if (!spare_taps_of_output(options, outputs->paths[i], fault))
            return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (!check_extra(outputs, options, extras, i, fault))
            return false;
    }
    return true;
}

static bool admit_file(const struct outputs *outputs, const struct options *options, const char *path,
                       struct fault *fault)
{
    struct extra extras[MOST_EXTRAS];
    size_t count = list_extras(options, extras);

    for (size_t i = 0; i < count; i++) {
        if (meets(options, extras[i].path, path, STDOUT_FILENO))
            return fault_raise_about(fault, STATUS_USAGE, path, "%s goes there", extras[i].option);
    }
    return leaves_room(outputs, options, with_name(path), fault);
}

bool outputs_admit(const struct outputs *outputs, const struct options *options, const char *path,
                   struct fault *fault)
{
    const struct format *detached = detached_format(options, path);
    char samples[MOST_PATH];

    for (int packed = 0; detached != NULL && packed < 2; packed++) {
        if (name_samples(detached, path, packed == 1, samples, sizeof samples) &&
            !admit_file(outputs, options, samples, fault))
            return false;
    }
    return admit_file(outputs, options, path, fault);
}

bool outputs_differ(const struct options *options, const char *path, const char *other, struct fault *fault)
{
    if (!meets(options, with_name(path), with_name(other), -1) && !may_be_samples_of(options, path, other) &&
        !may_be_samples_of(options, other, path))
        return true;
    return fault_raise_about(fault, STATUS_USAGE, path, "another state goes there");
}

static bool holds_samples(const struct source *source, const char *path)
{
    return path != NULL && !file_in_is_at(source->file, path) && volume_reads(source, path);
}

static bool spare_samples(const struct source *source, const char *option, const char *path,
                          struct fault *fault)
{
    return !holds_samples(source, path) ||
           fault_raise_about(fault, STATUS_USAGE, option, "%s: samples of the input would be replaced", path);
}

bool outputs_spare_samples(const struct options *options, const struct pipeline *pipeline,
                           struct fault *fault)
{
    const struct pipeline_request *request = pipeline->request;
    const struct source *source = &pipeline->source;

    for (size_t i = 0; i < request->tee_count; i++) {
        if (!spare_samples(source, "--tee", request->tees[i].path, fault))
            return false;
    }
    return spare_samples(source, "--output", request->output, fault) &&
           spare_samples(source, "--preview", options->preview, fault) &&
           spare_samples(source, "--plot", options->plot, fault);
}

bool outputs_spare_from_report(const struct options *options, const struct pipeline *pipeline,
                               struct fault *fault)
{
    return spare_samples(&pipeline->source, "--report", options->report_path, fault);
}

void outputs_free(struct outputs *outputs)
{
    for (size_t i = 0; i < outputs->count; i++)
        mem_free(outputs->paths[i]);
    mem_free(outputs->paths);
    *outputs = (struct outputs){0};
}
