/* Tests of colour profiles: those of sRGB are known, whatever their version, and nothing else is. */
#include "png/icc.h"
#include "assertions.h"
#include "profile.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* In memory of just that size, where sanitizers and valgrind see who reads on. */
static bool is_srgb(const unsigned char *bytes, size_t size, enum icc_space space)
{
    unsigned char *copy = malloc(size);
    ck_assert(copy != NULL || size == 0);
    if (size > 0)
        memcpy(copy, bytes, size);
    bool is = icc_is_srgb(copy, size, space);
    free(copy);
    return is;
}

static bool recipe_is_srgb(const struct profile_recipe *recipe)
{
    unsigned char bytes[PROFILE_ROOM];
    size_t size = profile_make(recipe, bytes);
    bool is = is_srgb(bytes, size, recipe->gray ? ICC_GRAY : ICC_RGB);
    ck_assert(!is_srgb(bytes, size, recipe->gray ? ICC_RGB : ICC_GRAY));
    return is;
}

static const double display_p3[3][3] = {
    {0.51512, 0.2412, -0.00105}, {0.29198, 0.69225, 0.04189}, {0.1571, 0.06657, 0.78407}};
static const double srgb_swapped[3][3] = {
    {0.38515, 0.71687, 0.09708}, {0.43607, 0.22249, 0.01392}, {0.14307, 0.06061, 0.71410}};
static const double srgb_nearly[3][3] = {
    {0.43427, 0.22429, 0.01392}, {0.38515, 0.71687, 0.09708}, {0.14307, 0.06061, 0.71410}};
static const double srgb_not_quite[3][3] = {
    {0.43347, 0.22249, 0.01392}, {0.38515, 0.71687, 0.09708}, {0.14307, 0.06061, 0.71410}};

static const struct {
    const char *what;
    struct profile_recipe recipe;
    bool srgb;
} profiles[] = {
    {"version 2, a table of 1024",
     {.version = 2, .curve = PROFILE_TABLE, .entries = 1024, .white = {0.9505, 1.0, 1.0891}},
     true},
    {"version 2, adapted", {.version = 2, .curve = PROFILE_TABLE, .entries = 1024, .adapted = true}, true},
    {"version 4", {.version = 4, .curve = PROFILE_PARAMETERS, .adapted = true}, true},
    {"version 4, a table of 4096", {.version = 4, .curve = PROFILE_TABLE, .entries = 4096}, true},
    {"a table of 64", {.version = 2, .curve = PROFILE_TABLE, .entries = 64}, true},
    {"gray", {.version = 2, .gray = true, .curve = PROFILE_TABLE, .entries = 256}, true},
    {"gray, version 4", {.version = 4, .gray = true, .curve = PROFILE_PARAMETERS}, true},
    {"primaries almost 0.002 off", {.version = 4, .curve = PROFILE_PARAMETERS, .xyz = srgb_nearly}, true},
    {"a tag that nobody asks for", {.version = 4, .curve = PROFILE_PARAMETERS, .other_tag = "lumi"}, true},
    {"primaries 0.0027 off", {.version = 4, .curve = PROFILE_PARAMETERS, .xyz = srgb_not_quite}, false},
    {"primaries of Display P3", {.version = 4, .curve = PROFILE_PARAMETERS, .xyz = display_p3}, false},
    {"red and green the wrong way", {.version = 4, .curve = PROFILE_PARAMETERS, .xyz = srgb_swapped}, false},
    {"a gamma of 2.2", {.version = 2, .curve = PROFILE_GAMMA, .gamma = 2.2}, false},
    {"a gamma of 2.4", {.version = 2, .curve = PROFILE_GAMMA, .gamma = 2.4}, false},
    {"a linear curve", {.version = 2, .curve = PROFILE_IDENTITY}, false},
    {"a table of 8", {.version = 2, .curve = PROFILE_TABLE, .entries = 8}, false},
    {"gray of a gamma", {.version = 2, .gray = true, .curve = PROFILE_GAMMA, .gamma = 2.2}, false},
    {"white of D93",
     {.version = 2, .curve = PROFILE_TABLE, .entries = 1024, .white = {0.9531, 1.0, 1.4138}},
     false},
    {"version 5", {.version = 5, .curve = PROFILE_PARAMETERS}, false},
    {"a printer", {.version = 2, .curve = PROFILE_TABLE, .entries = 1024, .profile_class = "prtr"}, false},
    {"by way of Lab", {.version = 2, .curve = PROFILE_TABLE, .entries = 1024, .connection = "Lab "}, false},
    {"tables besides", {.version = 4, .curve = PROFILE_PARAMETERS, .other_tag = "A2B0"}, false},
    {"a tag twice", {.version = 4, .curve = PROFILE_PARAMETERS, .other_tag = "gXYZ"}, false},
    {"an adaptation that is none", {.version = 4, .curve = PROFILE_PARAMETERS, .other_tag = "chad"}, false},
};
enum { PROFILES = sizeof profiles / sizeof profiles[0] };

