/* Options of how stages are computed: device, rung and its form, threads, memory. */
#include "option_values.h"

#include "base/limits.h"
#include "base/number.h"
#include "base/suggest.h"
#include "parsing.h"

#include <stdio.h>
#include <string.h>

bool option_work(struct parsing *parsing, const char *value)
{
    int work;

    if (!parsing_read_choice(parsing, value, &work))
        return false;
    parsing->options->job.has_work = true;
    parsing->options->job.work = (enum work_type)work;
    return true;
}

bool option_device(struct parsing *parsing, const char *value)
{
    parsing->options->plan.device = value;
    return true;
}

static bool is_of_sums(const char *name)
{
    for (size_t i = 0; devices_backends[i] != NULL; i++) {
        for (const struct rung *rung = devices_backends[i]->sum_rungs; rung->name != NULL; rung++) {
            if (strcmp(rung->name, name) == 0)
                return true;
        }
    }
    return false;
}

bool option_rung(struct parsing *parsing, const char *value)
{
    struct plan_request *plan = &parsing->options->plan;

    parsing->wish = is_of_sums(value) ? &plan->sums : &plan->wish;
    if (parsing->wish->rung != NULL && strcmp(parsing->wish->rung, value) != 0)
        return fault_raise_about(parsing->fault, STATUS_USAGE, value, "%s is already requested",
                                 parsing->wish->rung);
    parsing->wish->rung = value;
    return true;
}

static bool read_pair(const char *value, uint64_t *first, uint64_t *second)
{
    char number[32];
    const char *cross = strchr(value, 'x');
    size_t length = cross == NULL ? strlen(value) : (size_t)(cross - value);

    if (length >= sizeof number)
        return false;
    memcpy(number, value, length);
    number[length] = '\0';
    *second = 0;
    return number_parse_count(number, first) && *first > 0 && *first <= MOST_TILE &&
           (cross == NULL || (number_parse_count(cross + 1, second) && *second > 0 && *second <= MOST_TILE));
}

/* "32,8" as read_pair takes it. */
static const char *meant_pair(const char *value, char *meant, size_t size)
{
    uint64_t first, second;

    return read_pair(suggest_separator(value, 'x', meant, size), &first, &second) ? meant : NULL;
}

/* Take two counts, or one; then the second is 0. The form is what a refusal names as expected. */
static bool option_pair(struct parsing *parsing, const char *value, const char *form, unsigned *first,
                        unsigned *second)
{
    uint64_t counts[2];
    char meant[64], expected[96];

    if (!read_pair(value, &counts[0], &counts[1])) {
        snprintf(expected, sizeof expected, "%s, whole numbers from 1 to " TEXT(MOST_TILE), form);
        return parsing_refuse_for(parsing, value, expected, meant_pair(value, meant, sizeof meant));
    }
    *first = (unsigned)counts[0];
    *second = (unsigned)counts[1];
    return true;
}

bool option_tile(struct parsing *parsing, const char *value)
{
    struct rung_wish *wish = parsing->wish;
    bool taken = option_pair(parsing, value, "W or WxH", &wish->tile_x, &wish->tile_y);

    if (taken && wish->tile_y == 0)
        wish->tile_y = wish->tile_x;
    return taken;
}

bool option_coarsen(struct parsing *parsing, const char *value)
{
    return option_pair(parsing, value, "N or NxS", &parsing->wish->coarsen, &parsing->wish->stride);
}

bool option_threads(struct parsing *parsing, const char *value)
{
    uint64_t threads;

    if (!number_parse_count(value, &threads) || threads == 0 || threads > MOST_THREADS)
        return parsing_refuse(parsing, value, "a whole number from 1 to " TEXT(MOST_THREADS));
    parsing->options->plan.threads = (unsigned)threads;
    return true;
}

bool option_memory(struct parsing *parsing, const char *value)
{
    if (!number_parse_bytes(value, &parsing->options->plan.memory) || parsing->options->plan.memory == 0)
        return parsing_refuse(parsing, value, "a count of bytes above 0, with K, M, G or T");
    return true;
}
