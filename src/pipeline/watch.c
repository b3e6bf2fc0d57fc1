/* Watches: whether the files of an input are at the end of a run what they were at its start. */
#include "watch.h"

#include "base/mem.h"

struct watched {
    char *path;
    struct file_in_state state;
};

static bool add_beside(struct watch *watch, const struct source *source, struct fault *fault)
{
    struct watched *watched = &watch->beside[watch->count];

    watched->path = source->format->name_file(source, watch->count, fault);
    if (watched->path == NULL)
        return false;
    watched->state = file_in_state_at(watched->path);
    watch->count++;
    return true;
}

bool watch_begin(struct watch *watch, const struct source *source, struct fault *fault)
{
    *watch = (struct watch){.file = source->file, .state = file_in_state(source->file)};
    watch->beside = mem_zeroed(source->data_files, sizeof *watch->beside, "the files of the input", fault);
    if (watch->beside == NULL)
        return false;
    while (watch->count < source->data_files) {
        if (!add_beside(watch, source, fault))
            return false;
    }
    return true;
}

static bool differs(struct file_in_state one, struct file_in_state other)
{
    return one.bytes != other.bytes || one.changed != other.changed;
}

const char *watch_changed(const struct watch *watch)
{
    if (differs(watch->state, file_in_state(watch->file)))
        return file_in_name(watch->file);
    for (size_t i = 0; i < watch->count; i++) {
        if (differs(watch->beside[i].state, file_in_state_at(watch->beside[i].path)))
            return watch->beside[i].path;
    }
    return NULL;
}

void watch_end(struct watch *watch)
{
    for (size_t i = 0; i < watch->count; i++)
        mem_free(watch->beside[i].path);
    mem_free(watch->beside);
    *watch = (struct watch){.count = 0};
}
