/* The table that a bench prints, as text or as JSON, and its rows as bars of a plot where one is asked for.
 */
#ifndef BENCH_TABLE_H
#define BENCH_TABLE_H

#include "base/diag.h"
#include "bench_case.h"
#include "bench_fleet.h"

#include <stdbool.h>

/* A table is a head, rows in the order of measuring, the fastest row, rows of several devices, and an end.
   JSON has rows alone, as objects of one array that bench_run closes. A row, or the name of a rung that was
   refused, also becomes a bar of the plot; only for want of memory for that do these two return false. */
void bench_table_head(struct bench_case *bench);
bool bench_table_row(struct bench_case *bench, const struct bench_row *row);
bool bench_table_refusal(struct bench_case *bench, const char *rung, const struct fault *refusal);
void bench_table_best(struct bench_case *bench);

/* The fastest on this many devices; without a row, their shares would be too small. */
void bench_table_fleet(struct bench_case *bench, const struct bench_fleet_row *row, size_t count);
/* Ends the plot's chart as well, since its axis needs the greatest value of all rows. */
void bench_table_end(struct bench_case *bench);

/* The line for a whole step of a stage, behind the tables of its operations. */
void bench_table_whole(struct bench_case *bench, const struct bench_whole *whole);

#endif
