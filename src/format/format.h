/* File formats: a vtable for each, and what a format tells of the samples that it reads or is to write.

   source_open reads a header, and replaces what the command line gives instead: distances, channels, the
   volume of a series. It allocates nothing for samples, since the plan may still refuse the job. Planes are
   read in turn by one thread, or in any order by several where the source is `random`. After the last plane,
   source_end checks that the file ends where it should.

   sink_open writes a header. Planes are written in turn, or in any order at their places where sink->samples
   has a file, or where the sink is `random`. sink_finish writes what comes last; no file has its name before
   that, and all files of a job get their names together (base/file_set.h).

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
#include "model/region.h"
#include "model/sample.h"
#include "png/png_chunks.h"
#include "geometry.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Which volume of a series is read (--volume), counted from 0, and how many volumes the input has. A count of
   0 means that no volume was chosen: then all of them are read, one after the other. */
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

/* Axes that have another spacing than the file says: x and y by --resolution, all of them by --spacing. */
enum { RESPACED_BY_RESOLUTION = 3, RESPACED_BY_OPTION = 7 };

/* An axis along which the volumes of a series follow each other. */
enum series_kind { SERIES_CHANNEL, SERIES_TIME, SERIES_OTHER };
enum { SERIES_MOST = 3 }; /* one of each kind */
struct series_axis {
    enum series_kind kind;
    size_t extent; /* more than 1 */
};

/* The samples in the planes that a format reads or writes. They are packed, with channels interleaved. */
struct header {
    struct grid grid;
    size_t volumes; /* of a series: grids that follow each other; 1 for a single volume */
    struct series_axis series[SERIES_MOST]; /* its axes, the fastest first */
    size_t series_axes;                     /* so many; 0: not told */
    struct header_choice choice;
    enum sample_type type;
    enum endian endian;
    unsigned bits, photometric; /* how a TIFF file stores what is read as the type and the channels; else 0 */
    bool alpha;                 /* the last channel is alpha (opacity) */
    bool associated;            /* colour is stored multiplied by alpha */
    double file_gamma;          /* stored = linear^file_gamma; 0: the sRGB curve */
    const char *profile; /* the chunk or field whose profile says what colours mean, where neither sRGB nor
                            gAMA does; else NULL */
    double millimetres;  /* millimetres in one unit of the spacing; 0: the file does not say */
    bool tells_depth;    /* a grid of two axes has a distance along z: planes of a stack are that far apart */
    unsigned respaced;   /* the axes, as bits, whose spacing is not that of the file; 0: none */
    bool for_print;      /* the spacing is a resolution for printers: outputs keep it, filters take 1 */
    size_t first[3]; /* along x, y and z: the index, in the grid of the input, at which this grid begins */
    struct geometry geometry; /* of the input */
    char orientation[4];      /* of the input, three letters as from geometry_orientation; empty: not known */
    struct intensity intensity;
    enum values values;  /* of an output */
    const char *damaged; /* a chunk that should have said what colours mean, but cannot be used; NULL or
                            empty: there is none */
};

/* Bytes of one plane: a z-plane of a volume, or a row of a picture. */
size_t header_plane_bytes(const struct header *header);

/* Samples of all volumes, channels counted. */
size_t header_samples(const struct header *header);

/* Add the next axis of a series, if its extent is more than 1 and there is room. */
void header_add_series(struct header *header, enum series_kind kind, uint64_t extent);

/* How many volumes of a series, one after another, are the channels of one: the extent of its fastest axis,
   if that is known to be of channels and samples have one each; else 1. */
size_t header_series_channels(const struct header *header);

/* Tell, by the chunks of a picture, what its colours mean. The chunks stay where they are. */
void header_describe_colour(struct header *header, const struct png_chunks *chunks);

/* A description of the input by the command line. Only raw samples need it; a format whose header describes
   the samples refuses most of it (source_open). */
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
    uint64_t resolution;  /* of a pyramid, counted from the full one, which is 0 */
    size_t spacing_count; /* distances that --spacing gave; 0: none */
    bool allow_outside;   /* samples may be outside the folder of their header, or in what is no file */
    size_t threads;       /* for the format's own work, at least 1 */
    const char *pattern;  /* of the names of a stack; NULL: there is one file */
    bool looks_at_all;    /* each file of a stack is looked at when it is opened, and not when it is read */
    bool described;       /* raw samples take all this from another header: no option can say otherwise */
};

