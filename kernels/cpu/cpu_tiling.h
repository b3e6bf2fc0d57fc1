/* The shape of the tiles that a sweep over a field works in: what a thread keeps in its own cache while
   planes stream through it. */
#ifndef CPU_TILING_H
#define CPU_TILING_H

#include "kernels/backend.h"

#include <stdint.h>

/* Chains up to this length have a loop of their own, with their weights in registers. */
#define MOST_FIXED_TAPS 9

/* Taps of the stars and boxes of nearest neighbours that pictures have loops of their own for. */
#define PICTURE_STAR 5
#define PICTURE_BOX  9

/* Rows of a picture that a level takes on together, and rows of a level that are told apart. */
#define PICTURE_ROWS 4
#define PICTURE_RING 8

/* Rows of sums along an axis that are open at once. */
#define LINE_ROWS 4

/* Faces of a sample in a volume, under a flux that gives each a conductivity; a picture has none between rows
   of a plane. */
#define FACES_OF_VOLUME  6
#define FACES_OF_PICTURE 4

/* Steps of a pass: those that are chosen, of planes, of planes of one row and of pictures that go row by row,
   and the most that a wish may ask for. */
#define CHOSEN_STEPS         10
#define CHOSEN_FLAT_STEPS    16
#define CHOSEN_PICTURE_STEPS 24
#define MOST_STEPS           64

/* The most channels that a tile takes together. */
#define MOST_LAYERS 8

/* Samples around a sample that one step may read along an axis. */
struct cpu_margin {
    size_t before, after;
};

/* Ways to run an op, each a row of a table in cpu_tiling.c and a loop in struct cpu_kernels. */
enum cpu_engine {
#define CPU_ENGINE(name) CPU_ENGINE_##name,
#include "cpu_engines.def"
#undef CPU_ENGINE
    CPU_ENGINES
};

/* Where a plane stands in an arena: in which slot, and how many rows behind the start of the slot. */
struct cpu_slot {
    uint32_t base, shift;
};

/* A thread's arena: where its parts begin, in bytes. It must be zeroed once, since loops over whole vectors
   read what stands beside samples. */
struct cpu_layout {
    size_t slots;      /* behind a row that vectors may read, and before another */
    size_t weights;    /* of the taps, in the work type */
    size_t kept;       /* rows that a block leaves to the next one */
    size_t free_slots; /* from here on entries: slots that hold nothing */
    size_t levels;     /* the slots of the planes of each level, ring of them a level */
    size_t bases;      /* what taps read: three pointers a tap */
    size_t bytes;
};

/* A tile is a column of the field, tile_x samples wide; blocks of tile_rows of its rows stream through a
   thread's cache one after the other. A plane of a block, with what surrounds it, stands in a slot; a
   thread's slots stand in its arena, and so do the rows that a block leaves to the next one. */
struct cpu_tiling {
    enum cpu_engine engine;
    unsigned steps;
    struct cpu_margin x, row, plane;
    size_t groups, layers; /* groups of channels, and the most channels of one: each is a layer of a slot */
    size_t tile_x, tile_rows;
    size_t lead;          /* columns of a slot before the tile's own */
    size_t pitch;         /* columns of a slot */
    size_t slot_rows;     /* rows of a slot */
    size_t layer_samples; /* rows included that a plane moves on when it takes the place of another */
    size_t slot_samples;  /* of all layers */
    size_t slots;
    size_t ring;         /* planes of one level that are there at once */
    size_t kept_samples; /* that a block leaves of a layer of a plane of a level */
    size_t kept_planes;  /* of a level that rows may be kept of */
    struct cpu_layout layout;
};

/* The most rows and planes of a tile. */
struct cpu_cut {
    size_t rows, planes;
};

/* One step, by the engine that has no tiles. */
void cpu_tiling_none(struct cpu_tiling *tiling);

/* Whether several steps of the op go through a picture row by row: taps on the sample and its nearest
   neighbours along x and the planes, with or without corners. */
bool cpu_tiling_suits_picture(const struct op *op);

/* Whether a flux gives each face a conductivity, of faces along x and the planes, and in volumes the rows. */
bool cpu_tiling_suits_faces(const struct op *op);

/* Tiles of the extents wished for, or else those that move and compute least, for the engine that takes so
   many steps of the op. False where so many steps of the op need more memory than a thread should have. */
bool cpu_tiling_make(struct cpu_tiling *tiling, const struct op *op, const struct shape *shape,
                     unsigned steps, size_t tile_x, size_t tile_rows);

/* Tiles of other widths, as high as fits, for whoever measures which is fastest. */
void cpu_tiling_offers(const struct cpu_tiling *tiling, const struct op *op, const struct shape *shape,
                       struct tile *offers, size_t most);

/* The same tiles for fewer steps: they fit into the same arena. */
void cpu_tiling_fewer(struct cpu_tiling *fewer, const struct cpu_tiling *tiling, const struct op *op,
                      unsigned steps);

/* What an update of a sample costs, halo and memory included, in taps. */
double cpu_tiling_cost(const struct cpu_tiling *tiling, const struct op *op);

/* Tiles along the rows and the planes, so that there are enough for all threads. */
struct cpu_cut cpu_tiling_cut(const struct cpu_tiling *tiling, const struct shape *shape, size_t planes,
                              int threads);

#endif
