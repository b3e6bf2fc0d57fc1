/* The plot of a bench: a chart of bars for each table. */
#ifndef BENCH_PLOT_H
#define BENCH_PLOT_H

#include "bench_case.h"

#include <stdbool.h>

/* Nothing happens where no plot is asked for. */
bool bench_plot_row(struct bench_case *bench, const struct bench_row *row);
bool bench_plot_refusal(struct bench_case *bench, const char *rung);
void bench_plot_end(struct bench_case *bench);

#endif
