/* Engine `faces`: nonlinear heat by the flux pm1 or pm2, as cpu_tiles.inl runs it on the planes of a tile.
 *
 * Known as: flux sharing (each face of a finite volume once).
 * Idea: what costs is the conductivity of a face, c·g(q²), and it is the same from both sides. So a sample
 *   needs those of the faces ahead of it alone: along x, to the next row, to the next plane.
 * Adds: a row's conductivities along x, and those to the next row until that row needs them, in the
 *   first-level cache. Those between planes stay in registers, unless channels share them. And a slot a level
 *   for the products of the faces between two planes, with which the next plane's chains begin.
 * Costs: that slot. At the first row and the first plane of a tile the faces behind are computed as well, and
 *   so are all faces of all relaxations of `--inner` but the first, as a sample's own value moves alone.
 * Traffic per sample: that of the tile.
 * Wins when: a flux has conductivities along x, planes and, in volumes, rows: always. */

/* Samples of a row that are computed together: conductivities that are kept stay in the first-level cache. */
#define FACES_BLOCK 512

/* Rows of a plane of a level, from their first samples on, and the planes around it. */
struct faces {
    const struct op *op;
    size_t channels; /* under one conductivity */
    size_t layer;    /* samples from one channel to the next */
    size_t pitch;    /* and from one row to the next */
    const real *below, *u, *above;
    real *products; /* of the faces to the plane below; afterwards, of those to the plane above */
    bool carried;   /* the plane below has left them */
    real *out;
};

/* Conductivities of the faces of a block of a row. */
struct conductivities {
    real x[FACES_BLOCK + LANES]; /* x[i] between the samples i - 1 and i */
    real rows[2][FACES_BLOCK];   /* to the row before and to the row behind, which take turns */
    real above[FACES_BLOCK];     /* to the plane above, if channels share them */
};

/* The conductivities between the samples from u on and those from v on. */
static void find_conductivities(const struct faces *faces, double weight, const real *u, const real *v,
                                size_t count, real *restrict found)
{
    const struct op *op = faces->op;
    const real c = (real)weight;

    if (op->joint == 0) {
        face_factors(op, c, v, u, count, found);
        return;
    }
    for (size_t k = 0; k < faces->channels; k++)
        add_square(k == 0, false, (real)op->inverse_scale, v + k * faces->layer, u + k * faces->layer, count,
                   found);
    joint_factors(op->flux, c, count, found);
}

/* Add up what flows to a block of a row from all its neighbours, in the order of the contract. Each
   difference is computed from the sample's own side: negating the neighbour's would turn a zero's sign.
   `finds`: each channel has its own conductivities. Those to the row behind and to the plane above are found
   here, since their samples are in registers anyway; those to the row behind are left in `behind`. Otherwise
   `behind` and `ahead` have them. */
ISA_INLINE void add_flows(bool finds, enum flux flux, bool has_rows, const struct op *op, const real *u,
                          const real *above, size_t pitch, const real *x, const real *before,
                          const real *ahead, size_t count, real *restrict behind, real *restrict products,
                          real *restrict out)
{
    const real inverse = (real)op->inverse_scale;
    const real of_plane = (real)op->taps[0].weight, of_row = (real)op->taps[1].weight;

    for (size_t i = 0; i < count; i++) {
        real here = u[i], sum = products[i];
        if (has_rows)
            sum = real_fma(before[i], *(u + i - pitch) - here, sum);
        sum = real_fma(x[i], *(u + i - 1) - here, sum);
        sum = real_fma(x[i + 1], u[i + 1] - here, sum);
        if (has_rows) {
            real change = u[i + pitch] - here;
            real to_row = finds ? conductivity(flux, of_row, change * inverse) : behind[i];
            sum = real_fma(to_row, change, sum);
            behind[i] = to_row;
        }
        real change = above[i] - here;
        real to_plane = finds ? conductivity(flux, of_plane, change * inverse) : ahead[i];
        out[i] = here + real_fma(to_plane, change, sum);
        products[i] = to_plane * (here - above[i]);
    }
}

/* Compute the products that no plane below has left. */
static void begin_products(const struct faces *faces, double weight, size_t shift, size_t count)
{
    real found[FACES_BLOCK];

    find_conductivities(faces, weight, faces->below + shift, faces->u + shift, count, found);
    for (size_t channel = 0; channel < faces->channels; channel++) {
        size_t at = shift + channel * faces->layer;
        for (size_t i = 0; i < count; i++)
            faces->products[at + i] = found[i] * (faces->below[at + i] - faces->u[at + i]);
    }
}

/* Relax a block of the rows once, row after row, since each leaves its conductivities to the next; `count` is
   a multiple of LANES. */
static void relax_faces(const struct faces *faces, size_t shift, size_t rows, size_t count,
                        struct write_behind *behind)
{
    const struct op *op = faces->op;
    const bool has_rows = op->tap_count == FACES_OF_VOLUME, finds = op->joint == 0;
    const double of_plane = op->taps[0].weight, of_row = op->taps[1].weight;
    const double of_x = op->taps[op->tap_count / 2].weight;
    struct conductivities c;

    if (has_rows)
        find_conductivities(faces, of_row, faces->u + shift - faces->pitch, faces->u + shift, count,
                            c.rows[1]);
    for (size_t row = 0; row < rows; row++, shift += faces->pitch) {
        const real *u = faces->u + shift, *above = faces->above + shift;
        const real *row_before = c.rows[(row + 1) % 2];
        real *row_behind = c.rows[row % 2];
        if (!faces->carried)
            begin_products(faces, of_plane, shift, count);
        find_conductivities(faces, of_x, u - 1, u, count + LANES, c.x);
        if (!finds && has_rows)
            find_conductivities(faces, of_row, u, u + faces->pitch, count, row_behind);
        if (!finds)
            find_conductivities(faces, of_plane, u, above, count, c.above);
        for (size_t k = 0; k < faces->channels; k++) {
            size_t at = k * faces->layer;
            real *out = faces->out + shift + at, *products = faces->products + shift + at;
/* Constants, so that each case becomes a loop without branches. Without `finds`, the flux does not matter. */
#define ADD_FLOWS(finds, flux, has_rows)                                                                     \
    add_flows(finds, flux, has_rows, op, u + at, above + at, faces->pitch, c.x, row_before, c.above, count,  \
              row_behind, products, out)
            if (!finds && has_rows)
                ADD_FLOWS(false, FLUX_PM1, true);
            else if (!finds)
                ADD_FLOWS(false, FLUX_PM1, false);
            else if (op->flux == FLUX_PM1 && has_rows)
                ADD_FLOWS(true, FLUX_PM1, true);
            else if (op->flux == FLUX_PM1)
                ADD_FLOWS(true, FLUX_PM1, false);
            else if (has_rows)
                ADD_FLOWS(true, FLUX_PM2, true);
            else
                ADD_FLOWS(true, FLUX_PM2, false);
#undef ADD_FLOWS
            react(op, out, count);
        }
        write_behind_once(behind);
    }
}
