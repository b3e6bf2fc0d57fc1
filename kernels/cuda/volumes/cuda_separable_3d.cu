/* Passes along all three axes of a volume in one trip: what gauss and box are made of.
 *
 * Idea: a block streams along the planes. Rows get their taps along x on their way through shared memory,
 * columns of them theirs along the rows on their way into registers, and there each sample has its open sums
 * along the planes: cuda_separable_3d.cuh. Adds: what a pass leaves never goes to memory. Costs: the rows
 * around a tile get their taps along x twice, and planes at the ends of a walk are taken twice; a register
 * for each tap and sample. Traffic per sample: 2 words, and what walks read twice, mostly found in the L2
 * cache. Wins when: the windows reach equally far, and the volume has so many planes that walks are long. */
#include "kernels/cuda/shared/cuda_code.cuh"
#include "kernels/cuda/shared/cuda_window_unrolled.cuh"
#include "cuda_separable_3d.cuh"

namespace
{

/* Windows up to this radius have a form; passes one by one are faster than larger ones would be. */
#define MOST_RADIUS 6

/* As many warps as share the registers, and samples below each other as these hold sums of. */
template <typename T, int Radius>
using form_for =
    separable_form<T, Radius, Radius <= 3 ? 5 : 4, Radius <= 3 || (Radius == 4 && sizeof(T) == 4) ? 16 : 12>;

/* Call act with the form for windows that reach so far. */
template <typename T, int Radius, typename Act> auto choose_form(int radius, Act act)
{
    if constexpr (Radius > 1) {
        if (radius < Radius)
            return choose_form<T, Radius - 1>(radius, act);
    }
    return act(form_for<T, Radius>());
}

/* How far windows along x, the rows and the planes reach, all alike and without gaps; 0 otherwise. */
int separable_radius(const struct op *op)
{
    const int radius = op->x.high;

    return op->pass_count == 3 && radius >= 1 && radius <= MOST_RADIUS &&
                   unrolled_is_whole(&op->passes[0], UNROLLED_ROWS, radius, 0) &&
                   unrolled_is_whole(&op->passes[1], UNROLLED_ROWS, 0, radius) &&
                   unrolled_is_whole(&op->passes[2], UNROLLED_PLANES, 0, radius)
               ? radius
               : 0;
}

/* How walks of a form cover so many planes of a shape. */
template <typename Form> struct separable_cover {
    long long across, down; /* tiles */
    long long channels, planes;
    long long residents; /* blocks that run at once */
    long long chunk;     /* planes of a walk */

    separable_cover(const struct cuda_limits *limits, const struct shape *shape, long long count)
        : across(cuda_ceil_divide(static_cast<long long>(shape->nx), Form::Columns)),
          down(cuda_ceil_divide(static_cast<long long>(shape->rows), Form::Rows)), channels(shape->channels),
          planes(count), residents(limits->multiprocessors)
    {
        chunk = cuda_march_chunk(planes, planes, [this](long long each, long long) { return time(each); });
    }

    long long chunks() const
    {
        return cuda_ceil_divide(planes, chunk);
    }

    /* In planes of a tile: rounds of walks, each with the planes before and behind its own and its start. */
    double time(long long each) const
    {
        const long long start = 4;
        const long long walks = across * down * channels * cuda_ceil_divide(planes, each);

        return static_cast<double>(cuda_ceil_divide(walks, residents) * (each + 2 * Form::Radius + start));
    }

    /* Samples that the device could compute in that time, by those that it shall. */
    double waste(const struct shape *shape) const
    {
        const double tile = static_cast<double>(Form::Columns) * Form::Rows;
        const double wanted = static_cast<double>(shape->nx) * static_cast<double>(shape->rows) *
                              static_cast<double>(channels * planes);

        return time(chunk) * static_cast<double>(residents) * tile / wanted;
    }

    dim3 grid() const
    {
        return dim3(static_cast<unsigned>(across), static_cast<unsigned>(down),
                    static_cast<unsigned>(channels * chunks()));
    }
};

/* Passes one by one waste nothing, but take three trips: on an H200 they take as long as joined ones that
   compute so many samples for each. */
#define MOST_WASTE 1.5

template <typename Form> bool describe(const struct cuda_question *asked, struct cuda_form *form)
{
    const struct shape *shape = asked->shape;
    const long long most = 65535, samples = 0x7fffffff;
    const separable_cover<Form> cover(asked->limits, shape, static_cast<long long>(shape->planes));
    const dim3 grid = cover.grid();

    if (!Form::serves(asked->limits->code) || Form::SharedBytes > asked->limits->shared_per_block)
        return cuda_refuse(asked->refusal, "joined passes take %zu bytes of shared memory, a block has %zu",
                           Form::SharedBytes, asked->limits->shared_per_block);
    if (grid.y > most || grid.z > most || static_cast<long long>(shape->planes) > samples ||
        static_cast<long long>(shape->rows * (shape->nx + CUDA_ROW_ALIGNMENT)) > samples)
        return cuda_refuse(asked->refusal, "the grid is too large for joined passes");
    if (asked->wish->rung == NULL && cover.waste(shape) > MOST_WASTE)
        return cuda_refuse(asked->refusal, "the volume is too small for passes to be joined");
    form->tile_x = Form::Columns;
    form->tile_y = Form::Rows;
    form->coarsen = static_cast<int>(cover.chunk);
    form->stride = 1;
    form->steps = 1;
    form->block = dim3(Form::Threads);
    form->grid = grid;
    form->shared_bytes = Form::SharedBytes;
    form->kernel = reinterpret_cast<const void *>(&separable_kernel<Form>);
    form->bytes_per_update =
        sizeof(typename Form::T) * (2 + 2.0 * Form::Radius / static_cast<double>(cover.chunk));
    form->operations_per_update = cuda_operations(asked->op);
    return true;
}

bool separable_shape(const struct cuda_question *asked, struct cuda_form *form)
{
    const int radius = separable_radius(asked->op);

    if (radius == 0)
        return cuda_refuse(asked->refusal,
                           "joined windows have no gaps and equal reach along three axes, up to %d samples",
                           MOST_RADIUS);
    *form = cuda_form();
    const auto act = [&](auto chosen) { return describe<decltype(chosen)>(asked, form); };
    return asked->op->work == WORK_F32 ? choose_form<float, MOST_RADIUS>(radius, act)
                                       : choose_form<double, MOST_RADIUS>(radius, act);
}

template <typename T, int Taps> void copy_weights(const struct op *pass, T (&weights)[Taps])
{
    for (int k = 0; k < Taps; k++)
        weights[k] = static_cast<T>(pass->taps[k].weight);
}

template <typename Form> cudaError_t launch(const struct cuda_job *from)
{
    using T = typename Form::T;
    const struct op *op = from->op->op;
    const auto kernel = separable_kernel<Form>;
    separable_job<Form> job = separable_job<Form>();

    if (from->planes.count == 0)
        return cudaSuccess;
    job.from = *static_cast<const cuda_view<T> *>(from->from);
    job.to = *static_cast<const cuda_view<T> *>(from->to);
    const struct shape shape = {static_cast<size_t>(job.from.nx), static_cast<size_t>(job.from.rows),
                                static_cast<size_t>(job.from.planes),
                                static_cast<unsigned>(job.from.channels)};
    const separable_cover<Form> cover(from->limits, &shape, static_cast<long long>(from->planes.count));
    job.edge = cuda_edge_of<T>(from->op);
    job.first = static_cast<int>(from->planes.first);
    job.end = job.first + static_cast<int>(from->planes.count);
    job.chunk = static_cast<int>(cover.chunk);
    job.chunks = static_cast<int>(cover.chunks());
    job.to_stride = job.to.plane_stride();
    copy_weights(&op->passes[0], job.x);
    copy_weights(&op->passes[1], job.row);
    copy_weights(&op->passes[2], job.plane);
    const cudaError_t error = cuda_permit_shared(kernel, Form::SharedBytes);
    if (error != cudaSuccess)
        return error;
    return CUDA_LAUNCH(from->stream, cover.grid(), dim3(Form::Threads), Form::SharedBytes, kernel, job);
}

cudaError_t separable_launch(const struct cuda_job *job)
{
    const auto act = [=](auto chosen) { return launch<decltype(chosen)>(job); };
    const int radius = separable_radius(job->op->op);

    return job->op->op->work == WORK_F32 ? choose_form<float, MOST_RADIUS>(radius, act)
                                         : choose_form<double, MOST_RADIUS>(radius, act);
}

} // namespace

extern const struct cuda_rung cuda_rung_separable_3d = {
    false, false, false, separable_shape, separable_launch,
};
