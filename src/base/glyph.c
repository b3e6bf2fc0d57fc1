/* Glyphs: what messages draw with characters beyond ASCII where the locale has them, and in ASCII elsewhere.
 */
#include "glyph.h"

#include <langinfo.h>
#include <locale.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool glyph_utf8;

static bool is_utf8(const char *codeset, size_t length)
{
    return (length == 5 && strncasecmp(codeset, "UTF-8", length) == 0) ||
           (length == 4 && strncasecmp(codeset, "UTF8", length) == 0);
}

/* What the environment calls the locale of characters. */
static const char *locale_name(void)
{
    static const char *const variables[] = {"LC_ALL", "LC_CTYPE", "LANG"};

    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *name = getenv(variables[i]);
        if (name != NULL && *name != '\0')
            return name;
    }
    return "C";
}

/* "de_DE.UTF-8@euro", and the "UTF-8" that some systems set alone. */
static bool names_utf8(const char *locale)
{
    const char *dot = strchr(locale, '.');
    const char *codeset = dot == NULL ? locale : dot + 1;

    return is_utf8(codeset, strcspn(codeset, "@"));
}

/* Not by setlocale, which is the whole process's: numbers are read and written as in C. A locale that is not
   installed, as happens behind ssh, still tells by its name what the terminal shows. */
void glyph_open(void)
{
    locale_t locale = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
    const char *codeset;

    if (locale == (locale_t)0) {
        glyph_utf8 = names_utf8(locale_name());
        return;
    }
    codeset = nl_langinfo_l(CODESET, locale);
    glyph_utf8 = is_utf8(codeset, strlen(codeset));
    freelocale(locale);
}

const char *glyph(enum glyph glyph)
{
    static const struct {
        const char *utf8, *ascii;
    } texts[] = {[GLYPH_TIMES] = {"×", "x"}, [GLYPH_ARROW] = {"→", "->"}};

    return glyph_utf8 ? texts[glyph].utf8 : texts[glyph].ascii;
}
