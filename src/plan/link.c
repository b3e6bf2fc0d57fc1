/* Links: how fast processes exchange planes, as it was measured or is assumed. */
#include "link.h"

#include <stdio.h>

/* A network of 10 Gb/s. */
#define ASSUMED_BYTES_PER_SECOND 1e9
#define ASSUMED_SECONDS          50e-6

static const char bytes_a_second[] = "bytes a second", messages_a_second[] = "messages a second";

struct link link_assumed(void)
{
    return (struct link){ASSUMED_BYTES_PER_SECOND, ASSUMED_SECONDS};
}

static struct wisdom_entry entry_of(const char *name, const char *problem, double rate)
{
    struct wisdom_entry entry = {.rung = "link", .updates = rate};

    snprintf(entry.device, sizeof entry.device, "%s", name);
    snprintf(entry.problem, sizeof entry.problem, "%s", problem);
    return entry;
}

static double find_rate(const struct wisdom *wisdom, const char *name, const char *problem)
{
    const struct wisdom_entry key = entry_of(name, problem, 0.0);
    const struct wisdom_entry *known = wisdom_find(wisdom, &key);

    return known == NULL ? 0.0 : known->updates;
}

bool link_find(const struct wisdom *wisdom, const char *name, struct link *link)
{
    double bytes = find_rate(wisdom, name, bytes_a_second);
    double messages = find_rate(wisdom, name, messages_a_second);

    if (bytes == 0.0 || messages == 0.0)
        return false;
    *link = (struct link){bytes, 1.0 / messages};
    return true;
}

bool link_keep(const char *name, const struct link *link, struct fault *fault)
{
    const struct wisdom_entry bytes = entry_of(name, bytes_a_second, link->bytes_per_second);
    const struct wisdom_entry messages = entry_of(name, messages_a_second, 1.0 / link->seconds);

    return wisdom_keep(&bytes, fault) && wisdom_keep(&messages, fault);
}
