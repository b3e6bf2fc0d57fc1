/* Volumes in files that describe them: what their formats have in common. A format reads and writes the
   header; samples that follow it, or stand in files of their own, coded or not, are read here, and written by
   volume_sink.h. */
#ifndef VOLUME_H
#define VOLUME_H

#include "base/file_in.h"
#include "text_header.h"
#include "byte_stream.h"
#include "format.h"
#include "transpose.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The most axes that a header may have. */
#define VOLUME_AXES_MOST 16

/* The names of the files that hold the samples, in order: a list, or a pattern with %d for the numbers from
   `first` on, `step` apart. Each file has the same number of bytes of samples. */
struct volume_files {
    const char *field; /* that names them, for messages */
    char *pattern;     /* NULL: it is a list */
    char **names;
    size_t count; /* 0: the samples follow the header */
    size_t capacity;
    int64_t first, step; /* which may go down */
};

/* How each file holds its samples. */
struct volume_coding {
    enum coding coding;
    uint64_t line_skip;     /* lines before the code */
    const char *skipped_by; /* what the next two are from, for messages; NULL: the command line */
    uint64_t byte_skip;     /* bytes before the samples, or, */
    bool before_code;       /* if this is set, before their code */
    bool at_end;            /* or: the samples are the last bytes of the file */
};

/* The state of a source. */
struct volume {
    struct byte_stream *stream; /* of the header, from behind what was read of it */
    struct text_header fields;  /* of headers in text */
    void *parsed;               /* what the format keeps of its header */
    struct volume_coding coding;
    struct volume_files files;
    bool allows_outside;
    size_t threads; /* that may decode */
    bool reversed;  /* the file has the slowest axis of the grid fastest, in samples of one channel */
    struct transpose *transpose; /* what puts that right */

    char *target;             /* what a link to the header leads to, if the samples are there; else NULL */
    char *path;               /* of the file of samples, if it is not that of the header */
    struct file_in *file;     /* that holds the samples, if it is not that of the header */
    struct byte_stream *data; /* its stream; NULL: that of the header */
    size_t files_begun;
    bool begun;          /* what lies before the volume that was chosen has been passed over */
    uint64_t file_bytes; /* of samples in each file */
    uint64_t left;       /* of those, to come */
};

/* Open a source: its header, which may be compressed by gzip, is what the format makes of the stream. Then
   settle where the samples are, and refuse what cannot hold them. */
bool volume_open(struct source *source, const struct source_request *request, struct fault *fault);

/* Read exactly `size` bytes of the header. */
bool volume_read_header(struct source *source, void *bytes, size_t size, struct fault *fault);

/* Set the grid from extents, fastest axis first; axes of 1 after the third are dropped, others make a series.
 * `field` names the extents in messages. */
bool volume_set_extents(struct source *source, const char *field, const uint64_t *extents, size_t count,
                        uint64_t channels, struct fault *fault);

/* Set the distances between samples; 1 replaces those that are unknown or impossible. */
void volume_set_spacing(struct source *source, const double *spacing, size_t count);

/* Whether a file of this name exists in the header's folder. */
bool volume_file_exists(const struct source *source, const char *name);

/* If the header was opened by a link, look for samples in the folder of the link's target, or again in that
 * of the link. False if it was not. */
bool volume_follow_link(struct source *source, bool follow);

/* The path of the header, in whose folder samples are looked for; empty for standard input. */
const char *volume_header_path(const struct source *source);

/* Name a file of samples; or as a field of a header in text does: "NAME", "NAME%03d FIRST LAST STEP", or
   "LIST", before lines with names. `files.field` is set. */
bool volume_add_file(struct source *source, const char *name, struct fault *fault);
bool volume_name_files(struct source *source, const char *value, struct fault *fault);

/* Operations of a source, as in struct format. */
bool volume_name_file(const struct source *source, size_t index, char **path, struct fault *fault);
bool volume_read(struct source *source, void *samples, size_t planes, struct fault *fault);
bool volume_read_at(struct source *source, void *samples, size_t first, size_t planes, struct fault *fault);
bool volume_hold_in_spool(struct source *source, const struct spool *spool, struct fault *fault);
bool volume_end(struct source *source, struct fault *fault);
void volume_close(struct source *source);

/* Whether any source reads its header or samples from the file at a path. */
bool volume_reads(const struct source *source, const char *path);

/* The path of a file that a header names, seen from where the header is. To be freed. */
char *volume_path_beside(const char *header, const char *name, struct fault *fault);

/* The length of a path's folder, with the slash. */
size_t volume_folder_length(const char *path);

#endif
