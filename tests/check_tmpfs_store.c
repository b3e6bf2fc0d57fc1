/* Tests of stores through a mapping: any bytes at any place of a file, as far as it reaches, without a
 * signal. */
#include "base/fd_io.h"

#include "assertions.h"
#include "fixture.h"
#include "harness.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PATIENCE = 60, WINDOW = 2 << 20, ROOM = 3 * WINDOW };

static int file_in_memory(off_t length)
{
    int descriptor = memfd_create("mapped", MFD_CLOEXEC);

    ck_assert_int_ge(descriptor, 0);
    ck_assert_int_eq(ftruncate(descriptor, length), 0);
    return descriptor;
}

static unsigned char *some_bytes(size_t size)
{
    unsigned char *bytes = malloc(size);

    ck_assert_ptr_nonnull(bytes);
    for (size_t i = 0; i < size; i++)
        bytes[i] = (unsigned char)(i % 251 + 1);
    return bytes;
}

/* A sandbox may forbid the call that stores. */
static bool can_store(void)
{
    int descriptor = file_in_memory(1);
    bool can = fd_store_mapped(descriptor, 0, "a", 1) == 1;

    close(descriptor);
    return can;
}

static const struct {
    uint64_t offset;
    size_t size;
} stores[] = {{0, 1},        {0, ROOM},       {1, 1},           {4095, 2},
              {348, WINDOW}, {WINDOW - 1, 2}, {WINDOW, WINDOW}, {WINDOW - 1, WINDOW + 2},
              {ROOM - 1, 1}, {77, 0}};

START_TEST(bytes_come_to_their_place_and_no_other)
{
    const uint64_t offset = stores[_i].offset;
    const size_t size = stores[_i].size;
    unsigned char *bytes = some_bytes(size + 1), *found = calloc(1, ROOM), *wanted = calloc(1, ROOM);
    int descriptor = file_in_memory(ROOM);

    if (can_store()) {
        ck_assert_uint_eq(fd_store_mapped(descriptor, offset, bytes, size), size);
        memcpy(wanted + offset, bytes, size);
        ck_assert_int_eq(pread(descriptor, found, ROOM, 0), ROOM);
        ck_assert_int_eq(memcmp(found, wanted, ROOM), 0);
    }
    close(descriptor);
    free(bytes);
    free(found);
    free(wanted);
}
END_TEST

START_TEST(a_file_that_is_cut_short_takes_fewer)
{
    static const size_t lengths[] = {0, 4096, WINDOW, WINDOW + 4096};
    unsigned char *bytes = some_bytes(2 * WINDOW);

    for (size_t i = 0; can_store() && i < LENGTH(lengths); i++) {
        int descriptor = file_in_memory((off_t)lengths[i]);
        ck_assert_uint_eq(fd_store_mapped(descriptor, 0, bytes, 2 * WINDOW), lengths[i]);
        close(descriptor);
    }
    free(bytes);
}
END_TEST

START_TEST(what_cannot_be_mapped_takes_none)
{
    int ends[2];

    ck_assert_int_eq(pipe(ends), 0);
    ck_assert_uint_eq(fd_store_mapped(ends[1], 0, "a", 1), 0);
    ck_assert(!fd_prefers_mapping(ends[1], 4));
    close(ends[0]);
    close(ends[1]);
    ends[0] = file_in_memory(1);
    ck_assert(fd_prefers_mapping(ends[0], 4));
    ck_assert(!fd_prefers_mapping(ends[0], 3));
    close(ends[0]);
}
END_TEST

int main(void)
{
    TCase *mapped = tcase_create("mapped");

    tcase_add_loop_test(mapped, bytes_come_to_their_place_and_no_other, 0, LENGTH(stores));
    tcase_add_test(mapped, a_file_that_is_cut_short_takes_fewer);
    tcase_add_test(mapped, what_cannot_be_mapped_takes_none);
    return harness_run("mapped", &mapped, 1, PATIENCE);
}
