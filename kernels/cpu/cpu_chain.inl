/* Chains of constant weights on rows of planes: of any taps, and faster, of all nearest neighbours, as star
 * and as box. The engines of cpu_direct.inl and cpu_tiles.inl call them.
 *
 * Known as: register tiling (unroll and jam), with vectors for tiles; shifted loads from registers
 *   (palignr).
 * Idea: sums stay in registers from the first tap to the last, and a sample that one sum has read is still
 *   in a register when the next sum needs it.
 * Adds: the star takes two planes at once, and two rows of each; the box takes four rows, and of each as
 *   many vectors as registers allow.
 * Costs: registers; rows at the end of a tile that are fewer are taken one by one.
 * Traffic per sample: that of the caller.
 * Wins when: star and box, if all nearest neighbours along the axes, or all 27, have taps.
 *
 * Every loop gives write-behind a turn after each row. */

/* ---- any taps ---- */

/* Vectors of sums that are open at once: enough to hide the latency of a multiply-add, few enough for
 * registers.
 */
#define OPEN_SUMS 8

struct chain {
    size_t taps;
    const real *weights;
    const real **bases; /* what each tap reads for the first sample of the first row */
};

/* A chain of any length, for a number of vectors at once. */
ISA_INLINE void chain_group(size_t vectors, const struct chain *chain, size_t shift, real *out)
{
    vector sums[OPEN_SUMS], weight = vector_splat(chain->weights[0]);
    const real *values = chain->bases[0] + shift;

#pragma GCC unroll 8
    for (size_t i = 0; i < vectors; i++)
        sums[i] = weight * vector_load(values + i * LANES);
    for (size_t k = 1; k < chain->taps; k++) {
        weight = vector_splat(chain->weights[k]);
        values = chain->bases[k] + shift;
#pragma GCC unroll 8
        for (size_t i = 0; i < vectors; i++)
            sums[i] = vector_fma(weight, vector_load(values + i * LANES), sums[i]);
    }
#pragma GCC unroll 8
    for (size_t i = 0; i < vectors; i++)
        vector_store(out + shift + i * LANES, sums[i]);
}

/* A row by a chain of any length: groups of OPEN_SUMS vectors, of half as many, then single ones. */
static void chain_any(const struct chain *chain, size_t shift, size_t count, real *out)
{
    size_t end = shift + count;

    for (; shift + OPEN_SUMS * LANES <= end; shift += OPEN_SUMS * LANES)
        chain_group(OPEN_SUMS, chain, shift, out);
    for (; shift + OPEN_SUMS / 2 * LANES <= end; shift += OPEN_SUMS / 2 * LANES)
        chain_group(OPEN_SUMS / 2, chain, shift, out);
    for (; shift < end; shift += LANES)
        chain_group(1, chain, shift, out);
}

/* CASE for each number of taps up to MOST_FIXED_TAPS. */
#define FOR_FIXED_TAPS(CASE) CASE(1) CASE(2) CASE(3) CASE(4) CASE(5) CASE(6) CASE(7) CASE(8) CASE(9)

/* The same for a length that the compiler knows. */
ISA_INLINE void chain_fixed(size_t taps, const struct chain *chain, size_t pitch, size_t rows, size_t count,
                            real *out, struct write_behind *behind)
{
    vector weights[MOST_FIXED_TAPS];
    const real *bases[MOST_FIXED_TAPS];

#pragma GCC unroll 9
    for (size_t k = 0; k < taps; k++) {
        weights[k] = vector_splat(chain->weights[k]);
        bases[k] = chain->bases[k];
    }
    for (size_t row = 0; row < rows; row++) {
        for (size_t x = row * pitch; x < row * pitch + count; x += LANES) {
            vector sum = weights[0] * vector_load(bases[0] + x);
#pragma GCC unroll 9
            for (size_t k = 1; k < taps; k++)
                sum = vector_fma(weights[k], vector_load(bases[k] + x), sum);
            vector_store(out + x, sum);
        }
        write_behind_once(behind);
    }
}

/* `rows` rows of `count` samples, a multiple of LANES, at a distance of pitch. */
static void chain_rows(const struct chain *chain, size_t pitch, size_t rows, size_t count, real *out,
                       struct write_behind *behind)
{
    switch (chain->taps) {
#define FIXED(taps)                                                                                          \
    case taps:                                                                                               \
        chain_fixed(taps, chain, pitch, rows, count, out, behind);                                           \
        break;
        FOR_FIXED_TAPS(FIXED)
#undef FIXED
    case 0:
        for (size_t row = 0; row < rows; row++)
            memset(out + row * pitch, 0, count * sizeof *out);
        break;
    default:
        for (size_t row = 0; row < rows; row++) {
            chain_any(chain, row * pitch, count, out);
            write_behind_once(behind);
        }
    }
}

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
    return vector_left(shifted->before, shifted->centre);
}

ISA_INLINE vector shifted_right(const struct shifted *shifted, const real *samples)
{
    (void)samples;
    return vector_right(shifted->centre, shifted->behind);
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

/* Two planes at once, and two rows of each: their four sums have 28 taps, for which 12 vectors are loaded
   with ISA_SHIFTS, and 20 without.

   Rows are computed from the last to the first, and a vector is stored when all samples around it have been
   loaded. So the lower plane may be written over the one below, at the same row or the next one, and the
   upper plane over the lower, a row farther on: all samples that are overwritten have been read. */

/* Rows of each plane that are computed at once. */
#define STAR_ROWS 2

/* Two planes, `lower` and `upper`, with the one below them and the one above, each at the first sample of the
   first row. */
struct star {
    const real *below, *lower, *upper, *above;
    real *lower_out, *upper_out;
    size_t out_pitch; /* samples from one row that is written to the next */
    bool past_caches; /* by streaming stores, which take whole lines */
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

/* A number of rows (`high`) from `row` on. */
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
        /* Load every vector of the step before one is stored: its place may be that of a plane below. */
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
            vector_put(past_caches, lower_out + x + i * out_pitch, low_sums[i]);
            vector_put(past_caches, upper_out + x + i * out_pitch, up_sums[i]);
        }
    }
}

/* All rows of the pair of planes, from the last to the first. */
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

/* Several rows at once. Each row that is read goes into the sums of the row before it, of its own row and of
   the row behind it, while its vectors are in registers. */

#define BOX_SIDE 3
#define BOX_FACE (BOX_SIDE * BOX_SIDE)

/* Rows whose sums are open at once, and vectors of each row: there are registers for these, for the weights
   of a plane, and for what the sums read of a row. */
#define BOX_ROWS 4
#define BOX_WIDE (ISA_REGISTERS / 16)

struct box {
    const real *planes[BOX_SIDE]; /* at the first sample of the first row */
    const real *weights;
};

/* The values that neighbouring vectors' sums read in a row, for the tap to the left, on and to the right. */
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

/* Add the nine taps in one plane to the sums of a number of rows (`high`). Rows are read in the order of the
   chain. */
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
            /* Row `row` of those read is one of the three that sum i needs, or the sum skips it. */
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

/* All 27 taps, for the samples from `at` on. */
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

/* A number of rows, with as many vectors at once as there are registers, then one by one. */
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
