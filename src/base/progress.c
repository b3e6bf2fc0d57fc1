/* A bar with rate and remaining time on a terminal, once a run has taken a second. */
#include "progress.h"

#include "clock.h"
#include "diag.h"
#include "number.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* Short runs show no bar. Ten pictures a second are enough to see it move. */
#define FIRST_SECONDS   1.0
#define REPAINT_SECONDS 0.1
#define BAR_MOST        30
#define BAR_LEAST       5
#define BAR_FRAME       3 /* its brackets, and a blank behind them */
#define LINE_MOST       120
#define COLUMNS_ASSUMED 80

void progress_begin(struct progress *progress, enum progress_mode mode, double total, const char *unit,
                    double unit_size)
{
    bool wanted = mode == PROGRESS_ALWAYS ||
                  (mode == PROGRESS_AUTO && diag_level() != DIAG_QUIET && isatty(STDERR_FILENO));

    *progress = (struct progress){
        .shown = wanted && total > 0.0, .unit = unit, .unit_size = unit_size, .total = total};
    progress->first = mode == PROGRESS_ALWAYS ? 0.0 : FIRST_SECONDS;
    progress->begun = clock_seconds();
    pthread_mutex_init(&progress->mutex, NULL);
}

/* Columns of the terminal, as it or else COLUMNS tells. */
static size_t count_columns(void)
{
    const char *given = getenv("COLUMNS");
    struct winsize size;
    uint64_t columns;

    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    if (given != NULL && number_parse_count(given, &columns) && columns > 0 && columns <= LINE_MOST)
        return (size_t)columns;
    return COLUMNS_ASSUMED;
}

/* Columns left for the bar, of `most`, when `words` are taken; 0 if that is too little. */
static size_t bar_width(size_t most, size_t words)
{
    size_t room = most > words + BAR_FRAME ? most - words - BAR_FRAME : 0;

    return room < BAR_LEAST ? 0 : room < BAR_MOST ? room : BAR_MOST;
}

static void write_left(double seconds, char *text, size_t size)
{
    if (seconds < 3600.0)
        snprintf(text, size, "  %02d:%02d left", (int)seconds / 60, (int)seconds % 60);
    else
        snprintf(text, size, "  %s left", number_format_seconds(seconds).text);
}

/* Compose a line of at most `most` columns. Where they are few the rate goes first, then the time, then the
   bar. */
static void compose(const struct progress *progress, double now, char *line, size_t most)
{
    /* Work is forecast, and may come out as a little more: the bar ends at its end. */
    double share = progress->done < progress->total ? progress->done / progress->total : 1.0;
    double elapsed = now - progress->begun;
    char percent[16], rate[48], time[48], bar[BAR_MOST + 1];
    char whole[BAR_FRAME + sizeof bar + sizeof percent + sizeof rate + sizeof time];
    size_t width;

    snprintf(percent, sizeof percent, "%3.0f %%", 100.0 * share);
    snprintf(rate, sizeof rate, "  %.1f %s/s", progress->done / elapsed / progress->unit_size,
             progress->unit);
    write_left(share > 0.0 ? elapsed / share - elapsed : 0.0, time, sizeof time);
    if (bar_width(most, strlen(percent) + strlen(rate) + strlen(time)) == 0)
        rate[0] = '\0';
    if (bar_width(most, strlen(percent) + strlen(rate) + strlen(time)) == 0)
        time[0] = '\0';
    width = bar_width(most, strlen(percent) + strlen(rate) + strlen(time));
    memset(bar, '.', width);
    memset(bar, '#', (size_t)(share * (double)width));
    bar[width] = '\0';
    snprintf(whole, sizeof whole, "%s%s%s%s%s%s", width > 0 ? "[" : "", bar, width > 0 ? "] " : "", percent,
             rate, time);
    snprintf(line, most + 1, "%.*s", (int)most, whole);
}

static void paint(struct progress *progress, double now)
{
    size_t columns = count_columns();
    char line[LINE_MOST + 1];

    /* The last column stays free: some terminals go on to the next line once it is written. */
    compose(progress, now, line, columns > LINE_MOST ? LINE_MOST : columns - 1);
    fprintf(stderr, "\r%s%*s", line,
            progress->drawn > strlen(line) ? (int)(progress->drawn - strlen(line)) : 0, "");
    progress->drawn = strlen(line);
    progress->painted = now;
}

void progress_add(struct progress *progress, double work)
{
    double now;

    if (!progress->shown)
        return;
    pthread_mutex_lock(&progress->mutex);
    progress->done += work;
    now = clock_seconds();
    if (now - progress->begun >= progress->first && now - progress->painted >= REPAINT_SECONDS)
        paint(progress, now);
    pthread_mutex_unlock(&progress->mutex);
}

void progress_wipe(struct progress *progress)
{
    /* A carriage return and blanks leave the terminal as if the bar had never been. */
    if (progress->drawn > 0)
        fprintf(stderr, "\r%*s\r", (int)progress->drawn, "");
    progress->drawn = 0;
}

void progress_end(struct progress *progress)
{
    progress_wipe(progress);
    progress->shown = false;
    pthread_mutex_destroy(&progress->mutex);
}
