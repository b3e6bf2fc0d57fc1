/* The loops of a pass, which takes taps along one axis for lines of samples in registers. cuda_axis.cu
 * launches passes one by one, cuda_separable_2d.cu launches two as one.
 *
 * Taps lie side by side, but one or two may be left out. A struct of taps has a span, weights, which are 0
 * for taps that are left out, and is_dense(from, end): whether none is left out among these weights. */
#ifndef CUDA_AXIS_CUH
#define CUDA_AXIS_CUH

#include "kernels/cuda/shared/cuda_march_common.cuh"
#include "kernels/cuda/shared/cuda_order.cuh"
#include "kernels/cuda/shared/cuda_row_ring.cuh"

#include <string.h>

/* Another type of the same bits. */
template <typename To, typename From> CUDA_INLINE To axis_bits_as(From from)
{
    To to;

    memcpy(&to, &from, sizeof to);
    return to;
}

/* Comparing bits, not numbers, lets the compiler see that all threads of a warp take the same branch. */
template <typename T> CUDA_INLINE bool axis_is_gap(T weight)
{
    return axis_bits_as<typename order_for<T>::type>(weight) == 0;
}

/* Look up where a block reads its places, from one on; −1: outside. Computed samples read the places from
   `first` to `last`. Places beyond may not be in the field, so these two stand for them. Samples that `hold`
   keeps may read anything. The function is not inlined: behind its branches, the compiler would not see that
   all threads take the same taps, and each thread would have the weights in registers of its own. */
static __device__ __attribute__((noinline)) void axis_look_up(int *table, int count, int from, int first,
                                                              int last, enum edge_rule rule, int places)
{
#pragma unroll 1
    for (int i = static_cast<int>(threadIdx.x); i < count; i += static_cast<int>(blockDim.x))
        table[i] =
            cuda_near_index(rule == EDGE_HOLD ? EDGE_NEAREST : rule, min(max(from + i, first), last), places);
}

/* ---- lines below each other ---- */

/* As many taps as there are slots, from one on, or those of them that exist: sample o meets tap t in what was
   loaded as number t + o. */
template <bool All, typename Taps, typename Load, typename T, int Slots, int Samples, int Pack>
CUDA_INLINE void axis_take_lines(const Taps &taps, const Load &load, int first, T (&rows)[Slots][Pack],
                                 T (&sums)[Samples][Pack])
{
#pragma unroll
    for (int turn = 0; turn < Slots; turn++) {
        const int tap = first + turn;
        if (!All && tap >= taps.span)
            break;
        load(tap + Slots - 1, rows[(turn + Slots - 1) % Slots]);
        const T weight = taps.weights[tap];
        if (!All && axis_is_gap(weight))
            continue;
#pragma unroll
        for (int o = 0; o < Samples; o++) {
#pragma unroll
            for (int i = 0; i < Pack; i++)
                sums[o][i] = cuda_fma(weight, rows[(turn + o) % Slots][i], sums[o][i]);
        }
    }
}

/* Whole: loads are so short that turns of all taps are worth a loop of their own. */
template <int Slots, bool Whole, typename Taps, typename Load, typename T, int Samples, int Pack>
CUDA_INLINE void axis_chain_lines(const Taps &taps, const Load &load, T (&sums)[Samples][Pack])
{
    T rows[Slots][Pack];

#pragma unroll
    for (int number = 0; number < Slots - 1; number++)
        load(number, rows[number]);
#pragma unroll 1
    for (int first = 0, end = Slots; first < taps.span; first = end, end += Slots) {
        if (Whole && end <= taps.span && taps.is_dense(first, end))
            axis_take_lines<true>(taps, load, first, rows, sums);
        else
            axis_take_lines<false>(taps, load, first, rows, sums);
    }
}

/* Lines below each other, blurred, become sharp. */
template <typename T, int Samples, int Pack>
CUDA_INLINE void axis_sharpen(T amount, const T (&originals)[Samples][Pack], T (&sums)[Samples][Pack])
{
#pragma unroll
    for (int o = 0; o < Samples; o++) {
#pragma unroll
        for (int i = 0; i < Pack; i++)
            sums[o][i] = cuda_unsharp(amount, originals[o][i], sums[o][i]);
    }
}

/* ---- cells of a row ---- */

/* Places before a piece of a line, in whole units, from the first tap of its first sample on. */
template <int Unit> __host__ __device__ int axis_places_before(int low)
{
    return low < 0 ? (-low + Unit - 1) / Unit * Unit : -(low / Unit * Unit);
}

/* Fetch the cells of a row that copies of whole packs do not bring, by the edge rule: those before number
   `before`, and those from `behind` to `end`. Cell 0 is that of `column`. The threads of a row share the
   cells; this one has number `unit`. Not inlined, as axis_look_up is not. */
template <typename T>
__device__ __attribute__((noinline)) void axis_fetch_outside(const T *row, T *cells, int column, int before,
                                                             int behind, int end, int nx, enum edge_rule rule,
                                                             T outside, int unit, int units)
{
#pragma unroll 1
    for (int number = unit; number < before + end - behind; number += units) {
        const int i = number < before ? number : behind + number - before;
        const int x = cuda_near_index(rule == EDGE_HOLD ? EDGE_NEAREST : rule, column + i, nx);
        if (x < 0)
            cells[i] = outside;
        else
            cuda_copy_async<sizeof(T)>(cells + i, row + x);
    }
}

/* The taps of as many packs as there are slots, or those of them that exist, which end at a place: sample s
   meets place p of the window in place p + s of the cells. */
template <bool All, typename Taps, typename Load, typename T, int Values, int Samples>
CUDA_INLINE void axis_take_cells(const Taps &taps, const Load &load, int from, int end, T (&values)[Values],
                                 T (&sums)[Samples])
{
    constexpr int Pack = cuda_pack_of<T>::samples, Slots = Values / Pack;

#pragma unroll
    for (int turn = 0; turn < Slots; turn++) {
        const int place = from + turn * Pack;
        T weights[Pack];

        if (!All && place >= end)
            break;
        if (All || place + 1 < end)
            load(place + Samples, values + (turn + Slots - 1) % Slots * Pack);
        cuda_load_packs<Pack>(taps.weights + place, weights);
#pragma unroll
        for (int k = 0; k < Pack; k++) {
            if (!All && axis_is_gap(weights[k]))
                continue;
#pragma unroll
            for (int s = 0; s < Samples; s++)
                sums[s] = cuda_fma(weights[k], values[(turn * Pack + k + s) % Values], sums[s]);
        }
    }
}

/* Weight 0 belongs to cell 0. The first tap stands behind `skipped` cells, whose weights are 0. `load` brings
   the pack of cells at a place. */
template <typename Taps, typename Load, typename T, int Samples>
CUDA_INLINE void axis_chain_cells(const Taps &taps, const Load &load, int skipped, T (&sums)[Samples])
{
    constexpr int Pack = cuda_pack_of<T>::samples, Turn = Samples + Pack;
    const int end = skipped + taps.span;
    T values[Turn];

#pragma unroll
    for (int place = 0; place < Samples; place += Pack)
        load(place, values + place);
#pragma unroll 1
    for (int from = 0; from < end; from += Turn) {
        if (from >= skipped && from + Turn <= end && taps.is_dense(from, from + Turn))
            axis_take_cells<true>(taps, load, from, end, values, sums);
        else
            axis_take_cells<false>(taps, load, from, end, values, sums);
    }
}

#endif
