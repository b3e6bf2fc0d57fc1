/* Tests of kernels through the seam, linked once for each kind of device: every filter, edge rule, work type
   and awkward extent gives the bytes of the reference, in every way that the device has. */
#include "fixture.h"
#include "kernels.h"
#include "seam.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXIT_SKIPPED 77

/* Tests stay in this process, where check's own time-out does not work. */
static void start_patience(void)
{
    alarm(ways_patience);
}

static void add_case(Suite *suite, TCase *tests)
{
    tcase_add_checked_fixture(tests, start_patience, NULL);
    suite_add_tcase(suite, tests);
}

static int run_suite(void)
{
    Suite *suite = suite_create("kernels");
    SRunner *runner = srunner_create(suite);
    int failed;

    add_case(suite, filters_case());
    add_case(suite, forms_case());
    add_case(suite, conversions_case());
    add_case(suite, sums_case());
    add_case(suite, service_case());
    /* A child of a process that has run OpenMP loops may not run one, nor one of a process that has used a
     * GPU. */
    srunner_set_fork_status(runner, CK_NOFORK);
    folder_enter();
    srunner_run_all(runner, CK_ENV);
    folder_leave();
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(void)
{
    const char *required = getenv("REQUIRE_GPU");
    int status;

    way_count = ways_open();
    if (way_count == 0)
        return required != NULL && strcmp(required, "1") == 0 ? EXIT_FAILURE : EXIT_SKIPPED;
    status = run_suite();
    ways_close();
    return status;
}