START_TEST(srgb_is_known_by_what_it_says)
{
    ck_assert_msg(recipe_is_srgb(&profiles[_i].recipe) == profiles[_i].srgb, "%s: %s", profiles[_i].what,
                  profiles[_i].srgb ? "not known" : "taken for sRGB");
}
END_TEST

START_TEST(adobe_rgb_is_not_srgb)
{
    ck_assert(!recipe_is_srgb(&profile_adobe));
}
END_TEST

static const struct profile_recipe *const whole[] = {&profile_srgb_v2, &profile_srgb_v4, &profile_gray};
enum { WHOLE = sizeof whole / sizeof whole[0] };

static enum icc_space space_of(const struct profile_recipe *recipe)
{
    return recipe->gray ? ICC_GRAY : ICC_RGB;
}

static void claim_size(unsigned char *bytes, size_t size)
{
    for (int i = 0; i < 4; i++)
        bytes[i] = (unsigned char)(size >> (24 - 8 * i));
}

/* Whether or not the header owns up to it. */
START_TEST(a_profile_cut_short_is_refused)
{
    unsigned char bytes[PROFILE_ROOM];
    size_t whole_size = profile_make(whole[_i], bytes);
    ck_assert(is_srgb(bytes, whole_size, space_of(whole[_i])));
    for (size_t size = 0; size < whole_size; size++) {
        claim_size(bytes, whole_size);
        ck_assert_msg(!is_srgb(bytes, size, space_of(whole[_i])), "%zu of %zu bytes", size, whole_size);
        claim_size(bytes, size);
        ck_assert_msg(!is_srgb(bytes, size, space_of(whole[_i])), "%zu of %zu bytes", size, whole_size);
    }
}
END_TEST

START_TEST(offsets_and_sizes_lead_nowhere)
{
    static const uint32_t wild[] = {0, 1, 5, 0x7fffffff, 0x80000000, 0xfffffff0, 0xffffffff};
    unsigned char bytes[PROFILE_ROOM], spoilt[PROFILE_ROOM];
    size_t size = profile_make(whole[_i], bytes), tags = bytes[131];
    for (size_t tag = 0; tag < tags; tag++)
        for (size_t field = 4; field <= 8; field += 4)
            for (size_t i = 0; i < sizeof wild / sizeof wild[0]; i++) {
                memcpy(spoilt, bytes, size);
                claim_size(spoilt + 132 + 12 * tag + field, wild[i]);
                ck_assert(!is_srgb(spoilt, size, space_of(whole[_i])));
            }
    for (size_t i = 0; i < sizeof wild / sizeof wild[0]; i++) {
        memcpy(spoilt, bytes, size);
        claim_size(spoilt + 128, wild[i]);
        ck_assert(!is_srgb(spoilt, size, space_of(whole[_i])));
    }
}
END_TEST

static unsigned next_random(uint32_t *seed)
{
    *seed = *seed * 1664525U + 1013904223U;
    return *seed >> 16;
}

/* For sanitizers: whatever it is taken for, nothing beyond it is read. */
START_TEST(any_bytes_are_looked_at_safely)
{
    enum { ROUNDS = 20000, SPOILT_MOST = 6, HEAD_BYTES = 400 };
    unsigned char bytes[PROFILE_ROOM], spoilt[PROFILE_ROOM];
    size_t size = profile_make(whole[_i], bytes), taken = 0;
    uint32_t seed = 9;
    for (int round = 0; round < ROUNDS; round++) {
        memcpy(spoilt, bytes, size);
        for (unsigned left = 1 + next_random(&seed) % SPOILT_MOST; left > 0; left--)
            spoilt[next_random(&seed) % (round % 2 == 0 ? size : HEAD_BYTES)] =
                (unsigned char)next_random(&seed);
        taken += is_srgb(spoilt, size, space_of(whole[_i]));
    }
    ck_assert_uint_lt(taken, ROUNDS);
}
END_TEST

static Suite *icc_suite(void)
{
    Suite *suite = suite_create("icc");
    TCase *profiles_case = tcase_create("profiles");
    tcase_set_timeout(profiles_case, 60);
    tcase_add_loop_test(profiles_case, srgb_is_known_by_what_it_says, 0, PROFILES);
    tcase_add_test(profiles_case, adobe_rgb_is_not_srgb);
    tcase_add_loop_test(profiles_case, a_profile_cut_short_is_refused, 0, WHOLE);
    tcase_add_loop_test(profiles_case, offsets_and_sizes_lead_nowhere, 0, WHOLE);
    tcase_add_loop_test(profiles_case, any_bytes_are_looked_at_safely, 0, WHOLE);
    suite_add_tcase(suite, profiles_case);
    return suite;
}

int main(void)
{
    SRunner *runner = srunner_create(icc_suite());
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
