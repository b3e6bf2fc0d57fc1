/* Engines `star` and `box`: chains of the nearest neighbours, as cpu_tiles.inl runs them on the planes of a
 * tile.
 *
 * Known as: register tiling (unroll and jam), with vectors for tiles; shifted loads from registers
 *   (palignr).
 * Idea: what one sum reads is still in a register when the next one needs it.
 * Adds: the star takes two planes at once, and two rows of each; the box takes four rows, and of each as
 *   many vectors as registers allow.
 * Costs: registers; rows at the end of a tile that are fewer are taken one by one.
 * Traffic per sample: that of the tile.
 * Wins when: all nearest neighbours along the axes, or all 27, have taps. */

/* ---- neighbours in x ---- */

/* A vector that moves along a row, and the two vectors that begin one sample before it and one behind it.
   With ISA_SHIFTS, these two are shifted out of registers, and each vector of the row is loaded once. Then
   the vector before the row and the vector behind it are loaded as well. */

struct shifted {
    vector centre;
#ifdef ISA_SHIFTS
    vector before, behind;
#endif
};

#ifdef ISA_SHIFTS

/* Begin one vector before the first of the row. */
ISA_INLINE void shifted_start(struct shifted *shifted, const real *first)
{
    shifted->centre = vector_load(first - LANES);
    shifted->behind = vector_load(first);
}

ISA_INLINE void shifted_on(struct shifted *shifted, const real *samples)
{
    shifted->before = shifted->centre;
    shifted->centre = shifted->behind;
    shifted->behind = vector_load(samples + LANES);
}

ISA_INLINE vector shifted_left(const struct shifted *shifted, const real *samples)
{
    (void)samples;
    return OF_WORK(isa_left)(shifted->before, shifted->centre);
}

ISA_INLINE vector shifted_right(const struct shifted *shifted, const real *samples)
{
    (void)samples;
    return OF_WORK(isa_right)(shifted->centre, shifted->behind);
}

#else

ISA_INLINE void shifted_start(struct shifted *shifted, const real *first)
{
    (void)shifted, (void)first;
}

ISA_INLINE void shifted_on(struct shifted *shifted, const real *samples)
{
    shifted->centre = vector_load(samples);
}

ISA_INLINE vector shifted_left(const struct shifted *shifted, const real *samples)
{
    (void)shifted;
    return vector_load(samples - 1);
}

ISA_INLINE vector shifted_right(const struct shifted *shifted, const real *samples)
{
    (void)shifted;
    return vector_load(samples + 1);
}

#endif

/* ---- the star ---- */

/* The star of nearest neighbours on two planes at once, and on two rows of each: what one sum reads is still
   in a register when the next one needs it.

   Rows come last to first, and a vector is stored when all that stands around it has been loaded. So the
   lower plane may be written over the one below, at the same row or at the next one, and the upper plane over
   the lower, a row farther on: what it overwrites has been read. */

/* Rows of each plane that are computed at once. */
#define STAR_ROWS 2

/* Planes of a slot, at the first sample of the first row: the one below the two, these two, the one above. */
struct star {
    const real *below, *lower, *upper, *above;
    real *lower_out, *upper_out;
    size_t out_pitch;
    bool past_caches; /* what is written goes there: rows of whole lines */
    const real *weights;
};

/* The chain of one vector of a row, with the vectors around it. */
ISA_INLINE vector star_sum(const vector *weights, vector below, vector before, const struct shifted *row,
                           const real *samples, vector behind, vector above)
{
    vector sum = weights[0] * below;

    sum = vector_fma(weights[1], before, sum);
    sum = vector_fma(weights[2], shifted_left(row, samples), sum);
    sum = vector_fma(weights[3], row->centre, sum);
    sum = vector_fma(weights[4], shifted_right(row, samples), sum);
    sum = vector_fma(weights[5], behind, sum);
    return vector_fma(weights[6], above, sum);
}

