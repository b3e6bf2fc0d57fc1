/* What tests can ask of the emulated GPUs: other limits, other orders of threads, faults at will. For C and
 * C++.
 *
 * The environment sets the defaults: CUDA_EMULATION_ORDER=forward|reversed|SEED,
 * CUDA_EMULATION_STREAMS=eager|lazy, CUDA_EMULATION_MEMORY=BYTES, CUDA_EMULATION_DEVICES=COUNT,
 * CUDA_EMULATION_LINKS=none, CUDA_EMULATION_KINDS=mixed, CUDA_EMULATION_FILLED=BYTES,
 * CUDA_EMULATION_START=MILLISECONDS. */
#ifndef EMULATION_H
#define EMULATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The order in which blocks run, and threads between two barriers. A kernel that forgot a barrier gives
   different bytes in different orders. */
enum emulation_order { EMULATION_FORWARD, EMULATION_REVERSED, EMULATION_SHUFFLED };

void emulation_set_order(enum emulation_order order, uint64_t seed);

/* Lazy streams do nothing until somebody waits for them, so that a missing wait shows as wrong bytes. Then a
   launch that fails while it runs says so where it is waited for, as on a GPU. */
void emulation_set_lazy_streams(bool lazy);

/* What every emulated device is. Kernels are said to be compiled for its compute capability; what is launched
   into a stream keeps to the capability and the multiprocessors that there were when the stream was created.
 */
struct emulation_device {
    int count;  /* of devices; 0 is a machine without one */
    int driver; /* the version of CUDA that it serves, 12000 for 12.0; 0 is a machine without one */
    int major, minor;
    int multiprocessors;
    int threads_per_block, threads_per_multiprocessor, blocks_per_multiprocessor;
    size_t shared_per_block;        /* without the opt-in */
    size_t shared_per_block_opt_in; /* with it */
    size_t shared_per_multiprocessor;
    int registers_per_block;
    int registers_per_thread; /* what every kernel is said to use */
    size_t l2_bytes;
    size_t memory_bytes; /* how much cudaMalloc gives altogether, of each */
    bool apart;          /* none of them can be given access to another's memory */
    bool mixed;          /* every second one has another name */
    size_t filled_bytes; /* of the last one's memory, which another process has */
    bool unlockable;     /* the last one cannot lock pages that others have allocated */
};

struct emulation_device emulation_get_device(void);
void emulation_set_device(const struct emulation_device *device);

/* The call-th call of the API or launch from now on, counted from 1, fails with a cudaError_t. 0 fails none.
   Calls that only ask for the last error are not counted. A release that fails so still releases. */
void emulation_fail_call(unsigned long long call, int error);

/* Whether the fault that was asked for has happened, and of which device. */
bool emulation_has_failed(void);
int emulation_failed_device(void);

/* Calls and launches since the last reset, and launches that ran to their end. */
unsigned long long emulation_calls(void);
unsigned long long emulation_launches(void);

/* What was allocated or created by this process and not given back: memory, streams, events. The same is
   checked when the process exits: what is left is listed on stderr and the status becomes
   EMULATION_LEAK_STATUS. */
size_t emulation_leaks(void);
#define EMULATION_LEAK_STATUS 97

/* The last complaint about a kernel, which also went to stderr; "" if there is none since the last reset. */
const char *emulation_complaint(void);

/* Everything as at the start of the process: memory, streams and events are gone, errors forgotten, switches
   as the environment says. */
void emulation_reset(void);

#ifdef __cplusplus
}
#endif

#endif
