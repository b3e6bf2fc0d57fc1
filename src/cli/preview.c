/* Previews: a picture of the middle sections of a volume before and after a run, and of what changed.

   While the run goes on, an observer takes the samples of the middle sections from the planes that pass by
   (run/sections.c). Afterwards each section becomes a row of three panels: before and after in greys, through
   one window of values, and the difference in two colours, through another. Everything is drawn twice: first
   on a canvas without pixels, which shows how much room it takes. */
#include "preview.h"

#include "base/canvas.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/size.h"
#include "format/format.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Pixels. */
enum { MARGIN = 16, GAP = 16, RAMP_WIDTH = 96, RAMP_HEIGHT = 14, BAR_HEIGHT = 4 };

/* The share of the values that lies below a window, and above it. */
#define TAIL 0.01

/* Distinct for people who see few colours, too. */
static const struct colour ground = {255, 255, 255}, ink = {32, 32, 32}, frame = {128, 128, 128};
static const struct colour not_a_number = {0, 158, 115}, falling = {5, 80, 174}, rising = {178, 24, 43};

enum column { BEFORE, AFTER, DIFFERENCE, COLUMNS };

static const char *const headings[COLUMNS] = {"before", "after", "difference"};

/* The values at the ends of a ramp of colours. */
struct window {
    double low, high;
    bool any, nans; /* a finite value, or a NaN, is among what is drawn */
};

/* How a section is drawn: as its axes run, or upright where the header tells which sides they run towards. */
struct panel {
    size_t width, height;
    bool turned;       /* what runs across in the section runs down here */
    bool backwards[2]; /* what runs to the right, and down */
    const char *ends;  /* the letters of the sides at the left and at the right, or NULL */
};

/* A preview that is being drawn. */
struct drawing {
    const struct preview *preview;
    const struct header *header;
    const struct grid *grid;
    struct panel panels[SECTIONS_MOST];
    struct window grey, change;
    size_t column_width;
    struct canvas canvas; /* of no extents while the layout is being measured */
    size_t width, height; /* what is needed */
};

/* ---- windows ---- */

/* A value of a section in one of the three columns. */
static double value_of(const struct section *section, enum column column, size_t index)
{
    double before = section->values[OBSERVER_INPUT][index], after = section->values[OBSERVER_OUTPUT][index];

    return column == BEFORE ? before : column == AFTER ? after : after - before;
}

/* The finite values of a column, of a difference without their sign; NaNs are remembered. */
static size_t collect(const struct sections *sections, enum column column, double *values,
                      struct window *window)
{
    size_t count = 0;

    for (size_t i = 0; i < sections->count; i++) {
        const struct section *section = &sections->list[i];
        for (size_t k = 0; k < section->columns * section->rows; k++) {
            double value = value_of(section, column, k);
            window->nans |= isnan(value);
            if (isfinite(value))
                values[count++] = column == DIFFERENCE ? fabs(value) : value;
        }
    }
    return count;
}

/* The value that this share of the sorted values does not exceed. */
static double percentile(const double *values, size_t count, double share)
{
    return values[(size_t)round(share * (double)(count - 1))];
}

/* A window leaves out the tails of what was collected; if nearly all values are the same, the others are what
   there is to see. That of a difference reaches as far down as up. */
static void settle_window(struct window *window, enum column column, double *values, size_t count)
{
    window->any = count > 0;
    if (count == 0)
        return;
    qsort(values, count, sizeof *values, number_compare);
    window->low = percentile(values, count, TAIL);
    window->high = percentile(values, count, 1.0 - TAIL);
    if (column == DIFFERENCE ? window->high == 0.0 : window->low == window->high) {
        window->low = values[0];
        window->high = values[count - 1];
    }
    if (column == DIFFERENCE)
        window->low = -window->high;
}

