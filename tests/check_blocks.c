/* Tests of where ranks write in a file that they share: a block has one writer. */
#include "base/file_set.h"
#include "pipeline/targets.h"
#include "run/output.h"
#include "assertions.h"
#include "fixture.h"
#include "harness.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATIENCE 60

/* ---- in an output ---- */

/* A rank that is not the first writes only whole blocks of its bytes itself. */
static void check_fringe(uint64_t begin_at, uint64_t end_at, uint64_t first, uint64_t last)
{
    unsigned char *bytes = fixture_memory((size_t)(end_at - begin_at), 1), *written;
    struct file_out *file;
    struct output_fringe fringe;
    struct fault fault;
    size_t size = 0, wrong = 0;

    memset(bytes, 7, (size_t)(end_at - begin_at));
    ck_assert(file_out_open(&file, "blocks", &fault));
    ck_assert(output_fringe_open(&fringe, file, begin_at, end_at, false, &fault));
    for (uint64_t at = begin_at; at < end_at; at += size) {
        size = end_at - at < 100001 ? (size_t)(end_at - at) : 100001;
        ck_assert(output_fringe_write(&fringe, at, bytes + (at - begin_at), size, &fault));
    }
    output_fringe_close(&fringe);
    ck_assert(file_set_commit_one(file, &fault));
    written = file_content("blocks", &size);
    ck_assert_uint_eq(size, last > first ? last : 0);
    for (size_t i = 0; i < size; i++)
        wrong += written[i] != (i >= first ? 7 : 0);
    ck_assert_uint_eq(wrong, 0);
    free(written);
    free(bytes);
    file_out_close(file);
    unlink("blocks");
}

START_TEST(a_rank_writes_whole_blocks)
{
    const uint64_t block = OUTPUT_BLOCK;

    check_fringe(0, block, 0, block);
    check_fringe(5, 3 * block + 5, block, 3 * block);
    check_fringe(block, 2 * block + 1, block, 2 * block);
    check_fringe(1, 2 * block - 1, 0, 0);
    check_fringe(block - 1, block + 1, 0, 0);
    check_fringe(17, 18, 0, 0);
}
END_TEST

/* ---- in a spool ---- */

/* Each rank has blocks of its own there, in which its planes of one output follow those of another. */
static void check_reservoir(size_t planes, size_t members, enum split_kind kind, size_t outputs)
{
    const struct header header = {.grid = grid_make(3, 100, 77, planes), .type = SAMPLE_U8, .volumes = 1};
    const struct split split = {.kind = kind, .members = members};
    struct job job = {.in = header, .out = header, .written = header};
    const struct joint_spool spool = {.job = &job, .split = &split, .outputs = outputs};
    uint64_t end = 0;
    size_t found = 0;

    job.region = (struct region){.count = {100, 77, planes}};
    job.planes = (struct range){0, planes};
    job.written_planes = 1;
    for (size_t member = 0; member < members; member++) {
        split_apply(&split, member, &job);
        end = (end + OUTPUT_BLOCK - 1) / OUTPUT_BLOCK * OUTPUT_BLOCK;
        for (size_t i = 0; i < outputs; i++) {
            const struct sink sink = joint_spool_sink(&spool, i);
            ck_assert(sink.samples.apart);
            ck_assert_uint_eq(sink.samples.begin, end);
            end += job.window.count * header_plane_bytes(&header);
        }
        found += job.window.count;
    }
    ck_assert_uint_eq(found, planes);
}

START_TEST(ranks_have_blocks_of_their_own)
{
    for (size_t planes = 1; planes < 500; planes = 3 * planes + 1) {
        for (size_t members = 1; members <= 7 && members <= planes; members++) {
            check_reservoir(planes, members, SPLIT_PARTS, 1);
            check_reservoir(planes, members, SPLIT_SHARES, 2);
            check_reservoir(planes, members, SPLIT_SHARES, 900);
        }
    }
}
END_TEST

int main(void)
{
    TCase *blocks = tcase_create("blocks");

    tcase_add_test(blocks, a_rank_writes_whole_blocks);
    tcase_add_test(blocks, ranks_have_blocks_of_their_own);
    return harness_run("blocks", &blocks, 1, PATIENCE);
}
