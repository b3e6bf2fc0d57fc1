/* What becomes of samples between files and fields, counted by threads side by side. */

struct counters {
    atomic_uint_least64_t strays, nans, below, above;
};

static void add_to_counters(struct counters *counters, const struct outcomes *outcomes)
{
    atomic_fetch_add(&counters->strays, outcomes->strays);
    atomic_fetch_add(&counters->nans, outcomes->nans);
    atomic_fetch_add(&counters->below, outcomes->below);
    atomic_fetch_add(&counters->above, outcomes->above);
}

static void add_counters(struct outcomes *outcomes, struct counters *counters)
{
    outcomes->strays += atomic_load(&counters->strays);
    outcomes->nans += atomic_load(&counters->nans);
    outcomes->below += atomic_load(&counters->below);
    outcomes->above += atomic_load(&counters->above);
}

/* The ranks of extremes; 0 where there is none yet. The least has the greatest complement. */
struct peaks {
    atomic_uint_least64_t least, greatest;
};

static void raise_peak(atomic_uint_least64_t *peak, uint64_t rank)
{
    uint_least64_t seen = atomic_load(peak);

    while (seen < rank && !atomic_compare_exchange_weak(peak, &seen, rank))
        ;
}

static void add_to_peaks(struct peaks *peaks, double least, double greatest)
{
    raise_peak(&peaks->least, ~arith_rank_f64(least));
    raise_peak(&peaks->greatest, arith_rank_f64(greatest));
}

static void add_peaks(struct extremes *extremes, struct peaks *peaks)
{
    double least, greatest;

    if (atomic_load(&peaks->greatest) == 0)
        return;
    least = arith_ranked_f64(~atomic_load(&peaks->least));
    greatest = arith_ranked_f64(atomic_load(&peaks->greatest));
    extremes->least = extremes->any && extremes->least < least ? extremes->least : least;
    extremes->greatest = extremes->any && extremes->greatest > greatest ? extremes->greatest : greatest;
    extremes->any = true;
}
