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

static void print_filters(struct json *json)
{
    json_begin_array(json, "filters");
    for (const struct filter *filter = filter_list; filter->name != NULL; filter++) {
        json_begin_object(json, NULL);
        json_text(json, "name", filter->name);
        json_text(json, "arguments", filter->syntax);
        json_text(json, "summary", filter->summary);
        json_end_object(json);
    }
    json_end_array(json);
}

static void print_rungs_of(struct json *json, const char *device, const struct rung *rungs, const char *use)
{
    for (const struct rung *rung = rungs; rung->name != NULL; rung++) {
        json_begin_object(json, NULL);
        json_text(json, "device", device);
        json_text(json, "name", rung->name);
        json_text(json, "for", use);
        json_text(json, "summary", rung->summary);
        json_end_object(json);
    }
}

static void print_rungs(struct json *json)
{
    json_begin_array(json, "rungs");
    for (size_t i = 0; devices_backends[i] != NULL; i++) {
        print_rungs_of(json, devices_backends[i]->name, devices_backends[i]->rungs, "stages");
        print_rungs_of(json, devices_backends[i]->name, devices_backends[i]->sum_rungs, "sums");
    }
    json_end_array(json);
}

static void print_formats(struct json *json)
{
    json_begin_array(json, "formats");
    for (size_t i = 0; format_list[i] != NULL; i++) {
        json_begin_object(json, NULL);
        json_text(json, "name", format_list[i]->name);
        json_text(json, "summary", format_list[i]->summary);
        json_end_object(json);
    }
    json_end_array(json);
}

static void print_devices(struct json *json)
{
    json_begin_array(json, "devices");
    for (size_t i = 0; devices_backends[i] != NULL; i++) {
        for (unsigned index = 0; index < devices_backends[i]->count(); index++) {
            char name[64], text[256];
            snprintf(name, sizeof name, "%s:%u", devices_backends[i]->name, index);
            devices_backends[i]->describe((int)index, text, sizeof text);
            json_begin_object(json, NULL);
            json_text(json, "name", name);
            json_text(json, "text", text);
            json_end_object(json);
        }
    }
    json_end_array(json);
}

static void print_links_of(struct json *json, const struct backend *backend)
{
    unsigned first = 0, second = 0;
    char name[64];

    while (next_pair(backend, &first, &second)) {
        json_begin_object(json, NULL);
        json_begin_array(json, "devices");
        snprintf(name, sizeof name, "%s:%u", backend->name, first);
        json_text(json, NULL, name);
        snprintf(name, sizeof name, "%s:%u", backend->name, second);
        json_text(json, NULL, name);
        json_end_array(json);
        json_flag(json, "peer_access", reach_each_other(backend, first, second));
        json_end_object(json);
    }
}

void list_print_json(FILE *stream)
{
    struct json json = {.stream = stream};

    json_begin_object(&json, NULL);
    print_filters(&json);
    print_rungs(&json);
    print_formats(&json);
    print_devices(&json);
    json_begin_array(&json, "links");
    for (size_t i = 0; devices_backends[i] != NULL; i++)
        print_links_of(&json, devices_backends[i]);
    json_end_array(&json);
    json_end_object(&json);
    fprintf(stream, "\n");
}
