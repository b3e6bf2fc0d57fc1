/* What --list prints: filters, rungs, formats, devices. */
#include "list.h"

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
    for (size_t i = 0; plan_backends[i] != NULL; i++) {
        list_rungs_of(stream, plan_backends[i]->name, plan_backends[i]->rungs);
        list_rungs_of(stream, plan_backends[i]->name, plan_backends[i]->sum_rungs);
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
    for (size_t i = 0; plan_backends[i] != NULL; i++) {
        for (unsigned index = 0; index < plan_backends[i]->count(); index++) {
            char form[64], text[256];
            snprintf(form, sizeof form, "%s:%u", plan_backends[i]->name, index);
            plan_backends[i]->describe((int)index, text, sizeof text);
            fprintf(stream, "  %-24s %s\n", form, text);
        }
    }
}

void list_print(FILE *stream)
{
    list_filters(stream);
    list_rungs(stream);
    list_formats(stream);
    list_devices(stream);
}
