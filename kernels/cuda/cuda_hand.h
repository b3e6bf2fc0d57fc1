/* Planes handed over from GPU to GPU, while both compute. */
#ifndef CUDA_HAND_H
#define CUDA_HAND_H

#include "kernels/backend.h"
#include "cuda_device.h"

/* The seam's hand_over, and its tell_handings. */
bool cuda_hand_over(struct device *device, struct field *from, struct range planes, struct device *other,
                    struct field *to, size_t first, struct fault *fault);
bool cuda_hand_tell(struct device *device, double *seconds, struct fault *fault);

/* Let what is asked of the device from here on find the planes that were handed to the field; or, before it
   writes the field, leave those that others still take from it. */
bool cuda_hand_await_arrivals(struct device *device, const struct field *field, struct fault *fault);
bool cuda_hand_await_takers(struct device *device, struct field *field, struct fault *fault);

#endif
