/* The samples and figures of one process, whatever the job, and however ranks divide it. */
#include "assertions.h"
#include "ranks_cases.h"
#include "ranks_run.h"

#include <stdio.h>
#include <stdlib.h>

static const char *const chains[] = {
    "-f heat -s 3",
    "-f gauss:0.7 -f unsharp:1,2",
    "-f bilateral:0.8,50 -s 2 --stats",
    "-f log:0.6 -f gradmag:0.5 -s 2 -f dog:0.4,0.7 --out-type f32",
    "-f median:1 -f max:2 -s 2 -f order:1,1,ball",
    "-f tophat:1 -f morphgrad:1 -s 2 -f blackhat:1,ball",
    "-f laplace --out-type f32 --stats",
    "-f identity --stats",
    "-f heat --flux pm2 --scale 900 -s 2 --stats",
    "-f star:4 -f scale:0.01,5 --crop 1:8,:,3:17",
    "-f gauss:1,0.5 --axes xy -f heat --axes z -s 2",
    "-f abs -f gauss:0.7 -f threshold:20,1,90 -f box:1 -f power:0.7 --stats",
    "--missing 7 -f gauss:0.7 -f heat -s 2 -f median:1 -f laplace --stats",
    "--mask mask -f gauss:0.7 -f heat -s 2 -f laplace --out-type f64 --stats",
};

static const enum sample_type types[] = {SAMPLE_U8, SAMPLE_I16, SAMPLE_F32, SAMPLE_F64};

START_TEST(edges_chains_and_types)
{
    enum sample_type type = types[(size_t)_i % LENGTH(types)];
    unsigned char *mask = fixture_mask(9 * 7 * 19, 5);
    char options[240];

    file_fill("mask", mask, 9 * 7 * 19);
    free(mask);
    for (size_t edge = 0; edge < EDGE_RULES; edge++) {
        snprintf(options, sizeof options, "-d 9,7,19 -t %s -e %s %s", sample_name(type), edge_option(edge),
                 chains[(size_t)_i / LENGTH(types)]);
        ranks_run_check(options, type, 9 * 7 * 19);
    }
}
END_TEST

