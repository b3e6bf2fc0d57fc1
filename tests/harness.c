/* The program of a suite whose tests stay in one process: a device that the parent has opened is of no use to
   a child, where its threads are not, nor its GPU. */
#include "harness.h"

#include "fixture.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

unsigned harness_thinning(void)
{
    const char *wanted = getenv("VOXFILT_THIN");
    unsigned long thinning = wanted != NULL ? strtoul(wanted, NULL, 10) : 1;

    fixture_require(thinning >= 1 && thinning <= 100, "VOXFILT_THIN is none of 1 to 100");
    return (unsigned)thinning * (SANITIZED ? 4 : 1);
}

/* Mixed, so that counting through the sides of a set leaves none of them out. */
bool harness_has_turn(uint64_t number, unsigned turns)
{
    number = (number ^ number >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    number = (number ^ number >> 27) * UINT64_C(0x94d049bb133111eb);
    return (number >> 32) % turns == 0;
}

bool harness_takes(uint64_t number)
{
    return harness_has_turn(number, harness_thinning());
}

static unsigned seconds_a_test;

static void start_patience(void)
{
    alarm(seconds_a_test);
}

int harness_run(const char *name, TCase *const cases[], size_t count, unsigned patience)
{
    Suite *suite = suite_create(name);
    SRunner *runner = srunner_create(suite);
    int failed;

    seconds_a_test = patience;
    for (size_t i = 0; i < count; i++) {
        tcase_add_checked_fixture(cases[i], start_patience, NULL);
        suite_add_tcase(suite, cases[i]);
    }
    srunner_set_fork_status(runner, CK_NOFORK);
    folder_enter();
    srunner_run_all(runner, CK_ENV);
    folder_leave();
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

int harness_without_device(void)
{
    const char *required = getenv("REQUIRE_GPU");

    return required != NULL && strcmp(required, "1") == 0 ? EXIT_FAILURE : HARNESS_SKIPPED;
}
