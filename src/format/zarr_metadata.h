/* What OME-Zarr tells of an image that is written: its axes, and how its samples are stored. */
#ifndef ZARR_METADATA_H
#define ZARR_METADATA_H

#include "base/folder_out.h"
#include "base/json.h"
#include "zarr/codec.h"
#include "format.h"
#include "zarr_source.h"

#include <stdbool.h>
#include <stddef.h>

/* The array of samples in the folder. */
#define ZARR_ARRAY "0"

/* An axis of the array. */
struct zarr_axis {
    const char *name, *type, *unit; /* type and unit NULL: not told */
    size_t extent, chunk, shard;    /* in samples */
    double scale, place;            /* from sample to sample, and of the first one */
};

enum {
    ZARR_SERIES_MOST = 4,
    ZARR_AXES_MOST = ZARR_SERIES_MOST + 4
}; /* axes of a series, and channels and space */

struct zarr_image {
    struct zarr_axis axes[ZARR_AXES_MOST]; /* slowest first, those of a series before all others */
    size_t series, count;
    const struct codec_chain *chain; /* of a chunk */
    const struct zarr_source *zarr;  /* the input, if it is such an image; else NULL */
    bool keeps_display;              /* of the input: how it is to be shown still holds */
};

/* Begin an image: what a header and its input tell of axes, with extents but no chunks. */
void zarr_metadata_begin(struct zarr_image *image, const struct header *header, const struct source *origin);

/* Write the metadata of the array and of the group that it is in; `name` is that of an image that has none.
 */
bool zarr_metadata_put(const struct zarr_image *image, const char *name, struct folder_out *folder,
                       struct fault *fault);

#endif
