/* Workshops: pieces of work at numbered places, which threads and their caller share. */
#include "workshop.h"

#include "belt.h"
#include "mem.h"
#include "pool.h"

/* Stations of the belt that places go round on. */
enum { PUTTING, WORKING, TAKING, STATIONS };

struct workshop {
    workshop_work *work;
    void *context;
    struct belt *belt;
    struct pool *pool;
    unsigned threads;
};

static void work_on(struct workshop *workshop, size_t place, unsigned worker)
{
    workshop->work(workshop->context, place, worker);
    belt_hand_on(workshop->belt, place);
}

static void run_thread(void *context, size_t first, size_t count, unsigned member)
{
    struct workshop *workshop = context;
    size_t place;

    (void)first;
    (void)count;
    while (belt_take(workshop->belt, WORKING, &place) == BELT_TAKEN)
        work_on(workshop, place, member);
}

bool workshop_open(struct workshop **result, size_t places, unsigned workers, workshop_work *work,
                   void *context, struct fault *fault)
{
    struct workshop *workshop = mem_zeroed(1, sizeof *workshop, "threads", fault);

    if (workshop == NULL)
        return false;
    workshop->work = work;
    workshop->context = context;
    if (!belt_create(&workshop->belt, places, STATIONS, fault) ||
        !pool_create(&workshop->pool, workers - 1, POOL_SMALL_STACKS, fault)) {
        workshop_close(workshop);
        return false;
    }
    workshop->threads = pool_start(workshop->pool, workers - 1, run_thread, workshop);
    *result = workshop;
    return true;
}

unsigned workshop_threads(const struct workshop *workshop)
{
    return workshop->threads;
}

bool workshop_claim(struct workshop *workshop, size_t *place)
{
    return belt_try(workshop->belt, PUTTING, place) == BELT_TAKEN;
}

void workshop_put(struct workshop *workshop, size_t place)
{
    belt_hand_on(workshop->belt, place);
}

size_t workshop_take(struct workshop *workshop)
{
    unsigned station;
    size_t place = 0;

    while (belt_take_any(workshop->belt, WORKING, TAKING, &station, &place) == BELT_TAKEN &&
           station == WORKING)
        work_on(workshop, place, 0);
    return place;
}

void workshop_vacate(struct workshop *workshop, size_t place)
{
    belt_hand_on(workshop->belt, place);
}

void workshop_close(struct workshop *workshop)
{
    if (workshop == NULL)
        return;
    if (workshop->pool != NULL) {
        belt_stop(workshop->belt);
        pool_join(workshop->pool);
    }
    pool_destroy(workshop->pool);
    belt_destroy(workshop->belt);
    mem_free(workshop);
}
