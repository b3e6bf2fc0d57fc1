/* File formats: a vtable for each, and what a format tells of the samples that it reads or is to write.

   source_open reads a header, and replaces what the command line gives instead: distances, channels, the
   volume of a series. It allocates nothing for samples, since the plan may still refuse the job. Planes are
   read in turn by one thread, or in any order by several where the source is `random`. After the last plane,
   source_end checks that the file ends where it should.

   sink_open writes a header. Planes are written in turn, or in any order at their places where sink->samples
   has a file. sink_finish writes what comes last; no file has its name before that, and all files of a job
   get their names together (base/file_set.h).

   A sink may look at the source that its samples come from: formats of one family pass the header of the
   input on, but for what no longer holds, and others keep what they have fields for. What is left out is told
   by name. */
#ifndef FORMAT_H
#define FORMAT_H

#include "base/keyword.h"
#include "base/diag.h"
#include "base/file_in.h"
#include "base/file_out.h"
#include "base/file_set.h"
#include "base/preallocate.h"
#include "base/spool.h"
#include "model/grid.h"
#include "model/sample.h"
#include "geometry.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The order of bytes in a sample. */
enum endian { ENDIAN_LITTLE, ENDIAN_BIG };
enum endian endian_native(void);

/* The volume that is taken from a series, and how many volumes the input has; 0: none was chosen. */
struct header_choice {
    size_t volume, count;
};

/* How the values of an output relate to those of the input. It decides which header fields about values still
   hold for the output. */
enum values {
    VALUES_COPIED,   /* all of them are there unchanged, so that their extremes hold, too */
    VALUES_FILTERED, /* constants stay what they are, so that a range to be shown still holds */
    VALUES_DERIVED,  /* slopes, for example: only what samples stand for still holds */
    VALUES_MAPPED    /* to a range that was asked for: nothing about values holds */
};

/* The samples in the planes that a format reads or writes. They are packed, with channels interleaved. */
struct header {
    struct grid grid;
    size_t volumes; /* of a series, each such a grid, one after the other; 1 alone */
    struct header_choice choice;
    enum sample_type type;
    enum endian endian;
    bool alpha;               /* the last channel is alpha */
    bool associated;          /* and colour is multiplied by it */
    double file_gamma;        /* stored = linear^file_gamma; 0: the sRGB curve */
    const char *profile;      /* the chunk or field whose profile defines the colours otherwise; else NULL */
    double millimetres;       /* how many the unit of the spacing is; 0: the file does not tell */
    bool respaced;            /* the spacing is not that of the file, but that of --spacing */
    bool for_print;           /* the spacing is a resolution for printers: outputs keep it, filters take 1 */
    size_t first[3];          /* along x, y and z: where the grid begins in that of the input */
    struct geometry geometry; /* of the input */
    char orientation[4];      /* of the input, as geometry_orientation has it; empty: nobody knows */
    struct intensity intensity;
    enum values values;  /* of an output */
    const char *damaged; /* NULL or empty; else what should have told of the colours and cannot be used */
};

/* Bytes of one plane. */
size_t header_plane_bytes(const struct header *header);

/* Samples of all volumes. */
size_t header_samples(const struct header *header);

/* What the command line says about the input. A format whose header describes the samples refuses most of it
   (source_open). */
struct source_request {
    bool has_dims;
    struct grid grid; /* extents where has_dims; channels and spacing always */
    bool has_channels;
    bool has_type;
    enum sample_type type;
    bool has_endian;
    enum endian endian;
    uint64_t skip;
    bool has_volume;
    uint64_t volume;      /* of a series, the one that is read, counted from 0 */
    size_t spacing_count; /* distances that were given */
    bool
        allow_outside; /* samples may be in files outside the folder of their header, or in what is no file */
    size_t threads;    /* for the format's own work, at least 1 */
    const char *pattern; /* of the names of a stack of pictures; NULL: there is one file */
};

struct source {
    const struct format *format;
    struct file_in *file;
    /* The one whose samples may be long in coming: this, or another that it names. file_in_make_cancellable
       and file_in_cancel make reads that wait for it fail. */
    struct file_in *awaited;
    struct header header;
    char note[512];    /* what was assumed, shown once the job is accepted; else empty */
    char warning[512]; /* what speaks against it, shown at the same time */
    char dropped[512]; /* after the end: names of what no output can have from this file; else empty */
    size_t held_bytes; /* what the format itself has to hold, an interlaced picture for one: in memory, unless
                          it is given a file for it */
    size_t beside_bytes; /* what it takes for that beside it, in memory always */
    size_t data_files;   /* that hold samples, without its own */
    bool random;         /* planes can be read in any order, by several threads */
    void *state;         /* the format's own */
};

