/* Plots: rates as bars and the changes of --until as a curve, in an SVG file.

   Elements are printed into memory as they are drawn, and the extents of the picture grow with them: only
   when all is drawn the head of the file, which states the extents, can be written. Letters are taken to be
   of one width, so that text can be placed without a font. */
#include "plot.h"

#include "base/mem.h"
#include "base/number.h"
#include "format/foreign_type.h"
#include "format/format.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Pixels. */
#define LETTER         7.9 /* all texts are of one size, in letters of one width: so their lengths are known */
#define LINE           20.0 /* from one line of text to the next */
#define MARGIN         16.0
#define LEFT           16.0
#define PLOT_WIDTH     480.0
#define CURVE_HEIGHT   280.0
#define BAR_HEIGHT     14.0
#define TICK           5.0
#define GAP            8.0
#define DECADE_LETTERS 6 /* of the label of a power of ten: "1e-300" */

/* Up to this many checks have a dot each. */
#define DOTS_MOST 60

/* Distinct for people who see few colours, too. */
static const char ink[] = "#222222", faint[] = "#dddddd", grey[] = "#666666", plain[] = "#0072b2",
                  chosen[] = "#e69f00", line_colour[] = "#d55e00";

/* ---- boxes, lines and texts, in a drawing whose height is known when it is finished ---- */

enum anchor { START, MIDDLE, END };

/* Every element goes through here, so that the picture becomes as large as what is drawn on it. */
static void reach(struct svg *svg, double x, double y)
{
    svg->width = x + MARGIN > svg->width ? x + MARGIN : svg->width;
    svg->height = y + MARGIN > svg->height ? y + MARGIN : svg->height;
}

static void svg_box(struct svg *svg, double x, double y, double width, double height, const char *colour)
{
    reach(svg, x + width, y + height);
    fprintf(svg->stream, "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"%s\"/>\n", x, y,
            width, height, colour);
}

static void svg_line(struct svg *svg, double x1, double y1, double x2, double y2, const char *colour,
                     bool dashed)
{
    reach(svg, x1, y1);
    reach(svg, x2, y2);
    fprintf(svg->stream,
            "<line x1=\"%.2f\" y1=\"%.2f\" x2=\"%.2f\" y2=\"%.2f\" stroke=\"%s\" stroke-width=\"%s\"%s/>\n",
            x1, y1, x2, y2, colour, dashed ? "2" : "1", dashed ? " stroke-dasharray=\"6 4\"" : "");
}

static void svg_dot(struct svg *svg, double x, double y, const char *colour)
{
    reach(svg, x, y);
    fprintf(svg->stream, "<circle cx=\"%.2f\" cy=\"%.2f\" r=\"3\" fill=\"%s\"/>\n", x, y, colour);
}

static void svg_curve_point(struct svg *svg, double x, double y, bool more)
{
    reach(svg, x, y);
    fprintf(svg->stream, "%s%.2f,%.2f", more ? " " : "<polyline points=\"", x, y);
}

static void svg_curve_end(struct svg *svg, const char *colour)
{
    fprintf(svg->stream, "\" fill=\"none\" stroke=\"%s\" stroke-width=\"2\"/>\n", colour);
}

/* Three letters mean something in XML. Anything but ASCII would have a width that is not known. */
static void put_letter(FILE *stream, char letter)
{
    if (letter == '<' || letter == '>')
        fputs(letter == '<' ? "&lt;" : "&gt;", stream);
    else if (letter == '&')
        fputs("&amp;", stream);
    else
        fputc(letter >= ' ' && letter <= '~' ? letter : '?', stream);
}

/* The width counts for what stands to the right of the anchor; nothing is drawn left of the margin. */
static void svg_text(struct svg *svg, double x, double y, enum anchor anchor, const char *text,
                     const char *colour)
{
    static const char *const anchors[] = {"start", "middle", "end"};
    double width = (double)strlen(text) * LETTER;

    reach(svg, anchor == END ? x : anchor == MIDDLE ? x + width / 2.0 : x + width, y);
    fprintf(svg->stream, "<text x=\"%.2f\" y=\"%.2f\" text-anchor=\"%s\" fill=\"%s\">", x, y, anchors[anchor],
            colour);
    for (; *text != '\0'; text++)
        put_letter(svg->stream, *text);
    fputs("</text>\n", svg->stream);
}

