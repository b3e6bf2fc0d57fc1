/* Rows of a field of one work type, and their sums of squared change. */

static real *row_of(const struct field *field, size_t plane, unsigned channel, size_t row)
{
    const struct shape *shape = &field->shape;
    size_t in_plane = (channel * shape->rows + row) * shape->nx;

    return (real *)field->samples + slot_in(field, plane) * field->pitch + in_plane;
}

static double change_row(const real *a, const real *b, size_t count)
{
    double leaf[ARITH_LEAF];
    double sum = 0.0;

    for (size_t begin = 0; begin < count; begin += ARITH_LEAF) {
        size_t length = size_least(ARITH_LEAF, count - begin);
        for (size_t i = 0; i < length; i++) {
            double difference = (double)a[begin + i] - (double)b[begin + i];
            leaf[i] = difference * difference;
        }
        memset(leaf + length, 0, (ARITH_LEAF - length) * sizeof *leaf);
        sum += arith_fold_leaf(leaf);
    }
    return sum;
}

/* Two fields whose difference is added up, row by row. */
struct changing {
    const struct field *a, *b;
    unsigned channels;
    size_t first_plane;
    double *sums;
};

static void change_rows(void *context, struct range rows, unsigned member)
{
    const struct changing *changing = context;
    const struct shape *shape = &changing->a->shape;

    (void)member;
    for (size_t i = rows.first; i < rows.first + rows.count; i++) {
        struct place place = place_of(i, changing->channels, shape->rows);
        size_t plane = changing->first_plane + place.plane;
        changing->sums[i] = change_row(row_of(changing->a, plane, place.channel, place.row),
                                       row_of(changing->b, plane, place.channel, place.row), shape->nx);
    }
}

static void change_planes(const struct field *a, const struct field *b, unsigned channels,
                          struct range planes, double *sums, const struct cpu_threads *threads)
{
    struct changing changing = {a, b, channels, planes.first, sums};

    cpu_threads_share_evenly(threads, planes.count * channels * a->shape.rows, change_rows, &changing);
}
