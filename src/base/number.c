/* Numbers as the command line writes them: the whole text or nothing. */
#include "number.h"

#include "diag.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool number_parse_double(const char *text, double *value)
{
    char *end;

    /* strtod would pass over space, and take an empty text for 0. */
    if (*text == '\0' || isspace((unsigned char)*text))
        return false;
    *value = strtod(text, &end);
    return *end == '\0' && isfinite(*value);
}

bool number_read_count(const char **text, uint64_t *value)
{
    const char *at = *text;
    uint64_t total = 0;

    /* By hand, since strtoull takes signs and wraps negative numbers round. */
    for (; isdigit((unsigned char)*at); at++) {
        uint64_t digit = (uint64_t)(*at - '0');
        if (total > (UINT64_MAX - digit) / 10)
            return false;
        total = total * 10 + digit;
    }
    if (at == *text)
        return false;
    *text = at;
    *value = total;
    return true;
}

bool number_parse_count(const char *text, uint64_t *value)
{
    return number_read_count(&text, value) && *text == '\0';
}

/* Powers of 1024: the bits of K, M, G or T, with or without iB or B; 0 where there is none. */
static unsigned parse_unit(const char **text)
{
    static const char units[] = "KMGT";
    const char *unit = **text == '\0' ? NULL : strchr(units, toupper((unsigned char)**text));

    if (unit != NULL)
        *text += (*text)[1] == 'i' ? 2 : 1;
    if (**text == 'B')
        (*text)++;
    return unit == NULL ? 0 : 10 * (unsigned)(unit - units + 1);
}

bool number_parse_bytes(const char *text, uint64_t *value)
{
    const char *end = text, *point;
    size_t digits = 0;
    unsigned shift;

    if (!number_read_count(&end, value))
        return false;
    /* A fraction needs a unit, since there are no parts of a byte. */
    point = end;
    if (*point == '.') {
        digits = strspn(point + 1, "0123456789");
        end = point + 1 + digits;
    }
    shift = parse_unit(&end);
    if (*end != '\0' || *value > UINT64_MAX >> shift || (*point == '.' && (shift == 0 || digits == 0)))
        return false;
    /* The whole part is exact, however large; only the fraction goes through a double. */
    *value <<= shift;
    if (*point == '.')
        *value += (uint64_t)ldexp(strtod(point, NULL), (int)shift);
    return true;
}

bool number_parse_list(const char *text, char separator, size_t least, size_t most, double *values,
                       size_t *count)
{
    *count = 0;
    for (const char *item = text;; item++) {
        char buffer[64];
        size_t length = strcspn(item, (char[]){separator, '\0'});
        if (*count == most || length >= sizeof buffer)
            return false;
        memcpy(buffer, item, length);
        buffer[length] = '\0';
        if (!number_parse_double(buffer, &values[(*count)++]))
            return false;
        item += length;
        if (*item == '\0')
            return *count >= least;
    }
}

int number_compare(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;

    return (a > b) - (a < b);
}

struct number_printed number_format_double(double value)
{
    struct number_printed printed;

    /* Fifteen digits are those that were once read, and seventeen tell any two doubles apart. */
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(printed.text, sizeof printed.text, "%.*g", digits, value);
        if (strtod(printed.text, NULL) == value)
            break;
    }
    return printed;
}

struct number_printed number_format_bytes(double bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    struct number_printed printed;
    size_t unit = 0;

    while (bytes >= 1024.0 && unit + 1 < sizeof units / sizeof *units) {
        bytes /= 1024.0;
        unit++;
    }
    snprintf(printed.text, sizeof printed.text, unit == 0 || bytes >= 100.0 ? "%.0f %s" : "%.1f %s", bytes,
             units[unit]);
    return printed;
}

struct number_product number_format_product(const size_t *factors, size_t count)
{
    struct number_product product = {""};

    for (size_t i = 0; i < count; i++)
        diag_append(product.text, sizeof product.text, "%s%zu", i > 0 ? " x " : "", factors[i]);
    return product;
}

const char *number_plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

struct number_printed number_format_share(uint64_t part, uint64_t whole)
{
    struct number_printed printed;
    double percent = 100.0 * ((double)part / (double)whole);
    /* More digits near 0 and 100, where rounding would hide the rest. */
    int digits = percent < 1.0 || percent >= 99.0 ? 2 : percent < 10.0 || percent >= 90.0 ? 1 : 0;

    if (part == 0 || part == whole)
        snprintf(printed.text, sizeof printed.text, "%d %%", part == 0 ? 0 : 100);
    else if (percent < 0.01)
        snprintf(printed.text, sizeof printed.text, "less than 0.01 %%");
    else if (percent > 99.99)
        snprintf(printed.text, sizeof printed.text, "more than 99.99 %%");
    else
        snprintf(printed.text, sizeof printed.text, "%.*f %%", digits, percent);
    return printed;
}

struct number_printed number_format_seconds(double seconds)
{
    struct number_printed printed;
    double whole = floor(seconds + 0.5);

    /* Two or three digits, in a unit that suits the time. Each limit lies where rounding would give one digit
       more than the format means to show. */
    if (seconds < 1e-6)
        snprintf(printed.text, sizeof printed.text, "less than 0.001 ms");
    else if (seconds < 0.0995)
        snprintf(printed.text, sizeof printed.text,
                 seconds < 0.000995  ? "%.3f ms"
                 : seconds < 0.00995 ? "%.2f ms"
                                     : "%.1f ms",
                 1e3 * seconds);
    else if (seconds < 99.95)
        snprintf(printed.text, sizeof printed.text, seconds < 0.9995 ? "%.0f ms" : "%.1f s",
                 seconds < 0.9995 ? 1e3 * seconds : seconds);
    else if (seconds < 3600.0)
        snprintf(printed.text, sizeof printed.text, "%.0f min %.0f s", floor(whole / 60.0),
                 fmod(whole, 60.0));
    else
        snprintf(printed.text, sizeof printed.text, "%.0f h %.0f min", floor(whole / 3600.0),
                 floor(fmod(whole, 3600.0) / 60.0));
    return printed;
}
