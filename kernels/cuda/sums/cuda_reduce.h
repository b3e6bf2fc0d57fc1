/* Sums on a GPU in the order of voxfilt(7), ARITHMETIC: leaves of 1024 samples folded by halves; then leaves,
   rows and planes in order. Here sums go up to planes: the caller adds these in order. */
#ifndef CUDA_REDUCE_H
#define CUDA_REDUCE_H

#include "kernels/cuda/shared/cuda_field.h"
#include "kernels/cuda/shared/cuda_rung.h"

/* Who adds; the order of additions is always the same. */
struct cuda_reduction {
    bool by_blocks;
    int factor; /* samples of a leaf that a thread folds alone, or leaves that a block folds one after another
                 */
    int stride; /* from one of them to the next */
};

/* The forms, the default first. Ends with a rung without name. */
extern const struct rung cuda_sum_rungs[];

/* The form that a wish asks for by the name of its rung, its factor and its stride. False with a reason for
   what cannot be. */
bool cuda_reduction_settle(const struct cuda_wish *wish, struct cuda_reduction *reduction,
                           struct cuda_refusal *refusal);
const struct rung *cuda_reduction_rung(const struct cuda_reduction *reduction);

/* How the changes of so many planes are folded; the grid is that of the leaves. */
struct cuda_form cuda_change_form(const struct cuda_reduction *reduction, const struct shape *shape,
                                  enum work_type work, size_t planes);

/* Bytes of device memory that a reduction of so many planes to totals of so many bytes needs besides its
   result. */
size_t cuda_reduction_scratch(const struct shape *shape, size_t planes, size_t total);

/* Σ (a − b)² of the first `channels` channels: sums[plane · channels + channel], from the first plane of the
 * range. Where samples may be `missing`, those that are so in b do not count. */
template <typename T>
cudaError_t cuda_change(const struct cuda_reduction *reduction, const cuda_view<T> &a, const cuda_view<T> &b,
                        unsigned channels, bool missing, struct range planes, void *scratch, double *sums,
                        cudaStream_t stream);

/* Tallies of the channels of packed planes: tallies[plane · channels + channel], each from nothing, about
   anchors[plane · channels + channel]; shape gives nx and rows. */
cudaError_t cuda_tally(const struct cuda_reduction *reduction, const struct encoding *encoding,
                       const struct shape *shape, const void *packed, size_t planes, const double *anchors,
                       void *scratch, struct tally *tallies, cudaStream_t stream);

#endif
