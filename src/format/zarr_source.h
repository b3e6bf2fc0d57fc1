/* Zarr stores as inputs: folders whose metadata is the file that is opened. */
#ifndef ZARR_SOURCE_H
#define ZARR_SOURCE_H

#include "zarr/array_reader.h"
#include "zarr/multiscale.h"
#include "format.h"

/* The state of a source. */
struct zarr_source {
    char *folder; /* the path of the store */
    struct store store;
    struct json_tree root;               /* of the file that was opened */
    struct json_tree more;               /* of .zattrs beside .zarray, or of the array in a group */
    const struct json_value *attributes; /* of the folder; NULL: none */
    bool is_image;                       /* OME-Zarr, and not an array alone */
    struct multiscale image;             /* where it is one */
    struct array array;
    size_t space[3];             /* which of its axes is x, y and z; ARRAY_NO_AXIS: none */
    unsigned axes;               /* how many of these there are */
    char key[STORE_KEY_MOST];    /* of the array's metadata */
    char prefix[STORE_KEY_MOST]; /* of the keys of its chunks */
    struct array_reader *reader;
};

/* The name of the image; NULL where it has none, or no other than that of its folder, without the ending, or
   of the root of all groups. */
const char *zarr_source_own_name(const struct zarr_source *zarr);

/* Whether "omero", which says how channels are to be shown, still holds for an output. */
bool zarr_source_display_holds(const struct source *source, const struct header *written);

/* The functions of a format's source. */
bool zarr_source_open(struct source *source, const struct source_request *request, struct fault *fault);
void zarr_source_close(struct source *source);
char *zarr_source_name_file(const struct source *source, size_t index, struct fault *fault);
bool zarr_source_read_box(struct source *source, void *samples, size_t volume, const struct region *box,
                          struct fault *fault);
size_t zarr_source_box_bytes(const struct source *source, const struct region *box);
void zarr_source_list_dropped(const struct source *source, const struct receiver *to,
                              struct dropped *dropped);

#endif
