/* Units of length: one table for the command line and all formats. */
#include "unit.h"

#include <stddef.h>
#include <string.h>

#define NAMES(...)                                                                                           \
    (const char *const[])                                                                                    \
    {                                                                                                        \
        __VA_ARGS__, NULL                                                                                    \
    }

/* Rows name their members in order. Among the names of the micrometre are the micro sign and the Greek letter
   in UTF-8, and the sign in Latin-1 and as Java and XML escape it. */
static const struct length_unit units[] = {
    {1.0, "mm", "millimeter", NAMES("mm", "millimeter", "millimetre", "millimeters"), {2, 0}},
    {1000.0, "m", "meter", NAMES("m", "meter", "metre", "meters"), {1, 0}},
    {1e-3,
     "um",
     "micrometer",
     NAMES("micron", "um", "microns", "micrometer", "micrometre", "\302\265m", "\316\274m", "\265m",
           "\\u00B5m", "&#181;m", "&#xB5;m"),
     {3, 0}},
    {1e-6, "nm", "nanometer", NAMES("nm", "nanometer", "nanometre", "nanometers"), {0, 0}},
    {10.0, "cm", "centimeter", NAMES("cm", "centimeter", "centimetre", "centimeters"), {0, 3}},
    {25.4, "in", "inch", NAMES("inch", "in", "inches"), {0, 2}},
};
enum { UNITS = sizeof units / sizeof *units };

const struct length_unit *unit_of_name(const char *name)
{
    for (size_t i = 0; i < UNITS; i++) {
        for (const char *const *known = units[i].names; *known != NULL; known++) {
            if (strcmp(*known, name) == 0)
                return &units[i];
        }
    }
    return NULL;
}

const struct length_unit *unit_of_code(enum unit_code format, unsigned code)
{
    for (size_t i = 0; i < UNITS; i++) {
        if (code != 0 && units[i].codes[format] == code)
            return &units[i];
    }
    return NULL;
}

double unit_millimetres(const struct length_unit *unit)
{
    return unit == NULL ? 0.0 : unit->millimetres;
}

/* The unit of this length; NULL: there is none. */
static const struct length_unit *unit_of_length(double millimetres)
{
    for (size_t i = 0; i < UNITS; i++) {
        if (!(units[i].millimetres < millimetres || units[i].millimetres > millimetres))
            return &units[i];
    }
    return NULL;
}

const char *unit_symbol(double millimetres)
{
    const struct length_unit *unit = unit_of_length(millimetres);

    return unit == NULL ? NULL : unit->symbol;
}

const char *unit_udunits(double millimetres)
{
    const struct length_unit *unit = unit_of_length(millimetres);

    return unit == NULL ? NULL : unit->udunits;
}

const struct length_unit *unit_millimetre(void)
{
    return &units[0];
}
