/* Pictures of RGB bytes to draw boxes and text on. What lies beyond their edges is not drawn. */
#ifndef CANVAS_H
#define CANVAS_H

#include "diag.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct colour {
    uint8_t red, green, blue;
};

struct canvas {
    size_t width, height;
    struct colour *pixels; /* row by row */
};

/* A letter with the space behind it, and a line of text with the space under it, in pixels. */
enum { CANVAS_LETTER = 12, CANVAS_LINE = 24 };

/* Make a picture of one colour, to be closed. */
bool canvas_open(struct canvas *canvas, size_t width, size_t height, struct colour ground,
                 struct fault *fault);
void canvas_close(struct canvas *canvas);

void canvas_dot(const struct canvas *canvas, size_t x, size_t y, struct colour colour);
void canvas_box(const struct canvas *canvas, size_t x, size_t y, size_t width, size_t height,
                struct colour colour);

/* Draw a line of ASCII text below and to the right of a point; other characters become question marks. */
void canvas_text(const struct canvas *canvas, size_t x, size_t y, const char *text, struct colour colour);
size_t canvas_text_width(const char *text);

#endif
