/* Tests of runs by several ranks, which are threads here: the samples and the figures of one process, for any
   number of them; and an end at all of them, with one line, where one fails. */
#include "fixture.h"
#include "harness.h"
#include "ranks_cases.h"
#include "ranks_run.h"

#include <stdlib.h>

#define PATIENCE 300 /* seconds that a test may take */

/* A GPU in emulation is slow: it shows that ranks have one each, and what they hand over. */
static int run_on_gpus(void)
{
    TCase *const cases[] = {ranks_samples_case(), ranks_devices_case(), ranks_faults_case()};

    return harness_run("ranks on GPUs", cases, LENGTH(cases), PATIENCE);
}

static int run_on_processors(void)
{
    TCase *const cases[] = {ranks_samples_case(), ranks_devices_case(), ranks_splits_case(),
                            ranks_links_case(),   ranks_streams_case(), ranks_faults_case(),
                            ranks_refusals_case()};

    return harness_run("ranks", cases, LENGTH(cases), PATIENCE);
}

int main(void)
{
    setenv("CUDA_EMULATION_DEVICES", "3", 1);
    return ranks_run_on_gpus() ? run_on_gpus() : run_on_processors();
}
