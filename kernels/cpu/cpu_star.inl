/* The star of nearest neighbours on two planes at once, and on two rows of each: what one sum reads is still
   in a register when the next one needs it.

   Rows come last to first, and a vector is stored when all that stands around it has been loaded. So the
   lower plane may be written over the one below, at the same row or at the next one, and the upper plane over
   the lower, a row farther on: what it overwrites has been read. */

/* Planes of a slot, at the first sample of the first row: the one below the two, these two, the one above. */
struct star {
    const real *below, *lower, *upper, *above;
    real *lower_out, *upper_out;
    const real *weights;
};

/* A row's chain at x, with the centre and the rows and planes around it at hand. */
ISA_INLINE vector star_sum(const vector *weights, vector below, vector before, const real *centres,
                           vector centre, vector behind, vector above)
{
    vector sum = weights[0] * below;

    sum = vector_fma(weights[1], before, sum);
    sum = vector_fma(weights[2], vector_load(centres - 1), sum);
    sum = vector_fma(weights[3], centre, sum);
    sum = vector_fma(weights[4], vector_load(centres + 1), sum);
    sum = vector_fma(weights[5], behind, sum);
    return vector_fma(weights[6], above, sum);
}

/* `high` rows from the one at an offset of `row`. */
ISA_INLINE void star_rows(const struct star *star, const vector *weights, size_t high, size_t pitch,
                          size_t row, size_t count)
{
    const real *below = star->below + row, *lower = star->lower + row, *upper = star->upper + row;
    const real *above = star->above + row;
    real *lower_out = star->lower_out + row, *upper_out = star->upper_out + row;

    for (size_t x = 0; x < count; x += LANES) {
        vector low[4], up[4], low_sums[2], up_sums[2];
#pragma GCC unroll 4
        for (size_t i = 0; i < high + 2; i++) {
            ptrdiff_t at = (ptrdiff_t)(x + i * pitch) - (ptrdiff_t)pitch;
            low[i] = vector_load(lower + at);
            up[i] = vector_load(upper + at);
        }
#pragma GCC unroll 2
        for (size_t i = 0; i < high; i++) {
            size_t at = x + i * pitch;
            low_sums[i] = star_sum(weights, vector_load(below + at), low[i], lower + at, low[i + 1],
                                   low[i + 2], up[i + 1]);
            up_sums[i] = star_sum(weights, low[i + 1], up[i], upper + at, up[i + 1], up[i + 2],
                                  vector_load(above + at));
        }
#pragma GCC unroll 2
        for (size_t i = 0; i < high; i++) {
            vector_store(lower_out + x + i * pitch, low_sums[i]);
            vector_store(upper_out + x + i * pitch, up_sums[i]);
        }
    }
}

static void star_planes(const struct star *star, size_t pitch, size_t rows, size_t count, struct pump *pump)
{
    vector weights[7];
    size_t row = rows;

#pragma GCC unroll 7
    for (size_t k = 0; k < 7; k++)
        weights[k] = vector_splat(star->weights[k]);
    for (; row >= 2; row -= 2) {
        star_rows(star, weights, 2, pitch, (row - 2) * pitch, count);
        pump_once(pump);
    }
    if (row > 0) {
        star_rows(star, weights, 1, pitch, 0, count);
        pump_once(pump);
    }
}
