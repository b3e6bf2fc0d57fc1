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

/* The files that hold the samples, in order: a list of names, or a pattern with %d, whose numbers start at
   `first` and are `step` apart. Each file holds the same number of bytes of samples. */
struct volume_files {
    const char *field; /* the header's field that names them, for messages */
    char *pattern;     /* NULL: it is a list */
    char **names;
    size_t count; /* 0: the samples follow the header */
    size_t capacity;
    int64_t first, step; /* step may be negative */
};

/* How samples lie in each file: what is skipped before them, and how they are coded. */
struct volume_coding {
    enum coding coding;
    uint64_t line_skip;     /* lines before the code */
    const char *skipped_by; /* the field that gives the next two, for messages; NULL: the command line does */
    uint64_t byte_skip;     /* bytes before the samples, or, */
    bool before_code;       /* if this is set, before their code */
    bool at_end;            /* or: the samples are the last bytes of the file */
};

/* The state of a source, shared by all formats of volumes. volume_open makes it before the format reads its
   header, and volume_close releases it. */
struct volume {
    struct byte_stream *stream; /* the header's file, from behind what has been read of it */
    struct text_header fields;  /* of headers in text */
    void *parsed;               /* what the format keeps of its header, in one block of memory */
    struct volume_coding coding;
    struct volume_files files;
    bool allows_outside;
    size_t threads; /* that may decompress samples */
    bool reversed;  /* the file has the slowest axis of the grid fastest, in samples of one channel */
    struct transpose *transpose; /* reorders such samples; else NULL */

    char *target;         /* where a link to the header leads, if samples are looked for there; else NULL */
    char *path;           /* of the file of samples at hand, if it is not that of the header */
    struct file_in *file; /* that file, open */
    struct byte_stream *data; /* its stream; NULL: samples follow the header */
    size_t files_begun;       /* files of samples that have been opened */
    bool begun;               /* the volumes before the chosen one have been passed over */
    uint64_t file_bytes;      /* of samples in each file */
    uint64_t left;            /* of those, to come from the file at hand */
};

/* Open a source: its header, which may be compressed by gzip, is what the format makes of the stream. Then
   settle where the samples are, and refuse what cannot hold them. */
bool volume_open(struct source *source, const struct source_request *request, struct fault *fault);

/* Read exactly `size` bytes of the header; a file that ends before that is refused. */
bool volume_read_header(struct source *source, void *bytes, size_t size, struct fault *fault);

/* Set the grid from extents, fastest axis first, after source->header.type is known. Axes of extent 1 after
   the third are dropped, others make a series. What cannot be addressed is refused; `field` names the extents
   in messages. */
bool volume_set_extents(struct source *source, const char *field, const uint64_t *extents, size_t count,
                        uint64_t channels, struct fault *fault);

/* Set the distances between samples, of which only the size counts. Those that are unknown or impossible stay
   1. */
void volume_set_spacing(struct source *source, const double *spacing, size_t count);

/* The fields of a source whose header is text. */
struct text_header *volume_fields(const struct source *source);

/* Whether a file of this name exists in the header's folder. */
bool volume_file_exists(const struct source *source, const char *name);

/* If the header was opened by a link, look for samples in the folder of the link's target, or again in that
 * of the link. False if it was not. */
bool volume_follow_link(struct source *source, bool follow);

/* The path of the header, in whose folder samples are looked for; empty for standard input. */
const char *volume_header_path(const struct source *source);

/* Add one file of samples by its name; or those that a field of a text header gives: "NAME", "NAME%03d FIRST
   LAST STEP", or "LIST", with names in the lines that follow. `files.field` is set before. */
bool volume_add_file(struct source *source, const char *name, struct fault *fault);
bool volume_name_files(struct source *source, const char *value, struct fault *fault);

/* Operations of a source, as in struct format. */
char *volume_name_file(const struct source *source, size_t index, struct fault *fault);
bool volume_read(struct source *source, void *samples, size_t planes, struct fault *fault);
bool volume_read_box(struct source *source, void *samples, size_t volume, const struct region *box,
                     struct fault *fault);
void volume_hold_in_spool(struct source *source, const struct spool *spool);
bool volume_end(struct source *source, struct fault *fault);
void volume_close(struct source *source);

/* Whether a source, of any format, reads its header or samples from the file at this path. */
bool volume_reads(const struct source *source, const char *path);

/* The path of a file that a header at `header` names: relative names are seen from the header's folder.
   Release with mem_free; NULL with a fault. */
char *volume_path_beside(const char *header, const char *name, struct fault *fault);

#endif
