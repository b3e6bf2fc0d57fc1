/* Patterns: names of files that differ in a number, as "slices/%04d.png". */
#include "pattern.h"

#include "base/path.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Only %d with at most two digits is taken, as %04d: pattern_expand prints the number itself, and never gives
   the text to printf. */
bool pattern_is(const char *text)
{
    const char *percent = strchr(text, '%');
    size_t digits;

    if (percent == NULL || strchr(percent + 1, '%') != NULL || strlen(text) >= PATTERN_NAME_MOST / 2)
        return false;
    digits = strspn(percent + 1, "0123456789");
    return digits <= 2 && percent[1 + digits] == 'd';
}

bool pattern_seems(const char *text)
{
    for (const char *percent = strchr(text, '%'); percent != NULL; percent = strchr(percent + 1, '%')) {
        char letter = percent[1 + strspn(percent + 1, "0123456789")];
        if (letter != '\0' && strchr("diouxX", letter) != NULL)
            return true;
    }
    return false;
}

void pattern_expand(const char *pattern, uint64_t number, char name[PATTERN_NAME_MOST])
{
    const char *percent = strchr(pattern, '%');
    bool zeros = percent[1] == '0';
    char *end;
    int width = (int)strtoul(percent + 1, &end, 10);

    snprintf(name, PATTERN_NAME_MOST, zeros ? "%.*s%0*llu%s" : "%.*s%*llu%s", (int)(percent - pattern),
             pattern, width, (unsigned long long)number, end + 1);
}

/* Whether a name, which stands in the pattern's folder, has a number where the pattern has one. */
static bool read_number(const char *pattern, size_t folder, const char *name, uint64_t *number)
{
    size_t before = (size_t)(strchr(pattern, '%') - pattern) - folder;
    char expanded[PATTERN_NAME_MOST];
    char *end;

    if (strncmp(pattern + folder, name, before) != 0)
        return false;
    *number = strtoull(name + before, &end, 10);
    /* The number is printed once more: that refuses zeros that the pattern would not have, and signs. */
    pattern_expand(pattern, *number, expanded);
    return strcmp(expanded + folder, name) == 0;
}

bool pattern_has(const char *pattern, const char *name)
{
    uint64_t number;

    return read_number(pattern, 0, name, &number);
}

bool pattern_may_meet(const char *pattern, const char *other)
{
    size_t before = strcspn(pattern, "%");

    return before == strcspn(other, "%") && strncmp(pattern, other, before) == 0 &&
           strcmp(strchr(pattern + before, 'd'), strchr(other + before, 'd')) == 0;
}

bool pattern_find_last(const char *pattern, uint64_t *number)
{
    size_t folder = path_folder_length(pattern);
    char path[PATTERN_NAME_MOST];
    const struct dirent *entry;
    uint64_t found;
    bool any = false;
    DIR *listing;

    /* Only files of one folder are looked through. */
    if (strchr(pattern, '%') < pattern + folder)
        return false;
    snprintf(path, sizeof path, "%.*s", (int)folder, folder == 0 ? "" : pattern);
    listing = opendir(folder == 0 ? "." : path);
    while (listing != NULL && (entry = readdir(listing)) != NULL) {
        if (read_number(pattern, folder, entry->d_name, &found) && (!any || found > *number)) {
            *number = found;
            any = true;
        }
    }
    if (listing != NULL)
        closedir(listing);
    return any;
}
