/* The table that a bench prints, as text or as JSON, and its rows as bars of a plot where one is asked for.
 */
#ifndef BENCH_TABLE_H
#define BENCH_TABLE_H

#include "base/diag.h"
#include "bench_case.h"
#include "bench_fleet.h"

#include <stdbool.h>

void bench_table_head(struct bench_case *bench);
bool bench_table_row(struct bench_case *bench, const struct bench_row *row);
bool bench_table_refusal(struct bench_case *bench, const char *rung, const struct fault *refusal);
void bench_table_best(struct bench_case *bench);

/* The fastest on so many devices; without a row, their shares would be too small. */
void bench_table_fleet(struct bench_case *bench, const struct bench_fleet_row *row, size_t count);
void bench_table_end(struct bench_case *bench);

/* What a step of a stage takes, behind the tables of its operations. */
void bench_table_whole(struct bench_case *bench, const struct bench_whole *whole);

#endif