/* Names of what an output drops, in one line of text; empty if there are none. */
struct dropped {
    char names[512];
};

/* An input that is open: its header has been read, and its samples can be. The file belongs to the caller;
   the rest is released by source_close. */
struct source {
    const struct format *format;
    struct file_in *file;
    /* The file whose samples a reader may have to wait for, as behind a pipe: this, or one that it names.
       file_in_make_cancellable and file_in_cancel let another thread end such a wait. */
    struct file_in *awaited;
    struct header header;
    const struct png_chunks *chunks; /* of a picture: what its file tells besides, as a PNG has it; it may
                                        grow until the end. NULL in other formats */
    char note[512];    /* what was assumed about the samples, shown once the job is accepted; else empty */
    char warning[512]; /* a reason to doubt that, shown at the same time; else empty */
    struct dropped dropped; /* at the end: what no output can keep of this file, by name; else empty */
    size_t held_bytes; /* samples that the format must hold before it can give the first plane, as those of an
                          interlaced picture: in memory, or in a spool (hold_in_spool) */
    size_t beside_bytes;   /* memory that reading takes besides, wherever those are held */
    size_t volumes_before; /* in other series of the file, of which this one is read: --volume counts them */
    size_t data_files;     /* files that hold samples, not counting that of the header */
    bool random;           /* boxes can be read in any order and by several threads at once (read_box) */
    size_t grain[3];       /* of a `random` source: the extents of what it decodes at once; 0: it
                              reads only what a box has */
    bool one_reader; /* several readers are no faster than one: it has threads of its own, or lets one read at
                        a time. Each chunk of a file is decoded only once if planes are asked for in order */
    /* Of a stack: its first file, of which the header speaks for all; else NULL. */
    const struct source *slice;
    void *state; /* the format's own */
};

/* An output, as far as it decides which parts of a source's header are kept. */
struct receiver {
    const struct format *format;
    const char *path; /* NULL: it has no name */
    const struct header *header;
};

/* How an output is to be written. All that it points to stays with the caller, and outlives the sink. */
struct sink_request {
    const char *pattern;                /* the name that is asked for, of a file or of the files of a stack */
    int level;                          /* of compression, 0 to 9; −1: the format's own default */
    int quality;                        /* 1 to 100; 0: the format's own default */
    size_t threads;                     /* for the format's own work, at least 1 */
    size_t planes_before, planes_after; /* of a stack, in files that other runs write (--part) */
    size_t column[2];            /* extents along x and y of the columns that it comes in; 0: whole planes */
    const char *temporaries;     /* of a stack whose files several ranks write (stack_share); else NULL */
    const struct grid *whole;    /* the grid that the header is to describe where only a part of it is written
                                    here (--part); NULL: what is written */
    const double *mark;          /* the sample that stands for one that is missing; NULL: none does */
    const struct source *origin; /* the input, whose metadata are kept as far as the format can; NULL: there
                                    is none. It stays open until the sink is closed. */
};

/* Where a sink's samples lie in a file, plane after plane, so that several threads or processes can write
   them in any order. */
struct sink_place {
    struct file_out *file; /* NULL: samples have no place, and are written in turn */
    uint64_t begin;        /* offset of the first plane */
    bool apart;            /* blocks of the file that this process writes hold no other process's planes */
};

/* An output that is open. Its header has been written, or is kept back until sink_finish. */
struct sink {
    const struct format *format;
    struct file_out *file; /* NULL for a joint sink, whose file others complete (sink_joint) */
    struct header header;
    struct sink_place samples;
    bool random; /* samples have no place, but planes can be written in any order and by several threads at
                    once (write_at) */
    struct preallocation *preallocation; /* allocates disk space for the samples, and for those of other sinks
                                            where several share it; NULL: it has not begun */
    char note[128]; /* after sink_finish: how samples were converted, for the user; else empty */
    void *state;
};

