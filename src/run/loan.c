/* Loans: planes that ranks lend each other out of their spool files between passes. */
#include "loan.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/size.h"

/* On either side, a rank gets planes of two others at most, since a loan has no more planes than the
   smallest portion. For the same reason, it lends its own to two at most. */
#define MESSAGES_MOST 8

/* Planes that go from one rank to another, by their numbers in the spool file. */
struct loan {
    size_t from, to;
    struct range planes;
    unsigned char *samples; /* in a buffer of this rank, which sends or gets them */
};

/* All that a rank lends and gets before a leg. */
struct loans {
    const struct run *run;
    struct shares portions; /* as the leg counts planes */
    size_t reach;           /* of all its levels together */
    struct stop out_of, into;
    unsigned char *buffer;
    size_t used; /* bytes of it */
    struct loan list[MESSAGES_MOST];
    struct peers_message messages[MESSAGES_MOST];
    size_t count;
    bool fine; /* nothing has failed here */
};

bool loan_is_due(const struct run *run)
{
    return run->plan->portions.count > 1;
}

/* ---- who lends what to whom ---- */

static void add_loan(struct loans *loans, struct loan loan)
{
    size_t own = loans->portions.first, bytes = loan.planes.count * loans->into.plane_bytes;

    if (loan.from == loan.to || (loan.from != own && loan.to != own))
        return;
    loan.samples = loans->buffer + loans->used;
    loans->used += bytes;
    loans->messages[loans->count] = (struct peers_message){.peer = loan.from == own ? loan.to : loan.from,
                                                           .incoming = loan.to == own,
                                                           .bytes = loan.samples,
                                                           .size = bytes};
    loans->list[loans->count++] = loan;
}

/* The planes at such a distance from a rank's own, on both sides. All ranks take them in the same order,
   so each lends planes to few others at a time. */
static void list_loans(struct loans *loans, size_t near, size_t far)
{
    loans->count = loans->used = 0;
    for (size_t to = 0; to < loans->portions.count; to++) {
        struct shares_walk walk = shares_walk_start(&loans->portions, to, near, far);
        while (shares_walk_next(&walk)) {
            struct range planes = walk.parcel.planes;
            planes.first -= shares_overlap(&loans->portions);
            add_loan(loans, (struct loan){.from = walk.parcel.from, .to = to, .planes = planes});
        }
    }
}

/* ---- what is lent ---- */

/* Out of this rank's spool file if it lends them, into it if not. */
static void carry(struct loans *loans, const struct stop *stop, bool lends)
{
    for (size_t i = 0; loans->fine && i < loans->count; i++) {
        const struct loan *loan = &loans->list[i];
        if ((loan->from == loans->portions.first) == lends)
            loans->fine =
                stop->carrier.move(stop->carrier.file, loan->samples, loan->planes, loans->run->fault);
    }
}

/* Nearest planes first. A rank that fails goes on trading whatever its buffer holds, so that no other
   waits for planes that never come. */
static bool exchange(struct loans *loans)
{
    struct peers *peers = loans->run->peers;
    size_t at_once = loans->run->plan->schedule.loan;

    for (size_t near = 0, far; near < loans->reach; near = far) {
        far = near + size_least(at_once, loans->reach - near);
        list_loans(loans, near, far);
        carry(loans, &loans->out_of, true);
        if (!peers_start_messages(peers, loans->messages, loans->count, loans->run->fault) ||
            !peers_wait_for_messages(peers, loans->run->fault))
            return false;
        carry(loans, &loans->into, false);
    }
    return true;
}

static bool open_buffer(struct loans *loans)
{
    const struct schedule *schedule = &loans->run->plan->schedule;

    loans->buffer = mem_alloc(schedule->loan, SCHEDULE_LOAN_PLANES * loans->into.plane_bytes,
                              "planes of other ranks", loans->run->fault);
    return loans->buffer != NULL;
}

/* What all levels of a leg read on either side. A grid that is gone around has no more planes than it has. */
static size_t reach_of(const struct run *run, const struct route_leg *leg)
{
    const struct levels_walk survey = levels_survey(&run->plan->levels, leg->begin, leg->end);

    return size_least(leg->overlap > 0 ? leg->overlap : survey.level.lag, run->plan->shape.planes);
}

bool loan_planes(struct run *run, struct stops *stops, const struct route_leg *leg)
{
    struct loans loans = {.run = run,
                          .portions = run->plan->portions,
                          .reach = reach_of(run, leg),
                          .out_of = stops_from(stops, leg->from),
                          .fine = true};
    double begun = clock_seconds(), seconds;
    bool done;

    if (leg->from == ROUTE_SOURCE || loans.reach == 0)
        return true;
    loans.into = stops_to(stops, leg->from);
    loans.portions.around = leg->overlap > 0;
    loans.portions.halo = leg->overlap;
    done = peers_agree(run->peers, open_buffer(&loans), run->fault) && exchange(&loans) &&
           peers_agree(run->peers, loans.fine, run->fault);
    mem_free(loans.buffer);
    seconds = clock_seconds() - begun;
    run->seconds.read += seconds;
    run->seconds.reading += seconds;
    return done;
}

/* ---- changes ---- */

static size_t own_values(const struct run *run)
{
    const struct shares *portions = &run->plan->portions;

    return shares_own(portions, portions->first).count * run->job->in.grid.channels;
}

double *loan_changes(const struct run *run, size_t steps)
{
    return mem_zeroed(steps, own_values(run) * sizeof(double), "the sums", run->fault);
}

/* Sums that come about at rank 0. */
struct adding {
    size_t steps, channels;
    double *sums;
};

static bool add_portion(void *data, const void *bytes, size_t size, struct fault *fault)
{
    const struct adding *adding = data;
    const double *changes = bytes;
    size_t values = size / sizeof *changes / adding->steps;

    (void)fault;
    for (size_t step = 0; step < adding->steps; step++) {
        double *sums = adding->sums + step * adding->channels;
        for (size_t i = 0; i < values; i++)
            sums[i % adding->channels] += changes[step * values + i];
    }
    return true;
}

bool loan_add_up(const struct run *run, const double *changes, size_t steps, double *sums)
{
    size_t channels = run->job->in.grid.channels;
    struct adding adding = {steps, channels, sums};

    return peers_gather(run->peers, changes, steps * own_values(run) * sizeof *changes, add_portion, &adding,
                        run->fault) &&
           peers_broadcast(run->peers, sums, steps * channels * sizeof *sums, run->fault);
}
