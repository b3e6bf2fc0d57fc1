/* A bar with rate and remaining time on a terminal, once a run has taken a second. */
#include "progress.h"

#include "clock.h"
#include "diag.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define FIRST_SECONDS   1.0
#define REPAINT_SECONDS 0.1
#define BAR_WIDTH       30

static void begin(struct progress *progress, enum progress_mode mode, double total, const char *unit,
                  double unit_size)
{
    bool wanted = mode == PROGRESS_ALWAYS ||
                  (mode == PROGRESS_AUTO && diag_level() != DIAG_QUIET && isatty(STDERR_FILENO));

    *progress = (struct progress){
        .shown = wanted && total > 0.0, .unit = unit, .unit_size = unit_size, .total = total};
    progress->first = mode == PROGRESS_ALWAYS ? 0.0 : FIRST_SECONDS;
    progress->begun = clock_seconds();
}

void progress_begin(struct progress *progress, enum progress_mode mode, double total)
{
    begin(progress, mode, total, "Msamples", 1e6);
}

void progress_begin_files(struct progress *progress, enum progress_mode mode, size_t files)
{
    begin(progress, mode, (double)files, "files", 1.0);
}

static void paint(struct progress *progress, double now)
{
    double share = progress->done < progress->total ? progress->done / progress->total : 1.0;
    double elapsed = now - progress->begun;
    double remaining = share > 0.0 ? elapsed / share - elapsed : 0.0;
    char bar[BAR_WIDTH + 1];

    memset(bar, '.', BAR_WIDTH);
    memset(bar, '#', (size_t)(share * BAR_WIDTH));
    bar[BAR_WIDTH] = '\0';
    fprintf(stderr, "\r[%s] %3.0f %%  %.1f %s/s  %02.0f:%02d left ", bar, 100.0 * share,
            progress->done / elapsed / progress->unit_size, progress->unit, (double)(long)(remaining / 60.0),
            (int)((long)remaining % 60));
    progress->drawn = true;
    progress->painted = now;
}

void progress_add(struct progress *progress, double work)
{
    double now;

    if (!progress->shown)
        return;
    progress->done += work;
    now = clock_seconds();
    if (now - progress->begun >= progress->first && now - progress->painted >= REPAINT_SECONDS)
        paint(progress, now);
}

void progress_wipe(struct progress *progress)
{
    /* A carriage return and blanks leave the terminal as if the bar had never been. */
    if (progress->drawn)
        fprintf(stderr, "\r%*s\r", BAR_WIDTH + 50, "");
    progress->drawn = false;
}

void progress_end(struct progress *progress)
{
    progress_wipe(progress);
    progress->shown = false;
}
