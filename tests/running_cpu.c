/* The device of programs that test runs: the CPU. */
#include "running.h"

const char *const running_device = "cpu";

void running_vary(unsigned long run)
{
    (void)run;
}
