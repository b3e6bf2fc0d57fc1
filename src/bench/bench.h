/* The bench: every rung of a device on one stage, compared with the CPU's bytes and then timed. */
#ifndef BENCH_H
#define BENCH_H

#include "base/diag.h"
#include "bench_case.h"

#include <stdbool.h>
#include <stdio.h>

/* Measure and print. Bytes are compared with the CPU's or, where the CPU is measured, with those of its
   plainest build on one thread; a row whose bytes differ carries no figure, and makes the bench fail. A rung
   that does not apply is no failure: its line says why. The request must stay until the call returns. */
bool bench_run(FILE *stream, const struct bench_request *request, struct fault *fault);

#endif
