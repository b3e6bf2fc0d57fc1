/* OME-Zarr: a folder with a group, in which an array has the samples of an image in chunks. */
#include "format.h"
#include "zarr_sink.h"

/* What has bytes of its own is no folder. */
static bool open_source(struct source *source, const struct source_request *request, struct fault *fault)
{
    (void)request;
    return source_refuse(source, fault, "a Zarr store is a folder, and this is a file");
}

#define ZARR_OPERATIONS                                                                                      \
    .family = FAMILY_ZARR, .title = "a Zarr store", .folder = true, .in_turn = true, .compresses = true,     \
    .holds_series = true, .holds_spacing = true, .open = open_source, .create = zarr_sink_create,            \
    .write = zarr_sink_write, .writing_bytes = zarr_sink_bytes, .finish = zarr_sink_finish,                  \
    .discard = zarr_sink_discard

const struct format format_zarr = {
    .name = "zarr", .summary = "OME-Zarr: a folder of chunks, compressed by Zstandard", ZARR_OPERATIONS};
const struct format format_ome_zarr = {
    .name = "ome.zarr", .summary = "the same by another name", ZARR_OPERATIONS};
