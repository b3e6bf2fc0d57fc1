/* OME-Zarr that is written: a group of one image at one resolution, by version 0.5. */
#ifndef ZARR_SINK_H
#define ZARR_SINK_H

#include "format.h"

#include <stdbool.h>
#include <stddef.h>

/* The functions of a format's sink. */
bool zarr_sink_create(struct sink *sink, const struct sink_request *request, struct fault *fault);
bool zarr_sink_write(struct sink *sink, const void *samples, size_t planes, struct fault *fault);
bool zarr_sink_find_unit(const struct format *format, const struct header *header,
                         const struct sink_request *request, size_t unit[2]);
bool zarr_sink_write_box(struct sink *sink, const void *samples, size_t volume, const struct region *box,
                         struct fault *fault);
bool zarr_sink_finish(struct sink *sink, struct fault *fault);
void zarr_sink_discard(struct sink *sink);
size_t zarr_sink_bytes(const struct header *header, const struct sink_request *request);

#endif
