/* Glyphs: what messages draw with characters beyond ASCII where the locale has them, and in ASCII elsewhere.
 */
#ifndef GLYPH_H
#define GLYPH_H

enum glyph {
    GLYPH_TIMES, /* × or x */
    GLYPH_ARROW  /* → or -> */
};

/* Look up in the environment whether the locale's characters are UTF-8; call once, before the first message
   and the first thread. Glyphs are ASCII until then. */
void glyph_open(void);

const char *glyph(enum glyph glyph);

#endif