/* One window for what is shown before and after, and one for the difference. */
static bool settle_windows(struct drawing *drawing, struct fault *fault)
{
    const struct sections *sections = &drawing->preview->sections;
    size_t count = 0;
    double *values;

    for (size_t i = 0; i < sections->count; i++)
        count += sections->list[i].columns * sections->list[i].rows;
    /* Before and after share a window, so that equal greys are equal values; there is room for the values of
       both. */
    values = mem_alloc(2 * count, sizeof *values, "the preview", fault);
    if (values == NULL)
        return false;
    count = collect(sections, BEFORE, values, &drawing->grey);
    count += collect(sections, AFTER, values + count, &drawing->grey);
    settle_window(&drawing->grey, BEFORE, values, count);
    count = collect(sections, DIFFERENCE, values, &drawing->change);
    settle_window(&drawing->change, DIFFERENCE, values, count);
    mem_free(values);
    return true;
}

/* ---- colours ---- */

static struct colour blend(struct colour from, struct colour to, double share)
{
    const uint8_t ends[3][2] = {{from.red, to.red}, {from.green, to.green}, {from.blue, to.blue}};
    uint8_t mixed[3];

    for (size_t i = 0; i < 3; i++)
        mixed[i] = (uint8_t)lround((double)ends[i][0] + share * ((double)ends[i][1] - (double)ends[i][0]));
    return (struct colour){mixed[0], mixed[1], mixed[2]};
}

/* From 0 to 1, and in the middle where a window holds one value alone. Halves do not overflow. */
static double place_in(const struct window *window, double value)
{
    double width = window->high / 2.0 - window->low / 2.0;
    double place = width > 0.0            ? (value / 2.0 - window->low / 2.0) / width
                   : value > window->high ? 1.0
                   : value < window->low  ? 0.0
                                          : 0.5;

    return fmin(fmax(place, 0.0), 1.0);
}

/* Black to white; of a difference, from one colour through white to the other. */
static struct colour ramp_colour(enum column column, double place)
{
    static const struct colour black = {0, 0, 0}, white = {255, 255, 255};

    if (column != DIFFERENCE)
        return blend(black, white, place);
    return place < 0.5 ? blend(falling, white, 2.0 * place) : blend(white, rising, 2.0 * place - 1.0);
}

/* ---- what is drawn; everything also says how much room it takes ---- */

/* Everything is drawn twice; the first time only finds out the room that it takes. */
static void take_room(struct drawing *drawing, size_t right, size_t below)
{
    drawing->width = size_most(drawing->width, right);
    drawing->height = size_most(drawing->height, below);
}

static void draw_box(struct drawing *drawing, size_t x, size_t y, size_t width, size_t height,
                     struct colour colour)
{
    canvas_box(&drawing->canvas, x, y, width, height, colour);
    take_room(drawing, x + width, y + height);
}

static void draw_text(struct drawing *drawing, size_t x, size_t y, const char *text)
{
    canvas_text(&drawing->canvas, x, y, text, ink);
    take_room(drawing, x + canvas_text_width(text), y + CANVAS_LINE);
}

/* A line of text; returns where the next one begins. */
static size_t draw_line(struct drawing *drawing, const char *text, size_t top)
{
    draw_text(drawing, MARGIN, top, text);
    return top + CANVAS_LINE;
}

static size_t column_left(const struct drawing *drawing, enum column column)
{
    return MARGIN + column * (drawing->column_width + GAP);
}

/* The value that a pixel of a panel shows: the panel may be turned, and either direction reversed. */
static size_t value_index(const struct section *section, const struct panel *panel, size_t x, size_t y)
{
    size_t right = panel->backwards[0] ? panel->width - 1 - x : x;
    size_t down = panel->backwards[1] ? panel->height - 1 - y : y;
    size_t column = panel->turned ? down : right, row = panel->turned ? right : down;

    return row * section->rows / section->height * section->columns +
           column * section->columns / section->width;
}

