/* The CPU: each rung by each instruction set, alone and with threads. */
#include "fixture.h"
#include "harness.h"
#include "ways.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Starting threads takes longer than a small grid does, so a threaded way has fewer turns. */
#define THREADED_TURNS 16

#define RUNGS 3

/* Without FMA, each multiply-add is a call: the rungs share the trials, and one of them takes each. */
#define BASELINE_TURNS RUNGS

/* Its tiles are smaller than those of a GPU; a thinned run, as sanitizers make them, takes still fewer. */
#define LARGE_TURNS         8
#define LARGE_TURNS_THINNED 32

static const struct team {
    const char *isa; /* NULL: the fastest here, since a build need not have each */
    unsigned threads;
    const char *rung;
} teams[] = {{"baseline", 1, "naive"}, {"baseline", 1, "blocked"}, {"baseline", 1, "fused"},
             {"v3", 1, "naive"},       {"v3", 1, "blocked"},       {"v3", 1, "fused"},
             {"v4", 1, "naive"},       {"v4", 1, "blocked"},       {"v4", 1, "fused"},
             {"baseline", 2, NULL},    {NULL, 2, "fused"},         {NULL, 3, "blocked"},
             {"v3", 7, NULL},          {"baseline", 7, "naive"},   {"v4", 7, NULL}};

static struct way opened[LENGTH(teams)];
static size_t count;

const struct way *ways = opened;
const unsigned ways_patience = 600;

static void open_team(const struct team *team)
{
    const struct device_request request = {.threads = team->threads};
    struct way *way = &opened[count];
    struct fault fault;

    if (team->isa != NULL)
        setenv("VOXFILT_ISA", team->isa, 1);
    else
        unsetenv("VOXFILT_ISA");
    if (!backend_cpu.open(&way->device, &request, &fault)) {
        fixture_require(team->isa != NULL && strcmp(team->isa, "baseline") != 0, fault.text);
        return;
    }
    snprintf(way->name, sizeof way->name, "%s by %s with %u threads",
             team->rung != NULL ? team->rung : "its own choice",
             team->isa != NULL ? team->isa : "the fastest", team->threads);
    way->backend = &backend_cpu;
    way->rung = team->rung;
    way->turns = team->threads > 1 ? THREADED_TURNS : strcmp(team->isa, "baseline") == 0 ? BASELINE_TURNS : 1;
    way->of_large = harness_thinning() > 1 ? LARGE_TURNS_THINNED : LARGE_TURNS;
    way->of_own = 1;
    way->timed = getenv("VOXFILT_CONVERSION_TIME") != NULL && team->threads == 1 &&
                 strcmp(team->rung, "fused") == 0 && strcmp(team->isa, "baseline") != 0;
    count++;
}

/* Where vectors have two lengths, each takes every second trial of a rung: which one, follows from its place.
 */
static void share_trials(void)
{
    size_t alone = 0;

    for (size_t i = 0; i < count; i++)
        alone += opened[i].turns == 1;
    for (size_t i = 0; i < count && alone > RUNGS; i++) {
        if (opened[i].turns == 1)
            opened[i].turns = 2;
    }
}

size_t ways_open(void)
{
    for (size_t i = 0; i < LENGTH(teams); i++)
        open_team(&teams[i]);
    unsetenv("VOXFILT_ISA");
    share_trials();
    return count;
}

void ways_close(void)
{
    for (size_t i = 0; i < count; i++)
        backend_cpu.close(opened[i].device);
}

void ways_vary(uint64_t turn)
{
    (void)turn;
}
