/* The device of programs that test runs: an emulated GPU. */
#include "running.h"

#include "emulation.h"

const char *const running_device = "cuda";

/* Streams that do at once what they are asked, and such that do nothing before somebody waits for it. */
void running_vary(unsigned long run)
{
    emulation_set_lazy_streams(run % 2 == 1);
}
