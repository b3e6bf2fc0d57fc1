/* Tests of what becomes of a command when a GPU fails under it: each call of CUDA in turn, on the emulated
 * GPU. */
#include "cli/command.h"
#include "kernels/backend.h"
#include "assertions.h"
#include "emulation.h"
#include "fixture.h"
#include "harness.h"
#include "running.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* cudaError_t: out of memory, an illegal address, an unspecified launch failure, an unknown error. */
enum { OUT_OF_MEMORY = 2, ILLEGAL_ADDRESS = 700, LAUNCH_FAILURE = 719, UNKNOWN = 999 };

#define ABSENT "--device: cuda:0,1,2: " /* while it is not known yet what GPUs there are */

#define EXIT_NO_FAULT 96 /* the command needed fewer calls, and is done */

/* Whether several GPUs share the volume. */
static bool is_of_fleet(const char *words)
{
    return strstr(words, "-D cuda:0,1,2") != NULL;
}

struct fate {
    int status;
    size_t lines; /* on standard error */
    char gpu[16]; /* as its line begins; "cuda" where there is one alone */
    char text[1000];
};

/* As many as the words name, which reach each other or do not. */
static void have_gpus(const char *words, unsigned long long call)
{
    struct emulation_device device = emulation_get_device();

    device.count = is_of_fleet(words) ? 3 : 1;
    device.apart = call / 2 % 2 == 1;
    emulation_set_device(&device);
}

/* For whoever looks at the process: which GPU the call that failed was of. */
static void leave_gpu(void)
{
    FILE *file = fopen("gpu", "wb");

    if (file == NULL)
        _exit(EXIT_FAILURE);
    fprintf(file, "cuda:%d: ", emulation_failed_device());
    fclose(file);
}

static _Noreturn void be_command(const char *words, unsigned long long call, int error)
{
    struct command command;
    int status;

    command_parse(&command, PROGRAM_VOXFILT, words);
    if (freopen("stderr", "wb", stderr) == NULL)
        _exit(EXIT_FAILURE);
    emulation_set_lazy_streams((call + (unsigned)error) % 2 == 1);
    have_gpus(words, call);
    emulation_fail_call(call, error);
    status = command_main(command.argc, command.argv);
    command_free(&command);
    if (is_of_fleet(words))
        leave_gpu();
    exit(status == 0 && call != 0 && !emulation_has_failed() ? EXIT_NO_FAULT : status);
}

static void note_gpu(struct fate *fate, const char *words)
{
    unsigned char *text;
    size_t size;

    snprintf(fate->gpu, sizeof fate->gpu, "cuda");
    if (!is_of_fleet(words))
        return;
    text = file_content("gpu", &size);
    snprintf(fate->gpu, sizeof fate->gpu, "%.*s", (int)size, (char *)text);
    free(text);
    unlink("gpu");
}

/* The command in a process of its own, which fails with EMULATION_LEAK_STATUS if it leaves anything on the
 * GPU. */
static struct fate run_failing(const char *words, unsigned long long call, int error)
{
    struct fate fate = {.lines = 0};
    unsigned char *text;
    size_t size;
    int status;
    pid_t child;

    unlink("out");
    child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0)
        be_command(words, call, error);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFEXITED(status), "%s: signal %d", words, WTERMSIG(status));
    fate.status = WEXITSTATUS(status);
    text = file_content("stderr", &size);
    for (size_t i = 0; i < size; i++)
        fate.lines += text[i] == '\n';
    snprintf(fate.text, sizeof fate.text, "%.*s", (int)size, (char *)text);
    free(text);
    note_gpu(&fate, words);
    return fate;
}

static void ck_output(const void *wanted, size_t size, const char *words, unsigned long long call)
{
    size_t got_size;
    unsigned char *got = file_content("out", &got_size);

    ck_assert_uint_eq(got_size, size);
    ck_assert_msg(memcmp(got, wanted, size) == 0, "%s: bytes differ after call %llu failed", words, call);
    free(got);
}

/* Either the fault did not matter and the bytes are right, or there is a status, one line, and no output. */
static bool ck_fate(const struct fate *fate, int error, const char *words, unsigned long long call,
                    const void *wanted, size_t size)
{
    int refusal = error == OUT_OF_MEMORY ? STATUS_LIMIT : STATUS_DEVICE;

    if (fate->status == 0 || fate->status == EXIT_NO_FAULT) {
        ck_output(wanted, size, words, call);
        return false;
    }
    ck_assert_msg(fate->status == refusal || fate->status == STATUS_DEVICE, "%s, call %llu: status %d: %s",
                  words, call, fate->status, fate->text);
    ck_assert_msg(fate->lines == 1 &&
                      (strstr(fate->text, fate->gpu) != NULL || strstr(fate->text, ABSENT) != NULL),
                  "%s, call %llu: %s", words, call, fate->text);
    ck_assert(!file_exists("out"));
    return true;
}

/* Something to filter, and what the GPU makes of it where nothing fails. */
static unsigned char *good_output(const char *words, enum sample_type type, size_t samples, size_t *size)
{
    unsigned char *in = fixture_memory(samples, sample_size(type));
    struct fate fate;

    fill_samples(FILL_RANDOM, type, in, samples, 1);
    file_fill("in", in, samples * sample_size(type));
    free(in);
    fate = run_failing(words, 0, 0);
    ck_assert_msg(fate.status == 0, "%s: %s", words, fate.text);
    return file_content("out", size);
}