static bool svg_write(struct svg *svg, FILE *stream)
{
    if (fflush(svg->stream) != 0)
        return false;
    fprintf(
        stream,
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" "
        "font-family=\"DejaVu Sans Mono, Liberation Mono, Menlo, Consolas, monospace\" font-size=\"13\">\n"
        "<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n",
        svg->width, svg->height, svg->width, svg->height);
    fwrite(svg->text, 1, svg->size, stream);
    fputs("</svg>\n", stream);
    return !ferror(stream);
}

/* ---- a plot ---- */

bool plot_open(struct plot *plot, const char *path, struct fault *fault)
{
    *plot = (struct plot){.top = 1.5 * LINE};
    plot->svg.stream = open_memstream(&plot->svg.text, &plot->svg.size);
    if (plot->svg.stream == NULL) {
        fault_raise(fault, STATUS_LIMIT, "there is no memory for it");
    } else if (file_out_open(&plot->file, path, fault)) {
        if (format_of_name(path) != NULL || foreign_type_of_name(path) != NULL)
            diag_note("--plot: %s: SVG is written, despite the name", path);
        return true;
    }
    plot->file = NULL;
    plot_close(plot);
    return fault_prefix(fault, "--plot");
}

void plot_close(struct plot *plot)
{
    if (plot->svg.stream != NULL)
        fclose(plot->svg.stream);
    free(plot->svg.text);
    mem_free(plot->bars);
    if (plot->file != NULL)
        file_out_close(plot->file);
    *plot = (struct plot){.file = NULL};
}

/* The head, which states the extents, goes before the elements in a second stream in memory, so that the file
   gets everything in one piece. */
static bool write_text(struct plot *plot, struct fault *fault)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    bool written = stream != NULL && svg_write(&plot->svg, stream);

    if (stream != NULL)
        written = fclose(stream) == 0 && written;
    if (written)
        written = file_out_write(plot->file, text, size, fault);
    else
        fault_raise(fault, STATUS_LIMIT, "there is no memory for it");
    free(text);
    return written;
}

bool plot_finish(struct plot *plot, struct fault *fault)
{
    return (write_text(plot, fault) && file_out_complete(plot->file, fault)) || fault_prefix(fault, "--plot");
}

/* ---- axes ---- */

/* 1, 2 or 5 times a power of ten: at most six of them make the value. */
static double tick_of(double most, bool whole)
{
    double least = whole ? fmax(1.0, most / 6.0) : most / 6.0, power = pow(10.0, floor(log10(least)));

    return least <= power         ? power
           : least <= 2.0 * power ? 2.0 * power
           : least <= 5.0 * power ? 5.0 * power
                                  : 10.0 * power;
}

/* Along the bottom, from 0 to the first tick that is not below the most; returns that. */
static double end_of_axis(double most, bool whole)
{
    double tick = most > 0.0 ? tick_of(most, whole) : 1.0;

    /* A value on a tick must not get another tick because division rounded up. */
    return tick * fmax(1.0, ceil(most / tick - 1e-9));
}

static void draw_axis(struct plot *plot, double left, double top, double bottom, double end, bool whole,
                      const char *unit)
{
    double tick = tick_of(end, whole);
    char text[32];

    for (double value = 0.0; value <= end * (1.0 + 1e-9); value += tick) {
        double x = left + value / end * PLOT_WIDTH;
        svg_line(&plot->svg, x, top, x, bottom + TICK, faint, false);
        snprintf(text, sizeof text, "%.6g", value);
        svg_text(&plot->svg, x, bottom + TICK + 0.7 * LINE, MIDDLE, text, ink);
    }
    svg_line(&plot->svg, left, bottom, left + PLOT_WIDTH, bottom, ink, false);
    svg_text(&plot->svg, left + PLOT_WIDTH / 2.0, bottom + TICK + 1.7 * LINE, MIDDLE, unit, ink);
}

/* ---- bars ---- */

bool plot_add_bar(struct plot *plot, const struct plot_bar *bar, struct fault *fault)
{
    struct plot_bar *bars =
        mem_grow(plot->bars, plot->count, &plot->capacity, sizeof *bars, "the plot", fault);

    if (bars == NULL)
        return false;
    plot->bars = bars;
    plot->bars[plot->count++] = *bar;
    return true;
}