/* A section in one of the three columns, in a frame. */
static void draw_panel(struct drawing *drawing, const struct section *section, const struct panel *panel,
                       enum column column, size_t top)
{
    const struct window *window = column == DIFFERENCE ? &drawing->change : &drawing->grey;
    size_t left = column_left(drawing, column);

    draw_box(drawing, left - 1, top - 1, panel->width + 2, panel->height + 2, frame);
    for (size_t y = 0; y < panel->height; y++) {
        for (size_t x = 0; x < panel->width; x++) {
            double value = value_of(section, column, value_index(section, panel, x, y));
            canvas_dot(&drawing->canvas, left + x, top + y,
                       isnan(value) ? not_a_number : ramp_colour(column, place_in(window, value)));
        }
    }
}

/* The letters of the two sides, over the left and the right end of a panel. */
static void draw_ends(struct drawing *drawing, const struct panel *panel, enum column column, size_t top)
{
    const char ends[2][2] = {{panel->ends[0]}, {panel->ends[1]}};
    size_t left = column_left(drawing, column);

    draw_text(drawing, left, top, ends[0]);
    draw_text(drawing, left + size_most(panel->width, 2 * CANVAS_LETTER) - CANVAS_LETTER, top, ends[1]);
}

/* 1, 2 or 5 times a power of ten, no longer than half the section, if that is a sample long. */
static double bar_length(const struct drawing *drawing, const struct section *section,
                         const struct panel *panel)
{
    double spacing = drawing->grid->spacing[panel->turned ? section->down : section->across];
    double half = (double)panel->width / (section->scale * section->stretch[panel->turned]) / 2.0;
    double power = pow(10.0, floor(log10(half)));
    double length = half >= 5.0 * power ? 5.0 * power : half >= 2.0 * power ? 2.0 * power : power;

    return length < spacing ? spacing : length;
}

/* Patients whose header tells no unit are taken to be in millimetres, as ITK does. */
static const char *unit_of_length(const struct drawing *drawing, double length)
{
    const struct header *header = drawing->header;
    const char *symbol = header->for_print ? NULL : unit_symbol(header->millimetres);
    const double *h = drawing->grid->spacing;
    bool spaced = h[0] != 1.0 || h[1] != 1.0 || (drawing->grid->axes == 3 && h[2] != 1.0),
         one = length == 1.0;

    return symbol != NULL                   ? symbol
           : header->orientation[0] != '\0' ? unit_symbol(1.0)
           : spaced                         ? (one ? "unit" : "units")
                                            : (one ? "sample" : "samples");
}

static void draw_scale_bar(struct drawing *drawing, const struct section *section, const struct panel *panel,
                           size_t top)
{
    double length = bar_length(drawing, section, panel);
    size_t pixels = (size_t)round(length * section->scale * section->stretch[panel->turned]);
    char text[64];

    snprintf(text, sizeof text, "%.4g %s", length, unit_of_length(drawing, length));
    draw_box(drawing, MARGIN, top + (CANVAS_LINE - BAR_HEIGHT) / 2 - 3, pixels, BAR_HEIGHT, ink);
    draw_text(drawing, MARGIN + pixels + CANVAS_LETTER, top, text);
}

/* Where the section is, what runs right and down in it, and which axes are stretched. */
static void title(const struct drawing *drawing, const struct section *section, const struct panel *panel,
                  char *text, size_t size)
{
    const unsigned axes[2] = {section->across, section->down};
    static const char names[] = "xyz";

    text[0] = '\0';
    if (drawing->grid->axes == 3)
        diag_append(text, size, "%c = %zu: ", names[section->axis], section->at);
    diag_append(text, size, "%c %s", names[axes[panel->turned]], panel->backwards[0] ? "left" : "right");
    if (drawing->grid->axes > 1)
        diag_append(text, size, ", %c %s", names[axes[!panel->turned]], panel->backwards[1] ? "up" : "down");
    for (size_t i = 0; i < 2; i++) {
        if (axes[i] < drawing->grid->axes && section->stretch[i] > 1.05)
            diag_append(text, size, ", %c stretched %.3g-fold", names[axes[i]], section->stretch[i]);
    }
}

