/* What --list prints: filters, rungs, formats, devices. */
#include "list.h"

#include "base/json.h"
#include "model/filter.h"
#include "format/format.h"
#include "plan/plan.h"

static void list_filters(FILE *stream)
{
    fprintf(stream, "filters:\n");
    for (const struct filter *filter = filter_list; filter->name != NULL; filter++) {
        char form[64];
        snprintf(form, sizeof form, "%s%s", filter->name, filter->syntax);
        fprintf(stream, "  %-24s %s\n", form, filter->summary);
    }
}

static void list_rungs_of(FILE *stream, const char *backend, const struct rung *rungs)
{
    for (const struct rung *rung = rungs; rung->name != NULL; rung++) {
        char form[64];
        snprintf(form, sizeof form, "%s %s", backend, rung->name);
        fprintf(stream, "  %-24s %s\n", form, rung->summary);
    }
}

static void list_rungs(FILE *stream)
{
    fprintf(stream, "rungs:\n");
    for (size_t i = 0; devices_backends[i] != NULL; i++) {
        list_rungs_of(stream, devices_backends[i]->name, devices_backends[i]->rungs);
        list_rungs_of(stream, devices_backends[i]->name, devices_backends[i]->sum_rungs);
    }
}

static void list_formats(FILE *stream)
{
    fprintf(stream, "formats:\n");
    for (size_t i = 0; format_list[i] != NULL; i++)
        fprintf(stream, "  %-24s %s\n", format_list[i]->name, format_list[i]->summary);
}

static void list_devices(FILE *stream)
{
    fprintf(stream, "devices:\n");
    for (size_t i = 0; devices_backends[i] != NULL; i++) {
        for (unsigned index = 0; index < devices_backends[i]->count(); index++) {
            char form[64], text[256];
            snprintf(form, sizeof form, "%s:%u", devices_backends[i]->name, index);
            devices_backends[i]->describe((int)index, text, sizeof text);
            fprintf(stream, "  %-24s %s\n", form, text);
        }
    }
}

/* The next pair of devices of the kind, each with each; there is none where false is returned. */
static bool next_pair(const struct backend *backend, unsigned *first, unsigned *second)
{
    unsigned count = backend->reaches == NULL ? 0 : backend->count();

    if (++*second >= count) {
        ++*first;
        *second = *first + 1;
    }
    return *second < count;
}

static bool reach_each_other(const struct backend *backend, unsigned first, unsigned second)
{
    return backend->reaches((int)first, (int)second) && backend->reaches((int)second, (int)first);
}

static void list_links_of(FILE *stream, const struct backend *backend)
{
    unsigned first = 0, second = 0;

    for (bool begun = false; next_pair(backend, &first, &second); begun = true) {
        char form[64];
        if (!begun)
            fprintf(stream, "links:\n");
        snprintf(form, sizeof form, "%s:%u %s:%u", backend->name, first, backend->name, second);
        fprintf(stream, "  %-24s %s\n", form,
                reach_each_other(backend, first, second) ? "each reads the other's memory"
                                                         : "through the host's memory");
    }
}

static void list_links(FILE *stream)
{
    for (size_t i = 0; devices_backends[i] != NULL; i++)
        list_links_of(stream, devices_backends[i]);
}

void list_print(FILE *stream)
{
    list_filters(stream);
    list_rungs(stream);
    list_formats(stream);
    list_devices(stream);
    list_links(stream);
}

/* ---- as JSON ---- */

/* A member that is a text, with what stands before it. */
static void print_text(FILE *stream, const char *before, const char *name, const char *text)
{
    fprintf(stream, "%s\"%s\": ", before, name);
    json_text(stream, text);
}

static void print_filters(FILE *stream)
{
    fprintf(stream, "{\"filters\": [");
    for (const struct filter *filter = filter_list; filter->name != NULL; filter++) {
        print_text(stream, filter == filter_list ? "{" : ", {", "name", filter->name);
        print_text(stream, ", ", "arguments", filter->syntax);
        print_text(stream, ", ", "summary", filter->summary);
        fprintf(stream, "}");
    }
    fprintf(stream, "]");
}

/* Those of a device, behind others. */
static void print_rungs_of(FILE *stream, const char *device, const struct rung *rungs, const char *use,
                           const char **before)
{
    for (const struct rung *rung = rungs; rung->name != NULL; rung++) {
        print_text(stream, *before, "device", device);
        print_text(stream, ", ", "name", rung->name);
        print_text(stream, ", ", "for", use);
        print_text(stream, ", ", "summary", rung->summary);
        fprintf(stream, "}");
        *before = ", {";
    }
}

static void print_rungs(FILE *stream)
{
    const char *before = "{";

    fprintf(stream, ", \"rungs\": [");
    for (size_t i = 0; devices_backends[i] != NULL; i++) {
        print_rungs_of(stream, devices_backends[i]->name, devices_backends[i]->rungs, "stages", &before);
        print_rungs_of(stream, devices_backends[i]->name, devices_backends[i]->sum_rungs, "sums", &before);
    }
    fprintf(stream, "]");
}

static void print_formats(FILE *stream)
{
    fprintf(stream, ", \"formats\": [");
    for (size_t i = 0; format_list[i] != NULL; i++) {
        print_text(stream, i == 0 ? "{" : ", {", "name", format_list[i]->name);
        print_text(stream, ", ", "summary", format_list[i]->summary);
        fprintf(stream, "}");
    }
    fprintf(stream, "]");
}

static void print_devices(FILE *stream)
{
    const char *before = "{";

    fprintf(stream, ", \"devices\": [");
    for (size_t i = 0; devices_backends[i] != NULL; i++) {
        for (unsigned index = 0; index < devices_backends[i]->count(); index++, before = ", {") {
            char name[64], text[256];
            snprintf(name, sizeof name, "%s:%u", devices_backends[i]->name, index);
            devices_backends[i]->describe((int)index, text, sizeof text);
            print_text(stream, before, "name", name);
            print_text(stream, ", ", "text", text);
            fprintf(stream, "}");
        }
    }
    fprintf(stream, "]");
}

static void print_links(FILE *stream)
{
    const char *before = "{";

    fprintf(stream, ", \"links\": [");
    for (size_t i = 0; devices_backends[i] != NULL; i++) {
        const struct backend *backend = devices_backends[i];
        unsigned first = 0, second = 0;
        for (; next_pair(backend, &first, &second); before = ", {")
            fprintf(stream, "%s\"devices\": [\"%s:%u\", \"%s:%u\"], \"peer_access\": %s}", before,
                    backend->name, first, backend->name, second,
                    reach_each_other(backend, first, second) ? "true" : "false");
    }
    fprintf(stream, "]}\n");
}

void list_print_json(FILE *stream)
{
    print_filters(stream);
    print_rungs(stream);
    print_formats(stream);
    print_devices(stream);
    print_links(stream);
}