ISA_INLINE void star_store(bool past_caches, real *to, vector sum)
{
    if (past_caches)
        vector_stream(to, sum);
    else
        vector_store(to, sum);
}

/* `high` rows from `row` on. */
ISA_INLINE void star_rows(const struct star *star, const vector *weights, bool past_caches, size_t high,
                          size_t pitch, size_t row, size_t count)
{
    const size_t first = row * pitch, out_pitch = star->out_pitch;
    const real *below = star->below + first, *lower = star->lower + first, *upper = star->upper + first;
    const real *above = star->above + first;
    real *lower_out = star->lower_out + row * out_pitch, *upper_out = star->upper_out + row * out_pitch;
    struct shifted low[STAR_ROWS], up[STAR_ROWS];

#pragma GCC unroll 2
    for (size_t i = 0; i < high; i++) {
        shifted_start(&low[i], lower + i * pitch);
        shifted_start(&up[i], upper + i * pitch);
    }
    for (size_t x = 0; x < count; x += LANES) {
        vector low_before = vector_load(lower + x - pitch);
        vector low_behind = vector_load(lower + x + high * pitch);
        vector up_before = vector_load(upper + x - pitch);
        vector up_behind = vector_load(upper + x + high * pitch);
        vector low_sums[STAR_ROWS], up_sums[STAR_ROWS];
#pragma GCC unroll 2
        for (size_t i = 0; i < high; i++) {
            shifted_on(&low[i], lower + x + i * pitch);
            shifted_on(&up[i], upper + x + i * pitch);
        }
#pragma GCC unroll 2
        for (size_t i = 0; i < high; i++) {
            size_t at = x + i * pitch;
            low_sums[i] =
                star_sum(weights, vector_load(below + at), i == 0 ? low_before : low[i - 1].centre, &low[i],
                         lower + at, i + 1 == high ? low_behind : low[i + 1].centre, up[i].centre);
            up_sums[i] =
                star_sum(weights, low[i].centre, i == 0 ? up_before : up[i - 1].centre, &up[i], upper + at,
                         i + 1 == high ? up_behind : up[i + 1].centre, vector_load(above + at));
        }
#pragma GCC unroll 2
        for (size_t i = 0; i < high; i++) {
            star_store(past_caches, lower_out + x + i * out_pitch, low_sums[i]);
            star_store(past_caches, upper_out + x + i * out_pitch, up_sums[i]);
        }
    }
}

ISA_INLINE void star_run(const struct star *star, bool past_caches, size_t pitch, size_t rows, size_t count,
                         struct write_behind *behind)
{
    vector weights[7];
    size_t row = rows;

#pragma GCC unroll 7
    for (size_t k = 0; k < 7; k++)
        weights[k] = vector_splat(star->weights[k]);
    for (; row >= STAR_ROWS; row -= STAR_ROWS) {
        star_rows(star, weights, past_caches, STAR_ROWS, pitch, row - STAR_ROWS, count);
        write_behind_once(behind);
    }
    if (row > 0) {
        star_rows(star, weights, past_caches, 1, pitch, 0, count);
        write_behind_once(behind);
    }
}

static void star_planes(const struct star *star, size_t pitch, size_t rows, size_t count,
                        struct write_behind *behind)
{
    if (star->past_caches)
        star_run(star, true, pitch, rows, count, behind);
    else
        star_run(star, false, pitch, rows, count, behind);
}

/* ---- the box ---- */

/* The chain of all 27 nearest neighbours on several rows at once: what a row's sum reads is still in a
   register when the sums of the rows around it need it. */

#define BOX_SIDE 3
#define BOX_FACE (BOX_SIDE * BOX_SIDE)
#define BOX_TAPS (BOX_FACE * BOX_SIDE)

/* Rows whose sums are open at once, and vectors of each row: there are registers for these, for the weights
   of a plane, and for what the sums read of a row. */