/* Formats of a family have the same fields in their headers: an output of the input's family is written with
   the header of the input. */
enum format_family {
    FAMILY_RAW,
    FAMILY_PNG,
    FAMILY_JPEG,
    FAMILY_NIFTI,
    FAMILY_NRRD,
    FAMILY_METAIMAGE,
    FAMILY_NPY,
    FAMILY_TIFF,
    FAMILY_ZARR,
    FAMILY_STACK
};

/* How much a header can say about alpha. */
enum format_alpha {
    FORMAT_NO_ALPHA,
    FORMAT_RGBA,         /* of four channels the last is alpha; colour is not multiplied by it */
    FORMAT_UNASSOCIATED, /* the last channel is alpha; colour is never multiplied by it */
    FORMAT_ANY_ALPHA
};

/* A file format. The first part says what its files can express, and the functions read and write them.
   Callers go through source_open and sink_open, which check what holds for all formats. */
struct format {
    const char *name; /* names of its files end in a dot and this */
    enum format_family family;
    const char *summary;
    const char *title; /* as messages name a file of it: "an NRRD file"; NULL where its files do not describe
                          their samples */
    const struct format *compressed_as; /* the same compressed by gzip as a whole; NULL where there is none */
    bool compressed;                    /* all of the file is compressed by gzip */
    bool in_turn;                       /* its samples can only be written one plane after the other */
    bool joins; /* parts may be joined by cat: the header comes first, and samples, compressed or not, can
                   follow in pieces */
    bool compresses;        /* it takes a level of compression (--level) */
    bool has_quality;       /* samples are stored about as they are, at a quality (--quality) */
    bool holds_series;      /* a file may have several volumes */
    bool holds_resolutions; /* a page may have smaller ones of the same picture */
    bool holds_spacing;     /* its header tells how far apart samples are */
    bool holds_unit;      /* in whatever unit of length; others get millimetres (but for their own family) */
    bool holds_geometry;  /* the header can say where the grid is in space */
    bool holds_intensity; /* the header can say what samples stand for: slope and intercept */
    bool holds_colours;   /* the header can say which channels are red, green and blue */
    enum format_alpha alpha;
    const char *picture; /* as messages name a file of it that holds a picture: "a PNG picture"; NULL: it is a
                            format of volumes */
    bool folder; /* what has a name of it is a folder of files, which is written whole (folder_out.h) */
    const struct format *slice; /* inputs and outputs consist of several files of this format, a plane each;
                                   else NULL */
    /* The ending of the file beside the header that takes the samples, as they are and compressed; NULL:
       samples follow the header in its own file. */
    const char *data_suffix, *data_suffix_compressed;

    /* Whether a file that begins with these bytes, compressed by gzip or not, is of this format; NULL where
       nothing marks it, and in formats that differ from another one only in how they are written. */
    bool (*sniff)(const unsigned char *start, size_t size);

    /* Read the header: fill source->header, held_bytes, beside_bytes and state. On failure nothing
       is left. */
    bool (*open)(struct source *source, const struct source_request *request, struct fault *fault);

    /* Formats of volumes share `open` and `create` (volume.h). These leave two things to each format: to read
       the header into source->header and the state, and to write whatever comes before the first sample.
       write_header is NULL if nothing does. */
    bool (*read_header)(struct source *source, const struct source_request *request, struct fault *fault);
    bool (*write_header)(struct sink *sink, const struct sink_request *request, struct fault *fault);

    /* The path of one of the data_files, to be released with mem_free, or NULL with a fault. NULL if the
       format has none. */
    char *(*name_file)(const struct source *source, size_t index, struct fault *fault);

    /* Hold held_bytes in a spool, which outlives the source, and not in memory. Called before the first
       planes are read. NULL if the format holds nothing. */
    void (*hold_in_spool)(struct source *source, const struct spool *spool);

    /* Read the next planes into `samples`, in the type and byte order of the header. NULL if all sources of
       the format are `random`. */
    bool (*read)(struct source *source, void *samples, size_t planes, struct fault *fault);

