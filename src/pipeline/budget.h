/* Budgets: memory and devices, shared by pipelines that run at the same time. */
#ifndef BUDGET_H
#define BUDGET_H

#include "plan/devices.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Memory and devices that pipelines share, and the queue of those who wait for them. */
struct budget {
    uint64_t memory;     /* bytes in all */
    size_t device_count; /* of those that pipelines take */

    /* Guarded by the mutex. */
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    uint64_t taken;           /* bytes */
    uint64_t arrived, served; /* claims, ever growing */
    bool devices_taken[DEVICES_MOST];
};

void budget_open(struct budget *budget, uint64_t memory, size_t device_count);
void budget_close(struct budget *budget);

/* Wait until this memory is free, or all there is where more is asked for, and take it: first come, first
   served, so that nobody waits for ever. Returns what was taken, to be returned. Without a budget (NULL)
   nothing is counted. */
uint64_t budget_claim(struct budget *budget, uint64_t bytes);
void budget_return(struct budget *budget, uint64_t bytes);

/* Each device is one pipeline's at a time: wait for one that is free, and take it. Returns which it is. */
size_t budget_take_device(struct budget *budget);
void budget_return_device(struct budget *budget, size_t device);

#endif
