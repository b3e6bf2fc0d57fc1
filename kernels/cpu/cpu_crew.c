/* Crews: the threads that share a loop over samples. */
#include "cpu_crew.h"

/* Shares of even turns a member: a thread that is held up leaves the rest to the others. */
#define EVEN_SHARES 4

struct loop {
    cpu_crew_work *work;
    void *context;
};

static void work_on(void *context, size_t first, size_t count, unsigned member)
{
    const struct loop *loop = context;

    loop->work(loop->context, (struct range){first, count}, member);
}

void cpu_crew_share(const struct cpu_crew *crew, size_t turns, size_t together, cpu_crew_work *work,
                    void *context)
{
    struct loop loop = {work, context};

    pool_share(crew->pool, crew->members, turns, together, work_on, &loop);
}

void cpu_crew_share_evenly(const struct cpu_crew *crew, size_t turns, cpu_crew_work *work, void *context)
{
    size_t shares = (size_t)crew->members * EVEN_SHARES;

    cpu_crew_share(crew, turns, turns / shares + 1, work, context);
}
