/* The devices of programs that test runs: two GPUs of this machine, which share the planes of a run. */
#include "running_device.h"

const char *running_device = "cuda:0,1";

unsigned running_turns(void)
{
    return 1;
}

void running_vary(unsigned long run)
{
    running_device = run % 2 == 0 ? "cuda:0,1" : "cuda:1,0";
}
