/* Teams: the threads that share the loops of a device, and sleep between them. */
#include "cpu_team.h"

#include "base/mem.h"
#include "base/thread.h"

#include <stdatomic.h>

/* Shares of even turns a member: a thread that is held up leaves the rest to the others. */
#define EVEN_SHARES 4

struct loop {
    cpu_team_work *work;
    void *context;
    size_t turns, together;
};

struct member {
    struct cpu_team *team;
    pthread_t thread;
    unsigned number;
};

struct cpu_team {
    pthread_mutex_t mutex;
    pthread_cond_t called, left;
    struct member *members; /* the caller is the first, and has no thread here */
    unsigned started, most;
    uint64_t calls;
    unsigned invited; /* members below may join the loop; 0: it is over */
    unsigned busy;    /* in the loop beside the caller */
    bool ends;
    struct loop loop;
    atomic_size_t next; /* turn that nobody has taken */
};

static void take_turns(struct cpu_team *team, const struct loop *loop, unsigned member)
{
    size_t first;

    while ((first = atomic_fetch_add(&team->next, loop->together)) < loop->turns) {
        size_t left = loop->turns - first;
        struct range turns = {first, left < loop->together ? left : loop->together};
        loop->work(loop->context, turns, member);
    }
}

/* Under the mutex: until there is a loop that the member has not seen; false at the end. */
static bool wait_for_call(const struct member *member, uint64_t *seen)
{
    struct cpu_team *team = member->team;

    while (!team->ends && (team->calls == *seen || member->number >= team->invited))
        pthread_cond_wait(&team->called, &team->mutex);
    *seen = team->calls;
    return !team->ends;
}

static void *serve(void *argument)
{
    const struct member *member = argument;
    struct cpu_team *team = member->team;
    uint64_t seen = 0;

    pthread_mutex_lock(&team->mutex);
    while (wait_for_call(member, &seen)) {
        struct loop loop = team->loop;
        team->busy++;
        pthread_mutex_unlock(&team->mutex);
        take_turns(team, &loop, member->number);
        pthread_mutex_lock(&team->mutex);
        if (--team->busy == 0)
            pthread_cond_signal(&team->left);
    }
    pthread_mutex_unlock(&team->mutex);
    return NULL;
}

bool cpu_team_create(struct cpu_team **result, unsigned most, struct fault *fault)
{
    struct cpu_team *team = mem_zeroed(1, sizeof *team, "threads", fault);

    if (team == NULL)
        return false;
    team->members = mem_zeroed(most, sizeof *team->members, "threads", fault);
    if (team->members == NULL) {
        mem_free(team);
        return false;
    }
    pthread_mutex_init(&team->mutex, NULL);
    pthread_cond_init(&team->called, NULL);
    pthread_cond_init(&team->left, NULL);
    team->most = most;
    team->started = 1;
    *result = team;
    return true;
}

void cpu_team_destroy(struct cpu_team *team)
{
    if (team == NULL)
        return;
    pthread_mutex_lock(&team->mutex);
    team->ends = true;
    pthread_cond_broadcast(&team->called);
    pthread_mutex_unlock(&team->mutex);
    for (unsigned i = 1; i < team->started; i++)
        pthread_join(team->members[i].thread, NULL);
    pthread_cond_destroy(&team->left);
    pthread_cond_destroy(&team->called);
    pthread_mutex_destroy(&team->mutex);
    mem_free(team->members);
    mem_free(team);
}

static void start_members(struct cpu_team *team, unsigned wanted)
{
    while (team->started < wanted && team->started < team->most) {
        struct member *member = &team->members[team->started];
        *member = (struct member){.team = team, .number = team->started};
        if (!thread_start_roomy(&member->thread, serve, member))
            return;
        team->started++;
    }
}

static void invite(struct cpu_team *team, const struct loop *loop, unsigned members)
{
    pthread_mutex_lock(&team->mutex);
    team->loop = *loop;
    atomic_store(&team->next, 0);
    team->calls++;
    team->invited = members;
    pthread_cond_broadcast(&team->called);
    pthread_mutex_unlock(&team->mutex);
}

/* Who has not come by now need not come. */
static void wait_for_members(struct cpu_team *team)
{
    pthread_mutex_lock(&team->mutex);
    team->invited = 0;
    while (team->busy > 0)
        pthread_cond_wait(&team->left, &team->mutex);
    pthread_mutex_unlock(&team->mutex);
}

void cpu_team_share(const struct cpu_crew *crew, size_t turns, size_t together, cpu_team_work *work,
                    void *context)
{
    const struct loop loop = {work, context, turns, together};

    if (crew->members == 1 || turns <= together) {
        work(context, (struct range){0, turns}, 0);
        return;
    }
    start_members(crew->team, crew->members);
    invite(crew->team, &loop, crew->members);
    take_turns(crew->team, &loop, 0);
    wait_for_members(crew->team);
}

void cpu_team_share_evenly(const struct cpu_crew *crew, size_t turns, cpu_team_work *work, void *context)
{
    size_t shares = (size_t)crew->members * EVEN_SHARES;

    cpu_team_share(crew, turns, turns / shares + 1, work, context);
}
