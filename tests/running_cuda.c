/* The device of programs that test runs: the GPU. */
#include "running_device.h"

const char *running_device = "cuda";

unsigned running_turns(void)
{
    return 1;
}

void running_vary(unsigned long run)
{
    (void)run;
}
