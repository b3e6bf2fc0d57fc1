/* Budgets: memory and devices, shared by pipelines that run at the same time.

   Each pipeline has a thread of its own, which waits here until there is memory for its run. Claims are
   served in the order in which they came, so that many small ones never keep a large one waiting for ever.
   All threads wait for one condition, and whatever is returned wakes all of them. */
#include "budget.h"

void budget_open(struct budget *budget, uint64_t memory, size_t device_count)
{
    *budget = (struct budget){.memory = memory, .device_count = device_count};
    pthread_mutex_init(&budget->mutex, NULL);
    pthread_cond_init(&budget->changed, NULL);
}

void budget_close(struct budget *budget)
{
    pthread_mutex_destroy(&budget->mutex);
    pthread_cond_destroy(&budget->changed);
}

uint64_t budget_claim(struct budget *budget, uint64_t bytes)
{
    uint64_t wanted, ticket;

    if (budget == NULL)
        return 0;
    wanted = bytes < budget->memory ? bytes : budget->memory;
    pthread_mutex_lock(&budget->mutex);
    ticket = budget->arrived++;
    while (budget->served != ticket || wanted > budget->memory - budget->taken)
        pthread_cond_wait(&budget->changed, &budget->mutex);
    budget->served++;
    budget->taken += wanted;
    pthread_cond_broadcast(&budget->changed);
    pthread_mutex_unlock(&budget->mutex);
    return wanted;
}

void budget_return(struct budget *budget, uint64_t bytes)
{
    if (budget == NULL)
        return;
    pthread_mutex_lock(&budget->mutex);
    budget->taken -= bytes;
    pthread_cond_broadcast(&budget->changed);
    pthread_mutex_unlock(&budget->mutex);
}

/* The first that is free; as many as there are where none is. */
static size_t free_device(const struct budget *budget)
{
    size_t device = 0;

    while (device < budget->device_count && budget->devices_taken[device])
        device++;
    return device;
}

size_t budget_take_device(struct budget *budget)
{
    size_t device;

    pthread_mutex_lock(&budget->mutex);
    while ((device = free_device(budget)) == budget->device_count)
        pthread_cond_wait(&budget->changed, &budget->mutex);
    budget->devices_taken[device] = true;
    pthread_mutex_unlock(&budget->mutex);
    return device;
}

void budget_return_device(struct budget *budget, size_t device)
{
    pthread_mutex_lock(&budget->mutex);
    budget->devices_taken[device] = false;
    pthread_cond_broadcast(&budget->changed);
    pthread_mutex_unlock(&budget->mutex);
}
