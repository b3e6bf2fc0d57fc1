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
    struct glide glide;

    glide_start(&glide, samples);
#pragma GCC unroll 2
    for (size_t i = 0; i < wide; i++) {
        glide_on(&glide, samples + i * LANES);
        values[i][0] = glide_left(&glide, samples + i * LANES);
        values[i][1] = glide.centre;
        values[i][2] = glide_right(&glide, samples + i * LANES);
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
