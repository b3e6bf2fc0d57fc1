/* Tests of bytes that are moved whole, against a system that moves them as a script says: in pieces, after
 * interruptions, or not at all. */
#include "base/fd_io.h"

#include "assertions.h"
#include "fixture.h"
#include "harness.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PATIENCE = 20, SCRIPTED = 1 << 20, TURNS_MOST = 6, TEXT_SIZE = 26 };

static const char text[] = "abcdefghijklmnopqrstuvwxyz";

/* What the scripted descriptor does when it is asked: move so many bytes at the most, or fail for a reason
   that stands below zero. After the last turn it moves all. */
static long turns[TURNS_MOST];
static size_t turn_count, turns_taken;

/* Of the scripted file, of which so many bytes are there. */
static char content[TEXT_SIZE];
static size_t content_size, position;

static ssize_t take_turn(size_t size)
{
    const long turn = turns_taken < turn_count ? turns[turns_taken] : (long)size;

    turns_taken++;
    if (turn < 0) {
        errno = (int)-turn;
        return -1;
    }
    return (size_t)turn < size ? turn : (ssize_t)size;
}

static ssize_t store(const void *bytes, size_t size, size_t at)
{
    ssize_t count = take_turn(size);

    if (count > 0) {
        ck_assert_uint_le(at + (size_t)count, sizeof content);
        memcpy(content + at, bytes, (size_t)count);
    }
    return count;
}

/* ---- the system's calls, of which these stand before those of the library ---- */

ssize_t write(int descriptor, const void *bytes, size_t size)
{
    ssize_t count;

    if (descriptor != SCRIPTED)
        return syscall(SYS_write, descriptor, bytes, size);
    count = store(bytes, size, position);
    position += count > 0 ? (size_t)count : 0;
    return count;
}

ssize_t pwrite(int descriptor, const void *bytes, size_t size, off_t offset)
{
    ck_assert_int_eq(descriptor, SCRIPTED);
    return store(bytes, size, (size_t)offset);
}

ssize_t pread(int descriptor, void *bytes, size_t size, off_t offset)
{
    const size_t left = content_size - (size_t)offset;
    ssize_t count = take_turn(size < left ? size : left);

    ck_assert_int_eq(descriptor, SCRIPTED);
    if (count > 0)
        memcpy(bytes, content + offset, (size_t)count);
    return count;
}

/* ---- the tests ---- */

static void begin(const long *script, size_t count)
{
    memcpy(turns, script, count * sizeof *script);
    turn_count = count;
    turns_taken = position = 0;
    content_size = sizeof content;
    memset(content, 0, sizeof content);
}

static bool write_in_turn(void)
{
    return fd_write(SCRIPTED, text, TEXT_SIZE);
}

static bool write_at(void)
{
    return fd_write_at(SCRIPTED, 0, text, TEXT_SIZE);
}

static bool (*const writers[])(void) = {write_in_turn, write_at};

START_TEST(what_is_cut_or_interrupted_is_written_whole)
{
    static const long script[] = {1, -EINTR, 7, -EINTR, -EINTR, 2};

    begin(script, LENGTH(script));
    ck_assert(writers[_i]());
    ck_assert_mem_eq(content, text, TEXT_SIZE);
    ck_assert_uint_eq(turns_taken, LENGTH(script) + 1);
}
END_TEST

/* What takes nothing may never take more: to ask again could go on for ever. */
static const struct {
    long turn;
    int reason;
} failures[] = {{-EIO, EIO}, {0, ENOSPC}};

START_TEST(a_failure_is_told_at_once)
{
    for (size_t i = 0; i < LENGTH(failures); i++) {
        const long script[] = {3, failures[i].turn};
        begin(script, LENGTH(script));
        ck_assert(!writers[_i]());
        ck_assert_int_eq(errno, failures[i].reason);
        ck_assert_uint_eq(turns_taken, LENGTH(script));
    }
}
END_TEST

START_TEST(what_was_set_not_to_wait_is_awaited)
{
    static const long script[] = {-EAGAIN, 5, -EAGAIN};

    begin(script, LENGTH(script));
    ck_assert(write_in_turn());
    ck_assert_mem_eq(content, text, TEXT_SIZE);
}
END_TEST

START_TEST(reading_gets_all_that_there_is)
{
    static const long script[] = {1, -EINTR, 7};
    char bytes[TEXT_SIZE] = "";
    size_t got;

    begin(script, LENGTH(script));
    memcpy(content, text, TEXT_SIZE);
    ck_assert(fd_read_at(SCRIPTED, 2, bytes, 20, &got));
    ck_assert_uint_eq(got, 20);
    ck_assert_mem_eq(bytes, text + 2, 20);
    content_size = 10;
    ck_assert(fd_read_at(SCRIPTED, 4, bytes, 20, &got));
    ck_assert_uint_eq(got, 6);
    ck_assert_mem_eq(bytes, text + 4, 6);
}
END_TEST

START_TEST(reading_fails_with_its_reason)
{
    static const long script[] = {5, -EIO};
    char bytes[TEXT_SIZE];
    size_t got;

    begin(script, LENGTH(script));
    ck_assert(!fd_read_at(SCRIPTED, 0, bytes, TEXT_SIZE, &got));
    ck_assert_int_eq(errno, EIO);
    ck_assert_uint_eq(got, 5);
}
END_TEST

int main(void)
{
    TCase *descriptor = tcase_create("descriptor");

    tcase_add_loop_test(descriptor, what_is_cut_or_interrupted_is_written_whole, 0, LENGTH(writers));
    tcase_add_loop_test(descriptor, a_failure_is_told_at_once, 0, LENGTH(writers));
    tcase_add_test(descriptor, what_was_set_not_to_wait_is_awaited);
    tcase_add_test(descriptor, reading_gets_all_that_there_is);
    tcase_add_test(descriptor, reading_fails_with_its_reason);
    return harness_run("descriptor", &descriptor, 1, PATIENCE);
}
