/* Devices: those that --device names.

   A name is that of a backend, and may have a list of numbers or "all" behind a colon. It is read twice.
   The command line only looks whether it is a name at all, which asks nothing of the machine. The plan then
   finds the devices, which starts the driver, and refuses those that this machine lacks with what it has
   instead. */
#include "devices.h"

#include "base/number.h"
#include "base/keyword.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const struct backend *const devices_backends[] = {
#ifdef HAVE_CUDA
    &backend_cuda,
#endif
    &backend_cpu,
    NULL,
};

/* Words that other programs have for these devices. */
static const struct alias aliases[] = {
    {"gpu", "cuda"}, {"nvidia", "cuda"}, {"processor", "cpu"}, {"host", "cpu"}, {NULL, NULL}};

/* The next number of a list, and where the list goes on. */
static bool read_index(const char **list, uint64_t *index)
{
    return number_read_count(list, index) && (**list == ',' || **list == '\0');
}

static bool is_list(const char *list)
{
    uint64_t index;

    while (read_index(&list, &index)) {
        if (*list++ == '\0')
            return true;
    }
    return false;
}

/* The list behind the backend's name and its colon; "0" where there is none. */
static const char *list_of(const char *name, const struct backend *backend)
{
    const char *rest = name + strlen(backend->name);

    return *rest == '\0' ? "0" : rest + 1;
}

const struct backend *devices_backend(const char *name)
{
    for (size_t i = 0; devices_backends[i] != NULL; i++) {
        const struct backend *backend = devices_backends[i];
        size_t length = strlen(backend->name);
        if (strncmp(name, backend->name, length) == 0 && (name[length] == '\0' || name[length] == ':')) {
            const char *list = list_of(name, backend);
            return strcmp(list, "all") == 0 || is_list(list) ? backend : NULL;
        }
    }
    return NULL;
}

bool devices_has_rung(const struct rung *rungs, const char *name)
{
    if (name == NULL)
        return true;
    for (; rungs->name != NULL; rungs++) {
        if (strcmp(rungs->name, name) == 0)
            return true;
    }
    return false;
}

static bool refuse_name(const char *name, struct fault *fault)
{
    struct suggestion suggestion = suggest_for(name, strcspn(name, ":"));

    suggest_aliases(&suggestion, aliases);
    for (size_t i = 0; devices_backends[i] != NULL; i++)
        suggest_name(&suggestion, devices_backends[i]->name);
    if (strncmp(name, "cuda", 4) == 0 && devices_backends[0] == &backend_cpu)
        return fault_raise(fault, STATUS_USAGE, "--device: %s: this program was built without CUDA", name);
    fault_raise(fault, STATUS_USAGE, "--device: %s: no such device", name);
    return suggest_add(fault, suggestion.meant, " (--list names them)");
}

/* A backend says what keeps it from its first device. */
static bool refuse_absent(const char *name, const struct backend *backend, unsigned count,
                          struct fault *fault)
{
    char text[256];

    if (count == 1)
        return fault_raise(fault, STATUS_DEVICE, "--device: %s: this machine has only %s:0", name,
                           backend->name);
    if (count > 1)
        return fault_raise(fault, STATUS_DEVICE, "--device: %s: this machine has %s:0 to %s:%u", name,
                           backend->name, backend->name, count - 1);
    backend->describe(0, text, sizeof text);
    return fault_raise(fault, STATUS_DEVICE, "--device: %s: this machine has none: %s", name, text);
}

static bool is_among(const struct devices *devices, uint64_t index)
{
    for (size_t i = 0; i < devices->count; i++) {
        if ((uint64_t)devices->indices[i] == index)
            return true;
    }
    return false;
}

/* As many as there are, and as a run takes: a list that names more is refused instead. */
static void add_all(struct devices *devices, unsigned count)
{
    devices->all = true;
    for (; devices->count < count && devices->count < DEVICES_MOST; devices->count++)
        devices->indices[devices->count] = (int)devices->count;
}

static bool add_list(struct devices *devices, const char *name, const char *list, unsigned count,
                     struct fault *fault)
{
    uint64_t index;

    do {
        read_index(&list, &index);
        if (index >= count)
            return refuse_absent(name, devices->backend, count, fault);
        if (is_among(devices, index))
            return fault_raise(fault, STATUS_USAGE, "--device: %s: %s:%" PRIu64 " is named twice", name,
                               devices->backend->name, index);
        if (devices->count == DEVICES_MOST)
            return fault_raise(fault, STATUS_USAGE, "--device: %s: a run takes at most %d devices", name,
                               DEVICES_MOST);
        devices->indices[devices->count++] = (int)index;
    } while (*list++ == ',');
    return true;
}

static bool describe(const struct devices *devices, const char *name, size_t which, char *text, size_t size,
                     struct fault *fault)
{
    return devices->backend->describe(devices->indices[which], text, size) ||
           fault_raise(fault, STATUS_DEVICE, "--device: %s: %s:%d: %s", name, devices->backend->name,
                       devices->indices[which], text);
}

/* A part each of one volume, they would wait for the slowest; and each settles forms of its own. */
static bool check_kinds(const struct devices *devices, const char *name, struct fault *fault)
{
    char first[256], other[256];

    if (devices->count == 1)
        return true;
    if (!describe(devices, name, 0, first, sizeof first, fault))
        return false;
    for (size_t i = 1; i < devices->count; i++) {
        if (!describe(devices, name, i, other, sizeof other, fault))
            return false;
        if (strcmp(first, other) != 0)
            return fault_raise(fault, STATUS_USAGE,
                               "--device: %s: devices of different kinds: %s:%d is %s; %s:%d is %s", name,
                               devices->backend->name, devices->indices[0], first, devices->backend->name,
                               devices->indices[i], other);
    }
    return true;
}

bool devices_find(const char *name, struct devices *devices, struct fault *fault)
{
    const struct backend *backend = devices_backend(name);
    const char *list;
    unsigned count;

    if (backend == NULL)
        return refuse_name(name, fault);
    *devices = (struct devices){.backend = backend};
    list = list_of(name, backend);
    count = backend->count();
    if (count == 0)
        return refuse_absent(name, backend, count, fault);
    if (strcmp(list, "all") == 0)
        add_all(devices, count);
    else if (!add_list(devices, name, list, count, fault))
        return false;
    return check_kinds(devices, name, fault);
}

void devices_name(const struct devices *devices, char *text, size_t size)
{
    snprintf(text, size, "%s", devices->backend->name);
    for (size_t i = 0; i < devices->count && devices->backend->count() > 1; i++)
        diag_append(text, size, "%c%d", i == 0 ? ':' : ',', devices->indices[i]);
}