#define BOX_ROWS 4
#define BOX_WIDE (ISA_REGISTERS / 16)

struct box {
    const real *planes[BOX_SIDE]; /* at the first sample of the first row */
    const real *weights;
};

/* What the sums of vectors next to each other read of a row: tap by tap. */
ISA_INLINE void box_row(const real *samples, size_t wide, vector values[][BOX_SIDE])
{
    struct shifted shifted;

    shifted_start(&shifted, samples);
#pragma GCC unroll 2
    for (size_t i = 0; i < wide; i++) {
        shifted_on(&shifted, samples + i * LANES);
        values[i][0] = shifted_left(&shifted, samples + i * LANES);
        values[i][1] = shifted.centre;
        values[i][2] = shifted_right(&shifted, samples + i * LANES);
    }
}

/* What one plane adds to the sums of `high` rows. Rows are read in the order of the chain. */
ISA_INLINE void box_plane(bool first, const real *weights, const real *centre, size_t pitch, size_t high,
                          size_t wide, vector sums[][BOX_WIDE])
{
    vector splat[BOX_FACE], values[BOX_WIDE][BOX_SIDE];

#pragma GCC unroll 9
    for (size_t k = 0; k < BOX_FACE; k++)
        splat[k] = vector_splat(weights[k]);
#pragma GCC unroll 6
    for (size_t row = 0; row < high + 2; row++) {
        box_row(centre + row * pitch - pitch, wide, values);
#pragma GCC unroll 4
        for (size_t i = 0; i < high; i++) {
            if (row < i || row - i >= BOX_SIDE)
                continue;
#pragma GCC unroll 3
            for (size_t x = 0; x < BOX_SIDE; x++) {
                vector weight = splat[(row - i) * BOX_SIDE + x];
#pragma GCC unroll 2
                for (size_t k = 0; k < wide; k++)
                    sums[i][k] = first && row == i && x == 0 ? weight * values[k][x]
                                                             : vector_fma(weight, values[k][x], sums[i][k]);
            }
        }
    }
}

/* From the sample at `at` on. */
ISA_INLINE void box_block(const struct box *box, size_t high, size_t wide, size_t pitch, size_t at, real *out)
{
    vector sums[BOX_ROWS][BOX_WIDE];

#pragma GCC unroll 3
    for (size_t plane = 0; plane < BOX_SIDE; plane++)
        box_plane(plane == 0, box->weights + plane * BOX_FACE, box->planes[plane] + at, pitch, high, wide,
                  sums);
#pragma GCC unroll 4
    for (size_t i = 0; i < high; i++) {
#pragma GCC unroll 2
        for (size_t k = 0; k < wide; k++)
            vector_store(out + at + i * pitch + k * LANES, sums[i][k]);
    }
}

ISA_INLINE void box_run(const struct box *box, size_t high, size_t pitch, size_t shift, size_t count,
                        real *out)
{
    size_t at = shift, end = shift + count;

    for (; at + BOX_WIDE * LANES <= end; at += BOX_WIDE * LANES)
        box_block(box, high, BOX_WIDE, pitch, at, out);
    for (; at < end; at += LANES)
        box_block(box, high, 1, pitch, at, out);
}

/* `rows` rows of `count` samples, a multiple of LANES, at a distance of pitch. */
static void box_rows(const struct box *box, size_t pitch, size_t rows, size_t count, real *out,
                     struct write_behind *behind)
{
    size_t row = 0;

    for (; row + BOX_ROWS <= rows; row += BOX_ROWS) {
        box_run(box, BOX_ROWS, pitch, row * pitch, count, out);
        for (size_t i = 0; i < BOX_ROWS; i++)
            write_behind_once(behind);
    }
    for (; row < rows; row++) {
        box_run(box, 1, pitch, row * pitch, count, out);
        write_behind_once(behind);
    }
}
