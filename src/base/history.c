/* Histories: by how much a stage with --until changed the samples, look by look. */
#include "history.h"

#include "mem.h"

bool history_open(struct history *history, uint64_t most, struct fault *fault)
{
    *history = (struct history){.room = most < HISTORY_KEPT ? (size_t)most : HISTORY_KEPT};
    history->looks = mem_alloc(history->room, sizeof *history->looks, "the history", fault);
    return history->looks != NULL;
}

void history_add(struct history *history, uint64_t step, double change)
{
    history->looks[history->count % history->room] = (struct history_look){step, change};
    history->count++;
}

size_t history_kept(const struct history *history)
{
    return history->count < history->room ? (size_t)history->count : history->room;
}

struct history_look history_at(const struct history *history, size_t index)
{
    uint64_t first = history->count - history_kept(history);

    return history->looks[(first + index) % history->room];
}

void history_close(struct history *history)
{
    mem_free(history->looks);
    *history = (struct history){0};
}