/* A title, three panels, a scale bar; returns where the next section begins. */
static size_t draw_section(struct drawing *drawing, const struct section *section, const struct panel *panel,
                           size_t top)
{
    char text[128];

    title(drawing, section, panel, text, sizeof text);
    top = draw_line(drawing, text, top);
    for (enum column column = BEFORE; panel->ends != NULL && column < COLUMNS; column++)
        draw_ends(drawing, panel, column, top);
    top += panel->ends != NULL ? CANVAS_LINE : 0;
    for (enum column column = BEFORE; column < COLUMNS; column++)
        draw_panel(drawing, section, panel, column, top);
    top += panel->height + GAP / 2;
    draw_scale_bar(drawing, section, panel, top);
    return top + CANVAS_LINE + GAP;
}

/* A ramp of colours, with two lines of text. */
static size_t draw_ramp(struct drawing *drawing, enum column column, const char *range, const char *choice,
                        size_t top)
{
    const size_t left = MARGIN + RAMP_WIDTH + CANVAS_LETTER;

    draw_box(drawing, MARGIN - 1, top - 1, RAMP_WIDTH + 2, RAMP_HEIGHT + 2, frame);
    for (size_t x = 0; x < RAMP_WIDTH; x++)
        draw_box(drawing, MARGIN + x, top, 1, RAMP_HEIGHT, ramp_colour(column, (double)x / (RAMP_WIDTH - 1)));
    draw_text(drawing, left, top, range);
    draw_text(drawing, left, top + CANVAS_LINE, choice);
    return top + 2 * CANVAS_LINE;
}

/* The key of a ramp: the ends of its window, and the share of the values that lie within. */
static size_t draw_key(struct drawing *drawing, enum column column, const char *name, const char *share,
                       size_t top)
{
    const struct window *window = column == DIFFERENCE ? &drawing->change : &drawing->grey;
    char text[128];

    if (window->any && window->low < window->high) {
        snprintf(text, sizeof text, "%.4g to %.4g: %s,", window->low, window->high, name);
        return draw_ramp(drawing, column, text, share, top);
    }
    if (!window->any)
        snprintf(text, sizeof text, "%s: nothing is finite", name);
    else if (column == DIFFERENCE)
        snprintf(text, sizeof text, "%s: none", name);
    else
        snprintf(text, sizeof text, "%s: %.4g everywhere", name, window->low);
    return draw_line(drawing, text, top);
}

static size_t draw_nan_key(struct drawing *drawing, size_t top)
{
    if (!drawing->grey.nans && !drawing->change.nans)
        return top;
    draw_box(drawing, MARGIN, top, RAMP_WIDTH, RAMP_HEIGHT, not_a_number);
    draw_text(drawing, MARGIN + RAMP_WIDTH + CANVAS_LETTER, top, "not a number");
    return top + CANVAS_LINE;
}

/* Whether a pixel stands for several samples anywhere. */
static bool is_reduced(const struct drawing *drawing)
{
    const struct sections *sections = &drawing->preview->sections;
    const struct grid *grid = drawing->grid;

    for (size_t i = 0; i < sections->count; i++) {
        const struct section *section = &sections->list[i];
        if (section->columns < grid_extent(grid, section->across) ||
            section->rows < grid_extent(grid, section->down))
            return true;
    }
    return false;
}

/* Explain the colours, and what else the picture does not show by itself. */
static void draw_keys(struct drawing *drawing, size_t top)
{
    char text[64];

    top = draw_key(drawing, BEFORE, "before and after", "1st to 99th percentile", top);
    top = draw_key(drawing, DIFFERENCE, "difference", "99th percentile of its size", top);
    top = draw_nan_key(drawing, top);
    if (is_reduced(drawing))
        top = draw_line(drawing, "a pixel shows the mean of its samples", top);
    if (drawing->grid->channels > 1) {
        snprintf(text, sizeof text, "channel 1 of %u", drawing->grid->channels);
        draw_line(drawing, text, top);
    }
}