    /* Of a `random` source: read a box of the grid of one volume of a series, packed, in any order and from
       several threads; all of them before `end` is called. No more of the file is read than the box needs, as
       far as the format can. NULL if no source of the format is `random`. */
    bool (*read_box)(struct source *source, void *samples, size_t volume, const struct region *box,
                     struct fault *fault);
    bool reads_around; /* the box may go past the end of an axis, and on at its beginning */

    /* The memory that reading planes takes that are needed only as far as this box has them, instead of
       beside_bytes, which is that of whole planes; NULL: the same. */
    size_t (*box_bytes)(const struct source *source, const struct region *box);

    /* List what of the source's header an output does not keep, and what does not hold for it (format_drop);
       NULL if nothing is dropped. */
    void (*list_dropped)(const struct source *source, const struct receiver *to, struct dropped *dropped);

    /* After the last plane: check that the file ends as it should; NULL if any end will do. */
    bool (*end)(struct source *source, struct fault *fault);
    void (*close)(struct source *source);

    /* Write the header for sink->header, and make the state that `write` needs. On failure nothing is
       left. */
    bool (*create)(struct sink *sink, const struct sink_request *request, struct fault *fault);
    bool (*write)(struct sink *sink, const void *samples, size_t planes, struct fault *fault);

    /* The memory that writing an output of this header takes; NULL where that is no more than some buffers.
     */
    size_t (*writing_bytes)(const struct header *header, const struct sink_request *request);

    /* Write planes from index `first` on, in any order and from several threads. NULL if no sink of the
       format is `random`. */
    bool (*write_at)(const struct sink *sink, const void *samples, size_t first, size_t planes,
                     struct fault *fault);

    /* Whether an output of the format, into a file, can be written column by column (sink_write_box), and the
       extents along x and y that columns are multiples of. NULL: it cannot. */
    bool (*find_unit)(const struct format *format, const struct header *header,
                      const struct sink_request *request, size_t unit[2]);

    /* Write the next planes of a column of such a volume. NULL if samples have places. */
    bool (*write_box)(struct sink *sink, const void *samples, size_t volume, const struct region *box,
                      struct fault *fault);

    /* After the last plane: write what closes the file, and complete those beside it; NULL if nothing is left
     * to do. */
    bool (*finish)(struct sink *sink, struct fault *fault);

    /* Add the data files to the set of files that get their names together. NULL if the format has none. */
    bool (*add_data_files)(const struct sink *sink, struct file_set *set, struct fault *fault);

    /* Release the state, whether the sink was finished or not. */
    void (*discard)(struct sink *sink);
};

#define FORMAT(symbol, name) extern const struct format format_##symbol;
#include "formats.def"

/* All formats; ends with NULL. */
extern const struct format *const format_list[];

/* The values of --format and --out-format in the order of formats.def, and the format at a place of that
   list. */
extern const struct keyword format_keywords[];
const struct format *format_chosen(int place);

/* The format of an input: that of a picture or raw samples, if the request describes them; else what its
   first bytes are of, what its name promises, or raw. NULL where they could not be read, or are of a kind
   that is not read (foreign_type.h). */
const struct format *format_of_input(struct file_in *file, const struct source_request *request,
                                     struct fault *fault);

/* The format of an input that is to hold a picture: by its first bytes; that of PNG, which refuses what it is
   not, where they are of none. NULL where they could not be read. */
const struct format *format_of_picture(struct file_in *file, struct fault *fault);

/* The format that a name's ending stands for, NULL if none; and the length of the name without
   that ending. */
const struct format *format_of_name(const char *path);
size_t format_stem_length(const char *path);

/* Whether a header of the format can say that the last channel is alpha, and whether colour is multiplied by
   it, as they are in `header`. */
bool format_tells_alpha(const struct format *format, const struct header *header);

/* Append the name of a field that an output drops, as printf would print it. Names that do not fit become
   " and others"; a name is cut off after 63 bytes. */
void format_drop(struct dropped *dropped, const char *format, ...) DIAG_PRINTF(2, 3);

/* Append the name with its index, as in "spacings[3]", for each distance from `first` on that tells
   something: it is neither NaN, 0 nor 1. */
