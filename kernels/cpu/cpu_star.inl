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
ISA_INLINE vector star_sum(const vector *weights, vector below, vector before, const struct glide *row,
                           const real *samples, vector behind, vector above)
{
    vector sum = weights[0] * below;

    sum = vector_fma(weights[1], before, sum);
    sum = vector_fma(weights[2], glide_left(row, samples), sum);
    sum = vector_fma(weights[3], row->centre, sum);
    sum = vector_fma(weights[4], glide_right(row, samples), sum);
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
    struct glide low[STAR_ROWS], up[STAR_ROWS];

#pragma GCC unroll 2
    for (size_t i = 0; i < high; i++) {
        glide_start(&low[i], lower + i * pitch);
        glide_start(&up[i], upper + i * pitch);
    }
    for (size_t x = 0; x < count; x += LANES) {
        vector low_before = vector_load(lower + x - pitch);
        vector low_behind = vector_load(lower + x + high * pitch);
        vector up_before = vector_load(upper + x - pitch);
        vector up_behind = vector_load(upper + x + high * pitch);
        vector low_sums[STAR_ROWS], up_sums[STAR_ROWS];
#pragma GCC unroll 2
        for (size_t i = 0; i < high; i++) {
            glide_on(&low[i], lower + x + i * pitch);
            glide_on(&up[i], upper + x + i * pitch);
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
                         struct pump *pump)
{
    vector weights[7];
    size_t row = rows;

#pragma GCC unroll 7
    for (size_t k = 0; k < 7; k++)
        weights[k] = vector_splat(star->weights[k]);
    for (; row >= STAR_ROWS; row -= STAR_ROWS) {
        star_rows(star, weights, past_caches, STAR_ROWS, pitch, row - STAR_ROWS, count);
        pump_once(pump);
    }
    if (row > 0) {
        star_rows(star, weights, past_caches, 1, pitch, 0, count);
        pump_once(pump);
    }
}

static void star_planes(const struct star *star, size_t pitch, size_t rows, size_t count, struct pump *pump)
{
    if (star->past_caches)
        star_run(star, true, pitch, rows, count, pump);
    else
        star_run(star, false, pitch, rows, count, pump);
}
