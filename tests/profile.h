/* ICC profiles made for tests, of a recipe. */
#ifndef PROFILE_H
#define PROFILE_H

#include <stdbool.h>
#include <stddef.h>

enum { PROFILE_ROOM = 32 << 10 };

enum profile_curve { PROFILE_TABLE, PROFILE_PARAMETERS, PROFILE_GAMMA, PROFILE_IDENTITY };

struct profile_recipe {
    unsigned version;          /* 2 or 4 */
    bool gray;                 /* one curve, no primaries */
    enum profile_curve curve;  /* of sRGB, but for gamma and identity */
    size_t entries;            /* of a table, at least 2 */
    double gamma;              /* of a curve that is one */
    const double (*xyz)[3];    /* of red, green and blue; NULL: those of sRGB */
    double white[3];           /* all 0: that of D50 */
    bool adapted;              /* tells that its white was D65 */
    const char *other_tag;     /* one more, or NULL */
    const char *profile_class; /* NULL: a display */
    const char *connection;    /* NULL: XYZ */
};

extern const struct profile_recipe profile_srgb_v2, profile_srgb_v4, profile_gray, profile_adobe;

/* Return how many of PROFILE_ROOM bytes it has. */
size_t profile_make(const struct profile_recipe *recipe, unsigned char *bytes);

#endif