/* Draw everything from top to bottom; on a canvas of no extents this measures how much room it takes. */
static void draw_all(struct drawing *drawing)
{
    const struct sections *sections = &drawing->preview->sections;
    size_t top = MARGIN;

    for (enum column column = BEFORE; column < COLUMNS; column++)
        draw_text(drawing, column_left(drawing, column), top, headings[column]);
    top += CANVAS_LINE + GAP / 2;
    for (size_t i = 0; i < sections->count; i++)
        top = draw_section(drawing, &sections->list[i], &drawing->panels[i], top);
    draw_keys(drawing, top);
}

/* Left is left, and up is the head, or the front where there is no head. */
static struct panel make_panel(const struct section *section, const char *towards)
{
    static const char sides[] = "LRAPSI";
    struct panel panel = {.width = section->width, .height = section->height};
    size_t right, down;

    /* Without an orientation the section's axes run as in the file, one to the right and one down. */
    if (towards[0] == '\0')
        return panel;
    right = (size_t)(strchr(sides, towards[section->across]) - sides);
    down = (size_t)(strchr(sides, towards[section->down]) - sides);
    panel.turned = right > down;
    if (panel.turned)
        panel = (struct panel){.width = section->height, .height = section->width, .turned = true};
    panel.backwards[panel.turned] = right % 2 == 0;
    panel.backwards[!panel.turned] = down % 2 == 0;
    panel.ends = size_least(right, down) < 2 ? "LR" : "AP";
    return panel;
}

/* Columns are as wide as the widest section or heading. */
static void settle_layout(struct drawing *drawing)
{
    const struct sections *sections = &drawing->preview->sections;

    for (enum column column = BEFORE; column < COLUMNS; column++)
        drawing->column_width = size_most(drawing->column_width, canvas_text_width(headings[column]));
    for (size_t i = 0; i < sections->count; i++) {
        drawing->panels[i] = make_panel(&sections->list[i], drawing->header->orientation);
        drawing->column_width = size_most(drawing->column_width, drawing->panels[i].width);
    }
}

/* Once on nothing, for its extents. */
static bool draw(struct drawing *drawing, struct fault *fault)
{
    if (!settle_windows(drawing, fault))
        return false;
    settle_layout(drawing);
    draw_all(drawing);
    if (!canvas_open(&drawing->canvas, drawing->width + MARGIN, drawing->height + MARGIN / 2, ground, fault))
        return false;
    draw_all(drawing);
    return true;
}

static bool write_png(const struct canvas *canvas, struct file_out *file, struct fault *fault)
{
    const struct sink_request request = {.level = -1, .threads = 1};
    struct header header = {.grid = grid_make(2, canvas->width, canvas->height, 1), .type = SAMPLE_U8};

    header.grid.channels = 3;
    return sink_write_whole(file, &format_png, &header, &request, canvas->pixels, fault);
}

bool preview_open(struct preview *preview, const char *path, struct fault *fault)
{
    *preview = (struct preview){.file = NULL};
    return file_out_open(&preview->file, path, fault) || fault_prefix(fault, "--preview");
}

struct observer preview_observer(struct preview *preview)
{
    return (struct observer){&sections_kind, &preview->sections};
}

bool preview_finish(struct preview *preview, struct fault *fault)
{
    const struct header *header = &preview->sections.plan->job->in;
    struct drawing drawing = {.preview = preview, .header = header, .grid = &header->grid};
    bool done = draw(&drawing, fault) && write_png(&drawing.canvas, preview->file, fault);

    canvas_close(&drawing.canvas);
    return done || fault_prefix(fault, "--preview");
}

void preview_close(struct preview *preview)
{
    sections_free(&preview->sections);
    if (preview->file != NULL)
        file_out_close(preview->file);
    preview->file = NULL;
}
