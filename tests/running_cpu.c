/* The device of programs that test runs: the CPU. */
#include "running_device.h"

#include "harness.h"

const char *running_device = "cpu";

unsigned running_turns(void)
{
    return harness_thinning();
}

void running_vary(unsigned long run)
{
    (void)run;
}

void running_limit_memory(size_t bytes)
{
    (void)bytes;
}

void running_refuse_locks(bool refuse)
{
    (void)refuse;
}
