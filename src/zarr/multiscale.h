/* Multiscales of OME-Zarr: an image at several resolutions, each an array of the same group, with its axes
   and where the samples are in space.

   Version 0.4 stands in .zattrs, version 0.5 within "ome" in zarr.json. */
#ifndef MULTISCALE_H
#define MULTISCALE_H

#include "array.h"

#include <stddef.h>
#include <stdint.h>

/* What an axis is. At most one of a kind; AXIS_OTHER is any that is neither in space, nor time nor channel.
 */
enum axis_kind { AXIS_X, AXIS_Y, AXIS_Z, AXIS_CHANNEL, AXIS_TIME, AXIS_OTHER };

struct axis {
    enum axis_kind kind;
    const char *unit;    /* NULL: not told */
    double scale, place; /* of a sample, and where the first one is, in the unit */
};

/* An image, at the resolution that was asked for. Texts belong to the metadata. */
struct multiscale {
    size_t axes;
    struct axis axis[ARRAY_MOST_AXES]; /* in the order of the array's */
    size_t resolutions;
    size_t others;    /* images of the group beside this one */
    const char *path; /* of the array within the group */
};

/* Read the first image of a group by its attributes. A resolution that it lacks, counted from 0, is
   refused with STATUS_USAGE. Faults do not name the file, which the caller adds. */
bool multiscale_read(struct multiscale *multiscale, const struct json_value *attributes, uint64_t resolution,
                     struct fault *fault);

/* The object that holds "multiscales": the attributes, or "ome" in them. NULL: no OME-Zarr. */
const struct json_value *multiscale_home(const struct json_value *attributes);

#endif
