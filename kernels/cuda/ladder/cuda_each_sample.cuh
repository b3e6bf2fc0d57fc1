/* The common part of `naive` and the pointwise ops: a thread computes one sample. Blocks are counted by the
 * three axes of the launch, so that a thread finds its sample without a division, and a grid that is too
 * large for one launch is cut into several. */
#ifndef CUDA_EACH_SAMPLE_CUH
#define CUDA_EACH_SAMPLE_CUH

#include "kernels/cuda/shared/cuda_chain.cuh"

#define EACH_THREADS 256

/* The most blocks that a launch counts along its second and third axis. */
#define EACH_BLOCKS 65535

/* The samples that one launch computes. A layer is a plane of one channel, counted from the first one of the
   launch. */
template <typename T> struct each_part {
    const T *from, *kept; /* kept: for ops that read it, else NULL */
    T *to;                /* all three: the first layer of the launch */
    T amount;             /* OP_UNSHARP */
    int nx, rows, layers, first_row;
    int pitch;                            /* samples from one row to the next */
    long long layer_stride, plane_stride; /* likewise from one layer or plane */
    cuda_indices x, row, layer;           /* a sample in all three has no tap outside the grid */
    int channels;
    long long planes, first_layer; /* of the grid */
};

/* The sample of a thread. */
struct each_site {
    int x, row, layer;
    long long offset;
};

/* Find the sample of a thread; false if there is none: the last blocks reach beyond the grid. */
template <typename T> static CUDA_INLINE bool each_locate(const each_part<T> &part, each_site *site)
{
    site->x = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    site->row = part.first_row + static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y);
    site->layer = static_cast<int>(blockIdx.z * blockDim.z + threadIdx.z);
    site->offset = site->layer * part.layer_stride + static_cast<long long>(site->row) * part.pitch + site->x;
    return site->x < part.nx && site->row < part.rows && site->layer < part.layers;
}

/* The distance along an axis to the sample that a tap reads; sets `outside` if the rule has no sample of the
   grid there. */
static CUDA_INLINE long long each_shift(enum edge_rule rule, long long own, int offset, long long extent,
                                        bool *outside)
{
    const long long index = own + offset;

    if (offset == 0 || (index >= 0 && index < extent))
        return offset;
    const long long supplied = cuda_edge_index(rule, index, extent);
    *outside |= supplied < 0;
    return supplied - own;
}

/* ---- the host ---- */

/* A warp lies along x, the warps of a block along rows, or along planes that have one row. */
static inline dim3 each_block(size_t rows)
{
    return rows == 1 ? dim3(32, 1, EACH_THREADS / 32) : dim3(32, EACH_THREADS / 32, 1);
}

/* Blocks for these extents, as many as one launch may have. */
static inline dim3 each_grid(dim3 block, size_t nx, size_t rows, unsigned long long layers)
{
    const auto blocks = [](unsigned long long samples, unsigned extent, unsigned most) {
        const unsigned long long wanted = (samples + extent - 1) / extent;
        return static_cast<unsigned>(wanted < most ? wanted : most);
    };

    return dim3(blocks(nx, block.x, 0x7fffffff), blocks(rows, block.y, EACH_BLOCKS),
                blocks(layers, block.z, EACH_BLOCKS));
}

/* Layers in a plane: its channels, or one, if a thread computes all channels of a pixel. */
static inline int each_layers(const struct op *op, int channels)
{
    return op->joint > 0 ? 1 : channels;
}

/* The form of a kernel of this family. */
static inline struct cuda_form each_form(const struct cuda_question *asked, const void *kernel)
{
    struct cuda_form form = cuda_form();

    form.coarsen = 1;
    form.block = each_block(asked->shape->rows);
    form.grid = each_grid(form.block, asked->shape->nx, asked->shape->rows,
                          static_cast<unsigned long long>(asked->shape->planes) *
                              each_layers(asked->op, static_cast<int>(asked->shape->channels)));
    form.kernel = kernel;
    form.bytes_per_update = 2.0 * static_cast<double>(work_size(asked->op->work));
    form.operations_per_update = cuda_operations(asked->op);
    return form;
}

/* Layers [first, first + layers) of the grid, from a row on. */
template <typename T>
static each_part<T> each_part_of(const struct cuda_job *job, long long first, int layers, int first_row)
{
    const cuda_view<T> &from = *static_cast<const cuda_view<T> *>(job->from);
    const cuda_view<T> &to = *static_cast<const cuda_view<T> *>(job->to);
    const struct op *op = job->op->op;
    const int channels = each_layers(op, from.channels);
    const struct reach plane = {op->plane.low * channels, op->plane.high * channels};
    each_part<T> part = {};

    /* Pointers to the launch's first layer, wherever the fields begin. */
    part.layer_stride = from.plane_stride() / channels;
    part.plane_stride = from.plane_stride();
    part.from = from.samples + (first - from.first * channels) * part.layer_stride;
    part.to = to.samples + (first - to.first * channels) * part.layer_stride;
    if (op_reads_kept(op)) {
        const cuda_view<T> &kept = *static_cast<const cuda_view<T> *>(job->kept);
        part.kept = kept.samples + (first - kept.first * channels) * part.layer_stride;
        part.amount = static_cast<T>(op->amount);
    }
    /* Extents, and the samples whose taps need no edge rule. */
    part.nx = from.nx;
    part.rows = from.rows;
    part.layers = layers;
    part.first_row = first_row;
    part.pitch = static_cast<int>(from.pitch);
    part.x = cuda_interior(op->x, from.nx, 0, from.nx);
    part.row = cuda_interior(op->row, from.rows, 0, from.rows);
    part.channels = channels;
    part.planes = from.planes;
    part.first_layer = first;
    part.layer = cuda_interior(plane, from.planes * channels, first, layers);
    return part;
}

/* Call launch(grid, block, part) for each part of a job: more blocks than one launch may have are several
 * parts. */
template <typename T, typename Launch>
static cudaError_t each_launch(const struct cuda_job *job, const Launch &launch)
{
    const cuda_view<T> &from = *static_cast<const cuda_view<T> *>(job->from);
    const dim3 block = each_block(static_cast<size_t>(from.rows));
    const int channels = each_layers(job->op->op, from.channels);
    const long long end = static_cast<long long>(job->planes.first + job->planes.count) * channels;
    const long long most_layers = static_cast<long long>(EACH_BLOCKS) * block.z;
    const long long most_rows = static_cast<long long>(EACH_BLOCKS) * block.y;
    cudaError_t status = cudaSuccess;

    for (long long first = static_cast<long long>(job->planes.first) * channels; first < end;
         first += most_layers) {
        const long long layers = end - first < most_layers ? end - first : most_layers;
        for (long long row = 0; row < from.rows && status == cudaSuccess; row += most_rows) {
            const dim3 grid =
                each_grid(block, static_cast<size_t>(from.nx), static_cast<size_t>(from.rows - row),
                          static_cast<unsigned long long>(layers));
            status = launch(grid, block,
                            each_part_of<T>(job, first, static_cast<int>(layers), static_cast<int>(row)));
        }
    }
    return status;
}

#endif