struct sink_request {
    const char *pattern;         /* the name that is asked for, of a file or of the files of a stack */
    int level;                   /* of compression, 0 to 9; −1: the format's own default */
    size_t threads;              /* for the format's own work, at least 1 */
    const struct grid *whole;    /* that the file's header describes; NULL: what is written */
    const struct source *origin; /* stays open until the sink is closed, and ends before it: whose metadata to
                                    keep, if the sink's format understands it */
};

/* Where a sink's samples lie in a file, plane after plane, so that several threads or processes can write
   them in any order. */
struct sink_place {
    struct file_out *file; /* NULL: samples come in turn alone */
    uint64_t begin;
    bool apart; /* this process has blocks of its own there, for its planes alone */
};

struct sink {
    const struct format *format;
    struct file_out *file; /* NULL: others complete it */
    struct header header;
    struct sink_place samples;
    struct preallocation
        *preallocation; /* of room for them, and for others as well where others have it; or NULL */
    char note[128];     /* once it is finished: what was made of the samples; else empty */
    void *state;
};

/* Formats of a family have the same fields in their headers: an output of the input's family is written with
   the header of the input. */
enum format_family {
    FAMILY_RAW,
    FAMILY_PNG,
    FAMILY_NIFTI,
    FAMILY_NRRD,
    FAMILY_METAIMAGE,
    FAMILY_NPY,
    FAMILY_TIFF
};

/* What a header can say about alpha. */
enum format_alpha {
    FORMAT_NO_ALPHA,
    FORMAT_RGBA,         /* that the last of four channels is alpha, by which colour is not multiplied */
    FORMAT_UNASSOCIATED, /* that the last channel is, by which colour is never multiplied */
    FORMAT_ANY_ALPHA
};

struct format {
    const char *name; /* names of its files end in a dot and this */
    enum format_family family;
    const char *summary;
    const char *title;                  /* with its article, where it describes its samples: "an NRRD file" */
    const struct format *compressed_as; /* the same compressed by gzip as a whole; NULL where there is none */
    bool compressed;                    /* all of the file is compressed by gzip */
    bool in_turn;                       /* its samples can only be written one plane after the other */
    bool joins;                         /* cat joins its header, and samples without one, packed if it is */
    bool compresses;                    /* a level of compression means something */
    bool holds_series;                  /* volumes may follow each other */
    bool holds_spacing;                 /* its header tells how far apart samples are */
    bool holds_geometry;                /* and where the grid is in space */
    bool holds_intensity;               /* and what samples stand for */
    bool holds_colours;                 /* and which channels are red, green and blue */
    enum format_alpha alpha;
    bool is_picture; /* it holds a picture, and is no format of volumes */
    bool is_stack;   /* a file is one of several pictures */
    /* What the name of the file ends in that samples are written into beside the header, as they are and
       compressed; NULL: they follow the header. */
    const char *data_suffix, *data_suffix_compressed;

    /* Whether a file that begins with these bytes, compressed by gzip or not, is of this format; NULL where
       nothing marks it, and in formats that differ from another one only in how they are written. */
    bool (*sniff)(const unsigned char *start, size_t size);

    /* Read the header: fill source->header, held_bytes, beside_bytes and state. On failure nothing
       is left. */
    bool (*open)(struct source *source, const struct source_request *request, struct fault *fault);

    /* Of the formats in volume.h, what `open` and `create` leave to each: read the header into source->header
       and the state, or write what comes before the first sample. write_header is NULL if nothing does. */
    bool (*read_header)(struct source *source, const struct source_request *request, struct fault *fault);
    bool (*write_header)(struct sink *sink, const struct sink_request *request, struct fault *fault);

    /* The path of one of the data_files, to be freed. NULL if the format has none. */
    bool (*name_file)(const struct source *source, size_t index, char **path, struct fault *fault);

    /* Hold held_bytes in a spool, which outlives the source. Called before the first planes; NULL if the
     * format holds none. */
    bool (*hold_in_spool)(struct source *source, const struct spool *spool, struct fault *fault);

    /* Read the next planes. */
    bool (*read)(struct source *source, void *samples, size_t planes, struct fault *fault);

    /* Read planes in any order, from a source that is `random`; all of them before the end. NULL if no source
     * is. */
    bool (*read_at)(struct source *source, void *samples, size_t first, size_t planes, struct fault *fault);

    /* List what of the source's header `sink` does not keep, and what does not hold for the output
     * (format_drop); NULL if nothing is dropped. */
    void (*list_dropped)(const struct source *source, const struct format *sink, const struct header *written,
                         char *dropped, size_t size);

