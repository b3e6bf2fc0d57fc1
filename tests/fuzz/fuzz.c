/* The fuzz program: libFuzzer calls it for one of the targets, which FUZZ_TARGET names, as fuzz.sh does. */
#include "fuzz.h"

#include "mutation.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size, size_t most, unsigned seed);

/* ---- what targets share ---- */

static FILE *messages;
static char folder[256];

void fuzz_fail(const char *text)
{
    fprintf(messages, "fuzz: %s\n", text);
    fflush(messages);
    abort();
}

static void check(bool holds, const char *text)
{
    if (!holds)
        fuzz_fail(text);
}

void fuzz_check_fault(const struct fault *fault)
{
    size_t length = strnlen(fault->text, sizeof fault->text);

    check(length > 0 && length < sizeof fault->text, "a fault has no text");
    check(fault->subject < length, "the subject of a fault is longer than its text");
    check(fault->subject == 0 || memcmp(fault->text + fault->subject, ": ", 2) == 0,
          "no reason follows the subject of a fault");
    check(fault->status == STATUS_USAGE || fault->status == STATUS_INPUT || fault->status == STATUS_IO ||
              fault->status == STATUS_LIMIT,
          "a fault has a status that no input may cause");
}

size_t fuzz_line_length(const uint8_t *bytes, size_t size)
{
    const uint8_t *end = size == 0 ? NULL : memchr(bytes, '\n', size);

    return end == NULL ? size : (size_t)(end - bytes);
}

void fuzz_split(struct fuzz_line *line, const uint8_t *bytes, size_t length)
{
    char *rest = line->text;

    if (length > sizeof line->text - 1)
        length = sizeof line->text - 1;
    memcpy(line->text, bytes, length);
    line->text[length] = '\0';
    line->program = strncmp(line->text, "imgheat", 7) == 0 ? PROGRAM_IMGHEAT : PROGRAM_VOXFILT;
    for (line->count = 0; line->count < FUZZ_WORDS_MOST && rest != NULL;)
        line->words[line->count++] = strsep(&rest, "\t");
    line->words[line->count] = NULL;
}

void fuzz_put_file(const char *name, const void *bytes, size_t size)
{
    int file = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    check(file >= 0 && write(file, bytes, size) == (ssize_t)size && close(file) == 0, strerror(errno));
}

/* A name as path_temporary makes them. */
static bool is_temporary(const char *name)
{
    return strlen(name) == 29 && strncmp(name, "voxfilt-", 8) == 0 && strcmp(name + 24, ".part") == 0;
}

void fuzz_clear_folder(void)
{
    DIR *entries = opendir(".");

    check(entries != NULL, "no folder");
    for (const struct dirent *entry = readdir(entries); entry != NULL; entry = readdir(entries)) {
        check(!is_temporary(entry->d_name), "a temporary file is left");
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            unlink(entry->d_name);
    }
    closedir(entries);
}

/* ---- targets ---- */

static void change_words(struct mutation *mutation)
{
    mutate_words(mutation, fuzz_line_length(mutation->bytes, mutation->size));
}

static const struct fuzz_target {
    const char *name;
    void (*run)(const uint8_t *bytes, size_t size);
    void (*mutate)(struct mutation *mutation);
} targets[] = {
    {"options", fuzz_options, change_words}, {"taps", fuzz_taps, mutate_taps},
    {"header", fuzz_header, mutate_file},    {"run", fuzz_run, mutate_run},
    {"zarr", fuzz_zarr, mutate_zarr},
};

static const struct fuzz_target *target;

/* Where the paths that libFuzzer is given begin, and where targets have their files. */
static int home, shelf;

static void leave(void)
{
    if (fchdir(shelf) == 0)
        fuzz_clear_folder();
    rmdir(folder);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    const char *name = getenv("FUZZ_TARGET"), *shelves = getenv("TMPDIR");

    (void)argc;
    (void)argv;
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        if (name != NULL && strcmp(name, targets[i].name) == 0)
            target = &targets[i];
    }
    /* libFuzzer closes standard error, where the program tells of what it refuses. */
    messages = fdopen(dup(STDERR_FILENO), "w");
    home = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    snprintf(folder, sizeof folder, "%s/fuzz-XXXXXX", shelves == NULL ? "/dev/shm" : shelves);
    shelf = mkdtemp(folder) == NULL ? -1 : open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (target == NULL || home < 0 || shelf < 0) {
        fputs("fuzz: FUZZ_TARGET names no target, or there is no folder for files\n", stderr);
        exit(1);
    }
    atexit(leave);
    diag_open("fuzz");
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    check(fchdir(shelf) == 0, strerror(errno));
    target->run(bytes, size);
    check(fchdir(home) == 0, strerror(errno));
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size, size_t most, unsigned seed)
{
    struct mutation mutation = {.bytes = bytes, .size = size, .most = most, .chance = seed};

    for (size_t changes = 1 + mutation_draw(&mutation, 3); changes > 0; changes--)
        target->mutate(&mutation);
    return mutation.size;
}
