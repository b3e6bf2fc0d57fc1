/* Stores of Zarr. A key is walked name by name from the descriptor of the folder, so that no link, and no
   folder that is exchanged for a link meanwhile, leads out of it. */
#include "store.h"

#include "base/fd_io.h"
#include "base/mem.h"
#include "base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *const store_metadata[] = {[STORE_VERSION_3] = "zarr.json",
                                      [STORE_ARRAY_2] = ".zarray",
                                      [STORE_ATTRIBUTES_2] = ".zattrs",
                                      [STORE_GROUP_2] = ".zgroup"};

static bool has(int folder, enum store_metadata kind)
{
    return faccessat(folder, store_metadata[kind], F_OK, 0) == 0;
}

enum store_metadata store_metadata_at(const char *path)
{
    const int folder = path_is_standard(path) ? -1 : open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    enum store_metadata kind = folder < 0 ? STORE_NO_METADATA : 0;

    /* Attributes alone may be those of anything. */
    while (kind < STORE_NO_METADATA &&
           !(has(folder, kind) && (kind != STORE_ATTRIBUTES_2 || has(folder, STORE_GROUP_2))))
        kind++;
    if (folder >= 0)
        close(folder);
    return kind;
}

bool store_open(struct store *store, const char *path, bool follows_links, struct fault *fault)
{
    *store = (struct store){path, open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), follows_links};
    return store->folder >= 0 || fault_set_for(fault, STATUS_IO, path, "%s", strerror(errno));
}

void store_close(struct store *store)
{
    if (store->folder >= 0)
        close(store->folder);
    store->folder = -1;
}

bool store_is_key(const char *text)
{
    size_t length;

    if (strlen(text) >= STORE_KEY_MOST)
        return false;
    do {
        length = strcspn(text, "/");
        if (length == 0 || (length <= 2 && strspn(text, ".") >= length))
            return false;
        text += length;
    } while (*text++ == '/');
    return true;
}

bool store_prefix(const struct store *store, const char *key, struct fault *fault)
{
    char path[2 * STORE_KEY_MOST];

    snprintf(path, sizeof path, "%.900s%s%s", store->path, *key == '\0' ? "" : "/", key);
    return fault_prefix(fault, path);
}

bool store_refuse(const struct store *store, const char *key, struct fault *fault, const char *format, ...)
{
    char reason[sizeof fault->text];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(reason, sizeof reason, format, arguments);
    va_end(arguments);
    fault_raise(fault, STATUS_INPUT, "%s", reason);
    return store_prefix(store, key, fault);
}

/* What the system refuses is no fault of the store. */
static bool refuse_system(const struct store *store, const char *key, int number, struct fault *fault)
{
    fault_raise(fault, STATUS_IO, "%s", strerror(number));
    return store_prefix(store, key, fault);
}

/* Go from folder to folder to the file of a key; -1 with errno. */
static int walk(const struct store *store, const char *key)
{
    const int follows = store->follows_links ? 0 : O_NOFOLLOW;
    char name[STORE_KEY_MOST];
    int folder = store->folder;

    for (;;) {
        size_t length = strcspn(key, "/");
        bool last = key[length] == '\0';
        int next, number;
        memcpy(name, key, length);
        name[length] = '\0';
        /* A FIFO must not be waited for. */
        next = openat(folder, name, O_RDONLY | O_CLOEXEC | follows | (last ? O_NONBLOCK : O_DIRECTORY));
        number = errno;
        if (folder != store->folder)
            close(folder);
        errno = number;
        if (next < 0 || last)
            return next;
        folder = next;
        key += length + 1;
    }
}

bool store_find(const struct store *store, const char *key, struct store_file *file, struct fault *fault)
{
    struct stat info;

    *file = (struct store_file){walk(store, key), 0};
    if (file->descriptor < 0 && errno == ENOENT)
        return true;
    /* The system says either of a link that is not to be followed, as the place in the key is. */
    if (file->descriptor < 0 && (errno == ELOOP || errno == ENOTDIR))
        return store_refuse(store, key, fault, "a link, or behind one, or no file in a folder%s",
                            store->follows_links ? "" : " (--allow-outside)");
    if (file->descriptor < 0 || fstat(file->descriptor, &info) != 0) {
        refuse_system(store, key, errno, fault);
    } else if (!S_ISREG(info.st_mode)) {
        store_refuse(store, key, fault, "not a regular file");
    } else {
        file->bytes = (uint64_t)info.st_size;
        return true;
    }
    store_file_close(file);
    return false;
}

bool store_read(const struct store *store, const char *key, const struct store_file *file, uint64_t offset,
                void *bytes, size_t size, struct fault *fault)
{
    size_t got;

    if (!fd_read_at(file->descriptor, offset, bytes, size, &got))
        return refuse_system(store, key, errno, fault);
    return got == size || store_refuse(store, key, fault, "the file became shorter");
}

void store_file_close(struct store_file *file)
{
    if (file->descriptor >= 0)
        close(file->descriptor);
    file->descriptor = -1;
}

bool store_load(const struct store *store, const char *key, size_t most, char **text, size_t *size,
                struct fault *fault)
{
    struct store_file file;
    bool done = store_find(store, key, &file, fault);

    *text = NULL;
    if (!done || file.descriptor < 0)
        return done;
    done = file.bytes <= most || store_refuse(store, key, fault, "more than %zu MiB", most >> 20);
    if (done) {
        *size = (size_t)file.bytes;
        *text = mem_alloc(*size, 1, "metadata", fault);
        done = *text != NULL && store_read(store, key, &file, 0, *text, *size, fault);
    }
    store_file_close(&file);
    return done;
}
