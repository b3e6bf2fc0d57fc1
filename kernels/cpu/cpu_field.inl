/* Rows of a field of one work type, and their sums of squared change. */

static REAL *FN(row_of)(const struct field *field, size_t plane, unsigned channel, size_t row)
{
    const struct shape *shape = &field->shape;
    size_t index = ((plane - field->planes.first) * shape->channels + channel) * shape->rows + row;

    return (REAL *)field->samples + index * shape->nx;
}

/* Samples of a row of the field, which starts anew as often as they leave it. */
static void FN(copy_around)(const REAL *row, int64_t extent, struct span x, REAL *to)
{
    while (x.first < x.end) {
        int64_t inside = wrapped(x.first, extent);
        int64_t count = extent - inside < x.end - x.first ? extent - inside : x.end - x.first;
        memcpy(to, row + inside, (size_t)count * sizeof *to);
        to += count;
        x.first += count;
    }
}

static double FN(change_row)(const REAL *a, const REAL *b, size_t count)
{
    double leaf[ARITH_LEAF];
    double sum = 0.0;

    for (size_t begin = 0; begin < count; begin += ARITH_LEAF) {
        size_t length = least(ARITH_LEAF, count - begin);
        for (size_t i = 0; i < length; i++) {
            double difference = (double)a[begin + i] - (double)b[begin + i];
            leaf[i] = difference * difference;
        }
        memset(leaf + length, 0, (ARITH_LEAF - length) * sizeof *leaf);
        sum += arith_fold_leaf(leaf);
    }
    return sum;
}

static void FN(change_planes)(const struct field *a, const struct field *b, unsigned channels,
                              struct range planes, double *sums, int threads)
{
    size_t rows = a->shape.rows;

#pragma omp parallel for collapse(3) num_threads(threads) schedule(static)
    for (size_t plane = 0; plane < planes.count; plane++) {
        for (unsigned channel = 0; channel < channels; channel++) {
            for (size_t row = 0; row < rows; row++)
                sums[(plane * channels + channel) * rows + row] =
                    FN(change_row)(FN(row_of)(a, planes.first + plane, channel, row),
                                   FN(row_of)(b, planes.first + plane, channel, row), a->shape.nx);
        }
    }
}