static const char *const jobs[] = {
    "-i in -o out -n 6 -q -D cuda -f heat -s 5",
    "-i in -o out -d 6,9,4 -q -D cuda -t u8 -f gauss:1 -f unsharp:1,0.5 -e constant:3 --stats",
    "-i in -o out -d 12,18 -q -D cuda -t u8 -f heat --until 18 -s 9 --check-every 1",
    "-i in -o out -d 12,18 -q -D cuda -t u8 -f heat -s 3 -m 6K",
    "-i in -o out -d 12,18 -q -D cuda:0,1,2 -t u8 -f heat -s 5 -e wrap",
    "-i in -o out -d 12,18 -q -D cuda:0,1,2 -t u8 -f sobel:y --tee 0:/dev/null --stats",
};

/* The kinds of errors: those that pass with the call, one of which has a status of its own, and those that
   stay for all calls to come. */
static const int errors[][2] = {{UNKNOWN, OUT_OF_MEMORY}, {ILLEGAL_ADDRESS, LAUNCH_FAILURE}};

/* Each call fails by each kind, so twice and not four times: the two of a kind take turns. Turns are of four
   calls, which have eager and lazy streams, and GPUs that reach each other and that do not. */
START_TEST(every_call_can_fail)
{
    const char *words = jobs[_i / (int)LENGTH(errors)];
    const int *kind = errors[_i % (int)LENGTH(errors)];
    const unsigned thinning = harness_thinning(); /* each call fails in a process of its own */
    size_t size, files, failures = 0;
    unsigned char *wanted = good_output(words, SAMPLE_U8, _i / (int)LENGTH(errors) == 0 ? 864 : 216, &size);
    struct fate fate = {.status = 0};

    files = folder_count();
    for (unsigned long long call = 1 + (unsigned)_i % thinning; fate.status != EXIT_NO_FAULT;
         call += thinning) {
        int error = kind[call / 4 % 2];
        fate = run_failing(words, call, error);
        failures += ck_fate(&fate, error, words, call, wanted, size);
        ck_assert_uint_eq(folder_count(), files - !file_exists("out"));
    }
    ck_assert_uint_gt(failures, 20 / thinning);
    free(wanted);
}
END_TEST

/* As much for one thread to do, for all that is known before, that the GPU is taken unasked. */
#define AUTO_JOB "-n 24 -t f64 -j 1 -f heat -s 90000 --until 1e-6 --check-every 5000 -o out"

/* The CPU does what a GPU that was not asked for leaves undone, and says so in one line. */
START_TEST(automatic_devices_are_replaced)
{
    const unsigned thinning = harness_thinning();
    size_t size;
    unsigned char *wanted = good_output("-i in -D cpu " AUTO_JOB, SAMPLE_F64, (size_t)24 * 24 * 24, &size);
    size_t replaced = 0;

    for (unsigned long long call = 2; call < 40; call += 8 * thinning) {
        struct fate fate = run_failing("-i in -D auto " AUTO_JOB, call, ILLEGAL_ADDRESS);
        ck_assert_msg(fate.status == 0, "call %llu: status %d: %s", call, fate.status, fate.text);
        ck_output(wanted, size, AUTO_JOB, call);
        replaced += fate.lines == 1 && strstr(fate.text, "; computing on the CPU") != NULL;
    }
    ck_assert_uint_gt(replaced, 2 / thinning);
    free(wanted);
}
END_TEST

/* Forms of every rung and of every way to add are asked for, as --explain and --bench do. */
static void settle_all(const struct device *device, const struct op *op, const struct shape *shape)
{
    struct fault refusal;
    struct form form;

    for (const struct rung *rung = backend_cuda.rungs; rung->name != NULL; rung++) {
        const struct rung_wish wish = {.rung = rung->name};
        (void)backend_cuda.settle(device, op, shape, &wish, &form, &refusal);
    }
    for (const struct rung *rung = backend_cuda.sum_rungs; rung->name != NULL; rung++) {
        const struct rung_wish wish = {.rung = rung->name};
        ck_assert(backend_cuda.settle_sums(device, shape, op->work, &wish, &form, &refusal));
    }
}

/* Asking costs nothing: no memory, no launch. What is prepared then takes what its form says. */
START_TEST(forms_cost_nothing)
{
    static struct op_tap taps[] = {{0, 0, -1, 0.5}, {0, 0, 1, 0.5}};
    const struct op op = {.kind = OP_TAPS,
                          .work = WORK_F32,
                          .channels = 1,
                          .tap_count = LENGTH(taps),
                          .taps = taps,
                          .plane = {-1, 1},
                          .inner = 1};
    const struct shape shape = {.nx = 64, .rows = 48, .planes = 20, .channels = 1};
    const struct device_request request = {.index = 0};
    const struct rung_wish any = {.rung = NULL};
    struct emulation_device small = emulation_get_device();
    unsigned long long launches;
    struct routine *routine;
    struct device *device;
    struct fault fault;
    struct form form;
    size_t held;

    ck_assert(backend_cuda.open(&device, &request, &fault));
    held = emulation_leaks();
    launches = emulation_launches();
    settle_all(device, &op, &shape);
    ck_assert_uint_eq(emulation_leaks(), held);
    ck_assert_uint_eq(emulation_launches(), launches);
    small.memory_bytes = 0;
    emulation_set_device(&small);
    ck_assert(backend_cuda.settle(device, &op, &shape, &any, &form, &fault));
    ck_assert(!backend_cuda.prepare(device, &form, &routine, &fault));
    ck_assert_int_eq(fault.status, STATUS_LIMIT);
    backend_cuda.close(device);
    emulation_reset();
}
END_TEST

int main(void)
{
    TCase *tests = tcase_create("faults");

    tcase_add_loop_test(tests, every_call_can_fail, 0, (int)(LENGTH(errors) * LENGTH(jobs)));
    tcase_add_test(tests, automatic_devices_are_replaced);
    tcase_add_test(tests, forms_cost_nothing);
    return running_suite("faults", tests);
}