/* The measures of a chart of bars: room for the longest label, an axis up to the greatest value, a key. */
struct bars {
    double labels, most;
    bool chosen; /* one of them is */
};

static struct bars measure_bars(const struct plot *plot, const struct plot_chart *chart)
{
    struct bars bars = {.most = isnan(chart->line) ? 0.0 : chart->line};

    for (size_t i = 0; i < plot->count; i++) {
        const struct plot_bar *bar = &plot->bars[i];
        bars.labels = fmax(bars.labels, (double)strlen(bar->label) * LETTER);
        bars.most = bar->missing[0] == '\0' ? fmax(bars.most, bar->value) : bars.most;
        bars.chosen |= bar->chosen;
    }
    return bars;
}

static void draw_bar(struct plot *plot, const struct plot_bar *bar, double left, double y, double end)
{
    char value[32];

    svg_text(&plot->svg, left - GAP, y + BAR_HEIGHT - 3.0, END, bar->label, ink);
    if (bar->missing[0] != '\0') {
        svg_text(&plot->svg, left + PLOT_WIDTH + GAP, y + BAR_HEIGHT - 3.0, START, bar->missing, grey);
        return;
    }
    svg_box(&plot->svg, left, y, bar->value / end * PLOT_WIDTH, BAR_HEIGHT, bar->chosen ? chosen : plain);
    snprintf(value, sizeof value, "%.4g", bar->value);
    svg_text(&plot->svg, left + PLOT_WIDTH + GAP, y + BAR_HEIGHT - 3.0, START, value, ink);
}

/* The meaning of each colour, on a line. */
static double draw_key(struct plot *plot, const struct plot_chart *chart, bool any_chosen, double y)
{
    if (any_chosen) {
        svg_box(&plot->svg, LEFT, y - 10.0, 24.0, 10.0, chosen);
        svg_text(&plot->svg, LEFT + 32.0, y, START, chart->chosen_label, ink);
        y += LINE;
    }
    if (!isnan(chart->line)) {
        svg_line(&plot->svg, LEFT, y - 5.0, LEFT + 24.0, y - 5.0, line_colour, true);
        svg_text(&plot->svg, LEFT + 32.0, y, START, chart->line_label, ink);
        y += LINE;
    }
    return y;
}

void plot_end_bars(struct plot *plot, const struct plot_chart *chart)
{
    const struct bars bars = measure_bars(plot, chart);
    double left = LEFT + bars.labels + GAP, end = end_of_axis(bars.most, false), top, bottom;

    svg_text(&plot->svg, LEFT, plot->top, START, chart->title, ink);
    top = draw_key(plot, chart, bars.chosen, plot->top + 1.2 * LINE);
    bottom = top + (double)plot->count * LINE;
    draw_axis(plot, left, top, bottom, end, false, chart->unit);
    for (size_t i = 0; i < plot->count; i++)
        draw_bar(plot, &plot->bars[i], left, top + (double)i * LINE + (LINE - BAR_HEIGHT) / 2.0, end);
    if (!isnan(chart->line)) {
        double x = left + chart->line / end * PLOT_WIDTH;
        svg_line(&plot->svg, x, top, x, bottom, line_colour, true);
    }
    plot->top = bottom + 4.0 * LINE;
    plot->count = 0;
}

/* ---- the checks of --until ---- */

/* Whether a value has a place on a scale of powers of ten. */
static bool is_drawn(const struct convergence_check *check)
{
    return check->change > 0.0 && isfinite(check->change);
}

/* Powers of ten, as their exponents. */
struct decades {
    double low, high;
};

static struct decades decades_of(const struct plot_checks *checks)
{
    struct decades decades = {log10(checks->until), log10(checks->until)};

    for (size_t i = 0; i < convergence_kept(checks->convergence); i++) {
        struct convergence_check check = convergence_at(checks->convergence, i);
        if (is_drawn(&check)) {
            decades.low = fmin(decades.low, log10(check.change));
            decades.high = fmax(decades.high, log10(check.change));
        }
    }
    /* The line of --until does not lie on the axis. */
    decades.low = ceil(decades.low) - 1.0;
    decades.high = ceil(decades.high);
    return decades;
}

static double height_of(const struct decades *decades, double value, double bottom)
{
    return bottom - (log10(value) - decades->low) / (decades->high - decades->low) * CURVE_HEIGHT;
}