    /* After the last plane: check that the file ends as it should; NULL if any end will do. */
    bool (*end)(struct source *source, struct fault *fault);
    void (*close)(struct source *source);

    /* Write the header of sink->header. On failure nothing is left. */
    bool (*create)(struct sink *sink, const struct sink_request *request, struct fault *fault);
    bool (*write)(struct sink *sink, const void *samples, size_t planes, struct fault *fault);

    /* After the last plane: write what closes the file, and complete those beside it; NULL if nothing is left
     * to do. */
    bool (*finish)(struct sink *sink, struct fault *fault);

    /* Add the data files to the set of files that get their names together. NULL if the format has none. */
    bool (*add_data_files)(const struct sink *sink, struct file_set *set, struct fault *fault);

    /* Release the state, finished or not. */
    void (*discard)(struct sink *sink);
};

#define FORMAT(symbol, name) extern const struct format format_##symbol;
#include "formats.def"

/* All formats; ends with NULL. */
extern const struct format *const format_list[];

/* The values of --format and --out-format, and the format that belongs to one of them. */
extern const struct keyword format_keywords[];
const struct format *format_chosen(int place);

/* The format of an input: that of a picture or raw samples, if the request describes them; else what its
   first bytes are of, what its name promises, or raw. NULL where they could not be read, or are of a kind
   that is not read (foreign_type.h). */
const struct format *format_of_input(struct file_in *file, const struct source_request *request,
                                     struct fault *fault);

/* The format that a name's ending stands for, NULL if none; and the length of the name without
   that ending. */
const struct format *format_of_name(const char *path);
size_t format_stem_length(const char *path);

/* Whether the format can tell that the last channel is alpha, and whether colour is multiplied by it. */
bool format_tells_alpha(const struct format *format, const struct header *header);

/* Append the name of a field that an output drops to a list, which has room for `size` bytes. Names that do
   not fit become " and others". */
void format_drop(char *list, size_t size, const char *name);

/* Append the name with its index, as in "spacings[3]", for each distance from `first` on that tells
   something: it is neither NaN, 0 nor 1. */
void format_drop_distances(char *list, size_t size, const char *name, const double *distances, size_t first,
                           size_t count);

/* The path of the file of samples for a header at this path; false if the text is too small. */
bool format_name_data(const struct format *format, const char *header, bool compressed, char *text,
                      size_t size);

/* The format whose mark these first bytes have; NULL: none. */
const struct format *format_of_start(const unsigned char *start, size_t size);

/* Refuse what a source reads: "FILE: REASON", and the status of faulty input. Returns false. */
bool source_refuse(const struct source *source, struct fault *fault, const char *format, ...)
    DIAG_PRINTF(3, 4);

/* Read a file's header. On failure nothing is left open but the file, which stays the caller's. */
bool source_open(struct source *source, struct file_in *file, const struct format *format,
                 const struct source_request *request, struct fault *fault);

bool source_read(struct source *source, void *samples, size_t planes, struct fault *fault);
bool source_read_at(struct source *source, void *samples, size_t first, size_t planes, struct fault *fault);
bool source_end(struct source *source, struct fault *fault);

void source_close(struct source *source);

bool sink_open(struct sink *sink, struct file_out *file, const struct format *format,
               const struct header *header, const struct sink_request *request, struct fault *fault);
bool sink_write(struct sink *sink, const void *samples, size_t planes, struct fault *fault);

/* Bytes of the samples of all volumes. */
uint64_t sink_bytes(const struct sink *sink);

/* The room on the disk that all samples need. */
struct preallocate_file sink_room(const struct sink *sink);

/* Begin to reserve room for all samples in a thread, unless that has begun or they have no place. */
void sink_begin_to_reserve(struct sink *sink);

/* Whether reserving has failed so far. */
bool sink_lacks_room(const struct sink *sink, struct fault *fault);

/* For a sink whose samples have a place: reserve room for all of them, or wait for that, so that a full disk
 * shows at once; then write planes in any order, all of them before the end. */
bool sink_reserve(const struct sink *sink, struct fault *fault);
bool sink_write_at(const struct sink *sink, const void *samples, size_t first, size_t planes,
                   struct fault *fault);

/* After the last plane: write what is left; no file has its name yet. Then add all files to the set that get
 * their names together, the header last. */
bool sink_finish(struct sink *sink, struct fault *fault);
bool sink_add_files(const struct sink *sink, struct file_set *set, struct fault *fault);
void sink_close(struct sink *sink);

/* A sink for planes in a file that several processes write, and of which another sink writes the header.
   Whoever opened the file completes and closes it. */
struct sink sink_joint(const struct header *header, struct sink_place place);

#endif
