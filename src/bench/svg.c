/* SVG: boxes, lines and texts of a drawing whose height is known when it is finished. */
#include "svg.h"

#include <stdlib.h>
#include <string.h>

#define MARGIN 16.0

void svg_open(struct svg *svg)
{
    *svg = (struct svg){.stream = NULL};
    svg->stream = open_memstream(&svg->text, &svg->size);
}

void svg_close(struct svg *svg)
{
    if (svg->stream != NULL)
        fclose(svg->stream);
    free(svg->text);
    *svg = (struct svg){.stream = NULL};
}

static void reach(struct svg *svg, double x, double y)
{
    svg->width = x + MARGIN > svg->width ? x + MARGIN : svg->width;
    svg->height = y + MARGIN > svg->height ? y + MARGIN : svg->height;
}

void svg_box(struct svg *svg, double x, double y, double width, double height, const char *colour)
{
    reach(svg, x + width, y + height);
    if (svg->stream != NULL)
        fprintf(svg->stream, "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"%s\"/>\n", x,
                y, width, height, colour);
}

void svg_line(struct svg *svg, double x1, double y1, double x2, double y2, const char *colour, bool dashed)
{
    reach(svg, x1, y1);
    reach(svg, x2, y2);
    if (svg->stream != NULL)
        fprintf(
            svg->stream,
            "<line x1=\"%.2f\" y1=\"%.2f\" x2=\"%.2f\" y2=\"%.2f\" stroke=\"%s\" stroke-width=\"%s\"%s/>\n",
            x1, y1, x2, y2, colour, dashed ? "2" : "1", dashed ? " stroke-dasharray=\"6 4\"" : "");
}

void svg_dot(struct svg *svg, double x, double y, const char *colour)
{
    reach(svg, x, y);
    if (svg->stream != NULL)
        fprintf(svg->stream, "<circle cx=\"%.2f\" cy=\"%.2f\" r=\"3\" fill=\"%s\"/>\n", x, y, colour);
}

void svg_curve_point(struct svg *svg, double x, double y, bool more)
{
    reach(svg, x, y);
    if (svg->stream != NULL)
        fprintf(svg->stream, "%s%.2f,%.2f", more ? " " : "<polyline points=\"", x, y);
}

void svg_curve_end(struct svg *svg, const char *colour)
{
    if (svg->stream != NULL)
        fprintf(svg->stream, "\" fill=\"none\" stroke=\"%s\" stroke-width=\"2\"/>\n", colour);
}

static void put_letter(FILE *stream, char letter)
{
    switch (letter) {
    case '<':
        fputs("&lt;", stream);
        break;
    case '>':
        fputs("&gt;", stream);
        break;
    case '&':
        fputs("&amp;", stream);
        break;
    default:
        fputc(letter >= ' ' && letter <= '~' ? letter : '?', stream);
    }
}

void svg_text(struct svg *svg, double x, double y, enum svg_anchor anchor, const char *text,
              const char *colour)
{
    static const char *const anchors[] = {"start", "middle", "end"};
    double width = (double)strlen(text) * SVG_LETTER;

    reach(svg, anchor == SVG_END ? x : anchor == SVG_MIDDLE ? x + width / 2.0 : x + width, y);
    if (svg->stream == NULL)
        return;
    fprintf(svg->stream, "<text x=\"%.2f\" y=\"%.2f\" text-anchor=\"%s\" fill=\"%s\">", x, y, anchors[anchor],
            colour);
    for (; *text != '\0'; text++)
        put_letter(svg->stream, *text);
    fputs("</text>\n", svg->stream);
}

bool svg_write(struct svg *svg, FILE *stream)
{
    if (svg->stream == NULL || fflush(svg->stream) != 0)
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
