/* Arrays of Zarr: what .zarray (version 2) or zarr.json (version 3) says of one.

   The samples of an array stand in chunks, each a file of its own; or several chunks stand in one file, a
   shard, behind or before an index of their places. What cannot be read is refused by the name of its field.
 */
#ifndef ARRAY_H
#define ARRAY_H

#include "base/json.h"
#include "codec.h"
#include "store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ARRAY_MOST_AXES CODEC_MOST_AXES

struct array {
    size_t axes;
    uint64_t shape[ARRAY_MOST_AXES]; /* slowest axis first, as in all lists here */
    struct codec_chain chain;        /* with the type of the samples and the extents of a chunk */
    size_t file[ARRAY_MOST_AXES];    /* extents of what a file holds: a chunk, or a shard of whole chunks */
    bool sharded, index_first, index_checksum;
    size_t shard_chunks;   /* chunks in a shard; 1 in an array without shards */
    char separator;        /* between the numbers of a chunk's key */
    bool has_letter;       /* keys begin with "c" */
    unsigned char fill[8]; /* the sample of chunks that are not there, in this machine's byte order */
    bool has_names;        /* of axes: dimension_names */
};

/* Read the metadata of an array, of either version. Libraries that its codecs need are loaded. Faults do not
   name the file, which the caller adds. */
bool array_read(struct array *array, const struct json_value *metadata, struct fault *fault);

/* The name of a type in version 3. */
const char *array_type_name(enum sample_type type);

/* The key of a file by its numbers, behind that of the array's folder: empty, or with a slash at its end, and
   of at most ARRAY_FOLDER_MOST bytes with the byte 0. */
#define ARRAY_FOLDER_MOST (STORE_KEY_MOST - ARRAY_MOST_AXES * 21 - 1)
void array_key(const struct array *array, const char *folder, const uint64_t *numbers,
               char key[STORE_KEY_MOST]);

#endif
