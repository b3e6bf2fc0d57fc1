/* The chain of all 27 nearest neighbours on several rows at once: what a row's sum reads is still in a
   register when the sums of the rows around it need it. */

#define BOX_SIDE 3
#define BOX_FACE (BOX_SIDE * BOX_SIDE)
#define BOX_TAPS (BOX_FACE * BOX_SIDE)

/* Rows whose sums are open at once: with the weights of a plane, as many vectors as there are registers. */
#define BOX_ROWS 4

struct box {
    const real *planes[BOX_SIDE]; /* at the first sample of the first row */
    const real *weights;
};

/* What one plane adds to the sums of `high` rows. Rows are read in the order of the chain. */
ISA_INLINE void box_plane(bool first, const real *weights, const real *centre, size_t pitch, size_t high,
                          vector *sums)
{
    vector splat[BOX_FACE];

#pragma GCC unroll 9
    for (size_t k = 0; k < BOX_FACE; k++)
        splat[k] = vector_splat(weights[k]);
#pragma GCC unroll 6
    for (size_t row = 0; row < high + 2; row++) {
        const real *samples = centre + row * pitch - pitch;
#pragma GCC unroll 4
        for (size_t i = 0; i < high; i++) {
            if (row < i || row - i >= BOX_SIDE)
                continue;
#pragma GCC unroll 3
            for (size_t x = 0; x < BOX_SIDE; x++) {
                vector values = vector_load(samples + x - 1), weight = splat[(row - i) * BOX_SIDE + x];
                sums[i] = first && row == i && x == 0 ? weight * values : vector_fma(weight, values, sums[i]);
            }
        }
    }
}

ISA_INLINE void box_run(const struct box *box, size_t high, size_t pitch, size_t shift, size_t count,
                        real *out)
{
    for (size_t at = shift; at < shift + count; at += LANES) {
        vector sums[BOX_ROWS];
#pragma GCC unroll 3
        for (size_t plane = 0; plane < BOX_SIDE; plane++)
            box_plane(plane == 0, box->weights + plane * BOX_FACE, box->planes[plane] + at, pitch, high,
                      sums);
#pragma GCC unroll 4
        for (size_t i = 0; i < high; i++)
            vector_store(out + at + i * pitch, sums[i]);
    }
}

/* `rows` rows of `count` samples, a multiple of LANES, at a distance of pitch. */
static void box_rows(const struct box *box, size_t pitch, size_t rows, size_t count, real *out,
                     struct pump *pump)
{
    size_t row = 0;

    for (; row + BOX_ROWS <= rows; row += BOX_ROWS) {
        box_run(box, BOX_ROWS, pitch, row * pitch, count, out);
        for (size_t i = 0; i < BOX_ROWS; i++)
            pump_once(pump);
    }
    for (; row < rows; row++) {
        box_run(box, 1, pitch, row * pitch, count, out);
        pump_once(pump);
    }
}