static void draw_decades(struct plot *plot, const struct decades *decades, double left, double bottom)
{
    /* Some eight lines at most, so that labels keep their distance however many powers of ten there are. */
    double stride = fmax(1.0, ceil((decades->high - decades->low) / 8.0));
    char text[32];

    for (double exponent = decades->low; exponent <= decades->high; exponent += stride) {
        double y = bottom - (exponent - decades->low) / (decades->high - decades->low) * CURVE_HEIGHT;
        svg_line(&plot->svg, left - TICK, y, left + PLOT_WIDTH, y, faint, false);
        snprintf(text, sizeof text, "1e%g", exponent);
        svg_text(&plot->svg, left - GAP, y + 4.0, END, text, ink);
    }
    svg_line(&plot->svg, left, bottom - CURVE_HEIGHT, left, bottom, ink, false);
}

static void draw_points(struct plot *plot, const struct plot_checks *checks, const struct decades *decades,
                        double left, double bottom, double end)
{
    size_t count = convergence_kept(checks->convergence), drawn = 0;

    /* Dots are drawn after the whole curve, so that they lie on top of it. */
    for (int dots = 0; dots < (count <= DOTS_MOST ? 2 : 1); dots++) {
        for (size_t i = 0; i < count; i++) {
            struct convergence_check check = convergence_at(checks->convergence, i);
            double x = left + (double)check.step / end * PLOT_WIDTH;
            if (!is_drawn(&check))
                continue;
            if (dots > 0)
                svg_dot(&plot->svg, x, height_of(decades, check.change, bottom), plain);
            else
                svg_curve_point(&plot->svg, x, height_of(decades, check.change, bottom), drawn++ > 0);
        }
        if (dots == 0 && drawn > 0)
            svg_curve_end(&plot->svg, plain);
    }
}

/* A line at the left edge; returns where the next one is. */
static double put_line(struct plot *plot, double y, const char *text)
{
    svg_text(&plot->svg, LEFT, y, START, text, ink);
    return y + LINE;
}

/* How it ended, and what the curve leaves out. */
static double draw_words(struct plot *plot, const struct plot_checks *checks, double y)
{
    const struct convergence *convergence = checks->convergence;
    size_t kept = convergence_kept(convergence), drawn = 0;
    char text[160];

    for (size_t i = 0; i < kept; i++) {
        struct convergence_check check = convergence_at(convergence, i);
        drawn += is_drawn(&check);
    }
    y = put_line(plot, y, checks->title);
    if (kept == 0)
        snprintf(text, sizeof text, "no step was checked");
    else
        snprintf(text, sizeof text, "%s after %llu step%s: the last change is %.4g",
                 checks->unreached ? "not reached" : "stopped", (unsigned long long)checks->steps,
                 number_plural(checks->steps), convergence_at(convergence, kept - 1).change);
    y = put_line(plot, y, text);
    if (convergence->count > kept) {
        snprintf(text, sizeof text, "the latest %zu of %llu checks", kept,
                 (unsigned long long)convergence->count);
        y = put_line(plot, y, text);
    }
    if (drawn < kept) {
        snprintf(text, sizeof text, "not drawn: %zu that %s 0 or not finite", kept - drawn,
                 kept - drawn == 1 ? "is" : "are");
        y = put_line(plot, y, text);
    }
    return y;
}

void plot_draw_checks(struct plot *plot, const struct plot_checks *checks)
{
    /* Words come first, since their lines decide where the curve begins. Axes lie below the limit and the
       curve. */
    const struct decades decades = decades_of(checks);
    double left = LEFT + DECADE_LETTERS * LETTER + GAP, end = end_of_axis((double)checks->steps, true);
    double top = draw_words(plot, checks, plot->top), bottom = top + CURVE_HEIGHT;
    double limit = height_of(&decades, checks->until, bottom);
    char text[32];

    draw_axis(plot, left, top, bottom, end, true, "steps");
    draw_decades(plot, &decades, left, bottom);
    svg_line(&plot->svg, left, limit, left + PLOT_WIDTH, limit, line_colour, true);
    snprintf(text, sizeof text, "--until %g", checks->until);
    svg_text(&plot->svg, left + PLOT_WIDTH + GAP, limit + 4.0, START, text, ink);
    draw_points(plot, checks, &decades, left, bottom, end);
    plot->top = bottom + 4.0 * LINE;
}
