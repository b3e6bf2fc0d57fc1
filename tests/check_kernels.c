/* Tests of kernels through the seam, linked once for each kind of device: every filter, edge rule, work type
   and awkward extent gives the bytes of the reference, in every way that the device has. */
#include "fixture.h"
#include "harness.h"
#include "kernels.h"
#include "seam.h"
#include "ways.h"

int main(void)
{
    TCase *const cases[] = {filters_case(), fluxes_case(),      forms_case(), windows_case(),
                            volumes_case(), conversions_case(), sums_case(),  service_case()};
    int status;

    way_count = ways_open();
    status = way_count == 0 ? harness_without_device()
                            : harness_run("kernels", cases, LENGTH(cases), ways_patience);
    ways_close();
    return status;
}
