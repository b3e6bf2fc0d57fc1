/* Zarr: images and arrays, which are folders of chunks. They are read by zarr_source.h and written by
 * zarr_sink.h. */
#include "format.h"
#include "zarr_sink.h"
#include "zarr_source.h"

#define ZARR_OPERATIONS                                                                                      \
    .family = FAMILY_ZARR, .title = "a Zarr store", .folder = true, .in_turn = true, .compresses = true,     \
    .holds_series = true, .holds_resolutions = true, .holds_spacing = true, .holds_unit = true,              \
    .open = zarr_source_open, .name_file = zarr_source_name_file, .read_box = zarr_source_read_box,          \
    .reads_around = true, .box_bytes = zarr_source_box_bytes, .close = zarr_source_close,                    \
    .list_dropped = zarr_source_list_dropped, .create = zarr_sink_create, .write = zarr_sink_write,          \
    .writing_bytes = zarr_sink_bytes, .find_unit = zarr_sink_find_unit, .write_box = zarr_sink_write_box,    \
    .finish = zarr_sink_finish, .discard = zarr_sink_discard

const struct format format_zarr = {.name = "zarr",
                                   .summary = "OME-Zarr images and Zarr arrays, which are folders of chunks",
                                   ZARR_OPERATIONS};
const struct format format_ome_zarr = {
    .name = "ome.zarr", .summary = "the same by another name", ZARR_OPERATIONS};
