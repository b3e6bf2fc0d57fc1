/* The outputs of a command: what each is called, and whether inputs may have them. */
#include "outputs.h"

#include "base/mem.h"
#include "base/path.h"
#include "path_conflicts.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

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
    const char *directory = options->output, *name = path_base_name(input), *ending = "";
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

static bool check_directory(const struct options *options, struct fault *fault)
{
    struct stat info;

    if (stat(options->output, &info) != 0)
        return fault_raise_about(fault, STATUS_IO, options->output, "%s", strerror(errno));
    return true;
}

/* In a folder they have the names of the inputs, which standard input has none of. */
static bool check_names(const struct options *options, struct fault *fault)
{
    for (size_t i = 0; i < options->input_count; i++) {
        if (strcmp(options->inputs[i], "-") == 0)
            return fault_raise(fault, STATUS_USAGE, "standard input has no name for an output in %s",
                               options->output);
    }
    return true;
}

bool outputs_check(const struct outputs *outputs, const struct options *options, struct fault *fault)
{
    if (!wants_directory(options))
        return options->input_count == 1 || options->action != ACTION_RUN || refuse_several(options, fault);
    return check_directory(options, fault) && check_names(options, fault) &&
           path_conflicts_check_outputs(options, outputs->paths, fault);
}

void outputs_free(struct outputs *outputs)
{
    for (size_t i = 0; i < outputs->count; i++)
        mem_free(outputs->paths[i]);
    mem_free(outputs->paths);
    *outputs = (struct outputs){0};
}
