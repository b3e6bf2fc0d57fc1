/* The device of programs that test runs: the GPU. */
#include "running.h"

const char *const running_device = "cuda";

void running_vary(unsigned long run)
{
    (void)run;
}
