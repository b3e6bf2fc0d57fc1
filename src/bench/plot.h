/* Plots: rates as bars and the changes of --until as a curve, in an SVG file. */
#ifndef PLOT_H
#define PLOT_H

#include "base/diag.h"
#include "base/file_out.h"
#include "model/stage.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct plot_bar {
    char label[64];
    char missing[32]; /* printed instead of a value; empty: there is a value */
    double value;
    bool chosen; /* it differs from the others */
};

/* The elements drawn so far. */
struct svg {
    FILE *stream;
    char *text;
    size_t size;
    double width, height; /* as far as has been drawn, with a margin */
};

struct plot {
    struct file_out *file;
    struct svg svg;
    double top; /* of what is drawn next */

    /* Bars of the current chart. */
    struct plot_bar *bars;
    size_t count, capacity;
};

/* A file that cannot be written is refused here. */
bool plot_open(struct plot *plot, const char *path, struct fault *fault);

/* A chart of bars: those that are added until it ends. The line stands for a value that all are compared
   with. The bar is copied. False for want of memory, with a fault; the bars before it stay. */
bool plot_add_bar(struct plot *plot, const struct plot_bar *bar, struct fault *fault);
struct plot_chart {
    const char *title, *unit;
    const char *line_label, *chosen_label;
    double line; /* NAN: there is none */
};
void plot_end_bars(struct plot *plot, const struct plot_chart *chart);

/* The checks of --until: the change of each over the steps. */
struct plot_checks {
    const char *title;
    const struct convergence *convergence;
    double until;
    uint64_t steps; /* that were taken */
    bool unreached;
};
/* Nothing is drawn for a change that has no logarithm; a line of text counts those. */
void plot_draw_checks(struct plot *plot, const struct plot_checks *checks);

/* Write it all. Until here the file has no byte of it. Then it is complete, but has no name yet
   (base/file_set.h). */
bool plot_finish(struct plot *plot, struct fault *fault);

/* Whatever has been done so far, or failed; what was not committed is removed. */
void plot_close(struct plot *plot);

#endif
