/* SVG: boxes, lines and texts of a drawing whose height is known when it is finished. All texts are of one
   size, in letters of one width, so that whoever lays them out knows how long they are. */
#ifndef SVG_H
#define SVG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Pixels: of a letter, and from one line of text to the next. */
#define SVG_LETTER 7.9
#define SVG_LINE   20.0

enum svg_anchor { SVG_START, SVG_MIDDLE, SVG_END };

struct svg {
    FILE *stream; /* NULL, for want of memory: what is drawn is lost */
    char *text;
    size_t size;
    double width, height; /* as far as has been drawn, with a margin */
};

void svg_open(struct svg *svg);
void svg_close(struct svg *svg);

/* Colours as SVG has them. */
void svg_box(struct svg *svg, double x, double y, double width, double height, const char *colour);
void svg_line(struct svg *svg, double x1, double y1, double x2, double y2, const char *colour, bool dashed);
void svg_dot(struct svg *svg, double x, double y, const char *colour);

/* A line through points, one after the other; `more` says whether it goes on to this one. */
void svg_curve_point(struct svg *svg, double x, double y, bool more);
void svg_curve_end(struct svg *svg, const char *colour);

/* Any bytes; those that are no printable ASCII become question marks. y is that of the baseline. */
void svg_text(struct svg *svg, double x, double y, enum svg_anchor anchor, const char *text,
              const char *colour);

/* All that was drawn, as a file; false where memory was short. */
bool svg_write(struct svg *svg, FILE *stream);

#endif
