/* Canvases: pictures of RGB bytes that boxes and texts are drawn on. */
#include "canvas.h"

#include "mem.h"

#include <string.h>

/* Pixels a side of a cell of the font: strokes of one pixel are hard to read where pixels are small. */
#define CELL 2

/* Rows of cells by character, as font.def draws them. */
static const char *const font[128] = {
#define FONT(character, rows) [character] = rows,
#include "font.def"
};

bool canvas_open(struct canvas *canvas, size_t width, size_t height, struct colour ground,
                 struct fault *fault)
{
    size_t count;

    *canvas = (struct canvas){.width = width, .height = height};
    if (!mem_product(&count, width, height))
        return fault_raise(fault, STATUS_LIMIT, "the picture is too large for the address space");
    canvas->pixels = mem_alloc(count, sizeof *canvas->pixels, "the picture", fault);
    if (canvas->pixels == NULL)
        return false;
    for (size_t i = 0; i < count; i++)
        canvas->pixels[i] = ground;
    return true;
}

void canvas_close(struct canvas *canvas)
{
    mem_free(canvas->pixels);
    *canvas = (struct canvas){0};
}

void canvas_dot(const struct canvas *canvas, size_t x, size_t y, struct colour colour)
{
    if (x < canvas->width && y < canvas->height)
        canvas->pixels[y * canvas->width + x] = colour;
}

void canvas_box(const struct canvas *canvas, size_t x, size_t y, size_t width, size_t height,
                struct colour colour)
{
    for (size_t row = 0; row < height; row++) {
        for (size_t column = 0; column < width; column++)
            canvas_dot(canvas, x + column, y + row, colour);
    }
}

static void draw_letter(const struct canvas *canvas, size_t x, size_t y, char letter, struct colour colour)
{
    unsigned char code = (unsigned char)letter;
    const char *cell = code < 128 && font[code] != NULL ? font[code] : font['?'];
    size_t left = x;

    for (; *cell != '\0'; cell++) {
        if (*cell == '/') {
            x = left;
            y += CELL;
            continue;
        }
        if (*cell == '#')
            canvas_box(canvas, x, y, CELL, CELL, colour);
        x += CELL;
    }
}

void canvas_text(const struct canvas *canvas, size_t x, size_t y, const char *text, struct colour colour)
{
    for (; *text != '\0'; text++, x += CANVAS_LETTER)
        draw_letter(canvas, x, y, *text, colour);
}

size_t canvas_text_width(const char *text)
{
    return strlen(text) * CANVAS_LETTER;
}
