/* Stores of Zarr: folders in which metadata and chunks are files, each known by its key, such as "0/c/1/0/2".
   Only regular files within the folder are read: a key has no "..", and links in the folder are followed only
   where that is allowed. */
#ifndef STORE_H
#define STORE_H

#include "base/diag.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STORE_KEY_MOST 1024 /* bytes of a key with its end */

/* Files of metadata, in the order in which a reader looks for them. A group of version 2 tells of its image
   in its attributes, where it has any. */
enum store_metadata {
    STORE_VERSION_3,
    STORE_ARRAY_2,
    STORE_ATTRIBUTES_2,
    STORE_GROUP_2,
    STORE_NO_METADATA /* how many there are; also of what is no store */
};
extern const char *const store_metadata[];

/* Those of the folder at a path, if it is one. */
enum store_metadata store_metadata_at(const char *path);

/* A folder that is open; its path stays with the caller. */
struct store {
    const char *path;
    int folder;
    bool follows_links;
};

/* Open a folder, which may itself be a link. On failure nothing is left open. */
bool store_open(struct store *store, const char *path, bool follows_links, struct fault *fault);
void store_close(struct store *store);

/* Whether a text is a key: names with single slashes between them, none of them "." or "..". */
bool store_is_key(const char *text);

/* Refuse what a key holds: "PATH/KEY: REASON", and the status of faulty input. Returns false. */
bool store_refuse(const struct store *store, const char *key, struct fault *fault, const char *format, ...)
    DIAG_PRINTF(4, 5);

/* Put "PATH/KEY: " before the text of a fault. Returns false. */
bool store_prefix(const struct store *store, const char *key, struct fault *fault);

/* A file of the store that is open for reading; its descriptor is -1 where there is none of this key. */
struct store_file {
    int descriptor;
    uint64_t bytes;
};

/* Open the file of a key, read from it, and close it. Several threads may. A file that ends before what is
   read is refused. */
bool store_find(const struct store *store, const char *key, struct store_file *file, struct fault *fault);
bool store_read(const struct store *store, const char *key, const struct store_file *file, uint64_t offset,
                void *bytes, size_t size, struct fault *fault);
void store_file_close(struct store_file *file);

/* Read all of a file, which may have at most so many bytes; *text is NULL where there is none, and is to be
   released with mem_free in any case. */
bool store_load(const struct store *store, const char *key, size_t most, char **text, size_t *size,
                struct fault *fault);

#endif
