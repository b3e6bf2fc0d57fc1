/* Volumes that are written: what the formats of volume.h have in common there. A format calls these from its
   write_header, in the order of the file. */
#ifndef VOLUME_SINK_H
#define VOLUME_SINK_H

#include "gzip_writer.h"
#include "volume.h"

#include <stdbool.h>
#include <stddef.h>

/* Operation `create` of these formats: make the state and let the format write its header. volume_sink_put
   adds bytes to that, and to the samples once volume_sink_detach or volume_sink_pack has been called. */
bool volume_sink_find_unit(const struct format *format, const struct header *header,
                           const struct sink_request *request, size_t unit[2]);
bool volume_sink_create(struct sink *sink, const struct sink_request *request, struct fault *fault);
bool volume_sink_put(struct sink *sink, const void *bytes, size_t size, struct fault *fault);

/* Put what printf would print. The first failure is remembered, and told by volume_sink_printed. */
void volume_sink_print(struct sink *sink, const char *format, ...) DIAG_PRINTF(2, 3);
bool volume_sink_printed(const struct sink *sink, struct fault *fault);

/* Print a line: a label, as "sizes:", and numbers, each with a space before it. */
void volume_sink_print_counts(struct sink *sink, const char *label, const uint64_t *counts, size_t count);
void volume_sink_print_reals(struct sink *sink, const char *label, const double *reals, size_t count);

/* Print the lines of a header that is passed on, in their order, without those whose fields have one of the
   roles. */
void volume_sink_print_kept(struct sink *sink, const struct text_header *fields,
                            const struct known_field *known, unsigned roles);

/* Roles of fields about values that no longer hold for this output. */
unsigned volume_sink_outdated(const struct header *written);

/* Roles of fields whose content an output of another family keeps in its own words; all other fields are
   listed as dropped. */
unsigned volume_sink_kept(const struct source *origin, const struct receiver *to, bool keeps_position);

/* Whether samples are to be compressed: where that is asked for, or where those of the origin are. */
bool volume_sink_compresses(const struct volume *origin, const struct sink_request *request);

/* After a header in text: name the file of samples by this field, "data file: ", if they are not to follow,
   and begin to compress them if they are to be. */
bool volume_sink_begin_data(struct sink *sink, const struct sink_request *request, const char *field,
                            bool compressed, enum gzip_writer_wrapper wrapper, struct fault *fault);

/* Compress all bytes from here on, at the sink's level and with its threads. */
bool volume_sink_pack(struct sink *sink, enum gzip_writer_wrapper wrapper, struct fault *fault);

/* Leave room in the header for the size of the compressed samples, which volume_sink_finish fills in. Refused
 * for files that must be written in order. */
bool volume_sink_reserve_size(struct sink *sink, struct fault *fault);

/* Write the name of the file of samples, without its folder, as the header is to give it. If the output is a
   link, the name follows that of its target. */
bool volume_sink_name_data(const struct sink *sink, bool compressed, char *text, size_t size,
                           struct fault *fault);

/* Refuse to write through a link if its folder has another file of the samples' name, which readers would
 * take for them. */
bool volume_sink_check_link(const struct sink *sink, const char *name, const char *samples,
                            struct fault *fault);

/* Put all bytes from here on into the file of samples. It never replaces an input, unless the sink replaces
 * the input's header. */
bool volume_sink_detach(struct sink *sink, const struct sink_request *request, const char *name,
                        struct fault *fault);

/* Operations of a sink, as in struct format. */
bool volume_sink_write(struct sink *sink, const void *samples, size_t planes, struct fault *fault);
bool volume_sink_finish(struct sink *sink, struct fault *fault);
bool volume_sink_add_data_files(const struct sink *sink, struct file_set *set, struct fault *fault);
void volume_sink_discard(struct sink *sink);

/* The state of the origin if its format is of the sink's family, so that its header is kept; else NULL. */
const struct volume *volume_sink_origin(const struct sink *sink, const struct sink_request *request);

/* The geometry to write: that of an origin of another family, if it is known; else NULL. */
const struct geometry *volume_sink_geometry(const struct sink *sink, const struct sink_request *request,
                                            struct geometry *geometry);

/* How many axes a new header has: those of the grid; four for a series, so that its pictures stay apart. */
unsigned volume_sink_axes(const struct header *header);

/* Whether the sink gets only a part of its origin's samples. */
bool volume_sink_is_cropped(const struct sink *sink, const struct sink_request *request);

/* Write the extents of all axes of a header that is kept, which has `first` axes before x: axes that the grid
   does not have keep theirs, or have 1 if one volume was chosen. */
void volume_sink_extents(const struct header *header, size_t first, const uint64_t *before, size_t count,
                         uint64_t *extents);

/* The index of the chosen volume along an axis of the series, which has these extents. */
size_t volume_sink_choice(const struct header *header, const uint64_t *extents, size_t axis);

/* The format's name for the sink's type of samples. If its table does not have the type, it is refused, and
   NULL is returned. */
const char *volume_sink_type(const struct sink *sink, const struct word *types, size_t count,
                             struct fault *fault);

/* Refuse the sink's type of samples, which the format does not have; returns false. */
bool volume_sink_refuse_type(const struct sink *sink, struct fault *fault);

/* The members of struct format that are alike in all these formats. */
#define VOLUME_OPERATIONS                                                                                    \
    .open = volume_open, .name_file = volume_name_file, .hold_in_spool = volume_hold_in_spool,               \
    .read = volume_read, .read_box = volume_read_box, .end = volume_end, .close = volume_close,              \
    .create = volume_sink_create, .holds_series = true, .write = volume_sink_write,                          \
    .find_unit = volume_sink_find_unit, .finish = volume_sink_finish,                                        \
    .add_data_files = volume_sink_add_data_files, .discard = volume_sink_discard

#endif
