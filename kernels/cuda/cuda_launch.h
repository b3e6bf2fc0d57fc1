/* Launches: what the runtime knows of a kernel before it runs. */
#ifndef CUDA_LAUNCH_H
#define CUDA_LAUNCH_H

#include "kernels/backend.h"
#include "kernels/cuda/shared/cuda_rung.h"

/* Let the device launch it with the shared memory that it takes: each device has to be told. */
bool cuda_launch_allow(const struct device *device, const struct cuda_form *launch, struct fault *fault);

/* Fill in what is known of such a launch, occupancy included. */
bool cuda_launch_describe(const struct device *device, const struct cuda_form *launch, struct form *form,
                          struct fault *fault);

#endif