void format_drop_distances(struct dropped *dropped, const char *name, const double *distances, size_t first,
                           size_t count);

/* Write the path of the file of samples that belongs to a header at this path; false if `text` is too
   small. */
bool format_name_data(const struct format *format, const char *header, bool compressed, char *text,
                      size_t size);

/* The format that these first bytes belong to, decompressed if they are those of gzip; NULL: none. */
const struct format *format_of_start(const unsigned char *start, size_t size);

/* Refuse what a source reads: "FILE: REASON", and the status of faulty input. Returns false. */
bool source_refuse(const struct source *source, struct fault *fault, const char *format, ...)
    DIAG_PRINTF(3, 4);

/* Add a note that a source leaves something out: "FILE: COUNT THINGS left out", and what stands behind that;
   none where the count is 0. */
void source_note_left_out(struct source *source, uint64_t count, const char *things, const char *behind);

/* Read a file's header. On failure nothing is left open but the file, which stays the caller's. */
bool source_open(struct source *source, struct file_in *file, const struct format *format,
                 const struct source_request *request, struct fault *fault);

/* Read the next planes; or, of a `random` source, a box of one volume of a series, packed, in any order and
   from several threads. The box lies within the grid. After the last plane, check the end of the file: only
   then are damaged samples and surplus bytes known to be absent. */
bool source_read(struct source *source, void *samples, size_t planes, struct fault *fault);
bool source_read_box(struct source *source, void *samples, size_t volume, const struct region *box,
                     struct fault *fault);
bool source_end(struct source *source, struct fault *fault);

/* Release what the source holds; the file stays open. */
void source_close(struct source *source);

/* Open an output in a file that is open, and write what comes before the samples. Refuses what the format
   cannot hold. On failure there is nothing to close but the file, and sink->format is NULL. */
bool sink_open(struct sink *sink, struct file_out *file, const struct format *format,
               const struct header *header, const struct sink_request *request, struct fault *fault);
/* Write the next planes, which are in the type and byte order of sink->header. */
bool sink_write(struct sink *sink, const void *samples, size_t planes, struct fault *fault);

/* Bytes of the samples of all volumes. */
uint64_t sink_bytes(const struct sink *sink);

/* The room on the disk that all samples need. */
struct preallocate_file sink_room(const struct sink *sink);

/* Begin to allocate disk space for all samples in a thread, unless that has begun or they have no place. */
void sink_begin_to_reserve(struct sink *sink);

/* Whether that has failed so far; then the fault says why. */
bool sink_lacks_room(const struct sink *sink, struct fault *fault);

/* For a sink whose samples have a place: allocate disk space for all of them, or wait until the thread has,
   so that a full disk shows before anything is computed. After that, as in a `random` sink, planes may be
   written in any order, by several threads; all of them before sink_finish. */
bool sink_reserve(const struct sink *sink, struct fault *fault);
bool sink_write_at(const struct sink *sink, const void *samples, size_t first, size_t planes,
                   struct fault *fault);

/* Write planes of a column of one volume, which are packed. Columns are written one after the other, and none
   is larger than the first; the planes of one come in turn, or in any order and by several threads where they
   have a place. */
bool sink_write_box(struct sink *sink, const void *samples, size_t volume, const struct region *box,
                    struct fault *fault);

/* After the last plane: write what is left and complete the file, which has no name yet. Then add all files
   of the output to the set whose files get their names together, the header last. sink_close releases a sink
   at any time; files that are not committed are removed when they are closed. */
bool sink_finish(struct sink *sink, struct fault *fault);
bool sink_add_files(const struct sink *sink, struct file_set *set, struct fault *fault);
void sink_close(struct sink *sink);

/* Write an output of one volume at once: open a sink in the file, write all samples, and finish it. */
bool sink_write_whole(struct file_out *file, const struct format *format, const struct header *header,
                      const struct sink_request *request, const void *samples, struct fault *fault);

/* A sink for planes in a file that several processes write, and of which another sink writes the header.
   Whoever opened the file completes and closes it. */
struct sink sink_joint(const struct header *header, struct sink_place place);

#endif
