/* What the walks of rung `plane` share, which take one step of a small stencil: its taps, and how a launch
 * looks.
 *
 * A form has what step_taps_of has, T, Width, Height, Threads, Blocks (that a multiprocessor runs at once),
 * SharedBytes, kernel(), and chunk(planes, columns, residents), the planes of a chunk where the device runs
 * `residents` blocks at once. */
#ifndef CUDA_STEP_CUH
#define CUDA_STEP_CUH

#include "kernels/cuda/shared/cuda_row_ring.cuh"
#include "kernels/cuda/shared/cuda_march_common.cuh"

/* The taps along the axes; all of a box of radius 1; those of that box that `present` names. */
enum step_taps { STEP_STAR, STEP_BOX, STEP_SOME };

/* The taps of a stencil, and their places in raster order. */
template <step_taps Taps_, int Radius_> struct step_taps_of {
    static constexpr enum step_taps Taps = Taps_;
    static constexpr int Radius = Radius_;
    static constexpr int TapCount = Taps == STEP_STAR ? 6 * Radius + 1 : 27;

    static __host__ __device__ constexpr bool has(int dx, int drow, int dplane)
    {
        return Taps != STEP_STAR || (dx != 0) + (drow != 0) + (dplane != 0) <= 1;
    }
    static __host__ __device__ constexpr int index(int dx, int drow, int dplane)
    {
        if (Taps != STEP_STAR)
            return (dplane + 1) * 9 + (drow + 1) * 3 + dx + 1;
        return dplane != 0 ? (dplane < 0 ? Radius : 5 * Radius) + dplane
               : drow != 0 ? (drow < 0 ? 2 : 4) * Radius + drow
                           : 3 * Radius + dx;
    }
};

template <typename Form>
static inline long long step_columns(long long nx, long long rows, long long channels)
{
    return cuda_ceil_divide(nx, Form::Width) * cuda_ceil_divide(rows, Form::Height) * channels;
}

/* The share of its peak that an H200 reaches with all 27 taps. */
#define STEP_REACHED_BY_BOX 0.25

template <typename Form>
static inline void step_describe(const struct cuda_question *asked, struct cuda_form *form)
{
    const long long nx = static_cast<long long>(asked->shape->nx),
                    rows = static_cast<long long>(asked->shape->rows);
    const long long planes = static_cast<long long>(asked->shape->planes);
    const long long columns = step_columns<Form>(nx, rows, asked->shape->channels);
    const int residents = asked->limits->multiprocessors * Form::Blocks;

    *form = cuda_form();
    form->tile_x = Form::Width;
    form->tile_y = Form::Height;
    form->tile_z = 1;
    form->resident_blocks = asked->wish->coarsen > 0 ? 0 : residents;
    form->coarsen = asked->wish->coarsen > 0 ? asked->wish->coarsen
                                             : static_cast<int>(Form::chunk(planes, columns, residents));
    form->stride = 1;
    form->steps = 1;
    form->reach = Form::Radius;
    form->grid = dim3(cuda_blocks(columns * cuda_ceil_divide(planes, form->coarsen)));
    form->block = dim3(Form::Threads);
    form->shared_bytes = Form::SharedBytes;
    form->kernel = reinterpret_cast<const void *>(Form::kernel());
    form->bytes_per_update = 2.0 * sizeof(typename Form::T);
    form->operations_per_update = cuda_operations(asked->op);
    form->reached = Form::Taps == STEP_BOX ? STEP_REACHED_BY_BOX : 0;
}

#endif
