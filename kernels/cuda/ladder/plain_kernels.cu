/* A first lesson, and no rung: the stencils of textbooks, complete in one file.
 *
 * Known as: one thread per output, naive global-memory stencil and convolution.
 * Idea: a thread for each sample; nothing is shared; outside the grid there are zeros.
 *
 * Read it first: three kernels, and how they are launched and timed. cuda_naive.cu is the same idea for every
 * op, edge rule and extent. bench/gpu_rivals.py compiles this file into a library, runs it and voxfilt on the
 * same samples, and prints how far apart the results are; the sums here are in another order than voxfilt(7)
 * says. */
#include <algorithm>
#include <cuda_runtime.h>

namespace
{

constexpr int runs = 9; /* that are timed; their median counts */

struct volume {
    int nx, ny, nz;

    size_t samples() const
    {
        return static_cast<size_t>(nx) * ny * nz;
    }
    __device__ size_t place(int x, int y, int z) const
    {
        return (static_cast<size_t>(z) * ny + y) * nx + x;
    }
};

/* The heat step of a volume: a warp has 32 neighbouring samples of a row, so its loads are coalesced. */
__global__ void seven_points(const float *in, float *out, volume grid, float centre, float face)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    const int z = blockIdx.z;

    if (x >= grid.nx || y >= grid.ny)
        return;
    const size_t row = grid.nx, plane = row * grid.ny, i = grid.place(x, y, z);
    const float sum = (z > 0 ? in[i - plane] : 0) + (y > 0 ? in[i - row] : 0) + (x > 0 ? in[i - 1] : 0) +
                      (x + 1 < grid.nx ? in[i + 1] : 0) + (y + 1 < grid.ny ? in[i + row] : 0) +
                      (z + 1 < grid.nz ? in[i + plane] : 0);
    out[i] = centre * in[i] + face * sum;
}

/* The same for a picture. */
__global__ void five_points(const float *in, float *out, volume grid, float centre, float face)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;

    if (x >= grid.nx || y >= grid.ny)
        return;
    const size_t row = grid.nx, i = grid.place(x, y, 0);
    out[i] =
        centre * in[i] + face * ((y > 0 ? in[i - row] : 0) + (x > 0 ? in[i - 1] : 0) +
                                 (x + 1 < grid.nx ? in[i + 1] : 0) + (y + 1 < grid.ny ? in[i + row] : 0));
}

/* A convolution of a picture with a square of weights. */
__global__ void window(const float *in, float *out, volume grid, const float *weights, int side)
{
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    float sum = 0;

    if (x >= grid.nx || y >= grid.ny)
        return;
    for (int j = 0; j < side; j++) {
        for (int i = 0; i < side; i++) {
            const int from_x = x + i - side / 2, from_y = y + j - side / 2;
            if (from_x >= 0 && from_x < grid.nx && from_y >= 0 && from_y < grid.ny)
                sum += weights[j * side + i] * in[grid.place(from_x, from_y, 0)];
        }
    }
    out[grid.place(x, y, 0)] = sum;
}

/* Blocks of 32×8 threads that cover the grid; the last ones reach beyond it. */
dim3 blocks_for(const volume &grid)
{
    return dim3((grid.nx + 31) / 32, (grid.ny + 7) / 8, grid.nz);
}

/* Seconds of a launch, the median of all runs, by the device's own events; negative if CUDA fails. */
template <typename Launch> double measure(Launch launch)
{
    constexpr int launches = 8;
    cudaEvent_t begun, ended;
    float taken[runs];

    cudaEventCreate(&begun);
    cudaEventCreate(&ended);
    for (float &milliseconds : taken) {
        cudaEventRecord(begun);
        for (int i = 0; i < launches; i++)
            launch();
        cudaEventRecord(ended);
        cudaEventSynchronize(ended);
        cudaEventElapsedTime(&milliseconds, begun, ended);
    }
    cudaEventDestroy(begun);
    cudaEventDestroy(ended);
    std::sort(taken, taken + runs);
    return cudaGetLastError() == cudaSuccess ? 1e-3 * taken[runs / 2] / launches : -1;
}

/* Copy the samples to the device, launch once, copy the result back; then measure. */
template <typename Launch> double run(const volume &grid, const float *in, float *out, Launch launch)
{
    const size_t bytes = grid.samples() * sizeof(float);
    float *from = nullptr, *to = nullptr;
    double seconds = -1;

    if (cudaMalloc(&from, bytes) == cudaSuccess && cudaMalloc(&to, bytes) == cudaSuccess &&
        cudaMemcpy(from, in, bytes, cudaMemcpyHostToDevice) == cudaSuccess) {
        launch(from, to);
        if (cudaMemcpy(out, to, bytes, cudaMemcpyDeviceToHost) == cudaSuccess)
            seconds = measure([&] { launch(from, to); });
    }
    cudaFree(from);
    cudaFree(to);
    return seconds;
}

} // namespace

/* Seconds of one step from `in` to `out`; negative if CUDA fails. nz is 1 for a picture. */
extern "C" double plain_heat(int nx, int ny, int nz, const float *in, float *out, float centre, float face)
{
    const volume grid = {nx, ny, nz};
    const auto kernel = nz > 1 ? seven_points : five_points;

    return run(grid, in, out, [=](const float *from, float *to) {
        kernel<<<blocks_for(grid), dim3(32, 8)>>>(from, to, grid, centre, face);
    });
}

extern "C" double plain_window(int nx, int ny, const float *in, float *out, const float *weights, int side)
{
    const volume grid = {nx, ny, 1};
    const size_t bytes = sizeof(float) * side * side;
    float *there = nullptr;
    double seconds = -1;

    if (cudaMalloc(&there, bytes) == cudaSuccess &&
        cudaMemcpy(there, weights, bytes, cudaMemcpyHostToDevice) == cudaSuccess)
        seconds = run(grid, in, out, [=](const float *from, float *to) {
            window<<<blocks_for(grid), dim3(32, 8)>>>(from, to, grid, there, side);
        });
    cudaFree(there);
    return seconds;
}