static const struct job_case {
    const char *options;
    enum sample_type type;
    size_t samples;
} job_cases[] = {
    {"-d 4,3,1 -t u8", SAMPLE_U8, 12},
    {"-d 4,3,2 -t u8 --stats", SAMPLE_U8, 24},
    {"-d 5,5,7 -t u8 -e wrap -s 9 --stats", SAMPLE_U8, 175},
    {"-d 40,30 -t u16 -f gauss:2 --stats", SAMPLE_U16, 1200},
    {"-d 6,5,12 -t u8 --channels 3 -m 40K --stats", SAMPLE_U8, 1080},
    {"-d 21,15,30 -t f32 -s 5 --stats", SAMPLE_F32, 9450},
    {"-d 21,15,30 -t f32 --out-type u8 --stats", SAMPLE_F32, 9450},
    /* Parts of whole blocks, with ends that are not. */
    {"-d 300,300,41 -t u8 -f box:1", SAMPLE_U8, 3690000},
    {"-d 256,256,64 -t u8 -f box:1", SAMPLE_U8, 4194304},
    /* Headers, files beside them, and outputs that are compressed. */
    {"-d 21,15,30 -t u16 --out-format nrrd", SAMPLE_U16, 9450},
    {"-d 21,15,30 -t u16 --out-format nii", SAMPLE_U16, 9450},
    {"-d 21,15,30 -t u16 --out-format npy", SAMPLE_U16, 9450},
    {"-d 21,15,30 -t u16 --out-format tif", SAMPLE_U16, 9450},
    {"-d 21,15,30 -t u16 --out-format raw.gz", SAMPLE_U16, 9450},
    {"-d 21,15,30 -t u16 --out-format nii.gz --stats", SAMPLE_U16, 9450},
    {"-d 21,15,30 -t u16 --slice z=4", SAMPLE_U16, 9450},
    {"-d 21,15,30 -t u16 --slice y=4", SAMPLE_U16, 9450},
    {"-d 21,15,30 -t f32 --slice x=4", SAMPLE_F32, 9450},
    {"-d 21,15,30 -t u16 --planes 7:22 -s 4 -e wrap", SAMPLE_U16, 9450},
    {"-d 21,15,30 -t u16 --part 2/3", SAMPLE_U16, 9450},
    {"-d 21,15,30 -t u16 --endian big --out-endian little -f identity", SAMPLE_U16, 9450},
    /* What looks at all planes before it ends. */
    {"-d 9,9,9 -t u8 --until 2", SAMPLE_U8, 729},
    {"-d 9,9,29 -t u8 --until 2 --check-every 3 --stats", SAMPLE_U8, 2349},
    {"-d 9,9,9 --channels 3 -t f32 -e wrap --until 1e-9 -s 7", SAMPLE_F32, 2187},
    {"-d 9,9,9 -t u8 --out-range auto --stats", SAMPLE_U8, 729},
    {"-d 9,9,23 -t f64 -f laplace --until 0.01 --out-range auto", SAMPLE_F64, 1863},
    /* Many steps, halos wider than a share, and more planes than a level needs beside it. */
    {"-d 7,5,16 -t f32 -s 60 -e wrap", SAMPLE_F32, 560},
    {"-d 7,5,9 -t u16 -f star:8 -s 5 -f gauss:2", SAMPLE_U16, 315},
    {"-d 7,5,9 -t u16 -f gauss:3 -e wrap -s 2", SAMPLE_U16, 315},
    {"-d 5,5,130 -t u8 -f heat -s 23 -f unsharp:1,2", SAMPLE_U8, 3250},
    {"-d 7,5,40 -t u8 -s 11 --planes 30:39", SAMPLE_U8, 1400},
    {"-d 7,5,40 -t u8 -s 11 --slice z=2", SAMPLE_U8, 1400},
    /* Lines of samples that share a row of a preview, and are of two ranks or more. */
    {"-d 5,4,1300 -t u8 -f gauss:1 --work f64 --out-type f64 --preview p.png", SAMPLE_U8, 26000},
    {"-d 5,1300 -t u8 -f gauss:1 --work f64 --out-type f64 --stats --preview p.png", SAMPLE_U8, 6500},
    {"-d 5,4,9 -t u8 -f gauss:1 --work f64 --out-type f64 --preview p.png", SAMPLE_U8, 180},
    /* States on the way: the first and the last, and several at once; headers, outputs that are compressed,
       and both together. */
    {"-d 9,7,19 -t u8 -f gauss:1 -f heat -s 7 --tee 0:t0 --tee 3:t3 --tee 7:t7", SAMPLE_U8, 1197},
    {"-d 9,7,19 -t f32 -s 9 -e wrap --out-type u8 --tee 4:t4.nrrd --tee 4:t5.raw.gz --stats", SAMPLE_F32,
     1197},
    {"-d 40,30 -t u16 -s 5 --out-format raw.gz --tee 1:t1 --tee 0:t0.nii.gz", SAMPLE_U16, 1200},
    {"-d 21,15,30 -t u16 -s 4 -e hold --planes 7:22 --tee 2:t2 --tee 1:t1.nii.gz", SAMPLE_U16, 9450},
    {"-d 21,15,30 -t u16 -s 4 --crop 1:8,:,3:17 --tee 2:t2", SAMPLE_U16, 9450},
    {"-d 21,15,30 -t u16 -s 4 --slice y=4 --tee 2:t2.png --tee 3:t3.png", SAMPLE_U16, 9450},
    {"-d 21,15,30 -t u16 -f laplace -s 2 --part 2/3 --tee 1:t1", SAMPLE_U16, 9450},
    {"-d 9,7,19 -t u8 -f heat -e wrap -f gauss:1 -s 3 -e hold --tee 0:t0 --tee 2:t2", SAMPLE_U8, 1197},
    {"-d 9,7,19 -t f32 --channels 2 -f taps:wide.taps -s 4 --tee 3:t3 --tee 1:t1", SAMPLE_F32, 2394},
    {"-d 256,256,64 -t u8 -f box:1 -s 2 --tee 1:t1 --tee 0:t0.raw.gz", SAMPLE_U8, 4194304},
    /* Stages that wrap but read no other planes, or none but their own samples. */
    {"-d 9,9,11 -t u8 -f identity -e wrap -f heat -s 3 -e hold", SAMPLE_U8, 891},
    {"-d 9,9,11 -t u8 -f matrix:0,1,0;1,2,1;0,1,0/8 -e wrap -f heat -s 3 -e hold", SAMPLE_U8, 891},
    {"-d 9,9,11 -t u8 -f scale:2,1 -f identity -f heat -s 3 -e wrap", SAMPLE_U8, 891},
    /* What one rank computes. */
    {"-d 9,9,9 -t u8 -f gauss:1 -e wrap -f heat -e hold", SAMPLE_U8, 729},
};

/* More than what is emulated in a second. */
#define MANY_SAMPLES 1000

START_TEST(jobs)
{
    const struct job_case *job = &job_cases[_i];

    if (!ranks_run_on_gpus() || job->samples < MANY_SAMPLES)
        ranks_run_check(job->options, job->type, job->samples);
}
END_TEST

TCase *ranks_samples_case(void)
{
    TCase *tests = tcase_create("samples");

    tcase_add_loop_test(tests, jobs, 0, (int)LENGTH(job_cases));
    if (!ranks_run_on_gpus())
        tcase_add_loop_test(tests, edges_chains_and_types, 0, (int)(LENGTH(chains) * LENGTH(types)));
    return tests;
}
