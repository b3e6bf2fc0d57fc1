/* The shape of the tiles that a sweep over a field works in: what a thread keeps in its own cache while
   planes stream through it. */
#ifndef CPU_TILING_H
#define CPU_TILING_H

#include "kernels/backend.h"

#include <stdint.h>

/* Chains up to this length have a loop of their own, unrolled, with all weights in registers. */
#define MOST_FIXED_TAPS 9

/* Taps of the stars and boxes of nearest neighbours that have loops of their own: of volumes and of pictures.
 */
#define STAR_TAPS    7
#define BOX_TAPS     27
#define PICTURE_STAR 5
#define PICTURE_BOX  9

/* Rows of a picture that a level computes together, and rows of a level that have slots at once at most. */
#define PICTURE_ROWS 4
#define PICTURE_RING 8

/* Rows of sums along an axis that are open at once. */
#define LINE_ROWS 4

/* Rows of which extremes along the rows are found together. */
#define RANK_ROWS 4

/* Faces of a sample under a flux with conductivities, in a volume; a picture has none between rows of a
 * plane. */
#define FACES_OF_VOLUME  6
#define FACES_OF_PICTURE 4

/* The most steps of a pass that are tried, in volumes, in planes of one row, and by the engine for pictures;
   and the most that a wish may ask for. */
#define CHOSEN_STEPS         10
#define CHOSEN_FLAT_STEPS    16
#define CHOSEN_PICTURE_STEPS 24
#define MOST_STEPS           64

/* The most channels under one conductivity that a tile takes. */
#define MOST_LAYERS 8

/* Ranks of windows of so many samples have a sorting network. */
#define NETWORK_TAPS 128

/* Ranks of large boxes of narrow samples are counted: in so many bytes for each column where a sample has
   one byte, in a single histogram where it has two. */
#define COUNTED_BYTES   544
#define HISTOGRAM_BYTES ((size_t)2 * ((1 << 16) + (1 << 12) + (1 << 8)))

/* Samples around a sample that one step may read along an axis. */
struct cpu_margin {
    size_t before, after;
};

/* Ways to run an op, in order of preference: the first that suits the op and the steps of the pass runs it.
   Each is a row of the table in cpu_tiling.c, and loops in the .inl file of its name: cpu_tiles.inl runs
   star, box and faces, too. naive runs what is not worth a tile. */
enum cpu_engine {
    CPU_ENGINE_RANK,
    CPU_ENGINE_PICTURE,
    CPU_ENGINE_LINE,
    CPU_ENGINE_DIRECT,
    CPU_ENGINE_STAR,
    CPU_ENGINE_BOX,
    CPU_ENGINE_FACES,
    CPU_ENGINE_TILES,
    CPU_ENGINE_NAIVE,
    CPU_ENGINES
};

/* The place of a plane in an arena: a slot, and the rows from its start to the plane's. */
struct cpu_slot {
    uint32_t base, shift;
};

/* A thread's arena: where its parts begin, in bytes. It is not cleared: loops over whole vectors read
   around the samples that they need, but nothing of that is kept. */
struct cpu_layout {
    size_t slots;      /* with a row before them and a row behind them, which vectors may read */
    size_t weights;    /* of the taps, in the work type */
    size_t kept;       /* rows that a block leaves to the next one */
    size_t free_slots; /* entries of unused slots, here and in `levels` struct cpu_slot or pointers */
    size_t levels;     /* the slots of each level's planes, a ring for each level */
    size_t bases;      /* what taps read: three pointers for each tap */
    size_t bytes;      /* of all */
};

/* A tile is a column of the field, tile_x samples wide; blocks of tile_rows of its rows stream through a
   thread's cache one after the other. A plane of a block and its margins have a slot; a thread's
   slots are in its arena, and so are the rows that a block leaves to the next one. */
struct cpu_tiling {
    enum cpu_engine engine;
    unsigned steps;
    size_t sample;         /* bytes of one in a slot */
    size_t counts;         /* slots for counts, where ranks are found by counting; else none */
    bool line_of_extremes; /* ranks are extremes of windows without gaps along one axis */
    bool flat;             /* windows lie along the planes alone: each plane is one row, with longer tiles */
    struct cpu_margin x, row, plane;
    size_t groups, layers; /* groups of channels, and the most channels of one: each is a layer of a slot */
    size_t tile_x, tile_rows;
    size_t lead;          /* columns of a slot before the tile's own */
    size_t pitch;         /* columns of a slot */
    size_t slot_rows;     /* rows of a slot */
    size_t layer_samples; /* of a slot, with the rows that planes move on when they take others' places */
    size_t slot_samples;  /* of all layers */
    size_t slots;         /* of a thread */
    size_t ring;          /* the most planes of one level that are in slots at once */
    size_t kept_samples;  /* that a block leaves of each layer of a plane of a level */
    size_t kept_planes;   /* of each level for which there is room to keep rows */
    struct cpu_layout layout;
};

/* The most rows and planes of a part of a sweep. */
struct cpu_cut {
    size_t rows, planes;
};

/* The grid as tiles see it, where a plane may be one row. */
struct shape cpu_tiling_shape(const struct cpu_tiling *tiling, struct shape shape);

/* One step, by the engine that has no tiles. */
void cpu_tiling_none(struct cpu_tiling *tiling);

/* Whether several steps of the op go through a picture row by row: taps on the sample and its nearest
   neighbours along x and the planes, with or without corners. */
bool cpu_tiling_suits_picture(const struct op *op);

/* Tiles of the extents wished for, or else those that move and compute least, for the engine that takes so
   many steps of the op. False where so many steps of the op need more memory than a thread should have. */
bool cpu_tiling_make(struct cpu_tiling *tiling, const struct op *op, const struct shape *shape,
                     unsigned steps, size_t tile_x, size_t tile_rows);

/* Tiles of other widths, as high as fits, for whoever measures which is fastest. */
void cpu_tiling_offers(const struct cpu_tiling *tiling, const struct shape *shape, struct tile *offers,
                       size_t most);

/* The same tiles for fewer steps: they fit into the same arena. */
void cpu_tiling_fewer(struct cpu_tiling *fewer, const struct cpu_tiling *tiling, const struct op *op,
                      unsigned steps);

/* What an update of a sample costs a core, halo and memory included, in taps of a star. */
double cpu_tiling_cost(const struct cpu_tiling *tiling, const struct op *op);

/* Its part that moving samples between memory and the core has. */
double cpu_tiling_moving(const struct cpu_tiling *tiling, const struct op *op);

/* Parts along the rows and the planes, enough of them for all threads. */
struct cpu_cut cpu_tiling_cut(const struct cpu_tiling *tiling, const struct shape *shape, size_t planes,
                              int threads);

#endif
